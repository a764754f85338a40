"""What holds of every evaluator and every comparator row, whatever was recorded."""

from collections import Counter
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from evalbench.comparators import KNOWN_SCORERS, harness_verdict
from evalbench.evaluators import EVALUATORS, evaluate_trial
from evalbench.evaluators.matching import lcs_length, multiset_matched
from evalbench.ledger import ComparatorRow, ExpectedCall, ToolCall, Trial, Verdict, VerdictState
from evalbench.repeats import pass_at_k_brackets, pass_hat_k_brackets

NAMES = st.sampled_from(["s__a", "s__b", "s__c", "native"])
ARGUMENTS = st.sampled_from(["{}", '{"x":1}', '{"x":"1"}', '{"x":2,"y":[1]}'])
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), max_size=7)
EXPECTED = st.lists(st.tuples(NAMES, st.none() | ARGUMENTS), max_size=5)


def called(steps: list[tuple[str, str]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(index=i, raw_name=n, name=n, args_json=a) for i, (n, a) in enumerate(steps))


def wanted(steps: list[tuple[str, str | None]]) -> tuple[ExpectedCall, ...]:
    return tuple(ExpectedCall(raw_name=n, name=n, args_json=a) for n, a in steps)


def values(calls: tuple[ToolCall, ...], expected: tuple[ExpectedCall, ...]) -> dict[str, Verdict]:
    trial = Trial(task_id="t", trial=0, calls=calls, expected=expected, forbidden=("s__c",))
    return {verdict.name: verdict for verdict in evaluate_trial(trial)}


def plain_lcs(calls: tuple[ToolCall, ...], expected: tuple[ExpectedCall, ...]) -> int:
    """The textbook table."""
    above = [0] * (len(calls) + 1)
    for want in expected:
        row = [0]
        for column, call in enumerate(calls):
            same = call.name == want.name and want.args_json in (None, call.args_json)
            row.append(max(above[column + 1], row[column], above[column] + 1 if same else 0))
        above = row
    return above[-1]


def plain_matching(calls: tuple[ToolCall, ...], expected: tuple[ExpectedCall, ...]) -> int:
    """The largest matching, by trying everything."""
    if not expected:
        return 0
    best = plain_matching(calls, expected[1:])
    for position, call in enumerate(calls):
        if call.name == expected[0].name and expected[0].args_json in (None, call.args_json):
            best = max(best, 1 + plain_matching(calls[:position] + calls[position + 1 :], expected[1:]))
    return best


@given(CALLS, EXPECTED)
def test_every_value_is_in_its_range_or_says_why_not(
    calls: list[tuple[str, str]], expected: list[tuple[str, str | None]]
) -> None:
    """A value xor a reason, at most nine decimals, and no evaluator crashes."""
    found = values(called(calls), wanted(expected))
    for evaluator in EVALUATORS:
        for name in evaluator.verdict_names():
            verdict = found[name]
            assert (verdict.value is None) == (verdict.reason is not None)
            assert verdict.reason != "evaluator_error"
            if verdict.value is not None:
                assert 0 <= verdict.value <= evaluator.top
                assert verdict.value == verdict.value.quantize(Decimal("1e-9"))


@given(CALLS, EXPECTED)
def test_sequence_and_multiset_agree_with_the_textbook(
    calls: list[tuple[str, str]], expected: list[tuple[str, str | None]]
) -> None:
    """The fast forms are the plain ones."""
    p, r = called(calls), wanted(expected)
    assert plain_lcs(p, r) == lcs_length(p, r)
    assert plain_matching(p, r[:4]) == multiset_matched(p, r[:4])


@given(CALLS, EXPECTED)
def test_stricter_trajectory_metrics_imply_looser_ones(
    calls: list[tuple[str, str]], expected: list[tuple[str, str | None]]
) -> None:
    """exact → in order → any order, and any order is a recall of 1."""
    found = values(called(calls), wanted(expected))
    exact, in_order, any_order = (found[f"trajectory.{name}"].value for name in ("exact", "in_order", "any_order"))
    assert exact is not None
    assert in_order is not None
    assert any_order is not None
    assert exact <= in_order <= any_order
    assert in_order == found["tool_order.subsequence"].value
    if expected:
        assert (any_order == 1) == (found["trajectory.recall"].value == 1)


@given(CALLS)
def test_doing_exactly_what_was_expected_is_the_best_of_everything(calls: list[tuple[str, str]]) -> None:
    """Called = expected: each available value but `tools_avoided` is at its top."""
    found = values(called(calls), wanted(list(calls)))
    for evaluator in EVALUATORS:
        for name in evaluator.verdict_names():
            if found[name].value is not None and name != "tools_avoided":
                assert found[name].value == evaluator.top


@given(CALLS, EXPECTED, st.integers(0, 7))
def test_a_forbidden_call_anywhere_is_never_forgiven(
    calls: list[tuple[str, str]], expected: list[tuple[str, str | None]], position: int
) -> None:
    """Adding harm can't turn 0 into 1."""
    harmed = [*calls[:position], ("s__c", "{}"), *calls[position:]]
    assert values(called(harmed), wanted(expected))["tools_avoided"].value == 0


@given(
    st.sampled_from(sorted(KNOWN_SCORERS)) | st.text(max_size=20),
    st.none() | st.decimals(allow_nan=True, allow_infinity=True),
    st.text(max_size=80) | st.sampled_from(["FAIL", "PASS", "Error calling model: x", "3/4 sub-goals met"]),
    st.text(max_size=10),
)
def test_no_row_breaks_its_verdict(comparator: str, score: Decimal | None, log: str, error: str) -> None:
    """Any text in any cell gives a verdict: a finite value, or a reason."""
    row = ComparatorRow(comparator=comparator, score=score, score_text=str(score), log=log, error=error)
    verdict = harness_verdict(row, Trial(task_id="t", trial=0))
    assert (verdict.state is VerdictState.AVAILABLE) == (verdict.value is not None) == (verdict.reason is None)
    assert verdict.value is None or verdict.value.is_finite()


@given(st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from([True, False, None]), max_size=5), max_size=6))
def test_the_bracket_holds_and_repeats_only_get_harder(trials: dict[str, list[bool | None]]) -> None:
    """lower ≤ upper; pass^k ≤ pass@k; and the order of tasks doesn't matter."""
    counted = {task: Counter(seen) for task, seen in trials.items()}
    hat, at = pass_hat_k_brackets(counted), pass_at_k_brackets(counted)
    assert hat == pass_hat_k_brackets(dict(reversed(counted.items())))
    for k, bracket in hat.items():
        assert bracket.lower is not None
        assert bracket.upper is not None
        assert at[k].lower is not None
        assert 0 <= bracket.lower <= bracket.upper <= 1
        assert bracket.lower <= (at[k].lower or 0.0)
