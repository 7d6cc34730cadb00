"""Batch normalisation."""

from __future__ import annotations

from tx8ir.core import FloatAttr, Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


class _Features:
    """The axis of a node whose places have statistics of their own."""

    def __init__(self, node: StableHloNode, x: Value) -> None:
        self.type = tensor_type(x)
        (self.axis,) = node.axes((node.int("feature_index"),), self.type.rank, "the axis of features")
        epsilon = node.attribute("epsilon")
        if not isinstance(epsilon, FloatAttr):
            raise node.error(f"attribute epsilon is {epsilon}; expected a number")
        self.epsilon = float(epsilon.value)
        self.others = tuple(axis for axis in range(self.type.rank) if axis != self.axis)

    def along(self, x: Value) -> Value:
        """Numbers per feature, so that they broadcast with the tensor."""
        if self.axis == self.type.rank - 1:
            return x
        return pd.reshape(x, shape=tuple(-1 if axis == self.axis else 1 for axis in range(self.type.rank))).out

    def mean(self, x: Value | Operation) -> Value:
        """The mean for each feature."""
        return pd.mean(x, axis=self.others).out

    def total(self, x: Value | Operation) -> Value:
        """The sum for each feature."""
        return pd.sum(x, axis=self.others).out

    def rsqrt(self, variance: Value) -> Value:
        """1 / sqrt(variance + epsilon)."""
        return pd.rsqrt(pd.scale(variance, bias=self.epsilon)).out

    def normalized(self, x: Value, scale: Value, offset: Value, mean: Value, variance: Value) -> Value:
        """Scale (x - mean) / sqrt(variance + epsilon) + offset."""
        factor = pd.multiply(scale, self.rsqrt(variance)).out
        centred = pd.subtract(x, self.along(mean))
        return pd.add(pd.multiply(centred, self.along(factor)), self.along(offset)).out


@converter("stablehlo.batch_norm_inference")
def batch_norm_inference(node: StableHloNode) -> Converted:
    """With statistics that are given."""
    x, scale, offset, mean, variance = node.take(5)
    return _Features(node, x).normalized(x, scale, offset, mean, variance)


@converter("stablehlo.batch_norm_training")
def batch_norm_training(node: StableHloNode) -> Converted:
    """With those of the tensor, which are results too."""
    x, scale, offset = node.take(3)
    features = _Features(node, x)
    mean = features.mean(x)
    variance = features.mean(pd.square(pd.subtract(x, features.along(mean))))
    return [features.normalized(x, scale, offset, mean, variance), mean, variance]


@converter("stablehlo.batch_norm_grad")
def batch_norm_grad(node: StableHloNode) -> Converted:
    """The gradients by tensor, scale and offset (S. Ioffe and C. Szegedy, Batch Normalization, 2015, section 3)."""
    x, scale, mean, variance, grad = node.take(5)
    features = _Features(node, x)
    inverse = features.rsqrt(variance)
    hat = pd.multiply(pd.subtract(x, features.along(mean)), features.along(inverse)).out
    by_offset = features.total(grad)
    by_scale = features.total(pd.multiply(grad, hat))
    centred = pd.subtract(grad, features.along(features.mean(grad)))
    along_hat = pd.multiply(hat, features.along(features.mean(pd.multiply(grad, hat))))
    factor = features.along(pd.multiply(scale, inverse).out)
    return [pd.multiply(pd.subtract(centred, along_hat), factor).out, by_scale, by_offset]
