"""The field `transcript` of a trial evidence record: messages as chat interfaces have them, or where they are kept."""

import re
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from evalbench.canonical import canonical_json
from evalbench.readers.evalbench.redaction import Redactor
from evalbench.readers.json_text import JsonError, plain, without_surrogates
from evalbench.readers.json_text import parse_json as parse_record
from evalbench.transcript import Message, Role

_ROLES = {
    "system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "human": Role.USER, "assistant": Role.AGENT,
    "agent": Role.AGENT, "model": Role.AGENT, "ai": Role.AGENT, "tool": Role.TOOL, "function": Role.TOOL,
}  # fmt: skip
ADDRESS_CHARS = 500
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_SAID = ("content", "text")
_ARGS = ("args", "arguments", "parameters")
_RESULT = ("result", "output", "response")


def elsewhere(transcript: object, redactor: Redactor) -> str | None:
    """The address at which the record says that its messages are kept, without secrets and no longer than one is."""
    return redactor.text(without_surrogates(transcript), ADDRESS_CHARS) if _is_address(transcript) else None


def messages_of(transcript: object, redactor: Redactor) -> tuple[Message, ...]:
    """The messages a record holds. A text that is no address is one message of nobody in particular."""
    if transcript is None or _is_address(transcript):
        return ()
    items = transcript if isinstance(transcript, list) else [transcript]
    return tuple(message for item in items for message in _messages(item, redactor))


def _is_address(transcript: object) -> TypeGuard[str]:
    return isinstance(transcript, str) and _ADDRESS.fullmatch(transcript) is not None


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
    if isinstance(value, list):
        value = redactor.json(value)  # joined, a part no longer shows that it names the next
    parts = [part.get("text") if isinstance(part, dict) else part for part in value] if isinstance(value, list) else []
    told = bool(parts) and all(isinstance(part, str) for part in parts)
    return _text("\n".join(map(str, parts)) if told else value, redactor)


def _text(value: object, redactor: Redactor) -> str | None:
    """A value as text without secrets. JSON inside a text becomes canonical JSON, and stays text where it can't.

    None for what JSON can't hold.
    """
    if value is None:
        return None
    found = _parsed(value) if isinstance(value, str) else value
    try:
        return _clean(found, redactor) if isinstance(found, str) else _canonical(found, redactor)
    except ValueError:
        return _clean(value, redactor) if isinstance(value, str) else None


def _clean(text: str, redactor: Redactor) -> str:
    return redactor.text(without_surrogates(text))


def _canonical(value: object, redactor: Redactor) -> str:
    return canonical_json(redactor.json(plain(value)))


def _parsed(text: str) -> object:
    """What a text that is a JSON object or list holds; any other text as it is."""
    try:
        value = parse_record(text) if text.lstrip().startswith(("{", "[")) else text
    except JsonError:
        return text
    return value if isinstance(value, dict | list) else text


def _first(item: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((item[key] for key in keys if item.get(key) is not None), None)
