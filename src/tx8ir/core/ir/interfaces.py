"""Interfaces: methods that op classes implement inline by inheriting, or that another package attaches to them."""

# An interface attaches itself to the table of an op's info.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tx8ir.core.attrs.attributes import Attribute
from tx8ir.core.attrs.extensible import Extensible
from tx8ir.core.attrs.types import Type
from tx8ir.core.errors import IrError

from .value import Value

if TYPE_CHECKING:
    from .operation import Operation
    from .symbol_table import Symbols

OpT = TypeVar("OpT", bound="Operation")
ModelT = TypeVar("ModelT")
TypeT = TypeVar("TypeT", bound=Type)
AttributeT = TypeVar("AttributeT", bound=Attribute)


class InterfaceError(IrError, TypeError):
    """An implementation of an interface that cannot be registered."""


class Interface:
    """Base of interfaces. Ask with `op.interface(I)`: an object with I's methods, or None; one dict lookup.

    Its abstract methods (`abc.abstractmethod`) must be implemented, the others may be; a model that implements none is
    refused. An op class implements it by inheriting from it. Another package attaches it from outside:

        @Compute.implement(GemmOp)
        class GemmCompute(Model[GemmOp], Compute):
            def compute(self, lhs, rhs): ...self.op...

    Attached to a base without a name, it answers for the whole family: for every operation derived from that base, now
    or later, that has no implementation of its own.

    Types and attributes have interfaces too: `type.interface(I)`, by inheriting from it, or by a `TypeModel` or an
    `AttributeModel` that is attached to their class, for those derived from it too.
    """

    __slots__ = ()

    @classmethod
    def implement(cls, *op_classes: type[Operation | Extensible]) -> Callable[[type[ModelT]], type[ModelT]]:
        """Attach the decorated model to classes of operations, types or attributes. Raises as `attach` does."""

        def attach(model: type[ModelT]) -> type[ModelT]:
            for op_class in op_classes:
                cls.attach(op_class, model)
            return model

        return attach

    @classmethod
    def attach(cls, op_class: type[Operation | Extensible], model: type[Any]) -> None:
        """Let `model(op)` answer for `cls` on operations of `op_class`, and of a family those derived from it.

        For a class of types or attributes `model(type)` answers on those of it, and of classes derived from it.

        Raises:
        ------
            InterfaceError: `op_class` has an implementation already, or `model` lacks a method of the interface.
        """
        if issubclass(op_class, Extensible):
            cls._attach_to_values(op_class, model)
            return
        info = op_class.info
        if cls in info.interfaces and cls not in info.inherited:
            raise InterfaceError(
                f"{info.name or op_class.__name__} implements {cls.__name__} already, "
                f"in {info.interfaces[cls].__qualname__}"
            )
        require_implemented(cls, model)
        info.interfaces[cls] = model
        info.inherited.discard(cls)
        derived = [] if info.name else op_class.__subclasses__()
        while derived:
            kind = derived.pop()
            if cls in kind.info.interfaces and cls not in kind.info.inherited:
                continue  # what it has of its own goes for those derived from it too
            kind.info.interfaces[cls] = model
            kind.info.inherited.add(cls)
            derived += [] if kind.info.name else kind.__subclasses__()

    @classmethod
    def _attach_to_values(cls, kind: type[Extensible], model: type[Any]) -> None:
        own: dict[type, type] | None = kind.__dict__.get("attached")
        if issubclass(kind, cls) or (own is not None and cls in own):
            by = kind if own is None or cls not in own else own[cls]
            raise InterfaceError(f"{kind.__name__} implements {cls.__name__} already, in {by.__qualname__}")
        require_implemented(cls, model)
        if own is None:
            own = kind.attached = {}
        own[cls] = model


def require_implemented(interface: type[Interface], model: type[Any]) -> None:
    """Raise InterfaceError when `model` leaves out an abstract method of `interface`, or all of its methods."""
    methods = {
        name: method
        for base in reversed(interface.__mro__)
        if issubclass(base, Interface) and base is not Interface
        for name, method in vars(base).items()
        if callable(method) and not name.startswith("_")
    }
    absent = [name for name in methods if getattr(model, name, None) in (None, methods[name])]
    abstract = [n for n in absent if not hasattr(model, n) or getattr(methods[n], "__isabstractmethod__", False)]
    missing = absent if len(absent) == len(methods) else abstract
    if missing:
        raise InterfaceError(f"{model.__name__} lacks {', '.join(missing)} of {interface.__name__}")


class Model(Generic[OpT]):
    """Base of interface implementations that live outside the op class: `self.op` is the operation."""

    __slots__ = ("op",)

    def __init__(self, op: OpT) -> None:
        self.op = op


class TypeModel(Generic[TypeT]):
    """Base of interface implementations that live outside the class of a type: `self.type` is the type."""

    __slots__ = ("type",)

    def __init__(self, type: TypeT) -> None:
        self.type = type


