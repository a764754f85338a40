"""The lake's tables in BigQuery: what differs there is replaced, whatever the reason.

What has to be delivered is derived, as what has to be published is: BigQuery's own record of each date is compared with
the lake. So a crash in between, tables that somebody emptied, and BigQuery switched on after a hundred nights are one
case. Dates are read as readers of the lake must: none that is being written, and again when one changed meanwhile.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from evalbench.canonical import sha256_json
from evalbench.errors import PipelineError, StorageError
from evalbench.lake.commits import Commit, read_commits
from evalbench.lake.identity import lake_id
from evalbench.settings import Settings
from evalbench.sinks.bigquery.published import Published
from evalbench.sinks.bigquery.records import Contents, Files, Fresh, Swap
from evalbench.storage import Storage
from evalbench.tables import OPERATIONAL_TABLES, PUBLISHED_TABLES, TABLES

if TYPE_CHECKING:
    from evalbench.sinks.bigquery.warehouse import OpenWarehouse, Warehouse

FILE = re.compile(r"trends/(\w+)/run_date=(\d{4}-\d\d-\d\d)/[^/]+\.parquet")
REPLACED = frozenset(table.name for table in PUBLISHED_TABLES)
OPERATIONAL = frozenset(table.name for table in OPERATIONAL_TABLES)
NAMES = frozenset(table.name for table in TABLES)
VERSION = "1"
"""Raised when the same files are to give other rows than before."""
NOTHING = Contents(content=sha256_json([]), operations=sha256_json([]))
"""What a date without any file is made from."""
MOST_DATES, MOST_FILES = 500, 10_000
"""What one publish takes: a script may be a megabyte long, a load job may have 10,000 sources."""
LOST = 20
"""How often it is begun again because others were faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What was done.

    dates: replaced. left: being written, so left as they are there. loads, scripts: jobs. rows: in the replaced dates.
    """

    dates: tuple[date, ...] = ()
    left: tuple[date, ...] = ()
    loads: int = 0
    scripts: int = 0
    rows: int = 0

    def __add__(self, other: "Delivery") -> "Delivery":
        """Both, one after the other."""
        return Delivery(
            dates=tuple(sorted({*self.dates, *other.dates})),
            left=other.left,
            loads=self.loads + other.loads,
            scripts=self.scripts + other.scripts,
            rows=self.rows + other.rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeDate:
    """A date of the lake. Two looks at it are equal exactly when none of its files was written in between.

    settled: nobody is writing it, and its files are those its commit record names.
    """

    commit: Commit | None
    settled: bool
    contents: Contents
    files: Mapping[str, Sequence[str]]


def warehouse_of(settings: Settings) -> "Warehouse | None":
    """The dataset that follows the lake, None where none does."""
    if settings.bigquery_dataset is None:
        return None
    from evalbench.sinks.bigquery.warehouse import Warehouse  # noqa: PLC0415 - Google's client takes a second

    return Warehouse(
        dataset=settings.bigquery_dataset,
        location=settings.bigquery_location,
        partition_filter=settings.bigquery_partition_filter,
        access=settings.google,
    )


def deliver(lake: Storage, warehouse: "Warehouse", *, news: bool) -> Delivery:
    """Make BigQuery what the lake says: every settled date that differs, in all tables at once.

    `run_states` and `accounting` change with every execution, also with one that found nothing. Alone they are worth a
    job only with news; without, they travel with the next change. A date that is being written stays as it is there
    until a later publish. Where nothing differs there is no job. Raises UsageError for a dataset or table that can't be
    used, StorageError where trying again may help, PipelineError for whatever else BigQuery refuses.
    """
    with warehouse.opened(lake_id(lake)) as dataset:
        delivery = _made_good(lake, dataset) + _followed(lake, dataset, news=news)
        dataset.keep_views()
    return delivery


def _made_good(lake: Storage, dataset: "OpenWarehouse") -> Delivery:
    """Replace everything, where the tables hold other rows than were delivered: which dates are wrong is unknown."""
    lost = 0
    while True:
        published, counted = dataset.published(), dataset.counted()
        if published.agrees(counted):
            return Delivery()
        here = look(lake)
        left = _unsettled(here)
        dates = _batch(here, sorted({*here, *published.dates} - left, reverse=True))
        held = frozenset(name for name, rows in counted.items() if rows)
        # What was counted may be what another publish has swapped in meanwhile.
        if dataset.published() == published:
            done = _swapped(lake, dataset, here, Swap(seq=published.seq, dates=dates, held=held, kept=left))
            if done is not None:
                return done
        lost = _beaten(dataset, lost)


def _followed(lake: Storage, dataset: "OpenWarehouse", *, news: bool) -> Delivery:
    """Replace dates that differ, until a look at both sides, after the last swap, finds none."""
    delivery, lost = Delivery(), 0
    while True:
        here = look(lake)
        swap = _changes(here, dataset.published(), news=news)
        if swap is None:
            return replace(delivery, left=tuple(sorted(_unsettled(here))))
        done = _swapped(lake, dataset, here, swap)
        if done is not None:
            delivery += done
        else:
            lost = _beaten(dataset, lost)


def _beaten(dataset: "OpenWarehouse", lost: int) -> int:
    """Another race lost: wait. Raises StorageError after too many."""
    if lost + 1 == LOST:
        raise StorageError(f"BigQuery dataset {dataset.service.dataset}: others were faster {LOST} times; run it again")
    dataset.pause(lost + 1)
    return lost + 1


def _changes(here: Mapping[date, LakeDate], published: Published, *, news: bool) -> Swap | None:
    """The swap of the dates that differ, None where none does."""
    changed, told = [], []
    for day in {*here, *published.dates} - _unsettled(here):
        now = _contents(here, day)
        before = published.dates[day].contents if day in published.dates else NOTHING
        if now.content != before.content:
            changed.append(day)
        elif now != before:
            told.append(day)
    if not changed and not (news and told):
        return None
    dates = _batch(here, sorted([*changed, *told], reverse=True))
    return Swap(seq=published.seq, dates=dates, held=published.tables(dates))


def look(lake: Storage) -> dict[date, LakeDate]:
    """Every date of the lake, as it is now."""
    commits, files = read_commits(lake), defaultdict[date, dict[str, str]](dict)
    sizes = lake.sizes("trends")
    appended = {
        path: digest
        for table in TABLES
        if table.name not in REPLACED
        for path, digest in lake.digests(f"trends/{table.name}").items()
    }
    for path, content in ({path: str(size) for path, size in sizes.items()} | appended).items():
        if (found := FILE.fullmatch(path)) is not None and found[1] in NAMES:
            files[date.fromisoformat(found[2])][path] = content
    return {day: _date(commits.get(day), files[day]) for day in sorted({*commits, *files})}


def _date(commit: Commit | None, files: Mapping[str, str]) -> LakeDate:
    """A date by its record and its files: path → size, or digest where no record tells the content."""
    tables = {path: path.split("/")[1] for path in files}
    replaced = {path: content for path, content in files.items() if tables[path] in REPLACED and _is_ours(path)}
    committed = {path: str(stored.size) for path, stored in commit.objects.items()} if commit is not None else {}
    logged = sorted(item for item in files.items() if tables[item[0]] not in REPLACED | OPERATIONAL)
    told = sorted(item for item in files.items() if tables[item[0]] in OPERATIONAL)
    content = NOTHING.content
    if committed or logged:
        content = sha256_json([VERSION, commit.content if commit is not None else None, logged])
    by_table = defaultdict[str, list[str]](list)
    for path in sorted([*committed, *(path for path, _ in (*logged, *told))]):
        by_table[path.split("/")[1]].append(path)
    return LakeDate(
        commit=commit,
        settled=replaced == committed and not (commit is not None and commit.writing),
        contents=Contents(content=content, operations=sha256_json(told)),
        files=by_table,
    )


def _is_ours(path: str) -> bool:
    """Whether a file is the one a partition has, and none that somebody put beside it."""
    return path.endswith("/part-0.parquet")


def _unsettled(here: Mapping[date, LakeDate]) -> frozenset[date]:
    return frozenset(day for day, each in here.items() if not each.settled)


def _contents(here: Mapping[date, LakeDate], day: date) -> Contents:
    return here[day].contents if day in here else NOTHING


def _batch(here: Mapping[date, LakeDate], days: Iterable[date]) -> dict[date, Fresh]:
    """As many of these dates, in this order, as one publish takes."""
    batch: dict[date, Fresh] = {}
    counts = defaultdict[str, int](int)
    for day in days:
        files = here[day].files if day in here else {}
        for table, paths in files.items():
            counts[table] += len(paths)
        if batch and (len(batch) == MOST_DATES or max(counts.values(), default=0) > MOST_FILES):
            break
        batch[day] = Fresh(contents=_contents(here, day), tables=tuple(sorted(files)))
    return batch


def _swapped(lake: Storage, dataset: "OpenWarehouse", here: Mapping[date, LakeDate], swap: Swap) -> Delivery | None:
    """Stage and swap these dates; None where another publisher, of the lake or here, was faster."""
    try:
        staged = dataset.stage(lake, _files(here, swap.dates), swap)
    except PipelineError:
        if _unchanged(lake, here, swap.dates):
            raise
        return None
    if not _unchanged(lake, here, swap.dates):
        return None
    done = dataset.swap(replace(swap, staged=tuple(staged)))
    dataset.drop(staged)
    if not done:
        return None
    loads, rows = sum(each.own for each in staged), sum(each.rows for each in staged)
    return Delivery(dates=tuple(sorted(swap.dates)), loads=loads, scripts=1, rows=rows)


def _files(here: Mapping[date, LakeDate], days: Iterable[date]) -> list[Files]:
    """The files of these dates by table; tables that have none are left out."""
    paths = defaultdict[str, list[str]](list)
    for day in days:
        for table, found in here[day].files.items() if day in here else ():
            paths[table].extend(found)
    return [Files(table=table, paths=tuple(paths[table.name])) for table in TABLES if paths[table.name]]


def _unchanged(lake: Storage, here: Mapping[date, LakeDate], days: Iterable[date]) -> bool:
    """Whether nobody wrote any of these dates since."""
    now = look(lake)
    return all(now.get(day) == here.get(day) for day in days)
