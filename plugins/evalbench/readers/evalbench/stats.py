"""Tokens, cost and time out of each turn's `stats`. The harness counts per turn, so turns are added up.

A figure exists only where every turn reports it. Writers fill missing values with 0, so a turn with no tokens at all
reports nothing, and a duration or a cost of 0 beside tokens is nobody's measurement.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from evalbench.decimals import nine_places
from evalbench.ledger import Cost, CostState, EvidenceRef, Timing, Usage

_CACHED_IN_INPUT = (("gemini", True), ("claude", False), ("codex", True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Fields of a Trial, and the models the statistics name."""

    usage: Usage | None = None
    cost: Cost | None = None
    timing: Timing | None = None
    models: frozenset[str] = frozenset()


def read_figures(
    turns: tuple[Mapping[str, object] | None, ...], generator: str | None, calls: int | None, ref: EvidenceRef
) -> Figures:
    """What the turns' statistics add up to. calls: number of tool calls, None when unknown."""
    stats = [_mapping((turn or {}).get("stats")) for turn in turns]
    models = [_reporting_models(stat) for stat in stats]
    return Figures(
        usage=_usage(models, generator or "", calls, ref),
        cost=_cost(models, ref),
        timing=_timing(stats, models, calls, ref),
        models=frozenset(name for found in models for name in found),
    )


def _reporting_models(stats: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """The models of one turn that used any token."""
    models = {name: _mapping(model) for name, model in _mapping(stats.get("models")).items()}
    return {name: model for name, model in models.items() if _used(_mapping(model.get("tokens")))}


def _used(tokens: Mapping[str, object]) -> bool:
    return any(_number(tokens.get(key)) for key in ("input", "candidates", "total", "cached", "cache_creation"))


def _usage(
    turns: list[dict[str, Mapping[str, object]]], generator: str, calls: int | None, ref: EvidenceRef
) -> Usage | None:
    tokens = [[_mapping(model.get("tokens")) for model in models.values()] for models in turns]
    cached = _total(tokens, "cached")
    usage = Usage(
        input_tokens=_total(tokens, "input"),
        output_tokens=_total(tokens, "candidates"),
        # The agy CLI reports no cached tokens; its writer puts a constant 0.
        cached_tokens=None if "agy" in generator and not cached else cached,
        cache_creation_tokens=_total(tokens, "cache_creation"),
        reasoning_tokens=_reasoning(tokens, generator),
        tool_calls=calls,
        cached_in_input=next((known for word, known in _CACHED_IN_INPUT if word in generator), None),
        ref=ref,
    )
    nothing = usage.input_tokens is None and usage.output_tokens is None and calls is None
    return None if nothing else usage


def _total(turns: list[list[Mapping[str, object]]], key: str) -> int | None:
    return _sum_all([_count(tokens.get(key)) for tokens in models] for models in turns)


def _reasoning(turns: list[list[Mapping[str, object]]], generator: str) -> int | None:
    """Gemini's thinking often shows only in total - input - candidates; for others a 0 is the writer's constant."""
    if "gemini" in generator:
        return _sum_all([_thinking(tokens) for tokens in models] for models in turns)
    return _total(turns, "thoughts") or None


def _thinking(tokens: Mapping[str, object]) -> int | None:
    if stated := _count(tokens.get("thoughts")):
        return stated
    total, given, answered = (_count(tokens.get(key)) for key in ("total", "input", "candidates"))
    if total is None or given is None or answered is None or total < given + answered:
        return None
    return total - given - answered


def _cost(turns: list[dict[str, Mapping[str, object]]], ref: EvidenceRef) -> Cost | None:
    priced = [[_number(model.get("cost_usd")) or None for model in models.values()] for models in turns]
    if not any(amount for amounts in priced for amount in amounts):
        return None
    amounts = [amount for found in priced for amount in found]
    if any(amount is None for amount in amounts) or not all(priced):
        return Cost(state=CostState.UNAVAILABLE, ref=ref)
    usd = sum((Decimal(str(amount)) for amount in amounts), Decimal(0))
    return Cost(state=CostState.ESTIMATED, usd=nine_places(usd), ref=ref)


def _timing(
    stats: list[Mapping[str, object]],
    turns: list[dict[str, Mapping[str, object]]],
    calls: int | None,
    ref: EvidenceRef,
) -> Timing | None:
    # Each model of a turn repeats the turn's duration, so the longest is the turn's, never their sum.
    turn_ms = [max((_latency_ms(model) for model in models.values()), default=0.0) for models in turns]
    duration = sum(turn_ms) / 1000 if turn_ms and all(turn_ms) else None
    tools = [_number(_mapping(stat.get("tools")).get("totalDurationMs")) for stat in stats]
    tool_ms = [spent for spent in tools if spent is not None]
    tool_duration = sum(tool_ms) / 1000 if tools and len(tool_ms) == len(tools) else None
    if tool_duration == 0 and calls != 0:
        tool_duration = None
    if duration is None and tool_duration is None:
        return None
    return Timing(duration_s=duration, tool_duration_s=tool_duration, ref=ref)


def _latency_ms(model: Mapping[str, object]) -> float:
    return _number(_mapping(model.get("api")).get("totalLatencyMs")) or 0.0


def _sum_all(turns: Iterable[list[int | None]]) -> int | None:
    """The sum over turns and models; None when any of them is silent, or there are none."""
    total, any_turn = 0, False
    for counts in turns:
        if not counts:
            return None
        for count in counts:
            if count is None:
                return None
            total += count
        any_turn = True
    return total if any_turn else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    """A finite, non-negative number below what a table can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 else None


def _count(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None
