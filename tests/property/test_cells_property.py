"""The cell parser against Python's own repr and against arbitrary text."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from evalbench.canonical import canonical_json
from evalbench.readers.cells import parse_cell

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
NESTED = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


@given(NESTED.filter(lambda value: not isinstance(value, str | int | float)))
def test_reading_a_repr_gives_the_value_back(value: object) -> None:
    """Writing with repr and reading the cell is identity, for everything that JSON can hold."""
    assert value == parse_cell(repr(value)).value


@given(st.text(alphabet=list("[]{}()'\"\\,: \n0123456789.eE+-_abfnrtuxNTU"), max_size=60) | st.text(max_size=60))
def test_any_text_is_a_value_or_a_reason(text: str) -> None:
    """Nothing raises; a value that was read can always be written as canonical JSON."""
    cell = parse_cell(text)
    assert (cell.reason is None) or cell.value is None
    assert canonical_json(cell.value)


@given(st.text(alphabet=list("[](){}'\"\\,: 01aNoe"), max_size=30))
def test_python_never_reads_another_value(text: str) -> None:
    """Where Python itself sees a literal of JSON types in the same text, the value is the same."""
    cell = parse_cell(text)
    try:
        theirs = ast.literal_eval(text.strip())
        written = canonical_json(theirs)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return
    if cell.reason is None and isinstance(theirs, list | str | int) and "{" not in text and '"' not in text:
        assert written == canonical_json(cell.value)
