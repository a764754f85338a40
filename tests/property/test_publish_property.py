"""Invariants of publishing: SQL reproduces every signal, writing is lossless, order and repetition change nothing."""

import io
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import DAY, STRICT, call, outcome, policy, run, trial
from tests.published import bytes_below, mismatches, publish, rows_of

from evalbench.ledger import (
    Cost,
    CostState,
    Effect,
    EffectState,
    OutcomeState,
    Progress,
    Quality,
    RunState,
    ScoredRun,
    Trial,
    TrialStatus,
    Verdict,
    VerdictState,
    Wait,
)
from evalbench.policy import Policy
from evalbench.sinks.parquet import partition_bytes
from evalbench.tables import table_named

PLAIN = ""
WINDOWED = """
window: {days: 3}
declared: {finished_conversation: true}
cost_basis: estimated
quality: {graders: [{name: style, weight: 0.3}, {name: facts, weight: 0.45}]}
"""
ATTESTED = """
outcome:
  attestations:
    - comparator: goal
      match: {product: "*", generator_class: "x*"}
      predicate: p
      reason: r
      attested_by: a
      pass_threshold: 50
unknown_effects: {tolerate_read_only_tools: true}
tolerate: {effects: {up_to: 2, reason: test}}
"""
POLICIES: Sequence[Policy] = [policy(STRICT + extra) for extra in (PLAIN, WINDOWED, ATTESTED)]

TOOLS = st.sampled_from(["billing__pay", "crm__get_card", "shell"])
maybe = st.sampled_from([True, False, None])
scores = st.none() | st.integers(0, 10**9).map(lambda units: Decimal(units).scaleb(-9))
money = st.none() | st.integers(0, 10**12).map(lambda units: Decimal(units).scaleb(-9))
grades = st.builds(
    Quality, score=scores, grader_kind=st.just("human"), grader_name=st.sampled_from(["style", "facts", None])
)
effects = st.builds(
    Effect,
    effect_id=st.just("e"),
    state=st.sampled_from(EffectState),
    tool=st.none() | TOOLS,
    attempts=st.integers(1, 3),
)
waits = st.builds(
    Wait,
    owner=st.sampled_from([None, "", "ops"]),
    decision=st.just("d"),
    due=st.sampled_from([None, *(datetime(2026, 3, day, tzinfo=UTC) for day in (2, 3, 4))]),
    resume_state=st.sampled_from([None, "s", "s"]),
)
windows = st.builds(
    lambda delta, idle, stale: Progress(active=delta + idle, active_with_delta=delta, stale=stale),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2),
)


@st.composite
def trials(draw: st.DrawFn, task: str) -> Trial:
    """A trial in any mixture of present and absent."""
    made = [
        call(index, name, status)
        for index, (name, status) in enumerate(
            draw(st.lists(st.tuples(TOOLS, st.sampled_from(["success", "rejected", None])), max_size=4))
        )
    ]
    return trial(
        task,
        status=draw(st.sampled_from([*TrialStatus, None])),
        declared_complete=draw(maybe),
        finished_conversation=draw(maybe),
        outcome=draw(st.none() | st.sampled_from(OutcomeState).map(outcome)),
        qualities=tuple(draw(st.lists(grades, max_size=3))),
        progress=draw(st.none() | windows),
        effects=draw(st.none() | st.lists(effects, max_size=3).map(tuple)),
        calls=draw(st.sampled_from([None, tuple(made)])),
        cost=draw(st.none() | st.builds(Cost, state=st.sampled_from(CostState), usd=money)),
        wait=draw(st.none() | waits),
    )


@st.composite
def scored_runs(draw: st.DrawFn) -> list[ScoredRun]:
    """One to three runs of one subject on neighbouring days, some abandoned, some trials missing."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        tasks = [f"t{n}" for n in range(draw(st.integers(0, 3)))]
        made = run(
            *(draw(trials(task)) for task in tasks),
            planned={**dict.fromkeys(tasks, 1), "t0": draw(st.integers(0, 2)), "gone": draw(st.integers(0, 2))},
            run_id=f"run-{number}",
            run_key=f"key-{number}",
            run_time=datetime(2026, 3, draw(st.integers(1, 2)), 9, tzinfo=UTC),
            state=draw(st.sampled_from([RunState.COMPLETE, RunState.COMPLETE, RunState.ABANDONED])),
            generator_class=draw(st.sampled_from([None, "x1"])),
        )
        values = [draw(st.none() | st.integers(0, 100).map(Decimal)) for _ in tasks]
        found.append(replace(made, verdicts=tuple(map(_goal, tasks, values))))
    return found


def _goal(task: str, value: Decimal | None) -> Verdict:
    state = VerdictState.UNAVAILABLE if value is None else VerdictState.AVAILABLE
    return Verdict(name="goal", source="harness", version="1", value=value, state=state, task_id=task, trial=0)


@settings(max_examples=60)
@given(scored_runs())
def test_sql_reproduces_every_signal(scored: list[ScoredRun]) -> None:
    """Whatever was recorded, under three policies at once, windows and attestations included."""
    with tempfile.TemporaryDirectory() as lake:
        publish(Path(lake), scored, POLICIES)
        assert [] == mismatches(Path(lake))


@settings(max_examples=25)
@given(scored_runs(), st.data())
def test_order_and_repetition_change_no_byte(scored: list[ScoredRun], data: st.DataObject) -> None:
    """Runs, trials and policies shuffled, and published twice, leave the same lake."""
    shuffled = [
        replace(item, run=replace(item.run, trials=tuple(data.draw(st.permutations(item.run.trials)))))
        for item in data.draw(st.permutations(scored))
    ]
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        publish(Path(first), scored, POLICIES)
        publish(Path(second), shuffled, POLICIES[::-1])
        assert bytes_below(Path(first)) == bytes_below(Path(second))
        publish(Path(second), scored, POLICIES)
        assert bytes_below(Path(first)) == bytes_below(Path(second))


@settings(max_examples=25)
@given(scored_runs())
def test_what_is_written_is_what_is_read(scored: list[ScoredRun]) -> None:
    """Every table's rows come back from their file as they went in."""
    for name, rows in rows_of(DAY, scored, POLICIES).items():
        data = partition_bytes(table_named(name), rows)
        assert rows == pq.read_table(io.BytesIO(data)).to_pylist()
