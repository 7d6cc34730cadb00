"""Programs on scalars as terms of the SMT solver z3, bit by bit.

Floating-point numbers are those of the theory of IEEE 754 with the exponent and mantissa of the format, integers are
bit vectors, truth values are Booleans. Each operation means what the interpreter computes: rounded once to the format,
in a rounding mode that is a variable; `scale`, `rsqrt` and `leaky_relu` step by step in fp32, then to the format.

An operation that the theory has no word for (`exp`, say) gives an unknown number, the same wherever it is on the same
terms. What holds for all numbers holds for it; what does not may hold all the same, so a counterexample counts only
when the interpreter confirms it.

Needs the optional package `z3-solver` (`pip install tx8ir[prove]`).
"""

# z3 has no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tx8ir.core import Operation, Program, RankedTensor, Value
from tx8ir.dialects import builtin, pd
from tx8ir.interpreter import evaluate_operation
from tx8ir.target.formats import F32, TF32, Format

from .scalars import is_constant, operations

try:
    z3: Any = importlib.import_module("z3")
except ImportError as error:
    raise ImportError("a proof by solver needs the package 'z3-solver': pip install tx8ir[prove]", name="z3") from error

Term: TypeAlias = Any
"""A term of z3, which has no types that could be named."""


class _Functions:
    """The functions of z3 on floating-point numbers, in the context of their first argument, not in a global one."""

    def __getattr__(self, name: str) -> Callable[..., Term]:
        function = getattr(z3, f"fp{name}")
        return lambda *arguments: function(*arguments, ctx=arguments[0].ctx)


fp: Final = _Functions()


class Untranslatable(Exception):
    """An operation that is not a term."""


@attrs.frozen(eq=False)
class Terms:
    """A program as terms.

    Attributes:
        results: one for each result of `main`, with its format.
        is_defined: that no integer is divided by 0.
    """

    results: tuple[tuple[Term, Format], ...]
    is_defined: Term


