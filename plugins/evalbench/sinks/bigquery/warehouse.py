"""A dataset of BigQuery as the place that published tables are delivered to."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

from evalbench.canonical import sha256_json, sha256_parts
from evalbench.settings import GoogleAccess
from evalbench.sinks.bigquery.published import PUBLISHED, Published, published_of
from evalbench.sinks.bigquery.records import Files, Fresh, Staged, Swap
from evalbench.sinks.bigquery.service import HTTP, Service, Timing, client_of, told
from evalbench.sinks.bigquery.staging import drop, stage
from evalbench.sinks.bigquery.swap import swapped
from evalbench.sinks.bigquery.tables import dataset_location, keep_tables, keep_views
from evalbench.storage import Storage
from evalbench.tables import TABLES

HASH_LENGTH = 12
"""Characters of a hash within the name of a job or a staging table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouse:
    """Which dataset (`project.dataset`), where it is or is to be made, how to get in, how its tables are laid out."""

    dataset: str
    location: str | None = None
    partition_filter: bool = False
    access: GoogleAccess | None = field(default=None, repr=False)
    timing: Timing = field(default_factory=Timing)

    @contextmanager
    def opened(self) -> Iterator["OpenWarehouse"]:
        """The dataset with its tables, made where they are missing.

        Raises UsageError for a dataset or a table that can't be used as it is, StorageError when BigQuery fails.
        """
        client = client_of(self.dataset.rpartition(".")[0], self.access)
        try:
            location = dataset_location(client, self.dataset, self.location)
            service = Service(client=client, dataset=self.dataset, location=location, timing=self.timing)
            keep_tables(service, partition_filter=self.partition_filter)
            yield OpenWarehouse(service=service, jobs=_jobs(service))
        finally:
            client.close()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWarehouse:
    """A dataset whose tables are there. jobs: what the ids of its jobs begin with."""

    service: Service
    jobs: str

    def published(self) -> Published:
        """What it holds of which date; read without a job."""
        there = self.service.find_table(PUBLISHED.name)
        if there is None:
            return Published(dates={})
        with told(self.service.name(PUBLISHED.name)):
            return published_of(dict(row.items()) for row in self.service.client.list_rows(there, **HTTP))

    def counted(self) -> dict[str, int]:
        """Rows of each table; counted without a job."""
        return self.service.each(self.service.row_count, (table.name for table in TABLES))

    def stage(self, lake: Storage, files: Sequence[Files], dates: Mapping[date, Fresh], seq: int) -> list[Staged]:
        """Load these dates' files into staging for the publish after `seq`, unless that was done before."""
        named = [
            [day.isoformat(), each.contents.content, each.contents.operations] for day, each in sorted(dates.items())
        ]
        return stage(self.service, lake, files, self.jobs, f"{sha256_json(named)[:HASH_LENGTH]}_{seq + 1}")

    def swap(self, swap: Swap) -> bool:
        """Replace dates in one transaction: True when that was done here, False when another publish was faster.

        Raises StorageError where others changed the tables again and again, PipelineError for what BigQuery refused.
        """
        return swapped(self.service, self.jobs, swap, lambda: self.published().seq)

    def drop(self, staged: Sequence[Staged]) -> None:
        """Delete staging tables."""
        drop(self.service, staged)

    def keep_views(self) -> None:
        """Make the views what include/sql says."""
        keep_views(self.service)

    def pause(self, failures: int) -> None:
        """Wait a little, the longer the more often something failed."""
        self.service.timing.pause(failures)


def _jobs(service: Service) -> str:
    """What ids of jobs begin with: another dataset's are others, and those of one that was deleted and made again."""
    there = service.find_table(PUBLISHED.name)
    made = there.created.isoformat() if there is not None and there.created is not None else ""
    return f"evalbench_{sha256_parts([service.dataset, made])[:HASH_LENGTH]}"
