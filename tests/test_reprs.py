"""The `repr` of every public object fits a screen: 25 lines of 100 characters, and no address.

Objects are those that are reached from what a user has in hand: programs, executables, reports, passes, results of
checks, kernels, simulators, analyses.
"""

from __future__ import annotations

import enum
import gc
import importlib
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir import core, testing, viz
from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.dataflow import DataFlowSolver
from tx8ir.autodiff import append_backward
from tx8ir.backend import axes
from tx8ir.backend.axes import space_of
from tx8ir.backend.memory import Buffer, plan
from tx8ir.core import Interface, Program, Trait, default_context
from tx8ir.dialects import pd, tx8be
from tx8ir.explorer import explore
from tx8ir.interpreter import Enter, Interpreter, Jump
from tx8ir.kernels import Kernel
from tx8ir.passes import (
    CrashReproducer,
    DebugCounter,
    PassManager,
    Reproducer,
    WrongStep,
    all_passes,
    all_patterns,
    describe_options,
)
from tx8ir.passes.instrumentation import (
    IrDiff,
    OpCounts,
    PassDiff,
    PassTime,
    PrintAfterAll,
    PrintAfterChange,
    PrintAround,
    Statistics,
    Timing,
    VerifyEach,
)
from tx8ir.rewriting import Rewriter, rewrite_greedily
from tx8ir.rewriting.declarative import Constant, Make, Node, Rule, Var
from tx8ir.sim import Debugger, FlagRow, Interleaved, Lockstep, Simulator
from tx8ir.support.screen import LINES, WIDTH, fitted
from tx8ir.support.table import Table
from tx8ir.testing import check, fuzz, observe, prove
from tx8ir.testing.cases import operations

MODELS = Path(__file__).parent / "data" / "models"

PUBLIC = (
    *("", ".core", ".analysis", ".analysis.dataflow", ".rewriting", ".rewriting.declarative", ".passes"),
    *(".passes.instrumentation", ".interpreter", ".autodiff", ".sim", ".kernels", ".viz", ".explorer", ".reports"),
    *(".testing", ".testing.fuzzing", ".testing.proving", ".testing.cases.operations", ".testing.programs"),
    *(".frontends.onnx", ".frontends.python", ".backend.memory", ".backend.axes", ".signature", ".executable"),
    *(".compiler", ".target.chip", ".support.table"),
)


