"""Dataset, tables and views, made and kept as declared by plain requests: none of this is a job."""

from collections.abc import Callable
from functools import partial

from google.api_core.exceptions import Conflict, PreconditionFailed
from google.cloud import bigquery

from evalbench.errors import StorageError, UsageError
from evalbench.sinks.bigquery.published import PUBLISHED
from evalbench.sinks.bigquery.schema import APPLICATION, changed, declared
from evalbench.sinks.bigquery.service import HTTP, Service, told
from evalbench.sinks.bigquery.views import view_queries
from evalbench.tables import TABLES, VIEWS, Table

ATTEMPTS = 5
"""How often something is looked at again because somebody else changed it meanwhile."""
DEFAULT_LOCATION = "US"

Keep = Callable[[bigquery.Table | None], None]
"""Makes what isn't there, changes what is there and differs."""


def dataset_location(client: bigquery.Client, dataset: str, location: str | None) -> str:
    """Where the dataset is; made when it isn't there. Raises UsageError when it is elsewhere than asked for."""
    try:
        with told(f"BigQuery dataset {dataset}"):
            there = client.get_dataset(dataset, **HTTP)
    except FileNotFoundError:
        there = _made_dataset(client, dataset, location or DEFAULT_LOCATION)
    found = str(there.location)
    if location is not None and location.upper() != found.upper():
        raise UsageError(
            f"BigQuery dataset {dataset} is in {found}, EVALBENCH_BIGQUERY_LOCATION says {location}; a dataset can't be"
            " moved: set the variable to where it is, or name another dataset"
        )
    return found


def keep_tables(service: Service, *, partition_filter: bool) -> None:
    """Make what is missing, add columns that are new. Raises UsageError for a table that differs otherwise."""
    tables = {table.name: table for table in (*TABLES, PUBLISHED)}
    for name, there in service.each(service.find_table, tables).items():
        filtered = None if name == PUBLISHED.name else partition_filter
        _kept(service, name, there, partial(_keep_table, service, tables[name], filtered))


def keep_views(service: Service) -> None:
    """Make views that are missing, replace those that ask another question than ours."""
    queries, descriptions = view_queries(service.dataset), {view.name: view.description for view in VIEWS}
    for name, there in service.each(service.find_table, queries).items():
        _kept(service, name, there, partial(_keep_view, service, name, queries[name], descriptions[name]))


def _made_dataset(client: bigquery.Client, dataset: str, location: str) -> bigquery.Dataset:
    made = bigquery.Dataset(dataset)
    made.location = location
    made.description = "Evaluations of agents, as evalbench publishes them. All of it can be made again from the lake."
    made.labels = APPLICATION
    with told(f"BigQuery dataset {dataset}"):
        return client.create_dataset(made, exists_ok=True, **HTTP)


def _kept(service: Service, name: str, there: bigquery.Table | None, keep: Keep) -> None:
    """Keep a table or view as it should be, also where others do so at the same moment."""
    for attempt in range(ATTEMPTS):
        try:
            with told(f"BigQuery table {service.name(name)}"):
                return keep(there)
        except (Conflict, PreconditionFailed):
            service.timing.pause(attempt)
            there = service.find_table(name)
    raise StorageError(f"BigQuery table {service.name(name)}: others change it all the time; run it again")


def _keep_table(service: Service, table: Table, partition_filter: bool | None, there: bigquery.Table | None) -> None:
    if there is None:
        service.client.create_table(declared(service.name(table.name), table, partition_filter), **HTTP)
    elif differing := changed(there, table, partition_filter):
        service.client.update_table(there, differing, **HTTP)


def _keep_view(service: Service, name: str, sql: str, description: str, there: bigquery.Table | None) -> None:
    if there is None:
        made = bigquery.Table(service.name(name))
        made.view_query, made.description, made.labels = sql, description, APPLICATION
        service.client.create_table(made, **HTTP)
    elif there.table_type != "VIEW":
        raise UsageError(f"BigQuery has a {there.table_type} {service.name(name)} where the view belongs; rename it")
    elif (there.view_query, there.description) != (sql, description):
        there.view_query, there.description = sql, description
        service.client.update_table(there, ["view_query", "description"], **HTTP)