class Translator:
    """Translates programs into terms over the same inputs and one rounding mode, in a z3 context of its own."""

    def __init__(self, formats: Mapping[str, Format]) -> None:
        self.context: Any = z3.Context()
        self.rounding: Term = z3.Const("rounding mode", z3.RNE(self.context).sort())
        self.inputs: dict[str, Term] = {
            name: z3.Const(f"input {name}", self.sort(format)) for name, format in formats.items()
        }
        self._defined: list[Term] = []
        self._unknowns: dict[tuple[Any, ...], tuple[Term, Sequence[Term]]] = {}

    def translate(self, program: Program) -> Terms:
        """The results of `main`. O(operations): a value used twice is one term.

        Raises:
            Untranslatable: a cast between integers that does not keep every number.
        """
        values: dict[Value, Term] = dict(zip(program.main.body.block.args, self.inputs.values(), strict=True))
        self._defined = []
        for op in operations(program):
            if is_constant(op.__class__):
                values[op.results[0]] = self._constant(op)
                continue
            operands = [values[value] for value in op.operands]
            make = _TERMS.get(op.__class__)
            term = None if make is None else make(self, op, *operands)
            values[op.results[0]] = self._unknown(op, operands) if term is None else term
        terminator = program.main.body.block.terminator
        assert terminator is not None
        results = tuple((values[value], format_of(value)) for value in terminator.operands)
        return Terms(results, z3.And(*self._defined, z3.BoolVal(True, self.context)))

    # --- sorts and numbers -------------------------------------------------------------------------------------------

    def sort(self, format: Format) -> Any:
        """The sort of the numbers of a format."""
        if format.is_bool:
            return z3.BoolSort(self.context)
        if format.is_float:
            return z3.FPSort(format.exponent_bits, format.mantissa_bits + 1, self.context)
        return z3.BitVecSort(format.bits, self.context)

    def number(self, value: Any, format: Format) -> Term:
        """A number of a format, given in its NumPy type."""
        if format.is_bool:
            return z3.BoolVal(bool(value), self.context)
        if not format.is_float:
            return z3.BitVecVal(int(value), format.bits, self.context)
        array = np.asarray(value).astype(format.dtype)
        bits = int(array.view(f"u{format.dtype.itemsize}"))
        width = 1 + format.exponent_bits + format.mantissa_bits
        if format is TF32:
            bits >>= 13
        return z3.simplify(fp.BVToFP(z3.BitVecVal(bits, width, self.context), self.sort(format)))

    def power(self, exponent: int, format: Format, sign: int = 1) -> Term:
        """A power of two of a floating format, or infinity where it has none as large."""
        with np.errstate(over="ignore"):
            return self.number(np.float64(sign * 2.0**exponent).astype(np.float32), format)

    def float32(self, x: Term) -> Term:
        """A floating-point number as one of fp32, which is exact."""
        return fp.FPToFP(self.rounding, x, self.sort(F32))

    def rounded(self, x: Term, format: Format) -> Term:
        """A floating-point number rounded to a format."""
        return fp.FPToFP(self.rounding, x, self.sort(format))

    def truth(self, x: Term, format: Format) -> Term:
        """Whether a number is not zero."""
        if format.is_bool:
            return x
        return z3.Not(fp.IsZero(x)) if format.is_float else x != z3.BitVecVal(0, format.bits, self.context)

    def require(self, condition: Term) -> None:
        """Where it does not hold, the program has no result."""
        self._defined.append(condition)

    def _constant(self, op: Operation) -> Term:
        format = format_of(op.results[0])
        array = op.value.value if isinstance(op, builtin.ConstantOp) else evaluate_operation(op, ())[0]
        return self.number(np.asarray(array).reshape(-1)[0], format)

    def _unknown(self, op: Operation, operands: Sequence[Term]) -> Term:
        """An unknown number: one for each operation on the same terms."""
        attributes = ", ".join(f"{key}={value}" for key, value in sorted(op.attributes.items()))
        format = format_of(op.results[0])
        operands = [z3.simplify(operand) for operand in operands]
        key = (op.name, attributes, format, *(operand.get_id() for operand in operands))
        if key not in self._unknowns:
            number = z3.Const(f"{op.name} {len(self._unknowns)}", self.sort(format))
            self._unknowns[key] = (number, operands)  # keeps the terms alive, so that no other gets their ids
        return self._unknowns[key][0]


def format_of(value: Value) -> Format:
    """The number format of a tensor's elements."""
    assert isinstance(value.type, RankedTensor)
    return value.type.element.format


def _operand_format(op: Operation) -> Format:
    return format_of(op.operands[0])


# --- arithmetic ------------------------------------------------------------------------------------------------------

_Maker: TypeAlias = Callable[..., "Term | None"]
"""From the translator, an operation and the terms of its operands the term of its result; None: an unknown number."""


def _ordered(x: Term, y: Term) -> tuple[Term, Term]:
    """The operands of a commutative operation in one order, so that its two forms are one term."""
    return (x, y) if x.get_id() <= y.get_id() else (y, x)


def _arithmetic(
    floats: Callable[..., Term], integers: Callable[[Term, Term], Term], *, commutes: bool = False
) -> _Maker:
    def make(to: Translator, op: Operation, x: Term, y: Term) -> Term:
        if commutes:
            x, y = _ordered(x, y)
        return floats(to.rounding, x, y) if _operand_format(op).is_float else integers(x, y)

    return make


def _product(rounding: Term, x: Term, y: Term) -> Term:
    """By 1 and -1, which is exact, without a multiplier, which is what solvers find hardest."""
    for number, other in ((x, y), (y, x)):
        for sign, term in ((1.0, other), (-1.0, fp.Neg(other))):
            if number.eq(z3.simplify(z3.FPVal(sign, number.sort(), ctx=number.ctx))):
                return term
    return fp.Mul(rounding, x, y)


def _divide(to: Translator, op: Operation, x: Term, y: Term) -> Term:
    format = _operand_format(op)
    if format.is_float:
        return fp.Div(to.rounding, x, y)
    to.require(y != z3.BitVecVal(0, format.bits, to.context))
    return x / y if format.is_signed else z3.UDiv(x, y)


def _less(x: Term, y: Term, format: Format) -> Term:
    if format.is_float:
        return fp.LT(x, y)
    return x < y if format.is_signed else z3.ULT(x, y)


