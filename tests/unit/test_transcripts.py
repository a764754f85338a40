"""What was said in a trial: read word by word, without secrets, bounded, kept for a time and then gone."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lakes import files, settings, tables, write_run

from evalbench import pipeline
from evalbench.errors import PipelineError, StorageError
from evalbench.forgetting import forget
from evalbench.lake.facts import read_facts
from evalbench.lake.index import read_index
from evalbench.lake.records import decode_records
from evalbench.lake.transcripts import encode_transcripts, read_transcript, transcripts_of, write_transcripts
from evalbench.ledger import Run
from evalbench.readers.registry import read_directory
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.transcripts import TRANSCRIPT_VERSION, read_transcripts
from evalbench.retention import Retention
from evalbench.storage import LocalStorage
from evalbench.transcript import (
    AROUND_MESSAGE,
    LABEL_BYTES,
    MESSAGE_BYTES,
    TRIAL_BYTES,
    Message,
    Role,
    Transcript,
    fit_run,
    not_kept,
    transcript,
)
from evalbench.web.models.trial import NOT_KEPT, trial_page
from evalbench.web.store import Store

NOW = datetime(2026, 12, 2, tzinfo=UTC)
OPTIONS = ReadOptions(now=NOW)
CONFIGS = (
    "job_id,run_time,config,value\n"
    "j,2026-11-30,model_config.env.DB_PASSWORD,kingfisher-7\n"
    "j,2026-11-30,model_config.generator,x\n"
)
Said = tuple[str, str | None, str | None, str | None]


def csv_text(*rows: Mapping[str, str]) -> str:
    """A CSV file of these rows, every cell quoted."""
    quoted = ["".join(f'"{cell.replace(chr(34), chr(34) * 2)}",' for cell in row.values())[:-1] for row in rows]
    return "\n".join((",".join(rows[0]), *quoted)) + "\n"


def told(
    *, evals: Sequence[Mapping[str, str]] | None = None, records: Sequence[object] | None = None
) -> tuple[Transcript, ...]:
    """The transcripts of a run directory with these rows, or these records, or both."""
    found = {"run.yaml": b"run_time: 2026-11-30T10:00:00Z\n"}
    if evals is not None:
        summary = "metric_name,metric_score\nx,1\n"
        found |= {
            "configs.csv": CONFIGS.encode(),
            "evals.csv": csv_text(*evals).encode(),
            "summary.csv": summary.encode(),
        }
    if records is not None:
        found["trials.jsonl"] = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    snapshot = Snapshot(path="r", files=found, newest_mtime=NOW)
    run = read_directory(snapshot, OPTIONS)
    assert isinstance(run, Run), run
    return read_transcripts(snapshot, run, OPTIONS)


def said(found: Transcript) -> list[Said]:
    """(role, text, tool, args) of each message."""
    return [(message.role.value, message.text, message.tool, message.args) for message in found.messages]


def history(*turns: Mapping[str, object]) -> dict[str, str]:
    """A row of an agent run with this conversation."""
    return {"eval_id": "a", "conversation_history": json.dumps(turns)}


# -- what is read ------------------------------------------------------------------------------------------------


def test_a_conversation_reads_in_the_order_it_was_held() -> None:
    """The user's words, the calls made on them with arguments and results, the answer; turn by turn."""
    calls = [
        {"tool_name": "crm__find", "parameters": {"b": 1, "a": 2}, "status": "success", "response": '{"id": 7}'},
        {"name": "crm__note", "args": '{"text": "hi"}', "output": "saved"},
    ]
    row = history(
        {"user": "find it", "agent": json.dumps({"response": "found", "tool_calls": calls, "stats": {"x": 1}})},
        {"user": "thanks", "agent": json.dumps({"response": "bye"})},
    )
    (found,) = told(evals=[row])
    assert [
        ("user", "find it", None, None),
        ("tool", '{"id":7}', "crm__find", '{"a":2,"b":1}'),
        ("tool", "saved", "crm__note", '{"text":"hi"}'),
        ("agent", "found", None, None),
        ("user", "thanks", None, None),
        ("agent", "bye", None, None),
    ] == said(found)
    assert ("success", 6, 0, None) == (found.messages[1].status, found.recorded, found.left_out, found.reason)
    assert found.ref is not None
    assert ("evals.csv", 1) == (found.ref.file, found.ref.row)


