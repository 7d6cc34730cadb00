"""Other element types for a whole program at once: the work of `convert-dtype` and of `convert-element-types`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from tx8ir.core import (
    DenseAttr,
    HasValueSemantics,
    ListType,
    Operation,
    OpOperand,
    ParameterAccess,
    Program,
    RankedTensor,
    TensorType,
    Type,
    UnsupportedError,
    Value,
    VTensorType,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.rewriting import Rewriter
from tx8ir.rewriting.type_conversion import Casts, convert_integers, tensor_type
from tx8ir.rewriting.type_converter import ElementTypeConverter


def retype(
    program: Program,
    converter: ElementTypeConverter,
    *,
    signatures: bool,
    count: Callable[[str, int], None],
    by: str,
) -> None:
    """Gives every value of `program` the type that `converter` says, in place.

    Through regions, arguments of blocks, functions and their calls, lists, and types in attributes. Constants and
    immutable parameters are converted (see `type_conversion.ConvertedParameters`). What keeps its type has casts
    around it: mutable parameters, and without `signatures` the inputs and outputs of the program (arguments and results
    of `main`, feeds and fetches).

    Args:
        program: changed in place, O(operations + elements converted).
        converter: new types.
        signatures: also change the types of inputs and outputs.
        count: told of `values`, `constants`, `parameters`, `saturated` numbers, `casts`, and old casts `removed`, which
            were between types that have become one.
        by: the pass, for locations.

    Raises:
        UnsupportedError: an integer constant does not fit, or what keeps its type cannot be cast: an alias of it, or a
            list. The program is as it was.
    """
    _Retyping(program, converter, signatures, count, by).run()


class _Retyping:
    def __init__(
        self,
        program: Program,
        converter: ElementTypeConverter,
        signatures: bool,
        count: Callable[[str, int], None],
        by: str,
    ) -> None:
        self.program = program
        self.converter = converter
        self.count = count
        self.casts = Casts(program, count)
        self.parameters = self.casts.parameters
        self.rewriter = Rewriter(by=by)
        self.main = None if signatures else program.main
        """The function that keeps its signature."""

    def run(self) -> None:
        ops = list(self.program.module.walk())
        kept = self._kept(ops)
        read: list[Value] = [value for op in ops if op in kept for value in op.results]
        if self.main is not None:
            read += self.main.body.block.args
        # What they take keeps its type too; a cast that makes it is theirs.
        taken = [(use, use.value.type) for op in ops if op in kept for use in op.op_operands]
        stays: set[Value] = set(read) | {
            op.out for op in ops if isinstance(op, pd.CastOp) and op.out.has_uses and kept.issuperset(op.out.users)
        }
        for value in read:
            self._check_read(value, kept)
        for use, _ in taken:
            self._check_taken(use)
        for op in ops:
            if op not in kept and not any(r in stays for r in op.results):
                self._check_numbers(op)
        for op in ops:
            if op not in kept and not any(r in stays for r in op.results):
                self._convert(op)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        if argument not in stays:
                            self._set_type(argument)
        for value in read:
            self._cast_uses(value, kept)
        for use, kind in taken:
            if use.value.type is not kind:
                use.set(self._cast(use.value, kind, use.owner))
        for op in ops:
            if isinstance(op, pd.SumOp) and op.dtype is None and op.infer_types() != (op.out.type,):
                op.set_attribute("dtype", tensor_type(op.out).element)  # inferred, it would be i64
        self.casts.drop_unused(self.rewriter.by)
        for op in ops:
            if isinstance(op, pd.CastOp) and op.x.type is op.out.type and isinstance(op.x.type, VTensorType):
                op.replace_with(op.x, by=self.rewriter.by)
                self.count("removed", 1)

    def _kept(self, ops: Sequence[Operation]) -> set[Operation]:
        """Operations that keep the types of what they take and give; what takes their lists apart, or makes them."""
        kept: set[Operation] = set()
        for op in ops:
            if self._keeps_its_types(op) or (
                isinstance(op, builtin.SplitOp | builtin.SliceOp) and op.x.defining_op in kept
            ):
                kept.add(op)
        for op in reversed(ops):
            if (
                isinstance(op, builtin.CombineOp)
                and op.out.has_uses
                and all(_writes_parameters(user) for user in op.out.users)
            ):
                kept.add(op)
        return kept

    def _keeps_its_types(self, op: Operation) -> bool:
        access = op.interface(ParameterAccess)
        if access is not None:
            return bool(access.parameter_writes()) or not self.parameters.mutable.isdisjoint(access.parameter_reads())
        if self.main is None:
            return False
        if isinstance(op, func.CallOp):
            return op.callee.value == self.main.sym_name
        return isinstance(op, pd.FeedOp | pd.FetchOp) or (isinstance(op, func.ReturnOp) and op.parent_op is self.main)

    def _check_read(self, value: Value, kept: set[Operation]) -> None:
        """Raises `UnsupportedError` for a value that keeps its type and cannot be cast for those who take another.

        Storage cannot, but for who only reads it.
        """
        kind = value.type
        if self.converter.of(kind) is kind or _is_plain(kind):
            return
        users = [user for user in value.users if user not in kept]
        if all(isinstance(kind, TensorType) and _only_reads(user) for user in users):
            return
        op = value.defining_op
        if op is None:
            what = f"argument {value.index} of main is {kind}"
        elif isinstance(op, builtin.GetParameterOp):
            what = f"mutable parameter {op.parameter!r} is read as {kind}"
        else:
            what = f"{op.name} gives {kind}"
        raise _cannot_change(what, kind, op or self.main)

    def _check_taken(self, use: OpOperand) -> None:
        """Raises `UnsupportedError` for what cannot be cast for an operation that takes it as it is."""
        kind, op = use.value.type, use.owner
        read = isinstance(kind, TensorType) and not isinstance(op, func.CallOp)
        if self.converter.of(kind) is not kind and not (read or _is_plain(kind)):
            raise _cannot_change(f"{op.name} takes {kind}", kind, op)

    def _check_numbers(self, op: Operation) -> None:
        """Raises `UnsupportedError` for a constant, or what a variable holds, that its new integer type does not."""
        if isinstance(op, builtin.ConstantOp):
            attribute = op.attributes["value"]
            kind = self.converter.of(attribute.type) if isinstance(attribute, DenseAttr) else None
            if isinstance(attribute, DenseAttr) and isinstance(kind, RankedTensor) and kind is not attribute.type:
                self._check_integers(lambda: attribute.value, kind, "the constant", op)
        elif isinstance(op, pd.FullOp):
            old, kind = op.out.type, self.converter.of(op.out.type)
            if isinstance(old, RankedTensor) and isinstance(kind, RankedTensor) and not old.element.is_float:
                low, high = kind.element.format.limits
                if kind is not old and (op.value < low or op.value > high):
                    message = f"pd.full makes {op.value}, which does not fit in {kind.element} ({low} to {high})"
                    raise UnsupportedError(message, op)
        elif isinstance(op, builtin.GetParameterOp | builtin.GetCombineParameterOp):
            weights = self.program.weights
            for name, kind in op.parameter_reads().items():
                new = self.converter.of(kind)
                if isinstance(new, RankedTensor) and new is not kind and name in weights:
                    self._check_integers(weights[name].numpy, new, f"parameter {name!r}", op)

    def _check_integers(self, array: Callable[[], NDArray[Any]], kind: RankedTensor, what: str, op: Operation) -> None:
        if not kind.element.is_float:
            convert_integers(array(), kind.element, what, op)

    def _set_type(self, value: Value) -> None:
        new = self.converter.of(value.type)
        if new is not value.type:
            value.type = new
            self.count("values", 1)

    def _convert(self, op: Operation) -> None:
        if isinstance(op, builtin.GetParameterOp | builtin.GetCombineParameterOp):
            self._convert_read(op)
        elif isinstance(op, builtin.ConstantOp):
            self._convert_constant(op)
        elif op is not self.main:
            attributes = self.converter.attributes(op)
            if attributes is not op.attributes:
                op.set_attributes(attributes)
        for result in op.results:
            self._set_type(result)

    def _convert_constant(self, op: builtin.ConstantOp) -> None:
        attribute = op.attributes["value"]
        if not isinstance(attribute, DenseAttr):
            return
        kind = self.converter.of(attribute.type)
        if kind is attribute.type or not isinstance(kind, RankedTensor):
            return
        array = self.parameters.array(attribute.value, attribute.type.element, kind.element, "the constant", op)
        op.set_attribute("value", DenseAttr(array, kind))
        self.count("constants", 1)

    def _convert_read(self, op: builtin.GetParameterOp | builtin.GetCombineParameterOp) -> None:
        names: list[str] = []
        for name, kind in op.parameter_reads().items():
            new = self.converter.of(kind)
            names.append(
                self.parameters.name(name, new.element, op)
                if isinstance(new, RankedTensor) and new is not kind
                else name
            )
        if isinstance(op, builtin.GetParameterOp):
            if names[0] != op.parameter:
                op.set_attribute("name", names[0])
        elif tuple(names) != op.parameters:
            op.set_attribute("names", tuple(names))

    def _cast_uses(self, value: Value, kept: set[Operation]) -> None:
        """Casts of a value that kept its type, for all that take the new one. A cast takes any."""
        kind = self.converter.of(value.type)
        if kind is value.type:
            return
        for use in list(value.uses):
            if use.owner not in kept and not isinstance(use.owner, pd.CastOp):
                use.set(self._cast(value, kind, use.owner))

    def _cast(self, value: Value, kind: Type, user: Operation) -> Value:
        """`value` as `kind`: cast, or for a list taken apart, cast and put together before `user`."""
        if value.type is kind:
            return value
        if isinstance(kind, RankedTensor):
            return self.casts.cast(value, kind.element, user, self.rewriter)
        assert isinstance(kind, ListType)  # _check_read, _check_taken
        split = builtin.SplitOp(value)
        split.location = user.location
        parts = self.rewriter.insert_before(split, user).outputs
        items = [self._cast(part, item, user) for part, item in zip(parts, kind.elements, strict=True)]
        combine = builtin.CombineOp(items)
        combine.location = user.location
        return self.rewriter.insert_before(combine, user).out


def _is_plain(kind: Type) -> bool:
    """Whether it has only values inside: vtensors, and lists of them."""
    return isinstance(kind, VTensorType) or (isinstance(kind, ListType) and all(map(_is_plain, kind.elements)))


def _writes_parameters(op: Operation) -> bool:
    return isinstance(op, builtin.SetParameterOp | builtin.SetCombineParameterOp)


def _only_reads(op: Operation) -> bool:
    """Whether all that `op` does with a tensor is to read what it holds."""
    return HasValueSemantics in op.info.traits or isinstance(op, builtin.ToTensorOp | builtin.ToVTensorOp)


def _cannot_change(what: str, kind: Type, op: Operation | None) -> UnsupportedError:
    if isinstance(kind, TensorType):
        return UnsupportedError(
            f"{what}, an alias, which cannot change its format; convert the program to value semantics first", op
        )
    return UnsupportedError(
        f"{what}, with storage or a dictionary inside, cannot change its formats; take it apart first", op
    )
