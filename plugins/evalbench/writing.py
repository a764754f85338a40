"""Summaries of runs: who writes them, what is asked, what is stored, and what is shown.

Advisory: no decision reads a summary, and what goes wrong here is the state of a row, never an error.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from evalbench.accounting import Written
from evalbench.canonical import sha256_json
from evalbench.errors import PipelineError
from evalbench.lake.texts import StoredText, TextState, owe, paid, read_text, read_texts, write_text
from evalbench.ledger import ScoredRun
from evalbench.rulebook import read_prices, read_prompt
from evalbench.settings import Settings, SummariesMode
from evalbench.storage import Storage, lake_of
from evalbench.summaries.access import DEFAULT_MODELS, Access, Login, Offline, choose
from evalbench.summaries.answer import Answer, render
from evalbench.summaries.check import EMPTY, Checked, check
from evalbench.summaries.digest import Digest, digest_hash, digest_of
from evalbench.summaries.gemini import Gemini
from evalbench.summaries.offline import OFFLINE_VERSION, write_offline
from evalbench.summaries.prices import Prices
from evalbench.summaries.prompt import Prompt, build_prompt, digest_budget, repair_prompt
from evalbench.summaries.replies import NO_CANDIDATE, NoReply, Reply
from evalbench.trends import RunSummary

OFFLINE = "offline"
OFFLINE_WRITER = f"{OFFLINE}-{OFFLINE_VERSION}"
OFF = "summaries_off"
UNREADABLE = "summary_unreadable"
NOT_ASKED = "not_asked"
STOP, MAX_TOKENS = "STOP", "MAX_TOKENS"
MODEL_MODES = frozenset({SummariesMode.AUTO, SummariesMode.GEMINI, SummariesMode.VERTEX})


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes summaries, and by what. Safe between threads, which share one adapter and its connections.

    way: how the model is reached, Offline where none is. gemini: the model, None where none is asked.
    """

    lake: Storage
    mode: SummariesMode
    way: Access | Offline
    gemini: Gemini | None
    models: tuple[str, ...]
    template: str
    budget: int
    prices: Prices

    @classmethod
    def of(cls, settings: Settings, login: Login) -> "Writer":
        """The writer these settings ask for, and this login allows.

        Raises UsageError when a way was asked for by name and something for it is missing, and for an operator's file
        that can't be used.
        """
        mode = settings.summaries
        way: Access | Offline = Offline(why="summaries=off")
        if mode is not SummariesMode.OFF:
            way = choose(
                mode.value,
                api_key=login.api_key.reveal() if login.api_key is not None else None,
                project=settings.vertex_project or login.project,
                location=settings.vertex_location,
                credentials=login.credentials,
            )
        models = settings.summary_models or (DEFAULT_MODELS[way.mode] if isinstance(way, Access) else ())
        template = read_prompt()
        return cls(
            lake=lake_of(settings),
            mode=mode,
            way=way,
            gemini=Gemini(way, models, deadline_s=settings.summary_deadline_s) if isinstance(way, Access) else None,
            models=models,
            template=template,
            budget=digest_budget(settings.summary_prompt_tokens, template),
            prices=read_prices(settings),
        )

    @property
    def why(self) -> str:
        """Which way was taken and why, without secrets."""
        asked = f"; models {', '.join(self.models)}" if isinstance(self.way, Access) else ""
        return f"by {self.name} ({self.way.why}{asked})"

    @property
    def name(self) -> str:
        """gemini, vertex, offline or off."""
        if self.mode is SummariesMode.OFF:
            return self.mode.value
        return self.way.mode.value if isinstance(self.way, Access) else OFFLINE

    def write(self, scored: ScoredRun) -> Written:
        """Write a run's summary, unless it is written already."""
        digest = digest_of(scored, self.budget)
        try:
            written = (self._model if self.gemini is not None else self._offline)(digest, scored.run.run_id)
            if written.state == TextState.UNAVAILABLE:
                owe(self.lake, scored.run.run_key)
            else:
                paid(self.lake, scored.run.run_key)
        except PipelineError:
            return Written(why=self.why, state=TextState.UNAVAILABLE, reason=UNREADABLE)
        return written

    def _offline(self, digest: Digest, run_id: str) -> Written:
        if self.mode is SummariesMode.OFF:
            return Written(why=self.why, state="none", reason=OFF)
        cached = read_text(self.lake, digest_hash(digest), OFFLINE_WRITER) is not None
        write_text(self.lake, OFFLINE_WRITER, _offline_text(digest, run_id))
        return Written(why=self.why, state=TextState.OFFLINE, cached=cached)

    def _model(self, digest: Digest, run_id: str) -> Written:
        prompt = build_prompt(self.template, digest)
        stood = read_text(self.lake, digest_hash(digest), self._key(prompt))
        if stood is not None and stood.state is not TextState.UNAVAILABLE:
            return Written(why=self.why, state=stood.state, reason=stood.reason, cached=True, model=stood.model)
        text, message = self._ask(digest, prompt)
        stands = write_text(self.lake, self._key(prompt), replace(text, run_id=run_id))
        return Written(
            why=self.why,
            state=stands.state,
            reason=stands.reason,
            message=message,
            calls=text.calls,
            model=stands.model,
            tokens_in=text.tokens_in,
            tokens_out=text.tokens_out,
            tokens_thinking=text.tokens_thinking,
            cost_usd=text.cost_usd,
        )

    def _key(self, prompt: Prompt) -> str:
        """Names everything beside the digest that an answer depends on."""
        return _writer_key(prompt.version, self.models)

    def _ask(self, digest: Digest, prompt: Prompt) -> tuple[StoredText, str]:
        """One question, and one more where the answer was refused: (what may be stored, what to do about no answer)."""
        first = self._reply(prompt)
        text = self._judged(digest, prompt, (first,))
        if isinstance(first, NoReply):
            return text, first.message
        if text.state is not TextState.REJECTED:
            return text, ""
        refused = check(first.text, digest)
        second = self._reply(repair_prompt(prompt, first.text or "", refused.reasons, refused.details))
        if isinstance(second, NoReply):
            return replace(text, calls=text.calls + second.attempts), second.message
        return self._judged(digest, prompt, (first, second)), ""

    def _reply(self, prompt: Prompt) -> Reply | NoReply:
        if self.gemini is None:
            raise ValueError("there is no model to ask")
        return self.gemini.ask(prompt.system, prompt.user, Answer)

    def _judged(self, digest: Digest, prompt: Prompt, replies: tuple[Reply | NoReply, ...]) -> StoredText:
        """The last reply as it may be stored; the offline text, labelled, where it may not."""
        last = replies[-1]
        answered = [reply for reply in replies if isinstance(reply, Reply)]
        state, reason, checked = _verdict(last, digest)
        whole = _offline_text(digest)
        return replace(
            whole,
            state=state,
            text=render(checked.answer) if checked is not None and checked.answer is not None else whole.text,
            reason=reason,
            prompt_version=prompt.version,
            model=last.model if isinstance(last, Reply) else None,
            calls=sum(reply.attempts for reply in replies),
            tokens_in=_total(reply.tokens_in for reply in answered),
            tokens_out=_total(reply.tokens_out for reply in answered),
            tokens_thinking=_total(reply.tokens_thinking for reply in answered),
            cost_usd=_sum(self._cost(reply) for reply in answered),
        )

    def _cost(self, reply: Reply) -> Decimal | None:
        return self.prices.cost(reply.model, reply.tokens_in, reply.tokens_out, reply.tokens_thinking)


