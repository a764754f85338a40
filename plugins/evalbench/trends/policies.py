"""A date's policies as relations, so that SQL can apply them without knowing patterns or weights."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import get_args

from evalbench.decided import DecidedSubject
from evalbench.judged import speaks_for
from evalbench.ledger import Run
from evalbench.policy import Absence, Policy
from evalbench.tables import table_named
from evalbench.trends.cells import Row, json_text, numeric
from evalbench.trends.context import RowContext

POLICIES, POLICY_TOOLS = table_named("policies"), table_named("policy_tools")
POLICY_GRADERS, POLICY_ATTESTATIONS = table_named("policy_graders"), table_named("policy_attestations")

ABSENCES: tuple[Absence, ...] = get_args(Absence)


def policies_of(decided: Iterable[DecidedSubject]) -> dict[str, Policy]:
    """Policies by hash, in the order of their hashes."""
    found = {item.decision.policy_hash: item.case.policy for item in decided}
    return dict(sorted(found.items()))


def policy_rows(context: RowContext, policies: Mapping[str, Policy]) -> Iterator[Row]:
    """Rows of `policies`."""
    for policy_hash, policy in policies.items():
        tolerated = {f"tolerated_{name}": _up_to(policy, name) for name in ABSENCES}
        yield {
            **context.of_nobody(POLICIES),
            "policy_hash": policy_hash,
            "policy_name": policy.name,
            "policy_version": policy.version,
            "workflow": policy.workflow,
            "window_days": policy.window.days,
            "finished_conversation": policy.declared.finished_conversation,
            "cost_basis": policy.cost_basis,
            "graders_named": len(policy.quality.graders),
            "tolerate_read_only_tools": policy.unknown_effects.tolerate_read_only_tools,
            **tolerated,
            "policy_json": json_text(policy.meaning),
        }


def _up_to(policy: Policy, absence: Absence) -> int | None:
    tolerance = policy.tolerate.get(absence)
    return None if tolerance is None else tolerance.up_to


def policy_tool_rows(context: RowContext, decided: Iterable[DecidedSubject]) -> Iterator[Row]:
    """Rows of `policy_tools`: every tool called or named by an effect in any decision under the policy."""
    tools: dict[str, set[str]] = {}
    subjects = list(decided)
    for item in subjects:
        tools.setdefault(item.decision.policy_hash, set()).update(_tools(item))
    for policy_hash, policy in policies_of(subjects).items():
        for tool in sorted(tools[policy_hash]):
            yield {
                **context.of_nobody(POLICY_TOOLS),
                "policy_hash": policy_hash,
                "tool": tool,
                "effectful": policy.tools.is_effectful(tool),
                "forbidden": policy.tools.is_forbidden(tool),
            }


def _tools(decided: DecidedSubject) -> Iterator[str]:
    for judged in decided.case.pool.trials:
        yield from (call.name for call in judged.trial.calls or ())
        yield from (effect.tool for effect in judged.trial.effects or () if effect.tool is not None)


def policy_grader_rows(context: RowContext, policies: Mapping[str, Policy]) -> Iterator[Row]:
    """Rows of `policy_graders`."""
    for policy_hash, policy in policies.items():
        graders = policy.quality.graders
        units = whole_weights([grader.weight for grader in graders])
        for number, (grader, unit) in enumerate(zip(graders, units, strict=True)):
            yield {
                **context.of_nobody(POLICY_GRADERS),
                "policy_hash": policy_hash,
                "grader_number": number,
                "grader": grader.name,
                "weight_units": unit,
            }


def whole_weights(weights: Iterable[Decimal]) -> list[int]:
    """The smallest whole numbers in the same proportion, so that SQL adds up weights exactly."""
    fractions = [Fraction(weight) for weight in weights]
    scale = lcm(*(fraction.denominator for fraction in fractions))
    whole = [int(fraction * scale) for fraction in fractions]
    return [number // gcd(*whole) for number in whole]


def policy_attestation_rows(context: RowContext, decided: Iterable[DecidedSubject]) -> Iterator[Row]:
    """Rows of `policy_attestations`: attestations resolved to the runs they speak for."""
    runs: dict[str, dict[str, Run]] = {}
    subjects = list(decided)
    for item in subjects:
        runs.setdefault(item.decision.policy_hash, {}).update((run.run_id, run) for run in item.case.pool.runs)
    for policy_hash, policy in policies_of(subjects).items():
        for number, attestation in enumerate(policy.outcome.attestations):
            for run_id, run in sorted(runs[policy_hash].items()):
                if speaks_for(attestation, run):
                    yield {
                        **context.of_nobody(POLICY_ATTESTATIONS),
                        "policy_hash": policy_hash,
                        "attestation_number": number,
                        "run_id": run_id,
                        "comparator": attestation.comparator,
                        "predicate": attestation.predicate,
                        "pass_threshold": numeric(attestation.pass_threshold),
                        "reason": attestation.reason,
                        "attested_by": attestation.attested_by,
                    }
