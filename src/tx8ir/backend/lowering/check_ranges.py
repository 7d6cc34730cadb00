"""`check-ranges`: what a program computes in 64-bit integers is checked to fit in the 32 that the chip has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final

import attrs

from tx8ir.backend.lowering.context import ranked_type
from tx8ir.backend.lowering.integers import CHECKED, EXACT, bound, single
from tx8ir.core import (
    Builder,
    DictAttr,
    FunctionType,
    Operation,
    Program,
    Value,
    VTensorType,
    at_location,
    f32,
    i32,
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
    """Adds a status word, an output of the program, for each operation whose integers the chip may not have.

    These are casts of floating-point values to i64, where the word is 0 when every value, NaN excepted, is at least
    -2^31 and less than 2^31 once truncated, so that the cast to i32 that `convert-dtype` makes of it is exact; and
    sums, differences and products of i32 and i64 that are not known to be small (`integers.bound`), where it is 0 when
    operands and results are less than 2^24, so that the vector unit computes them exactly. Else the word is 1, and
    `Executable.run` raises an error that names the operation. Other operations that compute 64-bit integers which may
    need more bits do not run on the TX8, but on constants, which `convert-dtype` checks.

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
        checks = [(op, status, why) for op in list(main.body.block) for status, why in _checks(op)]
        if not checks:
            return
        taken = set(program.outputs)
        words: dict[str, Value] = {}
        messages: dict[str, str] = {}
        for op, status, why in checks:
            name = f"status.{len(words)}"
            while name in taken:
                name += "_"
            taken.add(name)
            with Builder.before(end), at_location(op.location):
                words[name] = status()
            place = f" at {op.location}" if op.location.is_known else ""
            types = ", ".join(str(value.type) for value in op.operands)
            messages[name] = f"{op.name} ({types}) -> ({op.results[0].type}){place}: {why}"
        outputs = (*program.outputs, *words)
        end.set_operands([*end.operands, *words.values()])
        kinds = main.function_type
        results = [*kinds.results, *(value.type for value in words.values())]
        main.set_attribute("function_type", FunctionType(kinds.inputs, results))
        main.set_attribute("result_names", outputs)
        program.module.set_attribute(STATUS_WORDS, messages)
        self.count("checks", len(words))


def _checks(op: Operation) -> Iterator[tuple[Callable[[], Value], str]]:
    """What to check of an operation: what writes its status, 1 or 0 in f32 of shape [1], and what 1 means."""
    if not op.results or not _has_numbers(op.results[0]) or not op.results[0].has_uses:
        return
    element = ranked_type(op.results[0]).element
    if isinstance(op, pd.CastOp):
        if element is i64 and _has_numbers(op.x) and ranked_type(op.x).element.is_float:
            yield lambda: _outside_i32(op.x), _OUTSIDE
    elif isinstance(op, pd.AddOp | pd.SubtractOp | pd.MultiplyOp) and element in (i32, i64) and bound(op.out) > EXACT:
        op.set_attribute(CHECKED, True)
        yield lambda: _beyond_exact(op), _BEYOND


_OUTSIDE: Final = (
    "a value is outside of -2147483648 to 2147483647, the range of the 32-bit integers that the chip has in place of "
    "i64"
)
_BEYOND: Final = (
    "an operand or the result has a magnitude of 16777216 or more, and the chip computes these integers in fp32"
)


def _has_numbers(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, VTensorType) and kind.is_static and 0 not in kind.shape


def _outside_i32(x: Value) -> Value:
    """1 where a floating-point number is not in the range of i32, else 0."""
    kind = ranked_type(x)
    # 2^31 is not a number of f16, but f16 has these powers, and no finite number that is too large.
    for exponent in (-16, -15):
        x = pd.multiply(x, pd.full(shape=(), value=2.0**exponent, dtype=kind.element).out).out
    above = pd.greater_equal(x, pd.full(shape=(), value=1.0, dtype=kind.element).out).out
    below = pd.less_than(x, pd.full(shape=(), value=-1.0, dtype=kind.element).out).out
    return _any(pd.logical_or(above, below).out)


def _beyond_exact(op: pd.ElementwiseBinaryOp) -> Value:
    """1 where an operand or the result is not less than 2^24 in magnitude: as fp32 has it, which rounds no other
    number there.
    """
    operands = [single(value) for value in (op.x, op.y) if bound(value) > EXACT]
    sizes = [pd.abs(value) for value in (*operands, type(op)(single(op.x), single(op.y)))]
    limit = pd.full(shape=(), value=float(EXACT), dtype=f32).out
    words = [_any(pd.greater_equal(size, limit).out) for size in sizes]
    worst = words[0]
    for word in words[1:]:
        worst = pd.maximum(worst, word).out
    return worst


def _any(condition: Value) -> Value:
    """1 where a condition holds anywhere, else 0; of f32, shape [1]."""
    kind = ranked_type(condition)
    status = pd.cast(condition, dtype=f32).out
    if not kind.rank:
        return pd.reshape(status, shape=(1,)).out
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
