"""The backend graph dialect: what its ops accept, compute and say when they are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import (
    Block,
    Builder,
    Compute,
    Op,
    Program,
    Value,
    VerifyError,
    VTensorType,
    bf16,
    f32,
    find_faults,
    i8,
    i32,
    parse,
    verify,
)
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import DevAttr, ParallelAttr, ReduceFunction, RegionAttr
from tx8ir.interpreter import evaluate

VENDOR = """\
module {
  func.func @main(%arg0: tensor<1x1024x1024xi8>, %arg1: tensor<1024x1024xi8>) -> tuple<tensor<1x1024x1024xi8>> {
    %0 = "tx8be.Input"(%arg0) {layout_str = "Unknown", mem_scope = #tx8be<memscope_mode DDR>} : (tensor<1x1024x1024xi8>) -> tensor<1x1024x1024xi8>
    %1 = "tx8be.Input"(%arg1) {layout_str = "Unknown", mem_scope = #tx8be<memscope_mode DDR>} : (tensor<1024x1024xi8>) -> tensor<1024x1024xi8>
    %2 = "tx8be.None"() : () -> none
    %3 = "tx8be.None"() : () -> none
    %4 = "tx8be.Gemm"(%0, %1, %2, %3) {layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (tensor<1x1024x1024xi8>, tensor<1024x1024xi8>, none, none) -> tensor<1x1024x1024xi8>
    %5 = "tx8be.Tuple"(%4) {input_nums = 1 : i64, layout_str = "Tuple"} : (tensor<1x1024x1024xi8>) -> tuple<tensor<1x1024x1024xi8>>
    %6 = "tx8be.Output"(%5) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<tensor<1x1024x1024xi8>>) -> tuple<tensor<1x1024x1024xi8>>
    return %6 : tuple<tensor<1x1024x1024xi8>>
  }
}
"""  # noqa: E501


def tensor(*shape: int, element: Any = f32) -> VTensorType:
    return VTensorType(shape, element)


def values(*types: VTensorType) -> tuple[Value, ...]:
    return Block(types).args


def none() -> Value:
    return tx8be.NoneOp().y


class TestVendorFile:
    def test_is_read_verified_and_kept(self) -> None:
        program = parse(VENDOR)
        program.verify()
        assert str(program) + "\n" == VENDOR.replace("tensor<", "!pd.vtensor<")

    def test_int8_gemm_saturates(self) -> None:
        program = parse(VENDOR.replace("1024", "4"))
        lhs = np.full((1, 4, 4), 100, np.int8)
        rhs = np.array([[1, 1, 0, -1]] * 4, np.int8)
        program.main.set_attribute("arg_names", ("lhs", "rhs"))
        program.main.set_attribute("result_names", ("out",))
        out = evaluate(program, {"lhs": lhs, "rhs": rhs})["out"]
        assert out.dtype == np.int8
        assert out[0].tolist() == [[127, 127, 0, -128]] * 4


class TestAttributes:
    def test_only_what_was_set_is_printed(self) -> None:
        assert str(DevAttr("NCx")) == '#tx8be.dev_attr<{mem_layout = "NCx"}>'
        assert str(DevAttr("Cx", imm_size=512)) == '#tx8be.dev_attr<{imm_size = 512 : i64, mem_layout = "Cx"}>'
        assert str(RegionAttr(dx=4, dy=4)) == "#tx8be.region<{dx = 4 : i64, dy = 4 : i64}>"

    def test_an_unknown_layout_is_refused(self) -> None:
        with pytest.raises(ValueError, match="mem_layout is 'NHWC'; expected one of Tensor, NTensor, Cx, NCx"):
            DevAttr("NHWC")

    def test_cx_and_ncx_are_aligned(self) -> None:
        assert [DevAttr(n).is_aligned for n in ("Tensor", "NTensor", "Cx", "NCx")] == [False, False, True, True]


# One example of every op. A function of the builder in force; every op it makes is checked.
x234, row4, x1564, mask = tensor(2, 3, 4), tensor(4), tensor(1, 5, 6, 4), tensor(2, 3, 4)
EXAMPLES: dict[str, tuple[tuple[VTensorType, ...], Callable[..., Op]]] = {
    "Input": ((x234,), lambda x: tx8be.Input(x)),
    "Constant": ((), lambda: tx8be.Constant(parameter="w", y=x234, dev_info=DevAttr("NCx", mem_addr=(1, 2)))),
    "LoadConst": ((), lambda: tx8be.LoadConst(parameter="w", id=3, y=x234, bypasscodegen=True)),
    "LoadVar": ((x234,), lambda x: tx8be.LoadVar(x)),
    "StoreVar": ((x234,), lambda x: tx8be.StoreVar(x)),
    "Tuple": ((x234, row4), lambda x, y: tx8be.Tuple([x, y], input_nums=2)),
    "Output": ((x234,), lambda x: tx8be.Output(tx8be.Tuple([x]).y)),
    "Gemm": (
        (tensor(2, 4, 3), tensor(5, 4), tensor(5), tensor(2, 3, 5)),
        lambda a, b, c, d: tx8be.Gemm(a, b, c, d, transL=True, transR=True, activation=tx8be.Activation.RELU),
    ),
    "Conv": (
        (x1564, tensor(3, 2, 7, 4), tensor(7)),
        lambda x, w, b: tx8be.Conv(x, w, b, none(), strides=(2, 1), pads=(1, 0, 1, 1), dilations=(1, 2)),
    ),
    **{
        op.__name__.removesuffix("Op"): ((x234, row4), lambda a, b, op=op: op(a, b))  # type: ignore[misc]
        for op in tx8be.BINARY
    },
    **{
        op.__name__.removesuffix("Op"): ((x234,), lambda a, op=op: op(a))  # type: ignore[misc]
        for op in tx8be.UNARY
    },
    "Select": ((mask, x234), lambda c, a: tx8be.Select(c, a, none(), b_scalar=-1e9)),
    "Cast": ((x234,), lambda x: tx8be.Cast(x, y=tensor(2, 3, 4, element=i32))),
    "Reduce": ((x1564,), lambda x: tx8be.Reduce(x, function=ReduceFunction.AVG, axes=(1, 2))),
    "Pool": (
        (x1564,),
        lambda x: tx8be.Pool(x, function=ReduceFunction.MAX, kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
    ),
    "Softmax": ((x234,), lambda x: tx8be.Softmax(x)),
    "LayerNorm": ((x234, row4), lambda x, s: tx8be.LayerNorm(x, s, none(), epsilon=1e-6)),
    "ChannelNorm": ((x234,), lambda x: tx8be.ChannelNorm(x, direction=True)),
    "Reshape": ((x234,), lambda x: tx8be.Reshape(x, y=tensor(6, 4))),
    "Transpose": ((x234,), lambda x: tx8be.Transpose(x, perm=(2, 0, 1))),
    "Slice": ((x234,), lambda x: tx8be.Slice(x, starts=(0, 1, 0), ends=(2, 3, 1))),
    "Concatenate": ((x234, tensor(2, 1, 4)), lambda a, b: tx8be.Concatenate([a, b], axis=1)),
    "Broadcast": ((tensor(3, 1),), lambda x: tx8be.Broadcast(x, y=x234)),
    "Gather": ((tensor(9, 4), tensor(2, 3, element=i32)), lambda t, i: tx8be.Gather(t, i)),
}
SCHEDULE = {"schedule", "repeat", "step"}  # tests/backend/nest/test_schedule.py has examples
STRUCTURE = {"None", "Group", "Return", *SCHEDULE}


def wrap(types: tuple[VTensorType, ...], build: Callable[..., Op]) -> Program:
    """A program whose only function holds what `build` makes of its arguments."""
    program = parse(
        f"module {{\n  func.func @main({', '.join(f'%a{i}: {t}' for i, t in enumerate(types))}) {{\n  }}\n}}"
    )
    block = program.main.body.block
    with Builder.at_end(block):
        build(*block.args)
    return program


class TestEveryOp:
    def test_has_an_example_a_doc_and_semantics(self) -> None:
        classes = {op.name.removeprefix("tx8be."): op for op in tx8be.DIALECT.ops.values()}
        assert set(classes) == set(EXAMPLES) | STRUCTURE
        for name, op in classes.items():
            assert op.__doc__
            stored = {"Constant", "LoadConst", "Group", "Return", *SCHEDULE}  # evaluated by the interpreter's models
            assert (Compute in op.info.interfaces) != (name in stored)

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_prints_and_parses(self, name: str) -> None:
        program = wrap(*EXAMPLES[name])
        text = str(program)
        again = parse(text)
        assert str(again) == text
        for op in again.main.body.block:
            assert not find_faults(op)

    def test_parallel_and_device_attributes_survive_the_text(self) -> None:
        parallel = ParallelAttr(dp_dim_x=4, tp_dim_y=2, sharding_is_given=True, shape_spatial_sharding=(1, 4, 2))
        program = wrap(
            (x234,), lambda x: tx8be.Relu(x, tile_parallel=parallel, dev_info=DevAttr("NCx", mem_addr=(0, 256)))
        )
        (relu,) = parse(str(program)).main.body.block
        assert isinstance(relu, tx8be.ReluOp)
        assert relu.tile_parallel is parallel
        assert relu.dev_info is DevAttr("NCx", mem_addr=(0, 256))


WRONG: dict[str, tuple[tuple[VTensorType, ...], Callable[..., Op], str]] = {
    "contraction": (
        (tensor(2, 3), tensor(4, 5)),
        lambda a, b: tx8be.Gemm(a, b, none(), none()),
        r"lhs contracts 3 elements but rhs has 4: lhs \[2, 3\], rhs \[4, 5\]",
    ),
    "batch": (
        (tensor(2, 3, 4), tensor(3, 4, 5)),
        lambda a, b: tx8be.Gemm(a, b, none(), none()),
        r"batches of lhs \[2, 3, 4\] and rhs \[3, 4, 5\] do not broadcast",
    ),
    "bias": (
        (tensor(2, 3), tensor(3, 4), tensor(3)),
        lambda a, b, c: tx8be.Gemm(a, b, c, none()),
        r"bias has shape \[3\]; expected \[4\]",
    ),
    "mixed formats": (
        (tensor(2, 3), tensor(3, 4, element=i8)),
        lambda a, b: tx8be.Gemm(a, b, none(), none()),
        "rhs has element type i8; expected f32",
    ),
    "channels": (
        (x1564, tensor(3, 3, 8, 5)),
        lambda x, w: tx8be.Conv(x, w, none(), none()),
        r"weight \[3, 3, 8, 5\] \(HWOI\) takes 5 channels in each of 1 groups; input has 4",
    ),
    "groups": (
        (x1564, tensor(3, 3, 8, 2)),
        lambda x, w: tx8be.Conv(x, w, none(), none(), groups=2),
        "groups is 2; expected 1 or the 4 input channels",
    ),
    "depthwise outputs": (
        (x1564, tensor(3, 3, 8, 1)),
        lambda x, w: tx8be.Conv(x, w, none(), none(), groups=4),
        "a depthwise convolution of 4 channels gives as many, not 8",
    ),
    "window": (
        (x1564,),
        lambda x: tx8be.Pool(x, function=ReduceFunction.MAX, kernel=(7, 1)),
        "a window of 7 does not fit the padded extent 5",
    ),
    "broadcast of a column": (
        (x234, tensor(3)),
        lambda a, b: tx8be.Add(a, b),
        r"rhs has shape \[3\]; expected \[2, 3, 4\] or \[4\], as lhs is \[2, 3, 4\]",
    ),
    "no right side": ((x234,), lambda a: tx8be.Add(a, none()), "rhs is none and there is no scalar"),
    "two right sides": ((x234,), lambda a: tx8be.Add(a, a, scalar=1.0), "scalar 1.0 is given together with rhs"),
    "reduced axes": (
        (x1564,),
        lambda x: tx8be.Reduce(x, function=ReduceFunction.SUM, axes=(0,)),
        r"axes are \[0\] of shape \[1, 5, 6, 4\]; expected one of \[\[3\], \[2\], \[1\], \[1, 2\]\]",
    ),
    "softmax axis": ((x234,), lambda x: tx8be.Softmax(x, axis=1), "axis is 1 .*; expected the last axis"),
    "average of integers": (
        (tensor(2, 4, element=i32),),
        lambda x: tx8be.Reduce(x, function=ReduceFunction.AVG, axes=(1,)),
        "operand of an average has element type i32; expected a floating-point type",
    ),
    "permutation": ((x234,), lambda x: tx8be.Transpose(x, perm=(0, 1, 1)), r"perm \[0, 1, 1\] does not permute 3 axes"),
    "slice": (
        (x234,),
        lambda x: tx8be.Slice(x, starts=(0, 0, 0), ends=(2, 3, 5)),
        r"axis 2 of extent 4 is sliced \[0, 5\); expected 0 <= start < end <= 4",
    ),
    "join": (
        (x234, tensor(2, 3, 5)),
        lambda a, b: tx8be.Concatenate([a, b], axis=1),
        r"operand 1 has shape \[2, 3, 5\]; expected \[2, 3, 4\] but for axis 1",
    ),
    "tuple size": ((x234,), lambda x: tx8be.Tuple([x], input_nums=2), "input_nums is 2 but there are 1 operands"),
    "float indices": ((tensor(9, 4), row4), lambda t, i: tx8be.Gather(t, i), "indices have element type f32"),
}
WRONG_RESULT: dict[str, tuple[tuple[VTensorType, ...], Callable[..., Op], str]] = {
    "reshape": (
        (x234,),
        lambda x: tx8be.Reshape(x, y=tensor(5, 5)),
        r"result \[5, 5\] has 25 elements; operand \[2, 3, 4\] has 24",
    ),
    "reshape to a dynamic shape": (
        (x234,),
        lambda x: tx8be.Reshape(x, y=tensor(-1, 4)),
        r"result !pd.vtensor<\?x4xf32> has a dynamic extent",
    ),
    "broadcast": ((row4,), lambda x: tx8be.Broadcast(x, y=tensor(4, 3)), r"shape \[4\] does not broadcast to \[4, 3\]"),
    "cast": (
        (row4,),
        lambda x: tx8be.Cast(x, y=tensor(2, 2, element=i32)),
        r"result has shape \[2, 2\]; expected \[4\]",
    ),
}


class TestErrors:
    @pytest.mark.parametrize("name", WRONG)
    def test_operands_that_do_not_fit(self, name: str) -> None:
        types, build, message = WRONG[name]
        with pytest.raises(VerifyError, match=message):
            build(*values(*types))

    @pytest.mark.parametrize("name", WRONG_RESULT)
    def test_results_that_do_not_fit(self, name: str) -> None:
        types, build, message = WRONG_RESULT[name]
        with pytest.raises(VerifyError, match=message):
            verify(build(*values(*types)))

    def test_a_group_checks_its_body(self) -> None:
        group = tx8be.Group(inputs=values(x234), outs=[x234])
        with pytest.raises(VerifyError, match=r"body takes \(\) but the operands are \(!pd.vtensor<2x3x4xf32>\)"):
            verify(group)


def compute(op: Any, *arrays: Any) -> Any:
    with np.errstate(all="ignore"):
        return op.compute(*arrays)


class TestSemantics:
    """`Compute` against formulas written another way."""

    def test_gemm_adds_psum_and_bias_before_relu(self, rng: np.random.Generator) -> None:
        a, b, c, d = (rng.standard_normal(s) for s in ((2, 3, 4), (4, 5), (5,), (2, 3, 5)))
        types = [tensor(*v.shape) for v in (a, b, c, d)]
        op = tx8be.Gemm(*values(*types), activation=tx8be.Activation.RELU)
        expected = np.einsum("bmk,kn->bmn", a, b) + d + c
        np.testing.assert_allclose(compute(op, a, b, c, d), expected * (expected > 0))

    @pytest.mark.parametrize("groups", [1, 3])
    def test_conv_is_the_sum_over_taps(self, groups: int, rng: np.random.Generator) -> None:
        x, w = rng.standard_normal((2, 7, 6, 3)), rng.standard_normal((3, 2, 6 if groups == 1 else 3, 3 // groups))
        strides, (top, bottom, left, right), dilations = (2, 1), (1, 2, 0, 1), (1, 3)
        op = tx8be.Conv(
            *values(tensor(*x.shape), tensor(*w.shape)), none(), none(),
            strides=strides, pads=(top, bottom, left, right), dilations=dilations, groups=groups,
        )  # fmt: skip
        out = compute(op, x, w, None, None)
        padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
        expected = np.zeros(op.out.type.shape)
        for oh, ow, o in np.ndindex(*expected.shape[1:]):
            for kh, kw, c in np.ndindex(3, 2, 3 // groups):
                channel = c if groups == 1 else o
                row, column = oh * strides[0] + kh * dilations[0], ow * strides[1] + kw * dilations[1]
                expected[:, oh, ow, o] += padded[:, row, column, channel] * w[kh, kw, o, c]
        np.testing.assert_allclose(out, expected, atol=1e-12)

    def test_relations_give_ones_and_zeros_in_the_operand_format(self) -> None:
        x = np.array([1.0, np.nan, -2.0, 0.0], np.float32)
        a, b = values(tensor(4), tensor(4))
        assert compute(tx8be.Ne(a, b), x, x).tolist() == [0, 1, 0, 0]
        assert compute(tx8be.Ge(a, none(), scalar=0.0), x, None).tolist() == [1, 0, 0, 1]
        assert compute(tx8be.Eq(a, b), x, x).dtype == np.float32

    def test_a_scalar_is_rounded_to_the_operand_format(self) -> None:
        """0.1 in bf16 is 0.10009765625; an fp64 evaluation keeps 0.1."""
        (x,) = values(tensor(1, element=bf16))
        assert compute(tx8be.Mul(x, none(), scalar=0.1), np.ones(1, np.float32), None).tolist() == [0.10009765625]
        assert compute(tx8be.Mul(x, none(), scalar=0.1), np.ones(1), None).tolist() == [0.1]

    def test_neg_of_either_zero_is_plus_zero(self) -> None:
        out = compute(tx8be.Neg(*values(tensor(2))), np.array([0.0, -0.0], np.float32))
        assert not np.signbit(out).any()

    def test_padding_never_wins_a_maximum_and_counts_in_an_average(self) -> None:
        x = np.full((1, 2, 2, 1), -3.0)
        pads = {"kernel": (2, 2), "strides": (2, 2), "pads": (1, 1, 1, 1)}
        (v,) = values(tensor(*x.shape))
        assert compute(tx8be.Pool(v, function=ReduceFunction.MAX, **pads), x).tolist() == [[[[-3], [-3]], [[-3], [-3]]]]
        assert compute(tx8be.Pool(v, function=ReduceFunction.AVG, **pads), x).ravel().tolist() == [-0.75] * 4

    def test_cast_to_an_integer_truncates_and_saturates(self) -> None:
        x = np.array([1.9, -1.9, np.nan, np.inf, -np.inf, 300.0], np.float32)
        op = tx8be.Cast(*values(tensor(6)), y=tensor(6, element=i8))
        assert compute(op, x).tolist() == [1, -1, 0, 127, -128, 127]

    def test_cast_from_an_integer_gives_numbers_of_the_other_format(self) -> None:
        x = np.array([-129, -1, 0, 300], np.int32)
        (v,) = values(tensor(4, element=i32))
        assert compute(tx8be.Cast(v, y=tensor(4, element=f32)), x).dtype == np.float64
        narrow = compute(tx8be.Cast(v, y=tensor(4, element=i8)), x)
        assert (narrow.dtype, narrow.tolist()) == (np.int8, [127, -1, 0, 44])

    def test_select_takes_scalars_on_either_side(self) -> None:
        cond, x = np.array([1.0, 0.0, 1.0]), np.array([5.0, 6.0, np.nan])
        c, a = values(tensor(3), tensor(3))
        assert compute(tx8be.Select(c, a, none(), b_scalar=9.0), cond, x, None)[:2].tolist() == [5, 9]
        assert compute(tx8be.Select(c, none(), a, a_scalar=0.0), cond, None, x).tolist() == [0, 6, 0]

    def test_gather_refuses_rows_outside_the_table(self) -> None:
        op = tx8be.Gather(*values(tensor(3, 2), tensor(2, element=i32)))
        with pytest.raises(IndexError, match="indices run from -1 to 2; the table has 3 rows"):
            compute(op, np.zeros((3, 2)), np.array([2, -1], np.int32))

    @given(st.integers(0, 2**32 - 1), st.sampled_from([(5,), (3, 7), (2, 3, 4)]))
    def test_softmax_rows_sum_to_one_whatever_the_offset(self, seed: int, shape: tuple[int, ...]) -> None:
        x = np.random.default_rng(seed).uniform(-50, 50, shape)
        op = tx8be.Softmax(*values(tensor(*shape)))
        y = compute(op, x)
        np.testing.assert_allclose(y.sum(-1), 1)
        np.testing.assert_allclose(compute(op, x + 1000), y, atol=1e-9)

    @given(st.integers(0, 2**32 - 1))
    def test_layer_norm_has_mean_bias_and_variance_scale(self, seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal((4, 33)) * 10 + 3
        op = tx8be.LayerNorm(*values(tensor(4, 33)), none(), none(), epsilon=0.0)
        y = compute(op, x, None, None)
        np.testing.assert_allclose(y.mean(-1), 0, atol=1e-12)
        np.testing.assert_allclose(y.var(-1), 1)


class TestGroup:
    TEXT = """\
module {
  func.func @main(%arg0: !pd.vtensor<4xf32>) -> tuple<!pd.vtensor<4xf32>> attributes {arg_names = ["x"], result_names = ["y"]} {
    %0 = "tx8be.Input"(%arg0) {mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %1 = "tx8be.Group"(%0) ({
    ^bb0(%g0: !pd.vtensor<4xf32>):
      %2 = "tx8be.LoadVar"(%g0) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
      %3 = "tx8be.LoadConst"() {id = 0 : i64, name = "w"} : () -> !pd.vtensor<4xf32>
      %4 = "tx8be.Mul"(%2, %3) : (!pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
      %5 = "tx8be.StoreVar"(%4) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
      "tx8be.Return"(%5) : (!pd.vtensor<4xf32>) -> ()
    }) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %6 = "tx8be.Tuple"(%1) : (!pd.vtensor<4xf32>) -> tuple<!pd.vtensor<4xf32>>
    %7 = "tx8be.Output"(%6) {mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<4xf32>>) -> tuple<!pd.vtensor<4xf32>>
    return %7 : tuple<!pd.vtensor<4xf32>>
  }
}
"""  # noqa: E501

    def test_evaluates_inline_with_its_constants(self) -> None:
        program = parse(self.TEXT)
        program.verify()
        program.weights.add("w", np.array([1, 2, 3, 4], np.float32))
        assert evaluate(program, {"x": np.full(4, 2, np.float32)})["y"].tolist() == [2, 4, 6, 8]

    def test_a_missing_or_misfitting_variable_is_named(self) -> None:
        program = parse(self.TEXT)
        with pytest.raises(Exception, match="reads variable 'w', which the program's weights do not have"):
            evaluate(program, {"x": np.zeros(4, np.float32)})
        program.weights.add("w", np.zeros(5, np.float32))
        with pytest.raises(Exception, match=r"reads variable 'w' as !pd.vtensor<4xf32>; it is"):
            evaluate(program, {"x": np.zeros(4, np.float32)})

    def test_sees_nothing_around_it(self) -> None:
        program = parse(self.TEXT)
        group = next(op for op in program.main.body.block if isinstance(op, tx8be.GroupOp))
        load = group.body.block.first_op
        assert load is not None
        load.set_operand(0, group.inputs[0])
        with pytest.raises(VerifyError, match="isolated"):
            program.verify()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
