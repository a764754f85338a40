"""What a call cost by the operator's price table. A model without a price has no cost: null, never 0."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from evalbench.decimals import nine_places
from evalbench.operator_file import Day, Strict, parse_operator_file

_PER_TOKENS = 1_000_000


def _a_number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise PydanticCustomError("not_a_number", "expected dollars per million tokens such as 2.50")
    return str(value)


Dollars = Annotated[Decimal, BeforeValidator(_a_number), Field(ge=0, lt=100_000, allow_inf_nan=False)]


class Price(Strict):
    """US dollars per million tokens. output covers thinking tokens."""

    input: Dollars
    output: Dollars


class Prices(Strict):
    """The price table. as_of: the day the prices were last compared with their source, which is in words."""

    schema_version: Literal[1] = Field(alias="schema")
    as_of: Day
    source: str
    models: dict[str, Price]

    def cost(
        self, model: str, tokens_in: int | None, tokens_out: int | None, tokens_thinking: int | None
    ) -> Decimal | None:
        """Dollars of one call, to nine places; None when the model has no price or a count is unknown.

        model: as the service named it, with or without the collection it stands in. tokens_thinking None: the model
        reported none, which a model that doesn't think never does.
        """
        price = self.models.get(model.rpartition("/")[2])
        if price is None or tokens_in is None or tokens_out is None:
            return None
        total = price.input * tokens_in + price.output * (tokens_out + (tokens_thinking or 0))
        return nine_places(total / _PER_TOKENS)


def parse_prices(text: str, source: str) -> Prices:
    """A price table from YAML. Raises PolicyError naming `source` and the YAML path of each problem."""
    return parse_operator_file(Prices, text, source)
