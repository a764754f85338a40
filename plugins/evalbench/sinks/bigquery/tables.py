"""Dataset, tables and views, made and kept as declared by plain requests: none of this is a job."""

from collections.abc import Callable
from typing import TypeVar

from google.api_core.exceptions import Conflict, PreconditionFailed
from google.cloud import bigquery

from evalbench.errors import StorageError, UsageError
from evalbench.sinks.bigquery.published import PUBLISHED
from evalbench.sinks.bigquery.schema import APPLICATION, Layout, changed, declared
from evalbench.sinks.bigquery.service import HTTP, Service, told
from evalbench.sinks.bigquery.views import view_queries
from evalbench.tables import TABLES, VIEWS, Table

ATTEMPTS = 5
"""How often something is looked at again because somebody else changed it meanwhile."""
DEFAULT_LOCATION = "US"

_Result = TypeVar("_Result")


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
    for table in TABLES:
        _keep_table(service, table, Layout(partitioned=True, partition_filter=partition_filter))
    _keep_table(service, PUBLISHED, Layout(partitioned=False, partition_filter=False))


def keep_views(service: Service) -> None:
    """Make views that are missing, replace those that ask another question than ours."""
    descriptions = {view.name: view.description for view in VIEWS}
    for name, sql in view_queries(service.dataset).items():
        _keep_view(service, name, sql, descriptions[name])


def _made_dataset(client: bigquery.Client, dataset: str, location: str) -> bigquery.Dataset:
    made = bigquery.Dataset(dataset)
    made.location = location
    made.description = "Evaluations of agents, as evalbench publishes them. All of it can be made again from the lake."
    made.labels = APPLICATION
    with told(f"BigQuery dataset {dataset}"):
        return client.create_dataset(made, exists_ok=True, **HTTP)


def _keep_table(service: Service, table: Table, layout: Layout) -> None:
    def keep() -> None:
        there = service.find_table(table.name)
        if there is None:
            service.client.create_table(declared(service.name(table.name), table, layout), **HTTP)
        elif differing := changed(there, table, layout):
            service.client.update_table(there, differing, **HTTP)

    _again(keep, service, table.name)


def _keep_view(service: Service, name: str, sql: str, description: str) -> None:
    def keep() -> None:
        there = service.find_table(name)
        if there is None:
            made = bigquery.Table(service.name(name))
            made.view_query, made.description, made.labels = sql, description, APPLICATION
            service.client.create_table(made, **HTTP)
        elif there.table_type != "VIEW":
            raise UsageError(
                f"BigQuery has a {there.table_type} {service.name(name)} where the view belongs; rename it"
            )
        elif (there.view_query, there.description) != (sql, description):
            there.view_query, there.description = sql, description
            service.client.update_table(there, ["view_query", "description"], **HTTP)

    _again(keep, service, name)


def _again(keep: Callable[[], _Result], service: Service, name: str) -> _Result:
    """Keep something as it should be, also where others do so at the same moment."""
    for attempt in range(ATTEMPTS):
        try:
            with told(f"BigQuery table {service.name(name)}"):
                return keep()
        except (Conflict, PreconditionFailed):
            service.timing.pause(attempt)
    raise StorageError(f"BigQuery table {service.name(name)}: others change it all the time; run it again")
