"""What rate limits cost: `python -m benchmarks.summaries_faults`.

The summaries of 200 grown runs, by the verb that the DAG calls, with ten workers, from a Gemini-compatible server on
this machine: without faults, and with one call in ten answered by 429 or 503, in turn, each time into a new lake. Then
the same once more, which must ask nothing. The exit code is 1 when a run has neither a valid summary nor a labelled
fallback, when a second pass asks, or when the faults make the wall more than 1.3 times as long. The server takes two
seconds for an answer, as a quick model does, and for a fault, too, which is the worst case; the slower it is, the less
the pauses between tries weigh.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from scripts.grow import SAMPLES, grow
from tests.gemini.serving import API_KEY, GeminiServer, gemini_server

from evalbench import pipeline
from evalbench.lake.plans import Plan, read_result
from evalbench.lake.texts import TextState
from evalbench.lake.verdicts import read_scored
from evalbench.settings import Settings, load_settings
from evalbench.storage import LocalStorage
from evalbench.summaries.access import Login, Secret
from evalbench.writing import stored_summary

SOURCES = [SAMPLES / "inversion-stable-v1", SAMPLES / "inversion-fast-v2"]
LAST_DATE = date(2026, 11, 30)
HEADLINE = "The run did what its evidence shows."
ANSWER: Mapping[str, object] = {
    "headline": HEADLINE, "went_well": [], "failures": [], "suspected_defects": [], "next_steps": [],
}  # fmt: skip
LIMIT = 1.3
FAULTS = [429, 503]
BY_KEY = Login(api_key=Secret(API_KEY), credentials=lambda: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One pass over all runs. states: of the stored texts. calls, faults: as the server counted them.

    invalid: runs whose text is neither the answer nor labelled as the offline writer's. again: calls of a second pass.
    """

    seconds: float
    states: Counter[str]
    invalid: int
    calls: int
    faults: int
    again: int

    def __str__(self) -> str:
        """In numbers."""
        states = ", ".join(f"{count} {state}" for state, count in sorted(self.states.items()))
        return f"{self.seconds:.1f} s; {states}; {self.calls} calls, {self.faults} faults; again: {self.again} calls"


def prepare(place: Path, runs: int, workers: int) -> tuple[Settings, Plan]:
    """Runs, and a lake with their facts."""
    grow(place / "runs", runs, min(runs, 30), LAST_DATE, SOURCES)
    given: dict[str, object] = {"runs": str(place / "runs"), "lake": str(place / "scored"), "grace_hours": 0}
    settings = load_settings({}, given | {"summaries": "gemini", "summary_workers": workers})
    plan = pipeline.discover(settings)
    scorer = pipeline.Scorer.of(settings, plan)
    for entry in plan.to_score:
        scorer.score(entry.run_key)
    return settings, plan


def drive(server: GeminiServer, settings: Settings, plan: Plan, place: Path) -> Night:
    """Summarize all runs in a copy of the lake, and once more."""
    lake = shutil.copytree(place / "scored", place / "lake")
    used = replace(settings, lake=str(lake))
    keys = [entry.run_key for entry in plan.to_score]
    begun = time.monotonic()
    list(pipeline.summarize(used, plan, keys, BY_KEY))
    seconds = time.monotonic() - begun
    statuses = [call["status"] for call in server.calls()]
    states, invalid = stored(used, plan, keys)
    list(pipeline.summarize(used, plan, keys, BY_KEY))
    shutil.rmtree(lake)
    return Night(
        seconds=seconds,
        states=states,
        invalid=invalid,
        calls=len(statuses),
        faults=sum(status in FAULTS for status in statuses),
        again=len(server.calls()) - len(statuses),
    )


def stored(settings: Settings, plan: Plan, keys: list[str]) -> tuple[Counter[str], int]:
    """(state → runs, runs with a text that must not be there)."""
    lake, states, invalid = LocalStorage(settings.require_lake()), Counter[str](), 0
    for key in keys:
        result = read_result(lake, plan.plan_id, key)
        if result is None or result.facts is None:
            raise SystemExit(f"run {key} was not scored; nothing can be measured")
        row = stored_summary(lake, read_scored(lake, result.facts), settings)
        states[row.state] += 1
        begins = HEADLINE if row.state == TextState.GENERATED else "Offline summary"
        invalid += row.state not in frozenset(TextState) or not (row.text or "").startswith(begins)
    return states, invalid


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description="Summaries from a server with and without faults.")
    parser.add_argument("--runs", type=int, default=200, help="run directories (200)")
    parser.add_argument("--workers", type=int, default=10, help="questions at once (10)")
    parser.add_argument("--rate", type=float, default=0.1, help="share of calls that fail (0.1)")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds the server takes (2.0)")
    parser.add_argument("--rounds", type=int, default=1, help="passes of each kind (1)")
    given = parser.parse_args()
    nights: dict[float, list[Night]] = {0.0: [], given.rate: []}
    with TemporaryDirectory(prefix="evalbench-faults-") as made, gemini_server(Path(made)) as server:
        place = Path(made).resolve()
        os.environ.update(server.environment())
        settings, plan = prepare(place, given.runs, given.workers)
        server.script(default={"text": json.dumps(ANSWER)})
        drive(server, settings, plan, place)  # loads the SDK
        for number in range(given.rounds):
            for rate, passes in nights.items():
                server.reset()
                faults = {"rate": rate, "statuses": FAULTS, "seed": number}
                server.script(default={"text": json.dumps(ANSWER)}, latency_s=given.latency, faults=faults)
                passes.append(drive(server, settings, plan, place))
                tell(f"round {number + 1}, {rate:.0%}", str(passes[-1]))
    clean, faulty = (fmean(night.seconds for night in passes) for passes in nights.values())
    tell("ratio", f"{faulty / clean:.2f} (with faults {faulty:.1f} s / without {clean:.1f} s; limit {LIMIT})")
    found = [fault for passes in nights.values() for night in passes for fault in faults_of(night, given.runs)]
    for fault in sorted(set(found)):
        tell("FAULT", fault)
    return 1 if found or faulty > LIMIT * clean else 0


def faults_of(night: Night, runs: int) -> list[str]:
    """Why a pass doesn't stand."""
    found = []
    if night.states.total() != runs or night.invalid:
        found.append(f"{night.states.total()} of {runs} runs have a text, {night.invalid} neither valid nor labelled")
    if night.again:
        found.append(f"a second pass asked {night.again} times")
    return found


def tell(what: str, text: str) -> None:
    """One line of the answer, at once."""
    print(f"{what:<14} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
