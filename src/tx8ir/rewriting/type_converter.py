"""`TypeConverter`: what types become in a conversion, and which operations make values of one type from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from tx8ir.core import (
    Attribute,
    DictType,
    FunctionType,
    IrError,
    ListType,
    Operation,
    RankedTensor,
    ScalarType,
    TupleType,
    Type,
    TypeAttr,
    Value,
)


class Inconvertible:
    """What a conversion returns for a type that nothing may take the place of."""


INCONVERTIBLE: Final = Inconvertible()

Conversion: TypeAlias = "Callable[[Type], Type | Sequence[Type] | Inconvertible | None]"
"""What takes the place of a type: one type, several, none at all (an empty sequence); None: ask another conversion."""

Materialization: TypeAlias = "Callable[[Sequence[Value], Sequence[Type]], Value | Operation | Sequence[Value] | None]"
"""Builds, at the active `Builder`, values of some types from others; None: ask another materialization."""


class TypeConverter:
    """Which types take the place of which, and how values get from the one to the other.

        converter = TypeConverter()
        converter.add_conversion(lambda type: type)                                          # others stay
        converter.add_conversion(lambda type: i64 if isinstance(type, IndexType) else None)  # asked first
        converter.add_target_materialization(lambda values, types: arith.index_cast(values[0], out=types[0]))

    Conversions and materializations are asked newest first. A type is legal when it becomes itself.

    - A *target* materialization makes what a converted operation takes from a value that was not converted.
    - A *source* materialization makes what an operation that was not converted takes from a converted value.
    - An *argument* materialization makes what a block took from what it takes now; where there is none, a source
      materialization does.

    After MLIR's TypeConverter.
    """

    def __init__(self) -> None:
        self._conversions: list[Conversion] = []
        self._targets: list[Materialization] = []
        self._sources: list[Materialization] = []
        self._arguments: list[Materialization] = []
        self._known: dict[Type, tuple[Type, ...] | None] = {}

    # -- saying --------------------------------------------------------------------------------------------------------

    def add_conversion(self, conversion: Conversion) -> Conversion:
        """Ask `conversion` before those that are there; also a decorator."""
        self._conversions.append(conversion)
        self._known.clear()
        return conversion

    def add_target_materialization(self, materialization: Materialization) -> Materialization:
        """See the class; also a decorator."""
        self._targets.append(materialization)
        return materialization

    def add_source_materialization(self, materialization: Materialization) -> Materialization:
        """See the class; also a decorator."""
        self._sources.append(materialization)
        return materialization

    def add_argument_materialization(self, materialization: Materialization) -> Materialization:
        """See the class; also a decorator."""
        self._arguments.append(materialization)
        return materialization

    # -- types ---------------------------------------------------------------------------------------------------------

    def convert(self, type: Type) -> tuple[Type, ...] | None:
        """What takes the place of a type; None when nothing may. Remembered."""
        if type not in self._known:
            self._known[type] = self._converted(type)
        return self._known[type]

    def convert_all(self, types: Sequence[Type]) -> tuple[Type, ...] | None:
        """What takes the place of several types, in one sequence; None when nothing may take that of one of them."""
        found: list[Type] = []
        for type in types:
            converted = self.convert(type)
            if converted is None:
                return None
            found += converted
        return tuple(found)

    def _converted(self, type: Type) -> tuple[Type, ...] | None:
        for conversion in reversed(self._conversions):
            found = conversion(type)
            if isinstance(found, Type):
                return (found,)
            if isinstance(found, Inconvertible):
                return None
            if found is not None:
                return tuple(found)
        return None

    def is_legal_type(self, type: Type) -> bool:
        """Whether a type, and for a function what it takes and gives, becomes itself."""
        if isinstance(type, FunctionType):
            return all(map(self.is_legal_type, (*type.inputs, *type.results)))
        return self.convert(type) == (type,)

    def is_legal(self, op: Operation) -> bool:
        """Whether all types of `op` are legal: of operands, results, arguments of its blocks, and in attributes."""
        arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
        if not all(self.is_legal_type(value.type) for value in (*op.operands, *op.results, *arguments)):
            return False
        return all(self.is_legal_type(a.value) for a in op.attributes.values() if isinstance(a, TypeAttr))

    # -- values --------------------------------------------------------------------------------------------------------

    def materialize_target(self, values: Sequence[Value], types: Sequence[Type]) -> tuple[Value, ...] | None:
        """Converted values from unconverted ones, built at the active `Builder`; None when no materialization can.

        Raises:
            IrError: a materialization gave values of other types.
        """
        return _materialized(self._targets, "target", values, types)

    def materialize_source(self, values: Sequence[Value], types: Sequence[Type]) -> tuple[Value, ...] | None:
        """Unconverted values from converted ones; see `materialize_target`."""
        return _materialized(self._sources, "source", values, types)

    def materialize_argument(self, values: Sequence[Value], types: Sequence[Type]) -> tuple[Value, ...] | None:
        """What a block took from what it takes now; see `materialize_target`."""
        found = _materialized(self._arguments, "argument", values, types)
        return self.materialize_source(values, types) if found is None else found


def _materialized(
    materializations: Sequence[Materialization], what: str, values: Sequence[Value], types: Sequence[Type]
) -> tuple[Value, ...] | None:
    for materialization in reversed(materializations):
        made = materialization(values, types)
        if made is None:
            continue
        found = (made,) if isinstance(made, Value) else tuple(made.results if isinstance(made, Operation) else made)
        if tuple(v.type for v in found) != tuple(types):
            given, wanted = (", ".join(map(str, t)) for t in ([v.type for v in found], types))
            raise IrError(f"a {what} materialization gave ({given}), expected ({wanted})")
        return found
    return None


class ElementTypeConverter(TypeConverter):
    """Replaces element types wherever they are inside a type; each type becomes one.

    Args:
        elements: the new element type of each old one; those left out stay.
    """

    def __init__(self, elements: Mapping[ScalarType, ScalarType]) -> None:
        super().__init__()
        self.elements = dict(elements)
        self.add_conversion(self._replaced)

    def of(self, kind: Type) -> Type:
        """What takes the place of `kind`; `kind` itself when nothing in it changes. Remembered."""
        found = self.convert(kind)
        assert found is not None  # every type becomes one
        return found[0]

    def element(self, kind: ScalarType) -> ScalarType:
        """The element type that takes the place of `kind`."""
        return self.elements.get(kind, kind)

    def attributes(self, op: Operation) -> Mapping[str, Attribute | Type]:
        """The attributes of `op` with the types in them converted; the very attributes when there are none."""
        changed: dict[str, Attribute | Type] = {}
        for name, attribute in op.attributes.items():
            if isinstance(attribute, TypeAttr) and self.of(attribute.value) is not attribute.value:
                changed[name] = self.of(attribute.value)
        return {**op.attributes, **changed} if changed else op.attributes

    def _replaced(self, kind: Type) -> Type:
        if isinstance(kind, ScalarType):
            return self.element(kind)
        if isinstance(kind, RankedTensor):
            return kind.with_element(self.element(kind.element))
        if isinstance(kind, (ListType, TupleType)):
            return type(kind)(self.of(element) for element in kind.elements)
        if isinstance(kind, FunctionType):
            return FunctionType([self.of(t) for t in kind.inputs], [self.of(t) for t in kind.results])
        if isinstance(kind, DictType):
            return DictType({key: self.of(t) for key, t in zip(kind.keys, kind.values, strict=True)})
        return kind
