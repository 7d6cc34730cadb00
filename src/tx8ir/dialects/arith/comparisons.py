"""Comparisons, which give i1, and the choice by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from tx8ir.core import (
    Attribute,
    InferTypes,
    Operand,
    Result,
    Type,
    Value,
    VerifyError,
    attribute,
    i1,
    operand,
    result,
)
from tx8ir.core.attrs.attributes import EMPTY_DICT
from tx8ir.core.attrs.builtin_types import array_type, with_element
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.core.text.custom_format import CustomFormat

from .constants import array_of, attribute_of
from .declaration import (
    FLOATS,
    INTEGERS,
    STRICT,
    ArithOp,
    FastMathAttr,
    bool_like,
    float_like,
    number_like,
    same_type,
    signless_integer_like,
    width_of,
)
from .integers import Array, signed, unsigned

if TYPE_CHECKING:
    from tx8ir.core.text.parser import Parser
    from tx8ir.core.text.printer import Printer

INTEGER_PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""What `cmpi` compares by; the attribute is the place here."""
FLOAT_PREDICATES: Final = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
"""What `cmpf` compares by; the attribute is the place here."""

_RELATIONS: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


REFLEXIVE: Final = frozenset({"eq", "sle", "sge", "ule", "uge"})
"""The relations of integers that hold between a number and itself."""


def related(relation: str, x: Array, y: Array, width: int) -> Array:
    """Whether the relation of that word holds between integers of `width` bits, for each element."""
    if relation.startswith("u"):
        return _RELATIONS[relation[1:]](unsigned(x, width), unsigned(y, width))
    return _RELATIONS[relation[-2:]](signed(x), signed(y))


class ComparisonOp(ArithOp, InferTypes):
    """A relation between two numbers, for each element."""

    predicates: ClassVar[tuple[str, ...]]

    def infer_types(self) -> tuple[Type, ...]:
        lhs, rhs = self.operands
        same_type(self, lhs, rhs)
        return (with_element(lhs.type, i1),)

    @property
    def relation(self) -> str:
        """The predicate by its word. Raises VerifyError for a number that is none."""
        number: int = self.attributes["predicate"].value
        if not 0 <= number < len(self.predicates):
            raise VerifyError(f"predicate {number} of {self.name} is none of 0 to {len(self.predicates) - 1}", self)
        return self.predicates[number]

    def verify_op(self) -> None:
        _ = self.relation
        if self.results[0].type is not self.infer_types()[0]:
            raise VerifyError(f"{self.name} gives {self.infer_types()[0]}, not {self.results[0].type}", self)


class CmpIOp(ComparisonOp, name="arith.cmpi"):
    """out = whether the relation `predicate` (see `INTEGER_PREDICATES`) holds between two integers."""

    lhs: Operand = operand(signless_integer_like)
    rhs: Operand = operand(signless_integer_like)
    predicate: int = attribute(doc="the place of the relation in `INTEGER_PREDICATES`")
    out: Result = result(bool_like)

    predicates = INTEGER_PREDICATES
    assembly_format = (
        f"one-of($predicate, {', '.join(INTEGER_PREDICATES)}) `,` $lhs `,` $rhs attr-dict `:` shared-type($lhs, $rhs)"
    )
    sample_elements = tuple((e, e) for e in INTEGERS)
    sample_attributes = tuple({"predicate": n} for n in range(len(INTEGER_PREDICATES)))

    def compute(self, x: Array, y: Array) -> Any:
        return related(self.relation, x, y, width_of(self.lhs))

    def simplify(self, operands: Sequence[Attribute | None]) -> Attribute | None:
        return _all(self.relation in REFLEXIVE, self.out.type) if self.lhs is self.rhs else None


