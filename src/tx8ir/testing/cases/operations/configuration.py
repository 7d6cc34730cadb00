"""What a case is made of: operands with shapes, formats and ranges of numbers, and the operations on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.oplib.interface import AlignMode, OpLib
from tx8ir.core import (
    Builder,
    FunctionType,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    TupleType,
    Value,
    Variable,
    VTensorType,
    f32,
)
from tx8ir.dialects import func, tx8be
from tx8ir.dialects.tx8be import DevAttr
from tx8ir.target.layout import MemLayout

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = "tuple[int, ...]"


@attrs.frozen
class Range:
    """The numbers that an operand is filled with, evenly between two bounds.

    whole: whole numbers only, as truth values and indices are; integer formats always hold these.
    least: the smallest magnitude, for what is divided by.
    """

    low: float = -4.0
    high: float = 4.0
    whole: bool = False
    least: float = 0.0

    def draw(self, shape: Shape, element: ScalarType, rng: np.random.Generator) -> Array:
        """An array of these numbers, as the format holds them."""
        if self.whole or not element.is_float:
            return rng.integers(int(self.low), int(self.high), shape, endpoint=True).astype(element.dtype)
        numbers = rng.uniform(self.low, self.high, shape)
        numbers = np.where(np.abs(numbers) < self.least, np.copysign(self.least, numbers), numbers)
        return np.asarray(numbers, np.float32).astype(element.dtype)


RESULT: Final = "y"
"""The name of a case's result."""

BOTH_SIGNS: Final = Range()
POSITIVE: Final = Range(0.1, 4.0)
AWAY_FROM_ZERO: Final = Range(-4.0, 4.0, least=0.5)
TRUTH: Final = Range(0, 1, whole=True)
SMALL_INTEGERS: Final = Range(-9, 9, whole=True)


@attrs.frozen
class OperandConfig:
    """One operand: a tensor that is given to the program, or with `is_constant` one that belongs to it."""

    shape: Shape
    element: ScalarType = f32
    range: Range = BOTH_SIGNS
    is_constant: bool = False

    @property
    def type(self) -> VTensorType:
        """Its type in the program."""
        return VTensorType(self.shape, self.element)


@attrs.frozen(eq=False)
class Configuration:
    """One configuration of a case.

    Attributes:
        name: in a few words, for people.
        operands: None for an absent one.
        make: builds the operations on the operands, one or a small context, and returns the last one.
        is_blocked: the layout that the operations are pinned to, as far as they take both: channel-blocked or dense;
            None: as the compiler chooses.
    """

    name: str
    operands: tuple[OperandConfig | None, ...]
    make: Callable[..., Operation]
    is_blocked: bool | None = None

    def build(self) -> tuple[Program, Mapping[str, Range]]:
        """The program in the dialect `tx8be`, and the range of each of its inputs and constants by name.

        Constants have no data yet.

        Raises:
            VerifyError: an operation does not take these operands.
        """
        names = [f"x{i}" for i in range(len(self.operands))]
        given = [(n, o) for n, o in zip(names, self.operands, strict=True) if o is not None and not o.is_constant]
        types = tuple(operand.type for _, operand in given)
        program = Program.empty()
        with Builder.at_end(program.body):
            main = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()))
        block = main.body.block
        arguments = iter(block.args)
        with Builder.at_end(block):
            values = [self._value(program, n, o, arguments) for n, o in zip(names, self.operands, strict=True)]
            result: Value = self.make(*values).results[0]
            self._pin(list(block))
            returned = tx8be.OutputOp(tx8be.TupleOp([result]).y)
            func.ReturnOp([returned.y])
        main.set_attribute("function_type", FunctionType(types, (TupleType((result.type,)),)))
        main.set_attribute("arg_names", tuple(n for n, _ in given))
        main.set_attribute("result_names", (RESULT,))
        program.verify()
        return program, {n: o.range for n, o in zip(names, self.operands, strict=True) if o is not None}

    def _value(self, program: Program, name: str, operand: OperandConfig | None, arguments: Any) -> Value:
        if operand is None:
            return tx8be.NoneOp().y
        if not operand.is_constant:
            return tx8be.InputOp(next(arguments)).y
        program.weights[name] = Variable(operand.type, np.zeros(operand.shape, operand.element.dtype))
        return tx8be.ConstantOp(parameter=name, y=operand.type).y

    def _pin(self, ops: Sequence[Operation]) -> None:
        if self.is_blocked is None:
            return
        for op in ops:
            library = op.interface(OpLib)
            if library is not None and library.query().align_mode is AlignMode.BOTH:
                kind = op.results[0].type
                assert isinstance(kind, RankedTensor)
                layout = MemLayout.for_rank(kind.rank, blocked=self.is_blocked)
                op.set_attribute("dev_info", DevAttr(mem_layout=layout.value))
