"""Key, token and prompt leave in the request alone: not in logs, values, messages or exceptions.

The server repeats credential and prompt in every error message, as a careless gateway does.
"""

import gc
import logging
import pickle
import traceback
from typing import Any

import pytest
from google import genai
from google.genai import errors
from pydantic import BaseModel
from tests.gemini.asking import FLASH, Answer, Pauses, access_by_account, access_by_key
from tests.gemini.serving import API_KEY, GeminiServer

from evalbench.errors import UsageError
from evalbench.summaries.access import Access
from evalbench.summaries.gemini import Gemini
from evalbench.summaries.replies import NoReply, Reply

PROMPT = "the transcript of task airline_17"
TOKEN = "ya29.token"
SECRETS = (API_KEY, TOKEN, PROMPT, "PRIVATE KEY")
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
STEPS: list[dict[str, Any]] = [
    {"text": "{}"},
    *({"status": status} for status in (400, 401, 403, 404, 429, 503)),
    {"status": 403, "details": [{"@type": ERROR_INFO, "reason": API_KEY}]},  # where only words are expected
    {"status": 400, "details": [{"@type": ERROR_INFO, "reason": PROMPT}]},
    {"finish": "SAFETY"},
    {"drop": True},
    {"status": 200, "raw": f"<html>{API_KEY} {PROMPT}</html>"},
    {"status": 404, "raw": f"<html>{API_KEY} {PROMPT}</html>"},
]


class Unsupported(BaseModel):
    """A form that the SDK refuses to send."""

    scores: dict[str, int]


def found(text: str) -> list[str]:
    """The secrets in a text."""
    return [secret for secret in SECRETS if secret in text]


def listen(caplog: pytest.LogCaptureFixture) -> None:
    """Every logger, as loud as it gets; google-auth's own also needs to be asked by name."""
    caplog.set_level(logging.DEBUG)
    for name in ("google", "google.auth", "google_genai", "httpx", "httpcore", "urllib3", "requests"):
        caplog.set_level(logging.DEBUG, logger=name)
    logging.getLogger("google").propagate = True


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("way", ["gemini", "vertex"])
def test_nothing_secret_leaves_an_answer_or_an_error(
    server: GeminiServer,
    by_account: Access,
    pauses: Pauses,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    way: str,
    step: dict[str, Any],
) -> None:
    """Whatever a provider answers, with every logger at its loudest."""
    listen(caplog)
    server.script(default=step)
    access = by_account if way == "vertex" else access_by_key()
    gemini = Gemini(access, (FLASH,), **pauses.arguments)
    reply = gemini.ask("You summarise.", PROMPT, Answer)
    assert [] == found(f"{reply!r} {reply} {access!r} {gemini!r}")
    assert [] == found(caplog.text)
    assert [] == found("".join(str(vars(record)) for record in caplog.records))  # what a structured log would show
    assert [] == found("".join(capfd.readouterr()))
    assert "httpcore" in caplog.text  # the loggers were listened to


def test_a_credential_in_the_place_of_a_name_is_left_out(server: GeminiServer, by_account: Access) -> None:
    """Names of fields are passed on; what is held as a key or a token is not, in whatever place it comes back."""
    by_token = Gemini(by_account, (FLASH,))
    assert isinstance(by_token.ask("You summarise.", PROMPT, Answer), Reply)
    token = getattr(by_account.credentials, "token", None)
    assert token is not None
    for gemini, credential in ((Gemini(access_by_key(), (FLASH,)), API_KEY), (by_token, token)):
        violations = [{"field": credential}, {"field": "generation_config.seed"}]
        server.script(default={"status": 400, "details": [{"fieldViolations": violations}]})
        reply = gemini.ask("You summarise.", PROMPT, Answer)
        assert isinstance(reply, NoReply)
        assert "… generation_config.seed" in reply.message
        assert credential not in reply.message


@pytest.mark.parametrize("schema", [Answer, Unsupported])
def test_no_exception_with_a_secret_is_left_behind(
    server: GeminiServer, by_key: Access, pauses: Pauses, schema: type[BaseModel]
) -> None:
    """An error that is raised afterwards doesn't trail the SDK's error as its context."""
    server.script(default={"status": 403})
    reply = Gemini(by_key, (FLASH,), **pauses.arguments).ask("You summarise.", PROMPT, schema)
    assert isinstance(reply, NoReply)
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError(reply.message)
    assert raised.value.__context__ is None
    assert [] == found("".join(traceback.format_exception(raised.value)))
    gc.collect()
    # By type: asking a thing for its class wakes up what others load when it is first used.
    kept = [thing for thing in gc.get_objects() if issubclass(type(thing), errors.APIError) and PROMPT in str(thing)]
    assert [] == kept


def test_the_servers_errors_do_hold_the_secrets(server: GeminiServer) -> None:
    """What the tests of this file look for is there to be found: the SDK's own error shows it."""
    server.script(default={"status": 403})
    client = genai.Client(vertexai=False, api_key=API_KEY)
    with pytest.raises(errors.ClientError) as raised:
        client.models.generate_content(model=FLASH, contents=PROMPT)
    assert [API_KEY, PROMPT] == found(str(raised.value))


def test_a_key_that_breaks_the_http_client_never_gets_there() -> None:
    """Its error would carry the key."""
    key = "AIzaSy-“-five"
    with pytest.raises(UsageError, match="API key holds a character") as raised:
        access_by_key(key)
    assert key not in "".join(traceback.format_exception(raised.value))


def test_access_is_not_pickled(server: GeminiServer, by_key: Access) -> None:
    """A key can't get into an XCom or a cache by accident."""
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(by_key)


def test_an_answer_that_repeats_the_prompt_is_passed_on(server: GeminiServer) -> None:
    """What a model says is its checker's business; only keys and tokens would be ours, and it never sees them."""
    server.script(default={"text": PROMPT})
    reply = Gemini(access_by_key(), (FLASH,)).ask("You summarise.", PROMPT, Answer)
    assert isinstance(reply, Reply)
    assert PROMPT == reply.text


def test_credentials_are_not_shown_by_access(by_account: Access) -> None:
    """Access by account shows project, location and why."""
    assert "project='test-proj'" in repr(access_by_account())
    assert "credentials" not in repr(by_account).replace("and Google credentials", "")