class AttributeModel(Generic[AttributeT]):
    """Base of interface implementations that live outside the class of an attribute: `self.attribute` is it."""

    __slots__ = ("attribute",)

    def __init__(self, attribute: AttributeT) -> None:
        self.attribute = attribute


def operation_of(interface: Interface) -> Operation:
    """The operation that an implementation of an interface answers for."""
    found: Any = interface
    return found.op if isinstance(interface, Model) else found


class InferTypes(Interface):
    """Gives the result types. They depend on operand types and attributes alone: it is asked once for each."""

    __slots__ = ()

    @abstractmethod
    def infer_types(self) -> Sequence[Type]:
        """The types of the results. Raises VerifyError when the operands do not fit."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Compute(Interface):
    """Evaluates the operation in NumPy: the reference semantics."""

    __slots__ = ()

    @abstractmethod
    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """The result array, or a tuple of them, from the operand arrays.

        Floats come and go in the working precision (float32 or float64); the interpreter rounds to the declared types.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Fold(Interface):
    """Simplifies an operation with one result without making new operations."""

    __slots__ = ()

    @abstractmethod
    def fold(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        """A value that equals the result, a constant for it, or None. `operands` holds the constants among them."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class ConstantMaterialization(Interface):
    """An operation that folds to constants of its own dialect, where others fold to `builtin.constant`."""

    __slots__ = ()

    @abstractmethod
    def materialize(self, constant: Attribute, type: Type) -> Operation | None:
        """A detached operation with that constant as its result, or None when there is none."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class ConditionallySpeculatable(Interface):
    """A `Pure` operation whose evaluation may end in an error: it must not run where the program would not run it."""

    __slots__ = ()

    @abstractmethod
    def can_fail(self) -> bool:
        """Whether it may fail, for some content of its operands. Those without this interface never do."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Branch(Interface):
    """A terminator that goes to one of its successors, and gives values to the arguments of that block."""

    __slots__ = ()

    @abstractmethod
    def successor_operands(self, index: int) -> Sequence[Value]:
        """The operands that become the arguments of successor `index`, in order.

        Those of all successors are the last operands, in the order of the successors.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def possible_successors(self, operands: Sequence[Attribute | None]) -> Sequence[int]:
        """The indices of the successors that it may go to when some operands are known: the constant for each, or None.

        By default all of them.
        """
        return range(len(operation_of(self).successors))

    def set_successor_operands(self, operands: Sequence[Sequence[Value]]) -> None:
        """Give other values to the arguments of each successor, whose number may change.

        By default all operands that go to successors are replaced; an operation that says in an attribute how they are
        divided changes that as well.
        """
        op = operation_of(self)
        passed = sum(len(self.successor_operands(index)) for index in range(len(op.successors)))
        decides = op.operands[: len(op.operands) - passed]
        op.set_operands([*decides, *(value for group in operands for value in group)])


class ParameterAccess(Interface):
    """Reads or writes variables of the program's `WeightStore`."""

    __slots__ = ()

    @abstractmethod
    def parameter_reads(self) -> Mapping[str, Type]:
        """Names of the variables it reads, and the types it reads them as."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    @abstractmethod
    def parameter_writes(self) -> Mapping[str, Type]:
        """Names of the variables that it may write, or lets others write through an alias; and their types."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class SymbolUser(Interface):
    """Names symbols of the symbol table around it, as a call names its function."""

    __slots__ = ()

    @abstractmethod
    def verify_symbols(self, symbols: Symbols) -> None:
        """Checks the use of symbols, given the definitions of the nearest table around by name.

        `symbols.resolve` finds what a reference into tables inside of it, as `@library::@function`, stands for.

        The verifier calls it, with a table made once, where there is a table. Raises `VerifyError`.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it


class ViewLike(Interface):
    """Every result shows elements of the first operand, unchanged, at other places; on a `tensor` it shares storage."""

    __slots__ = ()

    @abstractmethod
    def forward(self, base: Value) -> Sequence[Value]:
        """The same views of another base of the operand's shape: new operations on `base`, one value per result."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    @abstractmethod
    def inverse(self, base: Value, index: int, value: Value) -> Value:
        """Scatter back: `base` where the elements that result `index` shows are those of `value`; new operations."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def has_disjoint_results(self) -> bool:
        """Whether no element is shown by two results, so that writing through one leaves the others as they are."""
        return False


class Grad(Interface):
    """Differentiates the operation in reverse."""

    __slots__ = ()

    @abstractmethod
    def grad(self, cotangents: Sequence[Value | None]) -> Sequence[Value | None]:
        """The gradient of a scalar by each operand, from its gradient by each result (None: it does not depend on it).

        Builds operations at the active `Builder`; gradients have the operands' shapes. None for an operand: no gradient
        flows to it.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it
