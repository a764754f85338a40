"""Tool evaluators: the definitions, their null cases, and what the source of the calls allows."""

import json
from decimal import Decimal

import pytest

from evalbench.evaluators import evaluate_trial
from evalbench.evaluators.arguments import EVALUATOR as ARGUMENTS
from evalbench.evaluators.arguments import tolerant
from evalbench.evaluators.evalbench_parity import EVALUATOR as PARITY
from evalbench.evaluators.evalbench_parity import EvalbenchParity
from evalbench.evaluators.tool_order import EVALUATOR as ORDER
from evalbench.evaluators.tool_selection import EVALUATOR as SELECTION
from evalbench.evaluators.tools_avoided import EVALUATOR as AVOIDED
from evalbench.evaluators.trajectory import EVALUATOR as TRAJECTORY
from evalbench.ledger import EMPTY_NOT_DECLARED, EvidenceRef, ExpectedCall, ToolCall, Trial, Verdict, VerdictState

Step = str | tuple[str, object]


def trial(called: list[Step] | None, expected: list[Step] | None, **fields: object) -> Trial:
    """A trial from names, or (name, arguments) pairs."""
    return Trial(
        task_id="t1",
        trial=0,
        calls=None if called is None else tuple(a_call(i, step) for i, step in enumerate(called)),
        expected=None if expected is None else tuple(an_expectation(step) for step in expected),
        **fields,
    )


def a_call(index: int, step: Step) -> ToolCall:
    name, arguments = step if isinstance(step, tuple) else (step, {})
    return ToolCall(index=index, raw_name=name, name=name, args_json=canonical(arguments))


def an_expectation(step: Step) -> ExpectedCall:
    name, arguments = step if isinstance(step, tuple) else (step, None)
    return ExpectedCall(raw_name=name, name=name, args_json=None if arguments is None else canonical(arguments))


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def shown(verdicts: tuple[Verdict, ...]) -> dict[str, Decimal | str | None]:
    """Value by short name, the reason where there is no value."""
    return {
        verdict.name.partition(".")[2]: verdict.reason if verdict.value is None else verdict.value.normalize()
        for verdict in verdicts
    }


D = Decimal
ONE, ZERO, HALF = D(1), D(0), D("0.5")


@pytest.mark.parametrize(
    ("called", "expected", "set_values", "multiset_values"),
    [
        (["a", "b"], ["a", "b"], (ONE, ONE, ONE), (ONE, ONE, ONE)),
        (["a", "b", "c", "d"], ["a", "b"], (HALF, ONE, D("0.666666667")), (HALF, ONE, D("0.666666667"))),
        (["a"], ["a", "b"], (ONE, HALF, D("0.666666667")), (ONE, HALF, D("0.666666667"))),
        (["a", "a", "a"], ["a"], (ONE, ONE, ONE), (D("0.333333333"), ONE, HALF)),
        (["a"], ["a", "a"], (ONE, ONE, ONE), (ONE, HALF, D("0.666666667"))),
        ([], [], (ONE, ONE, ONE), (ONE, ONE, ONE)),
        ([], ["a"], ("nothing_called", ZERO, ZERO), ("nothing_called", ZERO, ZERO)),
        (["a"], [], (ZERO, "nothing_expected", ZERO), (ZERO, "nothing_expected", ZERO)),
        ([("a", {"x": 2})], [("a", {"x": 1})], (ONE, ONE, ONE), (ZERO, ZERO, ZERO)),
        ([("a", {"x": 2}), ("a", {"x": 1})], ["a", ("a", {"x": 1})], (ONE, ONE, ONE), (ONE, ONE, ONE)),
    ],
)
def test_tool_selection_compares_names_as_a_set_and_calls_as_a_multiset(
    called: list[Step], expected: list[Step], set_values: tuple[object, ...], multiset_values: tuple[object, ...]
) -> None:
    """Precision, recall and F1; both sides empty is 1, one side empty has F1 0 and one rate over nothing."""
    found = shown(SELECTION.evaluate(trial(called, expected)))
    assert set_values == (found["set_precision"], found["set_recall"], found["set_f1"])
    assert multiset_values == (found["multiset_precision"], found["multiset_recall"], found["multiset_f1"])


