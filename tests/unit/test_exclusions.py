"""Exclusions: a voided run is in no number, and never looks as if it had not been there."""

import json
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType
from tests.builders import DAY, outcome, policy, run, trial
from tests.published import NO_ROUTES, VERSIONS

from evalbench.cli.render_decision import decision_block, voided_lines
from evalbench.decided import DecidedSubject
from evalbench.errors import PolicyError, UsageError
from evalbench.exclusions import Exclusions, parse_exclusions
from evalbench.ledger import ScoredRun
from evalbench.report import decision_document, document
from evalbench.routing import parse_routing
from evalbench.rulebook import read_rules
from evalbench.settings import load_settings
from evalbench.subjects import Rules, decide_day, voided
from evalbench.trends import Row, partition_rows

TEXT = """
schema: 1
exclude:
  - {run: bad, reason: wrong image, owner: Jo Meyer, date: 2026-03-03}
  - {run: gone, reason: an experiment, owner: Kim, date: "2026-03-04"}
"""
BAD = {"run_id": "bad", "reason": "wrong image", "owner": "Jo Meyer", "date": "2026-03-03"}
ROUTING = """
schema: 1
routes:
  - {product: billing, suite: suite, policy: strict, baseline: agent/0, window: {days: 2}}
"""


def rules(text: str = TEXT) -> Rules:
    """A baseline, a window of two days, and these exclusions."""
    return Rules(
        routing=parse_routing(ROUTING, "routing.yaml"),
        policies={"strict": policy(), "consequential": policy()},
        exclusions=parse_exclusions(text, "exclude.yaml"),
    )


def on(day: date, run_id: str, state: str = "verified", **fields: Any) -> ScoredRun:
    """A run of one trial on a date."""
    moment = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
    return run(trial("t1", outcome=outcome(state)), run_id=run_id, run_time=moment, **fields)


def decided(*runs: ScoredRun) -> DecidedSubject:
    """The one decision about `agent/1`."""
    (found,) = [item for item in decide_day(DAY, runs, rules()) if item.decision.subject.candidate == "agent/1"]
    return found


def decision_row(item: DecidedSubject) -> Row:
    """Its row of `decisions`."""
    (row,) = partition_rows(DAY, [], [item], [], NO_ROUTES, VERSIONS)["decisions"]
    return row


def test_a_run_is_found_by_its_id() -> None:
    """Reason, owner and date of a voided run; nothing of any other."""
    exclusions = parse_exclusions(TEXT, "exclude.yaml")
    found = exclusions.of("bad")
    assert found is not None
    assert BAD == found.document
    assert None is exclusions.of("Bad")
    assert ("bad", None) == (
        getattr(voided(on(DAY, "bad").run, rules()), "run_id", None),
        voided(on(DAY, "good").run, rules()),
    )


def test_ids_nobody_knows_are_idle() -> None:
    """In the file's order: a misspelt id leaves the run that was meant in every number."""
    assert ("gone",) == parse_exclusions(TEXT, "exclude.yaml").idle(["bad", "good"])
    assert ("bad", "gone") == parse_exclusions(TEXT, "exclude.yaml").idle([])


