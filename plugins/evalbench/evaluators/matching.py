"""How a call is held against an expectation, once for all evaluators.

An expected call with arguments is matched by (name, canonical JSON of the arguments), one without by name alone.
Names are canonical on both sides and compared exactly. An explicit empty expectation is the expectation of no call.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from evalbench.evaluators.base import Absent
from evalbench.ledger import EMPTY_NOT_DECLARED, ExpectedCall, ToolCall, Trial

ACCUMULATED_TOOLS = "accumulated_tools"
ACCUMULATED_NOTE = "calls read from accumulated_tools: names only, repeats and order unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What was called beside what was expected; both are known.

    sequence_known: False when the source keeps distinct names only, so that repeats and order are unsure.
    """

    called: tuple[ToolCall, ...]
    expected: tuple[ExpectedCall, ...]
    sequence_known: bool

    @property
    def note(self) -> str | None:
        """A remark for the verdicts' detail, None when there is nothing to say."""
        return None if self.sequence_known else ACCUMULATED_NOTE

    @property
    def called_names(self) -> list[str]:
        """Names as called, in order."""
        return [call.name for call in self.called]

    @property
    def expected_names(self) -> list[str]:
        """Names as expected, in order."""
        return [call.name for call in self.expected]

    def arguments_gap(self) -> Absent | None:
        """Why arguments can't be compared: some are expected of a call whose own were not recorded. Else None."""
        named = {call.name for call in self.expected if call.args_json is not None}
        if any(call.name in named and call.args_json is None for call in self.called):
            return Absent(reason="arguments_unrecorded", detail="arguments are expected, but a call recorded none")
        return None

    def sequence_gap(self) -> Absent | None:
        """Why repeats and order can't be judged, None when they can."""
        if not self.sequence_known:
            return Absent(reason="order_unrecorded", detail=ACCUMULATED_NOTE)
        return self.arguments_gap()


def recorded_calls(trial: Trial) -> tuple[ToolCall, ...] | Absent:
    """The calls of a trial, or why they are unavailable.

    An empty list of accumulated names is no evidence of no call: harnesses write it for output they could not parse.
    """
    if trial.calls is None:
        return Absent(reason="calls_unavailable", detail=trial.calls_reason)
    if not trial.calls and trial.calls_source == ACCUMULATED_TOOLS:
        return Absent(reason="calls_unavailable", detail="accumulated_tools is empty and no tool_calls were recorded")
    return trial.calls


def attempt(trial: Trial, *, undeclared_empty: bool = False) -> Attempt | Absent:
    """Calls and expectation of a trial, or why one of them is missing.

    undeclared_empty: take an empty expectation for one, though the operator doesn't.
    """
    undeclared = trial.expected_reason == EMPTY_NOT_DECLARED
    expected = () if undeclared and undeclared_empty else trial.expected
    if expected is None:
        unstated = undeclared or trial.expected_reason is None
        reason = "no_expectation" if unstated else "expectation_unreadable"
        return Absent(reason=reason, detail=trial.expected_reason)
    calls = recorded_calls(trial)
    if isinstance(calls, Absent):
        return calls
    return Attempt(called=calls, expected=expected, sequence_known=trial.calls_source != ACCUMULATED_TOOLS)


def matches(call: ToolCall, expected: ExpectedCall) -> bool:
    """Whether `call` is what was expected."""
    return call.name == expected.name and expected.args_json in (None, call.args_json)


def multiset_matched(called: Sequence[ToolCall], expected: Sequence[ExpectedCall]) -> int:
    """Size of the largest one-to-one matching of expected calls to calls.

    Expectations with arguments pick first: only they are choosy, so nothing is lost to those without.
    """
    exact_called = Counter((call.name, call.args_json) for call in called)
    left = Counter(call.name for call in called)
    matched = 0
    for key, wanted in Counter((c.name, c.args_json) for c in expected if c.args_json is not None).items():
        found = min(wanted, exact_called[key])
        matched += found
        left[key[0]] -= found
    for name, wanted in Counter(c.name for c in expected if c.args_json is None).items():
        matched += min(wanted, left[name])
    return matched


def lcs_length(called: Sequence[ToolCall], expected: Sequence[ExpectedCall]) -> int:
    """Length of the longest common subsequence, bit-parallel over the expected calls (linear in practice).

    A zero bit in `row` at position i means that the LCS with the first i + 1 expected calls is one longer.
    """
    by_name: dict[str, int] = defaultdict(int)
    by_call: dict[tuple[str, str], int] = defaultdict(int)
    for position, wanted in enumerate(expected):
        if wanted.args_json is None:
            by_name[wanted.name] |= 1 << position
        else:
            by_call[wanted.name, wanted.args_json] |= 1 << position
    everything = (1 << len(expected)) - 1
    row = everything
    for call in called:
        hits = by_name.get(call.name, 0)
        if call.args_json is not None:
            hits |= by_call.get((call.name, call.args_json), 0)
        stepped = row & hits
        row = ((row + stepped) | (row & ~hits)) & everything
    return len(expected) - row.bit_count()
