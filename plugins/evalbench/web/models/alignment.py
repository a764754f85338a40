"""Expected calls beside the calls that were made: what matches, what is missing, what came on top."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from evalbench.evaluators.matching import matches
from evalbench.ledger import ExpectedCall, ToolCall

MOST_PAIRS = 90_000
"""Of an expected call with a call: beyond it, nothing is compared, since each is held against each."""


class Mark(StrEnum):
    """What became of an expected call, or what a call is.

    matched: expected and called, in the expected order. reordered: expected and called, at another place.
    differs: the expected tool was called with other arguments. missing: expected, never called. extra: called, not
    expected. alone: not compared, since the other side isn't known, or both sides are too long: nothing can be said.
    """

    MATCHED = "matched"
    REORDERED = "reordered"
    DIFFERS = "differs"
    MISSING = "missing"
    EXTRA = "extra"
    ALONE = "alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedRow:
    """A line of the comparison: an expected call, a call, or both.

    expected_at, called_at: positions from 0 within their lists, None where that side is empty. forbidden: the call is
    of a tool that policy or task forbid.
    """

    mark: Mark
    expected: ExpectedCall | None
    expected_at: int | None
    called: ToolCall | None
    called_at: int | None
    forbidden: bool


def align(
    expected: Sequence[ExpectedCall] | None, called: Sequence[ToolCall] | None, forbidden: Collection[str] = ()
) -> tuple[AlignedRow, ...]:
    """The two lists side by side. Every expected call and every call is in exactly one row; calls keep their order.

    As many as possible are `matched` in order, as the evaluator tool_order counts them; what is left is paired by what
    was called, then by the tool alone. With a list that is None, all rows of the other are `alone`; with two that are
    too long, all rows are. forbidden: names of tools.
    """
    if expected is None or called is None or too_many(expected, called):
        rows = _rows(expected or (), called or (), {}, forbidden)
        return tuple(replace(row, mark=Mark.ALONE) for row in rows)
    pairs = {at: (Mark.MATCHED, wanted) for wanted, at in _common(expected, called)}
    for mark, fits in ((Mark.REORDERED, matches), (Mark.DIFFERS, _same_tool)):
        pairs |= {at: (mark, wanted) for wanted, at in _pairs(expected, called, pairs, fits)}
    return tuple(_rows(expected, called, pairs, forbidden))


def too_many(expected: Sequence[ExpectedCall], called: Sequence[ToolCall]) -> bool:
    """Whether the lists are too long to be compared call by call."""
    return len(expected) * len(called) > MOST_PAIRS


def _common(expected: Sequence[ExpectedCall], called: Sequence[ToolCall]) -> Iterator[tuple[int, int]]:
    """A longest common subsequence, as positions in both lists."""
    longest = [[0] * (len(called) + 1) for _ in range(len(expected) + 1)]
    for i in range(len(expected) - 1, -1, -1):
        row, below = longest[i], longest[i + 1]
        for j in range(len(called) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if matches(called[j], expected[i]) else max(below[j], row[j + 1])
    i = j = 0
    while i < len(expected) and j < len(called):
        if matches(called[j], expected[i]):
            yield i, j
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1


def _pairs(
    expected: Sequence[ExpectedCall],
    called: Sequence[ToolCall],
    taken: Mapping[int, tuple[Mark, int]],
    fits: Callable[[ToolCall, ExpectedCall], bool],
) -> Iterator[tuple[int, int]]:
    """Pairs among those without one, by position; expectations with arguments choose first, they are choosier."""
    paired = {wanted for _, wanted in taken.values()}
    free = [at for at in range(len(called)) if at not in taken]
    for wanted in sorted(range(len(expected)), key=lambda at: (expected[at].args_json is None, at)):
        if wanted in paired:
            continue
        found = next((at for at in free if fits(called[at], expected[wanted])), None)
        if found is not None:
            free.remove(found)
            yield wanted, found


def _same_tool(call: ToolCall, expected: ExpectedCall) -> bool:
    return call.name == expected.name


def _rows(
    expected: Sequence[ExpectedCall],
    called: Sequence[ToolCall],
    pairs: Mapping[int, tuple[Mark, int]],
    forbidden: Collection[str],
) -> Iterator[AlignedRow]:
    """A row per call in their order; missing ones before the first matched call that was expected after them."""
    paired = {wanted for _, wanted in pairs.values()}
    missing = deque(at for at in range(len(expected)) if at not in paired)
    for at, call in enumerate(called):
        mark, wanted = pairs.get(at, (Mark.EXTRA, None))
        while mark is Mark.MATCHED and wanted is not None and missing and missing[0] < wanted:
            yield _missing(expected, missing.popleft())
        yield AlignedRow(
            mark=mark,
            expected=None if wanted is None else expected[wanted],
            expected_at=wanted,
            called=call,
            called_at=at,
            forbidden=call.name in forbidden,
        )
    yield from (_missing(expected, at) for at in missing)


def _missing(expected: Sequence[ExpectedCall], at: int) -> AlignedRow:
    return AlignedRow(
        mark=Mark.MISSING, expected=expected[at], expected_at=at, called=None, called_at=None, forbidden=False
    )