UNREADABLE = {
    "not JSON": ("conversation_history_not_json", "{"),
    "no turns": ("conversation_history_not_turns", '{"user": "x"}'),
    "turns that are none": ("conversation_history_not_turns", '["x"]'),
}


@pytest.mark.parametrize(("reason", "text"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_conversation_that_cant_be_read_says_why(reason: str, text: str) -> None:
    """No message, and the reason beside."""
    (found,) = told(evals=[{"eval_id": "a", "conversation_history": text}])
    assert ([], reason) == (said(found), found.reason)


def test_output_that_is_no_json_stands_as_it_is() -> None:
    """A crash's last words are what the reader looks for; a call in no known shape is shown, too."""
    (found,) = told(evals=[history({"user": "go", "agent": "Traceback: boom"}, {"agent": {"tool_calls": ["odd"]}})])
    assert [
        ("user", "go", None, None),
        ("agent", "Traceback: boom", None, None),
        ("tool", "odd", None, None),
    ] == said(found)


def test_a_query_run_reads_as_prompt_query_answer() -> None:
    """NL2SQL runs hold no conversation, and are looked at all the same."""
    rows = [
        {"id": "1_trial_0", "nl_prompt": "how many?", "generated_sql": "SELECT 1", "generated_result": '[{"n": 1}]',
         "generated_error": ""},
        {"id": "2_trial_0", "nl_prompt": "who?", "generated_sql": "SELEC", "generated_result": "",
         "generated_error": "syntax error"},
    ]  # fmt: skip
    first, second = told(evals=rows)
    assert [("user", "how many?"), ("agent", "SELECT 1"), ("tool", '[{"n":1}]')] == [s[:2] for s in said(first)]
    assert [("user", "who?"), ("agent", "SELEC"), ("tool", "syntax error")] == [s[:2] for s in said(second)]
    assert "error" == second.messages[2].status


MESSAGES: dict[str, tuple[list[Said], object]] = {
    "roles by any name": (
        [(role, role[0], None, None) for role in ("system", "user", "agent", "other")],
        [{"role": "system", "content": "s"}, {"role": "Human", "text": "u"}, {"role": "assistant", "content": "a"},
         {"role": "narrator", "content": "o"}],
    ),
    "calls and their results": (
        [("agent", "one moment", None, None), ("tool", None, "crm__find", '{"id":7}'),
         ("tool", "none", "crm__find", None)],
        [{"role": "assistant", "content": "one moment",
          "tool_calls": [{"id": "c1", "function": {"name": "crm__find", "arguments": '{"id": 7}'}}]},
         {"role": "tool", "tool_call_id": "c1", "name": "crm__find", "content": "none"}],
    ),
    "a call with its result in one": (
        [("tool", '{"n":1.5}', "db__count", '{"of":"x"}')],
        [{"role": "tool", "name": "db__count", "args": {"of": "x"}, "result": {"n": 1.50}}],
    ),
    "an assistant that only calls": (
        [("tool", None, "a", "{}")],
        [{"role": "assistant", "content": None, "tool_calls": [{"name": "a", "args": {}}]}],
    ),
    "content in parts": (
        [("user", "look:\nthis", None, None)],
        [{"role": "user", "content": [{"type": "text", "text": "look:"}, {"type": "text", "text": "this"}]}],
    ),
    "parts of another kind": (
        [("user", '[{"image":"x.png"}]', None, None)], [{"role": "user", "content": [{"image": "x.png"}]}],
    ),
    "a text that is no address": ([("other", "just talk", None, None)], "just talk"),
    "no shape at all": ([("other", "3", None, None), ("other", "true", None, None)], [3, True]),
    "a number JSON can't hold": ([("other", None, None, None)], [1e999]),
    "a text that is JSON, and isn't": ([("other", '{"a":1,"a":2}', None, None)], ['{"a":1,"a":2}']),
}  # fmt: skip


@pytest.mark.parametrize(("expected", "written"), MESSAGES.values(), ids=MESSAGES)
def test_messages_of_a_record_are_understood(expected: list[Said], written: object) -> None:
    """The shapes chat interfaces have, and whatever else stands there as text."""
    (found,) = told(records=[{"task_id": "t1", "transcript": written}])
    assert expected == said(found)


def test_an_address_is_told_and_not_followed() -> None:
    """Where the messages are kept is shown, without the password in it."""
    (found,) = told(records=[{"task_id": "t1", "transcript": "https://jo:pa55word@logs.example/t1"}])
    assert ((), "https://jo:[redacted]@logs.example/t1") == (found.messages, found.elsewhere)


def test_each_trial_has_its_own_words() -> None:
    """Numbered or not, appended to or not: the last line that speaks of a trial counts; a silent trial has nothing."""
    records = [
        {"task_id": "t1", "trial": 1, "transcript": ["first try"]},
        {"task_id": "t1", "trial": 1, "transcript": ["said later"]},
        {"task_id": "t1", "trial": 1},
        {"task_id": "t2", "transcript": ["b"], "started_at": "2026-11-30T02:00:00Z"},
        {"task_id": "t2", "transcript": ["a"], "started_at": "2026-11-30T01:00:00Z"},
        {"task_id": "t3"},
    ]
    found = told(records=records)
    assert [("t1", 1, "said later"), ("t2", 0, "a"), ("t2", 1, "b")] == [
        (one.task_id, one.trial, one.messages[0].text) for one in found
    ]


def test_twins_keep_their_own_conversation() -> None:
    """Rows with one id are numbered by content; each trial has the words of its row, whatever the order of rows."""
    rows = [history({"user": word, "agent": json.dumps({"tool_calls": [{"name": word}]})}) for word in ("x", "y", "z")]
    for order in (rows, rows[::-1]):
        found = told(evals=order)
        names = [(one.messages[0].text, one.messages[1].tool) for one in found]
        assert {("x", "x"), ("y", "y"), ("z", "z")} == set(names)
        assert [0, 1, 2] == [one.trial for one in found]
    assert [said(one) for one in told(evals=rows)] == [said(one) for one in told(evals=rows[::-1])]


def test_a_record_speaks_before_the_harness() -> None:
    """Beside a harness's files a record's transcript is shown; where it has none, the harness's conversation is."""
    rows = [history({"user": "hello"}), {**history({"user": "harness"}), "eval_id": "b"}]
    records = [{"task_id": "a", "trial": 0}, {"task_id": "b", "trial": 0, "transcript": ["record"]}]
    first, second = told(evals=rows, records=records)
    assert [("user", "hello", None, None)] == said(first)
    assert [("other", "record", None, None)] == said(second)


SECRETS = {
    "known by its name elsewhere": "the password is kingfisher-7, don't tell",
    "by its shape": "use sk-PLANTED0fake0key0for0tests0only0000000000000",
    "under a key in JSON text": '{"api_key": "kestrel-9-kestrel-9"}',
    "assigned": "api_key=kestrel-9-kestrel-9",
    "beside its name": '{"name": "DB_PASSWORD", "value": "kestrel-9-kestrel-9"}',
    "beside its name, the other way": '[{"value": ["kestrel-9-kestrel-9"], "Key": "api key"}]',
    "in a table of headers": '{"headers": [["Authorization", "kestrel-9-kestrel-9"]]}',
    "after its option": '["run", "--api-key", "kestrel-9-kestrel-9", "--fast"]',
    "under two keys": '{"db": {"host": "h", "pass": "kestrel-9-kestrel-9"}}',
    "in JSON in JSON": json.dumps({"body": json.dumps({"password": "kestrel-9-kestrel-9"})}),
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_no_secret_is_kept_wherever_it_was_said(secret: str) -> None:
    """By user or agent, in arguments, in results, in output that can't be read, in a query, in a record beside."""
    value = json.loads(secret) if secret.startswith(("{", "[")) else secret
    outputs: list[object] = [
        secret, {"response": secret}, {"tool_calls": [secret]}, {"tool_calls": [value]},
        *({"tool_calls": [{"name": "t", part: told}]}
          for part in ("name", "args", "output", "status") for told in (secret, value, {"x": secret})),
    ]  # fmt: skip
    turns: list[object] = [
        *({"user": told} for told in (secret, {"deep": [value]})), *({"agent": json.dumps(told)} for told in outputs),
    ]  # fmt: skip
    spoken: list[object] = [
        secret, [value], "s3://logs/?api_key=kestrel-9-kestrel-9",
        *([{"role": role, part: told}] for role in ("user", "tool") for told in (secret, value)
          for part in ("content", "name", "args", "result", "status")),
        [{"role": "user", "content": [{"text": secret}]}], [{"tool_calls": [secret, value]}],
        [{"tool_calls": [{"function": {"name": secret, "arguments": secret}}]}],
    ]  # fmt: skip
    rows = [{"eval_id": f"e{number}", "conversation_history": json.dumps([turn])} for number, turn in enumerate(turns)]
    sql = [{"id": "1", "nl_prompt": secret, "generated_sql": secret, "generated_result": result, "generated_error": e}
           for result, e in ((secret, ""), ("", secret))]  # fmt: skip
    records = [{"task_id": f"r{number}", "transcript": one} for number, one in enumerate(spoken)]
    found = [told(evals=rows, records=records), told(evals=sql)]
    stored = b"".join(record.payload for one in found for record in decode_records(encode_transcripts(one))).decode()
    assert 2 == len(found[1])
    assert len(records) < len(found[0])
    assert stored.count("[redacted]") > len(rows)
    for word in ("kingfisher-7", "PLANTED", "kestrel"):
        assert word not in stored


def test_a_cut_leaves_no_part_of_a_secret() -> None:
    """What is taken out is taken out first: half a key has no shape any more."""
    for end in (10, 30, 60):
        text = "x" * (MESSAGE_BYTES - AROUND_MESSAGE - end) + " sk-PLANTED0fake0key0for0tests0only0000000000000"
        (found,) = told(records=[{"task_id": "t", "transcript": [text]}])
        assert "PLANTED" not in str(found)


def test_a_name_without_a_secret_takes_nothing_away() -> None:
    """What is absent stays absent, flags stay, and values of ordinary names stay."""
    plain = (
        '{"headers":[["Accept","json"],["Cookie",""]],"options":["--fast","yes"],"set":[{"name":"password",'
        '"value":null},{"name":"has_token","value":true},{"name":"city","value":"Bern"}],"tokens":{"input":5}}'
    )
    (found,) = told(records=[{"task_id": "t", "transcript": [{"role": "tool", "args": plain}]}])
    assert plain == found.messages[0].args


# -- how much is kept --------------------------------------------------------------------------------------------


def test_a_long_message_loses_its_end_in_numbers() -> None:
    """Arguments and text share the room; what is left out is counted in bytes, and letters stay whole."""
    room = MESSAGE_BYTES - AROUND_MESSAGE
    found = transcript("t", 0, [Message(role=Role.TOOL, text="ä" * 9000, args="b" * 9000)])
    (message,) = found.messages
    assert (room // 2, room // 4) == (len(message.args or ""), len(message.text or ""))
    assert (27000 - room, 27000, room) == (message.cut, found.bytes_recorded, found.bytes_kept)


def test_a_long_name_or_status_loses_its_end_too() -> None:
    """Neither a tool's name nor a status is a way around the limits, by whichever reader."""
    long = "ä" * 500_000
    call = {"name": long, "status": long, "args": "{}"}
    turns = [{"agent": json.dumps({"tool_calls": [call]})}]
    harness, record = (
        *told(evals=[history(*turns)]),
        *told(records=[{"task_id": "t1", "transcript": [{"role": "tool", **call}]}]),
    )
    for found in (harness, record):
        (message,) = found.messages
        labels = ["ä" * (LABEL_BYTES // 2)] * 2
        assert labels == [message.tool, message.status]
        assert (2_000_002, 2 * LABEL_BYTES + 2) == (found.bytes_recorded, found.bytes_kept)
        assert 2_000_000 - 2 * LABEL_BYTES == message.cut
        assert AROUND_MESSAGE + 2 * LABEL_BYTES + 2 == message.size


def test_a_long_trial_keeps_how_it_began_and_how_it_ended() -> None:
    """The middle is left out, and the transcript says after which message and how many."""
    messages = [Message(role=Role.USER, text=f"{number:04}" + "x" * 996) for number in range(200)]
    found = transcript("t", 0, messages)
    assert 200 == found.recorded
    assert found.before_gap is not None
    numbers = [int((message.text or "")[:4]) for message in found.messages]
    before, after = numbers[: found.before_gap], numbers[found.before_gap :]
    assert list(range(30)) == before
    assert list(range(200 - len(after), 200)) == after
    assert 200 - len(numbers) == found.left_out
    assert TRIAL_BYTES - 1064 < sum(message.size for message in found.messages) <= TRIAL_BYTES


def test_a_run_over_its_limit_cuts_the_longest() -> None:
    """Short trials stay whole; long ones end up within one size."""
    short = transcript("a", 0, [Message(role=Role.USER, text="s" * 100)])
    long = [transcript("b", n, [Message(role=Role.USER, text="l" * 100)] * 100) for n in range(2)]
    kept = fit_run([short, *long], 10_000)
    assert short == kept[0]
    assert [29, 29] == [len(one.messages) for one in kept[1:]]
    assert [71, 71] == [one.left_out for one in kept[1:]]


SIZES = st.lists(st.lists(st.integers(min_value=0, max_value=20_000), max_size=12), max_size=8)


@given(sizes=SIZES, label=st.integers(min_value=0, max_value=1000), most=st.integers(min_value=1, max_value=300_000))
def test_nothing_is_kept_beyond_the_limits_and_nothing_is_lost_uncounted(
    sizes: list[list[int]], label: int, most: int
) -> None:
    """Whatever the sizes: each bound holds, kept and left-out add up, order of trials doesn't matter."""
    found = [
        transcript("t", number, [Message(role=Role.TOOL, text="x" * size, tool="y" * label) for size in texts])
        for number, texts in enumerate(sizes)
    ]
    kept = fit_run(found, most)
    assert most >= sum(message.size for one in kept for message in one.messages)
    for one, texts in zip(kept, sizes, strict=True):
        assert TRIAL_BYTES >= sum(message.size for message in one.messages)
        assert len(texts) == len(one.messages) + one.left_out
        assert (one.left_out > 0) == (one.before_gap is not None)
        assert (one.reason is None) == bool(one.messages)
        gap = one.before_gap if one.before_gap is not None else len(one.messages)
        original = [*texts[:gap], *texts[len(texts) - (len(one.messages) - gap) :]]
        assert [size + label for size in original] == [
            len(message.text or "") + len(message.tool or "") + message.cut for message in one.messages
        ]
    assert kept == tuple(reversed(fit_run(found[::-1], most)))


# -- for how long ------------------------------------------------------------------------------------------------


def facts_of(lake: Path) -> dict[str, str]:
    """Run id → key of the facts that stand."""
    entries = read_index(LocalStorage(str(lake))).values()
    return {entry.standing.run_id: entry.standing.facts for entry in entries if entry.standing is not None}


TODAY = date(2026, 12, 2)
HOW = f"{TRANSCRIPT_VERSION}-9"


def kept_of(lake: Path, run_id: str, today: date = TODAY) -> Transcript | None:
    """What the lake shows of trial t1 of a run."""
    return read_transcript(LocalStorage(str(lake)), facts_of(lake)[run_id], "t1", 0, today, TRANSCRIPT_VERSION)


def talkative(runs: Path, name: str, day: int) -> Path:
    """A run in which something was said."""
    directory = write_run(runs, name, day)
    record = json.loads((directory / "trials.jsonl").read_text())
    (directory / "trials.jsonl").write_text(json.dumps({**record, "transcript": [f"words of {name}"]}) + "\n")
    return directory


def test_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    """The default: no object, and the page is told so."""
    talkative(tmp_path / "runs", "a", 28)
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    assert {} == files(tmp_path / "lake", only=("transcripts/",))
    assert kept_of(tmp_path / "lake", "a") is None


def test_words_are_kept_for_their_days_and_then_removed(tmp_path: Path) -> None:
    """Kept on the last day of their time, gone with the first publish after it; the clock is the settings'."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    talkative(runs, "old", 20)
    talkative(runs, "young", 28)
    pipeline.run(settings(runs, lake, transcript_days=5, clock="2026-11-29T23:59:00Z"))
    assert kept_of(lake, "old", date(2026, 11, 20)) is None
    found = kept_of(lake, "young")
    assert found is not None
    assert ["words of young"] == [message.text for message in found.messages]
    pipeline.run(settings(runs, lake, transcript_days=5, clock="2026-12-03T23:59:00Z"))
    assert kept_of(lake, "young") == found
    pipeline.run(settings(runs, lake, transcript_days=5, clock="2026-12-04T00:00:00Z"))
    assert {} == files(lake, only=("transcripts/",))


def test_zero_removes_what_is_there(tmp_path: Path) -> None:
    """0 days keeps none: not the new ones, and not those of before."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    talkative(runs, "a", 28)
    pipeline.run(settings(runs, lake, transcript_days=30))
    assert 1 == len(files(lake, only=("transcripts/",)))
    talkative(runs, "b", 28)
    pipeline.run(settings(runs, lake, transcript_days=0))
    assert {} == files(lake, only=("transcripts/",))


def test_who_says_nothing_leaves_what_others_keep(tmp_path: Path) -> None:
    """Where the setting isn't set, nothing new is kept, and what is there stays for the time it was stored for."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    talkative(runs, "a", 28)
    pipeline.run(settings(runs, lake, transcript_days=5, clock="2026-11-29T00:00:00Z"))
    kept = files(lake, only=("transcripts/",))
    assert 1 == len(kept)
    talkative(runs, "b", 28)
    pipeline.run(settings(runs, lake, clock="2026-12-03T23:59:00Z"))
    assert kept == files(lake, only=("transcripts/",))
    pipeline.run(settings(runs, lake, clock="2026-12-04T00:00:00Z"))
    assert {} == files(lake, only=("transcripts/",))


def test_days_can_be_shortened_later_and_not_lengthened(tmp_path: Path) -> None:
    """Words are kept no longer than was said when they were stored, nor than is said now."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    talkative(runs, "a", 28)
    pipeline.run(settings(runs, lake, transcript_days=5, clock="2026-11-29T00:00:00Z"))
    for days, day, left in ((30, 3, 1), (3, 1, 1), (3, 2, 0)):
        pipeline.run(settings(runs, lake, transcript_days=days, clock=f"2026-12-{day:02}T00:00:00Z"))
        assert left == len(files(lake, only=("transcripts/",))), (days, day)
    talkative(runs, "b", 28)
    pipeline.run(settings(runs, lake, transcript_days=5, clock="2026-11-29T00:00:00Z"))
    pipeline.run(settings(runs, lake, transcript_days=30, clock="2026-12-04T00:00:00Z"))
    assert {} == files(lake, only=("transcripts/",))


def test_the_page_shows_nothing_that_outlived_its_days(tmp_path: Path) -> None:
    """By the page's clock and the time the words were stored for, before anybody removed them."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    talkative(runs, "a", 28)
    pipeline.run(settings(runs, lake, transcript_days=5))
    shown = []
    for day in ("2026-12-03T23:59:00+00:00", "2026-12-04T00:00:00+00:00"):
        store = Store(LocalStorage(str(lake)), lambda day=day: datetime.fromisoformat(day))  # type: ignore[misc]
        shown.append(trial_page(store.view(), "a", "t1", 0))
        store.close()
    assert shown[0].transcript is not None
    assert "words of a" == shown[0].transcript.messages[0].text
    assert (None, NOT_KEPT) == (shown[1].transcript, shown[1].transcript_reason)
    assert 1 == len(files(lake, only=("transcripts/",)))


def test_the_page_says_why_nothing_could_be_kept(tmp_path: Path) -> None:
    """In words, by the type of what went wrong."""
    runs, lake = tmp_path / "runs", LocalStorage(str(tmp_path / "lake"))
    talkative(runs, "a", 28)
    pipeline.run(settings(runs, tmp_path / "lake", transcript_days=5))
    (path,) = transcripts_of(lake, lake.paths("facts"))
    lake.write_atomic(path, encode_transcripts([], not_kept(MemoryError())))
    store = Store(lake, lambda: NOW)
    page = trial_page(store.view(), "a", "t1", 0)
    store.close()
    assert "transcript could not be kept: MemoryError" == page.transcript_reason


def test_what_else_lies_there_is_left_alone_and_never_shown(tmp_path: Path) -> None:
    """A name that says no time isn't of ours: only 0 days, which is to leave nothing, removes it."""
    lake = LocalStorage(str(tmp_path))
    names = ["transcripts/k/c.1-0.2026-11-28.1-9.parquet", "transcripts/k/c.1-0.2026-99-28.2026-99-99.1-9.parquet"]
    for name in names:
        lake.create(name, encode_transcripts([]))
    for days, left in ((None, names), (30, names), (0, [])):
        Retention(today=date(2030, 1, 1), days=days, most=1).clean(lake)
        assert sorted(left) == lake.paths()
        assert read_transcript(lake, "facts/k/c.1-0.parquet", "t1", 0, TODAY, TRANSCRIPT_VERSION) is None


def test_switching_it_on_later_reads_no_known_run_again(tmp_path: Path) -> None:
    """Runs of before stay without; a new one has its words."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    talkative(runs, "a", 28)
    pipeline.run(settings(runs, lake))
    talkative(runs, "b", 28)
    pipeline.run(settings(runs, lake, transcript_days=30))
    assert kept_of(lake, "a") is None
    assert kept_of(lake, "b") is not None


def test_nothing_else_changes_by_keeping_words(tmp_path: Path) -> None:
    """Facts, verdicts and tables are byte for byte those of a lake without; the words themselves come out the same."""
    runs = tmp_path / "runs"
    talkative(runs, "a", 28)
    for name, days in (("without", None), ("with", 30), ("again", 30)):
        pipeline.run(settings(runs, tmp_path / name, transcript_days=days))
    kept = files(tmp_path / "with", only=("transcripts/",))
    assert 1 == len(kept)
    assert kept == files(tmp_path / "again", only=("transcripts/",))
    assert tables(tmp_path / "without") == {
        path: data for path, data in tables(tmp_path / "with").items() if path not in kept
    }


def test_a_forgotten_run_leaves_no_word(tmp_path: Path) -> None:
    """Forgetting purges its transcripts, and nobody else's."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    for name in ("a", "b"):
        talkative(runs, name, 28)
    used = settings(runs, lake, transcript_days=30)
    pipeline.run(used)
    forget(used, "a")
    (left,) = files(lake, only=("transcripts/",)).values()
    assert b"words of b" in b"".join(record.payload for record in decode_records(left))


def test_what_is_not_recorded_is_told_from_what_is_not_kept(tmp_path: Path) -> None:
    """A silent trial of a kept run has a reason; a run without an object has nothing."""
    lake = LocalStorage(str(tmp_path))
    facts = "facts/k/c.1-0.parquet"
    assert read_transcript(lake, facts, "t1", 0, TODAY, TRANSCRIPT_VERSION) is None
    data = encode_transcripts([transcript("t1", 0, [], reason="because")])
    write_transcripts(lake, facts, date(2026, 11, 28), 30, HOW, data)
    reasons = {name: read_transcript(lake, facts, name, 0, TODAY, TRANSCRIPT_VERSION) for name in ("t1", "t2")}
    assert {"t1": "because", "t2": "not_recorded"} == {name: one and one.reason for name, one in reasons.items()}
    assert read_transcript(lake, "facts/k/other.1-0.parquet", "t1", 0, TODAY, TRANSCRIPT_VERSION) is None


def test_only_words_of_the_current_reading_are_shown(tmp_path: Path) -> None:
    """What another version kept may hold a secret that this one takes out: it says so, and nothing of it is shown."""
    lake, facts, last = LocalStorage(str(tmp_path)), "facts/k/c.1-0.parquet", date(2026, 12, 28)

    def keep(how: str, text: str) -> None:
        data = encode_transcripts([transcript("t1", 0, [Message(role=Role.USER, text=text)])])
        write_transcripts(lake, facts, date(2026, 11, 28), 30, how, data)

    def shown(today: date = TODAY) -> tuple[str | None, list[str | None]] | None:
        found = read_transcript(lake, facts, "t1", 0, today, TRANSCRIPT_VERSION)
        return None if found is None else (found.reason, [message.text for message in found.messages])

    keep("0-100", "the password is kingfisher")
    keep("99-100", "of a version to come")
    assert ("kept_by_another_version_of_the_reader", []) == shown()
    keep(f"{TRANSCRIPT_VERSION}-100", "the password is [redacted], and more was said")
    keep(f"{TRANSCRIPT_VERSION}-9", "the passw")
    assert (None, ["the password is [redacted], and more was said"]) == shown(last)
    assert shown(last + timedelta(days=1)) is None


def test_a_damaged_object_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    """The reader of the page is told which file to delete."""
    lake = LocalStorage(str(tmp_path))
    write_transcripts(lake, "facts/k/c.1-0.parquet", date(2026, 11, 28), 30, HOW, encode_transcripts([]))
    (path,) = transcripts_of(lake, ["facts/k/c.1-0.parquet"])
    (tmp_path / path).write_bytes(b"torn")
    with pytest.raises(PipelineError, match=r"c\.1-0\.2026-11-28\.2026-12-28\.[0-9]+-9\.parquet: damaged .*delete it"):
        read_transcript(lake, "facts/k/c.1-0.parquet", "t1", 0, TODAY, TRANSCRIPT_VERSION)


def test_words_that_cant_be_read_cost_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The run was scored; where its words would stand, and in the log, it says what went wrong, and none of them."""
    lake = LocalStorage(str(tmp_path))
    records = Snapshot(path="r", files={"trials.jsonl": b'{"task_id": "t1"}\n'}, newest_mtime=NOW)
    run = read_directory(replace(records, files={**records.files, "run.yaml": b"run_time: 2026-11-30\n"}), OPTIONS)
    assert isinstance(run, Run)
    endless = replace(records, files={"trials.jsonl": b'{"transcript": []}' + b"\n" * 600_000})
    with caplog.at_level(logging.WARNING):
        Retention(today=TODAY, days=30, most=1000).keep(lake, endless, run, "facts/k/c.1-0.parquet", OPTIONS)
    found = read_transcript(lake, "facts/k/c.1-0.parquet", "t1", 0, TODAY, TRANSCRIPT_VERSION)
    assert found is not None
    assert "transcript_could_not_be_kept:_TooManyRecordsError" == found.reason
    assert ["'r': what was said in its trials is not kept: TooManyRecordsError"] == caplog.messages


def test_a_lake_that_takes_no_words_is_tried_again(tmp_path: Path) -> None:
    """Like one that takes no facts: an error that says where, and the next execution makes both whole."""
    runs, lake, quiet = (tmp_path / name for name in ("runs", "lake", "quiet"))
    talkative(runs, "a", 28)
    pipeline.run(settings(runs, quiet, transcript_days=30))
    lake.mkdir()
    (lake / "transcripts").write_text("no folder")
    with pytest.raises(StorageError, match=r"transcripts.*can't be written"):
        pipeline.run(settings(runs, lake, transcript_days=30))
    (lake / "transcripts").unlink()
    pipeline.run(settings(runs, lake, transcript_days=30))
    assert tables(quiet) == tables(lake)
    assert kept_of(lake, "a") is not None


ANY_TEXT = st.text(st.characters(exclude_categories=()))
KEYS = st.sampled_from(
    ["role", "content", "text", "name", "tool", "args", "arguments", "parameters", "result", "response", "status",
     "tool_calls", "function", "user", "agent"]
)  # fmt: skip
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS | ANY_TEXT, inner) | inner.map(json.dumps),
    max_leaves=12,
)


@given(spoken=ANY_JSON, turns=ANY_JSON, cell=ANY_TEXT)
def test_anything_can_be_said_and_is_stored_as_read(spoken: object, turns: object, cell: str) -> None:
    """Whatever stands where words are looked for: the reader ends, and what it read comes back out of the bytes."""
    called = {"agent": json.dumps({"tool_calls": turns})}
    rows = [json.dumps(one) for one in (turns, [turns], [{"user": turns, "agent": json.dumps(turns)}, called])]
    rows.append(cell.encode(errors="replace").decode())
    found = told(
        evals=[{"eval_id": f"e{n}", "conversation_history": text} for n, text in enumerate(rows)],
        records=[{"task_id": f"r{n}", "transcript": one} for n, one in enumerate((spoken, [spoken], [[spoken]]))],
    )
    records = decode_records(encode_transcripts(fit_run(found, 10_000)))
    assert fit_run(found, 10_000) == tuple(msgspec.json.decode(one.payload, type=Transcript) for one in records[1:])


def test_the_samples_tell_their_trials_without_their_secrets(sample_runs: Path, tmp_path: Path) -> None:
    """Every recorded trial of every sample has its words, within the limits, and no planted secret is in the lake."""
    pipeline.run(settings(sample_runs, tmp_path, transcript_days=30))
    lake = LocalStorage(str(tmp_path))
    for key in facts_of(tmp_path).values():
        run = read_facts(lake, key)
        found = [
            read_transcript(lake, key, trial.task_id, trial.trial, TODAY, TRANSCRIPT_VERSION) for trial in run.trials
        ]
        assert [True] * len(run.trials) == [one is not None and one.recorded > 0 for one in found], run.path
    payloads = b"".join(
        record.payload for data in files(tmp_path, only=("transcripts/",)).values() for record in decode_records(data)
    )
    assert b"[redacted]" in payloads
    assert b"PLANTED" not in payloads
