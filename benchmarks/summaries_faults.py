"""What rate limits cost: `python -m benchmarks.summaries_faults`.

Questions to a Gemini-compatible server on this machine, by ten workers that share one adapter: without faults, and with
one call in ten answered by 429 or 503, in turn. The exit code is 1 when a question stays without an answer, or when the
faults make the wall more than 1.3 times as long. The server takes two seconds for an answer, as a quick model does, and
for a fault, too, which is the worst case; the slower it is, the less the pauses between tries weigh.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from pydantic import BaseModel
from tests.gemini.serving import API_KEY, GeminiServer, gemini_server

from evalbench.summaries.access import Access, Provider, Secret
from evalbench.summaries.gemini import Gemini
from evalbench.summaries.replies import Reply

MODEL = "gemini-2.5-flash"
TEXT = '{"headline": "An answer."}'
LIMIT = 1.3
FAULTS = [429, 503]


class Answer(BaseModel):
    """What is asked for."""

    headline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One pass over all questions. answered: questions with an answer. calls, faults: as the server counted them."""

    seconds: float
    answered: int
    calls: int
    faults: int


def drive(server: GeminiServer, gemini: Gemini, questions: int, workers: int) -> Night:
    """Ask all questions."""
    begun = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        replies = list(pool.map(lambda number: gemini.ask("Summarise.", f"Run {number}.", Answer), range(questions)))
    seconds = time.monotonic() - begun
    statuses = [call["status"] for call in server.calls()]
    return Night(
        seconds=seconds,
        answered=sum(isinstance(reply, Reply) and reply.text == TEXT for reply in replies),
        calls=len(statuses),
        faults=sum(status in FAULTS for status in statuses),
    )


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description="Questions to a server with and without faults.")
    parser.add_argument("--questions", type=int, default=200, help="questions per pass (200)")
    parser.add_argument("--workers", type=int, default=10, help="questions at once (10)")
    parser.add_argument("--rate", type=float, default=0.1, help="share of calls that fail (0.1)")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds the server takes (2.0)")
    parser.add_argument("--rounds", type=int, default=1, help="passes of each kind (1)")
    given = parser.parse_args()
    access = Access(mode=Provider.GEMINI, why="the benchmark's own server", api_key=Secret(API_KEY))
    nights: dict[float, list[Night]] = {0.0: [], given.rate: []}
    with TemporaryDirectory(prefix="bench-") as place, gemini_server(Path(place)) as server:
        os.environ.update(server.environment())
        gemini = Gemini(access, (MODEL,))
        gemini.ask("Warm up.", "Loads the SDK and opens the client.", Answer)
        for number in range(given.rounds):
            for rate, passes in nights.items():
                faults = {"rate": rate, "statuses": FAULTS, "seed": number}
                server.reset()
                server.script(default={"text": TEXT}, latency_s=given.latency, faults=faults)
                night = drive(server, gemini, given.questions, given.workers)
                passes.append(night)
                what = f"{night.seconds:.1f} s, {night.answered} answered, {night.calls} calls, {night.faults} faults"
                tell(f"round {number + 1}, {rate:.0%}", what)
    clean, faulty = (fmean(night.seconds for night in passes) for passes in nights.values())
    tell("ratio", f"{faulty / clean:.2f} (with faults {faulty:.1f} s / without {clean:.1f} s; limit {LIMIT})")
    answered = all(night.answered == given.questions for passes in nights.values() for night in passes)
    if not answered:
        tell("FAULT", "a question stayed without an answer")
    return 0 if answered and faulty <= LIMIT * clean else 1


def tell(what: str, text: str) -> None:
    """One line of the answer, at once."""
    print(f"{what:<14} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
