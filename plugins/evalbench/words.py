"""How numbers, counts and names are written for people, on the page as on a terminal: nothing is rounded to nothing."""

from collections.abc import Mapping, Sequence

NOTHING = "\u2013"
EVALSET = ".evalset.json"


def number(value: float | None, places: int = 3, nothing: str = NOTHING) -> str:
    """At most `places` decimals, no trailing zeros, thousands apart; more where they would show something as 0."""
    if value is None:
        return nothing
    if value and not round(value, places):
        return f"{value:.2g}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate(value: float | None, nothing: str = NOTHING) -> str:
    """A quotient with three decimals, and more until 0 and 1 stand only where it is exactly that."""
    if value is None:
        return nothing
    places = 3
    while value not in (0, 1) and round(value, places) in (0, 1):
        places += 3
    return f"{value:.{places}f}"


def money(value: float | None, most: int = 2, nothing: str = NOTHING) -> str:
    """US dollars with two to `most` decimals; four below a cent, and more where they would show something as 0."""
    if value is None:
        return nothing
    places = 4 if 0 < abs(value) < 0.01 else most
    while value and not round(value, places):
        places += 2
    whole, _, decimals = f"{abs(value):,.{places}f}".partition(".")
    return f"{'-' if value < 0 else ''}${whole}.{decimals.rstrip('0').ljust(2, '0')}"


def in_unit(value: float | None, unit: str, nothing: str = NOTHING) -> str:
    """A figure in the unit it is stored in."""
    if unit == "USD":
        return money(value, most=4, nothing=nothing)
    return rate(value, nothing) if unit.startswith(("share", "quality")) else number(value, nothing=nothing)


def spaced(name: str) -> str:
    """`wait_overdue` as words."""
    return name.replace("_", " ")


def counted(counts: Mapping[str, int]) -> str:
    """`waiting 1, rejected 2`; empty when nothing was counted."""
    return ", ".join(f"{spaced(reason)} {count:,}" for reason, count in counts.items())


def plural(count: int, one: str, many: str = "") -> str:
    """`1 trial`, `2 trials`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def suite_name(suite: str) -> str:
    """A suite as people know it; in addresses, tables and documents it keeps its file ending."""
    return suite.removesuffix(EVALSET)
