"""Policy files: strict, exact, hashed by meaning; and what the shipped ones say."""

from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from evalbench.errors import PolicyError, UsageError
from evalbench.policy import Policy, matches_any, parse_policy

SMALL = """
schema: 1
name: small
version: "1"
floors: {verified_yield: {min: 0.6}}
"""


def parsed(extra: str = "", base: str = SMALL) -> Policy:
    """The small policy with more lines."""
    return parse_policy(base + extra, "mine.yaml")


# -- errors ------------------------------------------------------------------------------------------------------

BROKEN = [
    ("", "mine.yaml: expected a mapping at the top, found NoneType"),
    ("- schema: 1", "mine.yaml: expected a mapping at the top, found list"),
    ("schema: [1", "mine.yaml:1:11: not valid YAML"),
    ("schema: 1\nname: &a x\nversion: *b\n", "mine.yaml:3:10: not valid YAML"),
    ("schema: 1\nname: !!python/object/apply:os.getcwd []\n", "mine.yaml:2:7: not valid YAML"),
    (SMALL.replace("schema: 1", "schema: 2"), "mine.yaml: schema: "),
    (SMALL.replace("schema: 1", ""), "mine.yaml: schema: Field required"),
    (SMALL.replace("small", '""'), "name: "),
    (SMALL.replace('"1"', "1"), "version: Input should be a valid string"),
    (
        SMALL.replace("verified_yield", "verified_yeild"),
        "floors.verified_yeild: unknown key; did you mean verified_yield?",
    ),
    (SMALL.replace("verified_yield", "verified_yeild"), "floors.verified_yield: Field required"),
    (SMALL.replace("floors: {verified_yield: {min: 0.6}}", ""), "floors: Field required"),
    (SMALL.replace("0.6", "1.01"), "floors.verified_yield.min: "),
    (SMALL.replace("0.6", "-0.1"), "floors.verified_yield.min: "),
    (SMALL.replace("0.6", ".nan"), "floors.verified_yield.min: "),
    (SMALL.replace("0.6", ".inf"), "floors.verified_yield.min: "),
    (SMALL.replace("0.6", "most"), "floors.verified_yield.min: "),
    (SMALL + "budget: 0.6\n", "mine.yaml: budget: unknown key; known are schema, name, "),
    (SMALL + "window: {days: 0}\n", "window.days: "),
    (SMALL + "window: {days: 1.5}\n", "window.days: "),
    (SMALL + "window: {days: 367}\n", "window.days: "),
    (SMALL + "coverage: {verdicts: 95}\n", "coverage.verdicts: "),
    (SMALL + "coverage: {plan: optional}\n", "coverage.plan: "),
    (SMALL + "tools: {unmatched: harmless}\n", "tools.unmatched: "),
    (SMALL + "tools: {forbidden: drop}\n", "tools.forbidden: "),
    (SMALL + "quality: {graders: [{name: a}, {weight: 2}]}\n", "quality.graders[1].name: Field required"),
    (SMALL + "quality: {graders: [{name: a, weight: 0}]}\n", "quality.graders[0].weight: "),
    (SMALL + "unknown_effects: {max_count: true}\n", "unknown_effects.max_count: "),
    (SMALL.replace("}}", "}, budget: {max_usd_per_verified_outcome: 1e400}}"), "max_usd_per_verified_outcome: "),
    (SMALL.replace("}}", "}, budget: {max_usd_per_verified_outcome: 1e-10}}"), "max_usd_per_verified_outcome: "),
    (SMALL + "comparison: {cost_usd: 1e999999999}\n", "comparison.cost_usd: "),
    (SMALL.replace("small", "9" * 5000), "mine.yaml: not valid YAML: ValueError"),
    (SMALL.replace("small", "2026-99-99"), "mine.yaml: not valid YAML: ValueError"),
    (SMALL + "tools: " + "[" * 5000, "mine.yaml: not valid YAML: RecursionError"),
    (SMALL + "? [a, b]\n: c\n", "a key must be a text"),
    (SMALL + "unknown_effects: {max_count: -1}\n", "unknown_effects.max_count: "),
    (SMALL + "cost_basis: guessed\n", "cost_basis: "),
    (SMALL + "tolerate: {everything: {up_to: 1, reason: r}}\n", "tolerate.everything"),
    (SMALL + "tolerate: {effects: {up_to: 1}}\n", "tolerate.effects.reason: Field required"),
    (SMALL + "tolerate: {effects: {reason: r}}\n", "tolerate.effects.up_to: Field required"),
    (SMALL + "tolerate: {effects: {up_to: -1, reason: r}}\n", "tolerate.effects.up_to: "),
    (
        SMALL + "outcome: {attestations: [{comparator: c, match: {product: p}, predicate: x, reason: r}]}\n",
        "outcome.attestations[0].match.generator_class: Field required",
    ),
    (
        SMALL + "outcome: {attestations: [{comparator: c, match: {product: p}, predicate: x, reason: r}]}\n",
        "outcome.attestations[0].attested_by: Field required",
    ),
]


