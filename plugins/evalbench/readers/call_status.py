"""What the words harnesses use for the end of a tool call mean."""

_WORDS = {
    "success": "success",
    "ok": "success",
    "error": "error",
    "failed": "error",
    "failure": "error",
    "rejected": "rejected",
    "denied": "rejected",
}


def call_status(word: str | None) -> str | None:
    """success, error or rejected, as `ToolCall.status` has it; None for no word and for an unknown one."""
    return _WORDS.get(word.strip().lower()) if word is not None else None
