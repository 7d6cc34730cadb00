"""Operations taken apart into arithmetic, in the ways that exporters write them: what recognizers have to find.

    forms = Forms(lambda n: 0)          # always the first way
    forms = Forms(by_number(4711))      # one way of very many
    forms = Forms.drawn(writer, f32)    # in a step of `programs.tensor_programs`
    with Builder.at_end(block):
        y = forms.gelu_tanh(x)

A form is made of choices: operands in either order, a factor or a divisor, a power or products, where a number goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import attrs
import numpy as np

from tx8ir.core import Builder, Operation, ScalarType, Value, f32
from tx8ir.dialects import builtin, pd

from .writer import Writer, ranked

Made: TypeAlias = "Value | Operation"
Way: TypeAlias = Callable[[], Made]

_TANH_SCALE: Final = math.sqrt(2 / math.pi)


def by_number(number: int) -> Callable[[int], int]:
    """Chooses by the digits of a number, each in the base of how many ways there are."""
    rest = number

    def choose(n: int) -> int:
        nonlocal rest
        rest, digit = divmod(rest, n)
        return digit

    return choose


def leave(writer: Writer, value: Value) -> Sequence[Value]:
    """Ends a step of a generated program: `value` becomes the final content of a variable, and nothing else uses it.

    What arithmetic makes of a rounding error has no bound: y - 1 may consist of nothing else. Whether a pass keeps
    `NumericGuarantee.ROUNDING` is seen where its result leaves the program.
    """
    kind, weights = ranked(value), writer.program.weights
    name = weights.unique_name("left")
    weights.add(name, np.zeros(kind.shape, kind.element.dtype), kind.to_tensor(), is_mutable=True)
    with Builder.at_end(writer.block):
        builtin.set_parameter(value, parameter=name)
    return ()


@attrs.frozen
class Forms:
    """Writes operations where the active builder is.

    Attributes:
        choose: which of n ways to take, 0 to n - 1.
        element: of the constants.
    """

    choose: Callable[[int], int]
    element: ScalarType = f32

    @classmethod
    def drawn(cls, writer: Writer, element: ScalarType) -> Forms:
        """Forms that the writer of a generated program draws."""
        return cls(lambda n: writer.one_of(range(n)), element)

    def one_of(self, *ways: Way) -> Value:
        """What one of the ways makes."""
        made = ways[self.choose(len(ways))]()
        return made.result if isinstance(made, Operation) else made

    # --- arithmetic ------------------------------------------------------------------------------------------------

    def full(self, value: float) -> Value:
        """A constant of rank 0."""
        return pd.full(shape=(), value=value, dtype=self.element).out

    def commuted(self, op: Callable[[Value, Value], Operation], x: Value, y: Value) -> Value:
        """A commutative operation, its operands in either order."""
        return self.one_of(lambda: op(x, y), lambda: op(y, x))

    def times(self, x: Value, k: float) -> Value:
        """K * x."""
        return self.one_of(
            lambda: self.commuted(pd.multiply, x, self.full(k)),
            lambda: pd.divide(x, self.full(1 / k)),
            lambda: pd.scale(x, scale=k),
        )

    def plus(self, x: Value, k: float) -> Value:
        """X + k."""
        return self.one_of(
            lambda: self.commuted(pd.add, x, self.full(k)),
            lambda: pd.subtract(x, self.full(-k)),
            lambda: pd.scale(x, bias=k),
        )

    def product(self, k: float, a: Value, b: Value) -> Value:
        """K * a * b, in any order and association."""
        return self.one_of(
            lambda: self.times(self.commuted(pd.multiply, a, b), k),
            lambda: self.commuted(pd.multiply, self.times(a, k), b),
            lambda: self.commuted(pd.multiply, a, self.times(b, k)),
        )

    def square(self, x: Value) -> Value:
        """X ^ 2."""
        return self.one_of(
            lambda: pd.square(x),
            lambda: pd.multiply(x, x),
            lambda: pd.pow(x, y=2.0),
            lambda: pd.elementwise_pow(x, self.full(2.0)),
        )

    def cube(self, x: Value) -> Value:
        """X ^ 3."""
        return self.one_of(
            lambda: pd.pow(x, y=3.0),
            lambda: self.commuted(pd.multiply, self.square(x), x),
            lambda: pd.elementwise_pow(x, self.full(3.0)),
        )

    def quotient(self, x: Value, y: Value) -> Value:
        """X / y."""
        return self.one_of(
            lambda: pd.divide(x, y),
            lambda: self.commuted(pd.multiply, x, pd.reciprocal(y).out),
            lambda: self.commuted(pd.multiply, x, pd.divide(self.full(1.0), y).out),
        )

    def root(self, x: Value) -> Value:
        """Sqrt(x)."""
        return self.one_of(lambda: pd.sqrt(x), lambda: pd.pow(x, y=0.5), lambda: pd.elementwise_pow(x, self.full(0.5)))

    def reciprocal_root(self, x: Value) -> Value:
        """1 / sqrt(x)."""
        return self.one_of(
            lambda: pd.rsqrt(x),
            lambda: pd.reciprocal(self.root(x)),
            lambda: pd.divide(self.full(1.0), self.root(x)),
            lambda: pd.pow(x, y=-0.5),
        )

    def kept(self, op: Callable[..., Operation], x: Value, axes: Sequence[int]) -> Value:
        """A reduction that broadcasts with `x`."""
        kind = ranked(x)
        axes = tuple(axis % kind.rank for axis in axes)
        shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(kind.shape))
        negative = tuple(axis - kind.rank for axis in axes)
        return self.one_of(
            lambda: op(x, axis=axes, keepdim=True),
            lambda: op(x, axis=negative, keepdim=True),
            lambda: pd.unsqueeze(op(x, axis=axes), axis=axes),
            lambda: pd.reshape(op(x, axis=negative), shape=shape),
            lambda: pd.expand(op(x, axis=axes, keepdim=True), shape=kind.shape),
            lambda: pd.expand(pd.unsqueeze(op(x, axis=axes), axis=axes), shape=kind.shape),
        )

    def mean(self, x: Value, axes: Sequence[int]) -> Value:
        """A mean that broadcasts with `x`."""
        count = math.prod(ranked(x).shape[axis] for axis in axes)
        return self.one_of(
            lambda: self.kept(pd.mean, x, axes), lambda: self.times(self.kept(pd.sum, x, axes), 1 / count)
        )

    # --- operations ------------------------------------------------------------------------------------------------

    def _half_of_one_plus(self, x: Value, bent: Value) -> Value:
        """0.5 * x * (1 + bent)."""
        return self.one_of(
            lambda: self.product(0.5, x, self.plus(bent, 1.0)),
            lambda: self.commuted(pd.multiply, x, pd.scale(bent, scale=0.5, bias=0.5).out),
            lambda: self.commuted(pd.multiply, x, self.plus(self.times(bent, 0.5), 0.5)),
        )

    def gelu_erf(self, x: Value) -> Value:
        """Gelu by the error function."""
        return self._half_of_one_plus(x, pd.erf(self.times(x, math.sqrt(0.5))).out)

    def gelu_tanh(self, x: Value) -> Value:
        """Gelu by its approximation."""
        c = 0.044715

        def quadratic() -> Value:
            return self.one_of(
                lambda: self.times(self.square(x), c), lambda: self.commuted(pd.multiply, self.times(x, c), x)
            )

        def cubic() -> Value:
            return self.one_of(
                lambda: self.times(self.cube(x), c),
                lambda: self.commuted(pd.multiply, quadratic(), x),
                lambda: self.commuted(pd.multiply, self.times(x, c), self.square(x)),
            )

        argument = self.one_of(
            lambda: self.times(self.commuted(pd.add, x, cubic()), _TANH_SCALE),
            lambda: self.product(_TANH_SCALE, x, self.plus(quadratic(), 1.0)),
            lambda: self.commuted(pd.add, self.times(x, _TANH_SCALE), self.times(self.cube(x), _TANH_SCALE * c)),
        )
        return self._half_of_one_plus(x, pd.tanh(argument).out)

    def _variance(self, x: Value, axes: Sequence[int], epsilon: float) -> Value:
        """Mean(x^2) + epsilon."""
        mean = self.mean(self.square(x), axes)
        return self.one_of(
            lambda: self.commuted(pd.add, mean, self.full(epsilon)), lambda: pd.scale(mean, bias=epsilon)
        )

    def _normalized(self, x: Value, variance: Value, weight: Value | None) -> Value:
        """X / sqrt(variance) * weight."""
        multiply = pd.multiply
        if weight is None:
            return self.one_of(
                lambda: pd.divide(x, self.root(variance)),
                lambda: self.commuted(multiply, x, self.reciprocal_root(variance)),
            )
        return self.one_of(
            lambda: self.commuted(multiply, self._normalized(x, variance, None), weight),
            lambda: pd.divide(self.commuted(multiply, x, weight), self.root(variance)),
            lambda: self.commuted(multiply, self.commuted(multiply, x, weight), self.reciprocal_root(variance)),
            lambda: self.commuted(multiply, x, self.commuted(multiply, self.reciprocal_root(variance), weight)),
        )

    def rms_norm(self, x: Value, axes: Sequence[int], *, epsilon: float, weight: Value | None = None) -> Value:
        """X / sqrt(mean(x^2) + epsilon) * weight."""
        return self._normalized(x, self._variance(x, axes, epsilon), weight)

    def layer_norm(
        self,
        x: Value,
        axes: Sequence[int],
        *,
        epsilon: float,
        scale: Value | None = None,
        bias: Value | None = None,
    ) -> Value:
        """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
        mean = self.mean(x, axes)
        if scale is not None and bias is not None and self.choose(4) == 3:
            variance = self._variance(pd.subtract(x, mean).out, axes, epsilon)
            factor = self.commuted(pd.multiply, self.reciprocal_root(variance), scale)
            offset = pd.subtract(bias, self.commuted(pd.multiply, mean, factor)).out
            return self.commuted(pd.add, self.commuted(pd.multiply, x, factor), offset)
        centred = pd.subtract(x, mean).out
        again = self.one_of(lambda: centred, lambda: pd.subtract(x, mean))
        scaled = self._normalized(centred, self._variance(again, axes, epsilon), scale)
        return scaled if bias is None else self.commuted(pd.add, scaled, bias)

    def _matrix_transposed(self, x: Value) -> Value:
        """The last two axes swapped."""
        kind = ranked(x)
        *batch, rows, columns = kind.shape
        last = (*range(kind.rank - 2), kind.rank - 1, kind.rank - 2)

        def between_reshapes() -> Operation:
            merged = pd.reshape(x, shape=(math.prod(batch), rows, columns))
            return pd.reshape(pd.transpose(merged, perm=(0, 2, 1)), shape=(*batch, columns, rows))

        return self.one_of(lambda: pd.transpose(x, perm=last), between_reshapes)

    def attention(
        self,
        query: Value,
        key: Value,
        value: Value,
        *,
        scale: float,
        bias: Value | None = None,
        visible: Value | None = None,
        masked_score: float = -math.inf,
        nan_to_zero: bool = False,
    ) -> Value:
        """Softmax(scale * query · keyᵀ, masked) · value.

        Args:
            query: [..., L, D].
            key: [..., S, D].
            value: [..., S, V].
            scale: of the scores; not 0.
            bias: added to the scores.
            visible: of i1, which keys count.
            masked_score: of those that do not.
            nan_to_zero: whether weights that are NaN become 0.
        """
        where = self.choose(4)  # which of query, key, scores is scaled; or query and key
        if where in (0, 3):
            query = self.times(query, scale if where == 0 else scale / 2)
        if where == 1 or where == 3 or self.choose(2):
            transposed = self._matrix_transposed(key)
            if where in (1, 3):
                transposed = self.times(transposed, scale if where == 1 else 2.0)
            scores = pd.matmul(query, transposed).out
        else:
            scores = pd.matmul(query, key, transpose_y=True).out
        if where == 2:
            scores = self.times(scores, scale)
        if bias is not None:
            scores = self.commuted(pd.add, scores, bias)
        if visible is not None:
            hidden, given = self.full(masked_score), scores
            scores = self.one_of(
                lambda: pd.where(visible, given, hidden), lambda: pd.where(pd.logical_not(visible), hidden, given)
            )
        weights = pd.softmax(scores).out
        if nan_to_zero:
            weights = pd.where(pd.isnan(weights), self.full(0.0), weights).out
        return pd.matmul(weights, value).out

    def softmax(self, x: Value, axis: int, *, safe: bool) -> Value:
        """Softmax, of x - max(x) if `safe`."""
        powers = pd.exp(pd.subtract(x, self.kept(pd.max, x, (axis,))) if safe else x).out
        return self.quotient(powers, self.kept(pd.sum, powers, (axis,)))
