"""Dataset, tables and views, made and kept as declared by plain requests: none of this is a job."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial

from google.cloud import bigquery

from evalbench.errors import UsageError
from evalbench.sinks.bigquery.failures import LostRaceError, NotThereError, told
from evalbench.sinks.bigquery.published import PUBLISHED
from evalbench.sinks.bigquery.schema import APPLICATION, changed, declared, described
from evalbench.sinks.bigquery.service import HTTP, Service
from evalbench.sinks.bigquery.views import view_queries
from evalbench.tables import TABLES, VIEWS, Table
from evalbench.tables.formats import describe

ATTEMPTS = 5
"""How often something is looked at again because somebody else changed it meanwhile."""
LAKE = "lake"
"""The label of `_published` that names the lake whose tables these are."""

Keep = Callable[[bigquery.Table | None], bigquery.Table]
"""Makes what isn't there, changes what is there and differs."""


def dataset_location(client: bigquery.Client, dataset: str, location: str | None) -> str:
    """Where the dataset is; made when it isn't there.

    Raises UsageError when it is elsewhere than asked for, or is to be made and nobody said where.
    """
    try:
        with told(f"BigQuery dataset {dataset}"):
            there = client.get_dataset(dataset, **HTTP)
    except NotThereError:
        if location is None:
            raise UsageError(
                f"BigQuery dataset {dataset} isn't there; set EVALBENCH_BIGQUERY_LOCATION to where it is to be made"
                " (EU, US, a region: the lake's, since it can't be moved), or make it"
            ) from None
        there = _made_dataset(client, dataset, location)
    found = str(there.location)
    if location is not None and location.upper() != found.upper():
        raise UsageError(
            f"BigQuery dataset {dataset} is in {found}, EVALBENCH_BIGQUERY_LOCATION says {location}; a dataset can't be"
            " moved: set the variable to where it is, or name another dataset"
        )
    return found


def keep_tables(service: Service, lake: str, *, partition_filter: bool) -> dict[str, bigquery.Table]:
    """Make tables that are missing, add columns that are new; the tables as they are then.

    lake: whose tables they are. Raises UsageError for tables of another lake, which would be replaced by this one's,
    and for a table that differs in more than what is added.
    """
    tables, kept = {table.name: table for table in (PUBLISHED, *TABLES)}, {}
    for name, there in service.each(service.find_table, tables).items():
        keep = partial(_keep_table, service, tables[name], partition_filter)
        if name == PUBLISHED.name:
            keep = partial(_keep_record, service, lake)
        kept[name] = _kept(service, name, there, keep)
    return kept


def _keep_record(service: Service, lake: str, there: bigquery.Table | None) -> bigquery.Table:
    """`_published`, of this lake."""
    if there is not None and there.labels.get(LAKE, lake) != lake:
        raise UsageError(
            f"BigQuery dataset {service.dataset} follows another lake ({there.labels[LAKE]}, this one is {lake}), whose"
            " rows would be replaced; name another dataset in EVALBENCH_BIGQUERY_DATASET, or, where this lake is to"
            " take that one's place, delete the dataset first"
        )
    kept = _keep_table(service, PUBLISHED, None, there)
    if kept.labels.get(LAKE) == lake:
        return kept
    kept.labels = {**kept.labels, LAKE: lake}
    return service.client.update_table(kept, ["labels"], **HTTP)


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


def _kept(service: Service, name: str, there: bigquery.Table | None, keep: Keep) -> bigquery.Table:
    """A table or view as it should be, also where others make it so at the same moment."""
    attempt = 0
    while True:
        try:
            with told(f"BigQuery table {service.name(name)}"):
                return keep(there)
        except LostRaceError:
            attempt += 1
            if attempt == ATTEMPTS:
                raise
            service.timing.pause(attempt)
            there = service.find_table(name)


def _keep_table(
    service: Service, table: Table, partition_filter: bool | None, there: bigquery.Table | None
) -> bigquery.Table:
    if there is None:
        return service.client.create_table(declared(service.name(table.name), table, partition_filter), **HTTP)
    differing = changed(there, table, partition_filter)
    return service.client.update_table(there, differing, **HTTP) if differing else there


def _keep_view(service: Service, name: str, sql: str, description: str, there: bigquery.Table | None) -> bigquery.Table:
    if there is None:
        made = bigquery.Table(service.name(name))
        made.view_query, made.description, made.labels = sql, description, APPLICATION
        return _explained(service, service.client.create_table(made, **HTTP))
    if there.table_type != "VIEW":
        raise UsageError(f"BigQuery has a {there.table_type} {service.name(name)} where the view belongs; rename it")
    if (there.view_query, there.description) != (sql, description):
        there.view_query, there.description = sql, description
        there = service.client.update_table(there, ["view_query", "description"], **HTTP)
    return _explained(service, there)


def _explained(service: Service, view: bigquery.Table) -> bigquery.Table:
    """A view whose columns are described as those of the tables that they come from, where these agree."""
    wanted = [described(field, EXPLANATIONS.get(field.name, field.description)) for field in view.schema]
    if wanted == list(view.schema):
        return view
    view.schema = wanted
    return service.client.update_table(view, ["schema"], **HTTP)


def _explanations() -> dict[str, str]:
    """What a column of this name is, where every table that has one says the same."""
    said = defaultdict[str, set[str]](set)
    for table in TABLES:
        for column in table.columns:
            said[column.name].add(describe(column))
    return {name: texts.pop() for name, texts in said.items() if len(texts) == 1}


EXPLANATIONS = _explanations()
