"""The adapter with Google's real SDK against a server that speaks Gemini, as another process."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import BaseModel
from tests.gemini.asking import FLASH, PRO, SYSTEM, USER, Answer, Pauses, access_by_account, access_by_key, ask
from tests.gemini.serving import API_KEY, PROJECT, GeminiServer

from evalbench.errors import UsageError
from evalbench.summaries.access import DEFAULT_MODELS, Access, Provider
from evalbench.summaries.gemini import Gemini
from evalbench.summaries.replies import NoReply, NoReplyReason, Reply

TEXT = '{"headline": "Seven of nine trials verified."}'


def gaps(server: GeminiServer) -> list[float]:
    """Seconds between the calls, as they arrived at the server."""
    return [after["at"] - before["at"] for before, after in pairwise(server.calls())]


def test_an_api_key_reaches_google_ai_studio(server: GeminiServer, by_key: Access) -> None:
    """The default model of the way answers, with the tokens the provider counted and no thought of its own."""
    server.script(steps=[{"text": TEXT}])
    reply = ask(by_key, DEFAULT_MODELS[Provider.GEMINI])
    assert isinstance(reply, Reply)
    assert (TEXT, "STOP", FLASH, 1) == (reply.text, reply.finish_reason, reply.model, reply.attempts)
    assert (len(TEXT) // 4, None) == (reply.tokens_out, reply.tokens_thinking)
    (call,) = server.journal()
    assert ("gemini", f"/v1beta/models/{FLASH}:generateContent") == (call["mode"], call["path"])
    assert API_KEY == call["headers"]["x-goog-api-key"]


def test_a_question_is_asked_for_json_of_the_schema_as_repeatably_as_can_be(
    server: GeminiServer, by_key: Access
) -> None:
    """Instructions apart from data; temperature 0, a fixed seed, the schema; nothing that only some models take."""
    ask(by_key, max_output_tokens=2048)
    (call,) = server.calls()
    assert [{"role": "user", "parts": [{"text": USER}]}] == call["request"]["contents"]
    assert [{"text": SYSTEM}] == call["request"]["systemInstruction"]["parts"]
    config = call["request"]["generationConfig"]
    schema = config.pop("responseSchema")
    assert {"temperature": 0.0, "seed": 7, "maxOutputTokens": 2048, "responseMimeType": "application/json"} == config
    assert ("OBJECT", ["headline"]) == (schema["type"], schema["required"])


def test_a_thinking_budget_is_passed_on_when_set(server: GeminiServer, by_key: Access) -> None:
    """The tokens a model thought come back apart from those of its answer."""
    server.script(steps=[{"text": TEXT, "thoughts": 310}])
    reply = ask(by_key, thinking_budget=512)
    assert isinstance(reply, Reply)
    assert 310 == reply.tokens_thinking
    assert {"thinking_budget": 512} == server.calls()[0]["request"]["generationConfig"]["thinkingConfig"]


def test_a_service_account_reaches_vertex_ai(server: GeminiServer, by_account: Access) -> None:
    """A signed assertion buys a token, once for all questions; the project and the location are in the path."""
    gemini = Gemini(by_account, DEFAULT_MODELS[Provider.VERTEX])
    server.script(default={"text": TEXT})
    replies = [gemini.ask(SYSTEM, USER, Answer) for _ in range(3)]
    assert [(TEXT, PRO)] * 3 == [(reply.text, reply.model) for reply in replies if isinstance(reply, Reply)]
    token, *calls = server.journal()
    assert "https://www.googleapis.com/auth/cloud-platform" == token["claims"]["scope"]
    assert f"evalbench@{PROJECT}.iam.gserviceaccount.com" == token["claims"]["iss"]
    path = f"/v1/projects/{PROJECT}/locations/global/publishers/google/models/{PRO}:generateContent"
    assert [path] * 3 == [call["path"] for call in calls]


def test_credentials_without_a_scope_get_the_one_that_is_needed(server: GeminiServer) -> None:
    """A connection may hand over credentials as they come out of the key file."""
    from google.oauth2.service_account import Credentials

    credentials = Credentials.from_service_account_file(str(server.service_account))  # type: ignore[no-untyped-call]
    assert isinstance(ask(access_by_account(lambda: credentials), (PRO,)), Reply)


def test_the_environment_does_not_change_the_way(
    server: GeminiServer, by_key: Access, by_account: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a key nor a mode that the SDK would take from the environment overrules what was chosen."""
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_API_KEY", "AIzaSomebodyElses")
    assert isinstance(ask(by_key), Reply)
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "false")
    assert isinstance(ask(by_account), Reply)
    first, second = server.calls()
    assert ("gemini", API_KEY) == (first["mode"], first["headers"]["x-goog-api-key"])
    assert ("vertex", False) == (second["mode"], "x-goog-api-key" in second["headers"])


