"""The server's shapes, held field by field against the types of Google's SDK, which refuse a field they don't know."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from google.genai import errors, types
from tests.gemini.serving import API_KEY, GeminiServer
from tests.gemini.shapes import answer

STEPS: list[dict[str, Any]] = [
    {"text": "{}"},
    {"text": "{}", "thoughts": 5},
    {"text": "{", "finish": "MAX_TOKENS"},
    {"finish": "SAFETY"},
    {"empty": True},
    {"block": "PROHIBITED_CONTENT"},
]
REQUEST = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
PATH = "/v1beta/models/gemini-2.5-flash:generateContent"


def post(server: GeminiServer, body: dict[str, Any], path: str = PATH, **headers: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a call without the SDK."""
    request = Request(server.url + path, data=json.dumps(body).encode(), headers=headers)  # noqa: S310 - our own address
    try:
        with urlopen(request, timeout=30) as response:  # noqa: S310 - likewise
            return response.status, json.load(response)
    except HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize("mode", ["gemini", "vertex"])
@pytest.mark.parametrize("step", STEPS)
def test_an_answer_has_fields_of_the_sdk_only(mode: str, step: dict[str, Any]) -> None:
    """Read strictly and written again, nothing is lost and nothing is new."""
    given = answer(step, mode, "gemini-2.5-flash", REQUEST)
    read = types.GenerateContentResponse.model_validate(given)
    again = read.model_dump(mode="json", by_alias=True, exclude_none=True)
    again.pop("createTime", None)  # the SDK writes a moment in another form
    assert {name: value for name, value in given.items() if name != "createTime"} == again


def test_an_error_is_one_that_the_sdk_reads(server: GeminiServer) -> None:
    """Code, status and message where the SDK looks for them."""
    server.script(default={"status": 429, "retry_delay": 3})
    status, body = post(server, REQUEST, **{"x-goog-api-key": API_KEY})
    error = errors.APIError(status, body)
    assert (429, "RESOURCE_EXHAUSTED") == (error.code, error.status)
    assert "3s" == error.details["error"]["details"][0]["retryDelay"]


def test_the_server_is_as_strict_as_google(server: GeminiServer) -> None:
    """A field without a name is refused with its path, in whatever depth of a schema."""
    schema = {"type": "OBJECT", "properties": {"a": {"type": "OBJECT", "additional_properties": False}}}
    body = REQUEST | {"generationConfig": {"responseSchema": schema}}
    status, refused = post(server, body, **{"x-goog-api-key": API_KEY})
    assert 400 == status
    (violation,) = refused["error"]["details"][0]["fieldViolations"]
    assert "generation_config.response_schema.properties[0].value" == violation["field"]


@pytest.mark.parametrize(
    ("status", "path", "headers"),
    [
        (400, PATH, {"x-goog-api-key": "AIzaOther"}),
        (400, PATH, {}),
        (401, "/v1/projects/p/locations/l/publishers/google/models/m:generateContent", {"Authorization": "Bearer no"}),
    ],
)
def test_no_credential_no_answer(server: GeminiServer, status: int, path: str, headers: dict[str, str]) -> None:
    """The one key that is valid, and tokens that were sold here."""
    assert status == post(server, REQUEST, path, **headers)[0]


def test_an_unsigned_assertion_buys_no_token(server: GeminiServer) -> None:
    """The signature is verified."""
    form = b"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=e30.e30.c2ln"
    with pytest.raises(HTTPError, match="400"):
        urlopen(Request(f"{server.url}/token", data=form), timeout=30)  # noqa: S310 - our own address


def test_faults_come_at_their_rate_and_the_same_each_time(server: GeminiServer) -> None:
    """A seed names the calls that fail."""
    faults = {"rate": 0.1, "statuses": [429, 503], "seed": 7}
    runs = []
    for _ in range(2):
        server.script(faults=faults)
        runs.append([post(server, REQUEST, **{"x-goog-api-key": API_KEY})[0] for _ in range(200)])
    assert runs[0] == runs[1]
    assert {200, 429, 503} == set(runs[0])
    assert 10 <= sum(1 for status in runs[0] if status != 200) <= 30
