"""A dataset of BigQuery as the place that published tables are delivered to."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field

from google.cloud import bigquery

from evalbench.canonical import sha256_json, sha256_parts
from evalbench.settings import GoogleAccess
from evalbench.sinks.bigquery.failures import told
from evalbench.sinks.bigquery.published import PUBLISHED, Published, published_of
from evalbench.sinks.bigquery.records import Files, Staged, Swap
from evalbench.sinks.bigquery.service import HTTP, Service, Timing, client_of
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

    def reach(self) -> None:
        """Look at the dataset, and make it where it isn't there and may be. Raises as `opened`."""
        client = client_of(self.dataset.rpartition(".")[0], self.access)
        try:
            dataset_location(client, self.dataset, self.location)
        finally:
            client.close()  # type: ignore[no-untyped-call]

    @contextmanager
    def opened(self, lake: str) -> Iterator["OpenWarehouse"]:
        """The dataset with its tables, made where they are missing. lake: the name of the lake it follows.

        Raises UsageError for a dataset or a table that can't be used as it is, StorageError when BigQuery fails.
        """
        client = client_of(self.dataset.rpartition(".")[0], self.access)
        try:
            location = dataset_location(client, self.dataset, self.location)
            service = Service(client=client, dataset=self.dataset, location=location, timing=self.timing)
            tables = keep_tables(service, lake, partition_filter=self.partition_filter)
            yield OpenWarehouse(service=service, record=tables[PUBLISHED.name])
        finally:
            client.close()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWarehouse:
    """A dataset whose tables are there. record: `_published`, as it was when it was opened."""

    service: Service
    record: bigquery.Table

    @property
    def jobs(self) -> str:
        """What ids of its jobs begin with; a dataset that was deleted and made again has others."""
        return f"evalbench_{sha256_parts([self.service.dataset, str(self.record.created)])[:HASH_LENGTH]}"

    def published(self) -> Published:
        """What it holds of which date; read without a job."""
        with told(self.service.name(PUBLISHED.name)):
            rows = self.service.client.list_rows(self.record, **HTTP)
            return published_of(dict(row.items()) for row in rows)

    def counted(self) -> dict[str, int]:
        """Rows of each table now; counted without a job."""
        return self.service.each(self.service.row_count, (table.name for table in TABLES))

    def stage(self, lake: Storage, files: Sequence[Files], swap: Swap) -> list[Staged]:
        """Load these files, which hold the rows of a swap's dates, into staging, unless that was done before."""
        named = [[day.isoformat(), *astuple(each.contents)] for day, each in sorted(swap.dates.items())]
        return stage(self.service, lake, files, self.jobs, f"{sha256_json(named)[:HASH_LENGTH]}_{swap.seq + 1}")

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
