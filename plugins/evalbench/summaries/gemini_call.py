"""One call to a model through Google's SDK: the only module that imports it, itself imported when first needed.

The SDK retries nothing here, and does nothing on its own account: no tools, no continuation, no redirect. No exception
leaves: its text, arguments and frames hold the key and the prompt.
"""

import json
import threading
from functools import partial
from pathlib import PurePath
from typing import Any, cast

import google.auth.credentials
import google.auth.exceptions
import google.auth.transport.requests
import httpx
import pydantic
from google import genai
from google.genai import errors, types

from evalbench.summaries.access import Access, Provider
from evalbench.summaries.refusals import refusal
from evalbench.summaries.replies import BLOCKED, NO_CANDIDATE, NoReplyReason, Refusal, Reply

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
# Said openly, since an SDK's default may move: structured answers are beta in one, stable in the other.
API_VERSIONS = {Provider.GEMINI: "v1beta", Provider.VERTEX: "v1"}
SEED = 7
"""Any fixed number: the same question is answered as alike as the provider can."""


class GeminiCall:
    """A client of the SDK, kept for the life of the process. Safe to share between threads."""

    def __init__(self, access: Access, *, max_output_tokens: int, thinking_budget: int | None) -> None:
        self._access = access
        self._max_output_tokens = max_output_tokens
        self._thinking = None if thinking_budget is None else types.ThinkingConfig(thinking_budget=thinking_budget)
        self._credentials = _scoped(access.credentials)
        self._client: genai.Client | None = None
        self._lock = threading.Lock()

    def send(
        self, model: str, *, system: str, user: str, schema: type[pydantic.BaseModel], timeout_s: float
    ) -> Reply | Refusal:
        """Ask `model` once. timeout_s holds for connecting and for each wait for bytes."""
        config = self._config(system, schema, timeout_s)
        try:
            client = self._ready(timeout_s)
            return _reply(client.models.generate_content(model=model, contents=user, config=config), model)
        except errors.APIError as error:
            headers = getattr(error.response, "headers", None) or {}
            return refusal(error.code, dict(headers), error.details)
        except (httpx.TransportError, google.auth.exceptions.TransportError) as error:
            return Refusal(reason=NoReplyReason.NETWORK, what=type(error).__name__, transient=True)
        except google.auth.exceptions.GoogleAuthError as error:
            return _unauthorised(error)
        except (json.JSONDecodeError, pydantic.ValidationError) as error:
            return Refusal(reason=NoReplyReason.NETWORK, what=f"an answer that is not Gemini's: {type(error).__name__}")
        except Exception as error:  # noqa: BLE001 - a summary is advisory, and the SDK's errors hold the key
            return Refusal(reason=NoReplyReason.BAD_REQUEST, what=f"{type(error).__name__} in {_place(error)}")

    def shown(self, text: str) -> str:
        """`text` without the key and the token that this client holds."""
        key = self._access.api_key.reveal() if self._access.api_key else None
        for secret in (key, getattr(self._credentials, "token", None)):
            text = text.replace(secret, "…") if secret else text
        return text

    def _config(self, system: str, schema: type[pydantic.BaseModel], timeout_s: float) -> types.GenerateContentConfig:
        return types.GenerateContentConfig(
            system_instruction=system,
            temperature=0.0,
            seed=SEED,
            max_output_tokens=self._max_output_tokens,
            thinking_config=self._thinking,
            response_mime_type="application/json",
            response_schema=_schema(schema),
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            automatic_continuation=False,
            http_options=types.HttpOptions(timeout=max(1, int(timeout_s * 1000))),
        )

    def _ready(self, timeout_s: float) -> genai.Client:
        """The client, made once, with credentials that hold.

        The SDK would refresh them itself, but waits two minutes for a token endpoint that is silent.
        """
        with self._lock:
            if self._credentials is not None and not self._credentials.valid:
                request = google.auth.transport.requests.Request()
                self._credentials.refresh(partial(request, timeout=timeout_s))  # type: ignore[no-untyped-call]
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> genai.Client:
        """A client whose way is said in full: unsaid, the SDK looks into the environment and may take the other one."""
        options = types.HttpOptions(
            api_version=API_VERSIONS[self._access.mode],
            client_args={"follow_redirects": False},  # a redirect would carry the key to wherever it points
        )
        if self._access.mode is Provider.GEMINI:
            key = self._access.api_key.reveal() if self._access.api_key else None
            return genai.Client(vertexai=False, api_key=key, http_options=options)
        return genai.Client(
            vertexai=True,
            project=self._access.project,
            location=self._access.location,
            credentials=self._credentials,
            http_options=options,
        )


def application_default() -> object | None:
    """Google's Application Default Credentials, None where there are none. Looks for a metadata server, too."""
    try:
        credentials, _ = google.auth.default(scopes=[SCOPE])
    except google.auth.exceptions.DefaultCredentialsError:
        return None
    return credentials


def _scoped(credentials: object | None) -> google.auth.credentials.Credentials | None:
    """The credentials, with the scope that the model needs where they don't have one yet."""
    if credentials is None:
        return None
    scoped = google.auth.credentials.with_scopes_if_required(credentials, [SCOPE])  # type: ignore[no-untyped-call]
    return cast("google.auth.credentials.Credentials", scoped)


def _schema(schema: type[pydantic.BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model, without the `additionalProperties: false` that `extra="forbid"` writes.

    AI Studio refuses a request with it, and the SDK passes it on: github.com/googleapis/python-genai/issues/1815.
    """
    return cast("dict[str, Any]", _open_objects(schema.model_json_schema()))


def _open_objects(node: object) -> object:
    if isinstance(node, dict):
        return {
            key: _open_objects(inner) for key, inner in node.items() if (key, inner) != ("additionalProperties", False)
        }
    return [_open_objects(inner) for inner in node] if isinstance(node, list) else node


def _reply(response: types.GenerateContentResponse, model: str) -> Reply:
    usage = response.usage_metadata or types.GenerateContentResponseUsageMetadata()
    return Reply(
        text=response.text,
        finish_reason=_finish_reason(response),
        model=response.model_version or model,
        tokens_in=usage.prompt_token_count,
        tokens_out=usage.candidates_token_count,
        tokens_thinking=usage.thoughts_token_count,
        attempts=1,
    )


def _finish_reason(response: types.GenerateContentResponse) -> str:
    if response.prompt_feedback and response.prompt_feedback.block_reason:
        return BLOCKED
    if not response.candidates:
        return NO_CANDIDATE
    reason = response.candidates[0].finish_reason or types.FinishReason.FINISH_REASON_UNSPECIFIED
    return str(reason.value)


def _unauthorised(error: google.auth.exceptions.GoogleAuthError) -> Refusal:
    """Credentials that could not be made into a token; the token endpoint may only be unwell."""
    what = f"no access token ({type(error).__name__})"
    if error.retryable:
        return Refusal(reason=NoReplyReason.SERVER_ERROR, what=what, transient=True)
    return Refusal(reason=NoReplyReason.AUTHENTICATION, what=what)


def _place(error: BaseException) -> str:
    """File and line that raised, without a value of theirs."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
