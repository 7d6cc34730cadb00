"""`save`: programs of `pd` as programs of Paddle.

Files are of version 1, that of Paddle 3.0, which later ones read by their patches (checked with 3.3). What reading
takes as an attribute is written as the operand that Paddle has for it; operations of the table by the table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    InPlaceUpdate,
    Op,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    TensorType,
    Terminator,
    Value,
    VTensorType,
    f32,
    i32,
    i64,
)
from tx8ir.dialects import builtin, func, pd, scf

from .errors import PaddleExportError
from .inplace import VIEWS
from .loading import PROGRAM_SUFFIX
from .ops.table import TABLE, Same
from .parameters import SUFFIX, write_parameters
from .parts import VERSION, Json, operation, tensor
from .written import WRITERS


def save(program: Program, path: str | os.PathLike[str]) -> None:
    """Write a program as Paddle does: PATH.json, and PATH.pdiparams where it has parameters.

    Paddle reads them with `paddle.jit.load(path)` and `paddle.static.load_inference_model(path, executor)`. Inputs are
    `pd_op.data`, results are fetched. Storage is what operators write in place; `scf.if` and `scf.while` are `pd_op.if`
    and `pd_op.while`. Constants that are not lists of integers are written as parameters.

    Args:
        program: its `main` has one block; functions that it calls have to be inlined first.
        path: a path without a suffix, or that of the `.json` file.

    Raises:
        PaddleExportError: Paddle has no operator for some operation; with all of them. Nothing is written then.
    """
    target = Path(path)
    target = target.with_suffix("") if target.suffix == PROGRAM_SUFFIX else target
    writer = ProgramWriter(program)
    document = writer.run()
    target.with_name(target.name + PROGRAM_SUFFIX).write_text(
        json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    if writer.parameters:
        write_parameters(target.with_name(target.name + SUFFIX), writer.parameters)


class ProgramWriter:
    """One program that is being written.

    Attributes:
        parameters: types and data of what it reads, by name.
    """

    def __init__(self, program: Program) -> None:
        self.parameters: dict[str, tuple[VTensorType, NDArray[Any]]] = {}
        self._program = program
        self._numbers: dict[Value, int] = {}
        self._last = 0
        self._first_argument = 0
        self._regions = 0
        self._top: list[Json] = []
        self._ops: list[Json] = self._top
        self._read: dict[str, int] = {}
        self._lacking: list[str] = []
        self._renamed: list[tuple[Value, int]] = []
        self._bases: dict[Value, Value] = {}

    def run(self) -> Json:
        """The document.

        Raises:
            PaddleExportError: see `save`.
        """
        main = self._program["main"]
        if not isinstance(main, func.FuncOp) or len(main.body) != 1:
            raise PaddleExportError(f"main has {len(main.regions[0])} blocks; expected one")
        block = main.body.block
        for name, argument in zip(self._program.inputs, block.args, strict=True):
            type_ = _tensor_type(argument)
            attributes = [("name", "word", name), ("shape", "shape", type_.shape), ("dtype", "type", type_.element),
                          ("place", "place", None)]  # fmt: skip
            self._numbers[argument] = self.emit("pd_op.data", [], [type_], attributes)[0]
        results = self.ops_of(block)
        for index, (name, result) in enumerate(zip(self._program.outputs, results, strict=True)):
            type_ = block.terminator.operands[index].type if block.terminator is not None else None
            assert isinstance(type_, RankedTensor)
            self.emit("pd_op.fetch", [result], [type_], [("name", "word", name), ("col", "i32", index)])
            lasting = {"#": "0.a_array", "D": [{"#": "0.a_bool", "D": True}]}
            self._ops[-1]["OA"] = [{"N": "persistable", "AT": lasting}]
        if self._lacking:
            names = sorted(set(self._lacking))
            raise PaddleExportError(f"Paddle has no operator for {', '.join(names)}", names)
        region = {"#": "region_0", "blocks": [{"#": "block_0", "args": [], "ops": self._top}]}
        head = {"magic": "pir", "trainable": True, "version": VERSION}
        return {"base_code": head, "program": {"regions": [region]}}

    # --- what writers of operations use ------------------------------------------------------------------------------

    def number(self, value: Value) -> int:
        """The number of a value."""
        return self._numbers.get(value, 0)

    def emit(
        self,
        name: str,
        operands: Sequence[int],
        types: Sequence[RankedTensor | Sequence[RankedTensor]],
        attributes: Sequence[tuple[str, str, Any]] = (),
    ) -> list[int]:
        """Write an operation; the numbers of its results. A list of tensors is a result of several types."""
        results: list[Json] = []
        for type_ in types:
            self._last += 1
            written = (
                tensor(type_)
                if isinstance(type_, RankedTensor)
                else {"#": "0.t_vec", "D": [tensor(item) for item in type_]}
            )
            results.append({"%": self._last, "TT": written})
        dialect, _, rest = name.partition(".")
        self._ops.append(operation(f"{_DIALECTS[dialect]}.{rest}", operands, results, attributes))
        return [result["%"] for result in results]

    def name_of(self, op: Operation) -> str:
        """The operator of the same name; of a view of storage the form that shows what is written to it.

        Raises:
            PaddleExportError: Paddle has no such form.
        """
        name = op.name.replace("pd.", "pd_op.")
        if not isinstance(op, pd.ViewOp) or not isinstance(op.results[0].type, TensorType):
            return name
        if f"{op.name.removeprefix('pd.')}_" not in VIEWS:
            raise PaddleExportError(f"{op.name} shows parts of storage, for which Paddle has no operator", [op.name])
        return f"{name}_"

    def ints(self, values: Sequence[int]) -> int:
        """A list of integers as an operand."""
        attributes = [("value", "i64s", values), ("dtype", "type", i64), ("place", "place", None)]
        return self.emit("pd_op.full_int_array", [], [VTensorType((len(values),), i64)], attributes)[0]

    def scalar(self, value: float, element: ScalarType) -> int:
        """A number as an operand."""
        attributes = [("shape", "shape", (1,)), ("value", "f64", value), ("dtype", "type", element),
                      ("place", "place", None)]  # fmt: skip
        return self.emit("pd_op.full", [], [VTensorType((1,), element)], attributes)[0]

    def listed(self, values: Sequence[Value]) -> int:
        """Tensors as one operand."""
        types = [_tensor_type(value) for value in values]
        return self.emit("builtin.combine", [self.number(value) for value in values], [types])[0]

    def parameter(self, name: str, type_: VTensorType, array: NDArray[Any]) -> int:
        """A parameter, which stands at the start of the program."""
        if name not in self._read:
            self._last += 1
            self._read[name] = self._last
            self.parameters[name] = type_, array
            result = {"%": self._last, "TT": tensor(type_)}
            self._top.insert(0, {"#": "p", "A": [0, 1, 1, name], "DA": [], "O": result, "OA": [1, 0, 1], "QA": []})
        return self._read[name]

    def define(self, op: Operation, numbers: Sequence[int]) -> None:
        """Let the results of an operation be those of operators that were written.

        What was written in place has the number of the result from there on, and what that shows the number of a view
        of it: Paddle drops an operator whose result nothing uses, and orders by what uses what.
        """
        self._numbers.update(zip(op.results, numbers, strict=True))
        if isinstance(op, pd.ViewOp) and isinstance(op.results[0].type, TensorType):
            self._bases[op.results[0]] = op.operands[0]
        if not isinstance(op, InPlaceUpdate) or not numbers:
            return
        written, number = op.operands[0], numbers[0]
        while True:
            self._renamed.append((written, self._numbers[written]))
            self._numbers[written] = number
            base = self._bases.get(written)
            if base is None:
                return
            type_ = _tensor_type(base)
            (number,) = self.emit("pd_op.reshape_", [number, self.ints(type_.shape)], [type_])
            written = base

    # --- operations --------------------------------------------------------------------------------------------------

    def ops_of(self, block: Block) -> list[int]:
        """Write the operations of a block; the numbers that its terminator gives."""
        for op in block:
            if op.has_trait(Terminator):
                return [self.number(value) for value in op.operands]
            self._write(op)
        return []

    def region_of(self, types: Sequence[RankedTensor], build: Callable[[Sequence[int]], Sequence[int]]) -> Json:
        """A region whose operations a function writes, which takes its arguments and returns what it gives."""
        outer, self._ops = self._ops, []
        self._regions += 1
        index, arguments, renamed = self._regions, list[Json](), len(self._renamed)
        for type_ in types:
            self._first_argument -= 1
            arguments.append({"#": self._first_argument, "TT": tensor(type_)})
        try:
            given = build([argument["#"] for argument in arguments])
            self.emit("cf.yield", given, [])
        finally:
            ops, self._ops = self._ops, outer
            while len(self._renamed) > renamed:  # what a region gives a name is not seen after it
                value, before = self._renamed.pop()
                self._numbers[value] = before
        return {"#": f"region_{index}", "blocks": [{"#": f"block_{index}", "args": arguments, "ops": ops}]}

    def _write(self, op: Operation) -> None:
        if isinstance(op, scf.IfOp):
            self._write_choice(op)
        elif isinstance(op, scf.WhileOp):
            self._write_loop(op)
        elif isinstance(op, builtin.GetParameterOp):
            variable = self._program.weights[op.parameter]
            self.define(op, [self.parameter(op.parameter, variable.type.to_vtensor(), variable.numpy())])
        elif (write := WRITERS.get(op.name)) is not None:
            self.define(op, write(self, op))
        elif (same := _entry_of(op)) is not None:
            self._lacking += [f"{op.name} with {what}" for what in _unsaid(op, same)]
            self.define(op, self._same(op, same))
        else:
            self._lacking.append(op.name)

    def _same(self, op: Operation, same: Same) -> list[int]:
        given: Mapping[str, Any] = {name: getattr(op, name) for name in _fields(op)}
        operands: list[int] = []
        for parameter in same.operands:
            value = given[parameter.name]
            match parameter.kind:
                case "ints":
                    operands.append(self.ints(value))
                case "int":
                    operands.append(self.scalar(value, i32))
                case "float":
                    operands.append(self.scalar(value, f32))
                case _ if parameter.is_list:
                    operands.append(self.listed(value))
                case _:
                    operands.append(0 if value is None else self.number(value))
        attributes = [(p.name, p.kind, given[p.name]) for p in same.attributes]
        attributes += [(name, "flag", value) for name, value in same.further.items()]
        return self.emit(self.name_of(op), operands, [_tensor_type(result) for result in op.results], attributes)

    def _write_choice(self, op: scf.IfOp) -> None:
        regions: list[Json] = []
        for region in op.regions:

            def side(_: Sequence[int], block: Block = region.block) -> Sequence[int]:
                return self.ops_of(block)

            regions.append(self.region_of([], side))
        numbers = self.emit("pd_op.if", [self.number(op.condition)], [_tensor_type(result) for result in op.results])
        self._ops[-1]["regions"] = regions
        self.define(op, numbers)

    def _write_loop(self, op: scf.WhileOp) -> None:
        """The `before` region stands before the loop, and again at the end of its body."""
        before, after = op.before.block, op.after.block

        def run(block: Block, given: Sequence[int]) -> list[int]:
            self._numbers.update(zip(block.args, given, strict=True))
            return self.ops_of(block)

        first = run(before, [self.number(value) for value in op.inits])
        types = [_tensor_type(result) for result in op.results]

        def round_of(given: Sequence[int]) -> Sequence[int]:
            return run(before, run(after, given))

        body = self.region_of(types, round_of)
        numbers = self.emit("pd_op.while", first, types)
        self._ops[-1]["regions"] = [body]
        self.define(op, numbers)


_DIALECTS: Final = {"builtin": "0", "pd_op": "1", "cf": "2"}


def _tensor_type(value: Value) -> RankedTensor:
    type_ = value.type
    if not isinstance(type_, RankedTensor):
        raise PaddleExportError(f"a value is {type_}; Paddle has tensors")
    return type_


def _fields(op: Operation) -> list[str]:
    assert isinstance(op, Op)
    definition = op.definition
    return [*(operand.name for operand in definition.operands), *(field.name for field in definition.attributes)]


def _unsaid(op: Operation, same: Same) -> list[str]:
    """What an operation has and its operator in Paddle does not say: `groups = 2`, or the name of an operand."""
    assert isinstance(op, Op)
    said = {parameter.name for parameter in (*same.operands, *same.attributes)}
    defaults: dict[str, Any] = {field.name: field.default for field in op.definition.attributes}
    given = {name: getattr(op, name) for name in _fields(op) if name not in said}
    return [
        name if isinstance(value, Value) else f"{name} = {value!r}"
        for name, value in given.items()
        if value != defaults.get(name)  # an operand that is left out is None
    ]


def _entry_of(op: Operation) -> Same | None:
    """The entry of the table that an operation, or what it does in place, is."""
    dialect, _, name = op.name.partition(".")
    if dialect != pd.DIALECT.name:
        return None
    return TABLE.get(name) or (TABLE.get(name[:-1]) if name.endswith("_") else None)
