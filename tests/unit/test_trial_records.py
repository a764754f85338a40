"""trials.jsonl: what is read of it, and what becomes of everything that is wrong with it."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest

from evalbench.ledger import CostState, EffectState, OutcomeState, TrialStatus
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.trial_record_schema import trial_record_json_schema
from evalbench.readers.trial_records import RecordLedger, looks_like_records, read_trial_records

SAMPLES = Path(__file__).parents[2] / "include" / "samples" / "runs"
NOW = datetime(2027, 1, 1, tzinfo=UTC)
OUTCOME = {"predicate": "p", "verifier": {"kind": "deterministic", "name": "v"}}
FULL = {
    "task_id": "007",
    "trial": 2,
    "run_id": "r1",
    "candidate": "c1",
    "started_at": "2026-11-28T08:00:00Z",
    "ended_at": "2026-11-28T09:30:00+01:00",
    "status": "completed",
    "declared_complete": True,
    "outcome": {"state": "verified", "predicate": "refund exists", "evidence": {"row": 7},
                "verifier": {"kind": "deterministic", "name": "ledger query", "version": "2"}},
    "quality": {"score": 0.9, "disagreement": 0.1,
                "grader": {"kind": "model", "name": "g", "version": "1", "rubric_version": "3", "model": "m",
                           "prompt_sha256": "ab", "calibration": "set 4"}},
    "progress": {"windows": [{"state": "active", "delta": True}, {"state": "active", "delta": False},
                             {"state": "waiting"}, {"state": "stale_collector"}, {"state": "active"}]},
    "effects": [{"id": "e1", "tool": "mcp__crm__refund", "destination": "crm/1", "idempotency_key": "k1",
                 "state": "verified", "evidence": "row 7"}],
    "tools": {"expected": [{"name": "crm__refund", "args": {"id": 1}}, "crm__find"], "forbidden": ["crm__drop"],
              "called": [{"name": "mcp__crm__refund", "args": {"id": 1, "api_key": "hunter2"}, "status": "success",
                          "duration_ms": 12.5}, "crm__find"]},
    "cost": {"usd": 0.41, "state": "billed"},
    "usage": {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 2, "reasoning_tokens": 1, "inference_calls": 3,
              "tool_calls": 2},
    "timing": {"duration_s": 1.5, "tool_duration_s": 0.5},
    "transcript": [{"role": "user", "content": "password=hunter2"}],
    "environment": "production",
}  # fmt: skip


def _read(*lines: object, timezone: str = "UTC") -> RecordLedger:
    """Read lines given as JSON values, or as raw text."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    return _read_bytes(text.encode("utf-8", "surrogatepass"), timezone)


def _read_bytes(data: bytes, timezone: str = "UTC") -> RecordLedger:
    snapshot = Snapshot(path="r", files={"trials.jsonl": data}, newest_mtime=NOW)
    return read_trial_records(snapshot, ReadOptions(now=NOW, timezone=timezone))


def _codes(ledger: RecordLedger) -> list[str]:
    return [defect.code for defect in ledger.defects]


def test_recognised_by_its_name() -> None:
    """A directory with trials.jsonl at its top holds records."""
    assert looks_like_records({"trials.jsonl", "x"})
    assert not looks_like_records({"old/trials.jsonl", "evals.csv"})


