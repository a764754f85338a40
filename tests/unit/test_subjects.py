"""Subjects: who is decided on a date, over which runs, against whom."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from tests.builders import DAY, outcome, policy, run, trial

from evalbench.decided import DecidedSubject
from evalbench.exclusions import parse_exclusions
from evalbench.gate.case import LostRun, Subject
from evalbench.gate.decision import Verdict
from evalbench.gate.result import CheckResult
from evalbench.ledger import ScoredRun
from evalbench.routing import parse_routing
from evalbench.subjects import Rules, decide_day, due_subjects, subject_of

ROUTING = """
schema: 1
suites: [{dataset: "nightly_*", suite: nightly}]
routes:
  - {product: billing, suite: suite, policy: strict, baseline: agent/0}
"""


AGENT = Subject(product="billing", suite="suite", environment="offline", candidate="agent/1")
BASELINE = replace(AGENT, candidate="agent/0")


def rules(days: int = 1, routing: str = ROUTING, **options: object) -> Rules:
    """Routing above, a strict policy over a window of some days, and the default one."""
    strict = policy().model_copy(update={"window": policy().window.model_copy(update={"days": days})})
    return Rules(
        routing=parse_routing(routing, "test.yaml"),
        policies={"strict": strict, "consequential": policy()},
        **options,  # type: ignore[arg-type]
    )


def on(day: date, run_id: str, **fields: object) -> ScoredRun:
    """A good run on a date."""
    return run(trial("t1"), run_id=run_id, run_time=datetime(day.year, day.month, day.day, 9, tzinfo=UTC), **fields)


def lost(subject: Subject, day: date, path: str = "runs/7") -> LostRun:
    """A directory of a subject that came back without a result."""
    return LostRun(
        product=subject.product,
        suite=subject.suite,
        environment=subject.environment,
        candidate=subject.candidate,
        run_date=day,
        path=path,
    )


def check(decided: DecidedSubject, name: str) -> CheckResult:
    """The one check of this name."""
    return next(item for item in decided.decision.checks if item.name == name)


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


# -- expected ----------------------------------------------------------------------------------------------------


def test_an_expected_subject_without_any_run_is_decided() -> None:
    """Over nothing: insufficient by coverage.no_run, nothing proven, no rate over 0, and nobody is said to have run."""
    (item,) = decide_day(DAY, [], rules(), expected=[AGENT])
    assert (Verdict.INSUFFICIENT_EVIDENCE, "coverage.no_run", ()) == (
        item.decision.verdict,
        item.decision.first_reason,
        item.decision.runs,
    )
    found = check(item, "coverage.no_run")
    assert (0, 1, "0 runs on 2026-03-02, 1 expected") == (found.numerator, found.denominator, found.reason)
    assert [None] * 5 == [signal.value for signal in item.signals]
    assert 0 == item.funnel.planned


def test_an_expected_subject_that_ran_is_decided_like_any_other() -> None:
    """The clock changes nothing once a run is there."""
    runs = [on(DAY, "a")]
    (due,), (not_due,) = decide_day(DAY, runs, rules(), expected=[AGENT]), decide_day(DAY, runs, rules())
    assert due.decision == not_due.decision
    assert (Verdict.PASS, False) == (due.decision.verdict, check(due, "coverage.no_run").fired)


def test_older_runs_of_the_window_do_not_stand_in_for_the_date() -> None:
    """They are pooled and shown; the date is missed all the same."""
    (item,) = decide_day(DAY, [on(DAY - timedelta(days=1), "a")], rules(days=3), expected=[AGENT])
    assert (("a",), "coverage.no_run") == (item.decision.runs, item.decision.decided_by)
    assert {"coverage.no_run"} == {found.name for found in item.decision.checks if found.fired}


def test_harm_of_older_runs_stays_proven_where_the_date_is_missed() -> None:
    """Missing evidence speaks first, proven harm decides."""
    harm = run(trial("t1", outcome=outcome("failed")), run_time=datetime(2026, 3, 1, 9, tzinfo=UTC))
    (item,) = decide_day(DAY, [harm], rules(days=2), expected=[AGENT])
    assert ("coverage.no_run", "false_success") == (item.decision.first_reason, item.decision.decided_by)


def test_routing_names_the_due_subjects() -> None:
    """As subjects, for the date asked for and the clock given."""
    expecting = rules(
        routing="schema: 1\nroutes: [{product: billing, suite: suite, policy: strict,"
        " expected: [{candidate: agent/1, since: 2026-03-01, hour: 26}]}]"
    )
    midnight = datetime(2026, 3, 3, tzinfo=UTC)
    assert () == due_subjects(DAY, midnight, expecting)
    assert (AGENT,) == due_subjects(DAY, midnight + timedelta(hours=2), expecting)


# -- lost --------------------------------------------------------------------------------------------------------


def test_a_subject_whose_only_run_was_lost_is_decided() -> None:
    """The loss is named by its path, and held, unproven."""
    (item,) = decide_day(DAY, [], rules(), lost=[lost(AGENT, DAY)])
    fired = {found.name: found.proven for found in item.decision.checks if found.fired}
    assert {"coverage.no_run": False, "coverage.lost_runs": False}.items() <= fired.items()
    assert Verdict.INSUFFICIENT_EVIDENCE == item.decision.verdict
    assert "0 runs on 2026-03-02; 1 run of that date lost" == check(item, "coverage.no_run").reason
    assert "1/1 run of the window left no result: runs/7" == check(item, "coverage.lost_runs").reason


@pytest.mark.parametrize(
    ("days", "back", "expected"),
    [
        pytest.param(1, 0, (True, 1, 2), id="on the date, beside a run"),
        pytest.param(3, 2, (True, 1, 2), id="on the window's first date"),
        pytest.param(3, 3, (False, 0, 1), id="before the window"),
    ],
)
def test_a_lost_run_of_the_window_holds(days: int, back: int, expected: tuple[bool, int, int]) -> None:
    """Fired, and how many of how many; nobody knows what the lost one would have shown."""
    missing = [lost(AGENT, DAY - timedelta(days=back))]
    (item,) = decide_day(DAY, [on(DAY, "a")], rules(days=days), lost=missing)
    found = check(item, "coverage.lost_runs")
    assert (*expected, False) == (found.fired, found.numerator, found.denominator, found.proven)


def test_a_lost_run_on_an_earlier_date_makes_no_decision() -> None:
    """Only subjects with something on the date are decided."""
    assert () == decide_day(DAY, [], rules(days=3), lost=[lost(AGENT, DAY - timedelta(days=1))])


def test_a_lost_run_of_the_baseline_is_named_where_it_is_compared() -> None:
    """It holds the baseline's own decision, and not the candidate's."""
    found = decide_day(DAY, [on(DAY, "a"), on(DAY, "b", candidate="agent/0")], rules(), lost=[lost(BASELINE, DAY)])
    held = {item.decision.subject.candidate: check(item, "coverage.lost_runs").fired for item in found}
    assert {"agent/0": True, "agent/1": False} == held
    assert check(found[1], "compare.cost").reason.endswith("; 1 run of the baseline lost: runs/7")
    (alone,) = (
        item
        for item in decide_day(DAY, [on(DAY, "a")], rules(), lost=[lost(BASELINE, DAY)])
        if item.case.subject == AGENT
    )
    assert "baseline agent/0 has no run in the window; 1 run of the baseline lost: runs/7" == (
        check(alone, "compare.cost").reason
    )


def test_the_order_of_what_is_handed_in_does_not_matter() -> None:
    """Runs, lost directories and expected subjects in any order give the same decisions, to the last field."""
    runs = [on(DAY, "a"), on(DAY, "b", candidate="agent/0"), on(DAY - timedelta(days=1), "c")]
    gone = [lost(AGENT, DAY, "y"), lost(AGENT, DAY, "x"), lost(BASELINE, DAY, "z")]
    due = [AGENT, replace(AGENT, candidate="agent/2")]
    chosen = rules(days=2)
    one = decide_day(DAY, runs, chosen, expected=due, lost=gone)
    other = decide_day(DAY, runs[::-1], chosen, expected=due[::-1], lost=gone[::-1])
    assert [item.decision for item in one] == [item.decision for item in other]
    assert ["agent/0", "agent/1", "agent/2"] == [item.decision.subject.candidate for item in one]


# -- window ------------------------------------------------------------------------------------------------------

WIDE = """
schema: 1
routes:
  - {product: billing, suite: suite, policy: strict, baseline: agent/0, window: {days: 3}}
  - {product: desk, policy: strict, window: {days: 1}}