@pytest.mark.parametrize(
    ("called", "expected", "subsequence", "graded"),
    [
        (["a", "x", "b"], ["a", "b"], ONE, ONE),
        (["b", "a"], ["a", "b"], ZERO, HALF),
        (["a", "c", "b", "d"], ["a", "b", "c", "d"], ZERO, D("0.75")),
        ([], ["a"], ZERO, ZERO),
        (["a"], [], ONE, "nothing_expected"),
        ([("a", {"x": 1})], [("a", {"x": 2})], ZERO, ZERO),
        ([("a", {"x": 2}), ("b", {})], ["a", ("b", {})], ONE, ONE),
    ],
)
def test_tool_order_is_a_subsequence_and_a_share_of_it(
    called: list[Step], expected: list[Step], subsequence: object, graded: object
) -> None:
    """The longest common subsequence over the expected calls; with nothing expected its share is null."""
    found = shown(ORDER.evaluate(trial(called, expected)))
    assert (subsequence, graded) == (found["subsequence"], found["graded"])


@pytest.mark.parametrize(
    ("called", "expected", "values"),
    [
        # exact, in_order, any_order, precision, recall, single_tool_use
        (["a", "b"], ["a", "b"], (ONE, ONE, ONE, ONE, ONE, "no_single_tool")),
        (["a", "x", "b"], ["a", "b"], (ZERO, ONE, ONE, D("0.666666667"), ONE, "no_single_tool")),
        (["b", "a"], ["a", "b"], (ZERO, ZERO, ONE, ONE, ONE, "no_single_tool")),
        (["a"], ["a", "b"], (ZERO, ZERO, ZERO, ONE, HALF, "no_single_tool")),
        (["x", "a"], ["a"], (ZERO, ONE, ONE, HALF, ONE, ONE)),
        (["x"], ["a", "a"], (ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)),
        (["a"], ["a", "a"], (ZERO, ZERO, ONE, ONE, ONE, ONE)),
        ([], [], (ONE, ONE, ONE, ONE, ONE, "no_single_tool")),
        ([], ["a"], (ZERO, ZERO, ZERO, "nothing_called", ZERO, ZERO)),
        (["a"], [], (ZERO, ONE, ONE, ZERO, "nothing_expected", "no_single_tool")),
        ([("a", {"x": 1})], [("a", {"x": 2})], (ZERO, ZERO, ZERO, ZERO, ZERO, ONE)),
        ([("a", {"x": 1})], ["a"], (ONE, ONE, ONE, ONE, ONE, ONE)),
    ],
)
def test_trajectory_gives_the_six_metrics(called: list[Step], expected: list[Step], values: tuple[object, ...]) -> None:
    """Vertex's definitions, on names or on names with arguments, whichever the expectation states."""
    assert values == tuple(shown(TRAJECTORY.evaluate(trial(called, expected))).values())


@pytest.mark.parametrize(
    ("called", "expected", "jaccard", "ordered"),
    [
        (["s__a", "s__b"], ["s__a", "s__b"], D(100), D(100)),
        (["s__a", "s__b"], ["s__b", "s__a"], D(100), ZERO),
        (["s__a", "s__x", "s__b"], ["s__a", "s__b"], D("66.666666667"), D("66.666666667")),
        (["s__a", "s__a"], ["s__a"], D(100), D(50)),
        (["Read", "s__a"], ["s__a", "Bash"], D(100), D(100)),
        (["Read"], ["Bash"], D(100), D(100)),
        ([], [], D(100), D(100)),
        (["s__a"], [], ZERO, ZERO),
        (["__a", "s__"], ["s__a"], ZERO, ZERO),
    ],
)
def test_parity_scores_as_evalbench_does(
    called: list[Step], expected: list[Step], jaccard: Decimal, ordered: Decimal
) -> None:
    """Names without a server are dropped from both sides, and two empty sides are 100."""
    found = shown(PARITY.evaluate(trial(called, expected)))
    assert (jaccard.normalize(), ordered.normalize()) == (found["jaccard"], found["ordered"])


def test_parity_keeps_native_tools_when_told_so() -> None:
    """`filter_native_tools` is the evaluator's parameter, as it is the scorer's upstream."""
    found = shown(EvalbenchParity(filter_native_tools=False).evaluate(trial(["Read"], ["Bash"])))
    assert found == {"jaccard": ZERO, "ordered": ZERO}


