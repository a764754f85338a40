"""What a model says is stored only if the digest bears it out."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.builders import effect, outcome, run, trial, waiting
from tests.published import sample

from evalbench.ledger import ComparatorRow, Cost, CostState, Defect, EvidenceRef, Progress, Quality, ScoredRun
from evalbench.scoring import score_run
from evalbench.summaries import check as rules
from evalbench.summaries.answer import render
from evalbench.summaries.check import Checked, check
from evalbench.summaries.digest import Digest, digest_of
from evalbench.summaries.figures import invented_numbers
from evalbench.summaries.offline import write_offline
from evalbench.summaries.vocabulary import vocabulary

SAMPLES = Path(__file__).resolve().parents[2] / "include" / "samples" / "runs"
INVERSION, REPLAYED = "inversion-fast-v2", "49e5b728-f934-4e6b-9ced-70b5db228928"
DIRECTORIES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir() and path.name != "notes")


@cache
def digest(name: str) -> Digest:
    """The digest of a shipped run."""
    return digest_of(sample(SAMPLES / name))


def reply(headline: str = "The run is described here.", **parts: Sequence[object]) -> str:
    """A model's reply."""
    empty: dict[str, Sequence[object]] = {"went_well": [], "failures": [], "suspected_defects": [], "next_steps": []}
    return json.dumps({"headline": headline, **empty, **parts})


def failure(explanation: str, *task_ids: str, cause: str = "A cause") -> dict[str, object]:
    """A group of failures."""
    return {"cause": cause, "explanation": explanation, "task_ids": task_ids}


def said(text: str, name: str = INVERSION) -> tuple[str, ...]:
    """The rules that a headline breaks."""
    return check(reply(text), digest(name)).reasons


def test_a_true_answer_passes_whole() -> None:
    """Counts, shares, money, ids, quotes of the evidence and the date, as a careful writer gives them."""
    checked = check(
        reply(
            "One of 5 declared completions failed and one effect is unknown, while quality is 90.2 %.",
            went_well=[
                "Task quality is 0.902 over five graded trials.",
                "15 of 16 active windows (93.75 %, about 94 %) brought new evidence.",
                "The run cost $1.89, which is $0.63 per verified outcome.",
            ],
            failures=[
                failure("t4 declared completion; no approved credit note of 4,800.00 USD for C-3175 was found.", "t4"),
                failure("The destination of S-9034 did not answer, so 1 effect stays unknown.", "t5"),
            ],
            suspected_defects=[{"source": "harness", "explanation": "The verifier could not be reached for t5."}],
            next_steps=["Ask the destination about S-9034.", "Look at the completion predicate of 28 November 2026."],
        ),
        digest(INVERSION),
    )
    assert ((), ()) == (checked.reasons, checked.details)
    assert checked.answer is not None
    assert render(checked.answer).startswith("One of 5 declared")


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (("empty",), None),
        (("empty",), ""),
        (("empty",), " \n\u200b"),
        (("empty",), reply("...")),
        (("empty",), reply("\u200b\u200b.")),
        (("empty",), reply("12")),
        (("not_json",), "The run went well."),
        (("not_json",), "```json\n" + reply() + "\n```"),
        (("not_json",), reply()[:-1]),
        (("not_json",), reply() + reply()),
        (("not_json",), '["a",' * 10_000),
        (("not_json",), '{"headline": "\\ud800"}'),
        (("schema",), "NaN"),
        (("empty",), "[]"),
        (("schema",), '"text"'),
        (("empty",), "{}"),
        (("schema",), '{"headline": "Fine."}'),
        (("schema",), reply("x" * 300)),
        (("schema",), reply(decision=["PASS"])),
        (("error_text", "not_json"), "Error calling model: 429 RESOURCE_EXHAUSTED."),
        (("error_text", "not_json"), "I'm sorry, but I can't help with that."),
        (("error_text", "not_json"), "Traceback (most recent call last):\n  File"),
        (("error_text", "not_json"), "<!DOCTYPE html><html><h1>502 Bad Gateway</h1>"),
        (("error_text", "schema"), '{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}'),
    ],
)
def test_what_is_no_answer(expected: tuple[str, ...], text: str | None) -> None:
    """Nothing, no JSON, another shape: no answer, and the reason."""
    checked = check(text, digest(INVERSION))
    assert (None, expected) == (checked.answer, checked.reasons)


