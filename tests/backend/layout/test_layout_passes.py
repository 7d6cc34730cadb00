"""The layout passes on backend graphs: names of layouts, conversions, and what is cleaned up after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.layout import LayoutAlign, Mode
from tx8ir.backend.layout.layout_align import conversion_bytes
from tx8ir.backend.oplib.interface import AlignMode, OpLib
from tx8ir.core import Builder, Operation, Program, VTensorType, f32, parse
from tx8ir.dialects import pd, tx8be
from tx8ir.dialects.tx8be import BackendOp, DevAttr
from tx8ir.passes import PassError

Fixture = Callable[..., Any]
NAMES = "layout-init,layout-transmit"
ALL = f"{NAMES},layout-align,layout-optimize"
GREEDY = f"{NAMES},layout-align{{mode=greedy}}"
NHWC = {"data_format": "NHWC", "filter_format": "HWOI"}


def t(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


def w(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def convnet(x: Any, p: Any) -> Any:
    """conv, add with itself, conv, mean over the image, linear."""
    y = pd.conv2d(x, p("w0"), **NHWC)
    y = pd.conv2d(pd.add(y, y), p("w1"), bias=p("b1"), **NHWC)
    return pd.add(pd.matmul(pd.mean(y, axis=(1, 2)), p("w2")), p("b2"))


CONVNET = {"x": t(1, 6, 6, 4)}
CONVNET_WEIGHTS = {"w0": w(3, 3, 8, 4), "w1": w(3, 3, 8, 8), "b1": w(8), "w2": w(8, 5), "b2": w(5)}


def layouts(program: Program) -> dict[str, str | None]:
    """Op name (numbered when it repeats) to `layout_str`."""
    found: dict[str, str | None] = {}
    for op in program.main.body.block:
        if isinstance(op, BackendOp):
            name, number = op.name.removeprefix("tx8be."), 1
            while f"{name}{number}" in found:
                number += 1
            found[f"{name}{number}"] = op.layout_str
    return found


def check_agreement(program: Program) -> None:
    """Both sides of every use are dense or both blocked; every op has the layout its kernel takes."""
    for op in program.main.body.block:
        if not isinstance(op, BackendOp) or not op.results or not isinstance(op.results[0].type, VTensorType):
            continue
        assert op.dev_info is not None
        own = op.dev_info.is_aligned
        operands = [v.defining_op for v in op.operands if isinstance(v.type, VTensorType)]
        sides = [o.dev_info.is_aligned for o in operands if isinstance(o, BackendOp) and o.dev_info is not None]
        if isinstance(op, tx8be.ChannelNormOp):
            assert (own, sides) == (op.direction, [not op.direction])
            continue
        assert all(side == own for side in sides), str(op)
        library = op.interface(OpLib)
        if library is not None and library.query().align_mode is not AlignMode.BOTH:
            assert own == (library.query().align_mode is AlignMode.ALIGN)
        if isinstance(op, tx8be.InputOp):
            assert not own


class TestLogicalLayouts:
    def test_init_names_what_the_op_says(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(convnet, CONVNET, CONVNET_WEIGHTS)
        found = layouts(run_passes(program, "lower-to-tx8be,layout-init"))
        assert found["Conv1"] == "NHWC-HWOI-NHWC"
        assert found["Gemm1"] == "Tensor-NTensor-Tensor"
        assert found["Tuple1"] == found["Output1"] == "Tuple"
        assert found["None1"] is None
        assert set(found.values()) == {"NHWC-HWOI-NHWC", "Tensor-NTensor-Tensor", "Tuple", "Unknown", None}

    def test_names_spread_from_the_engine_ops(self, build_program: Fixture, run_passes: Fixture) -> None:
        found = layouts(run_passes(build_program(convnet, CONVNET, CONVNET_WEIGHTS), f"lower-to-tx8be,{NAMES}"))
        features = ("Input1", "Conv1", "Add1", "Conv2", "Reduce1")
        assert {found[name] for name in features} == {"NHWC"}
        assert sum(found.get(f"Constant{i}") == "HWOI" for i in range(1, 6)) == 2
        assert found["Reshape1"] == found["Gemm1"] == "Tensor"  # a reshape stops the spread; dim 0 is 1
        assert "Unknown" not in found.values()

    def test_a_transpose_moves_the_letters(self, build_program: Fixture, run_passes: Fixture) -> None:
        def build(x: Any, p: Any) -> Any:
            nhwc = pd.transpose(pd.relu(x), perm=(0, 2, 3, 1))
            return pd.transpose(pd.conv2d(nhwc, p("w"), **NHWC), perm=(0, 3, 1, 2))

        program = build_program(build, {"x": t(1, 4, 6, 6)}, {"w": w(3, 3, 8, 4)})
        found = layouts(run_passes(program, f"lower-to-tx8be,{NAMES}"))
        assert [found[n] for n in ("Input1", "Relu1", "Transpose1", "Conv1", "Transpose2")] == [
            "NCHW", "NCHW", "NHWC", "NHWC", "NCHW",
        ]  # fmt: skip

    def test_a_name_that_was_given_stays_and_spreads(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.relu(pd.tanh(x)), {"x": t(2, 3, 4, 5)})
        lowered = run_passes(program, "lower-to-tx8be")
        entry = lowered.main.body.block.first_op
        entry.set_attribute("layout_str", "NCHW")
        assert layouts(run_passes(lowered, NAMES))["Relu1"] == "NCHW"


class TestAlign:
    @pytest.mark.parametrize("mode", ["optimal", "greedy"])
    def test_the_text(self, mode: str, build_program: Fixture, run_passes: Fixture, golden: Fixture) -> None:
        program = build_program(convnet, CONVNET, CONVNET_WEIGHTS)
        before = run_passes(program, f"lower-to-tx8be,{NAMES}")
        after = run_passes(before, f"layout-align{{mode={mode}}}")
        cleaned = run_passes(after, "layout-optimize")
        text = f"{before}\n// layout-align{{mode={mode}}}\n{after}\n// layout-optimize\n{cleaned}"
        golden(text, f"layout/convnet_{mode}.mlir")

    def test_constants_used_blocked_are_stored_blocked(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = run_passes(build_program(convnet, CONVNET, CONVNET_WEIGHTS), f"lower-to-tx8be,{ALL}")
        stored = {op.parameter: op.dev_info for op in program.main.body.block if isinstance(op, tx8be.ConstantOp)}
        # weights of convolutions have no batch: Cx over H·W·O
        assert {name: info.mem_layout for name, info in stored.items() if info is not None} == dict.fromkeys(
            CONVNET_WEIGHTS, "Cx"
        )
        norms = [op for op in program.main.body.block if isinstance(op, tx8be.ChannelNormOp)]
        assert all(not isinstance(op.x.defining_op, tx8be.ConstantOp) for op in norms)

    def test_both_operands_of_a_square_are_converted(self, build_program: Fixture, run_passes: Fixture) -> None:
        """`mul(x, x)` of a dense input before a matrix product: greedy converts after it, once per operand."""
        program = build_program(lambda x, p: pd.matmul(pd.softmax(x), pd.softmax(x)), {"x": t(4, 4)})
        lowered = run_passes(program, "lower-to-tx8be")
        shared = next(op for op in lowered.main.body.block if isinstance(op, tx8be.GemmOp))
        shared.set_operand(0, lowered.main.body.block.first_op.results[0])
        shared.set_operand(1, lowered.main.body.block.first_op.results[0])
        after = run_passes(lowered, f"dce,{GREEDY}")
        gemm = next(op for op in after.main.body.block if isinstance(op, tx8be.GemmOp))
        assert [gemm.operands[i].defining_op.name for i in (0, 1)] == ["tx8be.ChannelNorm"] * 2
        assert gemm.operands[0] is not gemm.operands[1]
        merged = run_passes(after, "layout-optimize")
        gemm = next(op for op in merged.main.body.block if isinstance(op, tx8be.GemmOp))
        assert gemm.operands[0] is gemm.operands[1]
        check_agreement(merged)

    def test_optimal_shares_the_conversion_that_greedy_repeats(
        self, build_program: Fixture, run_passes: Fixture, op_names: Fixture
    ) -> None:
        """Sums (k of them) of one dense input with results of convolutions, each feeding a convolution."""
        k = 3

        def build(x: Any, y: Any, p: Any) -> Any:
            sums = [pd.add(y, pd.conv2d(x, p(f"w{i}"), **NHWC)) for i in range(k)]
            return [pd.conv2d(s, p("v"), **NHWC) for s in sums]

        weights = {**{f"w{i}": w(1, 1, 8, 4) for i in range(k)}, "v": w(1, 1, 4, 8)}
        program = build_program(build, {"x": t(1, 6, 6, 4), "y": t(1, 6, 6, 8)}, weights)
        counts = {}
        for mode in ("greedy", "optimal"):
            after = run_passes(program, f"lower-to-tx8be,{NAMES},layout-align{{mode={mode}}},layout-optimize")
            check_agreement(after)
            norms = [op for op in after.main.body.block if isinstance(op, tx8be.ChannelNormOp)]
            norms = [op for op in norms if not isinstance(op.x.defining_op, tx8be.ConstantOp)]
            results = sum(isinstance(user, tx8be.TupleOp) for op in norms for user in op.y.users)
            counts[mode] = len(norms) - results  # the k outputs are dense in any case
        # greedy: x once, and around every sum; optimal: x once and y once
        assert counts == {"greedy": 1 + 2 * k, "optimal": 2}

    def test_a_preset_layout_pins_its_op(self, build_program: Fixture, run_passes: Fixture) -> None:
        lowered = run_passes(build_program(lambda x, p: pd.relu(x), {"x": t(2, 4)}), f"lower-to-tx8be,{NAMES}")
        relu = next(op for op in lowered.main.body.block if isinstance(op, tx8be.ReluOp))
        relu.set_attribute("dev_info", DevAttr("Cx", imm_size=64))
        after = run_passes(lowered, "layout-align")
        names = [op.name.removeprefix("tx8be.") for op in after.main.body.block]
        assert names == ["Input", "ChannelNorm", "Relu", "ChannelNorm", "Tuple", "Output", "func.return"]
        relu = next(op for op in after.main.body.block if isinstance(op, tx8be.ReluOp))
        assert relu.dev_info is DevAttr("Cx", imm_size=64)
        check_agreement(after)

    def test_running_it_twice_changes_nothing(self, build_program: Fixture, run_passes: Fixture) -> None:
        once = run_passes(build_program(convnet, CONVNET, CONVNET_WEIGHTS), f"lower-to-tx8be,{ALL}")
        assert str(run_passes(once, "layout-align,layout-optimize")) == str(once)

    def test_statistics_count_conversions(self, build_program: Fixture, run_passes: Fixture) -> None:
        lowered = run_passes(build_program(convnet, CONVNET, CONVNET_WEIGHTS), f"lower-to-tx8be,{NAMES}")
        align = LayoutAlign(mode=Mode.OPTIMAL)
        align.run(lowered)
        norms = [op for op in lowered.main.body.block if isinstance(op, tx8be.ChannelNormOp)]
        assert align.statistics["conversions"] == len(norms)
        moved = sum(conversion_bytes(op.layout_str, op.y.type) for op in norms if op.y.type.rank > 1)
        assert align.statistics["conversion bytes"] == moved

    def test_what_a_conversion_costs(self) -> None:
        """Dense bytes and blocked bytes: 2x1x2x131 in fp32 is 4 * 524 and 2 * 1152 (2 * 132 * 4 rounded up to 256)."""
        assert conversion_bytes("NTensor", t(2, 1, 2, 131)) == 4 * 524 + 2 * 1280

    def test_a_pd_op_is_refused(self, build_program: Fixture, run_passes: Fixture) -> None:
        with pytest.raises(PassError, match=r"pd\.relu is not a backend op; run lower-to-tx8be before this pass"):
            run_passes(build_program(lambda x, p: pd.relu(x), {"x": t(2, 4)}), "layout-align")


class TestOptimize:
    def graph(self, build: Callable[[Any], Operation]) -> Program:
        """A lowered identity with `build` of its input before the results."""
        program = parse(
            "module {\n  func.func @main(%a: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x4xf32>> {\n"
            '    %0 = "tx8be.Input"(%a) {layout_str = "NTensor", dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>,'
            " mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>\n"
            '    %1 = "tx8be.Tuple"(%0) : (!pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x4xf32>>\n'
            '    %2 = "tx8be.Output"(%1) {mem_scope = #tx8be<memscope_mode DDR>}'
            " : (tuple<!pd.vtensor<2x4xf32>>) -> tuple<!pd.vtensor<2x4xf32>>\n"
            "    return %2 : tuple<!pd.vtensor<2x4xf32>>\n  }\n}"
        )
        entry, results = (
            next(op for op in program.main.body.block if isinstance(op, k)) for k in (tx8be.InputOp, tx8be.TupleOp)
        )
        with Builder.before(results):
            results.set_operand(0, build(entry.y).results[0])
        return program

    @staticmethod
    def norm(x: Any, direction: bool) -> tx8be.ChannelNormOp:
        return tx8be.ChannelNorm(x, direction=direction, dev_info=DevAttr("Cx" if direction else "Tensor"))

    def names(self, program: Program) -> list[str]:
        names = [op.name.removeprefix("tx8be.") for op in program.main.body.block]
        return names[1:-3]

    def test_inverse_pairs_cancel(self, run_passes: Fixture) -> None:
        program = self.graph(lambda x: self.norm(self.norm(self.norm(self.norm(x, True).y, False).y, True).y, False))
        assert self.names(run_passes(program, "layout-optimize")) == []

    def test_equal_conversions_merge(self, run_passes: Fixture) -> None:
        program = self.graph(lambda x: self.norm(tx8be.Add(self.norm(x, True).y, self.norm(x, True).y).out, False))
        assert self.names(run_passes(program, "layout-optimize")) == ["ChannelNorm", "Add", "ChannelNorm"]

    def test_a_vector_constant_absorbs_its_conversion(self, run_passes: Fixture) -> None:
        def build(x: Any) -> Operation:
            vector = tx8be.Constant(parameter="b", y=t(4), layout_str="NTensor", dev_info=DevAttr("Tensor"))
            blocked = tx8be.Add(self.norm(x, True).y, self.norm(vector.y, True).y)
            return tx8be.Add(self.norm(blocked.out, False).y, vector.y)

        after = run_passes(self.graph(build), "layout-optimize")
        constants = [op for op in after.main.body.block if isinstance(op, tx8be.ConstantOp)]
        # used dense and blocked: stored both ways
        assert [op.dev_info.mem_layout for op in constants if op.dev_info is not None] == ["Tensor", "Cx"]
        assert self.names(after).count("ChannelNorm") == 2

    def test_a_matrix_constant_keeps_it(self, run_passes: Fixture) -> None:
        def build(x: Any) -> Operation:
            matrix = tx8be.Constant(parameter="w", y=t(2, 4), layout_str="NTensor", dev_info=DevAttr("Tensor"))
            return self.norm(tx8be.Add(self.norm(x, True).y, self.norm(matrix.y, True).y).out, False)

        assert self.names(run_passes(self.graph(build), "layout-optimize")).count("ChannelNorm") == 3


@st.composite
def graphs(draw: st.DrawFn) -> Callable[..., Any]:
    """Random programs over [4, 4] of matrix products, softmax, elementwise ops, transposes and weights."""
    steps = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=8))

    def build(x: Any, y: Any, p: Any) -> Any:
        values = [x, y, p("w"), p("v")]
        for kind, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            made = (
                lambda: pd.matmul(a, b),  # noqa: B023  (called at once)
                lambda: pd.softmax(a),  # noqa: B023
                lambda: pd.add(a, b),  # noqa: B023
                lambda: pd.tanh(a),  # noqa: B023
                lambda: pd.transpose(a, perm=(1, 0)),  # noqa: B023
                lambda: pd.add(a, p("b")),  # noqa: B023
                lambda: pd.reshape(pd.reshape(a, shape=(16,)), shape=(4, 4)),  # noqa: B023
            )[kind]()
            values.append(made.out)
        return values[-2:]

    return build


class TestProperties:
    @given(build=graphs(), mode=st.sampled_from(["optimal", "greedy"]))
    def test_layouts_agree_and_values_stay(
        self, build: Any, mode: str, build_program: Fixture, run_passes: Fixture, check_same_values: Fixture
    ) -> None:
        program = build_program(build, {"x": t(4, 4), "y": t(4, 4)}, {"w": w(4, 4), "v": w(4, 4), "b": w(4)})
        aligned = run_passes(program, f"lower-to-tx8be,{NAMES},layout-align{{mode={mode}}}")
        check_agreement(aligned)
        cleaned = run_passes(aligned, "layout-optimize")
        check_agreement(cleaned)
        check_same_values(program, cleaned)