@pytest.mark.parametrize(
    ("calls", "forbidden", "value", "detail"),
    [
        ([("pay", None), ("drop", None)], ("drop",), ZERO, {"attempted": 1, "rejected": 0, "tools": ["drop"]}),
        ([("drop", "rejected")], ("drop",), ZERO, {"attempted": 1, "rejected": 1, "tools": ["drop"]}),
        (
            [("drop", "rejected"), ("wipe", "success"), ("drop", "error")],
            ("wipe", "drop"),
            ZERO,
            {"attempted": 3, "rejected": 1, "tools": ["drop", "wipe"]},
        ),
        ([("pay", None)], ("drop",), ONE, {"attempted": 0, "rejected": 0, "tools": []}),
        ([], ("drop",), ONE, {"attempted": 0, "rejected": 0, "tools": []}),
        ([("pay", None)], (), ONE, {"attempted": 0, "rejected": 0, "tools": []}),
    ],
)
def test_a_forbidden_call_is_zero_even_when_it_was_rejected(
    calls: list[tuple[str, str | None]], forbidden: tuple[str, ...], value: Decimal, detail: dict[str, object]
) -> None:
    """No in-between; how many attempts were rejected is reported apart."""
    made = tuple(ToolCall(index=i, raw_name=n, name=n, status=status) for i, (n, status) in enumerate(calls))
    (verdict,) = AVOIDED.evaluate(Trial(task_id="t1", trial=0, calls=made, forbidden=forbidden))
    assert ("tools_avoided", value) == (verdict.name, verdict.value)
    assert detail == json.loads(verdict.detail or "")


@pytest.mark.parametrize(
    ("called", "expected", "value", "counts"),
    [
        ([("a", {"x": 1, "y": 2})], [("a", {"x": 1, "y": 3})], HALF, (1, 1, 2, 0)),
        ([("a", {"x": "7", "extra": True})], [("a", {"x": 7})], ONE, (1, 1, 1, 0)),
        ([("a", {"x": 1})], [("a", {"x": 1}), ("b", {"y": 1})], ONE, (1, 1, 1, 1)),
        ([("b", {"y": 1}), ("a", {"x": 1})], [("a", {"x": 1}), ("b", {"y": 1})], ONE, (1, 1, 1, 1)),
        ([("a", {"x": 2}), ("a", {"x": 1})], [("a", {"x": 1})], ONE, (1, 1, 1, 0)),
        ([("a", {"x": 1})], [("a", {"x": 1, "y": 1})], HALF, (1, 1, 2, 0)),
        ([("b", {})], [("a", {"x": 1})], "no_pair", (0, 0, 0, 1)),
        ([("a", {})], ["a"], "no_expected_arguments", (1, 0, 0, 0)),
        ([("a", [1, 2])], [("a", ["1", 2])], ONE, (1, 1, 1, 0)),
    ],
)
def test_arguments_are_compared_in_same_named_calls_paired_in_order(
    called: list[Step], expected: list[Step], value: object, counts: tuple[int, ...]
) -> None:
    """Equal over expected arguments; unmatched expected calls are counted beside, and no pair is null."""
    (verdict,) = ARGUMENTS.evaluate(trial(called, expected))
    assert value == (verdict.reason if verdict.value is None else verdict.value.normalize())
    detail = json.loads(verdict.detail or "")
    assert counts == (detail["pairs"], detail["equal"], detail["expected"], detail["unmatched"])


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("7", '"7"', True),
        ("7.0", "7", True),
        ("7", '" 7 "', True),
        ("true", '"True"', True),
        ('{"a": [1, "2"]}', '"{\\"a\\": [1, 2]}"', True),
        ("100000000000000000000000000000001", '"100000000000000000000000000000001"', True),
        ("100000000000000000000000000000001", "100000000000000000000000000000002", False),
        ('"007"', "7", False),
        ('"1e3"', "1000", False),
        ("1", "true", False),
        ("null", '""', False),
        ("null", '"null"', False),
        ('"a"', '"A"', False),
        ("[1, 2]", "[2, 1]", False),
        ('"[NaN]"', '"[1]"', False),
    ],
)
def test_argument_equality_tolerates_type_never_spelling(left: str, right: str, same: bool) -> None:
    """`"7"` and 7 are one value; `"007"` and `"1e3"` are ids."""
    a, b = (tolerant(json.loads(text, parse_float=Decimal, parse_int=Decimal)) for text in (left, right))
    assert same == (a == b)


def test_a_missing_side_makes_every_value_unavailable_with_its_reason() -> None:
    """No expectation, an unreadable one, and unavailable calls are three reasons; none is 0."""
    cases = {
        "no_expectation": trial(["a"], None),
        "expectation_unreadable": trial(["a"], None, expected_reason="expected_trajectory is a string"),
        "calls_unavailable": trial(None, ["a"], calls_reason="history_unparsable"),
    }
    for reason, case in cases.items():
        for evaluator in (SELECTION, ORDER, TRAJECTORY, PARITY, ARGUMENTS):
            verdicts = evaluator.evaluate(case)
            assert evaluator.verdict_names() == tuple(verdict.name for verdict in verdicts)
            assert {(reason, None)} == {(verdict.reason, verdict.value) for verdict in verdicts}
    (avoided,) = AVOIDED.evaluate(trial(["a"], None))
    assert avoided.reason == "no_forbidden_list"
    (unseen,) = AVOIDED.evaluate(trial(None, None, forbidden=("drop",), calls_reason="history_unparsable"))
    assert (unseen.reason, unseen.detail) == ("calls_unavailable", "history_unparsable")


