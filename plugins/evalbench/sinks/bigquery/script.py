"""The one script of a publish: dates replaced in all tables at once, or in none.

Only statements that BigQuery allows within a transaction: ASSERT is not, so a condition is a SELECT that fails.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date

from evalbench.sinks.bigquery.published import LOG, PUBLISHED
from evalbench.sinks.bigquery.records import Swap
from evalbench.tables import TABLES, Table, table_named

LOG_KEY = ("run_date", "log_id")
BEFORE_EVERY_DATE = "DATE '0001-01-01'"


def swap_script(dataset: str, swap: Swap) -> str:
    """The script. dataset: `project.dataset`."""
    return ";\n".join([*_statements(dataset, swap), ""])


def _statements(dataset: str, swap: Swap) -> Iterator[str]:
    staged = {each.table.name: f"`{dataset}.{each.name}`" for each in swap.staged if each.rows}
    published = f"`{dataset}.{PUBLISHED.name}`"
    yield "BEGIN TRANSACTION"
    yield _check(f"(SELECT IFNULL(MAX(seq), 0) FROM {published}) = {swap.seq}", "another publish was faster")
    if staged:
        counts = [
            f"(SELECT COUNT(*) FROM {staged[each.table.name]}) = {each.rows}" for each in swap.staged if each.rows
        ]
        yield _check(" AND ".join(counts), "staging has not the rows that were loaded")
    # Transactions are in each other's way where both change rows, not where both only add some: this changes one.
    yield f"UPDATE {published} SET seq = seq WHERE seq = {swap.seq}"
    for table in TABLES:
        if table.name == LOG:
            yield from _merge(f"`{dataset}.{LOG}`", staged.get(LOG), swap.dates)
        else:
            yield from _replace(f"`{dataset}.{table.name}`", table, staged.get(table.name), swap)
    if gone := _gone(swap):
        yield f"DELETE FROM {published} WHERE {gone}"
    if swap.dates:
        yield _record(dataset, published, swap, staged)
    yield "COMMIT TRANSACTION"


def _check(condition: str, otherwise: str) -> str:
    return f"SELECT IF({condition}, TRUE, ERROR('evalbench: {otherwise}'))"


def _replace(target: str, table: Table, source: str | None, swap: Swap) -> Iterator[str]:
    """Dates of a table that is replaced."""
    columns = _columns(table)
    if (gone := _gone(swap)) and table.name in swap.held:
        yield f"DELETE FROM {target} WHERE {gone}"
    if source is not None:
        yield f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {source}"


def _merge(log: str, source: str | None, dates: Collection[date]) -> Iterator[str]:
    """Entries of the log by their id: what differs is changed, what is new is added, nothing is deleted.

    A MERGE in two statements: each of them names the dates, as a table may demand that asks for a filter.
    """
    if source is None:
        return
    table = table_named(LOG)
    columns, own = _columns(table), [name for name in table.column_names if name not in LOG_KEY]
    here = _on(dates)
    differs = " OR ".join(f"kept.{name} IS DISTINCT FROM entry.{name}" for name in own)
    yield (
        f"UPDATE {log} AS kept SET {', '.join(f'{name} = entry.{name}' for name in own)} FROM {source} AS entry"
        f" WHERE kept.{here} AND kept.log_id = entry.log_id AND ({differs})"
    )
    yield (
        f"INSERT INTO {log} ({columns}) SELECT {columns} FROM {source}"
        f" WHERE log_id NOT IN (SELECT log_id FROM {log} WHERE {here})"
    )


def _record(dataset: str, published: str, swap: Swap, staged: Mapping[str, str]) -> str:
    """The dates' rows of `_published`, with as many rows as there are of them now."""
    logged = f"SELECT run_date FROM `{dataset}.{LOG}` WHERE {_on(swap.dates)}"
    dates = ", ".join(
        f"STRUCT({_literal(day)} AS run_date, '{each.contents.content}' AS content_hash,"
        f" '{each.contents.operations}' AS operations_hash, '{','.join(each.tables)}' AS tables)"
        for day, each in sorted(swap.dates.items())
    )
    replaced = [source for name, source in staged.items() if name != LOG]
    return (
        f"INSERT INTO {published} ({_columns(PUBLISHED)})"
        f" SELECT made.run_date, made.content_hash, made.operations_hash, {swap.seq + 1},"
        f" IFNULL(replaced.n, 0), IFNULL(logged.n, 0), made.tables FROM UNNEST([{dates}]) AS made"
        f" LEFT JOIN ({_counts(_union(replaced))}) AS replaced ON replaced.run_date = made.run_date"
        f" LEFT JOIN ({_counts(logged)}) AS logged"
        " ON logged.run_date = made.run_date"
    )


def _union(sources: Iterable[str]) -> str:
    nothing = "SELECT CAST(NULL AS DATE) AS run_date"
    return " UNION ALL ".join([nothing, *(f"SELECT run_date FROM {source}" for source in sources)])


def _counts(rows: str) -> str:
    return f"SELECT run_date, COUNT(*) AS n FROM ({rows}) GROUP BY run_date"


def _gone(swap: Swap) -> str | None:
    """The condition for rows that go, None where none do."""
    if swap.kept is None:
        return _on(swap.dates) if swap.dates else None
    everything = f"run_date >= {BEFORE_EVERY_DATE}"
    return f"{everything} AND NOT {_on(swap.kept)}" if swap.kept else everything


def _on(dates: Iterable[date]) -> str:
    return f"run_date IN ({', '.join(map(_literal, sorted(dates)))})"


def _literal(day: date) -> str:
    return f"DATE '{day.isoformat()}'"


def _columns(table: Table) -> str:
    return ", ".join(table.column_names)
