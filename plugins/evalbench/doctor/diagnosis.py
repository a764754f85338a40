"""The whole diagnosis of a run directory, and its JSON document."""

from dataclasses import asdict, dataclass, field

from evalbench.doctor.claims import ClaimReview, review_claims
from evalbench.doctor.finding import Finding
from evalbench.doctor.findings import findings, run_health, secret_findings
from evalbench.doctor.secret_places import secret_places
from evalbench.health import Health
from evalbench.ledger import Defect, EvidenceRef, Run, ScoredRun
from evalbench.readers.snapshot import NotARun, Snapshot
from evalbench.report import metric_document, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """run None: the directory yields no ledger, and not_a_run says why. claims: see `claims.review_claims`."""

    path: str
    files: tuple[tuple[str, int], ...]
    run: Run | None
    not_a_run: NotARun | None
    findings: tuple[Finding, ...]
    claims: tuple[ClaimReview, ...]
    health: dict[str, Health] = field(default_factory=dict)


def diagnose(snapshot: Snapshot, read: ScoredRun | NotARun) -> Diagnosis:
    """Look at one directory. `read` is what the readers and evaluators made of the same snapshot."""
    files = tuple(sorted((name, len(data)) for name, data in snapshot.files.items()))
    secrets = secret_places(snapshot)
    if isinstance(read, NotARun):
        found = (Finding(kind="state", code=read.reason, count=1, message=read.message), *secret_findings(secrets))
        return Diagnosis(path=snapshot.path, files=files, run=None, not_a_run=read, findings=found, claims=())
    health = run_health(read)
    return Diagnosis(
        path=snapshot.path,
        files=files,
        run=read.run,
        not_a_run=None,
        findings=findings(read, health, secrets),
        claims=review_claims(read),
        health=health,
    )


def document(diagnosis: Diagnosis) -> dict[str, object]:
    """The diagnosis as JSON values. Numbers are unrounded; what is unavailable is null."""
    run, other = diagnosis.run, diagnosis.not_a_run
    return {
        "path": diagnosis.path,
        "run_id": run.run_id if run else other.run_id if other else None,
        "state": run.state.value if run else other.disposition if other else None,
        "format": run.format if run else other.format if other else None,
        "run_time": run.run_time.isoformat() if run else None,
        "candidate": run.candidate if run else None,
        "product": run.product if run else None,
        "dataset": run.dataset if run else None,
        "trials": len(run.trials) if run else None,
        "planned": run.plan.trials if run else None,
        "plan": run.plan.source.value if run else None,
        "files": dict(diagnosis.files),
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "health": {name: asdict(found) for name, found in diagnosis.health.items()},
        "summary": [_claim(claim) for claim in diagnosis.claims],
        "defects": [defect_document(defect) for defect in run.defects] if run else [],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "kind": finding.kind,
        "code": finding.code,
        "subject": finding.subject,
        "count": finding.count,
        "message": finding.message,
        "where": [_ref(ref) for ref in finding.refs],
    }


def _claim(review: ClaimReview) -> dict[str, object]:
    claim = review.claim
    return {
        "metric": review.metric,
        "claimed": {
            "metric_score": plain(claim.score),
            "correct": plain(claim.correct),
            "total": plain(claim.total),
        }
        if claim
        else None,
        "reads_as": review.reads_as,
        "recomputed": metric_document(review.recomputed) if review.recomputed else None,
        "misleading": list(review.misleading),
        "why": review.why,
        "where": _ref(review.ref) if review.ref else None,
    }


def defect_document(defect: Defect) -> dict[str, object]:
    """A defect as JSON values."""
    return {
        "code": defect.code,
        "message": defect.message,
        "task_id": defect.task_id,
        "trial": defect.trial,
        "where": _ref(defect.ref) if defect.ref else None,
    }


def _ref(ref: EvidenceRef) -> dict[str, object]:
    return {"file": ref.file, "row": ref.row, "field": ref.field}