@pytest.mark.parametrize(
    ("called", "expected"),
    [pytest.param([], (100, 100), id="nothing called"), pytest.param(["s__a"], (0, 0), id="something called")],
)
def test_parity_scores_an_empty_expectation_that_is_not_declared(called: list[Step], expected: tuple[int, int]) -> None:
    """What the operator takes for no expectation EvalBench scores all the same; our own metrics stay silent."""
    case = trial(called, None, expected_reason=EMPTY_NOT_DECLARED)
    assert expected == tuple(verdict.value for verdict in PARITY.evaluate(case))
    for evaluator in (SELECTION, ORDER, TRAJECTORY, ARGUMENTS):
        assert {("no_expectation", None)} == {(verdict.reason, verdict.value) for verdict in evaluator.evaluate(case)}


def test_accumulated_tools_answer_only_questions_about_which_names_were_called() -> None:
    """A list of distinct names keeps neither repeats nor order, and the verdicts it allows say where they come from."""
    names_only = tuple(ToolCall(index=i, raw_name=n, name=n) for i, n in enumerate(["s__a", "s__b"]))
    expected = (ExpectedCall(raw_name="s__a", name="s__a"),)
    verdicts = evaluate_trial(
        Trial(task_id="t", trial=0, calls=names_only, calls_source="accumulated_tools", expected=expected)
    )
    available = {verdict.name: verdict.detail for verdict in verdicts if verdict.value is not None}
    assert set(available) == {
        "tool_selection.set_precision",
        "tool_selection.set_recall",
        "tool_selection.set_f1",
        "trajectory.any_order",
        "trajectory.recall",
        "trajectory.single_tool_use",
        "evalbench_parity.jaccard",
        "evalbench_parity.ordered",
    }
    assert all("accumulated_tools" in (detail or "") for detail in available.values())
    reasons = {verdict.reason for verdict in verdicts if verdict.value is None}
    assert reasons == {"order_unrecorded", "no_forbidden_list"}


def test_an_empty_list_of_accumulated_tools_is_no_evidence_of_no_call() -> None:
    """Harnesses write it for output they could not parse, so a forbidden tool was not shown to be avoided."""
    silent = Trial(task_id="t", trial=0, calls=(), calls_source="accumulated_tools", expected=(), forbidden=("drop",))
    assert {"calls_unavailable"} == {verdict.reason for verdict in evaluate_trial(silent)}


def test_expected_arguments_need_recorded_arguments() -> None:
    """Where the call's arguments were not recorded, nothing can be said of them; names still can."""
    unrecorded = (ToolCall(index=0, raw_name="a", name="a"),)
    case = Trial(task_id="t", trial=0, calls=unrecorded, expected=(an_expectation(("a", {"x": 1})),))
    found = shown(SELECTION.evaluate(case)) | shown(TRAJECTORY.evaluate(case)) | shown(ARGUMENTS.evaluate(case))
    assert found == {
        "set_precision": ONE,
        "set_recall": ONE,
        "set_f1": ONE,
        "multiset_precision": "arguments_unrecorded",
        "multiset_recall": "arguments_unrecorded",
        "multiset_f1": "arguments_unrecorded",
        "exact": "arguments_unrecorded",
        "in_order": "arguments_unrecorded",
        "any_order": "arguments_unrecorded",
        "precision": "arguments_unrecorded",
        "recall": "arguments_unrecorded",
        "single_tool_use": ONE,
        "equal_share": "arguments_unrecorded",
    }


def test_a_pairing_too_large_to_compute_is_unavailable() -> None:
    """Hostile lengths cost a verdict, not the pipeline."""
    case = trial(["a"] * 1001, [("a", {"x": 1})] * 1000)
    (verdict,) = ARGUMENTS.evaluate(case)
    assert verdict.reason == "too_many_calls"


def test_a_verdict_names_its_trial_its_version_and_its_evidence() -> None:
    """Every verdict can be traced to the record it was made from."""
    ref = EvidenceRef(file="trials.jsonl", row=3)
    verdict = ORDER.evaluate(trial(["a"], ["a"], ref=ref))[0]
    assert ("evaluator", "1", VerdictState.AVAILABLE) == (verdict.source, verdict.version, verdict.state)
    assert ("t1", 0, ref) == (verdict.task_id, verdict.trial, verdict.ref)
