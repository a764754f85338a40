"""The offline writer: a fixed text made from a digest's numbers. The same digest gives the same text."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalbench.summaries.digest import Digest

STATE = "offline"
OFFLINE_VERSION = "1"
"""Raised whenever the same digest would give another text."""

HARM_WORDS = {
    "declared_complete_but_failed": "declared complete although the outcome failed",
    "declared_complete_not_verified": "declared complete without a verified or failed outcome on record",
    "effect_unknown": "left an effect whose state at the destination is unknown",
    "effect_failed": "left an effect that failed at the destination",
    "crashed": "crashed",
}


def write_offline(digest: Digest) -> str:
    """A few sentences, counts first. Labelled: nobody should take it for a model's reading of the run."""
    parts: Mapping[str, Any] = digest
    sentences = [
        "Offline summary, written from the numbers alone.",
        _opening(parts["run"], parts["trials"]),
        _outcomes(parts["trials"]),
        _effects(parts["effects"]),
        _windows(parts["windows"]),
        *(_graded(name, grades) for name, grades in parts["quality"].items()),
        _cost(parts["cost"], parts["trials"]["recorded"]),
        *(_harm(HARM_WORDS[name], tasks) for name, tasks in parts["tasks"].items()),
        _general(parts["general_score"]),
        _judges(parts["metrics"]),
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
        f"Outcomes at the destination: {states.get('verified', 0)} verified, {states.get('failed', 0)} failed,"
        f" {states.get('unavailable', 0)} unavailable; {trials['declared_complete']} trials say they are complete."
    )


def _effects(effects: Mapping[str, int]) -> str:
    if not effects:
        return "No effect is on record."
    return f"Effects: {', '.join(f'{count} {state}' for state, count in effects.items())}."


def _windows(windows: Mapping[str, int]) -> str:
    if not any(windows.values()):
        return ""
    return (
        f"Progress: new evidence in {windows['active_with_new_evidence']}/{windows['active']} active windows,"
        f" {windows['waiting']} waiting, {windows['stale']} stale."
    )


def _graded(name: str, grades: Mapping[str, Any]) -> str:
    mean = Decimal(grades["sum"]) / grades["graded"]
    return f"Grader {name}: mean {_rounded(mean)} over {grades['graded']} trials."


def _cost(cost: Mapping[str, Any], recorded: int) -> str:
    billed, estimated = cost["billed"], cost["estimated"]
    if billed["usd"] is None and estimated["usd"] is None:
        return "No cost is on record."
    sentence = f"Billed: ${_rounded(Decimal(billed['usd'] or 0))} for {billed['trials']}/{recorded} trials"
    if estimated["usd"] is not None:
        sentence += f"; estimated besides: ${_rounded(Decimal(estimated['usd']))} for {estimated['trials']}"
    return sentence + "."


def _harm(words: str, tasks: Mapping[str, Any]) -> str:
    if not tasks["trials"]:
        return ""
    more = ", …" if tasks["trials"] > len(tasks["first"]) else ""
    return f"{tasks['trials']} trials {words} ({', '.join(tasks['first'])}{more})."


def _general(score: Mapping[str, Any]) -> str:
    if score["value"] is not None:
        return f"General Score {_rounded(Decimal(score['value']))} (a diagnostic, never a gate)."
    return f"General Score is unavailable: no row for {', '.join(score['missing'])}."


def _judges(metrics: Mapping[str, Any]) -> str:
    """Comparators and evaluators that could not judge some row."""
    failed = {name: sum(metric["unavailable"].values()) for name, metric in metrics.items() if metric["rows"]}
    silent = [f"{name} {count}" for name, count in failed.items() if count]
    return f"Verdicts that were not possible: {', '.join(silent)}." if silent else ""


def _defects(defects: Mapping[str, int]) -> str:
    if not defects:
        return ""
    return f"Defects in the files: {', '.join(f'{count} {code}' for code, count in defects.items())}."


def _rounded(value: Decimal) -> str:
    return f"{value.quantize(Decimal('0.001')):f}"