@pytest.mark.parametrize(
    "text",
    [
        "Error calling model: no reward.",
        "Error: summarization failed.",
        "As an AI language model, I only see numbers.",
        "I'm sorry, the digest is unclear.",
        "I cannot summarise this run.",
        "The judge raised ValueError: bad value.",
        "The quota exceeded its limit: quota exceeded.",
        "Calls ended in RESOURCE_EXHAUSTED.",
        "Calls ended in HTTP 503.",
        "Calls ended in 429 Too Many Requests.",
        "It ended in 500 Internal Server Error.",
        "The model is overloaded.",
        "Traceback follows.",
        "API key not valid. Please pass a valid one.",
    ],
)
def test_error_texts_are_refused_in_every_part(text: str) -> None:
    """A well-formed answer that holds one is no summary."""
    for answer in (
        reply(text),
        reply(went_well=[text]),
        reply(failures=[failure(text)]),
        reply(failures=[failure("Nothing.", cause=text)]),
        reply(suspected_defects=[{"source": "judge", "explanation": text}]),
        reply(next_steps=[text]),
    ):
        assert "error_text" in check(answer, digest(INVERSION)).reasons


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ((), reply(failures=[failure("It failed.", "t4", "t5")])),
        (("unknown_task_id",), reply(failures=[failure("It failed.", "t4", "t44")])),
        (("unknown_task_id",), reply(failures=[failure("It failed.", "T4")])),
        (("unknown_task_id",), reply(failures=[failure("It failed.", "t4, t5")])),
        (("unknown_task_id",), reply(failures=[failure("It failed.", "t1")])),
        ((), reply("Tasks t4 and t5 need a look.")),
        (("unknown_task_id", "invented_number"), reply("Task t9 needs a look.")),
    ],
)
def test_task_ids_stand_in_the_digest(expected: tuple[str, ...], answer: str) -> None:
    """Listed ids as they are spelt there; in prose, words of their shape."""
    assert expected == check(answer, digest(INVERSION)).reasons


@pytest.mark.parametrize(
    "text",
    [
        "22 of 49 judged rows passed.",
        "22/49 rows passed.",
        "22 out of 49 rows passed.",
        "goal_completion is 44.9 %, or 44.9%, or 44.90 percent.",
        "goal_completion is 45 %.",
        "goal_completion is 44.897959184.",
        "The mean is 44.898 (tool_selection.set_f1 0.48, set F1 0.477).",
        "Rounded, 35 rows had no expected arguments.",
        "Turns averaged 7.9.",
        "41 scores of 50 trials are zero; zero outcomes are verified.",
        "Run 49e5b728-f934-4e6b-9ced-70b5db228928 of 2026-11-30.",
        "The run of 30 November 2026, of November 30, 2026 and of 30 Nov.",
        "The candidate custom/tau-bench gpt-4o tool-calling (replayed), in short gpt-4o.",
        "tau-airline-04 and TAU-AIRLINE-07 scored zero.",
        "Dataset tau_airline_t1.evalset.json held 50 trials.",
        "One reason stands out, and a second one.",
        "\uff15\uff10 trials are on record.",
        "No number at all.",
    ],
)
def test_numbers_of_the_digest_pass_in_any_dress(text: str) -> None:
    """Separators, percentages, rounding, names, dates: a number is what it says."""
    assert () == said(text, REPLAYED)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("51", "51 trials are on record."),
        ("23 of 49", "23 of 49 rows passed."),
        ("22/50", "22/50 rows passed goal_completion."),
        ("44.8", "goal_completion is 44.8 %."),
        ("44.89", "goal_completion is 44.89 %."),
        ("44.8979591845", "goal_completion is 44.8979591845."),
        ("0.449", "goal_completion is 0.449."),
        ("99.9", "99.9 % of the rows passed."),
        ("8", "Turns averaged about 8 per trial, or 8."),
        ("50", "50 % of the rows passed."),
        ("6", "About 6 times as many."),
        ("22", "22 percentage points better."),
        ("50", "50 thousand tokens."),
        ("50k", "50k tokens."),
        ("1e3", "1e3 tokens."),
        ("22", "The difference is -22."),
        (".3", "A share of .3 is left."),
        ("8", "gpt-4o and gpt 8 differ."),
        ("5b", "A 5b model."),
        ("2025", "As in 2025-11-30."),
        ("1.20.0", "EvalBench 1.20.0 wrote it."),
        ("thirteen", "thirteen tasks failed."),
        ("dozens", "dozens of trials failed."),
        ("half", "half of the trials failed."),
        ("twelve", "twelve of the trials failed."),
        ("\u0665\u0661", "\u0665\u0661 trials failed."),
        ("51", "\uff15\uff11 trials failed."),
        ("51", "5\u200b1 trials failed."),
        ("51", "5\u00ad1 trials failed."),
        ("0." + "4" * 60, f"A share of 0.{'4' * 60} is left."),
        ("4" * 60, f"{'4' * 60} trials failed."),
        ("1000", "1\u202f000 trials, 1,000 rows and 1'000 calls."),
    ],
)
def test_numbers_that_stand_nowhere_are_refused(expected: str, text: str) -> None:
    """The message names the number as it is written."""
    (first, *_) = check(reply(text), digest(REPLAYED)).details
    assert ("invented_number",) == said(text, REPLAYED)
    assert f"headline: {expected!r} stands nowhere in the data" == first


