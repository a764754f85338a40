"""What comes back of one question to a model: its answer as it is, or why there is none."""

from dataclasses import dataclass
from enum import StrEnum

BLOCKED = "BLOCKED"
"""The finish reason of a prompt that the provider's filters refused."""

NO_CANDIDATE = "NO_CANDIDATE"
"""The finish reason of an answer that holds nothing at all."""


class NoReplyReason(StrEnum):
    """Why a question stayed without an answer."""

    QUOTA_EXHAUSTED = "quota_exhausted"
    SERVER_ERROR = "server_error"
    NETWORK = "network"
    DEADLINE = "deadline"
    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    BAD_REQUEST = "bad_request"
    MODEL_NOT_FOUND = "model_not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer, unjudged.

    text: None when the answer holds none. finish_reason: the provider's word (STOP, MAX_TOKENS, SAFETY…), BLOCKED or
    NO_CANDIDATE. model: the one that answered, by the provider's own account where it gives one. Tokens are None where
    the provider counts none. attempts: the calls made, this one included.
    """

    text: str | None
    finish_reason: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
    tokens_thinking: int | None
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoReply:
    """No answer. message: what happened and what to do, free of keys, tokens and text of the prompt."""

    reason: NoReplyReason
    message: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One call that brought no answer.

    transient: trying again may help. asked: seconds the server asks to wait first, None when it doesn't. what: the
    answer in the provider's own words of code and status, for messages.
    """

    reason: NoReplyReason
    what: str
    transient: bool = False
    asked: float | None = None
