"""`Evaluate` for the operations that read and write something outside of them, and for calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Model, RankedTensor, ScalarType, TensorType, Type
from tx8ir.dialects import builtin, func, pd

from .arrays import EvaluationError, load, store_native
from .interfaces import Asking, Enter, Evaluate, Evaluator, Outcome, RuntimeValue
from .storage import Storage, TensorRef, array_of


def _element(type_: Type) -> ScalarType:
    if not isinstance(type_, RankedTensor):
        raise EvaluationError(f"has a value of type {type_}; expected a tensor")
    return type_.element


def read_variable(evaluator: Evaluator, name: str, type_: Type) -> NDArray[Any] | TensorRef:
    """A variable: for a vtensor what it holds now, for a tensor its storage.

    Raises:
        EvaluationError: it is missing or of another type.
    """
    if not isinstance(type_, RankedTensor):
        raise EvaluationError(f"reads variable {name!r} as {type_}; expected a tensor")
    storage = evaluator.variables.get(name)
    if storage is None:
        weights = evaluator.program.weights
        if name not in weights:
            raise EvaluationError(f"reads variable {name!r}, which the program's weights do not have")
        variable = weights[name]
        if variable.type.to_tensor() is not type_.to_tensor():
            raise EvaluationError(f"reads variable {name!r} as {type_}; it is {variable.type}")
        array = np.asarray(load(variable.numpy(), type_.element, evaluator.precision), order="C")
        if not isinstance(type_, TensorType):
            return array  # nobody writes it: who does works on a storage of its own
        storage = evaluator.variables[name] = Storage(array)
    elif storage.shape != type_.shape:
        raise EvaluationError(f"reads variable {name!r} as {type_}; it has shape {list(storage.shape)}")
    whole = storage.whole()
    return whole if isinstance(type_, TensorType) else whole.snapshot()


def check_writable(evaluator: Evaluator, name: str, type_: Type) -> None:
    """Raise EvaluationError if a variable cannot take a value of `type_`: another type, or not mutable."""
    if not isinstance(type_, RankedTensor):
        raise EvaluationError(f"writes variable {name!r} with a value of type {type_}; expected a tensor")
    variable = evaluator.program.weights.get(name)
    if variable is not None and not variable.is_mutable:
        raise EvaluationError(f"writes variable {name!r}, which is not mutable (Variable.is_mutable)")
    if variable is not None and variable.type.to_tensor() is not type_.to_tensor():
        raise EvaluationError(f"writes variable {name!r} with a {type_}; it is {variable.type}")


def write_variable(evaluator: Evaluator, name: str, type_: Type, value: RuntimeValue) -> None:
    """Make a value the content of a variable, which tensors on it then show, or of a new mutable one.

    The store has it when the run ends.

    Raises:
        EvaluationError: the variable is not mutable, or of another type.
    """
    check_writable(evaluator, name, type_)
    content = array_of(value)
    storage = evaluator.variables.get(name)
    if storage is None or storage.shape != content.shape:
        evaluator.variables[name] = Storage(content)
    else:
        storage.whole().write(content)
    weights = evaluator.program.weights
    if name not in weights:
        element = _element(type_)
        weights.add(name, store_native(content, element), TensorType(content.shape, element), is_mutable=True)


@Evaluate.implement(pd.FeedOp)
class FeedEvaluate(Model[pd.FeedOp], Evaluate):
    """Reads an input of the program."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        type_ = self.op.out.type
        if not isinstance(type_, RankedTensor):
            raise EvaluationError(f"has a result of type {type_}; expected a tensor")
        return (evaluator.feed(self.op.feed_name, type_),)


@Evaluate.implement(pd.FetchOp)
class FetchEvaluate(Model[pd.FetchOp], Evaluate):
    """Gives an output of the program."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        evaluator.fetch(self.op.fetch_name, operands[0], _element(self.op.x.type))
        return ()


@Evaluate.implement(builtin.GetParameterOp)
class GetParameterEvaluate(Model[builtin.GetParameterOp], Evaluate):
    """Reads a variable of the program's store."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        return (read_variable(evaluator, self.op.parameter, self.op.out.type),)


@Evaluate.implement(builtin.SetParameterOp)
class SetParameterEvaluate(Model[builtin.SetParameterOp], Evaluate):
    """Replaces the data of a variable of the program's store, rounded to the declared format, or adds a variable."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        write_variable(evaluator, self.op.parameter, self.op.value.type, operands[0])
        return ()


@Evaluate.implement(builtin.GetCombineParameterOp)
class GetCombineParameterEvaluate(Model[builtin.GetCombineParameterOp], Evaluate):
    """Reads several variables of the program's store."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        return (tuple(read_variable(evaluator, name, t) for name, t in self.op.parameter_reads().items()),)


@Evaluate.implement(builtin.SetCombineParameterOp)
class SetCombineParameterEvaluate(Model[builtin.SetCombineParameterOp], Evaluate):
    """Writes several variables of the program's store: all, or none when one of them cannot be written."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        targets = self.op.parameter_writes()
        for name, type_ in targets.items():
            check_writable(evaluator, name, type_)
        for (name, type_), value in zip(targets.items(), cast("tuple[RuntimeValue, ...]", operands[0]), strict=True):
            write_variable(evaluator, name, type_, value)
        return ()


@Evaluate.implement(func.CallOp)
class CallEvaluate(Model[func.CallOp], Evaluate):
    """Runs the body of the function that is called."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        function = evaluator.resolve(self.op, self.op.callee)
        if not isinstance(function, func.FuncOp):
            raise EvaluationError(f"calls {self.op.callee}, which the module does not define")
        return (yield Enter(function.body.block, operands))
