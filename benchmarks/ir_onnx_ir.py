"""The IR workloads in onnx-ir's idiom. It has no pattern driver of its own; text and checks go through onnx in C++."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import CheckerPass, CommonSubexpressionEliminationPass, RemoveUnusedNodesPass

import ir_workloads as w

logging.disable(logging.WARNING)
TYPE = ir.TensorType(ir.DataType.FLOAT)
DIMS = ir.Shape(w.SHAPE, frozen=True)
KIND = {"relu": "Relu", "add": "Add", "mul": "Mul"}


def value(name: str | None = None) -> Any:
    return ir.Value(name=name, type=TYPE, shape=DIMS)


def build(dag: w.Dag, results: Sequence[int]) -> Any:
    arguments = [value("a"), value("b")]
    values, nodes = list(arguments), []
    for kind, a, b in dag:
        out = value()
        nodes.append(ir.node(KIND[kind], [values[a]] if kind == "relu" else [values[a], values[b]], outputs=[out]))
        values.append(out)
    graph = ir.Graph(arguments, [values[r] for r in results], nodes=nodes, name="main", opset_imports={"": 20})
    return ir.Model(graph, ir_version=10)


def halved(state: Any, outcome: Any, n: int) -> bool:
    # Merging two graph outputs leaves an Identity for the second.
    return len(state.graph) - n // 2 in (0, 1)


def single_uses(n: int) -> Any:
    model = build([("relu", 0, 0)] * n + [("relu", i + 2, 0) for i in range(n)], (2 * n + 1,))
    return model, [node.outputs[0] for node in list(model.graph)[:n]]


def replace_single_uses(state: Any) -> None:
    for previous, found in zip(state[1], state[1][1:], strict=False):
        found.replace_all_uses_with(previous)


def fan_out(n: int) -> Any:
    model = build(*w.fan_out(n))
    return model, *model.graph.inputs


def with_ops(pick: Any) -> Any:
    def setup(n: int) -> Any:
        model = build(*w.fan_out(n))
        nodes = list(model.graph)
        return model, [nodes[i] for i in pick(n)]

    return setup


def erase(state: Any) -> None:
    for node in state[1]:
        state[0].graph.remove(node, safe=True)


def insert(state: Any) -> None:
    graph = state[0].graph
    x = graph.inputs[1]
    for node in state[1]:
        graph.insert_before(node, ir.node("Relu", [x], outputs=[value()]))


def walk(model: Any) -> None:
    for _ in ir.traversal.RecursiveGraphIterator(model.graph):
        pass


def made(generator: Any) -> Any:
    return lambda n: build(*generator(n))


BENCHES: dict[str, w.Bench] = {
    "build": (w.mixed, lambda s: build(*s), None),
    "print": (made(w.mixed), ir.to_onnx_text, None),
    "parse": (
        lambda n: ir.to_onnx_text(build(*w.mixed(n))),
        ir.from_onnx_text,
        lambda s, m, n: len(m.graph) == n,
    ),
    "verify": (made(w.mixed), CheckerPass(), None),
    "clone": (made(w.mixed), lambda m: m.clone(), None),
    "replace all uses": (fan_out, lambda s: s[1].replace_all_uses_with(s[2]), None),
    "replace single uses": (single_uses, replace_single_uses, None),
    "erase half": (with_ops(lambda n: w.sampled(n - 1, n // 2)), erase, None),
    "insert": (with_ops(lambda n: w.chosen(n, n)), insert, None),
    "dce": (made(w.half_dead), RemoveUnusedNodesPass(), halved),
    "cse": (made(w.half_equal), CommonSubexpressionEliminationPass(), halved),
    "walk": (made(w.mixed), walk, None),
}

if __name__ == "__main__":
    w.main(BENCHES, build, "import onnx_ir")
