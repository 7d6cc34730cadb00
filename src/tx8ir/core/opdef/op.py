"""`Op`, the base of defined operations: a class body of fields becomes a constructor, accessors and an `OpInfo`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast, dataclass_transform

from tx8ir.core.errors import IrError
from tx8ir.core.ir.interfaces import Interface, require_implemented
from tx8ir.core.ir.operation import Operation, OpInfo
from tx8ir.core.ir.readers import attribute_reader, operand_reader, result_reader
from tx8ir.core.ir.traits import Trait
from tx8ir.core.location import at_location, caller_location

from .constructor import generate_constructor
from .definition import OpDef
from .fields import (
    MISSING,
    AttributeField,
    Field,
    RegionField,
    Result,
    SuccessorField,
    ValueField,
    VariadicRegionField,
    VariadicResult,
    attribute,
    numeric_operand,
    operand,
    successor,
    variadic_operand,
)

if TYPE_CHECKING:
    import inspect

RESERVED: Final = frozenset(n for n in vars(Operation) if not n.startswith("__")) | {
    "definition",
    "verify_op",
    "initialize",
    "coerce_operands",
}


def _first_init(self: Op, *args: Any, **kwargs: Any) -> None:
    """Stands in for the constructor until the first call, because generating all of them at import would be slow."""
    cls = type(self)
    setattr(cls, "__init__", generate_constructor(cls.definition))  # noqa: B010
    with at_location(caller_location()):
        self.__init__(*args, **kwargs)


def _accessor(definition: OpDef, field: Field) -> property:
    if isinstance(field, AttributeField):
        return _attribute_accessor(definition, field)
    if isinstance(field, RegionField):
        index = definition.regions.index(field)
        if isinstance(field, VariadicRegionField):
            return property(lambda op: op.regions[index:], doc=field.doc)
        return property(lambda op: op.regions[index], doc=field.doc)
    if isinstance(field, SuccessorField):
        index = definition.successors.index(field)
        return property(lambda op: op.successors[index], doc=field.doc)
    field = cast(ValueField, field)
    if isinstance(field, (Result, VariadicResult)):
        position = definition.results.index(field)
        if all(f.count == "one" for f in definition.results[:position]) and field.count == "one":
            return property(result_reader(position), doc=field.doc)

        def read_results(op: Operation) -> Any:
            start, end = definition.result_range(op, field)
            return op.results[start] if field.count == "one" else op.results[start:end]

        return property(read_results, doc=field.doc)
    position = definition.operands.index(cast(Any, field))
    if all(f.count == "one" for f in definition.operands[: position + 1]):
        return property(operand_reader(position), doc=field.doc)

    def read_operands(op: Operation) -> Any:
        start, end = definition.operand_range(op, field)
        if field.count == "many":
            return op.operands[start:end]
        return op.operands[start] if start < end else None

    return property(read_operands, doc=field.doc)


def _attribute_accessor(definition: OpDef, field: AttributeField) -> property:
    key, default = field.key, None if field.default is MISSING else field.default
    # A field annotated with an attribute class reads as the attribute itself, not as its value.
    is_whole = "Attr" in str(field.annotation).rsplit(".", 1)[-1]

    def write(op: Operation, value: Any) -> None:
        codec, optional = definition.codecs[field.name]
        if value is None and optional:
            op.remove_attribute(key)
            return
        try:
            encoded = codec.encode(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise IrError(f"attribute {key} of {op.name}: {error}", op) from error
        op.set_attribute(key, encoded)

    return property(attribute_reader(key, default, is_whole=is_whole), write, doc=field.doc)


class OpMeta(type):
    """Turns the fields of an op class body into accessors and gives the class its `OpInfo`."""

    definition: OpDef
    info: OpInfo

    def __new__(
        mcs,
        class_name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        name: str = "",
        traits: Sequence[type[Trait]] = (),
    ) -> Any:
        own = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        for key in own:
            if key in RESERVED:
                raise TypeError(f"{class_name}.{key} hides a member of Operation; call the field otherwise")
            del namespace[key]
        namespace.setdefault("__slots__", ())
        namespace["name"] = name
        cls = cast("type[Op]", super().__new__(mcs, class_name, bases, namespace))
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__[1:]):
            fields.update(cast("dict[str, Field]", base.__dict__.get("_own_fields", {})))
        for key, field in own.items():
            field.name, field.owner = key, cls
            field.annotation = namespace.get("__annotations__", {}).get(key)
        fields.update(own)
        type.__setattr__(cls, "_own_fields", own)
        definition = OpDef(cls, fields)
        cls.definition = definition
        inherited: set[type[Trait]] = set()
        for base in cls.__mro__[1:]:
            base_info = base.__dict__.get("info")
            if isinstance(base_info, OpInfo):
                inherited |= base_info.traits
        info = OpInfo(
            name,
            cls,
            frozenset(inherited | set(traits)),
            definition.required_attributes(),
            cls.__doc__ or "",
            tuple(f.key for f in definition.attributes),
        )
        for base in cls.__mro__:
            if issubclass(base, Interface) and base is not Interface and not issubclass(base, Operation):
                if name:  # a class without a name is a base of others, which may still implement it
                    require_implemented(base, cls)
                info.interfaces[base] = cls
        for base in cls.__mro__[1:]:
            family = base.__dict__.get("info")
            if isinstance(family, OpInfo) and not family.name:
                for interface, model in family.interfaces.items():
                    if info.interfaces.setdefault(interface, model) is model:
                        info.inherited.add(interface)
        cls.info = info
        for field in fields.values():
            setattr(cls, field.name, _accessor(definition, field))
        if "__init__" not in namespace:
            setattr(cls, "__init__", _first_init)  # noqa: B010  (a plain assignment to __init__ is a type error)
        return cls

    @property
    def __signature__(cls) -> inspect.Signature:
        """What `inspect.signature` and `help` show, before the first call too."""
        from .signature import signature_of  # here, because only who asks needs it

        return signature_of(cls.definition)


@dataclass_transform(field_specifiers=(operand, numeric_operand, variadic_operand, attribute, successor))
class Op(Operation, metaclass=OpMeta):
    """Base of op classes.

        class MatmulOp(Op, Compute, InferTypes, name="pd.matmul", traits=(Pure, HasValueSemantics)):
            x: Operand = operand()
            y: Operand = operand()
            transpose_x: bool = attribute(default=False)
            out: Result = result()

            def infer_types(self): ...
            def compute(self, x, y): ...

    The constructor takes operands in order, then attributes, regions and result types by name. It records the Python
    line that called it, and inserts the operation at the active `Builder`, if there is one. `initialize`, if defined,
    runs last; `verify_op`, if defined, is called by the verifier. A class method `coerce_operands`, if defined, gets
    the operands when one of them is neither a value nor an operation, and gives what takes their place.
    """

    definition: OpDef
