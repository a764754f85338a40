"""Accounting: every listed entry ends in exactly one state, or the pipeline says so."""

import pytest

from evalbench.accounting import Accounting, DirectoryState, Disposition, account
from evalbench.errors import AccountingError


def state(path: str, disposition: Disposition, reason: str | None = None) -> DirectoryState:
    """A directory's state."""
    return DirectoryState(path=path, run_key=f"key-{path}", disposition=disposition, reason=reason)


def test_the_sum_closes() -> None:
    """Every state is counted, quarantined and ignored ones by reason."""
    states = [
        state("a", Disposition.SCORED),
        state("b", Disposition.UNCHANGED),
        state("c", Disposition.OUT_OF_RANGE),
        state("d", Disposition.IN_PROGRESS, "in_progress"),
        state("e", Disposition.QUARANTINED, "no_run_time"),
        state("f", Disposition.QUARANTINED, "too_large"),
        state("g", Disposition.QUARANTINED, "no_run_time"),
        state("h", Disposition.IGNORED, "not_a_directory"),
    ]
    assert Accounting(
        listed=8,
        scored=1,
        unchanged=1,
        out_of_range=1,
        in_progress=1,
        quarantined={"no_run_time": 2, "too_large": 1},
        ignored={"not_a_directory": 1},
    ) == account(states, "abcdefgh")


@pytest.mark.parametrize(
    ("states", "listed", "named"),
    [
        ([], "a", "lost ['a']"),
        ([state("a", Disposition.PLANNED)], "a", "lost ['a']"),
        ([state("a", Disposition.SCORED), state("a", Disposition.SCORED)], "a", "twice ['a']"),
        ([state("b", Disposition.SCORED)], "", "twice ['b']"),
        ([state("b", Disposition.SCORED)], "a", "lost ['a']"),
    ],
)
def test_a_sum_that_does_not_close_names_what_differs(states: list[DirectoryState], listed: str, named: str) -> None:
    """Equal counts of different entries don't close either."""
    with pytest.raises(AccountingError) as caught:
        account(states, listed)
    assert named in str(caught.value)
