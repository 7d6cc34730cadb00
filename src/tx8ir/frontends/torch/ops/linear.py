"""Matrix products and attention."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import DYNAMIC, Operation, Value, i1
from tx8ir.dialects import pd
from tx8ir.frontends import einsum
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.ops.arithmetic import times
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


@converter("linear(Tensor input, Tensor weight, Tensor? bias=None)")
def linear(node: TorchNode, x: Value, weight: Value, bias: Value | None) -> Converted:
    """X weightᵀ + bias."""
    vector = tensor_type(weight).rank == 1
    out = pd.matmul(x, weight, transpose_y=not vector)
    return out if bias is None else pd.add(out, bias)


@converter("mm(Tensor self, Tensor mat2)", "bmm(Tensor self, Tensor mat2)", "matmul(Tensor self, Tensor other)",
           "dot(Tensor self, Tensor tensor)", "mv(Tensor self, Tensor vec)")  # fmt: skip
def matmul(node: TorchNode, x: Value, y: Value) -> Converted:
    """Matrix product over the last two axes; a vector is a row on the left, a column on the right."""
    return pd.matmul(x, y)


@converter(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
)
def addmm(node: TorchNode, x: Value, a: Value, b: Value, beta: float, alpha: float) -> Converted:
    """Beta x + alpha a b; x is not looked at when beta is 0."""
    product: Value | Operation = pd.matmul(a, b)
    if alpha != 1:
        product = times(product, alpha)
    if beta == 0:
        return product
    return pd.add(x if beta == 1 else times(x, beta), product)


@converter("einsum(str equation, Tensor[] tensors, *, int[]? path=None)")
def sum_of_products(node: TorchNode, equation: str, tensors: Sequence[Value], path: object) -> Converted:
    """Products of all tensors, summed over the letters that the result does not have."""
    return einsum.einsum(node, equation, node.common(*tensors))


@converter("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)")
def addbmm(node: TorchNode, x: Value, a: Value, b: Value, beta: float, alpha: float) -> Converted:
    """Beta x + alpha times the sum of the products a b."""
    total = times(pd.sum(pd.matmul(a, b), axis=(0,)), alpha)
    return total if beta == 0 else pd.add(times(x, beta), total)


@converter("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)")
def addr(node: TorchNode, x: Value, a: Value, b: Value, beta: float, alpha: float) -> Converted:
    """Beta x + alpha times the product of a column with a row."""
    product = times(pd.multiply(pd.unsqueeze(a, axis=(1,)), b), alpha)
    return product if beta == 0 else pd.add(times(x, beta), product)


@converter("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)")
def cosine_similarity(node: TorchNode, x: Value, y: Value, dim: int, eps: float) -> Converted:
    """X y / (|x| |y|) along an axis; no norm counts as less than eps."""
    x, y = node.pair(x, y)
    product = pd.multiply(x, y).out
    axes = (node.axis(dim, tensor_type(product).rank),)
    least = node.scalar(eps, tensor_type(x).element)

    def unit(value: Value) -> Value:
        wide = pd.expand(value, shape=tensor_type(product).shape)
        norm = pd.sqrt(pd.sum(pd.square(wide), axis=axes, keepdim=True))
        return pd.divide(wide, pd.maximum(norm, least)).out

    return pd.sum(pd.multiply(unit(x), unit(y)), axis=axes)


@converter("outer(Tensor self, Tensor vec2)", "ger(Tensor self, Tensor vec2)")
def outer(node: TorchNode, x: Value, y: Value) -> Converted:
    """The product of a column with a row."""
    column = pd.unsqueeze(x, axis=(1,)).out
    return pd.multiply(*node.pair(column, y))


_ATTENTION = (
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False)"
)


@converter(_ATTENTION)
def attention(
    node: TorchNode, query: Value, key: Value, value: Value, mask: Value | None, dropout_p: float, is_causal: bool,
    scale: float | None, enable_gqa: bool,
) -> Converted:  # fmt: skip
    """softmax(scale query keyᵀ, masked) value; with `enable_gqa` a head of keys serves several of queries."""
    if dropout_p:
        raise node.error(f"dropout_p is {dropout_p}; only inference is supported: export after module.eval()")
    if enable_gqa:
        heads = tensor_type(query).shape[-3]
        key, value = (_repeated(node, x, heads) for x in (key, value))
    if mask is not None and tensor_type(mask).element is not i1:
        mask = node.cast(mask, tensor_type(query).element)
    return pd.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=is_causal, scale=scale, nan_to_zero=mask is not None
    )


def _repeated(node: TorchNode, x: Value, heads: int) -> Value:
    shape = tensor_type(x).shape
    if DYNAMIC in (heads, shape[-3]) or heads % shape[-3]:
        raise node.error(f"{shape[-3]} heads of keys do not divide {heads} of queries")
    times_ = heads // shape[-3]
    if times_ == 1:
        return x
    place = len(shape) - 2
    split = pd.unsqueeze(x, axis=(place,))
    shape_ = (*shape[:-2], times_, *shape[-2:])
    wide = pd.expand(split, shape=tuple(-1 if extent == DYNAMIC else extent for extent in shape_))
    return pd.flatten(wide, start_axis=place - 1, stop_axis=place).out