def test_numbers_of_the_evidence_stay_with_explanations() -> None:
    """What only a run's own words hold can't carry a headline, where it would read as the run's result."""
    claim = "The credit note was to be 4,800.00 USD."
    assert ("invented_number",) == said(claim)
    assert () == check(reply(failures=[failure(claim, "t4")]), digest(INVERSION)).reasons
    for answer in (reply(went_well=[claim]), reply(next_steps=[claim])):
        assert ("invented_number",) == check(answer, digest(INVERSION)).reasons


def test_a_group_may_count_its_own_tasks() -> None:
    """Two tasks beside a text are two, in that text only; over the trials on record, too."""
    two = failure("2 tasks, two tasks, 2 of 50 trials.", "tau-airline-15", "tau-airline-16")
    assert () == check(reply(failures=[two]), digest(REPLAYED)).reasons
    three = failure("12 of 50 trials.", "tau-airline-15", "tau-airline-16")
    assert ("invented_number",) == check(reply(failures=[three]), digest(REPLAYED)).reasons


def test_an_id_of_digits_is_a_number_unless_it_is_called_an_id() -> None:
    """`task 77` names it; `77 tasks` counts."""
    numbered = digest_of(
        score_run(run(trial("77", outcome=outcome("failed")), trial("88", outcome=outcome("failed"))).run)
    )
    assert () == check(reply("Tasks 77 and 88 failed, task 77 first."), numbered).reasons
    assert ("invented_number",) == check(reply("77 tasks failed."), numbered).reasons


@pytest.mark.parametrize("name", DIRECTORIES)
def test_the_offline_text_of_every_sample_holds_the_number_rule(name: str) -> None:
    """What we write ourselves passes our own rule."""
    assert () == invented_numbers(write_offline(digest(name)), vocabulary(digest(name)))


WORDS = st.from_regex(r"[a-z]{1,8}(?:[-_.]?[0-9]{1,4})?", fullmatch=True)
SCORES = st.decimals(0, 1, places=3)
MONEY = st.decimals(0, 10_000, places=4)


