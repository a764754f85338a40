"""Exclusions: runs an operator voided. Their facts stay, they are in no number, and they are shown."""

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from evalbench.operator_file import Day, Strict, parse_operator_file

Name = Annotated[str, Field(min_length=1)]


class Exclusion(Strict):
    """A voided run: why, on whose word, and when it was voided."""

    run_id: Name = Field(alias="run")
    reason: Name
    owner: Name
    day: Day = Field(alias="date")

    @property
    def document(self) -> dict[str, str]:
        """In JSON types, as reports and tables show it."""
        return {"run_id": self.run_id, "reason": self.reason, "owner": self.owner, "date": self.day.isoformat()}


class Exclusions(Strict):
    """An exclusions file. A run is named once."""

    schema_version: Literal[1] = Field(alias="schema")
    exclude: tuple[Exclusion, ...] = ()

    @field_validator("exclude")
    @classmethod
    def _named_once(cls, exclude: tuple[Exclusion, ...]) -> tuple[Exclusion, ...]:
        first: dict[str, int] = {}
        for place, exclusion in enumerate(exclude):
            before = first.setdefault(exclusion.run_id, place)
            if before != place:
                raise PydanticCustomError(
                    "run_named_twice",
                    "run {run} is excluded twice, by [{before}] and [{place}]; keep one of the two",
                    {"place": place, "run": exclusion.run_id, "before": before},
                )
        return exclude

    @cached_property
    def _by_run(self) -> dict[str, Exclusion]:
        return {exclusion.run_id: exclusion for exclusion in self.exclude}

    def of(self, run_id: str) -> Exclusion | None:
        """The exclusion of a run, None where it counts."""
        return self._by_run.get(run_id)

    def idle(self, known: Iterable[str]) -> tuple[str, ...]:
        """Excluded run ids, in the file's order, that are not among the `known` ones."""
        there = frozenset(known)
        return tuple(exclusion.run_id for exclusion in self.exclude if exclusion.run_id not in there)


NOTHING_EXCLUDED = Exclusions(schema=1)


def parse_exclusions(text: str, source: str) -> Exclusions:
    """Parse an exclusions file's text. Raises PolicyError naming `source` and the YAML path of each problem."""
    return parse_operator_file(Exclusions, text, source)
