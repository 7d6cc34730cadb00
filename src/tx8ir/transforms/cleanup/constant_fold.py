"""Constant folding: operations on constants are evaluated when compiling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.constants import (
    constant_type,
    evaluate_constants,
    is_constant,
    is_evaluable,
    make_constant,
    read_constant,
)
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import Operation, Program, Value
from tx8ir.dialects import builtin
from tx8ir.passes import OperationPass, register_pass

from .dce import eliminate_dead_code


@register_pass
@attrs.frozen
class ConstantFold(OperationPass):
    """Evaluates `Pure` operations whose operands are all constants, through their `Compute`.

    A constant is a `builtin.constant`, a `pd.full`, or a read of a parameter that is immutable (see
    `effects.mutable_parameters`), of static `vtensor` type. A result of up to `constants.INLINE_ELEMENTS` elements
    becomes a `builtin.constant`, a larger one a new variable of the weight store (`w.folded` when it comes from `w`);
    results inside a chain are not stored. Values are those of the interpreter's native evaluation: computed in float32,
    rounded once per operation. An operation that cannot be evaluated (an index out of range, an integer divided by 0)
    stays, so that it fails where it would have.

    Assumes: nothing. Guarantees: no foldable operation with a result within the cap is left, dead operands of those
    folded are gone. Variables that are no longer read stay in the store, which other programs may share. Idempotent.
    Cost: O(operations) and the evaluation. Statistics: `folded`, `constants` (made in the graph), `variables` (made
    in the store), `refused` (too large, or evaluation failed).

    max_bytes: operations with a result of more bytes than this are not folded, unless the operands have as many.
    """

    name: ClassVar[str] = "constant-fold"

    max_bytes: int = attrs.field(default=1 << 26, validator=attrs.validators.ge(0))

    def run_on(self, root: Operation, program: Program) -> None:
        self.fold(root, program, lambda op: True)

    def fold(self, root: Operation, program: Program, chosen: Callable[[Operation], bool]) -> None:
        """As `run_on`, of the operations that are `chosen`."""
        mutable = mutable_parameters(program)
        known: dict[Value, NDArray[Any]] = {}  # results of folded operations
        stems: dict[Operation, str] = {}  # folded operations, and the parameter that their names come from
        for op in root.walk():
            if (
                not op.operands or not chosen(op) or not is_evaluable(op)
            ):  # what makes a constant out of nothing is one already
                continue
            if not all(v in known or is_constant(v, program, mutable) for v in op.operands):
                continue
            operands: list[NDArray[Any]] = []
            for value in op.operands:
                array = known[value] if value in known else read_constant(value, program, mutable)
                assert array is not None  # is_constant
                operands.append(array)
            results = evaluate_constants(op, operands, self.max_bytes)
            if results is None:
                self.count("refused")
                continue
            known.update(zip(op.results, results, strict=True))
            stems[op] = next((stem for v in op.operands if (stem := _stem(v, stems))), "")
        self.count("folded", len(stems))
        for op, stem in stems.items():
            for result in op.results:
                if any(user not in stems for user in result.users):
                    self._materialize(result, known[result], op, f"{stem or 'constant'}.folded", program)
        if stems:
            eliminate_dead_code(root, by=self.name)

    def _materialize(self, result: Value, array: NDArray[Any], op: Operation, name: str, program: Program) -> None:
        kind = constant_type(result)
        assert kind is not None  # is_evaluable
        constant = make_constant(np.asarray(array), kind, program, name)
        constant.location = op.location
        block = op.parent
        assert block is not None  # it was found inside the module
        block.insert_before(constant, op)
        result.replace_all_uses_with(constant.results[0])
        self.count("constants" if constant.name == "builtin.constant" else "variables")


def _stem(value: Value, stems: dict[Operation, str]) -> str:
    """The parameter that `value` is read or computed from, "" when there is none."""
    op = value.defining_op
    if op is None:
        return ""
    return op.parameter if isinstance(op, builtin.GetParameterOp) else stems.get(op, "")
