"""The Dockerfile and .dockerignore as a builder understands them, as far as this project uses them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction of a Dockerfile: its word in capitals, and the rest as it is written, on one line."""

    word: str
    rest: str

    @property
    def words(self) -> list[str]:
        """The rest, split as a shell would, without flags."""
        return [word for word in shlex.split(self.rest) if not word.startswith("--")]

    def flag(self, name: str) -> str | None:
        """The value of `--name=value` before the first other word."""
        found = re.search(rf"(?:^|\s)--{name}=(\S+)", self.rest)
        return found[1] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """From one FROM to the next: image and name with build arguments put in."""

    image: str
    name: str | None
    steps: tuple[Step, ...]


def stages(dockerfile: str) -> list[Stage]:
    """The stages of a Dockerfile, in order."""
    arguments: dict[str, str] = {}
    found: list[Stage] = []
    for step in _steps(dockerfile):
        if step.word == "FROM":
            image, *name = _filled(step.rest, arguments).split(" AS ")
            found.append(Stage(image=image, name=name[0] if name else None, steps=()))
        elif not found:  # only ARG may stand before the first FROM
            key, _, value = step.rest.partition("=")
            arguments[key] = value
        else:
            last = found[-1]
            found[-1] = Stage(image=last.image, name=last.name, steps=(*last.steps, step))
    return found


def context(root: Path, patterns: str) -> list[str]:
    """The files of a folder that a .dockerignore lets through, sorted: the last pattern that fits decides."""
    rules = [line for line in map(str.strip, patterns.splitlines()) if line and not line.startswith("#")]
    compiled = [(not rule.startswith("!"), _pattern(rule.removeprefix("!"))) for rule in rules]
    return sorted(path for path in _files(root) if not _ignored(path, compiled))


def _steps(dockerfile: str) -> Iterator[Step]:
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield Step(word=word.upper(), rest=" ".join(rest.split()))


def _filled(text: str, arguments: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda found: arguments[found[1]], text)


def _files(root: Path) -> Iterator[str]:
    """Files below a folder, but not those no builder should need to look at."""
    for path in root.iterdir():
        if path.name in (".git", ".venv", ".cache", "var"):
            continue
        inside = path.rglob("*") if path.is_dir() else (path,)
        yield from (file.relative_to(root).as_posix() for file in inside if file.is_file())


def _ignored(path: str, rules: list[tuple[bool, re.Pattern[str]]]) -> bool:
    parts = path.split("/")
    folders = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    ignored = False
    for ignores, pattern in rules:
        if any(pattern.fullmatch(folder) for folder in folders):
            ignored = ignores
    return ignored


def _pattern(rule: str) -> re.Pattern[str]:
    """`**/` any folders, `*` anything within one name."""
    pieces = re.split(r"(\*\*/|\*)", rule.strip("/"))
    meanings = {"**/": "(?:.*/)?", "*": "[^/]*"}
    return re.compile("".join(meanings.get(piece, re.escape(piece)) for piece in pieces))
