"""The field `transcript` of a trial evidence record: messages as chat interfaces have them, or where they are kept."""

import re
from collections.abc import Iterator, Mapping

from evalbench.canonical import canonical_json
from evalbench.readers.evalbench.redaction import Redactor
from evalbench.readers.json_text import JsonError, plain, without_surrogates
from evalbench.readers.json_text import parse_json as parse_record
from evalbench.transcript import Message, Role

_ROLES = {
    "system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "human": Role.USER, "assistant": Role.AGENT,
    "agent": Role.AGENT, "model": Role.AGENT, "ai": Role.AGENT, "tool": Role.TOOL, "function": Role.TOOL,
}  # fmt: skip
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_SAID = ("content", "text")
_ARGS = ("args", "arguments", "parameters")
_RESULT = ("result", "output", "response")


def elsewhere(transcript: object) -> str | None:
    """The address at which the record says that its messages are kept."""
    return transcript if isinstance(transcript, str) and _ADDRESS.fullmatch(transcript) else None


def messages_of(transcript: object, redactor: Redactor) -> tuple[Message, ...]:
    """The messages a record holds. A text that is no address is one message of nobody in particular."""
    if transcript is None or elsewhere(transcript) is not None:
        return ()
    items = transcript if isinstance(transcript, list) else [transcript]
    return tuple(message for item in items for message in _messages(item, redactor))


def _messages(item: object, redactor: Redactor) -> Iterator[Message]:
    if not isinstance(item, dict):
        yield Message(role=Role.OTHER, text=_text(item, redactor))
        return
    role = _ROLES.get(str(item.get("role")).strip().lower(), Role.OTHER)
    said = _said(_first(item, _SAID), redactor)
    calls = item.get("tool_calls")
    if role is Role.TOOL or _first(item, _ARGS) is not None:
        yield _call(item, said, redactor)
    elif said is not None or not isinstance(calls, list):
        yield Message(role=role, text=said)
    for call in calls if isinstance(calls, list) else ():
        yield _call(call, None, redactor)


def _call(item: object, said: str | None, redactor: Redactor) -> Message:
    if not isinstance(item, dict):
        return Message(role=Role.TOOL, text=_text(item, redactor))
    function = item.get("function")
    named = function if isinstance(function, dict) else item
    return Message(
        role=Role.TOOL,
        tool=_text(_first(named, ("name", "tool")), redactor),
        args=_text(_first(named, _ARGS), redactor),
        text=said if said is not None else _text(_first(item, _RESULT), redactor),
        status=_text(item.get("status"), redactor),
    )


def _said(value: object, redactor: Redactor) -> str | None:
    """A text, or the texts of its parts one below the other."""
    parts = [part.get("text") if isinstance(part, dict) else part for part in value] if isinstance(value, list) else []
    if parts and all(isinstance(part, str) for part in parts):
        return redactor.text(without_surrogates("\n".join(str(part) for part in parts)))
    return _text(value, redactor)


def _text(value: object, redactor: Redactor) -> str | None:
    """A value as text without secrets, JSON inside a text as canonical JSON; what JSON can't hold is left out."""
    if isinstance(value, str):
        value = _parsed(value)
    if value is None:
        return None
    if isinstance(value, str):
        return redactor.text(without_surrogates(value))
    try:
        return canonical_json(redactor.json(plain(value)))
    except ValueError:
        return None


def _parsed(text: str) -> object:
    """What a text that is a JSON object or list holds; any other text as it is."""
    try:
        value = parse_record(text) if text.lstrip().startswith(("{", "[")) else text
    except JsonError:
        return text
    return value if isinstance(value, dict | list) else text


def _first(item: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((item[key] for key in keys if item.get(key) is not None), None)
