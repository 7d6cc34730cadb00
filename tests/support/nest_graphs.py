"""Graphs drawn from a seed, and their groups by any legal strategy: what a campaign of loop nests runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

import tx8ir.compiler as compiler
from support import nests
from tx8ir.backend.axes import CutError
from tx8ir.backend.nest.body import NestBody, fold_relayouts, refusal
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.kernels import Kernels
from tx8ir.backend.nest.price import Plan
from tx8ir.backend.nest.schedule import write_schedule
from tx8ir.backend.nest.search import sharings, strategies
from tx8ir.backend.nest.spm import plan_spm
from tx8ir.backend.search.group_fuse import merge
from tx8ir.core import Builder, FunctionType, Program, ScalarType, Value, VTensorType, bf16, f16, f32, i32
from tx8ir.dialects import func, pd, tx8, tx8be
from tx8ir.interpreter import evaluate
from tx8ir.sim import Simulator
from tx8ir.target.chip import TX8
from tx8ir.testing.chip.differential import RATIO, ULPS, ulp

CHANNELS = (4, 10, 16, 64, 80, 96, 128, 192)
ROWS = (1, 2, 5, 8, 24)


def graph(seed: int) -> Program:
    """A program of one to five operations on tensors of rank 2 to 4."""
    return _Graph(np.random.default_rng(seed)).program()


class _Graph:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.element: ScalarType = self.any((f32, bf16, f16))
        self.inputs: dict[str, VTensorType] = {}
        self.block = func.FuncOp(sym_name="main", function_type=FunctionType((), ()), arg_names=())
        self.values: list[Value] = []

    def any(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def new(self, *shape: int, element: ScalarType | None = None) -> Value:
        """A new input, of the graph's format where none is given."""
        kind = VTensorType(shape, element or self.element)
        self.inputs[f"x{len(self.inputs)}"] = kind
        return self.block.body.block.add_argument(kind)

    def program(self) -> Program:
        program = Program.empty()
        with Builder.at_end(self.block.body.block):
            rank = self.any((2, 2, 3, 4))
            x = self.new(*(self.any(ROWS) for _ in range(rank - 1)), self.any(CHANNELS))
            wanted, made = int(self.rng.integers(1, 6)), 0
            for _ in range(60):
                if made == wanted:
                    break
                step = self.any(STEPS)
                y = step(self, x, shape(x))
                if y is not None and 0 < math.prod(shape(y)) <= 1 << 17 and len(shape(y)) <= 4 and shape(y):
                    x, made = y, made + 1
            if not made:
                x = pd.relu(x).out
            func.ReturnOp([x])
        self.block.set_attribute("arg_names", tuple(self.inputs))
        self.block.set_attribute("function_type", FunctionType(tuple(self.inputs.values()), (x.type,)))
        self.block.set_attribute("result_names", ("y",))
        program.body.append(self.block)
        program.verify()
        return program


Step = Callable[[_Graph, Value, tuple[int, ...]], "Value | None"]


def shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, VTensorType)
    return value.type.shape


