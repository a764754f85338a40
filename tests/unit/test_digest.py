"""Digest and offline writer: numbers in, a fixed text out."""

from dataclasses import replace
from decimal import Decimal

from tests.builders import effect, outcome, run, trial, waiting

from evalbench.ledger import ComparatorRow, Cost, CostState, Defect, ScoredRun
from evalbench.scoring import score_run
from evalbench.summaries.digest import MAX_TASKS, digest_hash, digest_of
from evalbench.summaries.offline import write_offline


def scored() -> ScoredRun:
    """Four trials: good, falsely successful, unknown, waiting."""
    judge = ComparatorRow(comparator="goal_completion", scorer_type="goal_completion", score=Decimal(0), log="")
    return score_run(
        run(
            trial("t1"),
            trial("t2", outcome=outcome("failed"), comparators=(judge,)),
            trial("t3", outcome=outcome("unavailable"), effects=(effect("unknown"),)),
            waiting("t4", cost=Cost(state=CostState.ESTIMATED, usd=Decimal("0.1"))),
        ).run
    )


def test_the_digest_holds_numbers_and_task_ids() -> None:
    """Counts by state, harm by task, money as exact decimal text."""
    digest = digest_of(scored())
    assert {"failed": 1, "unavailable": 2, "verified": 1} == digest["trials"]["outcomes"]  # type: ignore[index]
    assert {"unknown": 1, "verified": 3} == digest["effects"]
    assert {"usd": "1.2", "trials": 3} == digest["cost"]["billed"]  # type: ignore[index]
    assert {"usd": "0.1", "trials": 1} == digest["cost"]["estimated"]  # type: ignore[index]
    assert {"rubric": {"sum": "2.4", "graded": 3}} == digest["quality"]
    assert {
        "declared_complete_but_failed": {"trials": 1, "first": ["t2"]},
        "declared_complete_not_verified": {"trials": 1, "first": ["t3"]},
        "effect_unknown": {"trials": 1, "first": ["t3"]},
        "effect_failed": {"trials": 0, "first": []},
        "crashed": {"trials": 0, "first": []},
    } == digest["tasks"]


def test_the_text_is_labelled_and_leads_with_counts() -> None:
    """Nobody takes it for a model's words; harm is named by task."""
    text = write_offline(digest_of(scored()))
    assert text.startswith("Offline summary, written from the numbers alone. agent/1 on suite (billing, offline),")
    for part in (
        "4 trials on record, 4 were planned",
        "1 verified, 1 failed, 2 unavailable",
        "1 trials declared complete although the outcome failed (t2).",
        "Grader rubric: mean 0.800 over 3 trials.",
        "Billed: $1.200 for 3/4 trials; estimated besides: $0.100 for 1.",
        "General Score is unavailable",
    ):
        assert part in text


def test_the_same_run_in_another_order_gives_the_same_text() -> None:
    """Order of trials changes neither digest nor hash."""
    backwards = score_run(replace(scored().run, trials=scored().run.trials[::-1]))
    assert digest_of(scored()) == digest_of(backwards)
    assert digest_hash(digest_of(scored())) == digest_hash(digest_of(backwards))


def test_another_number_gives_another_hash() -> None:
    """A stored text is never taken for that of other numbers."""
    changed = score_run(replace(scored().run, trials=scored().run.trials[:3]))
    assert digest_hash(digest_of(scored())) != digest_hash(digest_of(changed))


def test_the_digest_is_bounded() -> None:
    """A big run names the first tasks only, and counts all of them."""
    harm = [trial(f"t{number:04}", outcome=outcome("failed")) for number in range(500)]
    tasks = digest_of(score_run(run(*harm).run))["tasks"]["declared_complete_but_failed"]  # type: ignore[index]
    assert (500, MAX_TASKS) == (tasks["trials"], len(tasks["first"]))


def test_an_empty_run_has_a_text_too() -> None:
    """Nothing recorded is said, not divided by."""
    empty = replace(run(planned={"t1": 2}).run, dataset=None, defects=(Defect(code="torn_row", message="x"),))
    text = write_offline(digest_of(score_run(empty)))
    for part in ("an unnamed dataset", "0 trials on record, 2 were planned", "No effect", "No cost", "1 torn_row"):
        assert part in text
