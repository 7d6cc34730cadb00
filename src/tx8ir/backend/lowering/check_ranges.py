"""`check-ranges`: what a program computes in 64-bit integers is checked to fit in the 32 that the chip has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import attrs

from tx8ir.core import (
    Builder,
    DictAttr,
    FunctionType,
    Program,
    RankedTensor,
    Value,
    VTensorType,
    at_location,
    f32,
    i64,
)
from tx8ir.dialects import func, pd
from tx8ir.passes import Pass, register_pass

STATUS_WORDS: Final = "status_words"
"""The attribute of the module that says which outputs are status words: name to what went wrong where one is not 0."""


def status_words(program: Program) -> Mapping[str, str]:
    """The status words among the program's outputs: name to message."""
    words = program.module.attributes.get(STATUS_WORDS)
    return {name: str(text) for name, text in words.value.items()} if isinstance(words, DictAttr) else {}


@register_pass
@attrs.frozen
class CheckRanges(Pass):
    """Adds a status word, an output of the program, for each cast of floating-point values to i64.

    The word is 0 where every value, NaN excepted, is at least -2^31 and less than 2^31 once truncated, so that the
    cast to i32 that `convert-dtype` makes of it is exact; else 1. `Executable.run` raises an error that names the
    operation. Other operations that compute 64-bit integers which may need more bits do not run on the TX8, but on
    constants, which `convert-dtype` checks.

    Assumes: `main` has one block, with the calls, loops and branches resolved; casts elsewhere are left alone.
    Guarantees: outputs, and all values of the program, are as before; the status words follow them, and the module's
    attribute `status_words` says which they are and what they mean, which `generate-tx8` writes to their
    `tx8.output`. Idempotent. Cost: O(operations), and on the chip
    five element-wise operations and a reduction per cast. Statistics: `checks`.
    """

    name: ClassVar[str] = "check-ranges"

    def run(self, program: Program) -> None:
        main = program.main
        end = main.body.blocks[0].terminator
        if (
            STATUS_WORDS in program.module.attributes
            or len(main.body.blocks) != 1
            or not isinstance(end, func.ReturnOp)
        ):
            return
        casts = [op for op in main.body.block if isinstance(op, pd.CastOp) and _is_checked(op)]
        if not casts:
            return
        taken = set(program.outputs)
        words: dict[str, Value] = {}
        messages: dict[str, str] = {}
        for op in casts:
            name = f"status.{len(words)}"
            while name in taken:
                name += "_"
            taken.add(name)
            with Builder.before(end), at_location(op.location):
                words[name] = _status(op.x)
            place = f" at {op.location}" if op.location.is_known else ""
            messages[name] = (
                f"{op.name} ({op.x.type}) -> ({op.out.type}){place}: a value is outside of -2147483648 to 2147483647, "
                "the range of the 32-bit integers that the chip has in place of i64"
            )
        outputs = (*program.outputs, *words)
        end.set_operands([*end.operands, *words.values()])
        kinds = main.function_type
        results = [*kinds.results, *(value.type for value in words.values())]
        main.set_attribute("function_type", FunctionType(kinds.inputs, results))
        main.set_attribute("result_names", outputs)
        program.module.set_attribute(STATUS_WORDS, messages)
        self.count("checks", len(words))


def _is_checked(op: pd.CastOp) -> bool:
    source, target = op.x.type, op.out.type
    return (
        isinstance(source, VTensorType)
        and source.is_static
        and 0 not in source.shape
        and source.element.is_float
        and isinstance(target, RankedTensor)
        and target.element is i64
        and op.out.has_uses
    )


def _status(x: Value) -> Value:
    """1 where a value is not in the range of i32, else 0; of f32, shape [1]."""
    kind = x.type
    assert isinstance(kind, VTensorType)  # _is_checked
    if not kind.rank:
        x = pd.reshape(x, shape=(1,)).out
    # 2^31 is not a number of f16, but f16 has these powers, and no finite number that is too large.
    for exponent in (-16, -15):
        x = pd.multiply(x, pd.full(shape=(), value=2.0**exponent, dtype=kind.element).out).out
    above = pd.greater_equal(x, pd.full(shape=(), value=1.0, dtype=kind.element).out).out
    below = pd.less_than(x, pd.full(shape=(), value=-1.0, dtype=kind.element).out).out
    status = pd.cast(pd.logical_or(above, below).out, dtype=f32).out
    if kind.rank > 1:
        status = pd.max(status, axis=(-1,), keepdim=True).out
    return _largest(status)


_ROW = 512
_AT_ONCE = 1 << 14
"""Elements of one reduction to a number, which one tile makes: well within its SPM in every layout."""


def _largest(x: Value) -> Value:
    """The largest element, as [1]; of a large tensor in rows, which the tiles share, again and again."""
    kind = x.type
    assert isinstance(kind, VTensorType)
    count = kind.num_elements
    while count > _AT_ONCE:
        x = pd.reshape(x, shape=(count,)).out
        rows, rest = divmod(count, _ROW)
        head = pd.slice(x, axes=(0,), starts=(0,), ends=(rows * _ROW,)).out if rest else x
        largest = pd.max(pd.reshape(head, shape=(rows, _ROW)).out, axis=(1,)).out
        if rest:
            tail = pd.slice(x, axes=(0,), starts=(rows * _ROW,), ends=(count,)).out
            largest = pd.concat([largest, tail], axis=0).out
        x, count = largest, rows + rest
    return pd.reshape(pd.max(x, keepdim=True).out, shape=(1,)).out
