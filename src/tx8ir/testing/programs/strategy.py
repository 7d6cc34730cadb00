"""The strategy: which steps there are for a writer, and programs made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import attrs
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tx8ir.backend.graph import CompileError
from tx8ir.compiler import lower
from tx8ir.core import Builder, FunctionType, Program, RankedTensor, TensorType, VTensorType, detached, i1
from tx8ir.dialects import func
from tx8ir.passes import PassError

from . import arithmetic, control, relations, storage, views
from .features import EVERYTHING, SHAPES, Features
from .sampled import sampled
from .writer import Writer, WriterStep

Level: TypeAlias = Literal["pd", "tx8be", "layouts", "groups", "placed"]

_STAGES: Mapping[Level, str] = {
    "tx8be": "lower-to-tx8be",
    "layouts": "load-constants",
    "groups": "group-barriers",
    "placed": "allocate-ddr",
}


def tensor_programs(
    features: Features = EVERYTHING,
    *,
    level: Level = "pd",
    max_ops: int = 16,
    steps: Sequence[WriterStep] = (),
    inputs: Sequence[RankedTensor] = (),
) -> SearchStrategy[Program]:
    """Programs with a function `main` of one to three inputs, and their variables.

    Nearly every operation leads to a result.

    Args:
        features: what they may have.
        level: "pd" as a frontend makes them, or what the compiler makes of them, as far as it takes them (`LOWERABLE`
            features): "tx8be" after `lower-to-tx8be`, "layouts" with layouts and constants, "groups" in groups,
            "placed" with places in SPM and DDR.
        max_ops: how many steps are written; a loop or branch is one step, with steps of its own inside.
        steps: steps of your own, such as the operations that a pass looks for:

                def double_negation(writer: Writer) -> Sequence[Value]:
                    x = writer.value(lambda t: t.element.is_float)
                    if x is None:
                        return ()
                    with Builder.at_end(writer.block):
                        return pd.scale(pd.scale(x, scale=-1.0), scale=-1.0).results

            One of them is written into `main` of each program at least, and more of them anywhere.
        inputs: types of further inputs, for steps that need values of these types.
    """
    source = _programs(features, max_ops, tuple(steps), tuple(inputs))
    return source if level == "pd" else _compiled(source, _STAGES[level])


@st.composite
def _compiled(draw: st.DrawFn, programs: SearchStrategy[Program], through: str) -> Program:
    source = draw(programs)
    try:
        with detached():
            return lower(source, through=through)
    except (PassError, CompileError):  # an operation that has no form in the backend graph
        reject()


@st.composite
def _programs(
    draw: st.DrawFn, features: Features, max_ops: int, steps: tuple[WriterStep, ...], inputs: tuple[RankedTensor, ...]
) -> Program:
    program = Program.empty()
    favourite = draw(st.just(features.elements[0]) | st.sampled_from(features.elements))
    features = attrs.evolve(features, elements=(favourite, *(e for e in features.elements if e is not favourite)))
    types = [*draw(st.lists(_types(features), min_size=0 if inputs else 1, max_size=3)), *inputs]
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()))
    body = main.body.block
    writer = Writer(draw, features, program, body, list(body.args), lambda w: [*_menu(w), *steps])
    if steps:
        writer.write(max_ops // 2)
        writer.take(writer.one_of(steps))
        writer.write(max_ops // 2)
    else:
        writer.write(max_ops)
    results = writer.unused()[-6:] + [v for v in writer.some(0, 2) if isinstance(v.type, RankedTensor)]
    with Builder.at_end(writer.block):
        func.ReturnOp(results)
    main.set_attribute("function_type", FunctionType([a.type for a in body.args], [v.type for v in results]))
    program.verify()
    return program


@st.composite
def _types(draw: st.DrawFn, features: Features) -> RankedTensor:
    shape = draw(st.sampled_from(SHAPES))
    element = draw(st.just(features.elements[0]) | st.sampled_from(features.elements))
    kind = TensorType if features.aliases and draw(st.booleans()) else VTensorType
    return kind(shape, element)


def _menu(writer: Writer) -> list[WriterStep]:
    """The steps that may be next; those that are wanted more often, more than once."""
    features = writer.features
    types = [v.type for v in writer.pool if isinstance(v.type, RankedTensor)]
    steps: list[WriterStep] = [arithmetic.unary, arithmetic.binary, arithmetic.binary, views.view] * 2
    steps += [views.movement, arithmetic.reduction, arithmetic.constant]
    steps += [relations.repeat, relations.chain, relations.chain] * 3
    if i1 in features.elements:
        steps.append(arithmetic.compare)
    if any(t.element is i1 for t in types):
        steps += [arithmetic.select, arithmetic.logical]
    if features.samples:
        steps += [sampled] * 4
    if features.sums:
        steps += [arithmetic.sum_, arithmetic.matmul]
    if features.parameters:
        steps.append(storage.read)
        if features.aliases or features.branches:
            steps += [storage.write_parameter, storage.read, storage.combined_parameters]
            steps += [relations.look_write_look] * 2
    if features.aliases:
        steps += [storage.copy, storage.copy]
        if any(isinstance(t, TensorType) for t in types):
            steps += [storage.in_place] * 3 + [views.tensor_view] * 2 + [relations.look_write_look] * 2
    if features.lists:
        steps += [storage.put_together, storage.take_apart]
    if features.feeds and not writer.depth:
        steps += [storage.feed, storage.fetch]
    if writer.depth < control.NESTING:
        steps += [control.branch] * features.branches + [control.loop] * features.loops
        steps += [control.call] * features.calls
    if features.blocks and writer.can_branch:
        steps += [control.jump] * 3 + [control.loop_of_blocks] * 2 * features.loops
    return steps