class CmpFOp(ComparisonOp, name="arith.cmpf"):
    """out = whether the relation `predicate` (see `FLOAT_PREDICATES`) holds between two floats.

    Of a NaN the relations that begin with "o" (ordered) do not hold, those that begin with "u" do.
    """

    lhs: Operand = operand(float_like)
    rhs: Operand = operand(float_like)
    predicate: int = attribute(doc="the place of the relation in `FLOAT_PREDICATES`")
    fastmath: FastMathAttr = attribute(default=STRICT)
    out: Result = result(bool_like)

    predicates = FLOAT_PREDICATES
    assembly_format = (
        f"one-of($predicate, {', '.join(FLOAT_PREDICATES)}) `,` $lhs `,` $rhs (`fastmath` $fastmath^)? "
        "attr-dict `:` shared-type($lhs, $rhs)"
    )
    sample_elements = tuple((e, e) for e in FLOATS)
    sample_attributes = tuple({"predicate": n} for n in range(len(FLOAT_PREDICATES)))

    def compute(self, x: Array, y: Array) -> Any:
        relation = self.relation
        unordered = np.isnan(x) | np.isnan(y)
        if relation in ("true", "false"):
            return np.full(unordered.shape, relation == "true")
        if relation in ("ord", "uno"):
            return unordered == (relation == "uno")
        holds = _RELATIONS[relation[1:]](x, y)
        return holds | unordered if relation.startswith("u") else holds & ~unordered

    def simplify(self, operands: Sequence[Attribute | None]) -> Attribute | None:
        return _all(self.relation == "true", self.out.type) if self.relation in ("true", "false") else None


def _all(truth: bool, type: Type) -> Attribute | None:
    held = array_type(type)
    return attribute_of(np.full(held.shape, truth), type) if held is not None and held.is_static else None


class SelectOp(ArithOp, InferTypes, name="arith.select"):
    """out = true_value where the condition holds, else false_value; for all elements at once, or for each."""

    condition: Operand = operand(bool_like)
    true_value: Operand = operand()
    false_value: Operand = operand()
    out: Result = result()

    sample_elements = tuple((i1, e, e) for e in (*INTEGERS, *FLOATS))

    def infer_types(self) -> tuple[Type, ...]:
        same_type(self, self.true_value, self.false_value)
        return (self.true_value.type,)

    def verify_op(self) -> None:
        if self.out.type is not self.infer_types()[0]:
            raise VerifyError(f"arith.select gives {self.true_value.type}, not {self.out.type}", self)
        if self.condition.type is not i1 and (
            not number_like(self.out.type) or self.condition.type is not with_element(self.out.type, i1)
        ):
            raise VerifyError(f"arith.select has a condition {self.condition.type} for {self.out.type}", self)

    def compute(self, condition: Array, x: Array, y: Array) -> Any:
        return np.where(condition, x, y)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        if self.true_value is self.false_value:
            return self.true_value
        array = None if operands[0] is None else array_of(operands[0])
        if array is None or not array.size:
            return None
        return self.true_value if np.all(array) else None if np.any(array) else self.false_value

    def print_short(self, printer: Printer) -> None:
        names = ", ".join(map(printer.value, self.operands))
        condition = "" if self.condition.type is i1 else f"{printer.type(self.condition.type)}, "
        printer.write(f"arith.select {names}{printer.attributes(self.attributes)} : {condition}")
        printer.write(printer.type(self.out.type))

    @classmethod
    def parse_custom(cls, parser: Parser) -> CustomFormat:
        location = parser.here(parser.pos)
        names = [parser.operand()]
        for _ in range(2):
            parser.expect(",", "between the operands of arith.select")
            names.append(parser.operand())
        attributes = parser.dictionary() if parser.peek() == "{" else EMPTY_DICT
        parser.expect(":", "before the type of arith.select")
        first = parser.type()
        condition, type = (first, parser.type()) if parser.accept(",") else (i1, first)
        operands = parser.resolve(names, (condition, type, type))
        op = create_unchecked(cls, operands, (type,), attributes, (), (), location)
        return CustomFormat(lambda _: op, has_region=False)


__all__ = [
    "FLOAT_PREDICATES",
    "INTEGER_PREDICATES",
    "REFLEXIVE",
    "CmpFOp",
    "CmpIOp",
    "ComparisonOp",
    "SelectOp",
    "related",
]
