"""The price table: dollars of a call, null where there is no price."""

from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.errors import PolicyError
from evalbench.summaries.prices import Prices, parse_prices

TABLE = """
schema: 1
as_of: 2026-03-31
source: the price list
models:
  small: {input: 0.30, output: 2.50}
  free: {input: 0, output: 0}
"""


def prices() -> Prices:
    """A table of two models."""
    return parse_prices(TABLE, "prices.yaml")


@pytest.mark.parametrize(
    ("expected", "tokens"),
    [
        ("2.8", (1_000_000, 1_000_000, 0)),
        ("0.003425", (3_500, 750, 200)),
        ("0.002925", (3_500, 750, None)),
        ("0.0000003", (1, 0, 0)),
        ("0", (0, 0, 0)),
    ],
)
def test_the_cost_of_a_call(expected: str, tokens: tuple[int, int, int | None]) -> None:
    """Input and output per million tokens; thinking is output; exact decimals."""
    assert Decimal(expected) == prices().cost("small", *tokens)


@pytest.mark.parametrize("model", ["models/small", "publishers/google/models/small"])
def test_a_model_is_known_by_its_name(model: str) -> None:
    """The collection a service puts before it doesn't matter."""
    assert prices().cost("small", 10, 10, 0) == prices().cost(model, 10, 10, 0)


def test_an_unknown_price_is_null_and_a_free_model_costs_nothing() -> None:
    """No price is no cost; a price of zero is one."""
    assert prices().cost("unheard-of", 10, 10, 0) is None
    assert Decimal(0) == prices().cost("free", 10, 10, 0)


@pytest.mark.parametrize("tokens", [(None, 10, 0), (10, None, 0)])
def test_an_unknown_count_is_null(tokens: tuple[int | None, int | None, int]) -> None:
    """Half a bill is none."""
    assert prices().cost("small", *tokens) is None


@pytest.mark.parametrize(
    ("expected", "old", "new"),
    [
        ("models.small.input: expected dollars", "0.30", "yes"),
        ("models.small.input: Input should be greater than or equal to 0", "0.30", "-1"),
        ("models.small.input: Input should be", "0.30", ".nan"),
        ("models.small.inputs: unknown key; did you mean input?", "input: 0.30", "input: 1, inputs: 0.30"),
        ("models.small.output: Field required", ", output: 2.50", ""),
        ("as_of: expected a date such as", "2026-03-31", "20260331"),
        ("schema: Input should be 1", "schema: 1", "schema: 2"),
        ("prices.yaml", "models:", "models: [}"),
    ],
)
def test_a_wrong_table_names_the_place(expected: str, old: str, new: str) -> None:
    """File and YAML path, and what was expected there."""
    with pytest.raises(PolicyError) as caught:
        parse_prices(TABLE.replace(old, new, 1), "prices.yaml")
    assert expected in str(caught.value)
    assert "prices.yaml" in str(caught.value)


def test_the_shipped_table_prices_the_default_models(root: Path) -> None:
    """Dated, with its source in words; the documented defaults have a price."""
    shipped = parse_prices((root / "include" / "prices.yaml").read_text(encoding="utf-8"), "include/prices.yaml")
    assert shipped.source
    for model in ("gemini-2.5-flash", "gemini-2.5-pro"):
        cost = shipped.cost(model, 1_000, 1_000, 0)
        assert cost is not None
        assert cost > 0
