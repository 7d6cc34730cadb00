"""The reference evaluator: runs a program block by block, iteratively, and frees every value after its last use."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.core import (
    Block,
    Compute,
    DictType,
    Inplace,
    IrError,
    ListType,
    Operation,
    Program,
    Pure,
    RankedTensor,
    ScalarType,
    TensorType,
    Terminator,
    TupleType,
    Type,
    Value,
    ViewLike,
    VTensorType,
    WeightStore,
)
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.core.ir.symbol_table import SymbolReference, SymbolTables
from tx8ir.dialects import func, pd

from .arrays import EvaluationError, check_input, fits_shape, load, round_result, store, store_native
from .interfaces import (
    Asking,
    Enter,
    Evaluate,
    Jump,
    Meet,
    Outcome,
    Precision,
    PrecisionLike,
    RuntimeValue,
    precision_of,
)
from .meetings import Running, together
from .settling import settle
from .storage import Storage, TensorRef, array_of

Observer: TypeAlias = Callable[[Operation, tuple[RuntimeValue, ...]], None]
"""Called after each operation with its results, which are in the working precision and must not be changed."""

Computer: TypeAlias = Callable[[Operation, Callable[..., Any], Sequence[RuntimeValue]], Any]
"""Called in place of `Compute.compute` with the operation, that function and its arguments; gives what it gives. What
perturbs a computation, to see what it depends on, is one."""


def evaluate(
    program: Program, inputs: Mapping[str, ArrayLike], precision: PrecisionLike = "native"
) -> dict[str, NDArray[Any]]:
    """Run `main` of `program`; see `Interpreter`."""
    return Interpreter(program, precision).run(inputs)


def run_startup(program: Program, inputs: Mapping[str, ArrayLike] | None = None) -> WeightStore:
    """Run `main` of a startup program, which writes parameters, and give the store that it filled: its own.

        main.weights = run_startup(startup)

    Raises:
        EvaluationError: see `Interpreter.run`; also when the program has outputs, which nobody would see.
    """
    if program.outputs:
        raise EvaluationError(f"a startup program has no outputs, this one gives {', '.join(program.outputs)}")
    evaluate(program, inputs or {})
    return program.weights


class _Step:
    """One operation of a block, with what evaluating it needs, found once per block."""

    __slots__ = (
        "compute",
        "dying",
        "evaluate",
        "inplace",
        "is_constant",
        "is_terminator",
        "kept",
        "op",
        "operands",
        "results",
        "shares",
        "views",
    )

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.operands = op.operands
        self.results = op.results
        self.dying: list[Value] = [r for r in op.results if not r.has_uses]
        self.evaluate = op.interface(Evaluate)
        self.is_terminator = op.has_trait(Terminator) and not op.successors and self.evaluate is None
        self.compute = op.interface(Compute) if self.evaluate is None else None
        self.inplace = op.has_trait(Inplace)
        self.views = (
            bool(op.operands) and isinstance(op.operands[0].type, TensorType) and ViewLike in op.info.interfaces
        )
        self.shares = any(isinstance(v.type, (ListType, DictType)) for v in (*op.operands, *op.results))
        self.is_constant = (
            self.compute is not None and not op.operands and len(op.results) == 1
            and isinstance(op.results[0].type, VTensorType) and op.has_trait(Pure)
        )  # fmt: skip
        self.kept: NDArray[Any] | None = None
        """What a constant is: computed once, in however many runs and iterations it stands."""


_KEPT_BYTES = 4096
"""Constants up to this size are kept from run to run; a large one takes memory only while it is used."""


def _plan(entry: Block) -> dict[Block, list[_Step]]:
    """The steps of all blocks of the region of `entry`, and of those inside; one walk, O(size).

    A value dies with the last operation of its block that uses it or has a user inside. One that is used in another
    block of its region lives on.
    """
    plans: dict[Block, list[_Step]] = {}
    current: dict[Block, _Step] = {}  # of each block around the operation looked at: the step that this is part of
    last: dict[Value, _Step] = {}
    escaping: set[Value] = set()
    region = entry.parent
    work = [(block, iter(block)) for block in reversed(region.blocks if region is not None else (entry,))]
    while work:
        block, ops = work[-1]
        op = next(ops, None)
        if op is None:
            work.pop()
            current.pop(block, None)
            plans.setdefault(block, [])
            continue
        step = current[block] = _Step(op)
        plans.setdefault(block, []).append(step)
        for value in step.operands:
            user = current.get(cast(Block, value.parent_block))
            if user is None:
                escaping.add(value)
            else:
                last[value] = user
        for inner in reversed(op.regions):
            work += [(b, iter(b)) for b in reversed(inner.blocks)]
    for value, step in last.items():
        if value not in escaping:
            step.dying.append(value)
    return plans


class _Frame:
    """A block that is being evaluated: the steps left, the values alive, and what waits for a block inside it.

    The frames of a function and of the blocks inside it share one table of values: no block runs twice at a time
    there.
    """

    __slots__ = ("asker", "space", "steps", "values", "waiting")

    def __init__(self, values: dict[Value, RuntimeValue], space: tuple[int, ...] | None = None) -> None:
        self.space = space
        self.steps: Iterator[_Step] = iter(())
        self.values = values
        self.waiting: _Step | None = None
        self.asker: Asking | None = None

    def enter(self, steps: Sequence[_Step], block: Block, arguments: Sequence[RuntimeValue]) -> None:
        """Start with the first step of a block. Raises EvaluationError when it takes another number of arguments."""
        taken = block.args
        if len(arguments) != len(taken):
            raise EvaluationError(f"gives {len(arguments)} values to a block of {len(taken)} arguments")
        self.steps = iter(steps)
        self.values.update((a, v) for a, v in zip(taken, arguments, strict=True) if a.has_uses)

    def read(self, values: Sequence[Value]) -> list[RuntimeValue]:
        """The values, defined in this block or in one around it."""
        known = self.values
        try:
            return [known[value] for value in values]
        except KeyError:
            raise EvaluationError("uses a value that is not computed yet; verify the program") from None

    def forget(self, step: _Step) -> None:
        """Free the values that nobody uses after `step`."""
        for value in step.dying:
            self.values.pop(value, None)


@attrs.define(eq=False)
class _Run:
    """What one evaluation takes from its caller and gives to it; an `Evaluator`."""

    program: Program
    precision: Precision
    inputs: Mapping[str, ArrayLike]
    replica: int = 0
    outputs: dict[str, NDArray[Any]] = attrs.field(factory=dict[str, NDArray[Any]])
    variables: dict[str, Storage] = attrs.field(factory=dict[str, Storage])
    feeds: dict[str, Storage] = attrs.field(factory=dict[str, Storage])
    places: dict[Operation, Sequence[NDArray[Any]]] = attrs.field(factory=dict[Operation, Any])
    globals: dict[str, RuntimeValue] = attrs.field(factory=dict[str, Any])
    _tables: SymbolTables = attrs.field(factory=SymbolTables, init=False)

    def resolve(self, op: Operation, symbol: SymbolReference) -> Operation | None:
        return self._tables.resolve(op, symbol)

    def feed(self, name: str, type_: RankedTensor) -> NDArray[Any] | TensorRef:
        storage = self.feeds.get(name)
        if storage is None:
            if name not in self.inputs:
                raise EvaluationError(f"missing input {name!r}")
            given = np.asarray(check_input(name, self.inputs[name], type_, self.precision), order="C")
            if not isinstance(type_, TensorType):
                return given
            storage = self.feeds[name] = Storage(given)
        elif not fits_shape(storage.shape, type_):
            raise EvaluationError(f"reads input {name!r} as {type_}; it has shape {list(storage.shape)}")
        whole = storage.whole()
        return whole if isinstance(type_, TensorType) else whole.snapshot()

    def fetch(self, name: str, value: RuntimeValue, element: ScalarType) -> None:
        if name in self.outputs:
            raise EvaluationError(f"output {name!r} is given twice")
        # A copy: the array may be a view of an input or of a weight.
        self.outputs[name] = np.array(store(array_of(value), element, self.precision), order="C")

    def final_feeds(self, types: Mapping[str, RankedTensor]) -> dict[str, NDArray[Any]]:
        """What each input holds now, in the dtypes of results."""
        contents: dict[str, NDArray[Any]] = {}
        for name, type_ in types.items():
            value = self.feed(name, type_.to_vtensor())
            contents[name] = np.array(store(array_of(value), type_.element, self.precision), order="C")
        return contents

    def write_back(self) -> dict[str, NDArray[Any]]:
        """Put what the variables hold into the store, rounded to their formats; returns it in the dtypes of results."""
        contents: dict[str, NDArray[Any]] = {}
        for name, storage in self.variables.items():
            variable = self.program.weights[name]
            held, element = storage.whole().read(), variable.type.element
            contents[name] = np.array(store(held, element, self.precision))
            data = store_native(held, element)
            if data.tobytes() != variable.numpy().tobytes():
                variable.data = data
        return contents


class Interpreter:
    """Evaluates a program through the `Compute` and `Evaluate` interfaces of its operations.

    Nothing recurses: depth of calls and regions is bounded by memory only. A value is freed after its last use.

    A `!pd.tensor` is a place in storage: its aliases see what is written through any of them. Inputs are copied first,
    so that the caller's arrays stay as they are; a program that writes an input leaves the result in `feeds`.

    Attributes:
        feeds: after a run, the final contents of all inputs.
        parameters: after a run, the final contents of the variables that the program reads as tensors or writes.
        steps: how many operations the last run has evaluated, terminators included.
        entered: the blocks that runs have entered, of all runs so far.

    Args:
        program: what to run, verified. The graph must not change between runs. What it writes to variables is in
            `program.weights` when a run ends; a run that fails leaves them as they were.
        precision: see `Precision`.
        observer: called after each operation with its results.
        max_steps: after that many operations a run fails: a loop that may not end. None: no bound.
        computer: computes the operations that neither look at storage nor have regions or effects.
    """

    def __init__(
        self,
        program: Program,
        precision: PrecisionLike = "native",
        observer: Observer | None = None,
        *,
        max_steps: int | None = None,
        computer: Computer | None = None,
    ) -> None:
        self.program = program
        self.precision: Precision = precision_of(precision)
        self.observer = observer
        self.max_steps = max_steps
        self.computer = computer
        self.steps = 0
        self.feeds: Mapping[str, NDArray[Any]] = {}
        self.parameters: Mapping[str, NDArray[Any]] = {}
        self.entered: set[Block] = set()
        self._plans: dict[Block, list[_Step]] = {}

    def __repr__(self) -> str:
        return f"<Interpreter in {self.precision} of {self.program!r}>"

    def run(self, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
        """Evaluate `main` and give its results by name, and what `pd.fetch` put out.

        Floats have the declared dtype ("native") or float64 ("f64"), other elements their own dtype. The arrays are
        the caller's: they share nothing with inputs and weights.

        Args:
            inputs: an array for each argument of `main` and each `pd.feed` of the program, by name;
                `arrays.check_input` says what fits.

        Raises:
            EvaluationError: inputs that do not fit; an operation that has no way to be evaluated, or fails (an index
                out of range, say). It carries the operation and its location.
        """
        return together([self.start(inputs)])[0]

    def start(self, inputs: Mapping[str, ArrayLike], replica: int = 0) -> Running[dict[str, NDArray[Any]]]:
        """Evaluate `main` as one of several replicas: a generator that `together` runs with those of the others."""
        main, takes = self._main, self._takes
        for name in takes:
            if name not in inputs:
                raise EvaluationError(f"missing input {name!r}; {_signature(takes)}", main)
        for name in inputs:
            if name not in takes:
                raise EvaluationError(f"unknown input {name!r}; {_signature(takes)}", main)
        run = _Run(self.program, self.precision, inputs, replica)
        arguments = [run.feed(name, _tensor(name, takes[name])) for name in self._arguments]
        results = yield from self._run_block(main.body.block, arguments, run)
        types: tuple[Type, ...] = main.function_type.results
        if len(types) == 1 and isinstance(types[0], TupleType):  # a backend graph gives its outputs in one tuple
            types, results = types[0].elements, cast("tuple[RuntimeValue, ...]", results[0])
        names: tuple[str, ...] = main.result_names or tuple(f"result{i}" for i in range(len(types)))
        for name, type_, value in zip(names, types, results, strict=True):
            run.fetch(name, value, _tensor(name, type_).element)
        self.feeds = run.final_feeds({name: _tensor(name, type_) for name, type_ in takes.items()})
        self.parameters = run.write_back()
        return run.outputs

    @cached_property
    def _main(self) -> func.FuncOp:
        return self.program.main

    @cached_property
    def _arguments(self) -> Mapping[str, Type]:
        return self.program.inputs

    @cached_property
    def _takes(self) -> Mapping[str, Type]:
        """Names and types of what the program takes: arguments of `main`, and feeds."""
        feeds = {op.feed_name: op.out.type for op in self.program.module.walk() if isinstance(op, pd.FeedOp)}
        return {**self._arguments, **feeds}

    def _run_block(self, block: Block, arguments: Sequence[RuntimeValue], run: _Run) -> Running[Sequence[RuntimeValue]]:
        """The operands of the terminator of `block`. Frames are the call stack: nothing below recurses."""
        frames = [self._enter(Enter(block, arguments), {})]
        self.steps = 0
        while True:
            frame = frames[-1]
            step = next(frame.steps, None)
            self.steps += 1
            if self.max_steps is not None and self.steps > self.max_steps:
                raise EvaluationError(f"evaluates more than {self.max_steps} operations", step and step.op)
            operands: list[RuntimeValue] = []
            outcome: Outcome = operands
            if step is not None:
                try:
                    operands = frame.read(step.operands)
                    if not step.is_terminator:
                        outcome = self._start(step, operands, run, frame.space)
                except Exception as error:
                    raise _failure(step.op, error) from error
            if step is None or step.is_terminator:
                frames.pop()
                if step is not None:
                    frame.forget(step)
                if not frames:
                    return operands
                meet = self._resume(frames, operands)
                while meet is not None:
                    meet = self._resume(frames, (yield meet))
            elif _is_done(outcome):
                self._finish(frame, step, outcome)
            elif isinstance(outcome, Jump):
                frame.forget(step)
                self._jump(frame, step, outcome)
            elif isinstance(outcome, Generator):
                frame.waiting, frame.asker = step, outcome
                meet = self._resume(frames, None)
                while meet is not None:
                    meet = self._resume(frames, (yield meet))

    def _start(self, step: _Step, operands: list[RuntimeValue], run: _Run, space: tuple[int, ...] | None) -> Outcome:
        """Evaluate one operation, or start evaluating one that has blocks to run; for each place of a space at once."""
        if space is not None:
            return self._at_once(step, operands, run, space)
        if step.evaluate is not None:
            outcome = step.evaluate.evaluate(run, operands)
            if _is_done(outcome):
                _check_count(outcome, step.results)
            return outcome
        if step.kept is not None:
            return (step.kept,)
        if step.compute is None:
            raise EvaluationError("cannot be evaluated: it implements neither Compute nor Evaluate")
        compute = step.compute.compute
        if step.views:
            return cast(TensorRef, operands[0]).views(lambda places: compute(places, *operands[1:]), len(step.results))
        given = operands if step.shares else [array_of(value) for value in operands]
        computed = compute(*given) if self.computer is None else self.computer(step.op, compute, given)
        values = (computed,) if len(step.results) == 1 else tuple(computed)
        _check_count(values, step.results)
        if step.inplace:
            written = cast(TensorRef, operands[0])
            type_ = cast(RankedTensor, step.results[0].type)
            written.write(cast("NDArray[Any]", settle(values[0], type_.to_vtensor(), self.precision)))
            return (written,)
        settled = [settle(v, result.type, self.precision) for v, result in zip(values, step.results, strict=True)]
        for operand in operands:
            if not step.shares and isinstance(operand, TensorRef):
                settled = [_apart(value, operand.storage) for value in settled]
        if step.is_constant and self.computer is None:
            self._keep(step, cast("NDArray[Any]", settled[0]))
        return settled

    def _keep(self, step: _Step, constant: NDArray[Any]) -> None:
        if constant.nbytes <= _KEPT_BYTES:
            step.kept = constant

    def _at_once(self, step: _Step, operands: list[RuntimeValue], run: _Run, space: tuple[int, ...]) -> Outcome:
        """Evaluate one operation for each place of an array: numbers are arrays of that shape."""
        if step.evaluate is not None:
            return step.evaluate.evaluate(run, operands)
        assert step.compute is not None
        arrays = [np.ascontiguousarray(np.broadcast_to(array_of(value), space)) for value in operands]
        computed = step.compute.compute(*arrays)
        values = (computed,) if len(step.results) == 1 else tuple(computed)
        elements = [cast(RankedTensor, array_type(result.type)).element for result in step.results]
        return [round_result(np.asarray(v), e, self.precision) for v, e in zip(values, elements, strict=True)]

    def _resume(self, frames: list[_Frame], results: Sequence[RuntimeValue] | None) -> Meet | None:
        """Go on with the operation that waits in the last frame: it wants another block run, or has its results.

        What it gives is who it wants to wait for.
        """
        frame = frames[-1]
        step, asker = cast(_Step, frame.waiting), cast(Asking, frame.asker)
        try:
            # A generator that has not run yet takes None.
            request = asker.send(cast("Sequence[RuntimeValue]", results))
            if isinstance(request, Meet):
                return request
            frames.append(self._enter(request, frame.values if _is_inside(request, step.op) else {}))
        except StopIteration as stop:
            frame.waiting = frame.asker = None
            try:
                _check_count(stop.value, step.results)
            except Exception as error:
                raise _failure(step.op, error) from error
            self._finish(frame, step, stop.value)
        except Exception as error:
            raise _failure(step.op, error) from error

    def _finish(self, frame: _Frame, step: _Step, results: Sequence[RuntimeValue]) -> None:
        frame.values.update(zip(step.results, results, strict=True))
        if self.observer is not None:
            self.observer(step.op, tuple(_shown(value) for value in results))
        frame.forget(step)

    def _jump(self, frame: _Frame, step: _Step, jump: Jump) -> None:
        try:
            if jump.block not in step.op.successors:
                raise EvaluationError("goes to a block that is none of its successors")
            frame.enter(self._steps(jump.block), jump.block, jump.arguments)
        except EvaluationError as error:
            raise _failure(step.op, error) from error

    def _enter(self, request: Enter, values: dict[Value, RuntimeValue]) -> _Frame:
        frame = _Frame(values, request.space)
        frame.enter(self._steps(request.block), request.block, request.arguments)
        return frame

    def _steps(self, block: Block) -> list[_Step]:
        self.entered.add(block)
        if block not in self._plans:
            self._plans.update(_plan(block))
        return self._plans[block]


def _signature(takes: Mapping[str, Type]) -> str:
    return "the program takes " + (", ".join(f"{name}: {type_}" for name, type_ in takes.items()) or "no input")


def _tensor(name: str, type_: Type) -> RankedTensor:
    found = array_type(type_)
    if found is None:
        raise EvaluationError(f"{name!r} has type {type_}; `main` takes and gives tensors and numbers")
    return found


def _is_inside(request: Enter, op: Operation) -> bool:
    """Whether the block asked for is inside the operation that asks, and so sees the values around it."""
    around = request.block.parent_op
    while around is not None and around is not op:
        around = around.parent_op
    return around is op


def _is_done(outcome: Outcome) -> TypeGuard[Sequence[RuntimeValue]]:
    """Whether an operation has its results. Lists and tuples, which nearly all give, are told fast."""
    return isinstance(outcome, (list, tuple)) or not isinstance(outcome, (Jump, Generator))


def _check_count(values: Sequence[RuntimeValue], results: Sequence[Value]) -> None:
    if len(values) != len(results):
        raise EvaluationError(f"gives {len(values)} values for {len(results)} results")


def _failure(op: Operation, error: Exception) -> EvaluationError:
    """`error` with the operation that failed, once."""
    if isinstance(error, EvaluationError) and error.op is not None:
        return error
    said = error.message if isinstance(error, IrError) else f"{type(error).__name__}: {error}"
    return EvaluationError(
        f"{op.name} {said}" if isinstance(error, EvaluationError) else f"{op.name} failed: {said}", op
    )


def _apart(value: RuntimeValue, storage: Storage) -> RuntimeValue:
    """`value`, copied if it shows what `storage` holds, which may change."""
    shown = isinstance(value, np.ndarray) and np.may_share_memory(value, storage.elements)
    return np.array(value) if shown else value


def _shown(value: RuntimeValue) -> RuntimeValue:
    """What an observer gets: for a tensor what it holds."""
    return value.snapshot() if isinstance(value, TensorRef) else value


def evaluate_operation(
    op: Operation, operands: Sequence[NDArray[Any]], precision: PrecisionLike = "native"
) -> tuple[NDArray[Any], ...]:
    """Evaluate one operation through its `Compute` on stored arrays (constant folding, tests of one operation).

    Args:
        op: an operation on tensors.
        operands: one array per operand, in the dtype of its element type; float64 too for floats in "f64".
        precision: see `Precision`.

    The results are in the dtypes of the declared element types, or float64 for "f64" floats.

    Raises:
        EvaluationError: the operation has no `Compute`, fails, or has an operand or result that is not a tensor.
    """
    precision = precision_of(precision)
    compute = op.interface(Compute)
    if compute is None:
        raise EvaluationError(f"{op.name} cannot be evaluated: it has no Compute", op)
    types = [array_type(value.type) for value in (*op.operands, *op.results)]
    elements = [t.element for t in types if t is not None]
    if len(elements) != len(types):
        raise EvaluationError(f"{op.name} has an operand or a result that is not a tensor", op)
    loaded = [load(array, element, precision) for array, element in zip(operands, elements, strict=False)]
    if op.interface(ViewLike) is None:  # a view adds nothing, and need not make a stretched element an array
        loaded = [np.asarray(array, order="C") for array in loaded]
    try:
        with np.errstate(all="ignore"):
            computed = compute.compute(*loaded)
        values = (computed,) if len(op.results) == 1 else tuple(computed)
        _check_count(values, op.results)
        settled = [settle(value, result.type, precision) for value, result in zip(values, op.results, strict=True)]
    except Exception as error:
        raise _failure(op, error) from error
    return tuple(
        store(array_of(value), element, precision)
        for value, element in zip(settled, elements[len(op.operands) :], strict=True)
    )
