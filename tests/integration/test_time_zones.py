"""Times are told in UTC whatever zone the process is in: on the page, in files, report and note, and by a query."""

from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from tests.lakes import settings, write_run
from tests.zones import in_zone, queried, told, zone_of_cursors, zones_beside

from evalbench import pipeline
from evalbench.web.words import instant

ZONES = ("Asia/Tokyo", "Pacific/Pago_Pago")
"""Ahead of UTC, and so far behind that the run's morning is the evening before."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of a run that counts and of one that is voided, both at 09:00 UTC of 2026-11-02."""
    root = tmp_path_factory.mktemp("zones")
    write_run(root / "runs", "good", 2)
    write_run(root / "runs", "void", 2)
    void = "schema: 1\nexclude: [{run: void, reason: wrong image, owner: Jo, date: 2026-11-29}]\n"
    (root / "exclude.yaml").write_text(void)
    pipeline.run(settings(root / "runs", root / "lake", exclude=root / "exclude.yaml"))
    return root / "lake"


@pytest.mark.parametrize("zone", ZONES)
def test_what_is_shown_is_the_same_in_every_zone(lake: Path, zone: str) -> None:
    """Byte for byte, and it is UTC: the run is of 09:00, and an entry of its date is found under that date."""
    here, there = in_zone("UTC", partial(told, lake)), in_zone(zone, partial(told, lake))
    assert [] == [what for what, text in here.items() if text != there[what]]
    assert "2026-11-02 09:00 UTC" in there["page run"]
    assert "2026-11-02T09:00:00+00:00" in there["file runs"]
    assert "wrong image" in there["page quality of the date"]
    assert "void" in there["file entries"]
    assert "as of 2026-11-03 00:00 UTC" in there["note"]


@pytest.mark.parametrize("zone", ZONES)
def test_a_query_answers_in_utc(lake: Path, zone: str) -> None:
    """Instants, what they are cast to, and what cursors over the lake are in."""
    moment = "2026-11-02 09:00:00+00"
    expected = [{"run_time": f"{moment}:00", "day": "2026-11-02", "said": moment}]
    assert expected == in_zone(zone, partial(queried, lake))
    assert ["UTC"] == in_zone(zone, partial(zone_of_cursors, lake))


def test_the_zone_of_other_databases_is_left_alone() -> None:
    """UTC is what the page's own tables are asked in, no setting of the process."""
    assert (["UTC"], ["Asia/Tokyo"]) == in_zone("Asia/Tokyo", zones_beside)


@pytest.mark.parametrize("told_in", ["10:36:00+00:00", "19:36:00+09:00", "00:06:00-10:30"])
def test_an_instant_is_in_utc(told_in: str) -> None:
    """Whatever zone its datetime is in."""
    assert "2026-11-30 10:36 UTC" == instant(datetime.fromisoformat(f"2026-11-30T{told_in}"))
