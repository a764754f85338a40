"""Templates to HTML: everything is escaped, and a name that a template misspells is an error."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from evalbench.canonical import canonical_json
from evalbench.gate.decision import Verdict
from evalbench.web import marks, words
from evalbench.web.links import Address
from evalbench.web.models.parts import SIGNAL_LABELS, VERDICT_LABELS

HERE = Path(__file__).resolve().parent
SHORT = 100
"""Letters of JSON that stay on one line."""
MOST_LETTERS = 20_000
"""Of one text on a page: a run may hold texts of megabytes, which no browser shows and nobody reads."""
TYPES = MappingProxyType({".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"})
_UNSENT = re.compile("[\0\r\n]")
"""What no form sends as it is: HTML holds no NUL, and browsers send every line break as two characters."""
WORDS = (
    words.age,
    words.brief,
    words.counted,
    words.fraction,
    words.in_unit,
    words.instant,
    words.money,
    words.number,
    words.plural,
    words.rate,
    words.seconds,
    words.short_hash,
    words.spaced,
    words.suite_name,
)
DRAWINGS = (marks.interval, marks.check_range, marks.sparkline, marks.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """A file the browser loads. version: changes with its bytes."""

    data: bytes
    type: str
    version: str


@cache
def static_files() -> Mapping[str, StaticFile]:
    """All of them, by name: nothing else is ever read for a request."""
    found = {}
    for path in sorted((HERE / "static").iterdir()):
        if path.suffix in TYPES:
            data = path.read_bytes()
            version = hashlib.sha256(data).hexdigest()[:12]
            found[path.name] = StaticFile(data=data, type=TYPES[path.suffix], version=version)
    return found


@cache
def environment() -> Environment:
    """The one environment of all templates."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {word.__name__: word for word in WORDS} | {
        "pretty_json": pretty_json,
        "detail": detail,
        "exact": exact,
    }
    made.tests["sendable"] = sendable
    made.globals |= {drawing.__name__: drawing for drawing in DRAWINGS}
    made.globals |= {
        "SIGNAL_LABELS": SIGNAL_LABELS,
        "VERDICT_LABELS": VERDICT_LABELS,
        "VERDICTS": tuple(Verdict),
        "NOTHING": words.NOTHING,
    }
    return made


def render(template: str, /, **shown: object) -> str:
    """A template, filled in."""
    return environment().get_template(template).render(**shown)


def pretty_json(text: str) -> str:
    """Canonical JSON as people read it, on one line where it is short; other text as it is."""
    found = _canonical(text) if len(text) <= MOST_LETTERS else None
    if found is None:
        return text
    return json.dumps(found, indent=None if len(text) <= SHORT else 1, ensure_ascii=False)


def detail(text: str) -> str:
    """What a verdict rests on: `equal 3, tools none` for a flat canonical JSON object, other text as it is."""
    found = _canonical(text)
    if not isinstance(found, dict) or any(isinstance(value, dict) for value in found.values()):
        return text
    return ", ".join(f"{words.spaced(name)} {_said(value)}" for name, value in found.items())


def exact(text: str) -> Markup:
    """A value that a form sends back: nobody reads it, so it is escaped and otherwise as it is."""
    return escape(text)


def sendable(text: str) -> bool:
    """Whether a form sends a text as it is."""
    return _UNSENT.search(text) is None


def _said(value: object) -> object:
    if isinstance(value, list):
        return " ".join(str(item) for item in value) or "none"
    return "none" if value is None else value


def _canonical(text: str) -> object:
    """The value of canonical JSON. None for other text, which may say more than its value: a key twice, all digits."""
    try:
        found = json.loads(text)
        return found if canonical_json(found) == text else None
    except (ValueError, RecursionError):
        return None


def _shown(value: object) -> object:
    """What a template prints: None is its mistake, text is cleaned of what can't be seen, addresses are left alone."""
    if value is None:
        raise TypeError("a template prints None: say why there is nothing instead")
    return _short(value) if isinstance(value, str) and not isinstance(value, Markup | Address) else value


def _short(text: str) -> str:
    """A text cleaned of what can't be seen; of a very long one its beginning, and how much is left out."""
    more = len(text) - MOST_LETTERS
    shown = words.clean(text[:MOST_LETTERS])
    return shown if more <= 0 else f"{shown}… ({words.plural(more, 'letter')} more)"
