"""Arguments that a tool's JSON schema admits, from that schema alone."""

from typing import Any

from hypothesis import strategies as st

TEXT = st.text(st.characters(codec=None), max_size=40)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema admits. Knows what the schemas of tools use, and no more."""
    unknown = schema.keys() - _KNOWN
    assert not unknown, f"a tool's schema says {unknown}: teach this function what that means"
    if "anyOf" in schema:
        return st.one_of([fitting(each) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    return _TYPES[schema["type"]](schema)


def _object(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    each = {name: fitting(inner) for name, inner in schema.get("properties", {}).items()}
    required = schema.get("required", ())
    return st.fixed_dictionaries(
        {name: each[name] for name in required},
        optional={name: inner for name, inner in each.items() if name not in required},
    )


def _string(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    if schema.get("pattern") == r"^\d{4}-\d\d-\d\d":
        return st.datetimes().map(str) | st.dates().map(str)
    most = min(schema.get("maxLength", 40), 300)
    return st.text(st.characters(codec=None), min_size=schema.get("minLength", 0), max_size=most)


def _array(schema: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    least = schema.get("minItems", 0)
    return st.lists(fitting(schema["items"]), min_size=least, max_size=max(least, 4))


_TYPES = {
    "object": _object,
    "string": _string,
    "array": _array,
    "integer": lambda schema: st.integers(schema.get("minimum"), schema.get("maximum")),
    "number": lambda schema: st.floats(schema.get("minimum"), schema.get("maximum")),
    "boolean": lambda _: st.booleans(),
    "null": lambda _: st.none(),
}
_KNOWN = {
    *("type", "description", "default", "properties", "required", "additionalProperties"),
    *("anyOf", "enum", "const", "pattern", "minLength", "maxLength", "items", "minItems"),
    *("maxItems", "minimum", "maximum", "examples"),
}