def stored_summary(lake: Storage, scored: ScoredRun, settings: Settings) -> RunSummary:
    """What is shown of a run: the text of its numbers that was stored, a model's before the offline one.

    Asks nobody. Without any the offline text is written, or with `off` none is.
    """
    template = read_prompt()
    digest = digest_of(scored, digest_budget(settings.summary_prompt_tokens, template))
    name = digest_hash(digest)
    try:
        texts = read_texts(lake, name)
        present = _present_keys(settings, build_prompt(template, digest).version)
        text = _best(texts, present, asking=settings.summaries in MODEL_MODES)
        if text is None and settings.summaries is SummariesMode.OFF:
            return RunSummary(run=scored.run, state="none", reason=OFF, digest_hash=name)
        if text is None:
            text = _offline_text(digest, scored.run.run_id)
            if settings.summaries in (SummariesMode.GEMINI, SummariesMode.VERTEX):
                text = replace(text, state=TextState.UNAVAILABLE, reason=NOT_ASKED)
            else:
                text = write_text(lake, OFFLINE_WRITER, text)
    except PipelineError:
        return RunSummary(run=scored.run, state=TextState.UNAVAILABLE.value, reason=UNREADABLE, digest_hash=name)
    return RunSummary(
        run=scored.run,
        state=text.state.value,
        text=text.text,
        reason=text.reason,
        digest_hash=text.digest_hash,
        prompt_version=text.prompt_version,
        summary_model=text.model,
        calls=text.calls,
        tokens_in=text.tokens_in,
        tokens_out=text.tokens_out,
        tokens_thinking=text.tokens_thinking,
        cost_usd=text.cost_usd,
    )


