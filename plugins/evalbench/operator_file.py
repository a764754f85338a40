"""Operator files (policy, routing, exclusions): YAML text → a validated, frozen model, or an error that says where."""

from collections.abc import Hashable
from datetime import date, datetime
from difflib import get_close_matches
from typing import Annotated, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from evalbench.errors import PolicyError
from evalbench.yaml_keys import check_keys


class Strict(BaseModel):
    """Frozen, and an unknown key is an error: a misspelt limit must not silently be no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _a_date(value: object) -> object:
    """A YAML date, or its text. A number is no date, whatever it might count."""
    try:
        if isinstance(value, str):
            return date.fromisoformat(value)
    except ValueError:
        value = None
    if not isinstance(value, date) or isinstance(value, datetime):
        raise PydanticCustomError("not_a_date", "expected a date such as 2026-11-28")
    return value


Day = Annotated[date, BeforeValidator(_a_date)]
"""A UTC date, without a time."""


class _UniqueKeys(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        check_keys(node)
        return super().construct_mapping(node, deep)


Model = TypeVar("Model", bound=Strict)


def parse_operator_file(model: type[Model], text: str, source: str) -> Model:
    """Parse `text` as `model`. Raises PolicyError naming `source` and the YAML path of each problem."""
    try:
        data = yaml.load(text, Loader=_UniqueKeys)  # noqa: S506 - derives from SafeLoader
    except yaml.YAMLError as error:
        raise PolicyError(f"{source}{_yaml_problem(error)}") from error
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:  # tags, dates, nesting
        raise PolicyError(f"{source}: not valid YAML: {type(error).__name__}: {error}") from error
    if not isinstance(data, dict):
        raise PolicyError(f"{source}: expected a mapping at the top, found {type(data).__name__}")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(f"{_yaml_path(item['loc'])}: {_problem(model, item)}" for item in error.errors())
        raise PolicyError(f"{source}: {problems}") from error


def _yaml_problem(error: yaml.YAMLError) -> str:
    """`:3:7: not valid YAML: what`, the place where it is known."""
    mark = getattr(error, "problem_mark", None)
    place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
    what = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"{place}: not valid YAML: {what}"


def _problem(model: type[BaseModel], item: ErrorDetails) -> str:
    """What is wrong at one place; for an unknown key, the known one it looks like."""
    if item["type"] != "extra_forbidden":
        return item["msg"]
    *above, key = item["loc"]
    known = _keys(_model_at(model, above))
    alike = get_close_matches(str(key), known, n=1)
    return f"unknown key; did you mean {alike[0]}?" if alike else f"unknown key; known are {', '.join(known)}"


def _model_at(model: type[BaseModel], path: list[int | str]) -> type[BaseModel]:
    """The model at a path of keys and positions."""
    for part in path:
        for name, field in model.model_fields.items():
            if part == (field.alias or name):
                model = _model_in(field.annotation) or model
                break
    return model


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model an annotation speaks of: itself, or inside `X | None`, a tuple or a dict."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _model_in(inner))), None)


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _yaml_path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "(top)"
