"""Operations: the nodes of the graph, and what can be done to any of them."""

# Values, uses, operations and blocks keep each other consistent, so they share their slots.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from tx8ir.core.attrs.attributes import EMPTY_DICT, DictAttr
from tx8ir.core.attrs.types import Type
from tx8ir.core.errors import IrError
from tx8ir.core.location import Location, caller_location, fuse, python_location
from tx8ir.support.display import Displayable

from .block import require_block
from .value import ErasedValue, OpOperand, OpResult, Value, as_value, as_values, make_uses, unlink
from .value_class import PythonOperators

if TYPE_CHECKING:
    from .block import Block, Region
    from .traits import Trait

I = TypeVar("I")  # noqa: E741  (an interface class)
OpClass = TypeVar("OpClass", bound="Operation")


class OpInfo:
    """The record of an op class: name, attribute names in order, traits, interface table, verify hooks.

    `attribute_names` are the attributes that an operation of the class means something by, in the order of its
    declaration, as a kernel takes them; any other is a runtime attribute. `required_attributes` are those among them
    that have no default. `inherited` holds the interfaces that a base without a name answers for, until the class has
    a model of its own.
    """

    __slots__ = (
        "attribute_names",
        "doc",
        "inherited",
        "interfaces",
        "name",
        "op_class",
        "required_attributes",
        "traits",
        "verify_hooks",
    )

    def __init__(
        self,
        name: str,
        op_class: type[Operation],
        traits: frozenset[type[Trait]],
        required_attributes: tuple[str, ...] = (),
        doc: str = "",
        attribute_names: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.attribute_names = attribute_names
        self.op_class = op_class
        self.traits = traits
        self.required_attributes = required_attributes
        self.interfaces: dict[type, type] = {}
        self.inherited: set[type] = set()
        self.verify_hooks: tuple[Any, ...] = _hooks(traits)
        self.doc = doc

    def add_trait(self, trait: type[Trait]) -> None:
        """State one more trait; what was verified before is verified again."""
        self.traits |= {trait}
        self.verify_hooks = _hooks(self.traits)
        definition = getattr(self.op_class, "definition", None)
        if definition is not None:
            definition.verified.clear()

    def __repr__(self) -> str:
        return f"<OpInfo {self.name}>"


def _hooks(traits: Iterable[type[Trait]]) -> tuple[Any, ...]:
    return tuple(t.verify for t in sorted(traits, key=lambda t: t.__name__) if "verify" in vars(t))


class Operation(PythonOperators, Displayable):
    """Operands, results, attributes, regions and successors, at a place in a block and from a location.

    Each kind is a subclass; see `Op` for defining one. `create` makes any kind from its parts.
    """

    __slots__ = (
        "_attributes",
        "_location",
        "_next",
        "_operands",
        "_order",
        "_parent",
        "_previous",
        "_regions",
        "_results",
        "_successors",
    )
    _operands: tuple[OpOperand, ...]
    _results: tuple[OpResult, ...]
    _attributes: DictAttr
    _regions: tuple[Region, ...]
    _successors: tuple[Block, ...]
    _parent: Block | None
    _previous: Operation | None
    _next: Operation | None
    _order: int
    _location: Location

    name: ClassVar[str] = ""
    info: ClassVar[OpInfo]

    # -- construction ---------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        operands: Sequence[Value | Operation] = (),
        result_types: Sequence[Type] = (),
        attributes: Mapping[str, Any] | None = None,
        regions: Sequence[Region] = (),
        successors: Sequence[Block] = (),
        location: Location | None = None,
    ) -> Any:
        """An operation of this class from its parts, detached, types as given; nothing is inferred or inserted.

        Raises:
        ------
            IrError: an operand is not a value, or a region belongs to another operation.
        """
        values = as_values(operands, cls.name) if operands else []
        for number, type in enumerate(result_types):
            if not isinstance(type, Type):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
                raise IrError(f"the type of result {number} of the new {cls.name} is a Type, not {type!r}")
        for number, region in enumerate(regions):
            if getattr(region, "_blocks", None) is None:
                raise IrError(f"region {number} of the new {cls.name} is a Region, not {region!r}")
            if region._parent is not None:
                raise IrError(f"region {number} of the new {cls.name} belongs to a {region._parent.name} already")
            if any(region is other for other in regions[:number]):
                raise IrError(f"region {number} of the new {cls.name} is given twice")
        for number, block in enumerate(successors):
            require_block(block, f"successor {number} of the new {cls.name}")
        if location is None:
            location = caller_location()
        attrs = DictAttr(attributes) if attributes else EMPTY_DICT
        return create_unchecked(cls, values, result_types, attrs, tuple(regions), tuple(successors), location)

    # -- parts ----------------------------------------------------------------------------------------------------

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple([use._value for use in self._operands])

    @property
    def op_operands(self) -> tuple[OpOperand, ...]:
        """The uses that the operands are."""
        return self._operands

    @property
    def results(self) -> tuple[OpResult, ...]:
        return self._results

    @property
    def result(self) -> OpResult:
        """The only result. Raises IrError when there are none or several."""
        if len(self._results) != 1:
            raise IrError(f"{self.name} has {len(self._results)} results, not one", self)
        return self._results[0]

    @property
    def attributes(self) -> DictAttr:
        return self._attributes

    @property
    def regions(self) -> tuple[Region, ...]:
        return self._regions

    @property
    def successors(self) -> tuple[Block, ...]:
        return self._successors

    @property
    def parent(self) -> Block | None:
        """The block that holds it, or None when it is detached."""
        return self._parent

    @property
    def parent_op(self) -> Operation | None:
        """The operation whose region holds it, or None."""
        block = self._parent
        region = block._parent if block is not None else None
        return region._parent if region is not None else None

    @property
    def next_op(self) -> Operation | None:
        return self._next

    @property
    def prev_op(self) -> Operation | None:
        return self._previous

    @property
    def location(self) -> Location:
        return self._location

    @location.setter
    def location(self, location: Location) -> None:
        self._location = location

    def has_trait(self, trait: type[Trait]) -> bool:
        return trait in self.info.traits

    def interface(self, interface: type[I]) -> I | None:
        """An object with the methods of `interface` for this operation, or None when it does not implement it."""
        model = self.info.interfaces.get(interface)
        if model is None:
            return None
        if model is self.__class__:
            return cast("I", self)
        return model(self)

    def ancestors(self) -> Iterator[Operation]:
        """The operations around it, innermost first."""
        op = self.parent_op
        while op is not None:
            yield op
            op = op.parent_op

    def walk(self) -> Iterator[Operation]:
        """Itself, then everything inside its regions, in text order.

        The operation just given may be erased or moved; one inserted right after it is not visited.
        """
        yield self
        stack: list[Any] = []
        push_blocks(self, stack)
        while stack:
            item = stack.pop()
            op: Operation | None = item._first if item.__class__ is not tuple else item[0]
            while op is not None:
                following = op._next
                yield op
                if op._regions:
                    stack.append((following,))
                    push_blocks(op, stack)
                    break
                op = following

    # -- editing --------------------------------------------------------------------------------------------------

    def set_operand(self, index: int, value: Value | Operation) -> None:
        """Replace one operand; O(1). Raises IrError when there is no such operand or `value` is not a value."""
        if not -len(self._operands) <= index < len(self._operands):
            raise IrError(f"{self.name} has {len(self._operands)} operands, so no operand {index}", self)
        self._operands[index].set(as_value(value, f"operand {index} of {self.name}"))

    def set_operands(self, values: Iterable[Value | Operation]) -> None:
        """Replace all operands; their number may change."""
        new = as_values(values, self.name)
        unlink(self._operands)
        self._operands = make_uses(self, new)

    def set_attribute(self, name: str, value: Any) -> None:
        """Set one attribute from an Attribute or a Python value. Raises TypeError when no attribute holds `value`."""
        self._attributes = self._attributes.with_entry(name, value)

    def remove_attribute(self, name: str) -> None:
        self._attributes = self._attributes.without(name)

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Replace all attributes."""
        self._attributes = DictAttr(attributes)

    def set_successor(self, index: int, block: Block) -> None:
        """Replace one successor. Raises IrError when there is no such successor."""
        if not 0 <= index < len(self._successors):
            raise IrError(f"{self.name} has {len(self._successors)} successors, so no successor {index}", self)
        require_block(block, f"successor {index} of {self.name}")
        self._successors = (*self._successors[:index], block, *self._successors[index + 1 :])

    def take_regions(self, other: Operation) -> None:
        """Get the regions of `other`, blocks and all, and give it its own; O(regions)."""
        self._regions, other._regions = other._regions, self._regions
        for op in (self, other):
            for region in op._regions:
                region._parent = op

    def detach(self) -> None:
        """Take it out of its block; it keeps operands and uses. O(1). Nothing happens when it is detached already."""
        block = self._parent
        if block is not None:
            block._unlink(self)

    def move_before(self, anchor: Operation) -> None:
        """Move it before `anchor`. Raises IrError when `anchor` is detached or inside it."""
        self._check_move(anchor)
        self.detach()
        cast("Block", anchor._parent).insert_before(self, anchor)

    def move_after(self, anchor: Operation) -> None:
        """Move it after `anchor`. Raises IrError when `anchor` is detached or inside it."""
        self._check_move(anchor)
        self.detach()
        cast("Block", anchor._parent).insert_after(self, anchor)

    def _check_move(self, anchor: Operation) -> None:
        if getattr(anchor, "_operands", None) is None:
            raise IrError(f"{self.name} is moved next to an operation, not {anchor!r}", self)
        if anchor._parent is None:
            raise IrError(f"{self.name} cannot be moved next to {anchor.name}, which is in no block", self)
        if anchor is self or (self._regions and any(a is self for a in anchor.ancestors())):
            raise IrError(f"{self.name} cannot be moved into itself", self)

    def erase(self, by: str = "") -> None:
        """Remove it and everything inside it for good; `by` names the pass, for whoever touches it later. O(size).

        Raises:
        ------
            IrError: a result is still used outside of it; the IR is then unchanged.
        """
        for result in self._results:
            user = result._first_use
            if user is not None:
                raise IrError(
                    f"{self.name} cannot be erased: its result {result.index} is used by {user._owner.describe()}", self
                )
        frame = sys._getframe(1)
        self._erase(by, python_location(frame.f_code, frame.f_lasti))

    def _erase(self, by: str, where: Location) -> None:
        self.detach()
        doomed = list(self.walk()) if self._regions else [self]
        # Uses first: operations inside may use each other in any order.
        for op in doomed:
            unlink(op._operands)
        for op in doomed:
            _tombstone(op, by, where)

    def replace_with(self, values: Sequence[Value | Operation] | Value | Operation, by: str = "") -> None:
        """Let `values` take the place of the results, one each, and erase it.

        Raises:
        ------
            IrError: another number of values, or a value that is a result of this operation.
        """
        new = [values] if isinstance(values, (Value, Operation)) else list(values)
        if len(new) != len(self._results):
            raise IrError(
                f"{self.name} has {len(self._results)} results; it cannot be replaced with {len(new)} values", self
            )
        checked = [as_value(v, f"replacement {i} of {self.name}") for i, v in enumerate(new)]
        for value in checked:
            if value._owner is self:
                raise IrError(f"{self.name} cannot be replaced with its own result", self)
            if self._regions and _is_inside(value, self):
                raise IrError(f"{self.name} cannot be replaced with a value defined inside it", self)
        for result, value in zip(self._results, checked, strict=True):
            result.replace_all_uses_with(value)
        frame = sys._getframe(1)
        self._erase(by, python_location(frame.f_code, frame.f_lasti))

    def is_before(self, other: Operation) -> bool:
        """True when it comes before `other` in their block; amortised O(1). Raises IrError when they share no block."""
        block = self._parent
        if block is None or block is not other._parent:
            raise IrError(f"{self.name} and {other.name} are not in one block, so neither is first", self)
        if not block._order_valid:
            block._renumber()
        return self._order < other._order

    def clone(self, mapping: dict[Value, Value] | None = None) -> Any:
        """A detached copy with everything inside it. Iterative; O(size).

        Args:
            mapping: values outside to use in place of its operands; on return it also maps every copied value.

        Raises:
        ------
            IrError: an operand or a successor is mapped to something that is none; nothing has changed then.
        """
        return _module("ir.cloning").clone_operation(self, {} if mapping is None else mapping)

    def fuse_location(self, others: Iterable[Operation], by: str = "") -> None:
        """Let its location also stand for `others`, which the pass `by` merged into it."""
        self._location = fuse((self._location, *(o._location for o in others)), by)

    # -- showing --------------------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Check it and everything inside it. Raises VerifyError listing every fault."""
        _module("verifier").verify(self)

    def _as_value(self) -> Value:
        return as_value(self)

    def __str__(self) -> str:
        """The text of it and everything inside it."""
        return _module("text.printer").print_op(self)

    def describe(self) -> str:
        """Name and place, for a message about this operation."""
        place = f" at {self._location}" if self._location.is_known else ""
        return f"{self.name}{place}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self._operands)} operands, {len(self._results)} results>"


