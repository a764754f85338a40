"""The prompt: instructions, and the digest as data in a block that its content can't close.

Nothing from a run is ever formatted, rendered or searched for placeholders: it is appended, once, as JSON.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evalbench.canonical import sha256_text
from evalbench.summaries.digest import Digest, digest_hash, digest_text
from evalbench.summaries.personal import one_line

PROMPT_VERSION = "1"
"""Raised whenever this module would put the same digest into other words."""

CHARACTERS_PER_TOKEN = 3
"""On the safe side: digests are JSON full of numbers and names, where a token holds fewer letters than in prose."""

MAX_REPEATED = 8_000
"""Characters of a refused answer that are shown to its writer again; a whole one is shorter."""

_HINTS: Mapping[str, str] = {
    "empty": "The answer was empty.",
    "error_text": "It read like an error message. Say in your own words what could not be judged or reached.",
    "not_json": "It was not one JSON object. Answer with the object alone, without a fence around it.",
    "schema": "It had other keys, kinds or lengths than described.",
    "unknown_task_id": "It named a task id that is not in the data.",
    "invented_number": "It stated a number that is not in the data, or one from `why` outside failures and defects.",
    "contradicts_evidence": "It claimed more than the numbers say.",
    "release_verdict": "It judged a release, or used PASS or FAIL as a verdict on the run.",
    "link": "It held a link. Name the place in words.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked. version: moves with the wording here and with the template."""

    system: str
    user: str
    version: str


def build_prompt(template: str, digest: Digest) -> Prompt:
    """The prompt for a run. template: the instructions, the operator's own words, taken as they are."""
    return Prompt(
        system=template,
        user="\n".join([
            "The digest of one run, as data:",
            *_block("digest", digest_hash(digest), digest_text(digest)),
            "Answer with the JSON object that your instructions describe.",
        ]),
        version=f"{PROMPT_VERSION}-{sha256_text(template)[:12]}",
    )  # fmt: skip


def repair_prompt(prompt: Prompt, answer_text: str, reasons: Iterable[str], details: Iterable[str] = ()) -> Prompt:
    """The same request once more, with the refused answer as data and what was wrong with it.

    reasons, details: as `check` gives them.
    """
    text = digest_text({"answer": one_line(answer_text)[:MAX_REPEATED], "details": list(details)})
    return Prompt(
        system=prompt.system,
        user="\n".join([
            prompt.user,
            "",
            "An earlier answer was refused:",
            *(f"- {_HINTS[reason]}" for reason in reasons),
            "That answer and the places, as data:",
            *_block("refused", sha256_text(text), text),
            "Answer again with the whole JSON object, with these faults removed.",
        ]),
        version=prompt.version,
    )  # fmt: skip


def digest_budget(tokens: int, template: str) -> int:
    """Characters that are left for the digest's text when the whole prompt may take `tokens`."""
    return max(0, tokens * CHARACTERS_PER_TOKEN - len(template) - _FRAME)


_FRAME = 300
"""Characters around template and digest: marker lines and the sentences between them."""


def _block(name: str, content_hash: str, text: str) -> list[str]:
    """Marker lines named after the content. `text` holds no `<`, so it can't write one."""
    marker = f"{name}-{content_hash[:16]}"
    return [f"<{marker}>", text, f"</{marker}>"]
