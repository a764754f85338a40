"""Example of a DAG that waits for evalbench: it runs when trend tables were published, and tells what changed.

Off until somebody unpauses it. A DAG run of `evalbench_nightly` tells the asset `evalbench_trends` whenever `publish`
succeeded, with the dates it republished, how many decisions it made and how they went, what it wrote, and its plan;
a night that had nothing to do tells an empty list of dates. Copy it, and put the refresh of your dashboard, the message
to your channel or the next stage of your release where this one logs.
"""

import logging

from airflow.sdk import Asset, dag, get_current_context, task

log = logging.getLogger("evalbench.consumer")

TRENDS = Asset("evalbench_trends")


@task
def tell() -> None:
    """Says what each night since the last time changed, and how many candidates may ship. **Red:** nothing of
    evalbench's: its tables were published before this ran."""
    events = get_current_context()["triggering_asset_events"][TRENDS]
    for extra in (event.extra for event in sorted(events, key=lambda event: event.timestamp)):
        passed = extra["decisions"].get("PASS", 0)
        held = sum(extra["decisions"].values()) - passed
        dates = ", ".join(extra["dates"]) or "no date"
        log.info("%s: %s republished, %d may ship, %d held", extra["plan_id"], dates, passed, held)


@dag(
    dag_id="evalbench_consumer_example",
    schedule=[TRENDS],
    is_paused_upon_creation=True,
    catchup=False,
    default_args={"owner": "evalbench"},
    tags=["evalbench", "example"],
    doc_md=__doc__,
)
def evalbench_consumer_example() -> None:
    """One Airflow task."""
    tell()


evalbench_consumer_example()
