"""Summaries of runs: the digest, its writer, and the text as stored."""

from evalbench.errors import PipelineError
from evalbench.lake.texts import StoredText, read_text, write_text
from evalbench.ledger import ScoredRun
from evalbench.settings import SummariesMode
from evalbench.storage import Storage
from evalbench.summaries import offline
from evalbench.summaries.digest import digest_hash, digest_of
from evalbench.trends import RunSummary


def write_summary(lake: Storage, scored: ScoredRun, mode: SummariesMode) -> RunSummary:
    """The summary of a run: the one stored for its numbers, else a new one, else (`off`) none.

    Advisory: a text that can't be read or stored is the state `failed`, and stops nothing.
    """
    digest = digest_of(scored)
    name = digest_hash(digest)
    try:
        stored = read_text(lake, name, offline.STATE)
        if stored is None and mode is SummariesMode.OFFLINE:
            text = StoredText(state=offline.STATE, text=offline.write_offline(digest), digest_hash=name)
            stored = write_text(lake, text)
    except PipelineError:
        return RunSummary(run=scored.run, state="failed", reason="summary_unreadable", digest_hash=name)
    if stored is None:
        return RunSummary(run=scored.run, state="none", reason="summaries_off", digest_hash=name)
    return RunSummary(
        run=scored.run,
        state=stored.state,
        text=stored.text,
        digest_hash=stored.digest_hash,
        prompt_version=stored.prompt_version,
        summary_model=stored.model,
    )