def _module(name: str) -> Any:
    """A module of the core that is loaded when it is first used, because making operations does not need it."""
    return importlib.import_module(f"tx8ir.core.{name}")


def _is_inside(value: Value, op: Operation) -> bool:
    """True when the block that defines `value` is in a region of `op`; O(depth)."""
    block = value.parent_block
    while block is not None and block._parent is not None:
        around = block._parent._parent
        if around is op:
            return True
        block = around._parent if around is not None else None
    return False


def discard(op: Operation) -> None:
    """Undo the construction of an operation that is in no block: its operands lose their uses, its regions are free."""
    unlink(op._operands)
    for region in op._regions:
        region._parent = None
    op._operands = op._regions = ()


def create_unchecked(
    cls: type[Any],
    values: Sequence[Value],
    result_types: Sequence[Type],
    attributes: DictAttr,
    regions: tuple[Region, ...],
    successors: tuple[Block, ...],
    location: Location,
) -> Any:
    """An operation from parts that are known to be right: values are values, regions are free."""
    op: Any = object.__new__(cls)
    if values:
        op._operands = make_uses(op, values)
    else:
        op._operands = ()
    if result_types:
        index = 0
        results: list[OpResult] = []
        for type in result_types:
            result = OpResult()
            result._owner = op
            result.index = index
            result._type = type
            result._first_use = result._last_use = None
            results.append(result)
            index += 1
        op._results = tuple(results)
    else:
        op._results = ()
    op._attributes = attributes
    op._regions = regions
    op._successors = successors
    op._parent = op._previous = op._next = None
    op._order = 0
    op._location = location
    for region in regions:
        region._parent = op
    return op


