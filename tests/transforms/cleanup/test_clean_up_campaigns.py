"""The passes of every clean-up on generated programs that give them work, and what `cse` and `dce` leave as text."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

import tx8ir
from support.examples import with_examples
from tx8ir.core import Builder, Value, VTensorType, bf16, f16, f32, i32
from tx8ir.dialects import builtin, pd
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import EVERYTHING, VALUES, Features, Writer, WriterStep, ranked, tensor_programs

IMAGE = VTensorType((1, 2, 3, 3), f32)


def any_value(writer: Writer) -> Value | None:
    return writer.value(lambda t: isinstance(t, VTensorType) and t.element in (f32, f16, bf16, i32))


def simple_forms(writer: Writer) -> Sequence[Value]:
    """What `canonicalize` makes simpler: undone, repeated, or without effect."""
    x = any_value(writer)
    if x is None:
        return ()
    kind = ranked(x)

    def number(value: float) -> Value:
        return pd.full(shape=(), value=value, dtype=kind.element).out

    with Builder.at_end(writer.block):
        ways = [
            lambda: pd.multiply(number(1.0), x),
            lambda: pd.maximum(x, x),
            lambda: pd.relu(pd.relu(x)),
            lambda: pd.reshape(pd.reshape(x, shape=(-1,)), shape=kind.shape),
            lambda: pd.transpose(pd.unsqueeze(x, axis=(0,)), perm=(*range(1, kind.rank + 1), 0)),
            lambda: pd.where(pd.greater_than(number(1.0), number(0.0)), pd.assign(x), x),
        ]
        return writer.one_of(ways)().results


def known_numbers(writer: Writer) -> Sequence[Value]:
    """What `constant-fold` computes: of constants, of an immutable parameter, mixed with what is not known."""
    x = any_value(writer)
    if x is None:
        return ()
    kind = ranked(x)
    known = writer.parameter(kind, mutable=writer.one_of([False, False, True]))
    with Builder.at_end(writer.block):
        other = pd.full(shape=kind.shape, value=writer.one_of([2.0, -0.0, 0.5, 3.0]), dtype=kind.element)
        folded = pd.subtract(pd.square(known), other)
        return [folded.out, pd.add(x, pd.abs(folded)).out]


def equal_operations(writer: Writer) -> Sequence[Value]:
    """What `cse` merges: the same twice, in either order where that is the same."""
    x = any_value(writer)
    if x is None:
        return ()
    y = writer.parameter(ranked(x), mutable=writer.one_of([False, False, True]))
    with Builder.at_end(writer.block):
        first, second = pd.multiply(x, y), pd.multiply(y, x)
        return [pd.subtract(first, x).out, pd.subtract(second, x).out]


def dead_operations(writer: Writer) -> Sequence[Value]:
    """What `dce` removes: a chain that nobody reads, beside a write that stays."""
    x = any_value(writer)
    if x is None:
        return ()
    with Builder.at_end(writer.block):
        pd.abs(pd.relu(x))
        storage = builtin.to_tensor(x).out
        return pd.relu_(storage).results


def images(writer: Writer) -> Sequence[Value]:
    """What `nhwc` and `fuse-conv-activation` look for: a convolution, a relu, and transposes around them."""
    x = writer.value(lambda t: isinstance(t, VTensorType) and t.rank == 4 and t.element is f32)
    if x is None:
        return ()
    channels = ranked(x).shape[1]
    weight = writer.parameter(VTensorType((3, channels, 1, 1), f32))
    with Builder.at_end(writer.block):
        if writer.one_of([False, True]):
            x = pd.transpose(pd.transpose(x, perm=(0, 2, 3, 1)), perm=(0, 3, 1, 2)).out
        y = pd.conv2d(x, weight)
        return pd.relu(y).results if writer.one_of([True, True, False]) else y.results


CASES: dict[str, tuple[WriterStep, Features]] = {
    "canonicalize": (simple_forms, EVERYTHING),
    "constant-fold": (known_numbers, EVERYTHING),
    "cse": (equal_operations, EVERYTHING),
    "dce": (dead_operations, EVERYTHING),
    "nhwc": (images, EVERYTHING),
    "fuse-conv-activation": (images, EVERYTHING),
    "convert-dtype{dtype=f32}": (simple_forms, attrs.evolve(VALUES, sums=True, branches=True, calls=True)),
}


@with_examples()
@pytest.mark.parametrize("text", CASES)
def test_generated_programs_keep_what_the_pass_guarantees(text: str, examples: int) -> None:
    step, features = CASES[text]
    inputs = [IMAGE] if step is images else [VTensorType((2, 3), bf16)]
    assert_preserves(
        text, programs=tensor_programs(features, steps=[step], inputs=inputs), examples=examples, changed=1 / 3
    )


MESSY = """
module {
  func.func @main(%x: !pd.vtensor<2xf32>, %s: !pd.tensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
    %1 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
    %2 = "pd.add"(%x, %0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %3 = "pd.add"(%1, %x) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %4 = "builtin.to_vtensor"(%s) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %5 = "pd.relu_"(%s) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %6 = "builtin.to_vtensor"(%s) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %7 = "pd.subtract"(%4, %6) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %8 = "pd.exp"(%7) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %9 = "pd.multiply"(%2, %3) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %9 : !pd.vtensor<2xf32>
  }
}
"""


def test_equal_reads_and_sums_are_merged_reads_around_a_write_are_not(golden) -> None:
    program = tx8ir.parse(MESSY)
    report = PassManager.parse("cse").run(program)
    assert dict(report.stages[0].statistics) == {"merged": 2}
    golden(f"// before{MESSY}\n// cse\n{program}", "transforms/cse.mlir")


def test_what_nobody_reads_goes_and_the_write_stays(golden) -> None:
    program = tx8ir.parse(MESSY)
    report = PassManager.parse("dce").run(program)
    assert dict(report.stages[0].statistics) == {"removed": 4}
    golden(f"// before{MESSY}\n// dce\n{program}", "transforms/dce.mlir")
