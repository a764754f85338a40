"""Which transcripts are kept, how much of them, and for how long."""

from dataclasses import dataclass
from datetime import date

from evalbench.lake.transcripts import is_kept, remove_expired, write_transcripts
from evalbench.ledger import Run
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.transcripts import TRANSCRIPT_VERSION, read_transcripts
from evalbench.settings import Settings
from evalbench.storage import Storage
from evalbench.transcript import Transcript, fit_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """today: the UTC date. days: after a run's date; 0 keeps none. most: bytes of a run's transcripts."""

    today: date
    days: int
    most: int

    @classmethod
    def of(cls, settings: Settings) -> "Retention":
        """What these settings say."""
        return cls(today=settings.now().date(), days=settings.transcript_days, most=settings.transcript_bytes)

    def keep(self, lake: Storage, snapshot: Snapshot, run: Run, facts: str, options: ReadOptions) -> None:
        """Store what was said in a run that was read from this snapshot, unless its time is over already."""
        if not is_kept(run.run_date, self.today, self.days):
            return
        found, problem = _read(snapshot, run, options)
        how = f"{TRANSCRIPT_VERSION}-{self.most}"
        write_transcripts(lake, facts, run.run_date, how, fit_run(found, self.most), problem)

    def clean(self, lake: Storage) -> int:
        """Remove what is no longer kept; how many runs' transcripts."""
        return remove_expired(lake, self.today, self.days)


def _read(snapshot: Snapshot, run: Run, options: ReadOptions) -> tuple[tuple[Transcript, ...], str | None]:
    """The transcripts, or why there are none: a run that could be scored isn't lost for what only people look at."""
    try:
        return read_transcripts(snapshot, run, options), None
    except Exception as error:  # noqa: BLE001 - whatever a hostile conversation breaks, it is told where it would stand
        return (), f"unreadable_{type(error).__name__}"
