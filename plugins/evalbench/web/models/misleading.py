"""The parts of a run's page that say where its own files mislead, and what of them is missing."""

from collections.abc import Mapping
from dataclasses import dataclass

from evalbench.doctor.claims import ClaimReview, review_claims
from evalbench.doctor.findings import findings
from evalbench.health import Health
from evalbench.ledger import ScoredRun
from evalbench.web.models.checks import trial_link
from evalbench.web.models.figures import number
from evalbench.web.models.parts import TrialLink
from evalbench.web.models.places import Place, place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A row of summary.csv: what it claims, as what it reads, and what its own scores say.

    claimed and recomputed fields: None where there is none. misleading: the columns that mislead, empty when the row
    can be taken at its word. why: the reason, in sentences.
    """

    metric: str
    claimed_score: float | None
    claimed_correct: float | None
    claimed_total: float | None
    reads_as: str
    value: float | None
    denominator: int | None
    passed: int | None
    unavailable: int | None
    misleading: tuple[str, ...]
    why: str
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefectRow:
    """Something in the files that can't be taken at its word. task: whose, None where it is nobody's."""

    code: str
    message: str
    task: TrialLink | None
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """What `evalbench doctor` says of the run: one kind of problem, how often, a sentence, the first places.

    kind: state, plan, trials, declarations, outcomes, effects, waits, verdicts (judges that gave none), expectations,
    health, manifest or defect. about: the metric, if any.
    """

    kind: str
    code: str
    count: int
    message: str
    about: str | None
    places: tuple[Place, ...]


def claims_of(scored: ScoredRun | None) -> tuple[ClaimRow, ...]:
    """summary.csv, row by row."""
    return tuple(_claim(review) for review in review_claims(scored)) if scored is not None else ()


def _claim(review: ClaimReview) -> ClaimRow:
    claim, metric = review.claim, review.recomputed
    return ClaimRow(
        metric=review.metric,
        claimed_score=number(claim.score) if claim is not None else None,
        claimed_correct=number(claim.correct) if claim is not None else None,
        claimed_total=number(claim.total) if claim is not None else None,
        reads_as=review.reads_as,
        value=number(metric.value) if metric is not None else None,
        denominator=metric.denominator if metric is not None else None,
        passed=metric.passed if metric is not None else None,
        unavailable=metric.unavailable if metric is not None else None,
        misleading=review.misleading,
        why=review.why,
        place=place_of(review.ref),
    )


def findings_of(scored: ScoredRun | None, health: Mapping[str, Health]) -> tuple[FindingRow, ...]:
    """What `evalbench doctor` says, but for secrets in the files: those are out of reach here."""
    found = findings(scored, health, ()) if scored is not None else ()
    return tuple(
        FindingRow(
            kind=finding.kind,
            code=finding.code,
            count=finding.count,
            message=finding.message,
            about=finding.subject,
            places=tuple(place for ref in finding.refs if (place := place_of(ref)) is not None),
        )
        for finding in found
    )


def defects_of(scored: ScoredRun | None, most: int | None) -> tuple[DefectRow, ...]:
    """What the reader found, all of it or the first `most`."""
    if scored is None:
        return ()
    run = scored.run
    return tuple(
        DefectRow(
            code=defect.code,
            message=defect.message,
            task=None if defect.task_id is None else trial_link(run.run_id, defect.task_id, defect.trial),
            place=place_of(defect.ref),
        )
        for defect in run.defects[:most]
    )
