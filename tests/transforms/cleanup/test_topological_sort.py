"""Operations in an order that depends on the graph only."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from support.examples import with_examples
from tx8ir.core import Block, Builder, Program, Region, VTensorType, f32, i1
from tx8ir.core.ir.equality import structurally_equal
from tx8ir.dialects import pd, scf
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves, reordered
from tx8ir.testing.programs import EVERYTHING, tensor_programs

SCATTERED = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>, %y: !pd.tensor<2xf32>) -> !pd.vtensor<2xf32> {
    %dead = "pd.exp"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %a = "pd.tanh"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %b = "pd.relu"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %seen = "builtin.to_vtensor"(%y) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %c = "pd.abs"(%b) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %w = "pd.relu_"(%y) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %d = "pd.add"(%c, %seen) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %e = "pd.add"(%d, %a) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %e : !pd.vtensor<2xf32>
  }
}
"""


def test_pure_operations_stand_before_their_first_user_and_effects_keep_their_order(golden) -> None:
    program = tx8ir.parse(SCATTERED)
    report = PassManager.parse("topological-sort").run(program)
    assert dict(report.stages[0].statistics) == {"moved": 7}
    golden(f"// before{SCATTERED}\n// topological-sort\n{program}", "transforms/topological-sort.mlir")


@given(tensor_programs(attrs.evolve(EVERYTHING, blocks=False)), st.data())
def test_the_order_before_does_not_matter(program: Program, data: st.DataObject) -> None:
    other = reordered(program, lambda places: data.draw(st.sampled_from(places)))
    for each in (program, other):
        PassManager.parse("dce,topological-sort").run(each)
    assert structurally_equal(program.module, other.module) is None
    assert dict(PassManager.parse("topological-sort").run(program).stages[0].statistics) == {}


@with_examples()
def test_programs_keep_their_answers(examples: int) -> None:
    assert_preserves("topological-sort", programs=tensor_programs(EVERYTHING), examples=examples, changed=1 / 3)


def test_what_only_other_blocks_use_stays_before_the_branch(run) -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %1 = "pd.abs"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    "cf.br"(%1)[^next] : (!pd.vtensor<2xf32>) -> ()
  ^next(%2: !pd.vtensor<2xf32>):
    %3 = "pd.add"(%0, %2) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %3 : !pd.vtensor<2xf32>
  }
}
""")
    run(program, "topological-sort")
    assert [op.name for op in program.main.body.blocks[0]] == ["pd.abs", "pd.exp", "cf.br"]


def test_what_a_region_uses_stands_before_it(build, run, names) -> None:
    def body(c: Any, x: Any) -> Any:
        used, late = pd.exp(x), pd.abs(x)

        def then() -> Any:
            return [scf.IfOp.build(c, lambda: [pd.relu(used)], lambda: [x])]

        chosen = scf.IfOp.build(c, then, lambda: [x])
        return [pd.add(chosen, late)]

    vector = VTensorType((2,), f32)
    program = build(body, VTensorType((), i1), vector)
    run(program, "topological-sort")
    assert names(program) == ["pd.exp", "scf.if", "pd.abs", "pd.add"]


@pytest.mark.slow
def test_a_nest_of_3000_regions_that_all_use_an_outer_value_is_sorted(build, run, names) -> None:
    def body(c: Any, x: Any) -> Any:
        late, used = pd.abs(x).out, pd.exp(x).out
        value: Any = used
        for _ in range(3000):
            sides = [Block(), Block()]
            for side in sides:
                if value.defining_op is not used.defining_op and side is sides[0]:
                    value.defining_op.detach()
                    side.append(value.defining_op)
                with Builder.at_end(side):
                    scf.yield_([pd.add(used, value if side is sides[0] else x)])
            regions = [Region([side]) for side in sides]
            value = scf.IfOp(c, then_region=regions[0], else_region=regions[1], outputs=[x.type]).outputs[0]
        return [value, late]

    program = build(body, VTensorType((), i1), VTensorType((2,), f32))
    run(program, "topological-sort")
    assert names(program) == ["pd.exp", "scf.if", "pd.abs"]
