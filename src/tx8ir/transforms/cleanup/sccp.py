"""`sccp`: sparse conditional constant propagation."""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar

import attrs
import numpy as np

from tx8ir.analysis.constant_propagation import Constant, Number, propagate_constants
from tx8ir.analysis.constants import constant_name, constant_type, make_constant
from tx8ir.core import Operation, Program, Pure, Value, detached
from tx8ir.dialects import builtin
from tx8ir.dialects.arith.constants import make_constant as number_constant
from tx8ir.passes import OperationPass, option, register_pass

from .dce import eliminate_dead_code

__all__ = ["Sccp"]


@register_pass
@attrs.frozen
class Sccp(OperationPass):
    """Finds values that are constant on every path that can be taken, and puts constants in their place.

    Constants and the paths that can be taken are found together, each taken to be as good as nothing says otherwise: an
    argument that is 1 on the only edge that can be taken is 1, and makes further edges impossible. It follows `cf`
    branches, `scf.if` and `scf.while` (what a loop carries is constant when every round yields the same), and calls:
    arguments of a function that only calls reach, and results. Operations are evaluated as by `constant-fold`, and by
    their `Fold`.

    Branches whose condition has become constant are left to `simplify-control-flow`; code that cannot be reached is not
    looked at.

    Numbers that are no tensors (`i1`, `index`, `f32`: what `arith` counts with) are known by their `Fold` alone; where
    one is constant, there is an `arith.constant`.

    Assumes: a function that the program calls, that is not public and whose name stands in no other attribute is called
    from nowhere else (turned off by `interprocedural`; nested in functions, each is on its own). Guarantees: where a
    constant was found it is used, but for values that are neither numbers nor of a static vtensor type; a parameter
    that may be written is no constant. Operations that fail when evaluated stay. Idempotent. Cost: O(operations + uses
    + edges), and evaluating each operation once. Statistics: `folded` (results), `arguments` (of blocks), `variables`
    (made in the weight store for constants too large for the graph), `refused` (too large, or evaluation failed).

    From Wegman and Zadeck, Constant Propagation with Conditional Branches, TOPLAS 13(2), 1991; on regions as in MLIR's
    `sccp`.
    """

    name: ClassVar[str] = "sccp"

    max_bytes: int = option(
        1 << 26,
        "operations with a result of more bytes than this are not evaluated, unless the operands have as many",
        validator=attrs.validators.ge(0),
    )
    interprocedural: bool = option(True, "follow constants through calls, when the pass runs on the whole module")

    def run_on(self, root: Operation, program: Program) -> None:
        propagation = propagate_constants(root, program, max_bytes=self.max_bytes, interprocedural=self.interprocedural)
        self.count("refused", len(propagation.refused))
        constants = {
            value: found
            for value, found in propagation.constants().items()
            if value.has_uses and not propagation.is_constant(value)
        }
        folded = {
            op for op in {value.defining_op for value in constants} if op is not None and _vanishes(op, constants)
        }
        with detached():
            for value, found in constants.items():
                self.count("folded" if value.defining_op is not None else "arguments")
                if any(user not in folded for user in value.users):
                    self._materialize(value, found, program)
        if constants:
            eliminate_dead_code(root, by=self.name)

    def _materialize(self, value: Value, found: Constant | Number, program: Program) -> None:
        """Let a constant take the place of a value."""
        constant = self._constant(value, found, program)
        op = value.defining_op
        block = value.parent_block
        assert block is not None  # the value is in the program
        if op is not None:
            constant.location = op.location
            block.insert_before(constant, op)
        else:
            block.prepend(constant)
        value.replace_all_uses_with(constant.result)

    def _constant(self, value: Value, found: Constant | Number, program: Program) -> Operation:
        """A detached constant that is what was found of a value."""
        if isinstance(found, Number):
            return number_constant(found.attribute)
        kind = constant_type(value)
        assert kind is not None  # only such values are known
        if found.source is not None and found.source.result.type is kind:
            return found.source.clone()
        constant = make_constant(np.asarray(found.array), kind, program, constant_name(value, "folded"))
        self.count("variables", isinstance(constant, builtin.GetParameterOp))
        return constant


def _vanishes(op: Operation, constants: Container[Value]) -> bool:
    """Whether nothing needs `op` any more: it is evaluated now."""
    return (
        Pure in op.info.traits
        and not op.regions
        and all(result in constants or not result.has_uses for result in op.results)
    )