def _extremum(to: Translator, format: Format, x: Term, y: Term, *, largest: bool) -> Term:
    """IEEE 754-2019: NaN if either is, and -0 is less than +0."""
    x, y = _ordered(x, y)
    takes_y = _less(x, y, format) if largest else _less(y, x, format)
    if not format.is_float:
        return z3.If(takes_y, y, x)
    loses = fp.IsNegative(x) if largest else fp.IsPositive(x)
    chosen = z3.If(z3.Or(takes_y, z3.And(fp.IsZero(x), fp.IsZero(y), loses)), y, x)
    return z3.If(z3.Or(fp.IsNaN(x), fp.IsNaN(y)), z3.fpNaN(to.sort(format)), chosen)


def _relu(to: Translator, op: Operation, x: Term) -> Term:
    format = _operand_format(op)
    return _extremum(to, format, x, to.number(0, format), largest=True)


def _abs(to: Translator, op: Operation, x: Term) -> Term:
    format = _operand_format(op)
    if format.is_float:
        return fp.Abs(x)
    return z3.If(x < 0, -x, x) if format.is_signed else x


def _scale(to: Translator, op: Operation, x: Term) -> Term:
    assert isinstance(op, pd.ScaleOp)
    format = _operand_format(op)
    if not format.is_float:
        with np.errstate(all="ignore"):
            scale, bias = (to.number(int(n), format) for n in (op.scale, op.bias))
        return x * scale + bias if op.bias_after_scale else (x + bias) * scale
    scale, bias = (to.number(np.float32(n), F32) for n in (op.scale, op.bias))
    wide = to.float32(x)
    if op.bias_after_scale:
        found = fp.Add(to.rounding, *_ordered(fp.Mul(to.rounding, *_ordered(wide, scale)), bias))
    else:
        found = fp.Mul(to.rounding, *_ordered(fp.Add(to.rounding, *_ordered(wide, bias)), scale))
    return to.rounded(found, format)


def _leaky_relu(to: Translator, op: Operation, x: Term) -> Term:
    assert isinstance(op, pd.LeakyReluOp)
    format = _operand_format(op)
    slope = to.number(np.float32(op.negative_slope), F32)
    product = to.rounded(fp.Mul(to.rounding, *_ordered(to.float32(x), slope)), format)
    return z3.If(fp.GEQ(x, to.number(0, format)), x, product)


def _square(to: Translator, op: Operation, x: Term) -> Term:
    return fp.Mul(to.rounding, x, x) if _operand_format(op).is_float else x * x


def _pow(to: Translator, op: Operation, x: Term) -> Term | None:
    assert isinstance(op, pd.PowOp)
    return x if op.y == 1.0 else fp.Mul(to.rounding, x, x) if op.y == 2.0 else None


def _rsqrt(to: Translator, op: Operation, x: Term) -> Term:
    root = fp.Sqrt(to.rounding, to.float32(x))
    return to.rounded(fp.Div(to.rounding, to.number(np.float32(1), F32), root), _operand_format(op))


def _reciprocal(to: Translator, op: Operation, x: Term) -> Term:
    return fp.Div(to.rounding, to.number(np.float32(1), _operand_format(op)), x)


# --- comparisons, truth values, casts --------------------------------------------------------------------------------


def _comparison(floats: Callable[..., Term], signed: Callable[..., Term], unsigned: Callable[..., Term]) -> _Maker:
    def make(to: Translator, op: Operation, x: Term, y: Term) -> Term:
        format = _operand_format(op)
        return (floats if format.is_float else signed if format.is_signed else unsigned)(x, y)

    return make


def _equal(to: Translator, op: Operation, x: Term, y: Term) -> Term:
    x, y = _ordered(x, y)
    return fp.EQ(x, y) if _operand_format(op).is_float else x == y


