"""The page's colours, as `static/page.css` has them, for what is drawn on the server."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from evalbench.gate.decision import Verdict


class Theme(StrEnum):
    """On what the chart will lie."""

    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """The colours of one theme."""

    ink: str
    quiet: str
    rule: str
    accent: str
    verdicts: Mapping[Verdict, str]


PALETTES: Mapping[Theme, Palette] = MappingProxyType(
    {
        Theme.LIGHT: Palette(
            ink="#1b1e22",
            quiet="#5c636b",
            rule="#dfe1e0",
            accent="#1d5fa6",
            verdicts={
                Verdict.PASS: "#0a7350",
                Verdict.FAIL: "#b02a1a",
                Verdict.INSUFFICIENT_EVIDENCE: "#855700",
            },
        ),
        Theme.DARK: Palette(
            ink="#e7e8ea",
            quiet="#9ba2ab",
            rule="#31363d",
            accent="#84b6ee",
            verdicts={
                Verdict.PASS: "#55c596",
                Verdict.FAIL: "#ff8d78",
                Verdict.INSUFFICIENT_EVIDENCE: "#e2b45a",
            },
        ),
    }
)
