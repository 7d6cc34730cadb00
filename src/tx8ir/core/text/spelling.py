"""How types, attributes and locations are written where their own text is not what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tx8ir.core.attrs.affine import AffineMapAttr, AffineSetAttr
from tx8ir.core.attrs.attributes import ArrayAttr, Attribute, DictAttr, FloatAttr, IntAttr, TypeAttr, UnitAttr, key_text
from tx8ir.core.attrs.dense import DenseAttr
from tx8ir.core.attrs.elements_attributes import DenseResourceAttr, ElementsAttr, SparseAttr, resource_key
from tx8ir.core.attrs.types import (
    DictType,
    FunctionType,
    ListType,
    RankedTensor,
    TupleType,
    Type,
    VTensorType,
    f64,
    i64,
)
from tx8ir.core.ir.operation import Operation
from tx8ir.core.location import Location, quote

_ALIGNMENT: Final = (8).to_bytes(4, "little")
"""What every blob that is made here begins with: its data may be put at multiples of 8 bytes."""


class Spelling:
    """The text of types, attributes and locations under the options of `print_op`."""

    def __init__(
        self,
        *,
        standard: bool = False,
        aliases: bool = False,
        resources: int | None = None,
        elide: int | None = None,
    ) -> None:
        self._standard = standard
        self._aliases = aliases
        self._resources = resources
        self._elide = elide
        self.is_plain = not standard and not aliases and resources is None and elide is None
        self._types: dict[Type, str] = {}
        self._attributes: dict[Attribute, str] = {}
        self._locations: dict[str, str] = {}
        self._definitions: list[str] = []
        self._counts: dict[str, int] = {}
        self._blobs: dict[str, bytes] = {}

    # -- types ----------------------------------------------------------------------------------------------------

    def type(self, type: Type) -> str:
        """The text of a type; with `standard`, a vtensor is a `tensor<…>`."""
        if not self._standard:
            return str(type)
        found = self._types.get(type)
        if found is None:
            found = self._types[type] = self._standard_type(type)
        return found

    def _standard_type(self, type: Type) -> str:
        if isinstance(type, VTensorType):
            return f"tensor{str(type).removeprefix('!pd.vtensor')}"
        if isinstance(type, (TupleType, ListType)):
            name = "tuple" if isinstance(type, TupleType) else "!builtin.list"
            return f"{name}<{', '.join(map(self.type, type.elements))}>"
        if isinstance(type, DictType):
            entries = zip(type.keys, type.values, strict=True)
            return f"!builtin.dict<{', '.join(f'{quote(k)}: {self.type(v)}' for k, v in entries)}>"
        if isinstance(type, FunctionType):
            return self.signature(type.inputs, type.results)
        return str(type)

    def signature(self, inputs: Iterable[Type], results: tuple[Type, ...]) -> str:
        """`(T, …) -> T`; one result that is not a function stands without parentheses."""
        shown = ", ".join(map(self.type, results))
        if len(results) != 1 or isinstance(results[0], FunctionType):
            shown = f"({shown})"
        return f"({', '.join(map(self.type, inputs))}) -> {shown}"

    # -- attributes -----------------------------------------------------------------------------------------------

    def attribute(self, attribute: Attribute) -> str:
        """The text of an attribute."""
        found = self._attributes.get(attribute)
        if found is None:
            found = self._attributes[attribute] = self._spelled(attribute)
        return found

    def _spelled(self, attribute: Attribute) -> str:
        if isinstance(attribute, DictAttr):
            entries = [
                key_text(k) if isinstance(v, UnitAttr) else f"{key_text(k)} = {self.attribute(v)}"
                for k, v in attribute.items()
            ]
            return f"{{{', '.join(entries)}}}"
        if isinstance(attribute, ArrayAttr):
            return f"[{', '.join(map(self._in_array, attribute.elements))}]"
        if isinstance(attribute, TypeAttr):
            return self.type(attribute.value)
        if self._aliases and isinstance(attribute, (AffineMapAttr, AffineSetAttr)):
            return self._alias("map" if isinstance(attribute, AffineMapAttr) else "set", str(attribute))
        if isinstance(attribute, (DenseAttr, ElementsAttr, SparseAttr)):
            return self._elements(attribute)
        text, own = str(attribute), getattr(attribute, "type", None)
        if isinstance(own, Type) and text.endswith(f" : {own}"):
            return text.removesuffix(str(own)) + self.type(own)
        return text

    def _in_array(self, element: Attribute) -> str:
        """The text of an element of an array; an i64 or a finite f64 is written without its type."""
        alone = isinstance(element, (IntAttr, FloatAttr)) and element.type in (i64, f64)
        return str(ArrayAttr([element]))[1:-1] if alone else self.attribute(element)

    def _elements(self, attribute: DenseAttr | ElementsAttr | SparseAttr) -> str:
        type = self.type(attribute.type)
        count = attribute.type.num_elements if isinstance(attribute.type, RankedTensor) else 0
        if isinstance(attribute, DenseAttr) and not attribute.is_splat:
            if self._elide is not None and count > self._elide:
                return f"dense_resource<__elided__> : {type}"
            if self._resources is not None and count > self._resources:
                name = f"blob{len(self._blobs)}"
                self._blobs[name] = _ALIGNMENT + attribute.value.tobytes()
                return f"dense_resource<{name}> : {type}"
        return str(attribute).removesuffix(str(attribute.type)) + type

    # -- locations ------------------------------------------------------------------------------------------------

    def location(self, location: Location) -> str:
        """`loc(…)`; with aliases, of a known location its name."""
        text = str(location)
        if not self._aliases or not location.is_known:
            return text
        found = self._locations.get(text)
        if found is None:
            found = self._locations[text] = f"loc({self._alias('loc', text)})"
        return found

    def _alias(self, stem: str, text: str) -> str:
        """The name of what is written as `text`, which is defined above the operations."""
        count = self._counts.get(stem, 0)
        self._counts[stem] = count + 1
        name = f"#{stem}{count or ''}"
        self._definitions.append(f"{name} = {text}\n")
        return name

    # -- the whole text -------------------------------------------------------------------------------------------

    def completed(self, text: str, root: Operation) -> str:
        """The text of `root` with the definitions of aliases above it and the blobs below."""
        blobs = dict(self._blobs)
        if "dense_resource<" in text:
            blobs |= {a.value: a.blob for op in root.walk() for a in _resources(op.attributes) if a.blob is not None}
        if blobs:
            entries = ",\n".join(f'      {resource_key(k)}: "0x{v.hex().upper()}"' for k, v in blobs.items())
            text += f"\n\n{{-#\n  dialect_resources: {{\n    builtin: {{\n{entries}\n    }}\n  }}\n#-}}"
        return "".join([*self._definitions, text]) if self._definitions else text


def _resources(attribute: Attribute) -> Iterator[DenseResourceAttr]:
    """The blobs that an attribute names, in it or in the attributes inside it."""
    if isinstance(attribute, DenseResourceAttr):
        yield attribute
    elif isinstance(attribute, ArrayAttr):
        for element in attribute.elements:
            yield from _resources(element)
    elif isinstance(attribute, DictAttr):
        for value in attribute.values():
            yield from _resources(value)
