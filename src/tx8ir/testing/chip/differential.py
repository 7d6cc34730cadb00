"""Whether a compiled program computes what its source program says, within a bound that comes from the formats used.

The bound. Let `exact` be the source program evaluated in fp64 and `rounded` the same program in the compiled
formats, evaluated by the reference interpreter, which accumulates in fp32 and rounds each operation's result once.
The simulator rounds in the same places, but may sum in another order and use other (2-ulp) functions, so its error
is of the same size:

    max |simulated - exact|  <=  3 * max |rounded - exact| + 8 ulp(max |exact|)

with ulp in the output's compiled format. The bound is measured on the same inputs, so a program that loses digits
by itself (cancellation, a wide sum) gets the room it needs and a well-conditioned one gets none. Integer and
boolean outputs must be equal. Infinities and NaN that are exact must be there. Numbers that are infinite or NaN in
`rounded` and something else in `exact` are not compared: the program overflows in the compiled formats.

A reference from elsewhere is an output computed by another implementation. In fp64 it must fit the same bound. In a
narrower format it carries rounding errors of its own, bounded the same way in that format: the two bounds are added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.backend.lowering.lift_state import state_argument, state_of
from tx8ir.compiler import DTYPES, CompileOptions, compile, lower
from tx8ir.core import Builder, FunctionType, Program, ScalarType, Variable
from tx8ir.dialects import func, tx8be
from tx8ir.interpreter import Interpreter
from tx8ir.signature import InputError, Port, Signature, prepare_inputs
from tx8ir.support.screen import fitting_repr
from tx8ir.support.table import Table
from tx8ir.target.chip import Target
from tx8ir.target.formats import Format
from tx8ir.testing.domains import input_domains
from tx8ir.testing.inputs import in_domain

RATIO = 3.0
"""How many times the interpreter's own rounding error the simulator may be off (architecture.md, "One way through")."""
ULPS = 8
"""Units in the last place of the largest output that are allowed on top: a result the interpreter happens to get
exactly.
"""

_DTYPES_OF_NUMPY: Final = frozenset(element.dtype.name for element in DTYPES)


@attrs.frozen
class OutputCheck:
    """One output compared with one reference.

    largest: the largest magnitude of the reference.
    error: max |simulated - reference|; `bound`: what it may be. Both are 0 for equal integers.
    """

    __repr__ = fitting_repr

    output: str
    reference: str
    element: str
    largest: float
    error: float
    bound: float

    @property
    def passed(self) -> bool:
        """Whether the error is within the bound (a NaN is not)."""
        return self.error <= self.bound


