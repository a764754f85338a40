"""The operator's files, read: routing and every policy it can ask for, or the one given instead; exclusions; prompt and
prices of the summaries.
"""

import stat
from pathlib import Path

from evalbench.errors import PolicyError, UsageError
from evalbench.exclusions import NOTHING_EXCLUDED, Exclusions, parse_exclusions
from evalbench.policy import Policy, parse_policy
from evalbench.routing import Routing, parse_routing
from evalbench.settings import Settings, include_dir
from evalbench.storage import local_path
from evalbench.subjects import Rules
from evalbench.summaries.prices import Prices, parse_prices

SUFFIXES = (".yaml", ".yml")
MOST_BYTES = 1_000_000


def read_rules(settings: Settings, baseline: str | None = None) -> Rules:
    """Routing, policies, exclusions, and the caller's overrides.

    Raises UsageError when a file isn't there, PolicyError when it can't be used.
    """
    shipped = include_dir() / "policies"
    routing_path = local_path(settings.routing) if settings.routing is not None else shipped / "routing.yaml"
    routing = parse_routing(_text(routing_path, "routing file"), str(routing_path))
    return Rules(
        routing=routing,
        policies=_policies(routing, routing_path, shipped),
        override=_policy(local_path(settings.policy)) if settings.policy is not None else None,
        baseline=baseline,
        exclusions=_exclusions(local_path(settings.exclude)) if settings.exclude is not None else NOTHING_EXCLUDED,
    )


def read_prompt() -> str:
    """The instructions of the model that writes summaries. Raises UsageError when the file isn't there."""
    return _text(include_dir() / "prompts" / "run_summary_v1.md", "prompt")


def read_prices(settings: Settings) -> Prices:
    """The price table. Raises UsageError when the file isn't there, PolicyError when it can't be used."""
    path = local_path(settings.prices) if settings.prices is not None else include_dir() / "prices.yaml"
    return parse_prices(_text(path, "price table"), str(path))


def _policies(routing: Routing, routing_path: Path, shipped: Path) -> dict[str, Policy]:
    found = {}
    for name in routing.policy_names():
        path = routing_path.parent / name if name.endswith(SUFFIXES) else shipped / f"{name}.yaml"
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in shipped.glob("*.yaml") if file.name != "routing.yaml"))
            raise PolicyError(f"{routing_path}: policy {name!r}: no file {path}; shipped are {known}")
        found[name] = _policy(path)
    return found


def _policy(path: Path) -> Policy:
    return parse_policy(_text(path, "policy file"), str(path))


def _exclusions(path: Path) -> Exclusions:
    return parse_exclusions(_text(path, "exclusions file"), str(path))


def _text(path: Path, what: str) -> str:
    """A small regular file: a pipe or a device could keep the caller waiting, or never end."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > MOST_BYTES:
            raise UsageError(f"{path}: not a {what}; expected a regular file of at most {MOST_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such {what}; check the path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a readable UTF-8 {what} ({type(error).__name__})") from error
