"""Keys of YAML mappings: plain YAML would silently keep the last of two that are the same."""

import yaml


def check_keys(node: yaml.MappingNode) -> None:
    """Raises yaml's ConstructorError, with the place, for a key that is given twice or is no text."""
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key must be a text", key.start_mark)
        if key.value in seen:
            raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is given twice", key.start_mark)
        seen.add(key.value)