@pytest.mark.parametrize(("text", "words"), BROKEN)
def test_an_error_names_the_file_and_the_place(text: str, words: str) -> None:
    """Every problem is told at once, in one line, each with its YAML path."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "mine.yaml")
    message = str(caught.value)
    assert message.startswith("mine.yaml:")
    assert words in message
    assert "\n" not in message


DUPLICATES = [
    ("name: other\n", "'name' is given twice"),
    ("floors: {verified_yield: {min: 0.1}}\n", "'floors' is given twice"),
    ("coverage: {cost: 1.0, cost: 0.5}\n", "'cost' is given twice"),
    ("tolerate:\n  effects: {up_to: 1, reason: r}\n  effects: {up_to: 9, reason: r}\n", "'effects' is given twice"),
]


@pytest.mark.parametrize(("extra", "words"), DUPLICATES)
def test_a_key_given_twice_is_refused(extra: str, words: str) -> None:
    """Plain YAML would keep the last one silently: the limit a reader sees first would not hold."""
    with pytest.raises(PolicyError, match=words):
        parsed(extra)


def test_a_policy_error_is_the_callers_mistake() -> None:
    """Exit code 2, not a fault of the pipeline."""
    assert issubclass(PolicyError, UsageError)


# -- values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["0.6", "0.1", "0.07", "0.29", "0.999", "1e-3", "1", "0"])
def test_a_number_is_the_decimal_a_person_wrote(written: str) -> None:
    """0.6 is six tenths, not the nearest binary fraction, so a rate of exactly six tenths meets it."""
    floor = parsed(base=SMALL.replace("0.6", written)).floors.verified_yield.min
    assert Decimal(written) == floor
    budget = parsed(
        base=SMALL.replace("}}", f"}}, budget: {{max_usd_per_verified_outcome: {written}}}}}")
    ).floors.budget
    assert budget is not None
    assert Decimal(written) == budget.max_usd_per_verified_outcome


def test_what_is_not_named_is_strict() -> None:
    """The shortest policy asks for destination evidence, bills, keys and a plan, and tolerates nothing."""
    policy = parsed()
    coverage = policy.coverage
    one = Decimal(1)
    assert ("required", one, one, one, None, one, one) == (
        coverage.plan, coverage.verdicts, coverage.effects, coverage.cost, coverage.grades, coverage.receipts,
        coverage.idempotency,
    )  # fmt: skip
    assert (0, 0, False) == (
        policy.false_success.max_rate,
        policy.unknown_effects.max_count,
        policy.unknown_effects.tolerate_read_only_tools,
    )
    assert (False, (), {}, 1, "billed") == (
        policy.declared.finished_conversation,
        policy.outcome.attestations,
        policy.tolerate,
        policy.window.days,
        policy.cost_basis,
    )
    assert policy.tools.is_effectful("anything")


TOOLS = [
    # tool, effectful, read_only, unmatched, is it effectful
    ("crm__get_user", (), ("*__get_*",), "effectful", False),
    ("crm__set_user", (), ("*__get_*",), "effectful", True),
    ("crm__get_user", ("crm__*",), ("*__get_*",), "effectful", True),
    ("crm__get_user", (), (), "read_only", False),
    ("crm__set_user", ("*__set_*",), (), "read_only", True),
    ("CRM__GET_user", (), ("*__get_*",), "effectful", True),
    ("bash", (), ("*__get_*",), "effectful", True),
]


@pytest.mark.parametrize(("tool", "effectful", "read_only", "unmatched", "expected"), TOOLS)
def test_which_tools_write(
    tool: str, effectful: tuple[str, ...], read_only: tuple[str, ...], unmatched: str, expected: bool
) -> None:
    """Effectful patterns win, case counts, and what matches nothing is what the policy says."""
    lists = f"effectful: {list(effectful)}, read_only: {list(read_only)}, unmatched: {unmatched}"
    assert expected is parsed(f"tools: {{{lists}}}\n").tools.is_effectful(tool)


def test_forbidden_tools_are_patterns() -> None:
    """Named by glob; nothing is forbidden by default."""
    tools = parsed('tools: {forbidden: ["admin__*"]}\n').tools
    assert (True, False) == (tools.is_forbidden("admin__drop"), tools.is_forbidden("crm__admin__drop"))
    assert False is parsed().tools.is_forbidden("admin__drop")


@pytest.mark.parametrize(
    ("text", "patterns", "expected"),
    [
        ("abc", ("a*",), True),
        ("abc", ("A*",), False),
        ("abc", (), False),
        ("a]c", ("a[]]c",), True),
        ("", ("*",), True),
    ],
)
def test_globs_are_case_sensitive(text: str, patterns: tuple[str, ...], expected: bool) -> None:
    """On every system alike."""
    assert expected is matches_any(text, patterns)


def test_an_absence_is_tolerated_up_to_its_count_and_by_its_name() -> None:
    """Two are accepted, three are not, and no other absence is."""
    policy = parsed("tolerate: {records: {up_to: 2, reason: the sandbox loses a machine now and then}}\n")
    assert [True, True, True, False] == [policy.tolerates("records", count) for count in range(4)]
    assert False is policy.tolerates("effects", 0)


# -- the hash ----------------------------------------------------------------------------------------------------

SAME = [
    "# a comment\n" + SMALL,
    SMALL + "description: for people\n",
    'floors: {verified_yield: {min: 0.6}}\nversion: "1"\nname: small\nschema: 1\n',
    SMALL.replace("0.6", "0.60"),
    SMALL.replace("0.6", '"0.60"'),
    SMALL + "coverage: {verdicts: 1.0, cost: 1}\nfalse_success: {max_rate: 0.0}\n",
    SMALL + "window: {days: 1}\ncoverage: {grades: null}\ntolerate: {}\n",
    "\ufeff" + SMALL,
]
OTHER = [
    SMALL.replace("0.6", "0.61"),
    SMALL.replace('"1"', '"2"'),
    SMALL.replace("small", "smaller"),
    SMALL + "window: {days: 2}\n",
    SMALL + "cost_basis: estimated\n",
    SMALL + "tools: {forbidden: [bash]}\n",
    SMALL + "coverage: {grades: 0}\n",
    SMALL + "tolerate: {plan: {up_to: 0, reason: r}}\n",
]


@pytest.mark.parametrize("text", SAME)
def test_the_hash_is_of_the_meaning(text: str) -> None:
    """Comments, description, order, spelling of a number and keys that repeat a default change nothing."""
    assert parsed().policy_hash == parse_policy(text, "elsewhere.yaml").policy_hash


def test_every_other_change_is_another_policy() -> None:
    """No two policies that may decide differently share a hash."""
    hashes = {parse_policy(text, "mine.yaml").policy_hash for text in (SMALL, *OTHER)}
    assert 1 + len(OTHER) == len(hashes)


# -- the shipped ones --------------------------------------------------------------------------------------------

SHIPPED = {
    "include/policies/consequential.yaml": "consequential",
    "include/policies/read_only.yaml": "read_only",
    "include/samples/inversion_policy.yaml": "release_inversion",
    "include/samples/tau_bench_policy.yaml": "tau_bench_airline",
}


def shipped(root: Path, name: str) -> Policy:
    """A shipped policy."""
    return parse_policy((root / name).read_text(encoding="utf-8"), name)


@pytest.mark.parametrize(("path", "name"), SHIPPED.items())
def test_shipped_policies_parse_and_say_what_they_are_for(root: Path, path: str, name: str) -> None:
    """Each carries its name, a sentence, and no false success."""
    policy = shipped(root, path)
    assert (name, Decimal(0), 0) == (policy.name, policy.false_success.max_rate, policy.unknown_effects.max_count)
    assert policy.description


def test_no_shipped_policy_is_forgotten(root: Path) -> None:
    """A policy beside these would be untested."""
    files = [*(root / "include" / "policies").glob("*.yaml"), *(root / "include" / "samples").glob("*.yaml")]
    found = {path.relative_to(root).as_posix() for path in files if "floors" in yaml.safe_load(path.read_text("utf-8"))}
    assert set(SHIPPED) == found


def test_consequential_is_the_strict_one(root: Path) -> None:
    """Effects 0.99, progress 0.80 where windows are recorded, yield 0.50, full coverage but for grades, no budget."""
    policy = shipped(root, "include/policies/consequential.yaml")
    floors, coverage = policy.floors, policy.coverage
    assert floors.progress is not None
    assert floors.effect_integrity is not None
    assert (Decimal("0.99"), True) == (floors.effect_integrity.min, floors.effect_integrity.required)
    assert (Decimal("0.80"), False) == (floors.progress.min, floors.progress.required)
    assert (Decimal("0.50"), None) == (floors.verified_yield.min, floors.budget)
    assert ("required", None) == (coverage.plan, coverage.grades)
    assert {Decimal(1)} == {
        coverage.verdicts, coverage.effects, coverage.cost, coverage.receipts, coverage.idempotency,
    }  # fmt: skip
    assert (True, {}, ()) == (policy.tools.is_effectful("x"), policy.tolerate, policy.outcome.attestations)


def test_read_only_accepts_unknown_effects_of_tools_that_read(root: Path) -> None:
    """Effects 0.90, yield 0.50, and a tool nobody named only reads."""
    policy = shipped(root, "include/policies/read_only.yaml")
    assert policy.floors.effect_integrity is not None
    assert (Decimal("0.90"), Decimal("0.50")) == (
        policy.floors.effect_integrity.min,
        policy.floors.verified_yield.min,
    )
    assert (True, False) == (policy.unknown_effects.tolerate_read_only_tools, policy.tools.is_effectful("x"))


def test_the_inversions_budget_is_sixty_cents(root: Path) -> None:
    """Progress 0.90, effects 1.00, yield 0.75, $0.60 per verified outcome."""
    floors = shipped(root, "include/samples/inversion_policy.yaml").floors
    assert floors.progress is not None
    assert floors.effect_integrity is not None
    assert floors.budget is not None
    assert ("0.90", "1.00", "0.75", "0.60") == tuple(
        f"{limit:.2f}"
        for limit in (
            floors.progress.min,
            floors.effect_integrity.min,
            floors.verified_yield.min,
            floors.budget.max_usd_per_verified_outcome,
        )
    )


def test_the_replayed_runs_need_somebodys_word(root: Path) -> None:
    """goal_completion is attested for the replayed product and generator only; two absences are tolerated by name."""
    policy = shipped(root, "include/samples/tau_bench_policy.yaml")
    (attestation,) = policy.outcome.attestations
    assert ("goal_completion", "tau-bench-airline", "replay_agent.*", Decimal(100)) == (
        attestation.comparator,
        attestation.match.product,
        attestation.match.generator_class,
        attestation.pass_threshold,
    )
    assert attestation.reason
    assert attestation.attested_by
    assert (True, {"effects", "progress"}) == (policy.declared.finished_conversation, set(policy.tolerate))
