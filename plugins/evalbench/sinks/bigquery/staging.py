"""Files of the lake in staging tables, by one load job per table.

A staging table's name says what is in it: table, hash of the dates' contents, number of the publish, attempt. It
expires by itself, so that nothing is left of a publisher that was killed.
"""

import io
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
from google.cloud import bigquery

from evalbench.errors import EvalbenchError, PipelineError, StorageError
from evalbench.sinks.bigquery.failures import told
from evalbench.sinks.bigquery.jobs import Attempt, HiddenJob, Job, Once, finish, numbered, start
from evalbench.sinks.bigquery.records import Files, Staged
from evalbench.sinks.bigquery.schema import APPLICATION, fields_of
from evalbench.sinks.bigquery.service import HTTP, Service
from evalbench.storage import Storage
from evalbench.tables import Table
from evalbench.tables.formats import arrow_schema

EXPIRES_AFTER = timedelta(days=3)


def stage(service: Service, lake: Storage, files: Iterable[Files], jobs: str, content: str) -> list[Staged]:
    """Load the files of each table, all tables at a time, unless that was done before.

    jobs: what the ids of this dataset's jobs begin with. content: names what is loaded, the same for the same rows.
    Raises PipelineError when a file can't be read or loaded.
    """
    loads = [(each, _load(service, lake, each, jobs, content)) for each in files]
    started = [(each, once, start(service, once)) for each, once in loads]
    staged = []
    for each, once, attempt in started:
        staging = _staging(each.table, content)
        done = finish(service, once, attempt, partial(_stands, service, staging))
        name = numbered(staging, done.number)
        staged.append(Staged(table=each.table, name=name, rows=_rows(done.job), own=done.own))
    return staged


def drop(service: Service, staged: Iterable[Staged]) -> None:
    """Delete staging tables; one that can't be deleted expires."""
    for each in staged:
        with suppress(EvalbenchError), told(service.name(each.name)):
            service.client.delete_table(service.name(each.name), not_found_ok=True, **HTTP)


def _load(service: Service, lake: Storage, files: Files, jobs: str, content: str) -> Once:
    staging = _staging(files.table, content)

    def begin(attempt: int, job_id: str) -> Job:
        name = _made(service, files.table, numbered(staging, attempt))
        config = bigquery.LoadJobConfig(
            source_format=bigquery.SourceFormat.PARQUET,
            schema=fields_of(files.table),
            autodetect=False,
            create_disposition=bigquery.CreateDisposition.CREATE_NEVER,
            write_disposition=bigquery.WriteDisposition.WRITE_EMPTY,
            labels=APPLICATION,
        )
        addresses = [address for path in files.paths if (address := lake.uri(path)) is not None]
        if addresses:
            return service.client.load_table_from_uri(
                addresses, name, job_id=job_id, location=service.location, job_config=config, **HTTP
            )
        with tempfile.TemporaryFile() as file:
            size = _join(lake, files, file)
            return service.client.load_table_from_file(
                file, name, rewind=True, size=size, job_id=job_id, location=service.location, job_config=config,
                timeout=HTTP["timeout"],
            )  # fmt: skip

    return Once(name=f"{jobs}_load_{files.table.name}_{content}", begin=begin)


def _stands(service: Service, staging: str, attempt: Attempt) -> bool:
    """Whether a staging table still has the rows that its load gave it."""
    return service.row_count(numbered(staging, attempt.number)) == _rows(attempt.job)


def _staging(table: Table, content: str) -> str:
    return f"_staging_{table.name}_{content}"


def _made(service: Service, table: Table, staging: str) -> str:
    """The full name of a staging table that is there from now on, for three days."""
    made = bigquery.Table(service.name(staging), schema=fields_of(table))
    made.expires = service.timing.now() + EXPIRES_AFTER
    made.description = f"Rows on their way into {table.name}; deleted within three days."
    made.labels = APPLICATION
    service.client.create_table(made, exists_ok=True, **HTTP)
    return service.name(staging)


def _rows(job: Job | HiddenJob) -> int:
    return int(job.output_rows or 0) if isinstance(job, bigquery.LoadJob) else 0


def _join(lake: Storage, files: Files, file: IO[bytes]) -> int:
    """All of these files as one; its size. Columns that older ones don't have are null in their rows."""
    schema = arrow_schema(files.table)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for path in files.paths:
            writer.write_table(_conformed(_read(lake, path), schema))
    return file.tell()


def _read(lake: Storage, path: str) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(lake.read(path)), use_threads=False)
    except FileNotFoundError as error:
        raise StorageError(f"{lake}/{path}: gone while it was delivered; run it again") from error
    except pa.ArrowException as error:
        what = f"{lake}/{path}: can't be read ({type(error).__name__})"
        raise PipelineError(f"{what}; delete the file and publish its date again") from error


def _conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    there = set(rows.column_names)
    columns = [
        rows[name] if name in there else pa.nulls(rows.num_rows, schema.field(name).type) for name in schema.names
    ]
    return pa.table(columns, schema=schema)