def test_every_field_is_read() -> None:
    """All that the format has arrives in the ledger, with its place; secrets and transcripts do not."""
    ledger = _read(FULL)
    assert (True, "r1", "c1", "production", ()) == (
        ledger.complete, ledger.run_id, ledger.candidate, ledger.environment, ledger.defects,
    )  # fmt: skip
    assert datetime(2026, 11, 28, 8, 30, tzinfo=UTC) == ledger.ended
    (trial,) = ledger.trials
    assert ("007", 2, TrialStatus.COMPLETED, True) == (
        trial.task_id, trial.trial, trial.status, trial.declared_complete,
    )  # fmt: skip
    assert trial.outcome is not None
    assert (OutcomeState.VERIFIED, '{"row":7}', "2") == (
        trial.outcome.state, trial.outcome.evidence, trial.outcome.verifier_version,
    )  # fmt: skip
    (quality,) = trial.qualities
    assert (Decimal("0.900000000"), True) == (quality.score, quality.calibrated)
    assert trial.progress is not None
    assert (2, 1, 1, 2) == (
        trial.progress.active, trial.progress.active_with_delta, trial.progress.waiting, trial.progress.stale,
    )  # fmt: skip
    assert trial.effects is not None
    assert [("e1", "verified", "crm__refund")] == [(e.effect_id, e.state, e.tool) for e in trial.effects]
    assert trial.calls is not None
    assert [("crm__refund", '{"api_key":"[redacted]","id":1}', "success"), ("crm__find", None, None)] == [
        (call.name, call.args_json, call.status) for call in trial.calls
    ]
    assert trial.expected is not None
    assert [("crm__refund", '{"id":1}'), ("crm__find", None)] == [(e.name, e.args_json) for e in trial.expected]
    assert ("crm__drop",) == trial.forbidden
    assert trial.cost is not None
    assert (CostState.BILLED, Decimal("0.410000000")) == (trial.cost.state, trial.cost.usd)
    assert trial.usage is not None
    assert (10, 5, 2, 1, 3, 2) == (
        trial.usage.input_tokens, trial.usage.output_tokens, trial.usage.cached_tokens, trial.usage.reasoning_tokens,
        trial.usage.inference_calls, trial.usage.tool_calls,
    )  # fmt: skip
    assert trial.timing is not None
    assert 1.5 == trial.timing.duration_s
    assert trial.ref is not None
    assert ("trials.jsonl", 1) == (trial.ref.file, trial.ref.row)
    assert "hunter2" not in repr(ledger)


def test_absent_is_unavailable() -> None:
    """A record of a task id alone says nothing else; lists that are there and empty say that there were none."""
    (silent,) = _read({"task_id": "a"}).trials
    assert (None, None, None, None, None, None, ()) == (
        silent.status, silent.outcome, silent.effects, silent.calls, silent.expected, silent.cost, silent.qualities,
    )  # fmt: skip
    (empty,) = _read({"task_id": "a", "effects": [], "tools": {"called": [], "expected": [], "forbidden": []}}).trials
    assert ((), (), (), ()) == (empty.effects, empty.calls, empty.expected, empty.forbidden)


@pytest.mark.parametrize(
    ("expected", "source"),
    [("7", "7"), ("1e3", "1e3"), ("0.10", "0.10"), ("007", '"007"'), ("NA", '"NA"'), (" x ", '" x "')],
)
def test_ids_are_texts(expected: str, source: str) -> None:
    """An id is what was written; a JSON number is taken by its text, and reported."""
    ledger = _read(f'{{"task_id": {source}}}')
    assert expected == ledger.trials[0].task_id
    assert (source[0] != '"') == ("numeric_task_id" in _codes(ledger))


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("unreadable_line", '{"task_id": "b"'),
        ("unreadable_line", "[1]"),
        ("unreadable_line", '{"trial": 1}'),
        ("unreadable_line", '{"task_id": ""}'),
        ("unreadable_line", '{"task_id": null}'),
        ("unreadable_line", '{"task_id": "b", "task_id": "c"}'),
        ("unreadable_line", '{"task_id": "b"}{"task_id": "c"}'),
        ("unreadable_line", '{"task_id": "b", "x": ' + "[" * 5000 + "]" * 5000 + "}"),
        ("unreadable_line", "\x01"),
    ],
)
def test_a_bad_line_loses_no_other(code: str, line: str) -> None:
    """The lines around it are read, the place is named, and the file is not complete."""
    ledger = _read({"task_id": "a"}, line, {"task_id": "z"})
    assert ["a", "z"] == [trial.task_id for trial in ledger.trials]
    assert not ledger.complete
    (defect,) = ledger.defects
    assert (code, 2) == (defect.code, defect.ref and defect.ref.row)


