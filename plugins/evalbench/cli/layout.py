"""The shapes every page is made of."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, OverflowMethod
from rich.containers import Lines
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

Document: TypeAlias = Mapping[str, Any]
"""What a verb answers, as JSON types."""

SEGMENT = re.compile(r"[^\s/_.-]*[\s/_.-]|[^\s/_.-]+")


class Name(Text):
    """An identifier: where it must fold, it folds after a blank or one of `/ _ . -`, inside a segment only at need."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Fold into lines of at most `width` cells."""
        lines = [""]
        for segment in SEGMENT.findall(self.plain):
            for piece in _chopped(segment, max(width, 1)):
                if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > width:
                    lines.append("")
                lines[-1] += piece
        return Lines(Text(line.rstrip(), style=self.style) for line in lines)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """At least the longest segment, at most the whole name."""
        longest = max((cell_len(segment) for segment in SEGMENT.findall(self.plain)), default=0)
        return Measurement(longest, cell_len(self.plain))


def _chopped(segment: str, width: int) -> Iterator[str]:
    """A segment in pieces that fit; nearly always itself."""
    piece = ""
    for letter in segment:
        if piece and cell_len(piece + letter.rstrip()) > width:
            yield piece
            piece = ""
        piece += letter
    yield piece


def labelled(label: str, text: str) -> Table:
    """A label and text that folds beside it, not under it."""
    return listing([(label, text)])


def to_copy(label: str, command: str) -> Text:
    """A command on a line of its own, however long: what is copied must run."""
    return Text.assemble((f"{label}  ", "bold"), command, no_wrap=True, overflow="ignore")


def listing(rows: Sequence[tuple[str, str]]) -> Table:
    """Labels and texts below each other, the texts in one column."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
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
