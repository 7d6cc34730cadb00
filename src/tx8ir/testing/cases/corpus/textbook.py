"""The textbook forms of what networks are made of, on small tensors: what `fragments.mlir` is written from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tx8ir.core import Builder, FunctionType, Program, Type, Value, VTensorType, f32, i32
from tx8ir.dialects import func, pd

_Body = Callable[..., Any]
FORMS: Final[dict[str, tuple[_Body, tuple[Type, ...]]]] = {}
"""By name: what writes the operations, and the types of its inputs."""


def _t(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


def _form(*types: Type) -> Callable[[_Body], _Body]:
    def register(body: _Body) -> _Body:
        FORMS[body.__name__] = (body, types)
        return body

    return register


def _number(value: float) -> Value:
    return pd.full(shape=(), value=value, dtype=f32).out


@_form(_t(1, 2, 3, 2), _t(1, 2, 3, 2), _t(1, 2, 3, 2))
def attention(q: Value, k: Value, v: Value) -> Any:
    scores = pd.matmul(q, pd.transpose(k, perm=(0, 1, 3, 2)))
    return pd.matmul(pd.softmax(pd.multiply(scores, _number(1 / math.sqrt(2))), axis=-1), v)


@_form(_t(2, 4), _t(4), _t(4))
def layer_norm(x: Value, scale: Value, bias: Value) -> Any:
    centred = pd.subtract(x, pd.mean(x, axis=(-1,), keepdim=True))
    variance = pd.mean(pd.square(centred), axis=(-1,), keepdim=True)
    normal = pd.divide(centred, pd.sqrt(pd.add(variance, _number(1e-5))))
    return pd.add(pd.multiply(normal, scale), bias)


@_form(_t(2, 4), _t(4))
def rms_norm(x: Value, scale: Value) -> Any:
    mean = pd.mean(pd.square(x), axis=(-1,), keepdim=True)
    return pd.multiply(pd.multiply(x, pd.rsqrt(pd.add(mean, _number(1e-6)))), scale)


@_form(_t(2, 3))
def gelu_with_erf(x: Value) -> Any:
    inner = pd.erf(pd.divide(x, _number(math.sqrt(2))))
    return pd.multiply(pd.multiply(x, pd.add(inner, _number(1.0))), _number(0.5))


@_form(_t(2, 3))
def gelu_with_tanh(x: Value) -> Any:
    cube = pd.multiply(pd.pow(x, y=3.0), _number(0.044715))
    inner = pd.tanh(pd.multiply(pd.add(x, cube), _number(math.sqrt(2 / math.pi))))
    return pd.multiply(pd.multiply(x, _number(0.5)), pd.add(inner, _number(1.0)))


@_form(_t(2, 3))
def silu(x: Value) -> Any:
    return pd.multiply(x, pd.sigmoid(x))


@_form(_t(2, 3))
def safe_softmax(x: Value) -> Any:
    e = pd.exp(pd.subtract(x, pd.max(x, axis=(-1,), keepdim=True)))
    return pd.divide(e, pd.sum(e, axis=(-1,), keepdim=True))


@_form(_t(1, 2, 4, 4), _t(3, 2, 3, 3), _t(3), _t(3), _t(3), _t(3))
def convolution_with_batch_norm(x: Value, w: Value, mean: Value, variance: Value, scale: Value, bias: Value) -> Any:
    y = pd.conv2d(x, w, strides=(1, 1), paddings=(1, 1), dilations=(1, 1), groups=1)
    return pd.relu(pd.batch_norm(y, mean, variance, scale=scale, bias=bias).results[0])


@_form(_t(1, 2, 4, 4), _t(2, 2, 1, 1))
def residual_block(x: Value, w: Value) -> Any:
    return pd.relu(pd.add(pd.conv2d(pd.relu(x), w), x))


@_form(_t(1, 2, 4, 4), _t(2, 3), _t(3))
def pooling_head(x: Value, w: Value, bias: Value) -> Any:
    pooled = pd.flatten(pd.mean(x, axis=(2, 3), keepdim=True), start_axis=1, stop_axis=3)
    return pd.softmax(pd.add(pd.matmul(pooled, w), bias), axis=-1)


@_form(_t(1, 2, 4, 4))
def max_pool(x: Value) -> Any:
    return pd.pool2d(pd.relu(x), kernel_size=(3, 3), strides=(2, 2), paddings=(1, 1), pooling_type="max")


@_form(_t(1, 3, 4), _t(3, 4), _t(3, 4))
def rotary_embedding(x: Value, cosine: Value, sine: Value) -> Any:
    low, high = pd.split(x, sections=(2, 2), axis=-1).results
    turned = pd.concat([pd.scale(high, scale=-1.0), low], axis=-1)
    return pd.add(pd.multiply(x, cosine), pd.multiply(turned, sine))


@_form(_t(2, 3), _t(3, 4), _t(4))
def linear(x: Value, w: Value, bias: Value) -> Any:
    return pd.relu(pd.add(pd.matmul(x, w), bias))


@_form(_t(2, 3, 4))
def heads(x: Value) -> Any:
    return pd.transpose(pd.reshape(x, shape=(2, 3, 2, 2)), perm=(0, 2, 1, 3))


@_form(_t(3, 2), VTensorType((2,), i32), _t(2, 2))
def positions(table: Value, indices: Value, offset: Value) -> Any:
    low = pd.maximum(indices, pd.full(shape=(), value=0.0, dtype=i32))
    places = pd.minimum(low, pd.full(shape=(), value=2.0, dtype=i32))
    return pd.add(pd.gather(table, places, axis=0), offset)


@_form(_t(2, 3), _t(2, 3))
def masked(x: Value, mask: Value) -> Any:
    hidden = pd.equal(mask, _number(0.0))
    return pd.where(hidden, pd.full(shape=(2, 3), value=-1e9, dtype=f32), x)


def written(name: str) -> Program:
    """The program of a form."""
    body, types = FORMS[name]
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()))
    with Builder.at_end(main.body.block):
        made = body(*main.body.block.args)
        func.ReturnOp(made.results)
    main.set_attribute("function_type", FunctionType(types, [r.type for r in made.results]))
    program.verify()
    return program
