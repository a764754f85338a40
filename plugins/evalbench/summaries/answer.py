"""What a model is asked to write about a run, and how that reads as text."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from evalbench.summaries.personal import one_line

_LIMITS = ("additionalProperties", "minLength", "maxLength", "maxItems")


def _without_limits(schema: dict[str, Any]) -> None:
    """Limits are checked here. In a response schema they make the service refuse it as too complex."""
    for key in _LIMITS:
        schema.pop(key, None)
    for inner in schema.values():
        for item in inner if isinstance(inner, list) else [inner]:
            if isinstance(item, dict):
                _without_limits(item)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, json_schema_extra=_without_limits)


def _text(most: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=most)


Sentence = Annotated[str, _text(300)]


class Failure(_Part):
    """Tasks that failed for one cause."""

    cause: Annotated[str, _text(120)]
    explanation: Annotated[str, _text(500)]
    task_ids: Annotated[tuple[Annotated[str, _text(120)], ...], Field(max_length=20)]


class SuspectedDefect(_Part):
    """Something wrong with the judge or the harness rather than with the agent."""

    source: Literal["judge", "harness"]
    explanation: Sentence


class Answer(_Part):
    """A summary of one run, as a model gives it. Limits are counted in characters and items."""

    headline: Annotated[str, _text(240)]
    went_well: Annotated[tuple[Sentence, ...], Field(max_length=6)]
    failures: Annotated[tuple[Failure, ...], Field(max_length=8)]
    suspected_defects: Annotated[tuple[SuspectedDefect, ...], Field(max_length=6)]
    next_steps: Annotated[tuple[Sentence, ...], Field(max_length=6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One text of an answer.

    explains: it says why something failed, so it may quote the evidence. own_tasks: how many tasks it names beside it.
    """

    place: str
    text: str
    explains: bool = False
    own_tasks: int | None = None


def passages(answer: Answer) -> Iterator[Passage]:
    """Every text of an answer with its place, in order."""
    yield Passage(place="headline", text=answer.headline)
    for index, text in enumerate(answer.went_well):
        yield Passage(place=f"went_well[{index}]", text=text)
    for index, failure in enumerate(answer.failures):
        count = len(set(failure.task_ids))
        for name, text in (("cause", failure.cause), ("explanation", failure.explanation)):
            yield Passage(place=f"failures[{index}].{name}", text=text, explains=True, own_tasks=count)
    for index, defect in enumerate(answer.suspected_defects):
        yield Passage(place=f"suspected_defects[{index}]", text=defect.explanation, explains=True)
    for index, text in enumerate(answer.next_steps):
        yield Passage(place=f"next_steps[{index}]", text=text)


def render(answer: Answer) -> str:
    """The answer as plain Markdown: the same answer gives the same text.

    Each text is one line of printable characters without HTML, links, images or template braces, whatever was written.
    """
    failures = [f"{_safe(each.cause)}{_ids(each.task_ids)}: {_safe(each.explanation)}" for each in answer.failures]
    sections: Mapping[str, list[str]] = {
        "Went well": [_safe(text) for text in answer.went_well],
        "Failures": failures,
        "Suspected defects": [f"{each.source}: {_safe(each.explanation)}" for each in answer.suspected_defects],
        "Next steps": [_safe(text) for text in answer.next_steps],
    }
    blocks = [
        "\n".join([f"{title}:", "", *(f"- {line}" for line in lines)]) for title, lines in sections.items() if lines
    ]
    return "\n\n".join([_safe(answer.headline), *blocks]) + "\n"


def _ids(task_ids: tuple[str, ...]) -> str:
    return f" ({', '.join(_safe(task) for task in dict.fromkeys(task_ids))})" if task_ids else ""


def _safe(text: str) -> str:
    """No tag, no bracket that a link's address could follow, no braces that a template engine would open."""
    escaped = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"\{(?=[{%#])", "{ ", re.sub(r"\](?=\s*[(\[:])", r"\\]", escaped))
