"""Interfaces: methods that op classes implement inline by inheriting, or that another package attaches to them."""

# An interface attaches itself to the table of an op's info.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .attributes import Attribute
from .types import Type
from .value import Value

if TYPE_CHECKING:
    from .operation import Operation

OpT = TypeVar("OpT", bound="Operation")
ModelT = TypeVar("ModelT")


class Interface:
    """Base of interfaces. Ask with `op.interface(I)`: an object with I's methods, or None; one dict lookup.

    An op class implements it by inheriting from it. Another package attaches it from outside:

        @Compute.implement(GemmOp)
        class GemmCompute(Model[GemmOp], Compute):
            def compute(self, lhs, rhs): ...self.op...
    """

    __slots__ = ()

    @classmethod
    def implement(cls, *op_classes: type[Operation]) -> Callable[[type[ModelT]], type[ModelT]]:
        """Attach the decorated `Model` to op classes. Raises TypeError when one implements the interface already."""

        def attach(model: type[ModelT]) -> type[ModelT]:
            for op_class in op_classes:
                cls.attach(op_class, model)
            return model

        return attach

    @classmethod
    def attach(cls, op_class: type[Operation], model: type[Any]) -> None:
        """Let `model(op)` answer for `cls` on operations of `op_class`.

        Raises:
        ------
            TypeError: `op_class` has an implementation already, or `model` lacks a method of the interface.
        """
        table = op_class.info.interfaces
        if cls in table:
            raise TypeError(f"{op_class.info.name} implements {cls.__name__} already, in {table[cls].__qualname__}")
        missing = [n for n, f in vars(cls).items() if callable(f) and not n.startswith("_") and not hasattr(model, n)]
        if missing:
            raise TypeError(f"{model.__name__} lacks {', '.join(missing)} of {cls.__name__}")
        table[cls] = model


class Model(Generic[OpT]):
    """Base of interface implementations that live outside the op class: `self.op` is the operation."""

    __slots__ = ("op",)

    def __init__(self, op: OpT) -> None:
        self.op = op


class InferTypes(Interface):
    """Gives the result types. They depend on operand types and attributes alone: it is asked once for each."""

    __slots__ = ()

    def infer_types(self) -> Sequence[Type]:
        """The types of the results. Raises VerifyError when the operands do not fit."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Compute(Interface):
    """Evaluates the operation in NumPy: the reference semantics."""

    __slots__ = ()

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """The result array, or a tuple of them, from the operand arrays.

        Floats come and go in the working precision (float32 or float64); the interpreter rounds to the declared types.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Fold(Interface):
    """Simplifies an operation with one result without making new operations."""

    __slots__ = ()

    def fold(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        """A value that equals the result, a constant for it, or None. `operands` holds the constants among them."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Fallible(Interface):
    """A `Pure` operation whose evaluation may end in an error: it must not run where the program would not run it."""

    __slots__ = ()

    def can_fail(self) -> bool:
        """Whether it may fail, for some content of its operands. Those without this interface never do."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Branch(Interface):
    """A terminator that goes to one of its successors, and gives values to the arguments of that block."""

    __slots__ = ()

    def successor_operands(self, index: int) -> Sequence[Value]:
        """The operands that become the arguments of successor `index`, in order."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class ParameterAccess(Interface):
    """Reads or writes variables of the program's `WeightStore`."""

    __slots__ = ()

    def parameter_reads(self) -> Mapping[str, Type]:
        """Names of the variables it reads, and the types it reads them as."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def parameter_writes(self) -> Mapping[str, Type]:
        """Names of the variables that it may write, or lets others write through an alias; and their types."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class SymbolUser(Interface):
    """Names symbols of the symbol table around it, as a call names its function."""

    __slots__ = ()

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        """Checks the use of symbols, given the definitions of the nearest table around by name.

        The verifier calls it, with a table made once, where there is a table. Raises `VerifyError`.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it


class MemoryEffects(Interface):
    """Says what storage an operation reads and writes."""

    __slots__ = ()

    def effects(self) -> Any:
        """The effects, in the terms of the dialect (values for tensors, byte ranges for instructions)."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class ViewLike(Interface):
    """Every result shows elements of the first operand, unchanged, at other places; on a `tensor` it shares storage."""

    __slots__ = ()

    def forward(self, base: Value) -> Sequence[Value]:
        """The same views of another base of the operand's shape: new operations on `base`, one value per result."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        """Scatter back: `base` where the elements that result `index` shows are those of `value`; new operations."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Grad(Interface):
    """Differentiates the operation in reverse."""

    __slots__ = ()

    def grad(self, cotangents: Sequence[Value | None]) -> Sequence[Value | None]:
        """The gradient of a scalar by each operand, from its gradient by each result (None: it does not depend on it).

        Builds operations at the active `Builder`; gradients have the operands' shapes. None for an operand: no gradient
        flows to it.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it