@attrs.frozen
class CheckResult:
    """Every output compared with every reference."""

    outputs: tuple[OutputCheck, ...]

    @property
    def passed(self) -> bool:
        """Whether every comparison passed."""
        return all(check.passed for check in self.outputs)

    @property
    def table(self) -> Table:
        """The comparisons as a table; errors and bounds relative to the largest output."""

        def relative(value: float, check: OutputCheck) -> str:
            return f"{value / check.largest:.2e}" if check.largest else f"{value:.2e}"

        return Table(
            "check: error and bound relative to the largest output",
            ("output", "computed in", "reference", "largest", "error", "bound", "result"),
            tuple(
                (
                    check.output,
                    check.element,
                    check.reference,
                    f"{check.largest:.4g}",
                    relative(check.error, check),
                    relative(check.bound, check),
                    "passed" if check.passed else "FAILED",
                )
                for check in self.outputs
            ),
        )

    def __str__(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        within = sum(check.passed for check in self.outputs)
        return f"<CheckResult: {within} of {len(self.outputs)} comparisons within their bounds>"

    def _repr_html_(self) -> str:
        return self.table.to_html()


def check(
    program: Program,
    inputs: Mapping[str, ArrayLike] | None = None,
    *,
    options: CompileOptions = CompileOptions(),
    target: Target | None = None,
    seed: int = 0,
) -> CheckResult:
    """Compiles and simulates `program` and compares its outputs with the reference interpreter.

    Variables that the program changes are compared too: what a run leaves in them is a result, named `state:` and the
    name of the variable.

    inputs: by name; without them those of `random_inputs`, with indices, labels and divisors that their users take.

    Raises what `tx8ir.compile` and `Executable.run` raise.
    """
    executable = compile(program, target, options)
    feeds = dict(inputs) if inputs is not None else _evaluable(program, executable.signature, seed)
    outputs = executable.run(feeds)
    for port in executable.signature.state:
        outputs[state_argument(port.name)] = executable.state[port.name].numpy()
    return check_outputs(program, feeds, outputs, options=options)


def random_inputs(signature: Signature, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Inputs of a signature from a seed: normally distributed floats, integers in [0, 2), random truth values."""
    rng = np.random.default_rng(seed)
    found: dict[str, NDArray[Any]] = {}
    for port in signature.inputs:
        if ScalarType.of(port.element).format.is_float:
            found[port.name] = rng.standard_normal(port.shape).astype(port.dtype)
        else:
            found[port.name] = rng.integers(0, 2, port.shape).astype(port.dtype)
    return found


def _evaluable(program: Program, signature: Signature, seed: int) -> dict[str, NDArray[Any]]:
    """`random_inputs`, with those numbers replaced on which operations fail, such as indices outside a table."""
    inputs = random_inputs(signature, seed)
    domains = input_domains(program)
    rng = np.random.default_rng(seed)
    for port in signature.inputs:
        if port.name in domains:
            format = ScalarType.of(port.element).format
            inputs[port.name] = in_domain(inputs[port.name], domains[port.name], format, rng)
    return inputs


def check_outputs(
    program: Program,
    inputs: Mapping[str, ArrayLike],
    outputs: Mapping[str, NDArray[Any]],
    *,
    options: CompileOptions = CompileOptions(),
    references: Mapping[str, Mapping[str, NDArray[Any]]] | None = None,
) -> CheckResult:
    """Compares outputs of a simulated run with the reference interpreter in fp64 and with references from elsewhere.

    program: the source program; `options` are those it was compiled with.
    outputs: by name, and where they are to be compared, the variables that changed (see `check`).
    references: label to outputs by name; a reference need not have every output.

    Raises `InputError` when a reference has an output the program does not have or of another shape.
    """
    state = _state(program)
    ports = {port.name: port for port in Signature.of(program).outputs}
    ports |= {port.name: port for port in state if port.name in outputs}
    exact = _exact(program, inputs, state)
    own = _rounded(program, inputs, options)
    checks: list[OutputCheck] = []
    bounds: dict[str, float] = {}
    kept: dict[str, NDArray[np.bool_]] = {}
    for name in ports:
        rounded, element = own[name]
        kept[name] = np.isfinite(_distances(rounded, exact[name]))
        checks.append(compare_output(name, element, exact[name], rounded, outputs[name]))
        bounds[name] = checks[-1].bound
    for label, reference in (references or {}).items():
        for name, array in reference.items():
            if name not in ports or array.shape != exact[name].shape:
                known = ", ".join(map(str, ports.values()))
                raise InputError(f"{label} has '{name}' of shape {array.shape}; outputs of the program are {known}")
            bound = bounds[name]
            if array.dtype.name in _DTYPES_OF_NUMPY:
                rounded, element = _rounded(program, inputs, attrs.evolve(options, dtype=array.dtype))[name]
                bound += _bound(exact[name][kept[name]], rounded[kept[name]], element)
            wanted, got = array[kept[name]], outputs[name][kept[name]]
            checks.append(_compare(name, label, str(own[name][1]), wanted, got, bound))
    return CheckResult(tuple(checks))


def _state(program: Program) -> dict[Port, Variable]:
    """The variables that the program may change, as the arguments that they become on the chip."""
    return {
        Port(state_argument(name), kind.shape, str(kind.element)): program.weights[name]
        for name, kind in state_of(program).items()
    }


def _exact(
    program: Program, inputs: Mapping[str, ArrayLike], state: Mapping[Port, Variable]
) -> dict[str, NDArray[Any]]:
    """Outputs of the interpreter in fp64, and what it leaves in the variables; the program's own stay as they are."""
    working = program.clone() if state else program
    kept: dict[str, Variable] = {}
    for port in state:
        name = port.name.removeprefix(state_argument(""))
        variable = kept[port.name] = working.weights[name]
        variable.data = np.array(variable.numpy())
    found = Interpreter(working, "f64").run(inputs)
    return found | {name: variable.numpy() for name, variable in kept.items()}


def _rounded(
    program: Program, inputs: Mapping[str, ArrayLike], options: CompileOptions
) -> dict[str, tuple[NDArray[Any], ScalarType]]:
    """Outputs of the backend graph in the interpreter, one rounding per operation, with the type each is computed
    in.
    """
    lowered = lower(program, options, through="lower-to-tx8be")
    return_tensors(lowered)
    signature = Signature.of(lowered)
    elements = {port.name: ScalarType.of(port.element) for port in signature.inputs}
    declared, state = Signature.of(program), _state(program)
    given = {**inputs, **{port.name: variable.numpy() for port, variable in state.items()}}
    feeds = prepare_inputs(Signature((*declared.inputs, *state), declared.outputs), given, elements)
    found = Interpreter(lowered, "native").run(feeds)
    rounded = {port.name: (found[port.name], ScalarType.of(port.element)) for port in signature.outputs}
    for port in declared.outputs:  # the backend graph leaves out what has no elements
        rounded.setdefault(port.name, (np.empty(port.shape, port.dtype), ScalarType.of(port.element)))
    return rounded


def return_tensors(lowered: Program) -> None:
    """Makes `main` of a backend graph return its outputs one by one, where ``tx8be.Output`` has them in a tuple."""
    main = lowered.main
    returned = main.body.block.terminator
    for output in returned.operands:
        packed = output.defining_op.operands[0].defining_op if isinstance(output.defining_op, tx8be.OutputOp) else None
        if isinstance(packed, tx8be.TupleOp):
            values = list(packed.operands)
            with Builder.before(returned):
                func.ReturnOp(values)
            returned.erase(by="check")
            inputs = main.function_type.inputs
            main.set_attribute("function_type", FunctionType(inputs, tuple(value.type for value in values)))
            return


def compare_output(
    name: str, element: ScalarType, exact: NDArray[Any], rounded: NDArray[Any], output: NDArray[Any]
) -> OutputCheck:
    """Compares an output that was computed in `element` with the interpreter's answers in fp64 and in that format."""
    kept = np.isfinite(_distances(rounded, exact))
    bound = _bound(exact[kept], rounded[kept], element)
    return _compare(name, "interpreter fp64", str(element), exact[kept], output[kept], bound)


def _bound(exact: NDArray[Any], rounded: NDArray[Any], element: ScalarType) -> float:
    if not element.format.is_float or exact.size == 0:
        return 0.0
    return RATIO * _distance(rounded, exact) + ULPS * ulp(_largest(exact), element.format)


def ulp(value: float, number_format: Format) -> float:
    """The distance between neighbouring numbers of a floating-point format at `value`; below the normal range,
    there.
    """
    smallest_exponent = 2 - 2 ** (number_format.exponent_bits - 1)
    exponent = max(math.frexp(value)[1] - 1, smallest_exponent) if value else smallest_exponent
    return math.ldexp(1.0, exponent - number_format.mantissa_bits)


def _compare(
    name: str, label: str, element: str, reference: NDArray[Any], output: NDArray[Any], bound: float
) -> OutputCheck:
    return OutputCheck(name, label, element, _largest(reference), _distance(output, reference), bound)


def _largest(array: NDArray[Any]) -> float:
    """The largest magnitude of the finite numbers."""
    number = np.abs(array.astype(np.float64))
    return float(np.max(number, initial=0.0, where=np.isfinite(number)))


def _distance(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The largest difference."""
    return float(np.max(_distances(a, b), initial=0.0))


def _distances(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Differences, computed in fp64: equal infinities and two NaN differ by nothing, others by infinity or NaN."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    differs = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    distances = np.zeros(a.shape)
    with np.errstate(all="ignore"):
        distances[differs] = np.abs(a[differs] - b[differs])
    return distances
