"""Secrets by their own shape (`AIza…`, `sk-…`, a JWT, a PEM block …), wherever they stand.

When in doubt more is replaced, never less. Every pattern is linear in the text: a match starts only where a run of its
own characters starts, and what was read is never read again. Secrets known by the name they stand under are the
readers' business: see `readers/redact.py`.
"""

import re

REDACTED = "[redacted]"

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----|\Z)"
)
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"AIza[A-Za-z0-9_-]{20,}"
    r"|(?:sk|rk|pk)[-_](?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[a-z]-[A-Za-z0-9-]{8,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16,}"
    r"|ya29\.[A-Za-z0-9_-]{8,}"
    r"|(?:hf|gsk|npm)_[A-Za-z0-9]{16,}"
    r"|(?:dop|doo|dor)_v1_[a-f0-9]{32,}"
    r"|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}"
    r"|dapi[a-f0-9]{32,}"
    r"|xai-[A-Za-z0-9]{32,}"
    r"|pypi-AgE[A-Za-z0-9_-]{16,}"
    r"|GOCSPX-[A-Za-z0-9_-]{16,}"
    r"|1//0[A-Za-z0-9_-]{24,}"
    r"|hv[sb]\.[A-Za-z0-9_-]{16,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{16,}"
    r"|https://hooks\.slack\.com/services/[A-Za-z0-9/]{16,}"
    r")"
)
_DOTTED = re.compile(r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]*+)++")
_JWT_START = re.compile(r"eyJ[A-Za-z0-9_-]{5,}+\.")
_BEARER = re.compile(r"(?i)\b(bearer\s{1,5})([A-Za-z0-9._~+/=-]{8,}+)")
_URL_USER = re.compile(r"(//[^\s/:@'\"]{0,256}+:)[^\s/'\"]{1,256}(?=@)")


def redact_shapes(text: str) -> str:
    """`text` without PEM blocks, key-shaped words, JWTs and passwords inside URLs."""
    text = _PEM.sub(REDACTED, text)
    text = _SHAPES.sub(REDACTED, text)
    text = _DOTTED.sub(_without_jwt, text)
    return _URL_USER.sub(rf"\1{REDACTED}", text)


def redact_bearer(text: str) -> str:
    """`text` without bearer tokens; "the bearer of this letter" stays."""
    return _BEARER.sub(_without_bearer, text)


def _without_jwt(match: re.Match[str]) -> str:
    start = _JWT_START.search(match[0])
    return match[0][: start.start()] + REDACTED if start else match[0]


def _without_bearer(match: re.Match[str]) -> str:
    secret = len(match[2]) >= 20 or any(letter.isdigit() for letter in match[2])
    return match[1] + REDACTED if secret else match[0]
