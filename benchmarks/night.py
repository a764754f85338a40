"""One night without Airflow: `python -m benchmarks.night PLAN_ID OWN_DATE`, settings from `EVALBENCH_*`.

The calls of the DAG's Airflow tasks, one after the other, as a sweep. Prints the accounting as JSON.
"""

import json
import os
import sys
from contextlib import suppress
from datetime import date

from evalbench import nightly
from evalbench.errors import GateHeldError
from evalbench.settings import load_settings


def main(plan_id: str, own: date) -> None:
    """Discover, score and summarize each batch, gate, publish, enforce; a held release is a night like another."""
    settings = load_settings(os.environ)
    labels = nightly.discover(settings, plan_id, since=None, until=None, own=own)
    for number in range(len(labels)):
        list(nightly.score_batch(settings, plan_id, number))
        list(nightly.summarize_batch(settings, plan_id, number))
    report = nightly.gate(settings, plan_id)
    nightly.publish(settings, plan_id)
    with suppress(GateHeldError):
        nightly.enforce(settings, plan_id, backfill=False)
    print(json.dumps(report["accounting"]))


if __name__ == "__main__":
    main(sys.argv[1], date.fromisoformat(sys.argv[2]))