@pytest.mark.parametrize(
    ("complete", "codes", "tasks", "data"),
    [
        (True, [], ["a", "b"], b'\xef\xbb\xbf{"task_id": "a"}\r\n\r\n \n{"task_id": "b"}'),
        (True, ["nul_bytes"], ["a"], b'{"task_id": "a"}\n\0\0\0'),
        (True, ["invalid_utf8"], ["a\ufffd"], b'{"task_id": "a\xff"}\n'),
        (True, [], ["a\ufffd"], b'{"task_id": "a\\ud800"}\n'),
        (True, [], ["a\u2028b"], '{"task_id": "a\u2028b"}\n'.encode()),
        (False, ["torn_line"], ["a"], b'{"task_id": "a"}\n{"task_id": "b", "sta'),
        (False, [], [], b""),
        (False, [], [], b"\n\n"),
    ],
)
def test_bytes_as_writers_leave_them(complete: bool, codes: list[str], tasks: list[str], data: bytes) -> None:
    """BOM, CRLF, blank lines, NULs and a missing last line end lose nothing; a cut last line is torn."""
    ledger = _read_bytes(data)
    assert (complete, codes, tasks) == (ledger.complete, _codes(ledger), [trial.task_id for trial in ledger.trials])


@pytest.mark.parametrize(
    ("field", "members"),
    [
        ("trial", '"trial": -1'),
        ("trial", '"trial": 1e99'),
        ("trial", '"trial": NaN'),
        ("started_at", '"started_at": 5'),
        ("ended_at", '"ended_at": "yesterday"'),
        ("ended_at", '"ended_at": "0001-01-01T00:00:00+14:00"'),
        ("status", '"status": []'),
        ("declared_complete", '"declared_complete": "yes"'),
        ("outcome", '"outcome": "verified"'),
        ("outcome.state", '"outcome": {"state": "failed", "state": "verified"}'),
        ("quality.0.score", '"quality": {"score": 1.5}'),
        ("quality.0.score", '"quality": [{"score": Infinity}]'),
        ("progress.windows.0", '"progress": {"windows": [7]}'),
        ("effects", '"effects": "none"'),
        ("effects.0.evidence", '"effects": [{"evidence": 1e999, "evidence": 2}]'),
        ("tools.called", '"tools": {"called": [{"status": "success"}]}'),
        ("tools.called.0.args", '"tools": {"called": [{"name": "a", "args": {"x": 1e999}}]}'),
        ("tools.called.0.args", '"tools": {"called": [{"name": "a", "args": {"x": 1, "x": 2}}]}'),
        ("tools.forbidden", '"tools": {"forbidden": ["a", {}]}'),
        ("cost.usd", '"cost": {"usd": -1}'),
        ("cost.usd", '"cost": {"usd": 1e400000000}'),
        ("cost.usd", f'"cost": {{"usd": {"9" * 5000}}}'),
        ("wait.due", '"wait": {"due": true}'),
        ("usage.input_tokens", '"usage": {"input_tokens": 1.5}'),
        ("usage.input_tokens", '"usage": {"input_tokens": 1000000000000001}'),
        ("timing.duration_s", '"timing": {"duration_s": -0.1}'),
    ],
)
def test_a_bad_field_is_lost_alone(field: str, members: str) -> None:
    """The field is unavailable with its place, the rest of the record counts, and the file stays complete."""
    ledger = _read(f'{{"task_id": "a", {members}, "candidate": "c1"}}')
    assert (True, "c1", 1) == (ledger.complete, ledger.candidate, len(ledger.trials))
    (defect,) = (defect for defect in ledger.defects if defect.code == "invalid_field")
    assert defect.ref is not None
    assert (field, 1, "a") == (defect.ref.field, defect.ref.row, defect.task_id)


def test_a_broken_list_item_still_counts() -> None:
    """A broken effect is an unknown effect, a broken window a stale one, a broken call makes the sequence unknown."""
    (trial,) = _read(
        {"task_id": "a", "effects": [7, {"id": "e", "state": "failed"}], "progress": {"windows": [None]},
         "tools": {"called": ["x", 5, {}]}},
    ).trials  # fmt: skip
    assert trial.effects is not None
    assert [("e", EffectState.FAILED), ("line 1#1", EffectState.UNKNOWN)] == [
        (effect.effect_id, effect.state) for effect in trial.effects
    ]
    assert trial.progress is not None
    assert (0, 1) == (trial.progress.active, trial.progress.stale)
    assert trial.calls is None