def _unary(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    return g.any((pd.relu, pd.tanh, pd.abs, pd.square, pd.sigmoid))(x).out


def _binary(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    other = g.any((s, (s[-1],), (*(1,) * (len(s) - 1), s[-1]), (*s[:-1], 1), s))
    return g.any((pd.add, pd.multiply, pd.subtract, pd.maximum))(x, g.new(*other)).out


def _where(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    y = g.new(*s)
    return pd.where(pd.greater_than(x, y).out, x, y).out


def _product(g: _Graph, x: Value, s: tuple[int, ...]) -> Value | None:
    rank = len(s)
    if rank > 3:
        return None
    return pd.matmul(x, g.new(s[-1], g.any(CHANNELS))).out


def _rows(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    if g.any((True, False)):
        return pd.softmax(x).out
    return pd.layer_norm(x, g.new(s[-1]), g.new(s[-1]), begin_norm_axis=len(s) - 1).out


def _reduce(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    axes = g.any(((len(s) - 1,), (0,), tuple(range(len(s))), (len(s) - 2,)))
    return g.any((pd.sum, pd.mean, pd.max, pd.min))(x, axis=axes, keepdim=True).out


def _transpose(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    return pd.transpose(x, perm=tuple(int(i) for i in g.rng.permutation(len(s)))).out


def _join(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    axis = int(g.rng.integers(len(s)))
    return pd.concat([x, g.new(*s)], axis=axis).out


def _slice(g: _Graph, x: Value, s: tuple[int, ...]) -> Value | None:
    axis = int(g.rng.integers(len(s)))
    if s[axis] < 2:
        return None
    start = int(g.rng.integers(s[axis]))
    end = int(g.rng.integers(start + 1, s[axis] + 1))
    return pd.slice(x, axes=(axis,), starts=(start,), ends=(end,)).out


def _reshape(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    return pd.reshape(x, shape=g.any(((math.prod(s[:-1]), s[-1]), (s[0], math.prod(s[1:]))))).out


def _taken(g: _Graph, x: Value, s: tuple[int, ...]) -> Value | None:
    if len(s) != 2:
        return None
    shape = g.any(((3,), (24,), (4, 5), (1, 16)))
    return pd.gather(x, g.new(*shape, element=i32)).out


def _by_a_scalar(g: _Graph, x: Value, s: tuple[int, ...]) -> Value:
    scalar = pd.mean(x, axis=tuple(range(len(s))), keepdim=False).out
    return g.any((pd.add, pd.multiply))(x, g.any((pd.tanh, pd.abs))(scalar).out).out


def _image(g: _Graph, x: Value, s: tuple[int, ...]) -> Value | None:
    if len(s) != 4 or min(s[1:3]) < 2 or s[-1] == 1:  # a filter of one channel is one for each channel
        return None
    if g.any((True, False)):
        return pd.pool2d(x, kernel_size=(2, 2), strides=(g.any((1, 2)),) * 2, paddings=(g.any((0, 1)),) * 2,
                         pooling_type=g.any(("max", "avg")), data_format="NHWC").out  # fmt: skip
    taps = g.any((1, 3))
    weight = g.new(taps, taps, g.any(CHANNELS), s[-1])
    return pd.conv2d(x, weight, paddings=(taps // 2,) * 2, strides=(g.any((1, 1, 2)),) * 2, data_format="NHWC",
                     filter_format="HWOI").out  # fmt: skip


STEPS: tuple[Step, ...] = (
    _unary, _binary, _binary, _where, _product, _product, _rows, _rows, _reduce, _transpose, _join, _slice, _reshape,
    _image, _image, _image, _taken, _by_a_scalar,
)  # fmt: skip


@attrs.define
class Campaign:
    """What was seen: groups by strategy, by why they have none, and each kind of sharing, combination and axis."""

    seen: Counter[str] = attrs.field(factory=Counter[str])

    def schedule(self, program: Program, seed: int) -> Program:
        """`program` with instructions: groups merged at random and scheduled by a strategy at random."""
        rng = np.random.default_rng(seed)
        lower = program.clone()
        tx8.set_target(lower, TX8)
        compiler.pipeline(through="group-mapping").run(lower)
        _merge_some(lower, rng)
        lower.verify()
        for group in nests.groups(lower):
            why = refusal(group)
            if why is not None:
                self.seen[f"refused: {why.split(' of type')[0]}"] += 1
                continue
            self._schedule(group, rng)
        lower.verify()
        return nests.generate(lower)

    def _schedule(self, group: tx8be.GroupOp, rng: np.random.Generator) -> None:
        trial = group.clone()
        assert isinstance(trial, tx8be.GroupOp)
        fold_relayouts(trial, "test")
        body = NestBody.of(trial, TX8)
        found = list(strategies(body, most_steps=24))
        chosen = None
        for number in rng.permutation(len(found))[:40]:
            strategy = found[int(number)]
            along = tuple(options[int(rng.integers(len(options)))] for options in sharings(body, strategy))
            choice = Choice(strategy, int(rng.integers(1, 4)), int(rng.integers(1, 3)), along)
            try:
                plan = Plan.of(body, choice)
                plan_spm(plan, Kernels(body))
            except CutError:
                continue
            chosen = choice
            break
        trial.erase(by="test")
        if chosen is None:
            self.seen["no legal strategy"] += 1
            return
        fold_relayouts(group, "test")
        body = NestBody.of(group)
        plan = Plan.of(body, chosen)
        write_schedule(plan, plan_spm(plan, Kernels(body)))
        self.seen["scheduled"] += 1
        self.seen.update(_features(plan))


def _features(plan: Plan) -> Iterator[str]:
    body, choice = plan.nest.body, plan.nest.choice
    for along in choice.along:
        yield f"sharing: {along or 'none'}"
    for stage in plan.stages:
        if stage.role == "merge":
            yield f"merged over {stage.along}: {body.space.ops[stage.subject].name}"
        if stage.role == "compute" and stage.combined:
            yield f"combined in time: {body.space.ops[stage.subject].name}"
    for where, cuts in (("mesh", (*choice.strategy.x, *choice.strategy.y)), ("time", choice.strategy.time)):
        for cut in cuts:
            if cut.parts > 1:
                yield f"cut over {where}: {body.space.axes[cut.axis].kind.value}"
    yield from (f"op: {op.name}" for op in body.space.ops)


def _merge_some(lower: Program, rng: np.random.Generator) -> None:
    """Merge groups into their only readers, each with a chance of two in three."""
    waiting = nests.groups(lower)
    while waiting:
        group = waiting.pop(0)
        uses = list(group.outs[0].uses)
        if group.group_tag != 0 or len(group.outs) != 1 or len(uses) != 1 or rng.random() < 1 / 3:
            continue
        reader = uses[0].owner
        if not isinstance(reader, tx8be.GroupOp) or reader.group_tag != 0:
            continue
        loads = [use.owner for use in reader.body.block.args[uses[0].index].uses]
        if not all(isinstance(load, tx8be.LoadVarOp) for load in loads):
            continue
        merged = merge(group, reader)
        with Builder.before(reader) as builder:
            builder.insert(merged)
        reader.outs[0].replace_all_uses_with(merged.outs[0])
        waiting = [merged if other is reader else other for other in waiting]
        reader.erase()
        group.erase()


def misses(program: Program, instructions: Program, seed: int) -> str | None:
    """How the outputs of `instructions` miss those of the interpreter; None where they do not.

    The bound has the interpreter's own rounding, and what it answers to inputs that differ in their last places: sums
    that cancel have no more digits than that.
    """
    rng = np.random.default_rng(seed)
    feeds = nests.random_feeds(program, seed)
    (kind,) = program.outputs.values()
    assert isinstance(kind, VTensorType)
    exact = evaluate(program, feeds, "fp64")["y"]
    spread = np.abs(evaluate(program, feeds)["y"].astype(np.float64) - exact).max()
    unit = 2.0 ** -(kind.element.format.mantissa_bits + 1)
    for _ in range(3):
        moved = {
            n: x if x.dtype.kind == "i" else x.astype(np.float64) * (1 + unit * rng.choice((-1, 1), x.shape))
            for n, x in feeds.items()
        }
        spread = max(spread, np.abs(evaluate(program, moved, "fp64")["y"] - exact).max())
    ports = {op.port_name for op in instructions.module.walk() if isinstance(op, tx8.InputOp)}
    got = Simulator(instructions).run({n: x for n, x in feeds.items() if n in ports}).outputs["y"].astype(np.float64)
    bound = RATIO * spread + ULPS * ulp(float(np.abs(exact).max()), kind.element.format)
    error = np.abs(got - exact).max()
    return None if error <= bound else f"an error of {error:.2e} where {bound:.2e} is allowed"
