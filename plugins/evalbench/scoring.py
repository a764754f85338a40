"""From a run's facts to its verdicts: our evaluators on every trial, the harness's comparator rows as classified."""

from evalbench.canonical import sha256_parts
from evalbench.comparators import COMPARATORS_VERSION, harness_verdicts
from evalbench.evaluators import evaluate_trial, evaluators_digest
from evalbench.ledger import EvidenceRef, Run, ScoredRun, Verdict


def score_run(run: Run) -> ScoredRun:
    """Every verdict on a run, sorted; the order of its trials and rows never matters. Computed from facts alone."""
    verdicts = [verdict for trial in run.trials for verdict in evaluate_trial(trial)]
    return ScoredRun(run=run, verdicts=tuple(sorted((*verdicts, *harness_verdicts(run)), key=_order)))


def scoring_digest() -> str:
    """Hex sha256 of everything that can change a verdict; keys stored verdicts."""
    return sha256_parts([evaluators_digest(), COMPARATORS_VERSION])


def _order(verdict: Verdict) -> tuple[object, ...]:
    """Total: verdicts equal in all of this are equal."""
    ref = verdict.ref or EvidenceRef(file="")
    return (
        verdict.task_id is None,
        verdict.task_id or "",
        -1 if verdict.trial is None else verdict.trial,
        verdict.source,
        verdict.name,
        ref.file,
        ref.row or 0,
        ref.field or "",
        verdict.value is None,
        verdict.value or 0,
        verdict.reason or "",
        verdict.detail or "",
    )
