"""One line of trials.jsonl: its fields, and the JSON Schema published for those who write them.

Every field but `task_id` may be missing: absent means unavailable. Unknown fields are allowed and reported. Words of
a closed list (states, kinds) get their meaning in `trial_records.py` and `evidence.py`, so that a wrong word is a
reason, not a lost record.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema

from evalbench.readers.record_types import (
    Arguments,
    Count,
    Evidence,
    Flag,
    Found,
    Identifier,
    Measure,
    Share,
    Text,
    Time,
    TrialNumber,
    Usd,
)


def _one_of(*words: str) -> dict[str, JsonValue]:
    return {"enum": [*words, None]}


class Record(BaseModel):
    """Base of every object in a line: frozen, unknown fields kept so that they can be reported."""

    model_config = ConfigDict(frozen=True, extra="allow")


class VerifierRecord(Record):
    """Who ran the predicate."""

    kind: Text = Field(
        default=None,
        description="A verifier of kind model sets no outcome: a judge is not the destination.",
        json_schema_extra=_one_of("deterministic", "human", "model"),
    )
    name: Text = None
    version: Text = None


class OutcomeRecord(Record):
    """State at the destination, by a named predicate."""

    state: Text = Field(default=None, json_schema_extra=_one_of("verified", "failed", "unavailable"))
    predicate: Text = Field(default=None, description="What was asked of the destination.")
    verifier: VerifierRecord | None = None
    reason: Text = None
    evidence: Evidence = Field(default=None, description="Where the answer can be looked up again.")


class GraderRecord(Record):
    """Who graded. A model grade without prompt hash, model, rubric version and calibration is shown as uncalibrated."""

    kind: Text = Field(default=None, json_schema_extra=_one_of("model", "deterministic", "human"))
    name: Text = None
    version: Text = None
    rubric_version: Text = None
    model: Text = None
    prompt_sha256: Text = None
    calibration: Evidence = Field(default=None, description="The calibration sample the grader was checked on.")


class QualityRecord(Record):
    """One grader's verdict on how well the task was done. It says nothing about the destination."""

    score: Share = None
    grader: GraderRecord | None = None
    disagreement: Measure = Field(default=None, description="Spread between repeated gradings, 0 = none.")
    reason: Text = Field(default=None, description="Why there is no score.")


class WindowRecord(Record):
    """One observation window of a trial."""

    state: Text = Field(default=None, json_schema_extra=_one_of("active", "waiting", "stale_collector"))
    delta: Flag = Field(default=None, description="Whether the window brought task-specific new evidence.")
    evidence: Evidence = None


class ProgressRecord(Record):
    """Observation windows, listed or counted."""

    windows: list[WindowRecord] | None = None
    active: Count = Field(default=None, description="Active windows observed (counts instead of windows).")
    active_with_delta: Count = Field(default=None, description="Active windows with task-specific new evidence.")
    waiting: Count = None
    stale: Count = Field(default=None, description="Windows whose collector was stale.")


class EffectRecord(Record):
    """One attempt to change something at a destination. Attempts stand in the order they were made."""

    id: Annotated[Identifier | None, Field(description="Names the attempt within the trial.")] = None
    tool: Identifier | None = None
    destination: Text = Field(default=None, description="Where the change should be. Needed for verified.")
    idempotency_key: Identifier | None = Field(default=None, description="Attempts that share it are one effect.")
    state: Text = Field(default=None, json_schema_extra=_one_of("verified", "failed", "unknown", "rejected"))
    found: Found = Field(
        default=None, description="For a rejected call: its effect is at the destination nevertheless."
    )
    reason: Text = None
    evidence: Evidence = Field(default=None, description="What the destination answered. Needed for verified.")


class ExpectedToolRecord(Record):
    """A call the task expects. Without args, any arguments do."""

    name: Identifier
    args: Arguments = None


class CalledToolRecord(Record):
    """A call as it was made, in order."""

    name: Identifier
    args: Arguments = None
    status: Text = Field(default=None, json_schema_extra=_one_of("success", "error", "rejected", "denied"))
    duration_ms: Measure = None


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


class ToolsRecord(Record):
    """Calls expected, forbidden and made. An absent list is unknown; an empty one says that there were none."""

    expected: list[Annotated[ExpectedToolRecord, BeforeValidator(_named)]] | None = None
    forbidden: list[Identifier] | None = None
    called: list[Annotated[CalledToolRecord, BeforeValidator(_named)]] | None = None


class CostRecord(Record):
    """What the trial cost. Only billed cost is covered."""

    usd: Usd = None
    state: Text = Field(default=None, json_schema_extra=_one_of("billed", "estimated", "unavailable"))


class WaitRecord(Record):
    """A wait for an approval: valid only with all four fields, and until due."""

    owner: Text = None
    decision: Text = None
    due: Time = None
    resume_state: Text = None


class UsageRecord(Record):
    """Tokens and calls."""

    input_tokens: Count = None
    output_tokens: Count = None
    cached_tokens: Count = None
    reasoning_tokens: Count = None
    inference_calls: Count = None
    tool_calls: Count = None


class TimingRecord(Record):
    """Wall time in seconds."""

    duration_s: Measure = None
    tool_duration_s: Measure = None


class TrialRecord(Record):
    """One trial. A second line with the same task_id and trial is a later verification of it."""

    task_id: Identifier = Field(min_length=1)
    trial: TrialNumber = Field(
        default=None, description="Number of the attempt, from 0. Without it, repeated tasks are numbered by time."
    )
    run_id: Identifier | None = None
    candidate: Identifier | None = None
    started_at: Time = None
    ended_at: Time = None
    status: Text = Field(
        default=None, json_schema_extra=_one_of("completed", "waiting", "failed", "crashed", "running")
    )
    declared_complete: Flag = Field(default=None, description="Whether the agent said that the task was done.")
    outcome: OutcomeRecord | None = None
    quality: list[QualityRecord] | None = Field(default=None, description="One grader's verdict, or a list of them.")
    progress: ProgressRecord | None = None
    effects: list[EffectRecord] | None = None
    tools: ToolsRecord | None = None
    cost: CostRecord | None = None
    wait: WaitRecord | None = None
    usage: UsageRecord | None = None
    timing: TimingRecord | None = None
    transcript: Annotated[object, WithJsonSchema({"type": ["array", "string", "null"]})] = Field(
        default=None, description="Messages, or the address they are kept at. For people; no number rests on it."
    )
    environment: Text = Field(default=None, json_schema_extra=_one_of("offline", "production"))


def trial_record_json_schema() -> dict[str, object]:
    """The published JSON Schema (draft 2020-12) of one line."""
    schema = TrialRecord.model_json_schema()
    schema["properties"]["quality"]["anyOf"].append({"$ref": "#/$defs/QualityRecord"})
    for name in ("expected", "called"):
        listed = schema["$defs"]["ToolsRecord"]["properties"][name]["anyOf"][0]
        listed["items"] = {"anyOf": [listed["items"], {"type": "string"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Trial evidence record",
    }


def unknown_fields(record: Record, prefix: str = "") -> Iterator[str]:
    """Dotted names of the fields of `record` that the format does not have, without list positions."""
    yield from (f"{prefix}{name}" for name in record.model_extra or ())
    for name in type(record).model_fields:
        value = getattr(record, name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Record):
                yield from unknown_fields(item, f"{prefix}{name}.")
