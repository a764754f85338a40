"""YAML text → nested dicts, lists and texts. Every scalar stays as written: `007`, `1e3`, `no` and dates are texts."""

import yaml

from evalbench.readers.json_text import without_surrogates
from evalbench.yaml_keys import check_keys

MAX_BYTES = 1_000_000
MAX_DEPTH = 20


class YamlError(ValueError):
    """The text is not YAML, is too large or too deep, or uses anchors."""


class _TextLoader(yaml.BaseLoader):
    """BaseLoader constructs texts only. Anchors are refused (they can multiply without bound), so are repeated keys."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(None, None, "anchors and aliases are not accepted", event.start_mark)
        if self._depth > MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    # An escape can spell half a surrogate pair, which no UTF-8 file can hold.
    def compose_scalar_node(self, anchor: str | None) -> yaml.ScalarNode:  # type: ignore[override]
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)  # type: ignore[arg-type]
        node.value = without_surrogates(node.value)
        return node

    # The stubs give the argument and the result other types than PyYAML passes and returns.
    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:  # type: ignore[override]
        node: yaml.MappingNode = super().compose_mapping_node(anchor)  # type: ignore[arg-type]
        check_keys(node)
        return node


def parse_yaml(data: bytes) -> object:
    """Parse one document into dicts, lists and texts. Raises YamlError."""
    if len(data) > MAX_BYTES:
        raise YamlError(f"larger than {MAX_BYTES} bytes")
    try:
        return yaml.load(data.decode("utf-8-sig"), Loader=_TextLoader)  # noqa: S506 - constructs texts only
    except UnicodeDecodeError as error:
        raise YamlError("not UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise YamlError(f"{place}{' '.join(str(error.problem or error.context).split())}") from error
    except yaml.YAMLError as error:
        raise YamlError(" ".join(str(error).split())) from error
