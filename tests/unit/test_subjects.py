"""Subjects: who is decided on a date, over which runs, against whom."""

from datetime import UTC, date, datetime, timedelta

from tests.builders import DAY, policy, run, trial

from evalbench.ledger import ScoredRun
from evalbench.routing import parse_routing
from evalbench.subjects import Rules, decide_day, subject_of

ROUTING = """
schema: 1
suites: [{dataset: "nightly_*", suite: nightly}]
routes:
  - {product: billing, suite: suite, policy: strict, baseline: agent/0}
"""


def rules(days: int = 1, **options: object) -> Rules:
    """Routing above, a strict policy over a window of some days, and the default one."""
    strict = policy().model_copy(update={"window": policy().window.model_copy(update={"days": days})})
    return Rules(
        routing=parse_routing(ROUTING, "test.yaml"),
        policies={"strict": strict, "consequential": policy()},
        **options,  # type: ignore[arg-type]
    )


def on(day: date, run_id: str, **fields: object) -> ScoredRun:
    """A good run on a date."""
    return run(trial("t1"), run_id=run_id, run_time=datetime(day.year, day.month, day.day, 9, tzinfo=UTC), **fields)


def test_only_subjects_with_a_run_on_the_date_are_decided() -> None:
    """Earlier runs are pooled where the window holds them, and make no decision of their own."""
    runs = [on(DAY, "today"), on(DAY - timedelta(days=1), "yesterday"), on(DAY - timedelta(days=2), "before")]
    assert [("today",)] == [item.decision.runs for item in decide_day(DAY, runs, rules())]
    assert [("yesterday", "today")] == [item.decision.runs for item in decide_day(DAY, runs, rules(days=2))]
    assert () == decide_day(DAY + timedelta(days=1), runs, rules(days=3))


def test_production_and_offline_are_never_pooled() -> None:
    """Environment is part of the subject."""
    runs = [on(DAY, "a"), on(DAY, "b", environment="production")]
    assert [("offline", ("a",)), ("production", ("b",))] == [
        (item.decision.subject.environment, item.decision.runs) for item in decide_day(DAY, runs, rules())
    ]


def test_the_baseline_is_routed_given_or_none() -> None:
    """Routing names it, a caller may name another, and nobody is compared with itself."""
    runs = [on(DAY, "a"), on(DAY, "b", candidate="agent/0")]
    by_routing = {item.decision.subject.candidate: item.decision.baseline for item in decide_day(DAY, runs, rules())}
    assert {"agent/0": None, "agent/1": "agent/0"} == by_routing
    given = {
        i.decision.subject.candidate: i.decision.baseline for i in decide_day(DAY, runs, rules(baseline="agent/1"))
    }
    assert {"agent/0": "agent/1", "agent/1": None} == given


def test_a_baseline_without_runs_in_the_window_is_no_pool() -> None:
    """It stays named, with nothing to compare."""
    runs = [on(DAY, "a"), on(DAY - timedelta(days=1), "b", candidate="agent/0")]
    (decided,) = decide_day(DAY, runs, rules())
    assert ("agent/0", None) == (decided.case.baseline_candidate, decided.case.baseline)


def test_suites_come_from_routing() -> None:
    """A dataset's basename is mapped; a suite named in the manifest is not."""
    routing = rules().routing
    assert "nightly" == subject_of(on(DAY, "a", dataset="nightly_1", dataset_named=False).run, routing).suite
    assert "nightly_1" == subject_of(on(DAY, "a", dataset="nightly_1").run, routing).suite


def test_an_override_replaces_every_policy_and_no_suite() -> None:
    """The policy given holds for all; its window is the longest."""
    other = policy().model_copy(update={"name": "other"})
    chosen = rules(days=7, override=other)
    assert 1 == chosen.longest_window
    assert 7 == rules(days=7).longest_window
    assert ["other"] == [item.decision.policy_name for item in decide_day(DAY, [on(DAY, "a")], chosen)]
