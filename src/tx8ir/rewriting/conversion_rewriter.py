"""The rewriter of a dialect conversion, and its casts: values of unconverted types and converted ones for each other.

A pattern replaces results with values of the types that the results become. Who still uses the old types gets a cast
(`builtin.unrealized_conversion_cast`), and so does who takes converted values before their maker is converted. When all
is converted, most casts meet their opposite and go; materializations make what is left.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

import attrs

from tx8ir.core import Block, Builder, IrError, Operation, Region, Type, Value, at_location
from tx8ir.core.ir.operation import ErasedOperation
from tx8ir.dialects import builtin

from .rewriter import Replacement, RewritePattern, Rewriter
from .type_converter import TypeConverter

OpT = TypeVar("OpT", bound=Operation)
OpT_contra = TypeVar("OpT_contra", bound=Operation, contravariant=True)

Grouped: TypeAlias = "Sequence[Value | Operation | Sequence[Value]]"
"""For each result what takes its place: a value, an operation with one result, or the values that it becomes."""

CastKind: TypeAlias = Literal["source", "target", "argument"]

_CAST: Final = builtin.UnrealizedConversionCastOp


@attrs.frozen(eq=False)
class _Cast:
    """Why a cast is there, and who may make something else of it."""

    kind: CastKind
    converter: TypeConverter


class ConversionCasts:
    """The casts that a conversion has inserted and not resolved yet."""

    def __init__(self) -> None:
        self._casts: dict[Operation, _Cast] = {}
        self._targets: dict[tuple[Value, tuple[Type, ...]], Operation] = {}

    def __contains__(self, op: Operation) -> bool:
        return op in self._casts

    def add(self, op: Operation, kind: CastKind, converter: TypeConverter) -> None:
        """Note a cast that was inserted."""
        self._casts[op] = _Cast(kind, converter)

    def converted(self, value: Value, types: tuple[Type, ...], converter: TypeConverter) -> tuple[Value, ...]:
        """A value in the types that it becomes: what was cast to it, or a cast of it, one for all users."""
        if types == (value.type,):
            return (value,)
        op = value.defining_op
        if op in self._casts and tuple(v.type for v in op.operands) == types and len(op.results) == 1:
            return op.operands
        made = self._targets.get((value, types))
        if made is None or made.__class__ is ErasedOperation:
            made = self._targets[value, types] = self._target(value, types, converter)
        return made.results

    def _target(self, value: Value, types: tuple[Type, ...], converter: TypeConverter) -> Operation:
        """A new cast right behind the value, where it dominates all that the value does."""
        owner, block = value.owner, value.parent_block
        assert block is not None  # it is used
        if isinstance(owner, Operation):
            made: Operation = block.insert_after(_CAST.create((value,), types, location=owner.location), owner)
        else:
            made = block.prepend(_CAST.create((value,), types, location=owner.args[value.index].location))
        self.add(made, "target", converter)
        return made

    def resolve_some(self, rewriter: ConversionRewriter) -> bool:
        """Drop casts that take each other back, and let materializations make the others.

        Returns: whether a materialization made something, which may have to be converted in turn.
        """
        reconcile(self._casts, rewriter.by)
        made_any = False
        for op, cast in list(self._casts.items()):
            if op.__class__ is ErasedOperation:
                del self._casts[op]
                continue
            made = self._materialized(op, cast, rewriter)
            if made is None:
                continue
            for result, value in zip(op.results, made, strict=True):
                result.replace_all_uses_with(value)
            op.erase(rewriter.by)
            del self._casts[op]
            made_any = True
        return made_any

    def _materialized(self, op: Operation, cast: _Cast, rewriter: ConversionRewriter) -> tuple[Value, ...] | None:
        types = [r.type for r in op.results]
        materialize = {
            "source": cast.converter.materialize_source,
            "target": cast.converter.materialize_target,
            "argument": cast.converter.materialize_argument,
        }[cast.kind]
        block = op.parent
        assert block is not None  # casts are in the program
        previous = op.prev_op
        with Builder.before(op), at_location(op.location):
            made = materialize(op.operands, types)
        new = previous.next_op if previous is not None else block.first_op
        while new is not None and new is not op:
            rewriter.worklist[new] = None
            new = new.next_op
        return made

    def reason(self, op: Operation) -> str:
        """Why a cast is left."""
        cast = self._casts[op]
        given, wanted = (", ".join(str(v.type) for v in values) for values in (op.operands, op.results))
        return f"no {cast.kind} materialization makes ({wanted}) of ({given})"


def reconcile(casts: Iterable[Operation], by: str) -> int:
    """Drop casts that nobody uses, and those that take others back; returns how many went.

    A cast goes when what it is given, all together, is what another cast made of values of the types that it gives.
    O(casts + their uses).
    """
    removed = 0
    work = [op for op in casts if op.__class__ is not ErasedOperation]
    while work:
        op = work.pop()
        if op.__class__ is ErasedOperation:
            continue
        inner = op.operands[0].defining_op if op.operands else None
        takes_back = isinstance(inner, _CAST) and op.operands == inner.results
        if takes_back and inner is not None and [v.type for v in inner.operands] == [r.type for r in op.results]:
            work += [user for r in op.results for user in r.users if isinstance(user, _CAST)]
            for result, value in zip(op.results, inner.operands, strict=True):
                result.replace_all_uses_with(value)
        if not any(result.has_uses for result in op.results):
            work += {definer: None for v in op.operands if isinstance(definer := v.defining_op, _CAST)}
            op.erase(by)
            removed += 1
    return removed


class ConversionRewriter(Rewriter):
    """A rewriter that may give a result other types than it had, and blocks other arguments.

    Attributes:
        casts: those that it has inserted.
    """

    __slots__ = ("casts", "converter")

    def __init__(self, by: str = "") -> None:
        super().__init__(by=by)
        self.casts = ConversionCasts()
        self.converter: TypeConverter | None = None

    def replace(self, op: Operation, values: Replacement | Grouped) -> None:
        """Lets values take the place of the results of `op`, which may have become other types, and several values.

        Raises:
            IrError: another number of values than results, a result of `op` itself; or, outside of a
                `ConversionPattern` with a type converter, another type.
        """
        given: Sequence[Any] = (values,) if isinstance(values, (Value, Operation)) else values
        if self.converter is None or len(given) != len(op.results):
            super().replace(op, given)
            return
        new: list[Value] = []
        for result, item in zip(op.results, given, strict=True):
            group = self._as_values(op, item)
            if len(group) == 1 and group[0].type is result.type:
                new.append(group[0])
                continue
            cast = self.insert_before(_CAST.create(group, (result.type,), location=op.location), op)
            self.casts.add(cast, "source", self.converter)
            new.append(cast.results[0])
        super().replace(op, new)

    def convert_region(self, region: Region, converter: TypeConverter) -> bool:
        """Give the blocks of a region arguments of the types that theirs become. False, and nothing done, if one is
        inconvertible.
        """
        types = [converter.convert_all([a.type for a in block.args]) for block in region.blocks]
        if None in types:
            return False
        for block in region.blocks:
            self.convert_block(block, converter)
        return True

    def convert_block(self, block: Block, converter: TypeConverter) -> bool:
        """Give a block arguments of the types that its own become; those who use it get casts of them."""
        old = block.args
        types = [converter.convert(argument.type) for argument in old]
        if any(found is None for found in types):
            return False
        if all(found == (argument.type,) for found, argument in zip(types, old, strict=True)):
            return True
        for argument, found in zip(old, types, strict=True):
            assert found is not None  # just asked
            new = [block.add_argument(type, argument.location) for type in found]
            if found == (argument.type,):
                argument.replace_all_uses_with(new[0])
            elif argument.has_uses:
                cast = _CAST.create(new, (argument.type,), location=argument.location)
                block.prepend(cast)
                self.casts.add(cast, "argument", converter)
                argument.replace_all_uses_with(cast.results[0])
        block.erase_arguments(range(len(old)))
        return True


class ConversionPattern(RewritePattern[OpT_contra]):
    """A pattern of a conversion that is handed the operands of the root in the types that they become.

    It replaces the root with values of the types that the results become; the driver casts them for who still uses the
    old types.

    Args:
        converter: what types become.
    """

    name: ClassVar[str]  # pyright: ignore[reportIncompatibleVariableOverride]  (as its base has it)

    def __init__(self, converter: TypeConverter) -> None:
        self.converter = converter

    @abstractmethod
    def convert(self, op: OpT_contra, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        """Replaces `op` and returns True, or changes nothing and returns False.

        Args:
            op: the root.
            operands: for each operand the values that it becomes, most often one.
            rewriter: through which changes go.
        """

    def why_not(self, op: Operation) -> str:
        """Why the pattern did not convert `op`, as far as the types say."""
        for index, value in enumerate(op.operands):
            if self.converter.convert(value.type) is None:
                return f"pattern {self.name}: operand {index} is {value.type}, which nothing takes the place of"
        return f"pattern {self.name} did not convert it"

    def match_and_rewrite(self, op: OpT_contra, rewriter: Rewriter) -> bool:
        if not isinstance(rewriter, ConversionRewriter):
            raise IrError(f"the pattern {self.name} changes types; only dialect_conversion.convert applies it", op)
        types = [self.converter.convert(value.type) for value in op.operands]
        if any(found is None for found in types):
            return False
        operands = [
            rewriter.casts.converted(value, found or (), self.converter)
            for value, found in zip(op.operands, types, strict=True)
        ]
        rewriter.converter = self.converter
        try:
            return self.convert(op, operands, rewriter)
        finally:
            rewriter.converter = None


def flattened(operands: Iterable[tuple[Value, ...]]) -> list[Value]:
    """All values of converted operands, in order."""
    return [value for group in operands for value in group]


def single(operands: Iterable[tuple[Value, ...]]) -> list[Value]:
    """The value of each converted operand. Raises IrError when one has become none or several."""
    found: list[Value] = []
    for group in operands:
        if len(group) != 1:
            raise IrError(f"an operand has become {len(group)} values where a pattern takes one")
        found.append(group[0])
    return found
