"""Text from runs inside GitHub-flavoured Markdown: seen as it is, and doing nothing.

It pings nobody, links nowhere, opens no tag, leaves no cell. Marks are escaped; what GitHub looks for in finished text
(names, issues, addresses, commits, emoji) is parted by a space of no width. A name that holds no mark stands as code,
where GitHub looks for nothing.
"""

import re
from collections.abc import Iterable, Sequence

from evalbench.web.words import clean

PARTED = "\u200b"
NAME_CHARS, TEXT_CHARS = 120, 1000

_SPACE = re.compile(r"\s+")
_MARK = re.compile(r"[\\|<>&`*_~\[\]$#@]")
_MARKS = {
    "\\": "&#92;", "|": "&#124;", "<": "&lt;", ">": "&gt;", "&": "&amp;", "`": "&#96;", "*": r"\*", "_": r"\_",
    "~": r"\~", "[": r"\[", "]": r"\]", "$": r"\$", "#": rf"\#{PARTED}", "@": f"@{PARTED}",
}  # fmt: skip
_LINKED = re.compile(
    r"(?<=:)(?=[\w+/-])"  # addresses and emoji
    r"|(?<=[wW]{3})(?=\.)"
    r"|(?<=[A-Za-z]-)(?=\d)"  # GH-12, and whatever else a repository links
)
_COMMIT = re.compile(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{7,}(?![0-9a-zA-Z])")
_SHORT = re.compile(r"[0-9a-fA-F]{6}(?=[0-9a-fA-F])")
"""A commit is named by seven digits or more."""
_TAME = re.compile(r"[^\\|`\s](?:[^\\|`\n]*[^\\|`\s])?")


def inert(text: str, most: int = TEXT_CHARS) -> str:
    """A text in a line or cell of Markdown, cut to `most` characters."""
    parted = _COMMIT.sub(lambda word: _SHORT.sub(rf"\g<0>{PARTED}", word[0]), _LINKED.sub(PARTED, _line(text, most)))
    return _MARK.sub(lambda mark: _MARKS[mark[0]], parted)


def named(name: str) -> str:
    """An identifier in a line or cell of Markdown: as code, where code can hold it."""
    line = _line(name, NAME_CHARS)
    return f"`{line}`" if _TAME.fullmatch(line) else inert(line) or "(no name)"


def table(head: Sequence[str], right: Iterable[int], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table of finished cells. right: the columns of numbers."""
    to_right = frozenset(right)
    rule = ["--:" if at in to_right else "---" for at in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def _line(text: str, most: int) -> str:
    line = _SPACE.sub(" ", clean(text)).strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"