def _writer_key(prompt_version: str, models: Iterable[str]) -> str:
    return f"gemini-{sha256_json([prompt_version, list(models)])[:12]}"


def _present_keys(settings: Settings, prompt_version: str) -> frozenset[str]:
    """Writers that these settings would ask now."""
    lists = [settings.summary_models] if settings.summary_models else DEFAULT_MODELS.values()
    return frozenset(_writer_key(prompt_version, models) for models in lists)


def _best(texts: Mapping[str, StoredText], present: Collection[str], *, asking: bool) -> StoredText | None:
    """A model's text before any other, the present writers' before those of other settings; always the same of several.

    present: writers that would be asked now. asking: a text that couldn't be had is shown as such, where models are
    asked at all.
    """
    asked = [(writer not in present, text) for writer, text in texts.items() if not writer.startswith(OFFLINE)]
    final = [item for item in asked if item[1].state is not TextState.UNAVAILABLE]
    final.sort(key=lambda item: (item[1].state is not TextState.GENERATED, item[0]))
    if final or (asked and asking):
        return (final or asked)[0][1]
    return texts.get(OFFLINE_WRITER)


def _verdict(reply: Reply | NoReply, digest: Digest) -> tuple[TextState, str | None, Checked | None]:
    """(state, reason, the check where there was something to check)."""
    if isinstance(reply, NoReply):
        return TextState.UNAVAILABLE, reply.reason.value, None
    if reply.finish_reason == MAX_TOKENS:
        return TextState.TRUNCATED, "max_tokens", None
    if reply.finish_reason == NO_CANDIDATE:
        return TextState.REJECTED, EMPTY, None
    if reply.finish_reason != STOP:
        return TextState.BLOCKED, reply.finish_reason.lower(), None
    checked = check(reply.text, digest)
    if checked.answer is None:
        return TextState.REJECTED, ",".join(checked.reasons), checked
    return TextState.GENERATED, None, checked


def _offline_text(digest: Digest, run_id: str = "") -> StoredText:
    text = write_offline(digest)
    return StoredText(state=TextState.OFFLINE, text=text, digest_hash=digest_hash(digest), run_id=run_id)


def _total(counts: Iterable[int | None]) -> int | None:
    """The sum of what was counted; None where nothing was."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sum(costs: Iterable[Decimal | None]) -> Decimal | None:
    """The sum, None as soon as one is unknown, or there is none."""
    found = list(costs)
    known = [cost for cost in found if cost is not None]
    return sum(known, Decimal(0)) if found and len(known) == len(found) else None
