"""Rewrite patterns, and the rewriter through which they change the graph.

A pattern matches one root operation and changes the graph around it through the `Rewriter`, which tells the driver
what to look at again and gives new operations the locations of those they replace:

    @pattern(pd.ReluOp)
    def relu_of_relu(op: pd.ReluOp, rewriter: Rewriter) -> bool:
        inner = op.x.defining_op
        if not isinstance(inner, pd.ReluOp):
            return False
        rewriter.replace(op, inner.out)
        return True
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeAlias, TypeVar, overload

from tx8ir.core import Attribute, Block, Interface, IrError, Operation, OpOperand, OpResult, Trait, Value
from tx8ir.core.ir.operation import erase_unchecked
from tx8ir.core.ir.use_lists import is_unused, nearly_unused, redirect_uses
from tx8ir.core.location import UNKNOWN, Location

from .provenance import derived_location

OpT = TypeVar("OpT", bound=Operation)
OpT_contra = TypeVar("OpT_contra", bound=Operation, contravariant=True)
Replacement: TypeAlias = "Value | Operation | Sequence[Value | Operation]"


class RewritePattern(ABC, Generic[OpT_contra]):
    """A rewrite with a root.

    Attributes:
        roots: what the root operation may be: op classes (subclasses match too), traits, or interfaces.
        benefit: of the patterns that fit an operation, higher ones are tried first; equal ones in the order given.
        name: what statistics and errors call it.
    """

    roots: tuple[type[Any], ...]
    benefit: int = 1
    name: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    @abstractmethod
    def match_and_rewrite(self, op: OpT_contra, rewriter: Rewriter) -> bool:
        """Changes the graph around `op` and returns True, or changes nothing and returns False.

        Changes go through `rewriter`. After `rewriter.replace(op, …)` or `rewriter.erase(op)`, `op` must not be
        touched.
        """

    @property
    def entry(self) -> Callable[[OpT_contra, Rewriter], bool]:
        """What a driver calls: `match_and_rewrite`, or something quicker that does the same."""
        return self.match_and_rewrite

    def fits(self, kind: type[Operation]) -> bool:
        """True when operations of class `kind` can be the root."""
        info = kind.info
        return any(issubclass(kind, root) or root in info.traits or root in info.interfaces for root in self.roots)

    def __repr__(self) -> str:
        return f"<pattern {self.name} on {', '.join(getattr(r, 'name', '') or r.__name__ for r in self.roots)}>"


class FunctionPattern(RewritePattern[Operation]):
    """The pattern that `@pattern` makes of a function; calling it calls the function."""

    def __init__(self, roots: tuple[type[Any], ...], function: Callable[[Any, Rewriter], bool], benefit: int) -> None:
        self.roots = roots
        self.benefit = benefit
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.function = function

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        """Calls the function."""
        return self.function(op, rewriter)

    __call__ = match_and_rewrite

    @property
    def entry(self) -> Callable[[Operation, Rewriter], bool]:
        """The function itself, which saves a call per match."""
        return self.function


@overload
def pattern(*roots: type[OpT], benefit: int = 1) -> Callable[[Callable[[OpT, Rewriter], bool]], FunctionPattern]: ...
@overload
def pattern(
    *roots: type[Trait | Interface], benefit: int = 1
) -> Callable[[Callable[[Operation, Rewriter], bool]], FunctionPattern]: ...
def pattern(*roots: type[Any], benefit: int = 1) -> Callable[[Callable[[Any, Rewriter], bool]], FunctionPattern]:
    """Decorator: a function `(op, rewriter) -> bool` as a pattern; its root is any of `roots`.

    roots: op classes (subclasses match too), traits or interfaces.
    """
    if not roots:
        raise TypeError("a pattern needs at least one root: an op class, a trait or an interface")

    def wrap(function: Callable[[Any, Rewriter], bool]) -> FunctionPattern:
        return FunctionPattern(roots, function, benefit)

    return wrap


class WorklistFilter(dict[type[Operation], int]):
    """What a driver wants to hear about operations of a class: everything (2), that they died (1), or nothing (0).

    This one, for rewriters without a driver, answers 2 for every class.
    """

    def __missing__(self, kind: type[Operation]) -> int:
        self[kind] = 2
        return 2


class Rewriter:
    """Changes a graph on behalf of a pattern or a pass.

    `worklist` (an ordered set) receives every operation that a change may have made rewritable: users of a replaced
    value, inserted and modified operations, and what defined the operands of an erased one. New operations inserted
    through the rewriter get a location that fuses those of the root and of all erased operations, and names the pass
    and the pattern.

    Args:
        root: where `insert` inserts by default: before it.
        by: the pass, for the tombstones of erased operations and for fused locations.
        worklist: filled by the changes; a driver reads it.
        attention: which classes of operations the driver wants in the worklist.
    """

    __slots__ = ("_attention", "_erased_at", "_inserted", "by", "root", "worklist")

    def __init__(
        self,
        root: Operation | None = None,
        by: str = "",
        worklist: dict[Operation, None] | None = None,
        attention: WorklistFilter | None = None,
    ) -> None:
        self.root = root
        self.by = by
        self.worklist: dict[Operation, None] = {} if worklist is None else worklist
        self._attention = WorklistFilter() if attention is None else attention
        self._inserted: list[Operation] = []
        self._erased_at: list[Location] = []

    def __repr__(self) -> str:
        return f"<Rewriter{f' of {self.by}' if self.by else ''}>"

    @property
    def has_inserted(self) -> bool:
        """Whether something was inserted since the last rewrite was settled."""
        return bool(self._inserted)

    # -- inserting ------------------------------------------------------------------------------------------------

    def insert(self, op: OpT) -> OpT:
        """Inserts a detached operation before the root and returns it."""
        if self.root is None:
            raise IrError("this rewriter has no root; use insert_before or insert_after", op)
        return self.insert_before(op, self.root)

    def insert_before(self, op: OpT, anchor: Operation) -> OpT:
        """Inserts a detached operation before `anchor` and returns it."""
        _block_of(anchor).insert_before(op, anchor)
        self._note_inserted(op)
        return op

    def insert_after(self, op: OpT, anchor: Operation) -> OpT:
        """Inserts a detached operation after `anchor` and returns it."""
        _block_of(anchor).insert_after(op, anchor)
        self._note_inserted(op)
        return op

    def _note_inserted(self, op: Operation) -> None:
        self._inserted.append(op)
        self.worklist[op] = None
        if op.regions:
            for inner in op.walk():
                self.worklist[inner] = None

    # -- replacing ------------------------------------------------------------------------------------------------

    def replace(self, op: Operation, values: Replacement) -> None:
        """Lets `values` take the place of the results of `op`, one each, and erases `op`.

        A detached operation among `values` is inserted before `op` first.

        Raises:
            IrError: another number of values than results, a type that differs from the result's, or a result of `op`
                itself. Nothing has changed then.
        """
        results = op.results
        if values.__class__ is OpResult and len(results) == 1:
            new: tuple[Value, ...] = (values,)  # pyright: ignore[reportAssignmentType]  (just tested)
        else:
            new = self._as_values(op, values)
            if len(new) != len(results):
                raise IrError(f"{op.name} has {len(results)} results; it cannot be replaced with {len(new)} values", op)
        for result, value in zip(results, new):  # noqa: B905  (of one length, and this loop is hot)
            if value.type is not result.type:
                raise IrError(
                    f"result {result.index} of {op.name} has type {result.type}, its replacement {value.type}",
                    op,
                )
            if value.owner is op:
                raise IrError(f"{op.name} cannot be replaced with its own result", op)
        worklist, attention = self.worklist, self._attention
        for result, value in zip(results, new):  # noqa: B905
            for user in redirect_uses(result, value):
                if attention[user.__class__] == 2:
                    worklist[user] = None
        if op.regions or op.parent is None:
            self.erase(op)
        else:
            self._erase_flat(op)

    def _as_values(self, op: Operation, given: Replacement) -> tuple[Value, ...]:
        if isinstance(given, Value):
            return (given,)
        items: Sequence[Value | Operation] = [given] if isinstance(given, Operation) else given
        new: list[Value] = []
        for item in items:
            if isinstance(item, Operation):
                new.append(item.result)
                if item.parent is None:
                    self.insert_before(item, op)
            else:
                new.append(item)
        return tuple(new)

    def replace_uses(self, value: Value, other: Value, condition: Callable[[Any], bool] | None = None) -> int:
        """Redirects the uses of `value` (those for which `condition(use)` holds) to `other`; how many."""
        chosen = [use for use in value.uses if condition is None or condition(use)]
        for use in chosen:
            self.worklist[use.owner] = None
            use.set(other)
        if not value.has_uses and value.defining_op is not None:
            self.worklist[value.defining_op] = None
        return len(chosen)

    def erase(self, op: Operation) -> None:
        """Erases an operation whose results are not used. Raises `IrError` when one is."""
        if not op.regions and op.parent is not None and is_unused(op):
            self._erase_flat(op)
            return
        uses, location = [use for inner in op.walk() for use in inner.op_operands], op.location
        op.erase(self.by)  # raises where a result is used, naming the user
        if op is not self.root:
            self._erased_at.append(location)
        self._note_freed(uses)

    def _erase_flat(self, op: Operation) -> None:
        """`erase` for an operation in a block, without regions, whose results have no uses."""
        uses = op.op_operands
        if op is not self.root:
            self._erased_at.append(op.location)
        erase_unchecked(op, self.by, UNKNOWN)
        self._note_freed(uses)

    def _note_freed(self, uses: Iterable[OpOperand]) -> None:
        """A definer matters again when it died, or when its last user may now be fused with it."""
        attention, worklist = self._attention, self.worklist
        for definer, user in nearly_unused(uses):
            wanted = attention[definer.__class__]
            if wanted == 2 or (wanted and user is None):
                worklist[definer] = None
            if user is not None and attention[user.__class__] == 2:
                worklist[user] = None

    # -- modifying ------------------------------------------------------------------------------------------------

    @contextmanager
    def modify(self, op: Operation) -> Generator[None]:
        """Inside the `with`, `op` may be changed in place; afterwards it, its users and what defined its operands are
        looked at again.
        """
        before = op.operands
        yield
        self.notify_modified(op)
        for value in before:
            if not value.has_uses and value.defining_op is not None:
                self.worklist[value.defining_op] = None

    def notify_modified(self, op: Operation) -> None:
        """Tells the driver that `op` was changed in place."""
        self.worklist[op] = None
        for result in op.results:
            self.worklist.update(dict.fromkeys(result.users))

    def set_operand(self, op: Operation, index: int, value: Value) -> None:
        """Replaces one operand of `op` in place."""
        with self.modify(op):
            op.set_operand(index, value)

    def set_attribute(self, op: Operation, name: str, value: Attribute | bool | float | str) -> None:
        """Sets one attribute of `op` in place."""
        op.set_attribute(name, value)
        self.notify_modified(op)

    # -- locations ------------------------------------------------------------------------------------------------

    def derive_from(self, *ops: Operation) -> None:
        """Records that what this rewrite inserts is made of `ops` too, besides the root and what it erases."""
        self._erased_at.extend(op.location for op in ops if op is not self.root)

    def settle(self, root_location: Location | None, name: str = "") -> None:
        """Ends one rewrite: gives the operations it inserted a location that says what they were made of and by which
        pass and pattern (see `provenance`). For drivers.

        Args:
            root_location: the location of the root before the rewrite, if it had a root.
            name: the pattern.
        """
        if self._inserted:
            sources: dict[int, Location] = {id(place): place for place in self._erased_at}
            if root_location is not None:
                sources.pop(id(root_location), None)
                sources = {id(root_location): root_location, **sources}
            if sources:
                by = f"{self.by}/{name}" if self.by and name else self.by or name
                location = derived_location(sources.values(), by)
                for op in self._inserted:
                    if op.parent is not None:
                        op.location = location
            self._inserted.clear()
        self._erased_at.clear()


def _block_of(anchor: Operation) -> Block:
    if anchor.parent is None:
        raise IrError(f"{anchor.name} is in no block, so nothing can be inserted next to it", anchor)
    return anchor.parent