@pytest.mark.parametrize(
    ("expected", "cost"),
    [
        ((CostState.BILLED, Decimal("0.100000000")), '{"usd": 0.1, "state": "billed"}'),
        ((CostState.BILLED, Decimal("0.100000000")), '{"usd": "0.1", "state": "billed"}'),
        ((CostState.BILLED, Decimal("0.000000002")), '{"usd": 0.0000000025, "state": "billed"}'),
        ((CostState.ESTIMATED, Decimal("0.100000000")), '{"usd": 0.1}'),
        ((CostState.ESTIMATED, Decimal("0.100000000")), '{"usd": 0.1, "state": "paid"}'),
        ((CostState.UNAVAILABLE, None), '{"state": "billed"}'),
    ],
)
def test_money_is_exact_and_billed_only_when_said(expected: tuple[CostState, Decimal | None], cost: str) -> None:
    """Decimals come from the text, rounded half to even at nine places; a figure of no kind is an estimate."""
    (trial,) = _read(f'{{"task_id": "a", "cost": {cost}}}').trials
    assert trial.cost is not None
    assert expected == (trial.cost.state, trial.cost.usd)


@pytest.mark.parametrize(
    ("expected", "progress"),
    [
        ((14, 13, 4, 0), {"active": 14, "active_with_delta": 13, "waiting": 4}),
        (None, {"active": 1, "active_with_delta": 2}),
        (None, {"active": 1}),
    ],
)
def test_progress_may_be_counted(expected: tuple[int, ...] | None, progress: dict[str, int]) -> None:
    """Counts do as well as windows; counts that don't add up are unavailable and reported."""
    ledger = _read({"task_id": "a", "progress": progress})
    found = ledger.trials[0].progress
    assert expected == (found and (found.active, found.active_with_delta, found.waiting, found.stale))
    assert (expected is None) == ("meaningless_value" in _codes(ledger))


def test_times_without_offset_are_in_the_configured_zone() -> None:
    """A naive time is local to the setting; an offset wins over it."""
    ledger = _read({"task_id": "a", "started_at": "2026-07-01 12:00:00", "ended_at": "2026-07-01T12:00:00Z"},
                   timezone="Europe/Berlin")  # fmt: skip
    assert datetime(2026, 7, 1, 10, tzinfo=UTC) == ledger.trials[0].started_at
    assert datetime(2026, 7, 1, 12, tzinfo=UTC) == ledger.ended


def test_unknown_fields_and_words_are_reported() -> None:
    """They are ignored, named once each, and lose nothing."""
    line = {"task_id": "a", "mood": 1, "effects": [{"id": "e", "state": "failed", "colour": 1}], "status": "done"}
    ledger = _read(line, {**line, "task_id": "b"})
    messages = [defect.message for defect in ledger.defects if defect.code == "unknown_field"]
    assert ["'effects.colour'", "'mood'"] == [message.split()[5] for message in messages]
    assert 2 == _codes(ledger).count("meaningless_value")
    assert ledger.complete


def test_repeats_without_number_are_trials_by_time() -> None:
    """Lines of one task without a trial number are a trial each, in order of start, wherever they stand."""
    late = {"task_id": "a", "started_at": "2026-01-02T00:00:00Z"}
    early = {"task_id": "a", "started_at": "2026-01-01T00:00:00Z"}
    named = {"task_id": "a", "trial": 1}
    for order in ((late, early, named), (named, early, late), (early, named, late)):
        trials = _read(*order).trials
        assert [(0, 1), (1, None), (2, 2)] == [(t.trial, t.started_at and t.started_at.day) for t in trials]


