"""`Evaluate`: how an operation that is more than a function of arrays takes part in an evaluation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from typing import Any, Literal, Protocol, TypeAlias, Union

import attrs
from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    ConstantLike,
    Interface,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    Terminator,
    Value,
    element_type,
    f64,
)
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.core.ir.symbol_table import SymbolReference
from tx8ir.core.ir.traits import MapsNumbers
from tx8ir.support.screen import fitting_repr

from .storage import Storage, TensorRef

Precision: TypeAlias = Literal["native", "f64"]
"""How floats are evaluated. "native": in float32 (f64: float64), each result rounded once, to nearest even, to its
declared format. "f64": in float64 throughout, declared formats notwithstanding."""
PrecisionLike: TypeAlias = Precision | Literal["fp64", "float64"]
"""A `Precision`, f64 in any spelling of it."""


def precision_of(given: PrecisionLike) -> Precision:
    """The precision that a caller means. Raises ValueError when it is none."""
    if given == "native":
        return "native"
    try:
        element_type(given, (f64,))
    except ValueError:
        raise ValueError(f"precision is {given!r}; expected 'native' or 'f64'") from None
    return "f64"


RuntimeValue: TypeAlias = Union[NDArray[Any], TensorRef, "tuple[RuntimeValue, ...]", "dict[str, RuntimeValue]", None]
"""What a value stands for while it is evaluated: an array in the working precision for a `vtensor`, never changed in
place, one of rank 0 for a number (`i32`, `index`); a `TensorRef` for a `tensor`, which others may write; a tuple of
values for a `TupleType` or `ListType`, a dictionary for a `DictType`, None for a `NoneType`."""


@attrs.frozen
class Enter:
    """Asks the evaluator to run a block; it answers with the operands of the terminator.

    Attributes:
        block: a block of the asking operation, or the entry block of a function.
        arguments: one value per argument of the block.
        space: None, or the shape of what the numbers in the block are: the block runs once for all places of an array
            of that shape. Only where `runs_at_once` says that this is the same as to run it for each.
    """

    __repr__ = fitting_repr

    block: Block
    arguments: Sequence[RuntimeValue]
    space: tuple[int, ...] | None = None


def runs_at_once(block: Block) -> bool:
    """Whether all operations of a block but its last are constants, or take arrays in place of numbers."""
    return all(
        (op.has_trait(MapsNumbers) or op.has_trait(ConstantLike)) and all(map(_is_number, (*op.operands, *op.results)))
        for op in block
        if not op.has_trait(Terminator)
    )


def _is_number(value: Value) -> bool:
    held = array_type(value.type)
    return held is not None and not held.rank


@attrs.frozen(eq=False)
class Meet:
    """Asks the evaluator to wait for other replicas of the program; it answers with what each of them brings.

    Attributes:
        op: the asking operation, which all of them have to come to.
        group: the replicas, in order, the asking one among them.
        brings: what the asking one brings.
    """

    __repr__ = fitting_repr

    op: Operation
    group: tuple[int, ...]
    brings: RuntimeValue


@attrs.frozen
class Jump:
    """What a terminator with successors evaluates to: evaluation goes on in another block of its region.

    Attributes:
        block: one of its successors.
        arguments: one value per argument of the block.
    """

    __repr__ = fitting_repr

    block: Block
    arguments: Sequence[RuntimeValue]


Asking: TypeAlias = Generator[Enter | Meet, Sequence[RuntimeValue], Sequence[RuntimeValue]]
"""A generator that yields an `Enter` for each block to run, or a `Meet`, and returns the results of the operation."""

Outcome: TypeAlias = Sequence[RuntimeValue] | Asking | Jump
"""The results of an operation, at once or after running blocks; or where a branch goes."""


class Evaluator(Protocol):
    """What `Evaluate.evaluate` may ask of the evaluation it takes part in."""

    @property
    def program(self) -> Program:
        """The program being evaluated; its weight store is where `set_parameter` writes."""
        ...

    @property
    def precision(self) -> Precision:
        """The precision of the evaluation."""
        ...

    @property
    def replica(self) -> int:
        """The number of this evaluation among those that run together; 0 for one that runs alone."""
        ...

    @property
    def variables(self) -> dict[str, Storage]:
        """The storage of each variable that this evaluation writes or may write; the others are as in the store."""
        ...

    @property
    def places(self) -> dict[Operation, Sequence[NDArray[Any]]]:
        """For each operation whose region runs for each place of a grid: the number of that in each dimension."""
        ...

    @property
    def globals(self) -> dict[str, RuntimeValue]:
        """What the globals of the module hold by name, once this evaluation has looked at one."""
        ...

    def resolve(self, op: Operation, symbol: SymbolReference) -> Operation | None:
        """What `op` means by a symbol, or None; O(1), however many there are."""
        ...

    def feed(self, name: str, type_: RankedTensor) -> NDArray[Any] | TensorRef:
        """The caller's input `name`: what it holds now, or for a `tensor` its storage.

        Raises EvaluationError if it does not fit.
        """
        ...

    def fetch(self, name: str, value: RuntimeValue, element: ScalarType) -> None:
        """Give a value to the caller as output `name`. Raises EvaluationError if the name is taken."""
        ...


class Evaluate(Interface):
    """Evaluates an operation with regions, calls or effects. An operation with `Compute` alone does not need it.

    An operation with a region is evaluated inline by a generator:

        @Evaluate.implement(GroupOp)
        class GroupEvaluate(Model[GroupOp], Evaluate):
            def evaluate(self, evaluator, operands):
                return (yield Enter(self.op.body.block, operands))

    Blocks nested in regions see the values around them. A terminator with successors gives a `Jump`.
    """

    __slots__ = ()

    @abstractmethod
    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        """The results from the operands; both are in the working precision."""
        raise NotImplementedError  # declares the method; those that inherit define it