"""


def test_a_route_sets_its_own_window() -> None:
    """The candidate's runs and the baseline's, whatever the policy says; the policy's hash is the policy's."""
    early = DAY - timedelta(days=2)
    runs = [on(DAY, "a"), on(early, "b"), on(early, "c", candidate="agent/0"), on(DAY, "d", product="desk")]
    routed, plain = decide_day(DAY, runs, rules(routing=WIDE)), decide_day(DAY, runs, rules())
    assert [(("b", "a"), 1, 3), (("d",), 0, 1)] == [
        (item.decision.runs, item.decision.baseline_runs, item.decision.scope.window_days) for item in routed
    ]
    assert [(("a",), 0, 1), (("d",), 0, 1)] == [
        (item.decision.runs, item.decision.baseline_runs, item.decision.scope.window_days) for item in plain
    ]
    assert routed[0].decision.policy_hash == plain[0].decision.policy_hash


LONGEST = [
    # routing, days of the strict policy, whether a policy of one day is given instead, the longest window
    (ROUTING, 5, False, 5),
    (ROUTING, 5, True, 1),
    (WIDE, 5, False, 3),
    (WIDE, 2, False, 3),
    (WIDE, 5, True, 3),
    ("schema: 1", 5, False, 1),
]


@pytest.mark.parametrize(("routing", "days", "given", "longest"), LONGEST)
def test_the_longest_window_is_that_of_any_decision(routing: str, days: int, given: bool, longest: int) -> None:
    """A route's own window stands before the policy's, also of the one policy that is given."""
    options = {"override": policy()} if given else {}
    assert longest == rules(days=days, routing=routing, **options).longest_window


def test_the_digest_moves_with_whatever_decides() -> None:
    """Routing, any policy, and what was given instead; exclusions void single runs and are compared by themselves."""
    other = policy().model_copy(update={"version": "2"})
    digests = [
        rules(),
        rules(days=2),
        rules(routing=WIDE),
        rules(routing=WIDE.replace("days: 3", "days: 4")),
        rules(override=other),
        rules(baseline="agent/9"),
    ]
    assert len(digests) == len({chosen.digest for chosen in digests})
    assert rules().digest == rules().digest
    voiding = parse_exclusions("schema: 1\nexclude: [{run: a, reason: r, owner: o, date: 2026-03-03}]", "exclude.yaml")
    assert rules().digest == rules(exclusions=voiding).digest