@st.composite
def any_run(draw: st.DrawFn) -> ScoredRun:
    """A run with ordinary names and any numbers."""
    trials = [
        trial(
            draw(WORDS),
            number,
            outcome=outcome(
                draw(st.sampled_from(["failed", "unavailable", "verified"])),
                draw(st.sampled_from([None, "HTTP 418, 3/17"])),
            ),
            declared_complete=draw(st.sampled_from([None, True, False])),
            qualities=(Quality(score=draw(SCORES), grader_name=draw(WORDS)),),
            progress=Progress(
                active=9000, active_with_delta=draw(st.integers(0, 9000)), stale=draw(st.integers(0, 99))
            ),
            effects=tuple(effect(state, key=state) for state in draw(st.sets(st.sampled_from(["failed", "unknown"])))),
            cost=Cost(state=draw(st.sampled_from([CostState.BILLED, CostState.ESTIMATED])), usd=draw(MONEY)),
            comparators=(
                ComparatorRow(
                    comparator=draw(WORDS),
                    scorer_type=draw(st.sampled_from([None, "goal_completion", "turn_count"])),
                    score=draw(st.decimals(-500, 500, places=2)),
                    log=draw(st.sampled_from(["", "FAIL", "PASS"])),
                    ref=EvidenceRef(file="scores.csv", row=number),
                ),
            ),
        )
        for number in range(draw(st.integers(0, 8)))
    ]
    planned = {draw(WORDS): draw(st.integers(1, 3_000))}
    defects = tuple(Defect(code=draw(WORDS), message="x") for _ in range(draw(st.integers(0, 5))))
    whole = run(*trials, planned=planned, defects=defects, candidate=draw(WORDS), dataset=draw(WORDS))
    return score_run(whole.run)


def figures(parts: Mapping[str, Any]) -> Iterator[Decimal]:
    """Every recorded number of a digest, read without the code under test; the scales `best` are none."""
    for key, value in parts.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                yield from figures(item) if key not in ("why", "where") else ()
            elif isinstance(item, str if key in ("numerator", "value", "estimated_usd") else int) and not isinstance(
                item, bool
            ):
                yield Decimal(item)


def spellings(number: Decimal) -> set[str]:
    """Every way to write a number with up to twelve decimals, rounded ones included."""
    ways = {f"{number:f}"}
    for places in range(13):
        for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN):
            ways.add(f"{number.quantize(Decimal(1).scaleb(-places), rounding=rounding):f}")
    return ways


@given(any_run())
def test_the_offline_text_of_any_run_holds_the_number_rule(scored: ScoredRun) -> None:
    """Whatever the numbers, none of them is ours alone."""
    found = digest_of(scored)
    assert () == invented_numbers(write_offline(found), vocabulary(found))


@given(any_run(), st.data())
def test_any_text_with_numbers_of_the_digest_passes(scored: ScoredRun, data: st.DataObject) -> None:
    """As stored, with thousands separators, with a currency, rounded to places that leave two digits."""
    found = digest_of(scored)
    numbers = data.draw(st.lists(st.sampled_from(sorted(set(figures(found)))), min_size=1, max_size=6))
    written = []
    for number in numbers:
        places = data.draw(st.integers(2, 9))
        rounded = f"{number.quantize(Decimal(1).scaleb(-places)):,f}"
        lossless = number == number.to_integral_value() or Decimal(rounded.replace(",", "")) % 1
        written.append(
            data.draw(st.sampled_from([f"{number:,f}", f"{number:f}", rounded if lossless else f"{number:f}"]))
        )
    assert () == invented_numbers(f"It says {'; $'.join(written)}.", vocabulary(found))


@given(any_run(), st.data())
def test_a_changed_digit_is_found(scored: ScoredRun, data: st.DataObject) -> None:
    """A number of the digest with one other digit is refused, unless it happens to be another number of the digest."""
    found = digest_of(scored)
    numbers = sorted(set(figures(found)))
    number = f"{data.draw(st.sampled_from(numbers)):f}"
    at = data.draw(st.sampled_from([index for index, letter in enumerate(number) if letter.isdigit()]))
    digit = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != number[at]]))
    changed = number[:at] + digit + number[at + 1 :]
    known = {Decimal(way) for each in numbers for way in spellings(each)}
    assume(Decimal(changed) not in known)
    assert (changed.removeprefix("-"),) == invented_numbers(f"It says {changed}.", vocabulary(found))


