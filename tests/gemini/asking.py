"""Questions to the adapter, as the tests of this folder ask them."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict
from tests.gemini.serving import API_KEY, LOCATION, PROJECT

from evalbench.summaries.access import Access, choose
from evalbench.summaries.gemini import Gemini, application_default
from evalbench.summaries.replies import NoReply, Reply

FLASH, PRO = "gemini-2.5-flash", "gemini-2.5-pro"
SYSTEM, USER = "You summarise.", "<data>7 of 9</data>"


class Answer(BaseModel):
    """The form of an answer; closed, as the project's own is."""

    model_config = ConfigDict(extra="forbid")
    headline: str
    tasks: list[str] = []


def ask(access: Access, models: tuple[str, ...] = (FLASH,), **arguments: Any) -> Reply | NoReply:
    """One question to a new adapter."""
    return Gemini(access, models, **arguments).ask(SYSTEM, USER, Answer)


def access_by_key(api_key: str = API_KEY) -> Access:
    """Access to Google AI Studio."""
    access = choose("gemini", api_key=api_key, project=None, location=None, credentials=lambda: None)
    assert isinstance(access, Access)
    return access


def access_by_account(find: Callable[[], object | None] = application_default) -> Access:
    """Access to Vertex AI."""
    access = choose("vertex", api_key=None, project=PROJECT, location=LOCATION, credentials=find)
    assert isinstance(access, Access)
    return access


class Pauses:
    """Time that passes in pauses only: a pause is taken down instead of waited for."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def clock(self) -> float:
        """Seconds since the beginning."""
        return sum(self.taken)

    def sleep(self, seconds: float) -> None:
        """Take a pause."""
        self.taken.append(seconds)

    @property
    def arguments(self) -> dict[str, Callable[..., float | None]]:
        """For `Gemini`: this clock, these pauses, and jitter in the middle of its range."""
        return {"clock": self.clock, "sleep": self.sleep, "random": lambda: 0.5}
