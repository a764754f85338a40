"""Words that no summary may hold, whatever the numbers say: release verdicts, error texts, links.

Patterns read one sentence in small letters. The prompt asks for other words in each of these cases.
"""

import re
from collections.abc import Iterator

from evalbench.summaries.personal import one_line, sentences

_RELEASE = (
    r"(?:release[sd]?|ship(?:s|ped|ping)?|deploy(?:s|ed|ment)?|launch(?:ed)?|roll(?:ed)?[ -]?out"
    r"|production|promot(?:e|ed|ion))"
)
_ACTS = r"(?:do not|don't|approval (?:of|for)|(?:recommend|approve|block|hold|stop|reject)(?:e?d|s|ing)?|held)"
_END = r"(?=\W*$|[,;:!])"
_VERDICTS = (
    rf"\b(?:ready|safe|unsafe|fit|unfit|good|suitable|clear(?:ed)?|approved?) (?:to|for) (?:be )?(?:the )?{_RELEASE}\b",
    rf"\b(?:can|could|should|must|may|cannot|can't|shouldn't)(?: not)? (?:now |safely )?(?:be )?{_RELEASE}\b",
    rf"\b{_ACTS}(?: of| against| for| the| this| that| its| to)* {_RELEASE}\b",
    r"\b(?:i|we) (?:\w+ )?(?:approve|recommend approval)\b|^\W*approved?\W*$",
    r"\bapproved? (?:the |this )?(?:candidate|run|agent|version|build)\b",
    r"\b(?:candidate|run|version|build|release) (?:is|was|should be|can be) (?:approved|rejected|blocked)\b",
    r"\b(?:release|production)[- ]ready\b|\bship it\b|\bno[- ]go\b|\bgo/no\b|\bgreen[- ]light|\bsign(?:ed)?[- ]?off\b",
    r"\binsufficient[_ ]evidence\b|\b(?:gate|release|overall|final)(?: \w+)? (?:verdict|decision)\b",
    rf"\b(?:gate|verdict|decision|candidate|run)(?: \w+)?:? (?:is |was |should )?(?:pass|fail)(?:e[sd]|s)?{_END}",
    r"\b(?:pass|fail|clear|meet)(?:e[sd]|s)? the (?:release )?gate\b",
)
_ERRORS = (
    r"\berror (?:calling|generating|while generating|during summari[sz]ation)\b|^error\b",
    r"\bas an ai\b|\b(?:language|ai) model,? i\b|^i(?:'m| am) (?:sorry|unable)\b",
    r"\bi (?:cannot|can't|can not|am unable to|won't) (?:help|assist|comply|provide|summari[sz]e|fulfil+|answer)",
    r"\btraceback\b|(?<!\w)[a-z]{3,}(?:error|exception)[:(]",
    r"\bresource[ _]exhausted\b|\bquota (?:exceeded|exhausted)\b|\bexceed(?:ed|s) (?:your|the) (?:current )?quota\b",
    r"\brate[ -]limit(?:ed)? (?:exceeded|reached|hit|error)\b|\btoo many requests\b|\bdeadline_exceeded\b",
    r"\b(?:http|status)(?: code| error)?[ :=]*[45]\d\d\b|\b[45]\d\d (?:(?:client |server )?error|[a-z]+_[a-z]+)\b",
    r"\binternal server error\b|\bservice unavailable\b|\bbad gateway\b|\bgateway time-?out\b",
    r"\bmodel (?:is )?(?:currently )?(?:unavailable|overloaded)\b|\bapi[ _]key (?:not|in)[ _]?valid\b|<!doctype|<html",
)
_LINKS = (r"\b[a-z][a-z0-9+.-]{1,20}://", r"\bwww\.", r"\]\s*\(", r"\b(?:javascript|mailto|data):\S")

RELEASE_VERDICTS = tuple(re.compile(pattern) for pattern in _VERDICTS)
ERROR_TEXTS = tuple(re.compile(pattern) for pattern in _ERRORS)
LINKS = tuple(re.compile(pattern) for pattern in _LINKS)

_SHOUTED = re.compile(r"\b(?:PASS|FAIL)(?:ED)?\b")
_OF_A_JUDGE = re.compile(r"\b(?:judges?|logs?|graders?|comparators?|scorers?|raters?|rubrics?)\b")


def release_verdicts(text: str) -> Iterator[str]:
    """Words that decide about a release, which is the gate's business alone.

    PASS and FAIL in capitals are such a word unless the sentence speaks of a judge, whose word may be quoted.
    """
    for sentence in sentences(text):
        yield from _found(RELEASE_VERDICTS, sentence.casefold())
        if not _OF_A_JUDGE.search(sentence.casefold()):
            yield from _SHOUTED.findall(sentence)


def error_texts(text: str) -> Iterator[str]:
    """What reads like the failure of a call, or of a model, instead of a summary."""
    for sentence in sentences(text):
        yield from _found(ERROR_TEXTS, sentence.casefold())


def links(text: str) -> Iterator[str]:
    """Addresses: a summary needs none, and one could only come from what a run wrote."""
    yield from _found(LINKS, one_line(text).casefold())


def _found(patterns: tuple[re.Pattern[str], ...], text: str) -> Iterator[str]:
    yield from (match[0].strip() for pattern in patterns if (match := pattern.search(text)) is not None)
