"""A policy: what counts as evidence and which limits hold. The operator's file, never a run directory's."""

from collections.abc import Iterable
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from evalbench.canonical import sha256_json
from evalbench.decimals import digits
from evalbench.operator_file import Strict, parse_operator_file


def _exact(value: object) -> object:
    """YAML floats become the decimal a person wrote (0.6, not 0.59999…)."""
    return str(value) if isinstance(value, float) else value


Number = Annotated[
    Decimal,
    BeforeValidator(_exact),
    Field(max_digits=18, decimal_places=9),  # what a published NUMERIC holds
    PlainSerializer(digits, when_used="json"),  # 1 and 1.0 are the same limit, so the same policy hash
]
Share = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]  # strict: `true` is no count
Name = Annotated[str, Field(min_length=1)]


class AttestationMatch(Strict):
    """Runs an attestation speaks for: glob patterns over product and generator class."""

    product: Name
    generator_class: Name


class Attestation(Strict):
    """A person's word that a harness comparator checks the destination, for runs that match."""

    comparator: Name
    match: AttestationMatch
    predicate: Name
    reason: Name
    attested_by: Name
    pass_threshold: Number = Decimal(100)


class OutcomePolicy(Strict):
    """What may verify an outcome besides a trial record's own verifier."""

    attestations: tuple[Attestation, ...] = ()


class DeclaredPolicy(Strict):
    """What counts as a declared completion besides `declared_complete`."""

    finished_conversation: bool = False


class GraderWeight(Strict):
    """A grader that makes a trial's quality; all named ones must have run."""

    name: Name
    weight: Annotated[Number, Field(gt=0)] = Decimal(1)


class QualityPolicy(Strict):
    """Graders that make quality. None named: a trial's only grader; several unnamed graders are unavailable."""

    graders: tuple[GraderWeight, ...] = ()


class ToolPolicy(Strict):
    """Glob patterns over canonical tool names, and what a tool is that matches neither."""

    effectful: tuple[Name, ...] = ()
    read_only: tuple[Name, ...] = ()
    forbidden: tuple[Name, ...] = ()
    unmatched: Literal["effectful", "read_only"] = "effectful"

    def is_effectful(self, tool: str) -> bool:
        """Effectful patterns win over read-only ones."""
        if matches_any(tool, self.effectful):
            return True
        return self.unmatched == "effectful" and not matches_any(tool, self.read_only)

    def is_forbidden(self, tool: str) -> bool:
        """Whether the policy forbids the tool."""
        return matches_any(tool, self.forbidden)


class CoveragePolicy(Strict):
    """Required shares; null = reported, never firing. `ledger` and `completed` always hold."""

    plan: Literal["required", "reported"] = "required"
    verdicts: Share | None = Decimal(1)
    effects: Share | None = Decimal(1)
    cost: Share | None = Decimal(1)
    grades: Share | None = None
    receipts: Share | None = Decimal(1)
    idempotency: Share | None = Decimal(1)


class FalseSuccessPolicy(Strict):
    """Highest tolerated share of declared completions whose outcome failed."""

    max_rate: Share = Decimal(0)


class UnknownEffectsPolicy(Strict):
    """Highest tolerated number of effects whose state at the destination is unknown."""

    max_count: Count = 0
    tolerate_read_only_tools: bool = False


class Floor(Strict):
    """Lowest tolerated rate."""

    min: Share


class RateFloor(Floor):
    """A floor over evidence that may be absent. required: absence fires; else only what was recorded is looked at."""

    required: bool = True


class Budget(Strict):
    """Highest tolerated covered cost per verified outcome, in US dollars."""

    max_usd_per_verified_outcome: Annotated[Number, Field(ge=0)]


class Regression(Strict):
    """Largest tolerated drop of a rate against the baseline over the same tasks."""

    max_drop: Share = Decimal(0)


class FloorPolicy(Strict):
    """Absolute floors, and floors against the baseline. verified_yield is required in every policy."""

    verified_yield: Floor
    progress: RateFloor | None = None
    effect_integrity: RateFloor | None = None
    budget: Budget | None = None
    progress_regression: Regression = Regression()
    effect_regression: Regression = Regression()


class Margins(Strict):
    """Non-inferiority margins of stage 5, in the unit of each comparison; null = shown, never deciding."""

    quality: Number | None = None
    latency_s: Number | None = None
    tokens: Number | None = None
    cost_usd: Number | None = None


Absence = Literal["plan", "records", "declared", "outcomes", "effects", "progress", "cost", "grades"]


class Tolerance(Strict):
    """A named absence the operator accepts, up to a count, and why."""

    up_to: Count
    reason: Name


class Window(Strict):
    """Days of runs pooled into one decision, the decided day included."""

    days: Annotated[int, Field(strict=True, ge=1, le=366)] = 1


class Policy(Strict):
    """One policy file. `policy_hash` covers the meaning, not the comments or the order of keys."""

    schema_version: Literal[1] = Field(alias="schema")
    name: Name
    version: Name
    description: str = ""
    workflow: Name = "consequential"
    window: Window = Window()
    outcome: OutcomePolicy = OutcomePolicy()
    declared: DeclaredPolicy = DeclaredPolicy()
    quality: QualityPolicy = QualityPolicy()
    pass_thresholds: dict[Name, Number] = Field(default_factory=dict)
    cost_basis: Literal["billed", "estimated"] = "billed"
    tools: ToolPolicy = ToolPolicy()
    coverage: CoveragePolicy = CoveragePolicy()
    false_success: FalseSuccessPolicy = FalseSuccessPolicy()
    unknown_effects: UnknownEffectsPolicy = UnknownEffectsPolicy()
    floors: FloorPolicy
    comparison: Margins = Margins()
    tolerate: dict[Absence, Tolerance] = Field(default_factory=dict)

    @property
    def policy_hash(self) -> str:
        """sha256 of the canonical JSON of `meaning`."""
        return sha256_json(self.meaning)

    @property
    def meaning(self) -> dict[str, object]:
        """The validated policy in JSON types, description left out."""
        return self.model_dump(mode="json", exclude={"description"})

    def tolerates(self, absence: Absence, count: int) -> bool:
        """Whether `count` absences of this name are accepted."""
        tolerance = self.tolerate.get(absence)
        return tolerance is not None and count <= tolerance.up_to


def matches_any(text: str, patterns: Iterable[str]) -> bool:
    """Case-sensitive glob match against any of the patterns."""
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def parse_policy(text: str, source: str) -> Policy:
    """Parse a policy file's text. Raises PolicyError naming `source` and the YAML path of each problem."""
    return parse_operator_file(Policy, text, source)
