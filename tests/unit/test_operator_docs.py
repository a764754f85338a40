"""The operator's pages say everything there is to set, with the defaults that hold; nothing else."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import pytest
import typer
import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from evalbench.cli.app import app
from evalbench.errors import PolicyError
from evalbench.exclusions import Exclusions, parse_exclusions
from evalbench.operator_file import Strict
from evalbench.policy import Absence, Policy, parse_policy
from evalbench.routing import Routing, parse_routing
from evalbench.settings import PARSERS, PREFIX, Settings


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row whose first cell is one piece of code or empty."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and re.fullmatch(r"`[^`]+`|", cells[0]):
            yield [cell.strip("`") for cell in cells]


@pytest.fixture(scope="module")
def settings_page(root: Path) -> str:
    """docs/settings.md."""
    return (root / "docs" / "settings.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def policy_page(root: Path) -> str:
    """docs/policy.md."""
    return (root / "docs" / "policy.md").read_text(encoding="utf-8")


# -- settings ----------------------------------------------------------------------------------------------------


def shown(default: object) -> str:
    """A default as the page writes it."""
    if default is None:
        return "not set"
    return str(default).lower() if isinstance(default, bool) else str(default)


def test_every_setting_is_on_the_page_with_its_default(settings_page: str) -> None:
    """In the order of the code, so that nobody looks for one in vain."""
    found = [field for field in fields(Settings) if field.name in PARSERS]
    expected = [(PREFIX + field.name.upper(), shown(field.default)) for field in found]
    assert expected == [(row[0], row[1]) for row in rows(settings_page) if row[0].startswith(PREFIX)]


def dag_parameters(root: Path) -> dict[str, set[str]]:
    """The constants PARAMS (its keys) and SETTINGS_FROM_PARAMS of the DAG file, read without Airflow."""
    tree = ast.parse((root / "dags" / "evalbench_nightly.py").read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            items = value.keys if isinstance(value, ast.Dict) else value.elts if isinstance(value, ast.Tuple) else []
            found[node.targets[0].id] = {str(item.value) for item in items if isinstance(item, ast.Constant)}
    return found


def test_what_overrides_a_setting_is_on_the_page(root: Path, settings_page: str) -> None:
    """Options are those of `evalbench run`, parameters those of the DAG; each of them is somewhere on the page."""
    command: Any = typer.main.get_command(app)
    options = {option for parameter in command.commands["run"].params for option in parameter.opts}
    told_options = {row[2] for row in rows(settings_page) if row[0].startswith(PREFIX)} - {""}
    told_options |= {row[0] for row in rows(settings_page) if row[0].startswith("--")}
    assert options - {"--json", "--help", "-h", "runs"} | {"RUNS"} == told_options

    dag = dag_parameters(root)
    from_settings = {row[0]: row[3] for row in rows(settings_page) if row[0].startswith(PREFIX) and row[3]}
    assert {PREFIX + name.upper(): name for name in dag["SETTINGS_FROM_PARAMS"]} == from_settings
    own = {row[1] for row in rows(settings_page) if row[0].startswith("--") and row[1]}
    assert dag["PARAMS"] == own | set(from_settings.values())


# -- policy and routing ------------------------------------------------------------------------------------------


def plain(annotation: Any) -> Any:
    """An annotation without `| None`."""
    if get_origin(annotation) is UnionType:
        return next(kind for kind in get_args(annotation) if kind is not type(None))
    return annotation


def keys(model: type[Strict], path: str = "") -> Iterator[tuple[str, str]]:
    """(dotted path, default as the page writes it) of every key a file of this model may have."""
    for name, field in model.model_fields.items():
        here = f"{path}{field.alias or name}"
        kind, required = plain(field.annotation), field.default is PydanticUndefined and field.default_factory is None
        default = "required" if required else written(field.get_default(call_default_factory=True))
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if default == "null":
                yield here, default
            yield from keys(kind, f"{here}.")  # type: ignore[arg-type]
            continue
        yield here, default
        inner = get_args(kind)
        if get_origin(kind) is tuple and isinstance(inner[0], type) and issubclass(inner[0], Strict):
            yield from keys(inner[0], f"{here}[].")
        if get_origin(kind) is dict and isinstance(inner[1], type) and issubclass(inner[1], Strict):
            yield from keys(inner[1], f"{here}.<absence>.")


def written(default: object) -> str:
    """A default as the page writes it."""
    if default in ((), {}):
        return "none"
    if default is None:
        return "null"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default.normalize():f}" if isinstance(default, Decimal) else str(default) or "empty"


def told(page: str) -> list[tuple[str, str]]:
    """(key, default) of every row of a table of keys."""
    return [(row[0], row[1]) for row in rows(page) if len(row) == 3 and not row[1].startswith("-")]


def test_every_policy_key_is_on_the_page_with_its_default(policy_page: str) -> None:
    """None is left out, none is invented, none has another default than the code."""
    head = policy_page[: policy_page.index("## Routing")]
    absences = set(get_args(Absence))
    page = sorted((key, default) for key, default in told(head) if key not in absences)
    assert sorted(set(keys(Policy))) == page


def test_every_routing_key_is_on_the_page_with_its_default(policy_page: str) -> None:
    """Like the policy's; no baseline is written `none`."""
    page = told(policy_page[policy_page.index("## Routing") : policy_page.index("## Exclusions")])
    expected = [(key, "none" if default == "null" else default) for key, default in keys(Routing)]
    assert sorted(expected) == sorted(page)


def test_every_exclusion_key_is_on_the_page(policy_page: str) -> None:
    """Like the others."""
    assert sorted(keys(Exclusions)) == sorted(told(policy_page[policy_page.index("## Exclusions") :]))


def test_every_absence_is_explained(policy_page: str) -> None:
    """What is counted, and what becomes of it."""
    assert set(get_args(Absence)) == {row[0] for row in rows(policy_page) if row[0] in get_args(Absence)}


def test_the_examples_on_the_page_can_be_used(policy_page: str) -> None:
    """Each is a policy, a part of one, a routing or exclusions; what a reader copies must parse."""
    whole = {"schema": 1, "name": "n", "version": "1", "floors": {"verified_yield": {"min": 0.5}}}
    examples = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", policy_page, re.DOTALL)]
    assert 5 == len(examples)
    for example in examples:
        if "routes" in example:
            assert 2 == len(parse_routing(yaml.safe_dump(example), "page").routes)
        elif "exclude" in example:
            assert 1 == len(parse_exclusions(yaml.safe_dump(example), "page").exclude)
        else:
            assert "page" != parse_policy(yaml.safe_dump(whole | example), "page").name


def test_the_error_on_the_page_is_the_one_people_get(policy_page: str) -> None:
    """Word for word."""
    mistaken = 'schema: 1\nname: n\nversion: "1"\nfloors: {verified_yeild: {min: 0.75}}\n'
    with pytest.raises(PolicyError) as caught:
        parse_policy(mistaken, "mine.yaml")
    assert f"\n{caught.value}\n" in policy_page