def test_an_appended_line_verifies_what_was_unknown() -> None:
    """A line with the same task and trial supersedes what was unavailable, and keeps what it doesn't repeat."""
    first = {"task_id": "a", "trial": 0, "status": "completed", "declared_complete": True,
             "outcome": {"state": "unavailable", "reason": "down", **OUTCOME},
             "effects": [{"id": "e", "tool": "t", "idempotency_key": "k", "state": "unknown"}],
             "tools": {"called": ["t"]}, "cost": {"usd": 1, "state": "billed"}}  # fmt: skip
    later = {"task_id": "a", "trial": 0, "outcome": {"state": "verified", **OUTCOME},
             "effects": [{"id": "e", "state": "verified", "destination": "d", "evidence": "row"}]}  # fmt: skip
    ledger = _read(first, later)
    (trial,) = ledger.trials
    assert trial.outcome is not None
    assert trial.effects is not None
    assert trial.cost is not None
    assert (OutcomeState.VERIFIED, True, TrialStatus.COMPLETED, 1) == (
        trial.outcome.state, trial.declared_complete, trial.status, trial.cost.usd,
    )  # fmt: skip
    assert [("e", EffectState.VERIFIED, "k", "t", 1)] == [
        (e.effect_id, e.state, e.idempotency_key, e.tool, e.attempts) for e in trial.effects
    ]
    assert [] == _codes(ledger)


@pytest.mark.parametrize(
    ("code", "first", "later"),
    [
        ("conflicting_outcome", {"outcome": {"state": "failed", **OUTCOME}},
         {"outcome": {"state": "verified", **OUTCOME}}),
        ("conflicting_records", {"declared_complete": True}, {"declared_complete": False}),
        ("conflicting_records", {"status": "crashed"}, {"status": "completed"}),
        ("conflicting_records", {"cost": {"usd": 2, "state": "billed"}}, {"cost": {"usd": 1, "state": "billed"}}),
        ("conflicting_records", {"tools": {"called": ["a"]}}, {"tools": {"called": ["b"]}}),
        ("conflicting_records", {"quality": {"score": 0.1}}, {"quality": {"score": 0.9}}),
        ("conflicting_records", {"progress": {"active": 2, "active_with_delta": 0}},
         {"progress": {"active": 2, "active_with_delta": 2}}),
        ("conflicting_effect", {"effects": [{"id": "e", "state": "failed"}]},
         {"effects": [{"id": "e", "state": "verified", "destination": "d", "evidence": "x"}]}),
        ("boundary_breached", {"effects": [{"id": "e", "state": "rejected"}]},
         {"effects": [{"id": "e", "state": "verified", "destination": "d", "evidence": "x"}]}),
    ],
)  # fmt: skip
def test_contradicting_lines_are_taken_at_their_worst(
    code: str, first: dict[str, object], later: dict[str, object]
) -> None:
    """An appended line can't take back a failure, a declaration, a call, a cost or a bad grade; it is a defect."""
    ledger = _read({"task_id": "a", "trial": 0, **first}, {"task_id": "a", "trial": 0, **later})
    assert [code] == _codes(ledger)
    (trial,) = ledger.trials
    if trial.outcome:
        assert OutcomeState.FAILED == trial.outcome.state
    if trial.effects:
        assert [EffectState.FAILED] == [effect.state for effect in trial.effects]
    if trial.cost:
        assert 2 == trial.cost.usd
    if trial.calls:
        assert ["a", "b"] == [call.name for call in trial.calls]
    if trial.progress:
        assert 0 == trial.progress.active_with_delta
    assert [Decimal("0.1")] * len(trial.qualities) == [quality.score for quality in trial.qualities]
    assert trial.declared_complete in (None, True)


@pytest.mark.parametrize(
    ("expected", "word"),
    [
        ("success", "ok"),
        ("error", "failed"),
        ("rejected", "denied"),
        ("rejected", "Rejected"),
        (None, "odd"),
        (None, None),
    ],
)
def test_words_for_the_status_of_a_call(expected: str | None, word: str | None) -> None:
    """Harnesses' words for one thing become one word; another word is no status, and is reported."""
    ledger = _read({"task_id": "a", "tools": {"called": [{"name": "t", "status": word}]}})
    calls = ledger.trials[0].calls
    assert calls is not None
    assert expected == calls[0].status
    assert ([] if word != "odd" else ["meaningless_value"]) == _codes(ledger)