def test_no_model_is_a_usage_error(by_key: Access) -> None:
    """Found before anything is asked."""
    with pytest.raises(UsageError, match="EVALBENCH_SUMMARY_MODELS"):
        Gemini(by_key, ())


def test_429_429_200_is_an_answer_after_two_growing_pauses(
    server: GeminiServer, by_key: Access, pauses: Pauses
) -> None:
    """One retry layer: three calls arrive, not one more."""
    server.script(steps=[{"status": 429}, {"status": 429}, {"text": TEXT}])
    reply = ask(by_key, **pauses.arguments)
    assert isinstance(reply, Reply)
    assert (TEXT, 3) == (reply.text, reply.attempts)
    assert [429, 429, 200] == [call["status"] for call in server.calls()]
    assert [0.75, 1.5] == pauses.taken


def test_six_429s_exhaust_the_quota(server: GeminiServer, by_key: Access, pauses: Pauses) -> None:
    """Five retries and no more; the message names the quota that Google named, and what to lower."""
    quota = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerMinute"}]}
    server.script(default={"status": 429, "details": [quota]})
    reply = ask(by_key, **pauses.arguments)
    assert isinstance(reply, NoReply)
    assert (NoReplyReason.QUOTA_EXHAUSTED, 6) == (reply.reason, reply.attempts)
    assert 6 == len(server.calls())
    assert "RequestsPerMinute" in reply.message
    assert "workers" in reply.message


@pytest.mark.parametrize("asking", [{"retry_after": 2}, {"retry_delay": 2}])
def test_a_pause_that_the_server_asks_for_is_kept(server: GeminiServer, by_key: Access, asking: dict[str, int]) -> None:
    """Measured where it matters: between the arrivals at the server, with the real clock."""
    server.script(steps=[{"status": 429} | asking, {"text": TEXT}])
    assert isinstance(ask(by_key), Reply)
    (gap,) = gaps(server)
    assert gap >= 2


@pytest.mark.parametrize(
    ("asking", "least", "most"),
    [
        ({"retry_after": 3, "retry_delay": 7}, 7, 8),
        ({"retry_after": 9, "retry_delay": 7}, 9, 10),
        ({"retry_after_date": 30}, 29, 32),  # dates have whole seconds
        ({"retry_after": "soon", "retry_delay": "a while"}, 0.5, 1),  # unreadable: the pause of its own
        ({"retry_after": 0}, 0.5, 1),
    ],
)
def test_the_longer_of_all_pauses_is_taken(
    server: GeminiServer, by_key: Access, pauses: Pauses, asking: dict[str, object], least: float, most: float
) -> None:
    """Of what header and body ask for and the backoff of its own."""
    server.script(steps=[{"status": 503} | asking, {"text": TEXT}])
    assert isinstance(ask(by_key, **pauses.arguments), Reply)
    (pause,) = pauses.taken
    assert least <= pause <= most


@pytest.mark.parametrize("step", [*({"status": status} for status in (408, 500, 502, 503, 504)), {"drop": True}])
def test_a_passing_fault_is_tried_again(
    server: GeminiServer, by_key: Access, pauses: Pauses, step: dict[str, object]
) -> None:
    """Transient answers, and a connection that was closed without one."""
    server.script(steps=[step, {"text": TEXT}])
    reply = ask(by_key, **pauses.arguments)
    assert isinstance(reply, Reply)
    assert 2 == reply.attempts


