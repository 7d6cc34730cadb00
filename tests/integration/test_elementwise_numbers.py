"""Element-wise operations on the chip beside the interpreter: bit for bit where both are exact, else within 2 ulp."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tx8ir
from support.formulas import VECTOR, mnemonic, unary_operations
from tx8ir.dialects import pd
from tx8ir.interpreter import evaluate
from tx8ir.target.formats import Format

FORMATS = ("f32", "f16", "bf16", "tf32")
BINARY, RELATIONS = (
    tuple(mnemonic(op) for op in pd.DIALECT.ops.values() if issubclass(op, family) and op.vector_function is not None)
    for family in (pd.ElementwiseBinaryOp, pd.ComparisonOp)
)
UNARY = {mnemonic(op): op for op in unary_operations() if op.vector_function is not None}


def special_numbers(format: Format, count: int) -> NDArray[Any]:
    """`count` numbers of a format, of both signs: ends of the range and of the exponents, and some all over."""
    rng = np.random.default_rng(3)
    ones = (1 << format.mantissa_bits) - 1
    top = (1 << format.exponent_bits) - 1
    bits = [0, top << format.mantissa_bits, (top << format.mantissa_bits) | (ones + 1) // 2]
    for exponent, mantissa in itertools.product(
        (0, 1, top // 2, top - 1, top // 2 + 1, 2, top // 2 - 1), (0, 1, ones, ones // 2 + 1, ones // 2, 5)
    ):
        bits.append((exponent << format.mantissa_bits) | mantissa)
    bits = bits[: count // 2]
    while len(bits) < count // 2:
        bits.append(int(rng.integers(0, top)) << format.mantissa_bits | int(rng.integers(0, ones + 1)))
    positive = np.array(bits, np.uint64) << np.uint64(
        8 * format.bytes - 1 - format.exponent_bits - format.mantissa_bits
    )
    both = np.concatenate([positive, positive | np.uint64(1 << (8 * format.bytes - 1))])
    return both.astype(f"u{format.bytes}").view(format.dtype)


def evaluated(name: str, element: str, *operands: NDArray[Any], result: str = "") -> tuple[NDArray[Any], ...]:
    """What the chip and the interpreter compute."""
    kind = f"!pd.vtensor<{len(operands[0])}x{element}>"
    out = kind.replace(element, "i1") if name in RELATIONS else kind
    names = [f"%x{i}" for i in range(len(operands))]
    program = tx8ir.parse(
        f"module {{ func.func @main({', '.join(f'{n}: {kind}' for n in names)}) -> {out} {{\n"
        f'%y = "pd.{name}"({", ".join(names)}) : ({", ".join([kind] * len(names))}) -> {out}\nreturn %y : {out} }} }}'
    )
    inputs = dict(zip(program.inputs, operands, strict=True))
    (chip,) = tx8ir.compile(program).run(inputs).values()
    with np.errstate(all="ignore"):
        (wanted,) = evaluate(program, inputs, precision="native").values()
    return chip, wanted


def assert_same_bits(chip: NDArray[Any], wanted: NDArray[Any], *operands: NDArray[Any]) -> None:
    a, b = chip.astype(np.float64), wanted.astype(np.float64)
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
    wrong = np.flatnonzero(~same)
    shown = [([x[i] for x in operands], a[i], b[i]) for i in wrong[:3]]
    assert not len(wrong), f"{len(wrong)} of {len(a)} differ: operands, chip, interpreter {shown}"


def ordinals(x: NDArray[Any], format: Format) -> NDArray[np.int64]:
    """Numbers whose differences count the numbers of the format between; both zeros have the same."""
    bits = x.view(f"i{format.bytes}").astype(np.int64)
    spare = 8 * format.bytes - 1 - format.exponent_bits - format.mantissa_bits
    return np.where(bits < 0, -(1 << (8 * format.bytes - 1)) - bits, bits) >> spare


def check_binary(name: str, element: str, count: int) -> None:
    numbers = special_numbers(Format.named(element), count)
    x, y = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    assert_same_bits(*evaluated(name, element, x, y), x, y)


def check_unary(name: str, element: str, x: NDArray[Any]) -> None:
    chip, wanted = evaluated(name, element, x)
    if VECTOR[str(UNARY[name].vector_function)].exact:
        assert_same_bits(chip, wanted, x)
        return
    format = Format.named(element)
    np.testing.assert_array_equal(np.isnan(chip.astype(np.float64)), np.isnan(wanted.astype(np.float64)))
    numbers = ~np.isnan(wanted.astype(np.float64))
    away = np.abs(ordinals(chip, format) - ordinals(wanted, format))[numbers]
    worst = int(away.argmax())
    assert away[worst] <= 2, (x[numbers][worst], chip[numbers][worst], wanted[numbers][worst], away[worst])


@pytest.mark.parametrize("element", FORMATS)
@pytest.mark.parametrize("name", [*BINARY, *RELATIONS])
def test_functions_of_two_numbers_are_equal_bit_for_bit(name: str, element: str) -> None:
    check_binary(name, element, 48)


@pytest.mark.nightly
@pytest.mark.parametrize("element", FORMATS)
@pytest.mark.parametrize("name", [*BINARY, *RELATIONS])
def test_functions_of_all_pairs_of_special_numbers_are_equal_bit_for_bit(name: str, element: str) -> None:
    check_binary(name, element, 300)


@pytest.mark.parametrize("element", FORMATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_agree(name: str, element: str) -> None:
    check_unary(name, element, special_numbers(Format.named(element), 600))


@pytest.mark.nightly
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_all_numbers_of_16_bits_agree(name: str, element: str) -> None:
    check_unary(name, element, np.arange(1 << 16, dtype=np.uint16).view(Format.named(element).dtype))


ZEROS = np.array([-0.0, 0.0, -0.0, 0.0, -1.0, 1.0, np.nan], np.float32)


@pytest.mark.parametrize("constant", [0.0, -0.0, 2.5])
@pytest.mark.parametrize("name", [*BINARY, *RELATIONS])
def test_a_constant_operand_changes_nothing(name: str, constant: float) -> None:
    """The vector unit takes one number as a scalar, and swaps operands for it."""
    kind, out = "!pd.vtensor<70xf32>", "!pd.vtensor<70xi1>" if name in RELATIONS else "!pd.vtensor<70xf32>"
    x = np.resize(np.concatenate([ZEROS, special_numbers(Format.named("f32"), 60)]), 70)
    for operands in ("%x, %c", "%c, %x"):
        program = tx8ir.parse(
            f"module {{ func.func @main(%x: {kind}) -> {out} {{\n"
            f'%c = "pd.full"() {{shape = [70], value = {constant}, dtype = f32}} : () -> {kind}\n'
            f'%y = "pd.{name}"({operands}) : ({kind}, {kind}) -> {out}\nreturn %y : {out} }} }}'
        )
        (chip,) = tx8ir.compile(program).run(arg0=x).values()
        with np.errstate(all="ignore"):
            (wanted,) = evaluate(program, {"arg0": x}, precision="native").values()
        assert_same_bits(chip, wanted, x)


@pytest.mark.parametrize("element", FORMATS)
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reductions_order_zeros_and_keep_nan(name: str, element: str, axis: int) -> None:
    rows = np.array(list(itertools.product(ZEROS, repeat=3)), np.float32)  # [343, 3]
    x = np.moveaxis(np.broadcast_to(rows[:, None], (343, 2, 3)), 2, axis)
    shape, rest = "x".join(map(str, x.shape)), "x".join(str(n) for i, n in enumerate(x.shape) if i != axis)
    kind, out = f"!pd.vtensor<{shape}x{element}>", f"!pd.vtensor<{rest}x{element}>"
    program = tx8ir.parse(
        f'module {{ func.func @main(%x: {kind}) -> {out} {{ %y = "pd.{name}"(%x) {{axis = [{axis}]}} : '
        f"({kind}) -> {out}\nreturn %y : {out} }} }}"
    )
    inputs = {"arg0": np.ascontiguousarray(x).astype(Format.named(element).dtype)}
    (chip,) = tx8ir.compile(program).run(inputs).values()
    (wanted,) = evaluate(program, inputs, precision="native").values()
    assert_same_bits(chip.ravel(), wanted.ravel())
    fold = max if name == "max" else min
    by_sign = [fold(row, key=lambda v: (v, not np.signbit(v))) if not np.isnan(row).any() else np.nan for row in rows]
    assert_same_bits(wanted.ravel().reshape(343, 2)[:, 0] if axis else wanted[:, 0].ravel(), np.array(by_sign))


@pytest.mark.parametrize("name", ["max"])
def test_pooling_agrees_on_zeros(name: str) -> None:
    x = np.random.default_rng(0).choice(ZEROS[:4], (1, 8, 8, 64)).astype(np.float32)
    kind, out = "!pd.vtensor<1x8x8x64xf32>", "!pd.vtensor<1x7x7x64xf32>"
    program = tx8ir.parse(
        f'module {{ func.func @main(%x: {kind}) -> {out} {{ %y = "pd.pool2d"(%x) {{kernel_size = [2, 2], '
        f'strides = [1, 1], paddings = [0, 0], data_format = "NHWC", pooling_type = "{name}"}} : ({kind}) -> {out}\n'
        f"return %y : {out} }} }}"
    )
    (chip,) = tx8ir.compile(program).run(arg0=x).values()
    (wanted,) = evaluate(program, {"arg0": x}, precision="native").values()
    assert_same_bits(chip.ravel(), wanted.ravel())


@pytest.mark.parametrize(
    ("scale", "bias", "last"),
    [
        (1, 0.0, True),
        (1, -0.0, True),
        (2, 0.0, True),
        (-1, 0.0, True),
        (-1, -0.0, True),
        (1, 0.0, False),
        (-1, 0.0, False),
    ],
)
def test_a_scale_keeps_the_signs_of_zeros(scale: float, bias: float, last: bool) -> None:
    """As in IEEE 754: -0 + 0 is +0, and -0 + -0 is -0. Their reciprocals are infinities of two signs."""
    x = np.array([-0.0, 0.0, 1.5, -1.5, np.inf, -np.inf, 1e-45], np.float32)
    order = str(last).lower()
    text = f"""module {{ func.func @main(%x: !pd.vtensor<7xf32>) -> !pd.vtensor<7xf32> {{
        %y = "pd.scale"(%x) {{scale = {float(scale)} : f64, bias = {bias} : f64, bias_after_scale = {order}}}
            : (!pd.vtensor<7xf32>) -> !pd.vtensor<7xf32>
        return %y : !pd.vtensor<7xf32> }} }}"""
    (got,) = tx8ir.compile(tx8ir.parse(text)).run(arg0=x).values()
    s, b = np.float32(scale), np.float32(bias)
    want = x * s + b if last else (x + b) * s
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("constant", [-0.0, 0.0, 2.0])
@pytest.mark.parametrize("shape", ["", "4x"], ids=["number", "row"])
def test_a_constant_less_a_value_keeps_the_signs_of_zeros(constant: float, shape: str) -> None:
    x = np.array([[-0.0, 0.0, 1.5, -1.5], [2.0, -2.0, np.inf, -0.0]], np.float32)
    c, t = f"!pd.vtensor<{shape}f32>", "!pd.vtensor<2x4xf32>"
    text = f"""module {{ func.func @main(%x: {t}) -> {t} {{
        %c = "pd.full"() {{shape = array<i64{": 4" if shape else ""}>, value = {constant} : f64}} : () -> {c}
        %y = "pd.subtract"(%c, %x) : ({c}, {t}) -> {t}
        return %y : {t} }} }}"""
    (got,) = tx8ir.compile(tx8ir.parse(text)).run(arg0=x).values()
    assert got.tobytes() == (np.float32(constant) - x).tobytes()