def public_classes() -> dict[type[Any], str]:
    """The classes with objects of their own, under their public names."""
    found: dict[type[Any], str] = {}
    for name in PUBLIC:
        module = importlib.import_module(f"tx8ir{name}")
        own = [n for n, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        for attribute in getattr(module, "__all__", [n for n in own if not n.startswith("_")]):
            thing = getattr(module, attribute)
            if not isinstance(thing, type) or not thing.__module__.startswith("tx8ir"):
                continue
            is_kind = issubclass(thing, BaseException | enum.Enum | Trait | Interface)
            if not is_kind and not inspect.isabstract(thing) and not getattr(thing, "_is_protocol", False):
                found.setdefault(thing, f"tx8ir{name}.{attribute}")
    return found


@tx8ir.function
def layer(x: Any, w: Any) -> Any:
    return pd.softmax((x @ w + 1.0).relu())


ATTRIBUTES = """
%0 = "test.op"() {
  a = affine_map<(d0, d1) -> (d1, d0)>, b = affine_set<(d0) : (d0 - 1 >= 0)>, c = unit, d = [1 : i32, "text"],
  e = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, f = @symbol::@nested, g = memref<4x?xf32, strided<[4, 1], offset: ?>>,
  h = vector<4x[2]xf32>, i = complex<f32>, j = (i32, index) -> tensor<*xf32>, k = tuple<i32, f32>, l = none,
  m = sparse<[[0, 0]], [1.0]> : tensor<2x2xf32>, n = dense_resource<blob> : tensor<2xf32>, o = loc("here.py":1:2 to :4),
  p = loc(callsite("callee" at "caller")), q = distinct[0]<42 : i32>, r = array<i64: 1, 2>, s = 0x7FC00001 : f32,
  t = #unknown.attribute<x>, u = !unknown.type<y>, v = !builtin.list<f32>, w = @symbol
} : () -> !unknown.type<z>
"""


def swapped(program: Program) -> None:
    """A pass that is wrong."""
    for op in program.module.walk():
        if isinstance(op, pd.SubtractOp):
            op.set_operands([op.y, op.x])


def in_hand() -> Iterator[Any]:
    """What a user has in hand after some hours."""
    x, w = np.ones((8, 64), np.float32), np.ones((64, 10), np.float32)
    on_chip = tx8ir.jit(layer)
    on_chip(x, w)
    executable, program = on_chip.compile(x, w), layer.program(x, w)
    executable.run(x, w)
    network = tx8ir.load(MODELS / "gpt2" / "model.onnx")
    compiled = tx8ir.compile(network)
    inputs = {port.name: np.zeros(port.shape, port.dtype) for port in executable.signature.inputs}
    yield from (layer, on_chip, executable, program, network, compiled, tx8ir.CompileOptions(), default_context())
    yield from (executable.report, executable.estimate(), executable.estimate().critical_path, compiled.estimate())
    yield tx8ir.parse(MLIR, allow_unregistered=True)
    yield from (explore(program), Table("t", ("a",), (("1",),)), fitted("x" * 1000))

    watching = [Timing(), Statistics(), OpCounts(), IrDiff()]
    pipeline = PassManager.parse("canonicalize,func.func(cse,dce)")
    yield from (pipeline, pipeline.run(program.clone(), instruments=watching), *watching, dict(all_passes()))
    yield [cls() for cls in all_passes().values()]
    yield from (describe_options(cls) for cls in all_passes().values())
    yield dict(all_patterns())
    rule = Rule("double", Node(pd.AddOp, Var("x"), Var("x")), Make(pd.ScaleOp, Var("x"), scale=2.0))
    yield from (rule, Constant("c"), rewrite_greedily(program.clone().module, [rule]), Rewriter(program.module, "by"))
    yield from (AliasAnalysis(program), Interpreter(program))
    solver = DataFlowSolver(program.module)
    solver.run()
    yield solver

    yield from (check(program), check(program, "canonicalize,cse"), fuzz("cse", examples=20), prove(rule))
    yield from (fuzz(swapped, examples=200), observe(program, {"x": x, "w": w}))
    yield operations.fixed_cases("Relu")[0].init_data(0).compile()
    yield from (operations.fixed_cases("Softmax"), plan([Buffer("a", 0, 2, 64), Buffer("b", 1, 3, 32)], 128))
    yield from (Simulator(executable.program), Simulator(executable.program).run(inputs), Lockstep(), Interleaved(0))
    yield Debugger(executable.program, inputs)

    lowered = tx8ir.compiler.lower(program, through="group-barriers")
    groups = [op for op in lowered.module.walk() if isinstance(op, tx8be.GroupOp)]
    yield from (lowered, [space_of(group) for group in groups][:1])
    trained = tx8ir.parse("""
    module {
      func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<f32> {
        %0 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
        %1 = "pd.mean"(%0) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<4xf32>) -> !pd.vtensor<f32>
        return %1 : !pd.vtensor<f32>
      }
    }
    """)
    block = trained.main.body.block
    yield append_backward(trained, block.terminator.operands[0], wrt=[block.args[0]])
    yield tx8ir.parse(ATTRIBUTES, allow_unregistered=True)
    yield from passing(trained)


def passing(program: Program) -> Iterator[Any]:
    """What is met while something is built, watched or rewritten, made by itself."""
    function, block = program.main, program.main.body.block
    value = block.args[0]
    yield from (PrintAfterAll(), PrintAround(), PrintAfterChange(), VerifyEach(), PassDiff("cse", "", "+" * 500))
    yield from (PassTime("cse", 0, 1, 0.1), CrashReproducer("path", "cse"), DebugCounter({}))
    yield Reproducer(program, (all_passes()["cse"](),), True)
    yield WrongStep(3, 10, "pass", "cse", str(program), function.location, str(program), str(program), None)
    yield from (core.Diagnostic(function, "message" * 100), core.Difference("path", "left" * 100, "right" * 100))
    yield from (core.DictType({"a": core.f32}), core.TokenType())
    yield from (core.RegionEdge(function.body), core.NamedStorage("parameter", "w"), core.Element(value, 0))
    yield core.MemoryEffect(core.EffectKind.READ, value)
    yield core.OpaqueElementsAttr("other", "0x00", core.tensor_type((2,), core.f32))
    node = Node(pd.SplitOp, Var("x"), ...)
    two = Make(pd.SplitOp, Var("x"))
    yield from (node[1], two[1], rule_of_relu().match(next(op for op in block if isinstance(op, pd.ExpOp))))
    yield from (Enter(block, [np.ones(1000)]), Jump(block, [np.ones(1000)]))
    yield FlagRow("nan", 0, 1, "tx8.gemm", "dst", (0, 64), "group 1", function.location)
    yield testing.Difference("result", "1.0", "2.0")
    yield from (axes.Cut(0, 2), axes.Interval(0, 4), axes.Loop(0, 2, 8), axes.PartialResult(0, None, True, False, 64))
    yield from (axes.Shifted(0, 1, 8), axes.Strategy((axes.Cut(0, 2),)), axes.Window(0, 1, 1, 1, 0, 3))
    yield axes.Passes({value: 1}, (1, 2))
    kernel = Kernel("double", tiles=range(16))
    x, y = kernel.input("x", (16, 1024), "f32"), kernel.output("y", (16, 1024), "f32")
    spm, turns = kernel.spm("a", (1, 1024), "f32"), kernel.spm_buffers("b", 2, (64,), "f32")
    kernel.load(spm, x.split(16))
    kernel.store(y.split(16), spm)
    yield from (kernel, x, spm, turns, kernel.program(), viz.dot(program))


def rule_of_relu() -> Rule:
    return Rule("exp", Node(pd.ExpOp, Var("x")), Make(pd.ReluOp, Var("x")))


MLIR = """
"foreign.op"() {elements = dense<[1, 2]> : vector<2xindex>, typed = "text" : !foreign.type,
                bits = 0x4048F5C28F5C28F5C28F : f80, types = [i7, f80]} : () -> ()
"""


def reached(roots: Iterator[Any], wanted: dict[type[Any], str]) -> dict[type[Any], list[Any]]:
    """Objects of the wanted classes, or of classes derived from them, that references lead to: some of each."""
    found: dict[type[Any], list[Any]] = {cls: [] for cls in wanted}
    kept = list(roots)
    seen: set[int] = set()
    work: list[Any] = list(kept)
    leaves = (types.ModuleType, types.FunctionType, types.CodeType, str, bytes, int, float, np.ndarray)
    while work:
        thing = work.pop()
        if id(thing) in seen or isinstance(thing, leaves):
            continue
        seen.add(id(thing))
        for cls in type(thing).__mro__:
            if cls in found and len(found[cls]) < 20:
                found[cls].append(thing)
        if not isinstance(thing, type) or thing.__module__.startswith("tx8ir"):
            work.extend(gc.get_referents(thing))
    return found


def faults(thing: Any) -> list[str]:
    """What is wrong with the repr of an object."""
    shown = repr(thing)
    lines = shown.splitlines() or [""]
    return [
        *([f"{len(lines)} lines"] if len(lines) > LINES else []),
        *([f"{max(map(len, lines))} columns"] if max(map(len, lines)) > WIDTH else []),
        *(["an address"] if " at 0x" in shown else []),
    ]


NOT_REACHED = frozenset(
    f"tx8ir.{name}"
    for name in (
        # Bases, and what lends methods to others.
        *("Tensor", "core.Builder", "core.CustomFormat", "core.Model"),
        *("testing.programs.Writer", "core.AttributeModel", "core.TypeModel"),
        # Handed to a function while a text is read or written, a model imported, a pass or a flow analysis run.
        *("core.Parser", "core.Printer", "frontends.onnx.OnnxNode", "passes.PassRun", "core.MappedTensor"),
        *("analysis.Effects", "analysis.dataflow.NotYet", "analysis.dataflow.Returned"),
        *("backend.axes.GroupSlices", "backend.axes.OpSlices", "backend.axes.TensorSlice"),
        *("testing.cases.operations.Configuration", "testing.cases.operations.OperandConfig"),
        # Made of several programs, or with Graphviz, or of what is wrong or missing.
        *("sim.MultiProgramChip", "testing.Inspector", "testing.Divergence", "frontends.onnx.MissingOperator"),
        *("testing.programs.Features", "viz.SvgPicture", "rewriting.declarative.MultiMatch"),
        "rewriting.declarative.MultiRootRule",
        # Of replicas that are evaluated together.
        "interpreter.Meet",
    )
)


@pytest.mark.slow
def test_every_public_object_fits_a_screen() -> None:
    wanted = public_classes()
    found = reached(in_hand(), wanted)
    wrong = {
        wanted[cls]: (problems, repr(thing)[:200])
        for cls, things in found.items()
        for thing in things
        if (problems := faults(thing))
    }
    assert wrong == {}
    assert {wanted[cls] for cls, things in found.items() if not things} == NOT_REACHED
