"""The JSON Schema of attrs classes whose annotations are those that `tx8ir.core.schema` reads."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Union

import attrs

_TYPES: Final[dict[Any, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    types.NoneType: "null",
}


def json_schema(cls: type[Any]) -> dict[str, Any]:
    """The schema (draft 2020-12) of what `attrs.asdict` makes of an instance; docstrings become descriptions."""
    definitions: dict[str, Any] = {}
    root = _of(cls, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _of(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:  # the checks in use are all bounds from below
        return {**_of(arguments[0], definitions), "minimum": 0}
    if origin is Union or origin is types.UnionType:
        return {"anyOf": [_of(argument, definitions) for argument in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    name = annotation.__name__
    if name not in definitions:
        definitions[name] = {}  # classes may nest
        hints = typing.get_type_hints(annotation, include_extras=True)
        fields = attrs.fields(annotation)
        definitions[name] = {
            "type": "object",
            "description": inspect.cleandoc(annotation.__doc__ or ""),
            "properties": {field.name: _of(hints[field.name], definitions) for field in fields},
            "required": [field.name for field in fields if field.default is attrs.NOTHING],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}
