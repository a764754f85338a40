"""The offline writer: a fixed text made from a digest's numbers. The same digest gives the same text."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from evalbench.summaries.digest import Digest

OFFLINE_VERSION = "2"
"""Raised whenever the same run would give another text."""

HARM_WORDS = {
    "declared_complete_but_failed": "trials declared complete although the outcome failed",
    "declared_complete_not_verified": "trials declared complete without a verified or failed outcome on record",
    "effect_unknown": "trials left an effect whose state at the destination is unknown",
    "effect_failed": "trials left an effect that failed at the destination",
    "crashed": "trials crashed",
    "outcome_failed": "trials failed at the destination and didn't say they were complete",
    "ended_failed": "trials ended as failed by their own record",
    "not_recorded": "planned trials left no record",
    "scored_zero": "rows of the harness's comparators are zero",
    "not_judged": "rows of the harness's comparators hold no verdict",
}


def write_offline(digest: Digest) -> str:
    """A few sentences, counts first. Labelled: nobody should take it for a model's reading of the run."""
    parts: Mapping[str, Any] = digest
    signals = parts["signals"]
    sentences = [
        "Offline summary, written from the numbers alone.",
        _opening(parts["run"], parts["trials"]),
        _outcomes(parts["trials"]),
        _effects(signals["effect_integrity"]),
        _progress(signals["useful_progress"]),
        *(_graded(grader) for grader in parts["graders"]),
        _cost(signals["cost_per_verified_outcome"], parts["trials"]["recorded"]),
        *(_harm(kind, words, parts) for kind, words in HARM_WORDS.items()),
        _general(parts["general_score"]),
        _judges(parts["judge_failures"]),
        _defects(parts["defects"]),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _opening(run: Mapping[str, Any], trials: Mapping[str, Any]) -> str:
    plan = "no plan was reachable" if trials["plan"] == "observed" else f"{trials['planned']} were planned"
    return (
        f"{run['candidate']} on {run['dataset'] or 'an unnamed dataset'} ({run['product']}, {run['environment']}),"
        f" {run['run_date']}: {trials['recorded']} trials on record, {plan}; the run is {run['state']}."
    )


def _outcomes(trials: Mapping[str, Any]) -> str:
    states = trials["outcomes"]
    return (
        f"Outcomes at the destination: {states['verified']} verified, {states['failed']} failed,"
        f" {states['unavailable']} unavailable; {trials['declared_complete']} trials say they are complete."
    )


def _effects(effects: Mapping[str, Any]) -> str:
    if not effects["denominator"] and not effects["rejected"]:
        return "No effect is on record."
    return (
        f"Effects: {effects['numerator']} verified, {effects['failed']} failed, {effects['unknown']} unknown,"
        f" {effects['rejected']} rejected."
    )


def _progress(windows: Mapping[str, Any]) -> str:
    if not any((windows["denominator"], windows["waiting"], windows["stale"])):
        return ""
    return (
        f"Progress: new evidence in {windows['numerator']}/{windows['denominator']} active windows,"
        f" {windows['waiting']} waiting, {windows['stale']} stale."
    )


def _graded(grader: Mapping[str, Any]) -> str:
    if grader["value"] is None:
        return f"Grader {grader['name']} scored nothing."
    return f"Grader {grader['name']}: mean {rounded(grader['value'])} over {grader['denominator']} trials."


def _cost(cost: Mapping[str, Any], recorded: int) -> str:
    if cost["numerator"] is None and cost["estimated_usd"] is None:
        return "No cost is on record."
    sentences = []
    if cost["numerator"] is not None:
        sentences.append(f"billed ${rounded(cost['numerator'])} for {cost['billed_trials']}/{recorded} trials")
    if cost["value"] is not None:
        sentences.append(f"${rounded(cost['value'])} per verified outcome")
    if cost["estimated_usd"] is not None:
        sentences.append(f"estimated besides ${rounded(cost['estimated_usd'])} for {cost['estimated_trials']}")
    return f"Cost: {'; '.join(sentences)}."


def _harm(kind: str, words: str, parts: Mapping[str, Any]) -> str:
    total = parts["harm"][kind]
    if not total:
        return ""
    struck = [task for task in parts["tasks"] if kind in task["harm"]]
    names = [task["task_id"] for task in struck]
    if sum(task["harm"][kind] for task in struck) < total:
        names.append("…")
    return f"{total} {words} ({', '.join(names)})." if struck else f"{total} {words}."


def _general(score: Mapping[str, Any]) -> str:
    if score["value"] is not None:
        return f"General Score {rounded(score['value'])} (a diagnostic, never a gate)."
    return f"General Score is unavailable: no row for {', '.join(score['missing'])}."


def _judges(failures: Iterable[Mapping[str, Any]]) -> str:
    said = [f"{failure['comparator']} {failure['reason']} {failure['count']}" for failure in failures]
    return f"Verdicts that were not possible: {', '.join(said)}." if said else ""


def _defects(defects: Iterable[Mapping[str, Any]]) -> str:
    found = [f"{defect['count']} {defect['code']}" for defect in defects]
    return f"Defects in the files: {', '.join(found)}." if found else ""


def rounded(number: str) -> str:
    """Three places, and as many more as it takes not to read as a whole number that it isn't."""
    value = Decimal(number)
    places = next((n for n in range(3, 9) if value.quantize(Decimal(1).scaleb(-n)) % 1 or not value % 1), 9)
    return f"{value.quantize(Decimal(1).scaleb(-places)):f}"
