"""Whether a model's answer may be stored. Nothing is stored that this module doesn't pass."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError

from evalbench.summaries.answer import Answer, Passage, passages
from evalbench.summaries.claims import contradictions
from evalbench.summaries.digest import Digest
from evalbench.summaries.figures import invented_numbers
from evalbench.summaries.forbidden import error_texts, links, release_verdicts
from evalbench.summaries.personal import one_line
from evalbench.summaries.vocabulary import Vocabulary, vocabulary

EMPTY = "empty"
ERROR_TEXT = "error_text"
NOT_JSON = "not_json"
SCHEMA = "schema"
UNKNOWN_TASK_ID = "unknown_task_id"
INVENTED_NUMBER = "invented_number"
CONTRADICTS_EVIDENCE = "contradicts_evidence"
RELEASE_VERDICT = "release_verdict"
LINK = "link"
MAX_DETAILS = 20
MAX_LOOKED_AT = 4_000
"""Characters of a reply that isn't an answer in which an error is looked for; errors say so at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """answer: None unless everything holds. reasons: the rules broken, in order. details: each place, in words."""

    answer: Answer | None
    reasons: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


def check(text: str | None, digest: Digest) -> Checked:
    """A model's reply held against the digest it was written from."""
    if text is None or not re.search(r"\w", one_line(text)):
        return Checked(answer=None, reasons=(EMPTY,))
    try:
        answer = Answer.model_validate_json(text)
    except ValidationError as error:
        return _unusable(text, error)
    if not re.search(r"[^\W\d_]", one_line(answer.headline)):
        return Checked(answer=None, reasons=(EMPTY,), details=("headline holds no word",))
    broken = [(reason, detail) for reason, rule in _rules(answer, digest) for detail in rule]
    return Checked(
        answer=None if broken else answer,
        reasons=tuple(dict.fromkeys(reason for reason, _ in broken)),
        details=tuple(detail for _, detail in broken)[:MAX_DETAILS],
    )


def _unusable(text: str, error: ValidationError) -> Checked:
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    reason = NOT_JSON if problems[0]["type"] == "json_invalid" else SCHEMA
    said = [ERROR_TEXT] if any(error_texts(text[:MAX_LOOKED_AT])) else []
    places = [(".".join(str(part) for part in item["loc"]) or "the answer", item["msg"]) for item in problems]
    return Checked(
        answer=None,
        reasons=(*said, reason),
        details=tuple(f"{place}: {what}" for place, what in places)[:MAX_DETAILS],
    )


def _rules(answer: Answer, digest: Digest) -> Iterator[tuple[str, Iterator[str]]]:
    """Every rule in its order, with what breaks it."""
    known = vocabulary(digest)
    texts = list(passages(answer))
    yield ERROR_TEXT, _each(texts, lambda passage: error_texts(passage.text), "reads like an error")
    yield UNKNOWN_TASK_ID, _unknown_ids(answer, texts, known)
    yield INVENTED_NUMBER, _each(texts, partial(_invented, known), "stands nowhere in the data")
    yield CONTRADICTS_EVIDENCE, _each(texts, lambda p: contradictions(p.text, digest), "isn't what the data says")
    yield RELEASE_VERDICT, _each(texts, lambda p: release_verdicts(p.text), "decides about a release")
    yield LINK, _each(texts, lambda p: links(p.text), "is a link")


def _each(texts: list[Passage], rule: Callable[[Passage], Iterator[str]], what: str) -> Iterator[str]:
    for passage in texts:
        yield from (f"{passage.place}: {found!r} {what}" for found in rule(passage))


def _invented(known: Vocabulary, passage: Passage) -> Iterator[str]:
    yield from invented_numbers(passage.text, known, quoting=passage.explains, own_tasks=passage.own_tasks)


def _unknown_ids(answer: Answer, texts: list[Passage], known: Vocabulary) -> Iterator[str]:
    """Ids listed beside a failure, and words in prose that look like this run's ids and are none."""
    for index, failure in enumerate(answer.failures):
        for task in failure.task_ids:
            if task not in known.task_ids:
                yield f"failures[{index}].task_ids: {task!r} is no task id in the data"
    alike = _looks_like_an_id(known.task_ids)
    for passage in texts:
        for found in alike.findall(one_line(passage.text)) if alike is not None else ():
            if found not in known.task_ids:
                yield f"{passage.place}: {found!r} is no task id in the data"


def _looks_like_an_id(task_ids: frozenset[str]) -> re.Pattern[str] | None:
    """Known ids with their digits left open; ids of digits only look like any number and are left out."""
    shapes = {
        re.sub(r"\d+", r"\\d+", re.escape(task))
        for task in task_ids
        if re.search(r"\d", task) and re.search(r"[^\W\d_]", task)
    }
    ordered = sorted(shapes, key=lambda shape: (-len(shape), shape))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(ordered)})(?![\w-])") if ordered else None
