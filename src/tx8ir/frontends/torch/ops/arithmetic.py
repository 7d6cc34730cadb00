"""Elementwise arithmetic with broadcasting and promotion."""

from __future__ import annotations

from tx8ir.core import Operation, Value, f32, i1
from tx8ir.dialects import pd
from tx8ir.frontends.torch.elements import promoted
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

Operand = Value | float


def times(x: Value | Operation, factor: float) -> Value:
    """`x * factor`, with the sign that a zero has: adding -0 changes nothing, adding 0 makes 0 of -0."""
    return pd.scale(x, scale=float(factor), bias=-0.0).out


def scaled(node: TorchNode, x: Operand, factor: float) -> Operand:
    """`x * factor` in the type that the two are promoted to."""
    if factor == 1:
        return x
    return x * factor if not isinstance(x, Value) else times(node.common(x, factor)[0], factor)


@converter(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", "add.Scalar(Tensor self, Scalar other, Scalar alpha=1)"
)
def add(node: TorchNode, x: Value, y: Operand, alpha: float) -> Converted:
    """X + alpha y."""
    a, b = node.pair(x, scaled(node, y, alpha))
    return pd.logical_or(a, b) if tensor_type(a).element is i1 else pd.add(a, b)


@converter(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1)"
)
def sub(node: TorchNode, x: Value, y: Operand, alpha: float) -> Converted:
    """X - alpha y."""
    return pd.subtract(*node.pair(x, scaled(node, y, alpha)))


@converter(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)",
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1)",
)
def rsub(node: TorchNode, x: Value, y: Operand, alpha: float) -> Converted:
    """Y - alpha x."""
    a, b = node.common(scaled(node, x, alpha), y)
    return pd.subtract(b, a)


@converter("mul.Tensor(Tensor self, Tensor other)", "mul.Scalar(Tensor self, Scalar other)")
def mul(node: TorchNode, x: Value, y: Operand) -> Converted:
    """X y."""
    element = promoted([x, y])
    if not isinstance(y, Value) and element.is_float:
        return times(node.cast(x, element), y)
    a, b = node.common(x, y)
    return pd.logical_and(a, b) if element is i1 else pd.multiply(a, b)


@converter("div.Tensor(Tensor self, Tensor other)", "div.Scalar(Tensor self, Scalar other)")
def div(node: TorchNode, x: Value, y: Operand) -> Converted:
    """X / y, of integers in f32."""
    return pd.divide(*_for_division(node, x, y))


def _for_division(node: TorchNode, x: Operand, y: Operand) -> tuple[Value, Value]:
    element = promoted([x, y])
    element = element if element.is_float else f32
    return node.operand(x, element), node.operand(y, element)


@converter(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)",
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode)",
)
def div_mode(node: TorchNode, x: Value, y: Operand, rounding_mode: str | None) -> Converted:
    """X / y, rounded towards zero ("trunc") or down ("floor")."""
    match rounding_mode:
        case None:
            return div(node, x, y)
        case "floor":
            return floor_divide(node, x, y)
        case "trunc":
            a, b = node.common(x, y)
            return pd.divide(a, b) if not tensor_type(a).element.is_float else truncated(node, pd.divide(a, b).out)
        case _:
            raise node.error(f"rounding_mode is {rounding_mode!r}; expected 'floor' or 'trunc'")


@converter("floor_divide(Tensor self, Tensor other)", "floor_divide.Scalar(Tensor self, Scalar other)")
def floor_divide(node: TorchNode, x: Value, y: Operand) -> Converted:
    """The largest integer that is not above x / y."""
    a, b = node.common(x, y)
    if tensor_type(a).element.is_float:
        return pd.floor(pd.divide(a, b))
    rest = pd.remainder(a, b)
    return pd.divide(pd.subtract(a, rest), b)


@converter(
    "remainder.Tensor(Tensor self, Tensor other)",
    "remainder.Scalar(Tensor self, Scalar other)",
    "remainder.Scalar_Tensor(Scalar self, Tensor other)",
)
def remainder(node: TorchNode, x: Operand, y: Operand) -> Converted:
    """The remainder with the sign of the divisor."""
    return pd.remainder(*node.pair(x, y))


@converter("fmod.Tensor(Tensor self, Tensor other)", "fmod.Scalar(Tensor self, Scalar other)")
def fmod(node: TorchNode, x: Value, y: Operand) -> Converted:
    """The remainder with the sign of the dividend."""
    return pd.fmod(*node.pair(x, y))


@converter("pow.Tensor_Scalar(Tensor self, Scalar exponent)")
def pow_scalar(node: TorchNode, x: Value, exponent: float) -> Converted:
    """x^exponent."""
    element = promoted([x, exponent])
    base = node.cast(x, element)
    if exponent == 2:
        return pd.square(base)
    if element.is_float:
        return base if exponent == 1 else pd.sqrt(base) if exponent == 0.5 else pd.pow(base, y=float(exponent))
    return _whole_power(node, base, int(exponent))


