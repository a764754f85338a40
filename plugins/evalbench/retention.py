"""Which transcripts are kept, how much of them, and for how long."""

import logging
from dataclasses import dataclass
from datetime import date

from evalbench.lake.transcripts import encode_transcripts, last_day, remove_expired, write_transcripts
from evalbench.ledger import Run
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.transcripts import TRANSCRIPT_VERSION, read_transcripts
from evalbench.settings import Settings
from evalbench.storage import Storage
from evalbench.transcript import fit_run, not_kept

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """today: the UTC date. days: after a run's date; 0: none. most: bytes of a run's transcripts.

    days None: nobody said. Then nothing is kept, and what others keep stays until the time they set is over.
    """

    today: date
    days: int | None
    most: int

    @classmethod
    def of(cls, settings: Settings) -> "Retention":
        """What these settings say."""
        return cls(today=settings.now().date(), days=settings.transcript_days, most=settings.transcript_bytes)

    def keep(self, lake: Storage, snapshot: Snapshot, run: Run, facts: str, options: ReadOptions) -> None:
        """Store what was said in a run that was read from this snapshot, unless its time is over already.

        Whatever was said, this raises nothing but StorageError: the run's facts stand, and its decision knows none of
        it. A lake that can't be written is tried again, as it is for facts, since a run isn't read a second time for
        its transcripts alone.
        """
        if self.days and self.today <= last_day(run.run_date, self.days):
            how = f"{TRANSCRIPT_VERSION}-{self.most}"
            write_transcripts(lake, facts, run.run_date, self.days, how, self._said(snapshot, run, options))

    def clean(self, lake: Storage) -> int:
        """Remove what is no longer kept; how many runs' transcripts."""
        return remove_expired(lake, self.today, self.days)

    def _said(self, snapshot: Snapshot, run: Run, options: ReadOptions) -> bytes:
        """The transcripts as they are stored, or in their place why there are none."""
        try:
            return encode_transcripts(fit_run(read_transcripts(snapshot, run, options), self.most))
        except Exception as error:  # noqa: BLE001 - a run that could be scored isn't lost for what only people look at
            log.warning("%r: what was said in its trials is not kept: %s", snapshot.path, type(error).__name__)
            return encode_transcripts((), not_kept(error))