CLEAN = score_run(run(trial("t1"), trial("t2"), trial("t3")).run)
ALL_FAILED = score_run(run(*(trial(f"t{n}", outcome=outcome("failed")) for n in range(3))).run)


@pytest.mark.parametrize(
    "text",
    [
        "All tasks succeeded.",
        "Every one of the trials passed.",
        "All of the trials were verified at the destination.",
        "All 3 trials were verified.",
        "There were no failures.",
        "It ran without any failures.",
        "No task failed.",
        "Nothing went wrong.",
        "No issues were found.",
        "A flawless run.",
        "The agent performed perfectly.",
        "Everything was verified.",
        "A complete success.",
        "All effects were verified.",
        "There are no unknown effects.",
        "No false success was seen.",
        "No crashes.",
        "Full coverage was reached.",
        "No missing trials.",
        "No judge failures.",
    ],
)
def test_praise_needs_numbers_that_say_so(text: str) -> None:
    """True of a run of verified trials, refused of one with failed, crashed, unknown and unjudged ones."""
    harmed = [
        trial("t1", outcome=outcome("failed"), effects=(effect("unknown"),)),
        waiting("t2"),
        trial("t3", status=None, comparators=(ComparatorRow(comparator="goal_completion", score=Decimal(0)),)),
    ]
    crashed = replace(harmed[2], status=type(CLEAN.run.trials[0].status).CRASHED)  # type: ignore[union-attr]
    bad = score_run(run(*harmed[:2], crashed, planned={"t1": 1, "t2": 1, "t3": 2}).run)
    assert () == check(reply(text), digest_of(CLEAN)).reasons
    for disguise in (text, text.upper(), text.replace(" ", "\u00a0"), "\u200b".join(text)):
        assert "contradicts_evidence" in check(reply(disguise), digest_of(bad)).reasons


@pytest.mark.parametrize(
    "text", ["All trials failed.", "Everything failed.", "No task succeeded.", "Nothing was verified."]
)
def test_blame_needs_numbers_that_say_so(text: str) -> None:
    """True where all failed, refused where some were verified."""
    assert () == check(reply(text), digest_of(ALL_FAILED)).reasons
    assert ("contradicts_evidence",) == check(reply(text), digest(INVERSION)).reasons


@pytest.mark.parametrize(
    "text",
    [
        "Not all tasks succeeded.",
        "Some trials were verified.",
        "The failed outcome stands beside a good grade.",
        "The refund was approved by finance, and the order was not found.",
        "The agent passed the wrong argument.",
        "The candidate failed to cancel the order, and the agent was blocked by the gateway.",
        "This run failed 1 of 5 outcomes.",
        "All outcomes were looked at, yet not one of them could be called verified.",
        "All 5 trials ended, and none is fully explained.",
        "The order was shipped after the approval of finance.",
        "Tasks t4 and t5 failed for different reasons.",
    ],
)
def test_ordinary_sentences_pass(text: str) -> None:
    """Words of the tables in other company are no claims."""
    assert () == said(text)


def test_a_claim_about_a_metric_stands_where_its_rows_say_so() -> None:
    """parameter_analysis passed in all its rows here; goal_completion did not."""
    rows = [
        [ComparatorRow(comparator=name, score=Decimal(score), log=log) for name, score, log in trial_rows]
        for trial_rows in (
            [("parameter_analysis", 100, "fine"), ("goal_completion", 100, "PASS")],
            [("parameter_analysis", 100, "fine"), ("goal_completion", 0, "FAIL")],
        )
    ]
    found = digest_of(
        score_run(run(*(trial(f"t{n}", outcome=None, comparators=tuple(r)) for n, r in enumerate(rows))).run)
    )
    assert () == check(reply("All trials passed parameter_analysis."), found).reasons
    assert ("contradicts_evidence",) == check(reply("All trials passed goal_completion."), found).reasons


