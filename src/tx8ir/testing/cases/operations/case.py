"""`Case`: an operation or a small context of them, with data, the interpreter's answer and the chip's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
import numpy as np

from tx8ir.compiler import CompileOptions, pipeline
from tx8ir.core import IrError, Program, RankedTensor, ScalarType, Variable, VTensorType
from tx8ir.dialects import tx8, tx8be
from tx8ir.interpreter import Interpreter
from tx8ir.passes import PassManager
from tx8ir.sim import SimReport, Simulator
from tx8ir.support.screen import fitting_repr
from tx8ir.target.chip import Target
from tx8ir.testing.chip.differential import OutputCheck, compare_output, return_tensors

from .configuration import RESULT, Array, Configuration, Range
from .library import MAKERS, contexts, fixed_configurations, random_configuration

_LOWERING: Final = "lower-to-tx8be"
_KINDS: Final = {kind.name.partition(".")[2]: kind for kind in MAKERS}


@attrs.frozen(eq=False)
class CaseResult:
    """What a case computes.

    Attributes:
        exact: the interpreter's answer in fp64.
        expected: the interpreter's answer with one rounding for each operation.
        chip: the simulated chip's answer.
        check: is `chip` within the bound of `tx8ir.testing.check`?
        compiled: the instructions, with the constants in DDR.
        report: what the run cost.
    """

    __repr__ = fitting_repr

    exact: Array
    expected: Array
    chip: Array
    check: OutputCheck
    compiled: Program
    report: SimReport


@attrs.frozen(eq=False)
class Case:
    """An operation or a small context of operations that is computed here and elsewhere.

    Attributes:
        op: the name of the operation of the library, without its dialect, or of the context.
        name: the configuration, in a few words.
        program: the operations, in the dialect `tx8be`. Constants have data once the case has.
        ranges: what each input and constant is filled with.
        data: arrays by name, of inputs and constants; empty until `init_data`.
    """

    __repr__ = fitting_repr

    op: str
    name: str
    program: Program
    ranges: Mapping[str, Range]
    data: Mapping[str, Array] = attrs.field(factory=dict[str, Array])

    @classmethod
    def of(cls, op: str, configuration: Configuration) -> Case:
        """A case without data. Raises VerifyError when the operations do not take the operands."""
        program, ranges = configuration.build()
        return cls(op, configuration.name, program, ranges)

    def init_data(self, seed: int = 0) -> Case:
        """The case with data from a seed, within the range of each operand."""
        rng = np.random.default_rng(seed)
        return self.with_data({name: self.ranges[name].draw(t.shape, t.element, rng) for name, t in self.types.items()})

    def with_data(self, data: Mapping[str, Array]) -> Case:
        """The case with these arrays.

        Raises `IrError` when a name is missing or unknown, or an array has another shape or type.
        """
        types = self.types
        if set(data) != set(types):
            raise IrError(f"case {self} takes {', '.join(types)}; given: {', '.join(data) or 'nothing'}")
        for name, array in data.items():
            wanted = types[name]
            if array.shape != wanted.shape or array.dtype != wanted.element.dtype:
                raise IrError(f"{name} is {wanted}; given: {array.dtype}{list(array.shape)}")
        program = self.program.clone()
        for name in program.weights:
            program.weights[name] = Variable(types[name], data[name])
        return attrs.evolve(self, program=program, data=dict(data))

    @property
    def types(self) -> dict[str, VTensorType]:
        """The types of the inputs and constants, by name."""
        found: dict[str, VTensorType] = {}
        for op in self.program.module.walk():
            if isinstance(op, tx8be.ConstantOp):
                assert isinstance(op.y.type, VTensorType)
                found[op.parameter] = op.y.type
        for name, type_ in self.program.inputs.items():
            assert isinstance(type_, VTensorType)
            found[name] = type_
        return dict(sorted(found.items()))

    @property
    def inputs(self) -> dict[str, Array]:
        """The data of the program's inputs."""
        return {name: self.data[name] for name in self.program.inputs}

    def compile(self, target: Target | None = None, options: CompileOptions = CompileOptions()) -> CaseResult:
        """Compiles the case, runs it on the simulated chip, and has the interpreter compute it.

        Raises `IrError` without data, and what the compiler's stages and the simulator raise.
        """
        exact, expected, element = self._answers()
        compiled = self.program.clone()
        if target is not None:
            tx8.set_target(compiled, target)
        _backend(options).run(compiled)
        result = Simulator(compiled).run(self.inputs)
        chip = result.outputs[RESULT]
        check = compare_output(RESULT, element, exact, expected, chip)
        return CaseResult(exact, expected, chip, check, compiled, result.report)

    def check(self, output: Array) -> OutputCheck:
        """Whether an answer from elsewhere, such as other hardware, is within the bound.

        Raises `IrError` without data.
        """
        exact, expected, element = self._answers()
        return compare_output(RESULT, element, exact, expected, output)

    def _answers(self) -> tuple[Array, Array, ScalarType]:
        """The interpreter's answers, exact and with roundings, and the format of the result."""
        if not self.data:
            raise IrError(f"case {self} has no data; call init_data first")
        graph = self.program.clone()
        return_tensors(graph)
        kind = graph.outputs[RESULT]
        assert isinstance(kind, RankedTensor)
        exact, rounded = (Interpreter(graph, precision).run(self.inputs)[RESULT] for precision in ("f64", "native"))
        return exact, rounded, kind.element

    def __str__(self) -> str:
        return f"{self.op} {self.name}"


def _backend(options: CompileOptions) -> PassManager:
    """The stages of the compiler after the lowering."""
    passes = pipeline(options).passes
    lowering = next(i for i, stage in enumerate(passes) if stage.title.startswith(_LOWERING))
    return PassManager(tuple(passes[lowering + 1 :]))


def ops() -> tuple[str, ...]:
    """The names of all operations of the library, then those of the contexts."""
    return (*sorted(kind.name.partition(".")[2] for kind in MAKERS), *contexts())


def fixed_cases(op: str) -> list[Case]:
    """The cases of an operation or context that never change. Raises KeyError for an unknown name."""
    made = contexts()
    if op in made:
        return [Case.of(op, configuration) for configuration in made[op]]
    return [Case.of(op, configuration) for configuration in fixed_configurations(_KINDS[op])]


def random_case(op: str, seed: int) -> Case:
    """A case of an operation from a seed; of a context one of the fixed ones. Raises KeyError for an unknown name."""
    made = contexts()
    if op in made:
        return Case.of(op, made[op][seed % len(made[op])])
    return Case.of(op, random_configuration(_KINDS[op], seed))