def as_if(op: Operation, cls: type[Any]) -> Any:
    """An operation of another class on the operands and attributes of `op`, without results and regions.

    To be asked, not to be changed or kept: the uses are those of `op`.
    """
    made: Any = object.__new__(cls)
    made._operands, made._attributes, made._location = op._operands, op._attributes, op._location
    made._results = made._regions = made._successors = ()
    made._parent = made._previous = made._next = None
    return made


def push_blocks(op: Operation, stack: list[Any]) -> None:
    """Push the blocks of all regions of `op`, the first block on top."""
    for region in reversed(op._regions):
        stack.extend(reversed(region._blocks))


def erase_unchecked(op: Operation, by: str, where: Location) -> None:
    """`op.erase(by)` for an operation in a block, without regions, whose results have no uses; O(operands)."""
    block: Any = op._parent
    before, after = op._previous, op._next
    if before is None:
        block._first = after
    else:
        before._next = after
    if after is None:
        block._last = before
    else:
        after._previous = before
    block._count -= 1
    unlink(op._operands)
    _tombstone(op, by, where)


def _tombstone(op: Operation, by: str, where: Location) -> None:
    """Turn an unlinked operation into one that only says who erased it."""
    for result in op._results:
        result.__class__ = ErasedValue  # pyright: ignore[reportAttributeAccessIssue]  (same slots)
    op._attributes = EMPTY_DICT
    told = (op.name, op._location, by, where)
    op._location = told  # pyright: ignore[reportAttributeAccessIssue]  (read by describe alone)
    op._operands = op._results = op._regions = op._successors = ()
    op._parent = op._previous = op._next = None
    op.__class__ = ErasedOperation


class ErasedOperation(Operation):
    """What an operation becomes when it is erased: any use of it is an error that says who erased it and where."""

    __slots__ = ()
    name: ClassVar[str] = "<erased>"
    info: ClassVar[OpInfo] = OpInfo("<erased>", Operation, frozenset())

    def describe(self) -> str:
        name, made, by, erased = object.__getattribute__(self, "_location")
        return f"{name} (made at {made}) was erased{f' by {by}' if by else ''} at {erased}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    __str__ = __repr__

    def __getattribute__(self, name: str) -> Any:
        if name in _ALLOWED_ON_ERASED:
            return object.__getattribute__(self, name)
        raise IrError(f"{object.__getattribute__(self, 'describe')()}; it has no {name} any more")


_ALLOWED_ON_ERASED = frozenset({"__class__", "describe", "_next", "_parent", "_regions"})