ENTRY = "run: a, reason: r, owner: o, date: 2026-03-03"
BROKEN = [
    ("schema: 2", "exclude.yaml: schema: "),
    ("schema: 1\nexcluded: []\n", "excluded: unknown key; did you mean exclude?"),
    ("schema: 1\nexclude: [{run: a, reason: r, owner: o}]\n", "exclude[0].date: Field required"),
    ("schema: 1\nexclude: [{run: a, reason: '', owner: o, date: 2026-03-03}]\n", "exclude[0].reason: "),
    ("schema: 1\nexclude: [{run: 7, reason: r, owner: o, date: 2026-03-03}]\n", "exclude[0].run: "),
    ("schema: 1\nexclude: [{run_id: a, reason: r, owner: o, date: 2026-03-03}]\n", "exclude[0].run_id: unknown key"),
    ("schema: 1\nexclude: [{run: a, reason: r, owner: o, date: soon}]\n", "exclude[0].date: expected a date such as"),
    ("schema: 1\nexclude: [{run: a, reason: r, owner: o, date: 86400}]\n", "exclude[0].date: expected a date such as"),
    (
        "schema: 1\nexclude: [{run: a, reason: r, owner: o, date: 2026-03-03 10:00:00}]\n",
        "exclude[0].date: expected a date such as",
    ),
    (
        f"schema: 1\nexclude: [{{{ENTRY}}}, {{run: b, reason: r, owner: o, date: 2026-03-03}}, {{{ENTRY}}}]\n",
        "exclude: run a is excluded twice, by [0] and [2]",
    ),
    ("exclude", "expected a mapping at the top"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN)
def test_an_error_names_the_file_and_the_place(text: str, words: str) -> None:
    """One line: a mistake here must not silently put a voided run back into the numbers."""
    with pytest.raises(PolicyError) as caught:
        parse_exclusions(text, "exclude.yaml")
    assert str(caught.value).startswith("exclude.yaml: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_setting_names_the_file(tmp_path: Path) -> None:
    """Read with the other rules; none without it, and a file that isn't there is told."""
    path = tmp_path / "exclude.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert Exclusions(schema=1) == read_rules(load_settings({})).exclusions
    assert None is not read_rules(load_settings({"EVALBENCH_EXCLUDE": str(path)})).exclusions.of("bad")
    with pytest.raises(UsageError, match=r"gone.yaml: no such exclusions file"):
        read_rules(load_settings({}, {"exclude": str(tmp_path / "gone.yaml")}))


def test_a_voided_run_is_in_no_number_and_shown() -> None:
    """Its failure decides nothing; document and table name it with reason, owner and date."""
    assert "FAIL" == decided(on(DAY, "good"), on(DAY, "worse", "failed")).decision.verdict
    item = decided(on(DAY, "good"), on(DAY, "bad", "failed"))
    assert ("PASS", ("good",)) == (item.decision.verdict, item.decision.runs)
    assert [BAD] == decision_document(item, DAY)["excluded"]
    assert [BAD] == json.loads(str(decision_row(item)["excluded"]))


def test_a_decision_that_leaves_nothing_out_says_so() -> None:
    """An empty list, a null: not the run of another window."""
    item = decided(on(DAY, "good"), on(DAY - timedelta(days=2), "bad"))
    assert ([], None) == (decision_document(item, DAY)["excluded"], decision_row(item)["excluded"])


def test_a_voided_run_of_the_window_and_of_the_baseline_is_shown() -> None:
    """Wherever it would have been pooled, and in no pool."""
    earlier = decided(on(DAY, "good"), on(DAY - timedelta(days=1), "bad", "failed"))
    assert (["good"], [BAD]) == (list(earlier.decision.runs), decision_document(earlier, DAY)["excluded"])
    baseline = decided(on(DAY, "good"), on(DAY, "bad", candidate="agent/0"))
    assert (0, [BAD]) == (baseline.decision.baseline_runs, decision_document(baseline, DAY)["excluded"])
    compared = next(check for check in baseline.decision.checks if check.name == "compare.quality")
    assert "baseline agent/0 has no run in the window; 1 run of the baseline voided: bad" == compared.reason


def test_a_voided_run_makes_no_decision() -> None:
    """A subject of which nothing else is left has none; expected all the same, it has missed its date, and says why."""
    runs = [on(DAY, "bad")]
    assert () == decide_day(DAY, runs, rules())
    (subject,) = {item.case.subject for item in decide_day(DAY, [on(DAY, "good")], rules())}
    (item,) = decide_day(DAY, runs, rules(), expected=[subject])
    first = item.decision.checks[0]
    assert ("coverage.no_run", True) == (first.name, first.fired)
    assert "0 runs on 2026-03-02, 1 expected; voided in the window: bad" == first.reason
    assert [BAD] == decision_document(item, DAY)["excluded"]


def test_a_voided_run_takes_no_part_in_choosing_the_dataset_version() -> None:
    """The newest run that counts says which version is judged."""
    item = decided(on(DAY, "good", dataset_version="1"), on(DAY, "bad", dataset_version="2"))
    assert ("PASS", "1") == (item.decision.verdict, item.decision.scope.dataset_version)


def test_the_report_names_what_no_decision_names() -> None:
    """All exclusions of the decided dates, and the ids nobody knows."""
    exclusions = parse_exclusions(TEXT, "exclude.yaml")
    report = document([], [], None, excluded=exclusions.exclude[:1], idle_exclusions=exclusions.idle(["bad"]))
    assert ([BAD], ["gone"]) == (report["excluded"], report["idle_exclusions"])
    assert ([], []) == (document([], [], None)["excluded"], document([], [], None)["idle_exclusions"])


def test_people_see_every_voided_run_once() -> None:
    """With its decision; alone where none is left. Text of the operator's file can't style the terminal."""
    item = decided(on(DAY, "good"), on(DAY, "bad", "failed"))
    exclusions = parse_exclusions(TEXT.replace("an experiment", '"[red]an\\e experiment"'), "exclude.yaml")
    report = document([decision_document(item, DAY)], [], None, excluded=exclusions.exclude)
    assert "Excluded bad is in no number: wrong image (Jo Meyer, 2026-03-03)" in shown(
        decision_block(report["decisions"][0])  # type: ignore[index]
    )
    assert "Excluded gone is in no number: [red]an? experiment (Kim, 2026-03-04)" == shown(voided_lines(report))


def shown(parts: list[RenderableType]) -> str:
    """What a terminal of great width shows, blanks joined."""
    console = Console(width=400, file=StringIO())
    for part in parts:
        console.print(part)
    assert isinstance(console.file, StringIO)
    return " ".join(console.file.getvalue().split())