@pytest.mark.parametrize(
    "text",
    [
        "The candidate is ready to ship.",
        "It is safe to release.",
        "Safe for production.",
        "It should not be released.",
        "We approve.",
        "Approved.",
        "I recommend approval.",
        "Block the release until this is fixed.",
        "Do not deploy this.",
        "The release is blocked.",
        "PASS",
        "Verdict: FAIL.",
        "The run is passed.",
        "Gate: pass.",
        "INSUFFICIENT_EVIDENCE",
        "There is insufficient evidence.",
        "Release-ready.",
        "Green-light it.",
        "A no-go.",
        "Ship it!",
        "The candidate failed.",
        "The run passes the gate.",
        "The candidate was rejected.",
    ],
)
def test_release_verdicts_are_refused(text: str) -> None:
    """The gate alone decides; a summary that says so anyway is not stored, even if it happens to agree."""
    for answer in (reply(text), reply(next_steps=[text]), reply(failures=[failure(text)])):
        assert ("release_verdict",) == check(answer, digest(INVERSION)).reasons


def test_a_judges_word_may_be_quoted() -> None:
    """PASS and FAIL of a log are evidence about the judge."""
    defect = {"source": "judge", "explanation": "The log says FAIL beside a score that counts as PASS."}
    assert () == check(reply(suspected_defects=[defect]), digest(INVERSION)).reasons


@pytest.mark.parametrize(
    "text", ["See https://evil.example/x.", "See www.evil.example.", "See [this](evil).", "javascript:alert"]
)
def test_links_are_refused(text: str) -> None:
    """A transcript can't send its reader anywhere."""
    assert ("link",) == said(text)


def test_every_broken_rule_is_named_in_order_with_its_place() -> None:
    """Reasons once each, details for every place, so that one repair can mend them all."""
    answer = reply(
        "All tasks succeeded, 99 of them; ready to ship: https://x.example.",
        failures=[failure("77 rows.", "t9")],
    )
    checked = check(answer, digest(INVERSION))
    assert (
        rules.UNKNOWN_TASK_ID,
        rules.INVENTED_NUMBER,
        rules.CONTRADICTS_EVIDENCE,
        rules.RELEASE_VERDICT,
        rules.LINK,
    ) == checked.reasons
    assert checked.answer is None
    assert [
        "failures[0].task_ids: 't9' is no task id in the data",
        "headline: '99' stands nowhere in the data",
        "failures[0].explanation: '77' stands nowhere in the data",
    ] == list(checked.details[:3])


@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=3))
def test_any_text_at_all_can_be_checked_and_read(text: str, more: list[str]) -> None:
    """Whatever comes back: a verdict on it, and, where it passes, lines of printable text."""
    for name in (INVERSION, REPLAYED):
        checked = check(reply(text, went_well=more, failures=[failure(text, *more)]), digest(name))
        assert (checked.answer is None) == bool(checked.reasons)
        if checked.answer is not None:
            assert all(line.isprintable() for line in render(checked.answer).split("\n"))
        assert check(text, digest(name)).answer is None


FAULTS = ["{text}", "[{text}]", '{{"error": "{text}"}}', '{{"headline": "{text}"}}', "{text}\n" * 9]
ERRORS = [
    "Error calling model: {code} {status}.",
    "Error during summarization: {code}",
    "{code} {status}. Quota exceeded for requests per minute.",
    "HTTP {code}: {status}",
    "As an AI, I can't summarise this ({code}).",
    "Traceback (most recent call last): {status}",
    "google.genai.errors.ClientError: {code} {status}",
    "The model is overloaded ({code}). Please try again later.",
]


@given(
    st.sampled_from(ERRORS),
    st.sampled_from([400, 401, 403, 404, 408, 429, 500, 502, 503, 504]),
    st.sampled_from(["RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED"]),
    st.sampled_from([None, *FAULTS]),
)
def test_no_error_text_ever_becomes_an_answer(error: str, code: int, status: str, shape: str | None) -> None:
    """However a failed call's words come back, bare or inside a well-formed answer."""
    text = error.format(code=code, status=status)
    answer = (
        reply(text)
        if shape is None
        else re.sub(r"\{text\}", lambda _: text, shape.replace("{{", "{").replace("}}", "}"))
    )
    checked: Checked = check(answer, digest(INVERSION))
    assert checked.answer is None
    assert rules.ERROR_TEXT in checked.reasons