def _cast(to: Translator, op: Operation, x: Term) -> Term:
    source, destination = _operand_format(op), format_of(op.results[0])
    if destination is source:
        return x
    if destination.is_bool:
        return to.truth(x, source)
    if source.is_bool:
        return z3.If(x, to.number(1, destination), to.number(0, destination))
    if destination.is_float:
        sort = to.sort(destination)
        if source.is_float:
            return fp.FPToFP(to.rounding, x, sort)
        convert = fp.SignedToFP if source.is_signed else fp.UnsignedToFP
        return convert(to.rounding, x, sort)
    if source.is_float:
        return _saturated(to, x, source, destination)
    widens = destination.bits > source.bits and (destination.is_signed or not source.is_signed)
    if not widens:
        raise Untranslatable(f"a cast from {source.name} to {destination.name}")
    extend = z3.SignExt if source.is_signed else z3.ZeroExt
    return extend(destination.bits - source.bits, x)


def _saturated(to: Translator, x: Term, source: Format, destination: Format) -> Term:
    """Truncated towards zero, then saturated; NaN gives 0."""
    width = destination.bits - destination.is_signed
    low = -(1 << width) if destination.is_signed else 0
    zero = to.number(0, destination)
    bits = z3.BitVecSort(destination.bits, to.context)
    toward_zero = z3.RTZ(to.context)
    if destination.is_signed:
        inside, under = fp.ToSBV(toward_zero, x, bits), fp.LEQ(x, to.power(width, source, -1))
    else:
        inside, under = fp.ToUBV(toward_zero, x, bits), fp.LEQ(x, to.number(0, source))
    over = fp.GEQ(x, to.power(width, source))
    bounded = z3.If(under, to.number(low, destination), z3.If(over, to.number((1 << width) - 1, destination), inside))
    return z3.If(fp.IsNaN(x), zero, bounded)


_TERMS: Final[Mapping[type[Operation], _Maker]] = {
    pd.AddOp: _arithmetic(lambda r, x, y: fp.Add(r, x, y), lambda x, y: x + y, commutes=True),
    pd.SubtractOp: _arithmetic(lambda r, x, y: fp.Sub(r, x, y), lambda x, y: x - y),
    pd.MultiplyOp: _arithmetic(_product, lambda x, y: x * y, commutes=True),
    pd.DivideOp: _divide,
    pd.MaximumOp: lambda to, op, x, y: _extremum(to, _operand_format(op), x, y, largest=True),
    pd.MinimumOp: lambda to, op, x, y: _extremum(to, _operand_format(op), x, y, largest=False),
    pd.ReluOp: _relu,
    pd.LeakyReluOp: _leaky_relu,
    pd.AbsOp: _abs,
    pd.ScaleOp: _scale,
    pd.SquareOp: _square,
    pd.PowOp: _pow,
    pd.SqrtOp: lambda to, op, x: fp.Sqrt(to.rounding, x),
    pd.RsqrtOp: _rsqrt,
    pd.ReciprocalOp: _reciprocal,
    pd.FloorOp: lambda to, op, x: fp.RoundToIntegral(z3.RTN(to.context), x),
    pd.IsnanOp: lambda to, op, x: fp.IsNaN(x),
    pd.AssignOp: lambda to, op, x: x,
    pd.EqualOp: _equal,
    pd.NotEqualOp: lambda to, op, x, y: z3.Not(_equal(to, op, x, y)),
    pd.LessThanOp: _comparison(fp.LT, lambda x, y: x < y, z3.ULT),
    pd.LessEqualOp: _comparison(fp.LEQ, lambda x, y: x <= y, z3.ULE),
    pd.GreaterThanOp: _comparison(fp.GT, lambda x, y: x > y, z3.UGT),
    pd.GreaterEqualOp: _comparison(fp.GEQ, lambda x, y: x >= y, z3.UGE),
    pd.LogicalAndOp: lambda to, op, x, y: z3.And(*(to.truth(v, _operand_format(op)) for v in (x, y))),
    pd.LogicalOrOp: lambda to, op, x, y: z3.Or(*(to.truth(v, _operand_format(op)) for v in (x, y))),
    pd.LogicalNotOp: lambda to, op, x: z3.Not(to.truth(x, _operand_format(op))),
    pd.WhereOp: lambda to, op, condition, x, y: z3.If(condition, x, y),
    pd.CastOp: _cast,
}
