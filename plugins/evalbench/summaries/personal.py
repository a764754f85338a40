"""What a run wrote, made fit to leave: one printable line, without keys and without personal data, cut to a length.

Facts hold no secret under a secret's name. What is left are shapes: keys a judge or an agent repeated, addresses, phone
and account numbers. When in doubt more is replaced, never less. The replacements hold no number.
"""

import re
import unicodedata

from evalbench.redaction import redact_bearer, redact_shapes

MAX_EXCERPT = 160
MAX_LABEL = 120
EMAIL, PHONE, ACCOUNT = "[e-mail]", "[phone]", "[account]"

_PARTS = r"\s@<>()\[\]{}\"',;|"
_EMAIL = re.compile(rf"(?<![^{_PARTS}=:])(?:[^{_PARTS}=:%]|%(?!40))++(?:@|%40)[^{_PARTS}]++")
_ACCOUNT = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_PHONE = re.compile(
    r"\+\d(?:[ ()./-]{0,3}\d){6,14}(?!\w)"  # +39 06 1234 5678
    r"|(?<![\w.:/+-])(?:\+?1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"  # (555) 123-4567
    r"|(?<![\w.:/+-])0\d{1,4}[ /-]\d{3,8}(?:[ -]\d{2,8}){0,3}(?![\w-]|\.\d)"  # 030 123 456
)


def excerpt(text: str, limit: int = MAX_EXCERPT) -> str:
    """The first words of prose, at most `limit` characters; an ellipsis tells that there was more."""
    clean = redact_bearer(redact_shapes(one_line(text)))
    clean = _PHONE.sub(PHONE, _ACCOUNT.sub(ACCOUNT, _EMAIL.sub(EMAIL, clean)))
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def label(text: str) -> str:
    """A name, id or code, at most MAX_LABEL characters. Its numbers stay: they tell one task from another."""
    return _EMAIL.sub(EMAIL, redact_shapes(_printable(text)))[:MAX_LABEL]


def one_line(text: str) -> str:
    """`text` as one line of printable characters in their common form: nothing hides between two letters."""
    return _printable(unicodedata.normalize("NFKC", text))


def sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line, with straight apostrophes."""
    return re.split(r"(?<=[.!?;])\s+", one_line(text).replace("\u2019", "'"))


def _printable(text: str) -> str:
    """Without control, format, surrogate and unassigned characters, every run of white space one space."""
    spaced = " ".join(text.split())
    return spaced if spaced.isprintable() else "".join(letter for letter in spaced if letter.isprintable())
