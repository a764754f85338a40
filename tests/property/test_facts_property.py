"""Facts: write then read is identity, for any run a ledger can hold."""

from dataclasses import is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.lake.facts import decode_run, encode_run
from evalbench.lake.verdicts import decode_verdicts, encode_verdicts
from evalbench.ledger import Run, RunState, Trial, Verdict

INT64 = st.integers(-(2**63), 2**63 - 1)
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=12),
    int: INT64,
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    datetime: st.datetimes(timezones=st.just(UTC)),
    NoneType: st.none(),
}


def of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a ledger type, by its annotations: a new field is covered the day it is added."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in LEAVES:
        return LEAVES[kind]
    if is_dataclass(kind):
        fields = {name: of(hint) for name, hint in get_type_hints(kind).items()}
        return st.builds(kind, **fields)
    if origin in (Union, UnionType):
        return st.one_of(*(of(part) for part in parts))
    if origin is tuple:
        return st.lists(of(parts[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(of(parts[0]), of(parts[1]), max_size=2)
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    raise TypeError(kind)


RUNS = st.deferred(lambda: of(Run))


@given(RUNS)
@settings(max_examples=60)
def test_a_run_survives_the_lake(run: Run) -> None:
    """Every field of every record comes back equal, and encodes to the same bytes again."""
    data = encode_run(run)
    assert run == decode_run(data)
    assert data == encode_run(decode_run(data))


@given(st.lists(of(Verdict), max_size=4).map(tuple))
@settings(max_examples=60)
def test_verdicts_survive_the_lake(verdicts: tuple[Verdict, ...]) -> None:
    """As runs do."""
    assert verdicts == decode_verdicts(encode_verdicts(verdicts))


@given(st.lists(of(Trial), max_size=2))
@settings(max_examples=20)
def test_trials_keep_their_order(trials: list[Trial]) -> None:
    """The order of trials is part of a run."""
    run = Run(
        run_id="r",
        run_key="k",
        path="p",
        format="f",
        state=RunState.COMPLETE,
        content="c",
        reader_version="1",
        run_time=datetime(2026, 1, 1, tzinfo=UTC),
        candidate="c",
        product="p",
        trials=tuple(trials),
    )
    assert tuple(trials) == decode_run(encode_run(run)).trials
