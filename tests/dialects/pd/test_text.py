"""Every operation of the dialect, written and read again.

The golden file shows what each looks like, but for the element-wise ones without attributes: these look alike, and
follow from their names.
"""

from __future__ import annotations

import math

import pytest

import tx8ir
from tx8ir.core import Block, Builder, FunctionType, Program, Region, VTensorType, bf16, f32, i1, i32
from tx8ir.dialects import builtin, func, pd
from tx8ir.dialects.pd.declaration import Elementwise


def every_operation(x, y, image, mask, ids):
    """One of each, in the order of the dialect."""
    pd.gelu(x)
    pd.softplus(x)
    pd.leaky_relu(x, negative_slope=0.1)
    pd.pow(x, y=3.0)
    pd.scale(x, scale=2.0, bias=1.0)
    pd.cast(x, dtype=bf16)
    pd.where(mask, x, y)
    pd.matmul(x, x, transpose_y=True)
    pd.scaled_dot_product_attention(x, x, x, scale=0.5)
    weight = pd.full(shape=(8, 4, 3, 3), value=0.5)
    pd.conv2d(image, weight, pd.full(shape=(8,), value=0.5), paddings=(1, 1), strides=(2, 2))
    pd.fused_conv2d_add_act(image, pd.full(shape=(2, 4, 3, 3), value=0.5))
    pd.depthwise_conv2d(image, pd.full(shape=(4, 1, 3, 3), value=0.5), groups=4)
    pd.pool2d(image, kernel_size=(2, 2), strides=(2, 2), pooling_type="max")
    channels = pd.full(shape=(4,), value=1.0)
    pd.batch_norm(image, channels, channels, channels, channels)
    pd.batch_norm_training(image, channels, channels, None, channels)
    pd.layer_norm(x, None, y)
    pd.rms_norm(x, y)
    pd.softmax(x)
    for reduction in (pd.sum, pd.mean, pd.max, pd.min, pd.prod):
        reduction(x, axis=(-1,), keepdim=True)
    pd.reshape(x, shape=(3, -1))
    pd.flatten(image)
    pd.squeeze(pd.unsqueeze(x, axis=(0,)), axis=(0,))
    pd.transpose(x, perm=(1, 0))
    pd.slice(x, axes=(1,), starts=(0,), ends=(1,), decrease_axis=(1,))
    pd.concat(pd.split(x, sections=(1, 2), axis=1).outs, axis=1)
    pd.expand(y, shape=(2, 3))
    pd.pad(x, paddings=(1, 0, 0, 2), pad_value=-math.inf)
    pd.embedding(ids, x)
    pd.gather(x, ids)
    pd.scatter(x, pd.topk(pd.cumsum(y), k=2).indices, x, reduce="add")
    pd.argmax(pd.cumprod(x, axis=0, reverse=True))
    pd.argmin(x, axis=1, keepdims=True)
    pd.bitcast(x)
    pd.det(pd.full(shape=(2, 2), value=1.0))
    pd.fetch(pd.feed(feed_name="extra", out=x.type), fetch_name="out")
    one = pd.full(shape=(1,), value=0.5)
    pd.set_value(x, one, axes=(0,), starts=(0,), ends=(1,))
    pd.fill(x, value=2.0)
    pd.sgd(x, one, x)
    labels = pd.softmax(x)
    loss = pd.cross_entropy_with_softmax(x, labels, soft_label=True)
    pd.cross_entropy_with_softmax_grad(labels, loss.softmax, loss.loss, soft_label=True)
    storage = builtin.to_tensor(x)
    for unary in (pd.leaky_relu_, pd.gelu_, pd.softplus_, pd.pow_, pd.scale_, pd.softmax_, pd.fill_):
        unary(storage)
    pd.assign_(storage, x)
    pd.set_value_(storage, one, axes=(0,), starts=(0,), ends=(1,))
    pd.sgd_(storage, one, x)
    body = Block([x.type])
    with Builder.at_end(body):
        pd.fusion_yield([pd.exp(body.args[0])])
    pd.fusion([x], kind="vertical", body=Region([body]), outputs=[x.type])


def without_attributes():
    """The element-wise operations of one or two operands that are all name, and their in-place forms."""
    for op in pd.DIALECT.ops.values():
        declared = op.counterpart if issubclass(op, pd.InplaceOp) else op
        if issubclass(declared, Elementwise) and not op.definition.attributes and op is not pd.Assign_Op:
            yield op


@pytest.mark.parametrize("op", [*without_attributes()], ids=lambda op: op.name)
def test_an_operation_without_attributes_is_its_name_and_its_types(op):
    out = (
        "!pd.vtensor<2x3xi1>"
        if issubclass(op, (pd.ComparisonOp, pd.IsnanOp, pd.LogicalNotOp))
        else "!pd.vtensor<2x3xf32>"
    )
    other = first = "!pd.vtensor<2x3xf32>"
    if getattr(op, "accepts", "") == "integer":
        other = first = out = "!pd.vtensor<2x3xi32>"
    if issubclass(op, pd.InplaceOp):
        first = out = "!pd.tensor<2x3xf32>"
    types = [first, *[other] * (len(op.definition.operands) - 1)]
    operands = ", ".join(f"%{name}" for name in "xy"[: len(types)])
    line = f'%0 = "{op.name}"({operands}) : ({", ".join(types)}) -> {out}'
    arguments = ", ".join(f"%{name}: {type}" for name, type in zip("xy", types, strict=False))
    program = tx8ir.parse(f"module {{ func.func @main({arguments}) -> {out} {{\n{line}\nreturn %0 : {out} }} }}")
    program.verify()
    read = program.main.body.block.first_op
    assert type(read) is op
    text = str(program)
    assert line.replace("%x", "%arg0").replace("%y", "%arg1") in text
    assert str(tx8ir.parse(text)) == text


def test_text_and_program_are_one(golden):
    program = Program.empty()
    types = [VTensorType(s, e) for s, e in (((2, 3), f32), ((3,), f32), ((1, 4, 8, 8), f32), ((2, 3), i1), ((5,), i32))]
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(types, []))
    with Builder.at_end(main.body.block):
        every_operation(*main.body.block.args)
        func.ReturnOp(())
    program.verify()
    written = {op.name for op in main.walk()} - {"func.func", "func.return", "builtin.to_tensor"}
    assert written | {op.name for op in without_attributes()} == set(pd.DIALECT.ops)
    text = str(program)
    again = tx8ir.parse(text)
    again.verify()
    assert str(again) == text
    golden(text, "pd_ops.mlir")


def test_operations_are_made_by_their_own_names():
    x = Block([VTensorType((2, 3), f32)]).args[0]
    for name, op_class in pd.DIALECT.ops.items():
        assert getattr(pd, name.removeprefix("pd.")) is op_class
    assert pd.relu(pd.relu(x)).out.type is x.type
