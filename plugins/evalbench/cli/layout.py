"""The two shapes every page is made of."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text


def labelled(label: str, text: str) -> Table:
    """A label and text that folds beside it, not under it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, style="bold"), Text(text))
    return grid


def columns(*names: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """A table without lines. Cells fold, none is cut; those of the `whole` columns are short and stay on one line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=name in whole)
    return table


def record(names: Sequence[str], cells: Sequence[Text]) -> Table:
    """One row of a table as a block of lines."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, cell in zip(names, cells, strict=True):
        grid.add_row(name, cell)
    return grid
