"""Groups for the tests of loop nests: the programs of the first slice, and programs compiled by a given choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import tx8ir.compiler as compiler
from tx8ir.backend.axes import Cut, Strategy
from tx8ir.backend.graph import backend_ops
from tx8ir.backend.nest.body import NestBody, fold_relayouts, refusal
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.price import Plan, Pricer
from tx8ir.backend.nest.schedule import write_schedule
from tx8ir.backend.nest.search import sharings, strategies
from tx8ir.backend.nest.spm import plan_spm
from tx8ir.backend.search.group_fuse import merge
from tx8ir.core import Builder, FunctionType, Program, ScalarType, Type, Value, VTensorType, bf16, f32, i32
from tx8ir.dialects import builtin, func, pd, tx8, tx8be
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager
from tx8ir.sim import Simulator
from tx8ir.target.chip import TX8, Target
from tx8ir.testing.chip.differential import RATIO, ULPS, ulp


def product(m: int, k: int, n: int, element: ScalarType = bf16, *, activated: bool = False) -> Program:
    """`x @ w` of inputs, with a bias and relu when `activated`."""

    def build(x: Value, w: Value, *bias: Value) -> Value:
        y = pd.matmul(x, w).out
        return pd.relu(pd.add(y, bias[0]).out).out if bias else y

    shapes = {"x": (m, k), "w": (k, n)} | ({"bias": (n,)} if activated else {})
    return _program(build, {name: VTensorType(shape, element) for name, shape in shapes.items()}, {})


def of(build: Callable[[Value], Value], shape: tuple[int, ...], element: ScalarType = f32) -> Program:
    """What `build` makes of one input."""
    return _program(build, {"x": VTensorType(shape, element)}, {})


def softmax(shape: tuple[int, ...], element: ScalarType = f32) -> Program:
    """Softmax of the last axis."""
    return of(lambda x: pd.softmax(x).out, shape, element)


def reshaped() -> Program:
    """A matrix in another shape, which is an alias."""
    return of(lambda x: pd.reshape(x, shape=(8, 32)).out, (16, 16))


def taken(rows: int, columns: int, indices: tuple[int, ...], element: ScalarType = f32) -> Program:
    """Rows of a table, negated."""

    def build(x: Value, index: Value) -> Value:
        return pd.scale(pd.gather(x, index).out, scale=-1.0).out

    return _program(build, {"x": VTensorType((rows, columns), element), "index": VTensorType(indices, i32)}, {})


def copy(shape: tuple[int, ...], element: ScalarType = f32) -> Program:
    """An input that is returned as it is."""
    return of(lambda x: x, shape, element)


def scaled_by_its_mean(shape: tuple[int, ...]) -> Program:
    """Every element times a scalar of rank 0."""

    def build(x: Value) -> Value:
        mean = pd.mean(x, axis=tuple(range(len(shape))), keepdim=False).out
        return pd.multiply(x, pd.tanh(mean).out).out

    return of(build, shape)


def residual(n: int, size: int, channels: int, inner: int, element: ScalarType = bf16) -> Program:
    """`x + conv1x1(relu(conv3x3(x)))`, NHWC."""
    rng = np.random.default_rng(0)
    shapes = {"w1": (3, 3, inner, channels), "w2": (1, 1, channels, inner)}
    weights = {name: (0.1 * rng.standard_normal(s)).astype(element.format.dtype) for name, s in shapes.items()}

    def convolution(x: Value, w: Value, padding: int) -> Value:
        return pd.conv2d(x, w, paddings=(padding, padding), data_format="NHWC", filter_format="HWOI").out

    def build(x: Value, w1: Value, w2: Value) -> Value:
        y = pd.relu(convolution(x, w1, 1)).out
        return pd.add(convolution(y, w2, 0), x).out

    return _program(build, {"x": VTensorType((n, size, size, channels), element)}, weights)


def _program(build: Callable[..., Value], inputs: dict[str, Type], weights: dict[str, NDArray[Any]]) -> Program:
    program = Program.empty()
    main = func.FuncOp(sym_name="main", function_type=FunctionType(tuple(inputs.values()), ()), arg_names=tuple(inputs))
    with Builder.at_end(main.body.block):
        given: list[Value] = list(main.body.block.args)
        for name, array in weights.items():
            program.weights.add(name, array)
            given.append(builtin.get_parameter(parameter=name, out=program.weights[name].type.to_vtensor()).out)
        out = build(*given)
        func.ReturnOp([out])
    main.set_attribute("function_type", FunctionType(tuple(inputs.values()), (out.type,)))
    main.set_attribute("result_names", ("y",))
    program.body.append(main)
    program.verify()
    return program


def lowered(program: Program, target: Target = TX8) -> Program:
    """The program down to one group, which has all of its ops."""
    lower = program.clone()
    tx8.set_target(lower, target)
    compiler.pipeline(through="group-mapping").run(lower)
    while len(found := groups(lower)) > 1:
        producer = found[0]
        (use,) = producer.outs[0].uses
        reader = use.owner
        assert isinstance(reader, tx8be.GroupOp)
        merged = merge(producer, reader)
        with Builder.before(reader) as builder:
            builder.insert(merged)
        reader.outs[0].replace_all_uses_with(merged.outs[0])
        reader.erase()
        producer.erase()
    return lower


def groups(program: Program) -> list[tx8be.GroupOp]:
    return [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp)]


def body_of(lower: Program) -> NestBody:
    """The body of the one group, relayouts folded."""
    (group,) = groups(lower)
    assert refusal(group) is None, refusal(group)
    fold_relayouts(group, "test")
    return NestBody.of(group)


def by_name(body: NestBody, **cuts: dict[str, int]) -> Strategy:
    names = [axis.name for axis in body.space.axes]
    return Strategy(
        **{
            where: tuple(Cut(names.index(axis), parts) for axis, parts in found.items())
            for where, found in cuts.items()
        }
    )


PROGRAMS: dict[str, Callable[[st.DataObject], Program]] = {
    "product": lambda data: product(
        data.draw(st.sampled_from([1, 24, 64, 100])),
        data.draw(st.sampled_from([32, 64, 192])),
        data.draw(st.sampled_from([16, 64, 128, 320])),
        data.draw(st.sampled_from([bf16, f32])),
        activated=data.draw(st.booleans()),
    ),
    "softmax": lambda data: softmax(
        data.draw(st.sampled_from([(4, 512), (7, 64), (2, 6, 128), (1, 2, 5, 192)])),
        data.draw(st.sampled_from([bf16, f32])),
    ),
    "residual": lambda data: residual(
        data.draw(st.integers(1, 2)),
        data.draw(st.sampled_from([6, 9, 16])),
        data.draw(st.sampled_from([16, 64])),
        data.draw(st.sampled_from([32, 128])),
    ),
    "rows of a table": lambda data: taken(
        data.draw(st.sampled_from([1, 5, 40])),
        data.draw(st.sampled_from([1, 7, 64, 200])),
        data.draw(st.sampled_from([(1,), (24,), (3, 5), (2, 4, 8)])),
        data.draw(st.sampled_from([bf16, f32])),
    ),
    "copy": lambda data: copy(
        data.draw(st.sampled_from([(), (1,), (100,), (7, 33), (24, 64), (2, 3, 5, 20)])),
        data.draw(st.sampled_from([bf16, f32])),
    ),
}


def any_choice(data: st.DataObject, body: NestBody) -> Choice:
    """A choice for a group, legal or not."""
    found = list(strategies(body, most_steps=32))
    strategy = found[data.draw(st.integers(0, len(found) - 1), label="strategy")]
    return Choice(
        strategy,
        data.draw(st.integers(1, 3), label="load buffers"),
        data.draw(st.integers(1, 2), label="store buffers"),
        tuple(data.draw(st.sampled_from(options), label="along") for options in sharings(body, strategy)),
    )


@attrs.frozen
class Compiled:
    """A program with instructions, its graph with the schedule as text, and the price of the choice in cycles."""

    program: Program
    text: str
    cycles: int


def schedule(lower: Program, body: NestBody, choice: Choice) -> int:
    """Give the group its schedule; returns the price. Raises `CutError` where the choice is none."""
    plan, pricer = Plan.of(body, choice), Pricer(body)
    cycles = pricer.cycles(plan)
    write_schedule(plan, plan_spm(plan, pricer.kernels))
    lower.verify()
    return cycles


def allocate(lower: Program) -> Program:
    """A scheduled program with all addresses."""
    PassManager.parse("group-barriers,schedule-groups,allocate-ddr").run(lower, verify_each=True)
    return lower


def generate(lower: Program) -> Program:
    """The instructions of a scheduled program."""
    PassManager.parse("generate-tx8").run(allocate(lower), verify_each=True)
    return lower


def compiled(program: Program, choice: Callable[[NestBody], Choice], target: Target = TX8) -> Compiled:
    """The program by a choice, all of it as one group."""
    lower = lowered(program, target)
    body = body_of(lower)
    cycles = schedule(lower, body, choice(body))
    text = str(lower)
    return Compiled(generate(lower), text, cycles)


def random_feeds(program: Program, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Numbers for the inputs; for indices, rows that all tables have which they are for."""
    rng = np.random.default_rng(seed)
    found: dict[str, NDArray[Any]] = {}
    for argument, (name, kind) in zip(program.main.body.block.args, program.inputs.items(), strict=True):
        assert isinstance(kind, VTensorType)
        tables = [user.x.type for user in argument.users if isinstance(user, pd.GatherOp)]
        if tables:
            rows = min(table.shape[0] for table in tables if isinstance(table, VTensorType))
            found[name] = rng.integers(0, rows, kind.shape).astype(kind.element.dtype)
        else:
            found[name] = rng.uniform(-2, 2, kind.shape).astype(kind.element.dtype)
    return found


def check(program: Program, instructions: Program, seed: int = 0) -> None:
    """The instructions give what the program does, within the bound of `tx8ir.testing.check`."""
    feeds = random_feeds(program, seed)
    exact = evaluate(program, feeds, "fp64")["y"]
    rounded = evaluate(program, feeds)["y"].astype(np.float64)
    (kind,) = program.outputs.values()
    assert isinstance(kind, VTensorType)
    bound = RATIO * np.abs(rounded - exact).max() + ULPS * ulp(float(np.abs(exact).max()), kind.element.format)
    got = Simulator(instructions).run(feeds).outputs["y"].astype(np.float64)
    assert np.abs(got - exact).max() <= bound