def test_a_server_that_stays_broken_is_a_server_error(server: GeminiServer, by_key: Access, pauses: Pauses) -> None:
    """After five retries, in Google's own words."""
    server.script(default={"status": 503})
    reply = ask(by_key, **pauses.arguments)
    assert isinstance(reply, NoReply)
    assert (NoReplyReason.SERVER_ERROR, 6) == (reply.reason, reply.attempts)
    assert "HTTP 503 UNAVAILABLE" in reply.message


BY_KEY = [
    (401, NoReplyReason.AUTHENTICATION, "GOOGLE_API_KEY"),
    (403, NoReplyReason.PERMISSION, "GOOGLE_API_KEY"),
    (400, NoReplyReason.BAD_REQUEST, "EVALBENCH_SUMMARY_MODELS"),
    (404, NoReplyReason.MODEL_NOT_FOUND, "EVALBENCH_SUMMARY_MODELS"),
]
BY_ACCOUNT = [
    (401, NoReplyReason.AUTHENTICATION, "GOOGLE_APPLICATION_CREDENTIALS"),
    (403, NoReplyReason.PERMISSION, f"roles/aiplatform.user in the project {PROJECT}"),
    (400, NoReplyReason.BAD_REQUEST, "EVALBENCH_SUMMARY_MODELS"),
    (404, NoReplyReason.MODEL_NOT_FOUND, "EVALBENCH_VERTEX_LOCATION"),
]


@pytest.mark.parametrize(("status", "reason", "fix"), BY_KEY)
def test_what_an_operator_must_mend_is_not_tried_again_by_key(
    server: GeminiServer, by_key: Access, status: int, reason: NoReplyReason, fix: str
) -> None:
    """One call, and a message that names the fix."""
    assert_final(server, ask_once(server, by_key, status), reason, fix)


@pytest.mark.parametrize(("status", "reason", "fix"), BY_ACCOUNT)
def test_what_an_operator_must_mend_is_not_tried_again_by_account(
    server: GeminiServer, by_account: Access, status: int, reason: NoReplyReason, fix: str
) -> None:
    """Likewise on Vertex AI, where the fix is another one."""
    assert_final(server, ask_once(server, by_account, status), reason, fix)


def ask_once(server: GeminiServer, access: Access, status: int) -> Reply | NoReply:
    """A question that is answered with an error, and would be answered well the second time."""
    server.script(steps=[{"status": status}], default={"text": TEXT})
    return ask(access)


def assert_final(server: GeminiServer, reply: Reply | NoReply, reason: NoReplyReason, fix: str) -> None:
    """No answer, no second call, and the fix by its name."""
    assert isinstance(reply, NoReply)
    assert (reason, 1) == (reply.reason, reply.attempts)
    assert 1 == len(server.calls())
    assert fix in reply.message


def test_a_wrong_key_is_an_authentication_error_though_google_answers_400(server: GeminiServer) -> None:
    """AI Studio's answer to an unknown key, recognised by its reason."""
    assert_final(server, ask(access_by_key("AIzaUnknown")), NoReplyReason.AUTHENTICATION, "API_KEY_INVALID")


def test_a_refused_field_is_named(server: GeminiServer, by_key: Access) -> None:
    """What can be told of a bad request without repeating it."""
    field = "generation_config.response_schema.properties[6].value"
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": field}]}
    server.script(steps=[{"status": 400, "details": [detail]}])
    assert_final(server, ask(by_key), NoReplyReason.BAD_REQUEST, field)


