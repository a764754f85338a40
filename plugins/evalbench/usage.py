"""Token arithmetic. Telemetry explains load; it proves no outcome."""

from evalbench.ledger import Usage


def processed_tokens(usage: Usage | None) -> int | None:
    """Tokens a model processed: input + output + thinking + cache creation, cached ones added only where `input`
    doesn't hold them already. None when input or output is unknown, or when cached tokens exist and the generator's
    convention is unknown (adding or not adding them would be a guess).
    """
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = usage.cached_tokens or 0
    if cached and usage.cached_in_input is None:
        return None
    return (
        usage.input_tokens
        + usage.output_tokens
        + (usage.reasoning_tokens or 0)
        + (usage.cache_creation_tokens or 0)
        + (0 if usage.cached_in_input else cached)
    )
