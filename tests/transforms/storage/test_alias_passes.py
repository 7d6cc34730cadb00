"""The alias passes keep what any program computes, returns and leaves in parameters and inputs.

Programs are drawn with in-place operations, views, copies, branches, loops, calls, lists, parameters and feeds; the
interpreter, in which tensors share storage truly, is the judge.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, FunctionType, Program, SymbolRefAttr, TensorType, Type, Value, VTensorType, f32, i1
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.interpreter import Interpreter
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import tensor_programs
from tx8ir.testing.programs.drawing import for_each_program

PASSES = ["to-value-semantics", "copy-elision", "to-inplace", "cse", "dce", "canonicalize", "constant-fold"]
BIG = TensorType((2, 3), f32)


class Drawn:
    """A program drawn from a seed."""

    def __init__(self, seed: int, size: int = 12) -> None:
        self.rng = random.Random(seed)
        self.size = size
        self.program = Program.empty()
        for name in ("p", "q"):
            data = np.arange(6, dtype=np.float32).reshape(2, 3) - len(name)
            self.program.weights.add(name, data, is_mutable=True)
        self.program.weights.add("fixed", np.full((2, 3), 0.5, np.float32))
        self.helpers: list[func.FuncOp] = []
        for _ in range(self.rng.randrange(3)):
            self._function(f"f{len(self.helpers)}", [BIG] * self.rng.randint(1, 2), self.rng.randrange(3), 4)
        self._function("main", [BIG, BIG, BIG.to_vtensor(), VTensorType((1,), i1)], 3, size)
        self.program.verify()

    def _function(self, name: str, inputs: list[Type], results: int, size: int) -> func.FuncOp:
        with Builder.at_end(self.program.body):
            function = func.FuncOp(sym_name=name, function_type=FunctionType(inputs, ()))
        pool: list[Value] = list(function.body.block.args)
        with Builder.at_end(function.body.block):
            self._operations(pool, size, 0)
            given = [self.rng.choice([v for v in pool if v.type.element is f32]) for _ in range(results)]
            func.return_(given)
        function.set_attribute("function_type", FunctionType(inputs, [v.type for v in given]))
        if name != "main":
            self.helpers.append(function)
        return function

    def _operations(self, pool: list[Value], size: int, depth: int) -> None:
        for _ in range(self.rng.randint(1, size)):
            makers = [self._unary, self._binary, self._inplace, self._inplace, self._view, self._view, self._copy]
            makers += [self._window, self._own, self._own, self.rng.choice([self._parameter, self._list])]
            if depth < 2:
                makers += [self._branch, self._loop]
            if self.helpers:
                makers.append(self._call)
            self.rng.choice(makers)(pool, depth)

    def _any(self, pool: list[Value], kind: type | None = None, like: Value | None = None) -> Value:
        fitting = [v for v in pool if v.type.element is f32]
        if kind is not None:
            fitting = [v for v in fitting if isinstance(v.type, kind)] or [self._fresh(pool)]
        if like is not None:
            fitting = [v for v in fitting if v.type.shape == like.type.shape] or [like]
        return self.rng.choice(fitting[-6:] if self.rng.random() < 0.7 else fitting)

    def _fresh(self, pool: list[Value]) -> Value:
        pool.append(builtin.to_tensor(self._any(pool)).out)
        return pool[-1]

    def _own(self, pool: list[Value], depth: int) -> None:
        """Storage of its own, written twice, once through a view or inside control flow."""
        mine = [builtin.to_tensor(self._any(pool)).out]
        for maker in self.rng.sample([self._view, self._inplace, self._branch, self._loop, self._window], 3):
            if depth < 2 or maker in (self._view, self._inplace, self._window):
                maker(mine, depth + 1)
        pool += [v for v in mine if v.type.element is f32]

    def _unary(self, pool: list[Value], depth: int) -> None:
        make = self.rng.choice([pd.relu, pd.tanh, pd.assign, lambda x: pd.scale(x, scale=-1.5, bias=0.25)])
        pool.append(make(self._any(pool)).out)

    def _binary(self, pool: list[Value], depth: int) -> None:
        x = self._any(pool)
        pool.append(self.rng.choice([pd.add, pd.subtract, pd.maximum])(x, self._any(pool, like=x)).out)

    def _inplace(self, pool: list[Value], depth: int) -> None:
        x = self._any(pool, TensorType)
        y = self._any(pool, like=x)
        pick = self.rng.randrange(6)
        make = [
            lambda: pd.relu_(x), lambda: pd.scale_(x, scale=-2.0, bias=1.0), lambda: pd.add_(x, y),
            lambda: pd.assign_(x, y), lambda: pd.fill_(x, value=3.0), lambda: pd.subtract_(x, y),
        ][pick]  # fmt: skip
        pool.append(make().out)

    def _window(self, pool: list[Value], depth: int) -> None:
        x = self._any(pool, TensorType)
        shape = x.type.shape
        if shape and shape[0] > 1:
            value = pd.full(shape=(), value=self.rng.choice([7.0, 8.0]))
            pool.append(pd.set_value_(x, value, axes=(0,), starts=(1,), ends=(2,)).out)

    def _view(self, pool: list[Value], depth: int) -> None:
        x = self._any(pool)
        shape = x.type.shape
        rank = len(shape)
        size = int(np.prod(shape))
        choices = [
            lambda: pd.reshape(x, shape=(size,)),
            lambda: pd.reshape(x, shape=(2, 3) if size == 6 else (1, size)),
            lambda: pd.unsqueeze(x, axis=(0,)),
            lambda: pd.squeeze(x),
            lambda: pd.transpose(x, perm=tuple(reversed(range(rank)))),
        ]
        if rank:
            choices.append(lambda: pd.flatten(x, start_axis=0, stop_axis=rank - 1))
        if rank and shape[0] > 1:
            choices += [
                lambda: pd.slice(x, axes=(0,), starts=(0,), ends=(shape[0] - 1,)),
                lambda: pd.slice(x, axes=(0,), starts=(1,), ends=(2,), decrease_axis=(0,)),
                lambda: pd.split(x, sections=(1, -1), axis=0),
            ]
        pool += self.rng.choice(choices)().results

    def _copy(self, pool: list[Value], depth: int) -> None:
        pool.append(self.rng.choice([builtin.to_tensor, builtin.to_vtensor])(self._any(pool)).out)

    def _parameter(self, pool: list[Value], depth: int) -> None:
        kind = self.rng.choice([BIG, BIG, BIG.to_vtensor()])
        pick = self.rng.randrange(6)
        if pick == 0:
            values = [v for v in pool if v.type.element is f32 and v.type.shape == (2, 3)]
            builtin.set_parameter(self.rng.choice(values), parameter="p") if values else None
        elif pick == 1:
            pool.append(pd.feed(feed_name="x", out=kind).out)
        else:
            name = "fixed" if kind is not BIG and pick == 2 else self.rng.choice("pq")
            pool.append(builtin.get_parameter(parameter=name, out=kind).out)

    def _list(self, pool: list[Value], depth: int) -> None:
        items = [self._any(pool) for _ in range(self.rng.randint(1, 3))]
        made = builtin.combine(items)
        pool.append(builtin.slice_(made, index=self.rng.randrange(len(items))).out)

    def _condition(self, pool: list[Value]) -> Value:
        bools = [v for v in pool if v.type.element is i1]
        return self.rng.choice(bools) if bools else builtin.constant(value=np.array([self.rng.random() < 0.5])).out

    def _branch(self, pool: list[Value], depth: int) -> None:
        condition = self._condition(pool)
        kinds = [self._any(pool).type for _ in range(self.rng.randrange(3))]

        def side() -> list[Value]:
            inner = list(pool)
            self._operations(inner, 4, depth + 1)
            return [self.rng.choice([v for v in inner if v.type is kind][-3:]) for kind in kinds]

        made = scf.IfOp.build(condition, side, side if kinds or self.rng.random() < 0.5 else None)
        pool += made.results

    def _loop(self, pool: list[Value], depth: int) -> None:
        carried = [self._any(pool) for _ in range(self.rng.randrange(3))]
        start = pd.full(shape=(1,), value=0.0).out
        end = float(self.rng.randrange(4))

        def before(count: Value, *rest: Value) -> tuple[Value, list[Value]]:
            inner = [*pool, *rest]
            if self.rng.random() < 0.3:
                self._operations(inner, 2, depth + 1)
            passed = [self.rng.choice([v for v in inner if v.type is c.type][-3:]) for c in carried]
            return pd.less_than(count, pd.full(shape=(1,), value=end)).out, [count, *passed]

        def after(count: Value, *rest: Value) -> list[Value]:
            inner = [*pool, *rest]
            self._operations(inner, 4, depth + 1)
            given = [self.rng.choice([v for v in inner if v.type is c.type][-3:]) for c in carried]
            return [pd.scale(count, bias=1.0).out, *given]

        made = scf.WhileOp.build([start, *carried], before, after)
        pool += made.results[1:]

    def _call(self, pool: list[Value], depth: int) -> None:
        callee = self.rng.choice(self.helpers)
        kind = callee.function_type
        tensors = [v for v in pool if v.type is BIG] or [builtin.to_tensor(pd.full(shape=(2, 3), value=1.0)).out]
        given = [self.rng.choice(tensors) for _ in kind.inputs]
        made = func.call(given, callee=SymbolRefAttr(callee.sym_name), outputs=kind.results)
        pool += made.results


def final_state(program: Program) -> dict[str, np.ndarray]:
    """Everything a run leaves behind: outputs, inputs, variables. The store of `program` stays as it is."""
    scratch = Program(program.module, program.weights.copy())
    given = np.random.default_rng(3)
    inputs: dict[str, np.ndarray] = {}
    for name, kind in program.inputs.items():
        inputs[name] = given.standard_normal(kind.shape).astype(np.float32) if kind.element is f32 else np.array([True])
    if any(isinstance(op, pd.FeedOp) for op in program.module.walk()):
        inputs["x"] = np.full((2, 3), 1.5, np.float32)
    interpreter = Interpreter(scratch)
    state = {f"output {k}": v for k, v in interpreter.run(inputs).items()}
    state |= {f"input {k}": v for k, v in interpreter.feeds.items()}
    return state | {f"variable {k}": v.numpy() for k, v in scratch.weights.items() if v.is_mutable}


def check(seed: int, pipeline: list[str]) -> None:
    program = Drawn(seed).program
    before = str(program)
    expected = final_state(program)
    for step in pipeline:
        PassManager.parse(step).run(program)
        found = final_state(program)
        for name, wanted in expected.items():
            if name not in found:
                assert name.startswith("input"), name
                continue
            np.testing.assert_array_equal(found[name], wanted, err_msg=f"seed {seed}: {name} after {step}\n{before}")


@pytest.mark.parametrize("chunk", range(4))
def test_every_pass_keeps_the_meaning_at_any_point_of_a_pipeline(chunk: int) -> None:
    for seed in range(chunk * 25, chunk * 25 + 25):
        order = random.Random(seed).sample(PASSES, len(PASSES))
        check(seed, ["to-value-semantics", "copy-elision", "to-inplace"] if seed % 2 else order)


@pytest.mark.nightly
def test_every_pass_keeps_the_meaning_of_many_programs() -> None:
    for seed in itertools.islice(itertools.count(1000), 5000):
        order = random.Random(seed).choices(PASSES[:3] * 2 + PASSES, k=6)
        check(seed, order)


@pytest.mark.parametrize("name", ["to-value-semantics", "copy-elision", "to-inplace"])
def test_a_second_run_changes_nothing(name: str) -> None:
    for seed in range(60):
        program = Drawn(seed).program
        PassManager.parse(name).run(program)
        once = str(program)
        PassManager.parse(name).run(program)
        assert str(program) == once, f"seed {seed}"


@with_examples(20)
def test_the_oracle_finds_nothing(examples: int) -> None:
    """It looks after each pass, in each order of the three."""
    orders = itertools.cycle(itertools.permutations(PASSES[:3]))
    for_each_program(
        tensor_programs(),
        examples,
        lambda program: assert_preserves(PassManager.parse(",".join(next(orders))), program),
    )