def _whole_power(node: TorchNode, base: Value, exponent: int) -> Value:
    """Integers to a known power, by squaring, which wraps as products do."""
    if exponent < 0:
        raise node.error(f"the exponent is {exponent}; integers have none below 0")
    type_ = tensor_type(base)
    out = pd.full(shape=(), value=1.0, dtype=type_.element).out
    if exponent == 0:
        return pd.expand(out, shape=type_.shape).out
    result: Value | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else pd.multiply(result, base).out
        exponent >>= 1
        base = pd.square(base).out if exponent else base
    assert result is not None
    return result


@converter("pow.Tensor_Tensor(Tensor self, Tensor exponent)", "pow.Scalar(Scalar self, Tensor exponent)")
def pow_tensor(node: TorchNode, x: Operand, exponent: Value) -> Converted:
    """x^exponent, of floating-point numbers."""
    return pd.elementwise_pow(*node.pair(x, exponent))


@converter("neg(Tensor self)")
def neg(node: TorchNode, x: Value) -> Converted:
    """-x."""
    return times(x, -1.0)


@converter("maximum(Tensor self, Tensor other)", "max.other(Tensor self, Tensor other)")
def maximum(node: TorchNode, x: Value, y: Value) -> Converted:
    """The larger of two; NaN if one is."""
    return pd.maximum(*node.pair(x, y))


@converter("minimum(Tensor self, Tensor other)", "min.other(Tensor self, Tensor other)")
def minimum(node: TorchNode, x: Value, y: Value) -> Converted:
    """The smaller of two; NaN if one is."""
    return pd.minimum(*node.pair(x, y))


@converter(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None)",
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)",
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)",
)
def clamp(node: TorchNode, x: Value, low: Operand | None, high: Operand | None) -> Converted:
    """min(max(x, low), high)."""
    element = promoted([operand for operand in (x, low, high) if operand is not None])
    out = node.cast(x, element)
    if low is not None:
        out = pd.maximum(out, node.operand(low, element)).out
    return out if high is None else pd.minimum(out, node.operand(high, element))


@converter("clamp_min(Tensor self, Scalar min)", "clamp_min.Tensor(Tensor self, Tensor min)")
def clamp_min(node: TorchNode, x: Value, low: Operand) -> Converted:
    """max(x, low)."""
    return clamp(node, x, low, None)


@converter("clamp_max(Tensor self, Scalar max)", "clamp_max.Tensor(Tensor self, Tensor max)")
def clamp_max(node: TorchNode, x: Value, high: Operand) -> Converted:
    """min(x, high)."""
    return clamp(node, x, None, high)


@converter("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)")
def addcmul(node: TorchNode, x: Value, a: Value, b: Value, value: float) -> Converted:
    """X + value a b."""
    x, a, b = node.common(x, a, b)
    product = pd.multiply(a, b).out
    return pd.add(x, product if value == 1 else times(product, value))


@converter("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)")
def addcdiv(node: TorchNode, x: Value, a: Value, b: Value, value: float) -> Converted:
    """X + value a / b."""
    x, a, b = node.common(x, a, b)
    quotient = pd.divide(a, b).out
    return pd.add(x, quotient if value == 1 else times(quotient, value))


@converter("logaddexp(Tensor self, Tensor other)")
def logaddexp(node: TorchNode, x: Value, y: Value) -> Converted:
    """log(exp(x) + exp(y)), from the larger of the two."""
    a, b = node.pair(x, y)
    apart = times(pd.abs(pd.subtract(a, b)), -1.0)
    return pd.add(pd.maximum(a, b), pd.log(pd.scale(pd.exp(apart), bias=1.0)))


@converter("hypot(Tensor self, Tensor other)")
def hypot(node: TorchNode, x: Value, y: Value) -> Converted:
    """sqrt(x² + y²)."""
    a, b = node.pair(x, y)
    return pd.sqrt(pd.add(pd.square(a), pd.square(b)))


@converter("lerp.Scalar(Tensor self, Tensor end, Scalar weight)", "lerp.Tensor(Tensor self, Tensor end, Tensor weight)")
def lerp(node: TorchNode, x: Value, end: Value, weight: Operand) -> Converted:
    """X + weight (end - x)."""
    x, end, share = node.common(x, end, weight)
    return pd.add(x, pd.multiply(share, pd.subtract(end, x)))


def truncated(node: TorchNode, x: Value) -> Value:
    """The integer part of floating-point numbers."""
    size = pd.floor(pd.abs(x))
    return pd.where(pd.less_than(x, node.scalar(0, tensor_type(x).element)), times(size, -1.0), size).out
