"""The adapter against a Gemini server that somebody else wrote: npm's aimock, in the version of `package-lock.json`.

Our own server says what we think Gemini says; where both speak of the same thing, they must say the same.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.gemini.asking import FLASH, PRO, SYSTEM, Answer, Pauses, access_by_key
from tests.gemini.serving import API_KEY, PROJECT, GeminiServer
from tests.gemini.shapes import answer

from evalbench.summaries.access import Access
from evalbench.summaries.gemini import Gemini
from evalbench.summaries.replies import NoReply, NoReplyReason, Reply

PROGRAM = Path(".cache/node/node_modules/@copilotkit/aimock/dist/cli.js")
MISSING = (
    "aimock is not installed: have Node 20.15 or newer with npm on the PATH and run `make test`, or leave these tests"
    ' out with `make test PYTEST_ARGS="-n 2 --dist loadfile --ignore tests/gemini/test_second_opinion.py"`'
)
TEXT = '{"headline": "Seven of nine trials verified."}'
USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "plain"}, "response": {"content": TEXT, "finishReason": "stop", "usage": USAGE}},
    {"match": {"userMessage": "cut"}, "response": {"content": '{"head', "finishReason": "length"}},
    {"match": {"userMessage": "filter"}, "response": {"content": "", "finishReason": "content_filter"}},
    *(
        {
            "match": {"userMessage": "limited", "sequenceIndex": number},
            "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 2},
        }
        for number in range(2)
    ),
    {"match": {"userMessage": "limited"}, "response": {"content": TEXT}},
    {"match": {"userMessage": "down"}, "response": {"error": {"message": "down", "type": "server"}, "status": 503}},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimock:
    """A running aimock."""

    url: str

    def journal(self) -> list[dict[str, Any]]:
        """Every request so far."""
        request = Request(f"{self.url}/__aimock/journal", headers={"Authorization": f"Bearer {API_KEY}"})  # noqa: S310
        with urlopen(request, timeout=30) as response:  # noqa: S310 - our own address
            found: list[dict[str, Any]] = json.load(response)
        return found

    def post(self, text: str) -> dict[str, Any]:
        """The answer to a call without the SDK."""
        body = json.dumps({"contents": [{"role": "user", "parts": [{"text": text}]}]}).encode()
        url = f"{self.url}/v1beta/models/{FLASH}:generateContent"
        headers = {"x-goog-api-key": API_KEY, "Content-Type": "application/json"}
        with urlopen(Request(url, data=body, headers=headers), timeout=30) as response:  # noqa: S310 - likewise
            found: dict[str, Any] = json.load(response)
        return found


@pytest.fixture
def aimock(server: GeminiServer, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aimock]:
    """aimock in the place of Google; the tokens of Vertex AI still come from our own token endpoint."""
    node = shutil.which("node")
    if node is None or not (root / PROGRAM).is_file():
        pytest.fail(MISSING)
    (tmp_path / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}), "utf-8")
    tokens = [f"ya29.token-{number}-of-this-test" for number in range(20)]
    command = [node, str(root / PROGRAM), "-p", "0", "-f", str(tmp_path / "fixtures.json"), "--log-level", "info"]
    environment = os.environ | {"AIMOCK_API_KEYS": ",".join([API_KEY, *tokens])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout
            said = next((line for line in process.stdout if "listening on" in line), None)
            assert said, "aimock ended before it listened; Node 20.15 or newer is needed"
            url = said.split("listening on")[1].strip()
            monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
            monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", url)
            yield Aimock(url=url)
        finally:
            process.terminate()


def test_both_ways_reach_it(aimock: Aimock, by_key: Access, by_account: Access) -> None:
    """AI Studio by key, Vertex AI by a bought token; text and tokens come back, instructions and data arrived."""
    for access, model in ((by_key, FLASH), (by_account, PRO)):
        reply = Gemini(access, (model,)).ask(SYSTEM, "plain", Answer)
        assert isinstance(reply, Reply)
        assert (TEXT, "STOP", model, 11, 5) == (
            reply.text,
            reply.finish_reason,
            reply.model,
            reply.tokens_in,
            reply.tokens_out,
        )
    paths = [entry["path"] for entry in aimock.journal()]
    location = f"projects/{PROJECT}/locations/global/publishers/google"
    assert [f"/v1beta/models/{FLASH}:generateContent", f"/v1/{location}/models/{PRO}:generateContent"] == paths
    for entry in aimock.journal():
        assert [("system", SYSTEM), ("user", "plain")] == [(m["role"], m["content"]) for m in entry["body"]["messages"]]


def test_it_is_asked_again_after_the_pauses_it_asks_for(aimock: Aimock, by_key: Access) -> None:
    """429, 429, 200, each two seconds after the other by its own clock."""
    reply = Gemini(by_key, (FLASH,)).ask(SYSTEM, "limited", Answer)
    assert isinstance(reply, Reply)
    assert (TEXT, 3) == (reply.text, reply.attempts)
    first, second, third = aimock.journal()
    assert [429, 429, 200] == [entry["response"]["status"] for entry in (first, second, third)]
    assert second["timestamp"] - first["timestamp"] >= 2000
    assert third["timestamp"] - second["timestamp"] >= 2000


@pytest.mark.parametrize(("question", "finish_reason"), [("cut", "MAX_TOKENS"), ("filter", "SAFETY")])
def test_its_finish_reasons_are_understood(aimock: Aimock, by_key: Access, question: str, finish_reason: str) -> None:
    """Cut and filtered answers."""
    reply = Gemini(by_key, (FLASH,)).ask(SYSTEM, question, Answer)
    assert isinstance(reply, Reply)
    assert finish_reason == reply.finish_reason


def test_its_faults_are_understood(aimock: Aimock, by_key: Access, pauses: Pauses) -> None:
    """A server that stays down, a model it doesn't have, a key it doesn't know."""
    down = Gemini(by_key, (FLASH,), **pauses.arguments).ask(SYSTEM, "down", Answer)
    missing = Gemini(by_key, (FLASH,)).ask(SYSTEM, "nothing it knows", Answer)
    stranger = Gemini(access_by_key("AIzaStranger"), (FLASH,)).ask(SYSTEM, "plain", Answer)
    replies = (down, missing, stranger)
    assert [
        (NoReplyReason.SERVER_ERROR, 6),
        (NoReplyReason.MODEL_NOT_FOUND, 1),
        (NoReplyReason.AUTHENTICATION, 1),
    ] == [(reply.reason, reply.attempts) for reply in replies if isinstance(reply, NoReply)]


def test_our_server_answers_in_the_same_fields(aimock: Aimock) -> None:
    """Whatever field it uses, ours uses, with a value of the same kind."""
    theirs = aimock.post("plain")
    ours = answer({"text": TEXT}, "gemini", FLASH, {})
    assert theirs["candidates"] == ours["candidates"]
    assert theirs["usageMetadata"].keys() == ours["usageMetadata"].keys()
    assert theirs.keys() <= ours.keys()
