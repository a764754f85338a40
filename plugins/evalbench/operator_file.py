"""Operator files (policy, routing): YAML text → a validated, frozen model, or an error that says where."""

from collections.abc import Hashable
from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from evalbench.errors import PolicyError


class Strict(BaseModel):
    """Frozen, and an unknown key is an error: a misspelt limit must not silently be no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _UniqueKeys(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice, where plain YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key_node.value!r} is given twice", key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


Model = TypeVar("Model", bound=Strict)


def parse_operator_file(model: type[Model], text: str, source: str) -> Model:
    """Parse `text` as `model`. Raises PolicyError naming `source` and the YAML path of each problem."""
    try:
        data = yaml.load(text, Loader=_UniqueKeys)  # noqa: S506 - derives from SafeLoader
    except yaml.YAMLError as error:
        raise PolicyError(f"{source}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise PolicyError(f"{source}: expected a mapping at the top, found {type(data).__name__}")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(f"{_yaml_path(item['loc'])}: {item['msg']}" for item in error.errors())
        raise PolicyError(f"{source}: {problems}") from error


def _yaml_path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "(top)"
