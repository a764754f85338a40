"""The asset `evalbench_trends`: what publish tells it, and what a DAG that waits for it learns."""

from tests.dags.nights import Nights

from evalbench.errors import PipelineError

STABLE, FAST, CRASH = "inversion-stable-v1", "inversion-fast-v2", "trap-crash-no-summary"


def test_a_night_tells_its_dates_and_decisions_although_a_release_is_held(nights: Nights) -> None:
    """The event is publish's; the hold that follows is in it, since the event is out before enforce fails."""
    nights.bring(STABLE, FAST, CRASH)
    night = nights.run()
    assert "failed" == night.state
    (event,) = night.events
    assert ["2026-11-27", "2026-11-28"] == event["dates"]
    assert {"PASS": 1, "FAIL": 1, "INSUFFICIENT_EVIDENCE": 1} == event["decisions"]
    assert night.run_id == event["plan_id"]
    assert {"written", "unchanged", "removed", "logged", "runs"} == event["counts"].keys()
    assert event["counts"]["written"] > 0


def test_a_quiet_night_tells_that_nothing_changed(nights: Nights) -> None:
    """The event comes whenever publish succeeds; who waits for changes looks at the dates."""
    nights.bring(STABLE)
    nights.run()
    (event,) = nights.run().events
    assert ([], 0) == (event["dates"], event["counts"]["written"])


def test_a_night_that_published_nothing_tells_nothing(nights: Nights) -> None:
    """No event for a night that failed before its tables were whole."""
    nights.bring(STABLE)
    with nights.breaking("publish", PipelineError("no space")):
        assert () == nights.run().events


def test_the_example_consumer_tells_what_changed_and_what_may_ship(nights: Nights) -> None:
    """One line for each night since the last time, from what the asset was told alone."""
    nights.bring(STABLE, FAST)
    first = nights.run()
    second = nights.run()
    consumer = nights.consume(first, second)
    assert ("success", "asset_triggered") == (consumer.state, consumer.run_type)
    assert {
        "tell": [
            f"{first.run_id}: 2026-11-28 republished, 1 may ship, 1 held",
            f"{second.run_id}: no date republished, 0 may ship, 0 held",
        ]
    } == consumer.told
