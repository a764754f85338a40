"""What Google's `generateContent` takes and gives, as JSON: requests checked as strictly, answers in the same fields.

Written from the published API, not from the SDK; `test_server.py` holds the answers against the SDK's types.
"""

import json
import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

Json = dict[str, Any]

STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 408: "CANCELLED",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
TYPES = "type.googleapis.com/google.rpc."
REQUEST = {
    "contents", "systemInstruction", "generationConfig", "safetySettings", "tools", "toolConfig", "cachedContent",
}  # fmt: skip
GENERATION_CONFIG = {
    "temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "presencePenalty",
    "frequencyPenalty", "seed", "responseMimeType", "responseSchema", "responseJsonSchema", "thinkingConfig",
}  # fmt: skip
SCHEMA = {
    "type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties",
    "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf",
    "propertyOrdering", "default", "minimum", "maximum",
}  # fmt: skip


def unknown_fields(request: Json) -> list[str]:
    """The fields of a request that Google has no name for: it refuses the whole request with 400."""
    config = request.get("generationConfig", {})
    return [
        *sorted(request.keys() - REQUEST),
        *(f"generation_config.{name}" for name in sorted(config.keys() - GENERATION_CONFIG)),
        *_unknown_in_schema(config.get("responseSchema", {}), "generation_config.response_schema"),
    ]


def _unknown_in_schema(schema: Json, path: str) -> Iterator[str]:
    # Google takes a field's name in camel case and in snake case.
    yield from (path for name in schema if _camel(name) not in SCHEMA)
    for number, inner in enumerate(schema.get("properties", {}).values()):
        yield from _unknown_in_schema(inner, f"{path}.properties[{number}].value")
    if "items" in schema:
        yield from _unknown_in_schema(schema["items"], f"{path}.items")
    for number, inner in enumerate(schema.get("anyOf", schema.get("any_of", []))):
        yield from _unknown_in_schema(inner, f"{path}.any_of[{number}]")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def bad_fields(fields: list[str]) -> Json:
    """The step that refuses a request with fields that have no name."""
    violations = [{"field": field, "description": "Cannot find field."} for field in fields]
    return {"status": 400, "details": [{"@type": f"{TYPES}BadRequest", "fieldViolations": violations}]}


def bad_key() -> Json:
    """The step that refuses an API key: AI Studio says 400, not 401."""
    info = {"@type": f"{TYPES}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
    return {"status": 400, "details": [info]}


def error(step: Json, said: str) -> Json:
    """An error body: `said` is its free text."""
    details = list(step.get("details", []))
    if "retry_delay" in step:
        details.append({"@type": f"{TYPES}RetryInfo", "retryDelay": f"{step['retry_delay']}s"})
    body = {"code": step["status"], "message": said, "status": STATUS[step["status"]]}
    return {"error": body | ({"details": details} if details else {})}


def waits(step: Json) -> dict[str, str]:
    """The Retry-After header a step asks for, as seconds or as a date."""
    if "retry_after_date" in step:
        return {"Retry-After": formatdate(time.time() + step["retry_after_date"], usegmt=True)}
    return {"Retry-After": str(step["retry_after"])} if "retry_after" in step else {}


def answer(step: Json, mode: str, model: str, request: Json) -> Json:
    """An answer, in the shape of the API that was asked."""
    text = step.get("text", "")
    counts = {"promptTokenCount": len(json.dumps(request)) // 4, "candidatesTokenCount": len(text) // 4}
    if "thoughts" in step:
        counts["thoughtsTokenCount"] = step["thoughts"]
    usage: Json = counts | {"totalTokenCount": sum(counts.values())}
    whole: Json = {"modelVersion": step.get("model_version", model), "responseId": "b3Rmb3J0ZXN0cw"}
    if mode == "vertex":
        usage |= {"trafficType": "ON_DEMAND"}
        whole |= {"createTime": "2026-11-30T06:00:00.123456Z"}
    if "block" in step:
        return {"promptFeedback": {"blockReason": step["block"]}, "usageMetadata": usage} | whole
    candidate: Json = {"finishReason": step.get("finish", "STOP"), "index": 0}
    if step.get("empty"):
        candidate["content"] = {"role": "model"}
    elif text:
        candidate["content"] = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [candidate], "usageMetadata": usage} | whole
