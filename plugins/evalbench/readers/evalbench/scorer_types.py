"""Which of EvalBench's scorers stands behind a comparator's name.

A scorer listed under a known type's own name is that type. Any other name is a renamed scorer: its settings name the
type, as `type: goal_completion` or as a nested `goal_completion: {…}`. A rubric writes one row per criterion,
`<name>_0`, `<name>_1` …, and these roll up to the scorer.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from evalbench.comparators import KNOWN_SCORERS

# Rows that `dataset_quality` writes beside its own, one per category.
DATASET_QUALITY_ROWS = (
    "tool_activation_faithfulness",
    "discoverability_coverage",
    "error_recovery_coverage",
    "composition_coverage",
    "cuj_diversity",
)
_NUMBERED = re.compile(r"(?P<name>.+)_\d+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ScorerTypes:
    """configured: scorer name → type, None when its settings name none EvalBench knows. aliases: row name → type."""

    configured: Mapping[str, str | None]
    aliases: Mapping[str, str]

    def of(self, comparator: str) -> str | None:
        """The scorer type behind a row's comparator name."""
        exact = self._named(comparator)
        if exact is None and (numbered := _NUMBERED.fullmatch(comparator)):
            return self._named(numbered["name"])
        return exact

    def _named(self, name: str) -> str | None:
        return self.aliases.get(name) or self.configured.get(name) or (name if name in KNOWN_SCORERS else None)


def scorer_types(settings: Mapping[str, object]) -> ScorerTypes:
    """Types of the configured scorers, by name → settings (anything but a mapping counts as empty)."""
    configured: dict[str, str | None] = {}
    aliases: dict[str, str] = dict.fromkeys(DATASET_QUALITY_ROWS, "dataset_quality")
    for name in sorted(settings):
        stated = settings[name]
        options: Mapping[str, object] = stated if isinstance(stated, Mapping) else {}
        kind, inner = _type(name, options)
        configured[name] = kind
        if kind and (alias := _alias(name, kind, options, inner)):
            aliases[alias] = kind
    return ScorerTypes(configured, aliases)


def _type(name: str, options: Mapping[str, object]) -> tuple[str | None, Mapping[str, object]]:
    """(type, the settings that belong to the type)."""
    if name in KNOWN_SCORERS:
        return name, options
    if stated := options.get("type"):
        return (str(stated) if stated in KNOWN_SCORERS else None), options
    for known in sorted(KNOWN_SCORERS):
        inner = options.get(known)
        if isinstance(inner, Mapping):
            return known, inner
    return None, options


def _alias(name: str, kind: str, options: Mapping[str, object], inner: Mapping[str, object]) -> str | None:
    """The name the rows carry where it isn't the configured one."""
    if name != kind:
        return _text(options.get("scorer_name"))
    if kind != "python_scorer":
        return None
    script = _text(inner.get("script_path"))
    return _text(inner.get("scorer_name")) or (posixpath.splitext(posixpath.basename(script))[0] if script else None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