def test_the_effect_of_a_denied_call_is_a_breach() -> None:
    """A change found at the destination although its call was denied came past the boundary."""
    effect = {"id": "e", "tool": "t", "state": "verified", "destination": "d", "evidence": "x"}
    ledger = _read({"task_id": "a", "effects": [effect], "tools": {"called": [{"name": "t", "status": "denied"}]}})
    effects = ledger.trials[0].effects
    assert effects is not None
    assert [("failed", "boundary_breached")] == [(e.state, e.reason) for e in effects]
    assert ["boundary_breached"] == _codes(ledger)


def test_repeated_ids_in_one_line_are_attempts() -> None:
    """Items of one list never melt together by a careless id: with a key they are attempts, without one effects."""
    (keyed, plain) = _read(
        {"task_id": "a", "effects": [{"id": "e", "idempotency_key": "k", "state": s} for s in ("unknown", "failed")]},
        {"task_id": "b", "effects": [{"id": "e", "state": s} for s in ("unknown", "failed")]},
    ).trials
    assert keyed.effects is not None
    assert plain.effects is not None
    assert [("failed", 2)] == [(effect.state, effect.attempts) for effect in keyed.effects]
    assert [("e", "unknown"), ("e#2", "failed")] == [(effect.effect_id, effect.state) for effect in plain.effects]


def test_the_order_of_grades_in_a_line_never_matters() -> None:
    """Of two grades under one grader's name the lower stands last, and that is the one quality is made of."""
    low, high = (
        {"score": score, "grader": {"name": "g", "rubric_version": v}} for score, v in ((0.1, "1"), (0.9, "2"))
    )
    for grades in ([low, high], [high, low]):
        (trial,) = _read({"task_id": "a", "quality": grades}).trials
        assert [Decimal("0.9"), Decimal("0.1")] == [quality.score for quality in trial.qualities]


def test_lines_must_agree_on_the_run() -> None:
    """Two candidates or run ids in one file are nobody's: unavailable, and reported."""
    ledger = _read({"task_id": "a", "candidate": "c1", "run_id": "r"}, {"task_id": "b", "candidate": "c2"})
    assert (None, "r") == (ledger.candidate, ledger.run_id)
    assert ["conflicting_field"] == _codes(ledger)


def test_schema_accepts_what_the_reader_reads() -> None:
    """The published schema is valid, describes every field, takes a full record and refuses a wrong one."""
    schema = trial_record_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert [] == [error.message for error in validator.iter_errors({**FULL, "extra": 1, "wait": None})]
    assert set(FULL) | {"wait"} == set(schema["properties"])
    assert not validator.is_valid({"trial": 0})
    assert not validator.is_valid({"task_id": "a", "outcome": {"state": "passed"}})


def test_shipped_samples_follow_the_schema() -> None:
    """Every record shipped as a sample is valid by the schema and read without a defect."""
    validator = jsonschema.Draft202012Validator(trial_record_json_schema())
    files = sorted(SAMPLES.glob("*/trials.jsonl"))
    assert files
    for file in files:
        data = file.read_bytes()
        assert [] == [e.message for line in data.splitlines() for e in validator.iter_errors(json.loads(line))]
        assert () == _read_bytes(data).defects


@pytest.mark.parametrize(
    ("environments", "expected"),
    [
        pytest.param(("production", "production"), "production", id="agreed"),
        pytest.param(("production", "offline"), "unknown", id="lines that disagree"),
        pytest.param(("producton",), "unknown", id="another word"),
        pytest.param((), None, id="none named"),
    ],
)
def test_an_environment_that_cannot_be_told_is_not_offline(environments: tuple[str, ...], expected: str | None) -> None:
    """`unknown` is pooled with nothing; only silence leaves the default to the run."""
    lines = [{"task_id": f"t{number}", "environment": word} for number, word in enumerate(environments)]
    assert expected == _read(*lines, {"task_id": "silent"}).environment
