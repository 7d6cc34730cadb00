"""cf: branches between the blocks of a region."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core.attrs.attributes import Attribute, BoolAttr
from tx8ir.core.attrs.dense import DenseAttr
from tx8ir.core.attrs.types import RankedTensor, Type, i1
from tx8ir.core.context import Dialect
from tx8ir.core.errors import VerifyError
from tx8ir.core.ir.block import Block
from tx8ir.core.ir.interfaces import Branch
from tx8ir.core.ir.operation import Operation
from tx8ir.core.ir.traits import Terminator
from tx8ir.core.ir.value import Value
from tx8ir.core.opdef.definition import SEGMENTS, segment_sizes
from tx8ir.core.opdef.fields import Operand, VariadicOperand, operand, successor, variadic_operand
from tx8ir.core.opdef.op import Op


def one_i1(type: Type) -> bool:
    """Whether a value of `type` decides a branch: an i1, or a tensor with one element of it, of any rank."""
    if type is i1:
        return True
    return isinstance(type, RankedTensor) and type.element is i1 and type.is_static and type.num_elements == 1


def truth_of(constant: Attribute | None) -> bool | None:
    """What a condition is that is known to be a constant; None when it is not known."""
    if isinstance(constant, BoolAttr):
        return constant.value
    return bool(constant.value.reshape(-1)[0]) if isinstance(constant, DenseAttr) else None


class BranchOp(Op, Branch, name="cf.br", traits=(Terminator,)):
    """Goes on with the block `dest`, whose arguments become `dest_operands`."""

    dest_operands: VariadicOperand = variadic_operand(doc="one for each argument of `dest`, of its type")
    dest: Block = successor(doc="a block of the same region, not its entry")

    assembly_format = "$dest (`(` $dest_operands^ `:` type($dest_operands) `)`)? attr-dict"

    def successor_operands(self, index: int) -> tuple[Value, ...]:
        return self.dest_operands

    def verify_op(self) -> None:
        verify_edges(self)


class CondBranchOp(Op, Branch, name="cf.cond_br", traits=(Terminator,)):
    """Goes on with the block `true_dest` if `condition` holds, else with `false_dest`."""

    condition: Operand = operand(one_i1)
    true_operands: VariadicOperand = variadic_operand(doc="one for each argument of `true_dest`, of its type")
    false_operands: VariadicOperand = variadic_operand(doc="one for each argument of `false_dest`, of its type")
    true_dest: Block = successor(doc="a block of the same region, not its entry")
    false_dest: Block = successor(doc="a block of the same region, not its entry")

    assembly_format = (
        "$condition implied-type($condition, i1) `,` "
        "$true_dest (`(` $true_operands^ `:` type($true_operands) `)`)? `,` "
        "$false_dest (`(` $false_operands^ `:` type($false_operands) `)`)? attr-dict"
    )

    def successor_operands(self, index: int) -> tuple[Value, ...]:
        return self.false_operands if index else self.true_operands

    def possible_successors(self, operands: Sequence[Attribute | None]) -> Sequence[int]:
        truth = truth_of(operands[0])
        return (0, 1) if truth is None else (0,) if truth else (1,)

    def set_successor_operands(self, operands: Sequence[Sequence[Value]]) -> None:
        self.set_operands([self.condition, *operands[0], *operands[1]])
        self.set_attribute(SEGMENTS, segment_sizes((1, *map(len, operands))))

    def verify_op(self) -> None:
        verify_edges(self)


def verify_edges(op: Operation) -> None:
    """Check each edge of a branch: not to the entry block, and with the operands that the block takes.

    Raises:
        VerifyError: an edge that does not fit, and why.
    """
    branch = op.interface(Branch)
    if branch is None:
        raise VerifyError(f"{op.name} has successors and does not say what it gives them (Branch)", op)
    for index, block in enumerate(op.successors):
        if block.parent is not None and block.parent.block is block:
            raise VerifyError(f"successor {index} of {op.name} is the entry block, which no branch may go to", op)
        given = tuple(v.type for v in branch.successor_operands(index))
        taken = tuple(a.type for a in block.args)
        if given != taken:
            shown, wanted = ", ".join(map(str, given)), ", ".join(map(str, taken))
            raise VerifyError(f"{op.name} gives ({shown}) to its successor {index}, which takes ({wanted})", op)


br = BranchOp
cond_br = CondBranchOp

DIALECT = Dialect("cf", [BranchOp, CondBranchOp])
