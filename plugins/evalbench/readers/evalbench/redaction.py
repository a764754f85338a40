"""Redaction that also knows this run's own secrets.

A password in a configuration has no shape of its own, and turns up again in logs and tool arguments. Its value is
collected from the places that name it, used to find it elsewhere, and kept nowhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evalbench.readers.redact import is_secret_key, redact_json, redact_text
from evalbench.redaction import REDACTED

MIN_SECRET_CHARS = 6


@dataclass(frozen=True, slots=True)
class Redactor:
    """secrets: values to remove wherever they stand, longest first."""

    secrets: tuple[str, ...] = ()

    def text(self, text: str, limit: int | None = None) -> str:
        """`text` without secrets, cut to `limit` characters afterwards."""
        clean = redact_text(self._without_known(text))
        return clean if limit is None else clean[:limit]

    def json(self, value: object) -> object:
        """A JSON value without secrets."""
        return redact_json(self._json_without_known(value) if self.secrets else value)

    def _without_known(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, REDACTED)
        return text

    def _json_without_known(self, value: object) -> object:
        if isinstance(value, str):
            return self._without_known(value)
        if isinstance(value, list):
            return [self._json_without_known(item) for item in value]
        if isinstance(value, Mapping):
            return {self._without_known(str(key)): self._json_without_known(item) for key, item in value.items()}
        return value


def redactor_for(values: Iterable[tuple[str, object]]) -> Redactor:
    """A redactor that knows the secrets among named JSON values: those under a secret's name or with its shape."""
    found = {secret for name, value in values for secret in _secrets_in(name, value)}
    return Redactor(tuple(sorted(found, key=lambda secret: (-len(secret), secret))))


def _secrets_in(name: str, value: object) -> list[str]:
    if isinstance(value, list):
        return [secret for item in value for secret in _secrets_in(name, item)]
    if isinstance(value, Mapping):
        return [secret for key, item in value.items() for secret in _secrets_in(str(key), item)]
    if not isinstance(value, str) or len(value) < MIN_SECRET_CHARS or value.isdigit():
        return []
    return [value] if is_secret_key(name) or redact_text(value) == REDACTED else []
