"""Gemini, asked with patience: retries, an overall deadline, and the next model when one is gone.

Knows no SDK until the first question: loading it takes seconds that no other verb should pay.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import random as uniform
from typing import TYPE_CHECKING

from pydantic import BaseModel

from evalbench.errors import UsageError
from evalbench.summaries.access import MODELS_SETTING, Access
from evalbench.summaries.refusals import advice
from evalbench.summaries.replies import NoReply, NoReplyReason, Refusal, Reply
from evalbench.summaries.retry import Spent, next_wait

if TYPE_CHECKING:
    from evalbench.summaries.gemini_call import GeminiCall

TIMEOUT_S = 60.0
DEADLINE_S = 180.0
MAX_OUTPUT_TOKENS = 8192
"""Thinking counts: what a model thinks is missing from its answer's allowance."""


class Gemini:
    """Asks one provider, by one way. Safe to share between threads: one per process, so that connections are shared.

    models: tried in order, the next one only when one is NOT_FOUND; what is gone is not asked again. timeout_s: one
    call. deadline_s: all calls and waits of one question. thinking_budget: tokens, None = the model's own choice, since
    models differ in what they accept. clock, sleep, random: monotonic seconds, a pause, uniform numbers in [0, 1).
    """

    def __init__(
        self,
        access: Access,
        models: Sequence[str],
        *,
        timeout_s: float = TIMEOUT_S,
        deadline_s: float = DEADLINE_S,
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
        thinking_budget: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] = uniform,
    ) -> None:
        if not models:
            raise UsageError(f"no model to ask: set {MODELS_SETTING}")
        self._access = access
        self._models = tuple(models)
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._limits = (max_output_tokens, thinking_budget)
        self._clock, self._sleep, self._random = clock, sleep, random
        self._gone: set[str] = set()
        self._call: GeminiCall | None = None
        self._lock = threading.Lock()

    def ask(self, system: str, user: str, schema: type[BaseModel]) -> Reply | NoReply:
        """The answer to `user` under the instructions `system`, as JSON of `schema`; unchecked.

        Never raises for what a provider, a network or a key does: that is a NoReply.
        """
        call = self._caller()
        ends = self._clock() + self._deadline_s
        attempts = retries = 0
        for model in self._models:
            while model not in self._gone:
                left = ends - self._clock()
                attempts += 1
                result = call.send(model, system=system, user=user, schema=schema, timeout_s=min(self._timeout_s, left))
                if isinstance(result, Reply):
                    return replace(result, attempts=attempts)
                if result.reason is NoReplyReason.MODEL_NOT_FOUND:
                    self._gone.add(model)
                    continue
                wait = self._wait(result, retries, ends)
                if not isinstance(wait, float):
                    return self._no_reply(wait, result.what, attempts)
                self._sleep(wait)
                retries += 1
        gone = f"not found: {', '.join(self._models)}"
        return self._no_reply(NoReplyReason.MODEL_NOT_FOUND, gone, attempts)

    def _wait(self, refusal: Refusal, retries: int, ends: float) -> float | NoReplyReason:
        """Seconds to the next try, or why there is none."""
        if not refusal.transient:
            return refusal.reason
        wait = next_wait(retries, asked=refusal.asked, left=ends - self._clock(), random=self._random)
        if not isinstance(wait, Spent):
            return wait
        # A quota that comes back after the deadline is exhausted, as far as this question is concerned.
        quota = wait is Spent.ASKED and refusal.reason is NoReplyReason.QUOTA_EXHAUSTED
        return refusal.reason if wait is Spent.RETRIES or quota else NoReplyReason.DEADLINE

    def _no_reply(self, reason: NoReplyReason, what: str, attempts: int) -> NoReply:
        within = f" within {self._deadline_s:g} s" if reason is NoReplyReason.DEADLINE else ""
        calls = "1 call" if attempts == 1 else f"{attempts} calls"
        message = f"Gemini gave no answer{within} ({calls}; {what}): {advice(reason, self._access)}"
        return NoReply(reason=reason, message=self._caller().shown(message), attempts=attempts)

    def _caller(self) -> "GeminiCall":
        with self._lock:
            if self._call is None:
                from evalbench.summaries.gemini_call import GeminiCall  # noqa: PLC0415 - the SDK takes seconds

                tokens, thinking = self._limits
                self._call = GeminiCall(self._access, max_output_tokens=tokens, thinking_budget=thinking)
            return self._call


def application_default() -> object | None:
    """Google's Application Default Credentials, None where there are none; the `credentials` of `access.choose`."""
    from evalbench.summaries.gemini_call import application_default as found  # noqa: PLC0415 - as above

    return found()