def test_a_service_account_that_google_does_not_know_is_an_authentication_error(
    server: GeminiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token endpoint refuses its signature; no call to the model is made."""
    file = json.loads(server.service_account.read_text("utf-8"))
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    file["private_key"] = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    (tmp_path / "other.json").write_text(json.dumps(file), "utf-8")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "other.json"))
    reply = ask(access_by_account(), (PRO,))
    assert isinstance(reply, NoReply)
    assert NoReplyReason.AUTHENTICATION is reply.reason
    assert "GOOGLE_APPLICATION_CREDENTIALS" in reply.message
    assert [] == server.calls()


def test_the_next_model_answers_when_one_is_gone_and_the_gone_one_is_not_asked_again(
    server: GeminiServer, by_account: Access
) -> None:
    """The model that answered is recorded, and a night of many runs pays for the gone one once."""
    server.script(models=["gemini-3.5-flash"], default={"text": TEXT})
    gemini = Gemini(by_account, DEFAULT_MODELS[Provider.VERTEX])
    first, second = (gemini.ask(SYSTEM, USER, Answer) for _ in range(2))
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert ("gemini-3.5-flash", 2) == (first.model, first.attempts)
    assert ("gemini-3.5-flash", 1) == (second.model, second.attempts)
    assert [PRO, "gemini-3.5-flash", "gemini-3.5-flash"] == [call["model"] for call in server.calls()]


def test_no_model_left_is_said_with_the_names_that_were_tried(server: GeminiServer, by_key: Access) -> None:
    """Later questions don't call at all."""
    server.script(models=[])
    gemini = Gemini(by_key, (FLASH, "gemini-other"))
    first, second = (gemini.ask(SYSTEM, USER, Answer) for _ in range(2))
    assert isinstance(first, NoReply)
    assert isinstance(second, NoReply)
    assert (NoReplyReason.MODEL_NOT_FOUND, 2) == (first.reason, first.attempts)
    assert (NoReplyReason.MODEL_NOT_FOUND, 0) == (second.reason, second.attempts)
    assert f"{FLASH}, gemini-other" in first.message


@pytest.mark.parametrize("status", [400, 401, 403])
def test_only_a_missing_model_brings_in_the_next_one(server: GeminiServer, by_key: Access, status: int) -> None:
    """Any other error would be the same with it, or spend a quota that is not meant for this."""
    server.script(default={"status": status})
    assert isinstance(ask(by_key, (FLASH, PRO)), NoReply)
    assert [FLASH] == [call["model"] for call in server.calls()]


def test_the_model_that_really_answered_is_recorded(server: GeminiServer, by_key: Access) -> None:
    """A provider may route a retired name to a successor."""
    server.script(steps=[{"text": TEXT, "model_version": "gemini-3.5-flash-lite"}])
    reply = ask(by_key)
    assert isinstance(reply, Reply)
    assert "gemini-3.5-flash-lite" == reply.model


@pytest.mark.parametrize(
    ("step", "text", "finish_reason"),
    [
        ({"text": '{"headline": "Sev', "finish": "MAX_TOKENS"}, '{"headline": "Sev', "MAX_TOKENS"),
        ({"finish": "MAX_TOKENS"}, None, "MAX_TOKENS"),  # all of it thought
        ({"finish": "SAFETY"}, None, "SAFETY"),
        ({"finish": "RECITATION"}, None, "RECITATION"),
        ({"block": "PROHIBITED_CONTENT"}, None, "BLOCKED"),
        ({"empty": True}, None, "STOP"),
        ({"text": "Sure! Here is your summary: {"}, "Sure! Here is your summary: {", "STOP"),
    ],
)
def test_an_answer_comes_through_as_it_is(
    server: GeminiServer,
    by_key: Access,
    by_account: Access,
    step: dict[str, object],
    text: str | None,
    finish_reason: str,
) -> None:
    """Judging it is the checker's business: nothing is repaired, retried or hidden, in either way."""
    for access in (by_key, by_account):
        server.script(steps=[step])
        reply = ask(access)
        assert isinstance(reply, Reply)
        assert (text, finish_reason, 1) == (reply.text, reply.finish_reason, reply.attempts)


def test_the_deadline_holds_over_all_calls_and_pauses(server: GeminiServer, by_key: Access, pauses: Pauses) -> None:
    """A pause that would end after it is not begun; the message tells what was met last."""
    server.script(default={"status": 503})
    reply = ask(by_key, deadline_s=5.0, **pauses.arguments)
    assert isinstance(reply, NoReply)
    assert (NoReplyReason.DEADLINE, 3) == (reply.reason, reply.attempts)
    assert [0.75, 1.5] == pauses.taken  # the third, of 3 s, doesn't fit
    assert "within 5 s" in reply.message
    assert "HTTP 503 UNAVAILABLE" in reply.message


def test_a_server_that_says_nothing_ends_at_the_deadline(server: GeminiServer, by_key: Access) -> None:
    """Silence is cut by the time-out of a call, and tried again while there is time."""
    server.script(default={"hang_s": 30})
    reply = ask(by_key, timeout_s=0.5, deadline_s=2.0)
    assert isinstance(reply, NoReply)
    assert NoReplyReason.DEADLINE is reply.reason
    assert "ReadTimeout" in reply.message


@pytest.mark.parametrize(("status", "reason"), [(429, NoReplyReason.QUOTA_EXHAUSTED), (503, NoReplyReason.DEADLINE)])
def test_a_pause_longer_than_the_deadline_is_not_begun(
    server: GeminiServer, by_key: Access, pauses: Pauses, status: int, reason: NoReplyReason
) -> None:
    """A quota that returns tomorrow is exhausted today."""
    server.script(default={"status": status, "retry_delay": 40000})
    reply = ask(by_key, **pauses.arguments)
    assert isinstance(reply, NoReply)
    assert (reason, 1) == (reply.reason, reply.attempts)
    assert [] == pauses.taken


def test_a_refused_connection_is_a_network_fault(
    by_key: Access, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tried again five times; the message names where the address may come from."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        reply = ask(by_key, **pauses.arguments)
    assert isinstance(reply, NoReply)
    assert (NoReplyReason.NETWORK, 6) == (reply.reason, reply.attempts)
    assert "ConnectError" in reply.message
    assert "GOOGLE_GEMINI_BASE_URL" in reply.message


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_of_something_else_is_a_network_fault(server: GeminiServer, by_key: Access, status: int) -> None:
    """A captive portal or a wrong address: not tried again, and no reason to try another model."""
    server.script(steps=[{"status": status, "raw": "<html>Sign in</html>"}], default={"text": TEXT})
    assert_final(server, ask(by_key, (FLASH, PRO)), NoReplyReason.NETWORK, "GOOGLE_GEMINI_BASE_URL")


def test_a_redirect_is_not_followed(server: GeminiServer, by_key: Access) -> None:
    """It would take the key to wherever it points."""
    elsewhere = f"{server.url}/v1beta/models/gemini-elsewhere:generateContent"
    server.script(steps=[{"status": 307, "raw": "", "headers": {"Location": elsewhere}}], default={"text": TEXT})
    assert_final(server, ask(by_key), NoReplyReason.NETWORK, "GOOGLE_GEMINI_BASE_URL")


def test_a_request_that_the_sdk_refuses_is_a_bad_request(server: GeminiServer, by_key: Access) -> None:
    """Whatever goes wrong on the way out is a value, with its place for whoever mends it."""

    class Unsupported(BaseModel):
        scores: dict[str, int]

    reply = Gemini(by_key, (FLASH,)).ask(SYSTEM, USER, Unsupported)
    assert isinstance(reply, NoReply)
    assert NoReplyReason.BAD_REQUEST is reply.reason
    assert "ValueError in _transformers.py" in reply.message
    assert [] == server.calls()


def test_ten_workers_share_one_adapter(server: GeminiServer, by_account: Access) -> None:
    """Every question gets its own answer, over one client and one token, and the workers do work at once."""
    numbers = range(40)
    rules = [{"contains": f"run {number:02}", "steps": [{"text": f'{{"headline": "{number}"}}'}]} for number in numbers]
    server.script(rules=rules, latency_s=0.2)
    gemini = Gemini(by_account, (PRO,))
    with ThreadPoolExecutor(10) as pool:
        replies = list(pool.map(lambda number: gemini.ask(SYSTEM, f"run {number:02}", Answer), numbers))
    assert [f'{{"headline": "{number}"}}' for number in numbers] == [
        reply.text for reply in replies if isinstance(reply, Reply)
    ]
    assert 1 == sum(1 for entry in server.journal() if entry["path"] == "/token")
    assert 2 <= max(call["in_flight"] for call in server.calls()) <= 10
