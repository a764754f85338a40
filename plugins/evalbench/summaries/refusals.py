"""An error answer of Gemini → what it means, and what an operator does about it.

Only words of a fixed form are taken from an answer (status, reason, field and quota names): its free text may repeat
the key or the prompt.
"""

import re
from collections.abc import Iterable, Mapping

from evalbench.summaries.access import (
    CONNECTION_SETTING,
    KEY_VARIABLE,
    LOCATION_SETTING,
    MODELS_SETTING,
    PROJECT_SETTING,
    ROLE,
    Access,
    Provider,
)
from evalbench.summaries.replies import NoReplyReason, Refusal
from evalbench.summaries.retry import TRANSIENT, asked_wait, error_details

WORD = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.\[\]/-]{0,99}")
BAD_KEY = "API_KEY_INVALID"  # AI Studio answers 400 to a key it doesn't know


def refusal(status: int, headers: Mapping[str, str], body: object) -> Refusal:
    """What an HTTP error answer means. body: its JSON, or whatever the SDK made of a body that is none."""
    words = list(_words(body))
    return Refusal(
        reason=_reason(status, words),
        what=" ".join(["HTTP", str(status), *words]),
        transient=status in TRANSIENT,
        asked=asked_wait(headers, body) if status in TRANSIENT else None,
    )


def advice(reason: NoReplyReason, access: Access) -> str:
    """What to do about a reason, on the way to Gemini that was taken."""
    by_mode = _GEMINI_ADVICE if access.mode is Provider.GEMINI else _VERTEX_ADVICE
    text = by_mode.get(reason) or _ADVICE[reason]
    return text.format(project=access.project, location=access.location)


def _reason(status: int, words: Iterable[str]) -> NoReplyReason:
    if status == 429:
        return NoReplyReason.QUOTA_EXHAUSTED
    if status == 408 or status >= 500:
        return NoReplyReason.SERVER_ERROR
    if status == 401 or BAD_KEY in words:
        return NoReplyReason.AUTHENTICATION
    if status == 403:
        return NoReplyReason.PERMISSION
    if status == 404 or status < 400:  # any web server answers so; only Gemini says NOT_FOUND
        return NoReplyReason.MODEL_NOT_FOUND if "NOT_FOUND" in words else NoReplyReason.NETWORK
    return NoReplyReason.BAD_REQUEST


def _words(body: object) -> Iterable[str]:
    """Status, reasons, bad fields and exhausted quotas that the body names, in its order."""
    error = body.get("error") if isinstance(body, Mapping) else None
    yield from _matching(WORD, error.get("status") if isinstance(error, Mapping) else None)
    for detail in error_details(body):
        yield from _matching(WORD, detail.get("reason"))
        for entries, name in (("fieldViolations", "field"), ("violations", "quotaId")):
            found = detail.get(entries)
            for entry in found[:3] if isinstance(found, list) else ():
                yield from _matching(NAME, entry.get(name) if isinstance(entry, Mapping) else None)


def _matching(pattern: re.Pattern[str], text: object) -> Iterable[str]:
    if isinstance(text, str) and pattern.fullmatch(text):
        yield text


_ADVICE = {
    NoReplyReason.QUOTA_EXHAUSTED: "lower the number of workers or set an Airflow pool, or raise the quota",
    NoReplyReason.SERVER_ERROR: "the provider is at fault; run again later",
    NoReplyReason.NETWORK: "check the network, proxy settings and GOOGLE_GEMINI_BASE_URL or GOOGLE_VERTEX_BASE_URL",
    NoReplyReason.DEADLINE: "run again later, or allow more time per summary",
    NoReplyReason.BAD_REQUEST: f"check that the models of {MODELS_SETTING} accept the request",
}
_GEMINI_ADVICE = {
    NoReplyReason.AUTHENTICATION: f"the API key is not accepted: set a valid {KEY_VARIABLE}, or the password of the"
    f" Airflow connection named by {CONNECTION_SETTING}",
    NoReplyReason.PERMISSION: f"the API key of {KEY_VARIABLE} may not use this model: allow it the Generative Language"
    " API, in a project with that API enabled",
    NoReplyReason.MODEL_NOT_FOUND: f"set {MODELS_SETTING} to models that this API key offers",
}
_VERTEX_ADVICE = {
    NoReplyReason.AUTHENTICATION: "the Google credentials are not accepted: renew GOOGLE_APPLICATION_CREDENTIALS, or"
    f" the Airflow connection named by {CONNECTION_SETTING}",
    NoReplyReason.PERMISSION: f"grant the account {ROLE} in the project {{project}} ({PROJECT_SETTING}), and enable the"
    " Vertex AI API there",
    NoReplyReason.MODEL_NOT_FOUND: f"set {MODELS_SETTING} to models that {{project}} offers at {{location}}"
    f" ({LOCATION_SETTING})",
}
