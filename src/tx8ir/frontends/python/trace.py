"""Tracing: a Python function is called with values of a program, and what it does with them is the program."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Builder,
    FunctionType,
    IrError,
    NamedLocation,
    Operation,
    Program,
    RankedTensor,
    Type,
    Value,
    VTensorType,
    at_location,
    detached,
    relaxed_gc,
)
from tx8ir.core.ir.value import as_value
from tx8ir.core.location import FileLocation, source_file
from tx8ir.dialects import func
from tx8ir.dialects.pd.promotion import constant, element_of
from tx8ir.transforms import ExternalizeConstants

from .trees import Path, leaves, mapped, structure

P = ParamSpec("P")
R = TypeVar("R")


class Function(Generic[P, R]):
    """A Python function of arrays.

    `program(...)` is the program that it describes for such arguments. Called with values, inside the function of
    another program, it is the Python function; called with arrays, it traces itself and evaluates the program with the
    reference interpreter. `tx8ir.jit` compiles it.

    Arrays, also inside lists, tuples and dictionaries, are inputs of the program, named after the parameters
    (`params.w`); a `Type` in place of an array says what it will be. Everything else (numbers, texts, None, objects)
    is what it is while the function runs, and does not come into the program.
    """

    def __init__(self, python: Callable[P, R]) -> None:
        self.python = python
        functools.update_wrapper(self, python)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if any(isinstance(leaf, (Value, Operation)) for _, leaf in leaves((args, kwargs))):
            return self.python(*args, **kwargs)
        from tx8ir.interpreter import evaluate  # here, because tracing does without

        traced = Trace(self, args, kwargs)
        outputs = evaluate(traced.program, traced.feeds(traced.arrays))
        return traced.result(outputs)

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program that the function describes for these arguments: arrays, or types in their place.

        Raises:
            IrError: it does something with a value that has no meaning, or gives what is not a tensor.
            What the function raises.
        """
        return Trace(self, args, kwargs).program

    def __repr__(self) -> str:
        return f"<tx8ir.function {self.python.__qualname__}{inspect.signature(self.python)}>"


def function(python: Callable[P, R]) -> Function[P, R]:
    """Makes a Python function of arrays one that can be traced: a decorator. See `Function`."""
    if isinstance(python, Function):
        return cast("Function[P, R]", python)
    if not callable(python):
        raise TypeError(f"tx8ir.function takes a Python function, not {python!r}")
    return Function(python)


class Trace:
    """A function traced for arguments of one kind: its program, and how arguments and results belong to it."""

    def __init__(self, of: Function[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        bound = inspect.signature(of.python).bind(*args, **kwargs)
        bound.apply_defaults()
        given = list(leaves(bound.arguments))
        self.arrays = [leaf for _, leaf in given if is_input(leaf)]
        self.names = _names([path for path, leaf in given if is_input(leaf)])
        types = [type_of(leaf) for leaf in self.arrays]
        self.program = Program.empty()
        code = getattr(of.python, "__code__", None)
        location = FileLocation(source_file(code), code.co_firstlineno, 1) if code is not None else None
        with detached(), relaxed_gc():
            main = func.func(sym_name="main", function_type=FunctionType(types, ()), arg_names=tuple(self.names))
            if location is not None:
                main.location = NamedLocation(of.python.__name__, location)
            self.program.body.append(main)
            block = main.body.block
            values = iter(block.args)
            arguments = mapped(bound.arguments, lambda leaf: next(values) if is_input(leaf) else leaf)
            with Builder.at_end(block):
                call = inspect.BoundArguments(bound.signature, arguments)
                self._outcome = of.python(*call.args, **call.kwargs)
                with at_location(main.location):
                    results = [_result(leaf, path, of) for path, leaf in leaves(self._outcome)]
                    func.return_(results)
        main.function_type = FunctionType(types, [value.type for value in results])
        self.result_names = _names([path or ("result",) for path, _ in leaves(self._outcome)])
        main.result_names = tuple(self.result_names)
        self.program.verify()
        ExternalizeConstants().run(self.program)

    def feeds(self, arrays: list[Any]) -> dict[str, NDArray[Any]]:
        """Arrays by the name of their input, of the types that it declares."""
        return {
            name: np.asarray(array).astype(cast(RankedTensor, kind).element.dtype)
            for array, (name, kind) in zip(arrays, self.program.inputs.items(), strict=True)
        }

    def result(self, outputs: Mapping[str, NDArray[Any]]) -> Any:
        """The outputs of the program, nested as the function gave them."""
        by_order = iter([outputs[name] for name in self.result_names])
        return mapped(self._outcome, lambda _: next(by_order))


def kind_of_arguments(
    of: Function[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, list[Any]]:
    """What a trace depends on, to be compared and hashed, and the arrays that it does not depend on.

    Raises TypeError for an argument that is neither an array nor hashable.
    """
    bound = inspect.signature(of.python).bind(*args, **kwargs)
    bound.apply_defaults()
    given = [leaf for _, leaf in leaves(bound.arguments)]
    arrays = [leaf for leaf in given if is_input(leaf)]
    kinds = tuple([type_of(leaf) if is_input(leaf) else _fixed(leaf) for leaf in given])
    return (structure(bound.arguments), kinds), arrays


def _fixed(leaf: Any) -> tuple[type[Any], Any]:
    """An argument that is not an input: 1, 1.0 and True are different ones."""
    try:
        hash(leaf)
    except TypeError:
        raise TypeError(f"an argument is an array, or else hashable, and not {leaf!r}") from None
    return (cast("type[Any]", type(leaf)), leaf)


def is_input(leaf: object) -> bool:
    """Whether an argument is an array, or a type in its place."""
    return isinstance(leaf, Type) or (hasattr(leaf, "__array__") and not isinstance(leaf, (Value, Operation)))


def type_of(leaf: Any) -> Type:
    """The type of the input that stands for an argument: float64 counts as f32, as `element_of` says."""
    if isinstance(leaf, Type):
        return leaf
    array = np.asarray(leaf)
    return VTensorType(array.shape, element_of(array))


def _names(paths: list[Path]) -> list[str]:
    """Names of inputs or outputs: the way to each, and for the same way a number more."""
    found: list[str] = []
    for path in paths:
        name = ".".join(path) if not path[0].isdigit() else "result" + ".".join(path)
        found.append(name if name not in found else f"{name}_{len(found)}")
    return found


def _result(leaf: Any, path: Path, of: Function[..., Any]) -> Value:
    """A part of what the function gave as a value. Raises IrError when it cannot be one."""
    if isinstance(leaf, (Value, Operation)):
        return as_value(leaf, "a result")
    if isinstance(leaf, (bool, int, float, np.generic, np.ndarray)):
        return constant(np.asarray(leaf))
    where = f" at {'.'.join(path)}" if path else ""
    raise IrError(f"{of.python.__qualname__} gives {leaf!r}{where}; expected tensors, nested in lists or dictionaries")


__all__ = ["Function", "Trace", "function", "is_input", "kind_of_arguments", "type_of"]
