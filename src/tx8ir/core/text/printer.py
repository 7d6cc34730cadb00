"""The text of operations: MLIR's generic syntax, with a short form for module, function and return."""

# Printing walks the linked lists directly.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tx8ir.core.attrs.attributes import EMPTY_DICT, Attribute, DictAttr
from tx8ir.core.attrs.types import Type, function_text
from tx8ir.core.context import UnregisteredOp
from tx8ir.core.errors import IrError
from tx8ir.core.ir.block import Block, Region
from tx8ir.core.ir.operation import Operation
from tx8ir.core.ir.traits import IsolatedFromAbove, Terminator
from tx8ir.core.ir.value import BlockArgument, Value
from tx8ir.core.location import Location, quote
from tx8ir.core.opdef.definition import SEGMENTS, declared_faults
from tx8ir.core.opdef.op import Op

from .assembly import assembly_of
from .comments import comments_of
from .lines import GIVEN_OUT
from .spelling import Spelling

_DEEPEST_INDENT: Final = 40
"""Lines are indented no further than this many levels: the text of deep nesting stays linear in its size."""


def print_op(op: Operation, *, locations: bool = False, names: bool = False, comments: bool = False,
             generic: bool = False, short: bool = False, aliases: bool = False, resources: int | None = None,
             elide: int | None = None) -> str:  # fmt: skip
    """The text of `op` and everything inside it, without a newline at the end. Iterative; O(size).

    Args:
        locations: write `loc(…)` after every operation.
        names: use the names that a front end or a text gave to values, instead of numbers, where they are known.
        comments: write the comments that a text had (see `parse`), each above, after or below its operation.
        generic: write MLIR's generic form, which every tool of MLIR reads: no short forms, the attributes that belong
            to an operation itself as properties (`<{…}>`), vtensors as `tensor<…>`.
        short: write every operation that has an assembly format in it, as MLIR does (`cf.br ^bb1`). With `generic`:
            as other tools read it, so that only what has no short form is generic.
        aliases: give names to affine maps and sets (`#map`), and to locations (`#loc`) if these are written.
        resources: write dense attributes of more elements than this as blobs at the end of the text.
        elide: leave out the numbers of dense attributes of more elements than this. Such a text is to look at only.

    An operation that breaks what its short form takes for granted is written in the generic form, which shows all.
    """
    spelling = Spelling(standard=generic, aliases=aliases, resources=resources, elide=elide)
    printer = Printer(
        locations=locations, names=names, comments=comments, generic=generic, short=short, spelling=spelling
    )
    printer.print(op)
    return spelling.completed(printer.text(), op)


class Printer:
    """Collects text. The `print_custom` of an op class writes through it and may call everything public."""

    def __init__(
        self,
        *,
        locations: bool = False,
        names: bool = False,
        comments: bool = False,
        generic: bool = False,
        short: bool = False,
        spelling: Spelling | None = None,
    ) -> None:
        self._spelling = spelling or Spelling()
        # What is written of types and attributes: their own text, unless something else was asked for.
        self.type: Callable[[Type], str] = str if self._spelling.is_plain else self._spelling.type
        self._attribute: Callable[[Attribute], str] = str if self._spelling.is_plain else self._spelling.attribute
        self._generic = generic
        self._short = short
        self._out: list[str] = []
        self._names: dict[Value, str] = {}
        self._blocks: dict[Block, str] = {}
        self._locations = locations
        self._comments = comments
        self._use_names = names
        self._taken: dict[str, int] = {}
        self._next_result = self._next_argument = 0
        self._signatures: dict[Any, str] = {}
        self._splits: dict[Any, tuple[DictAttr, DictAttr]] = {}
        self._kinds: dict[type[Operation], tuple[Callable[..., None] | None, str, bool]] = {}
        self._root: Operation | None = None
        self._has_forward_uses = False
        # Entry blocks written without a label, and those that turned out to need one since a branch goes to them.
        self._unlabelled: set[Block] = set()
        self._entered: set[Block] = set()
        self._outer = 0

    def text(self) -> str:
        return "".join(self._out)

    # -- for headers ----------------------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        self._out.append(text)

    def value(self, value: Value) -> str:
        """The name of a value; one from outside of what is printed gets a name that stands out."""
        name = self._names.get(value)
        if name is None:
            if self._has_forward_uses or self._is_inside(value):
                self._has_forward_uses = True
                return "%?"  # this text is thrown away; once all values have names it is written again
            name = self._names[value] = f"%outer{self._outer}"
            self._outer += 1
        return name

    def _is_inside(self, value: Value) -> bool:
        if self._root is None:
            return False
        op = value.defining_op
        if op is None:
            block = value.parent_block
            op = block.parent_op if block is not None else None
        while op is not None and op is not self._root:
            op = op.parent_op
        return op is not None

    def arguments(self, block: Block) -> str:
        """`%arg0: T, %arg1: T` of a block, which gives its arguments their names."""
        return ", ".join([self.argument(a) for a in block._args])

    def argument(self, argument: BlockArgument, attributes: str = "") -> str:
        """`%arg0: T` and what stands behind it; gives the argument its name."""
        location = self.argument_location(argument)
        return f"{self._name_argument(argument)}: {self.type(argument._type)}{attributes}{location}"

    def argument_name(self, argument: BlockArgument) -> str:
        """Give an argument its name, which is also that of its value from now on."""
        return self._name_argument(argument)

    def argument_location(self, argument: BlockArgument) -> str:
        """Its location after a space, if locations are written and it has one."""
        return f" {self._location(argument.location)}" if self._locations and argument.location.is_known else ""

    def attributes(self, attributes: DictAttr, skip: Iterable[str] = (), prefix: str = " ") -> str:
        """The dictionary in braces after `prefix`, or nothing when no entry is left."""
        for key in skip:
            if key in attributes:
                attributes = attributes.without(key)
        return f"{prefix}{self._attribute(attributes)}" if attributes is not EMPTY_DICT else ""

    def block(self, block: Block) -> str:
        """The name of a successor."""
        self._entered.add(block)
        return self._blocks.get(block, "^outer")

    def attribute(self, attribute: Attribute) -> str:
        """The text of an attribute."""
        return self._attribute(attribute)

    def signature(self, inputs: Iterable[Type], results: tuple[Type, ...]) -> str:
        """`(T, …) -> T`."""
        if self._spelling.is_plain:
            return function_text(inputs, results)
        return self._spelling.signature(inputs, results)

    def line(self, op: Operation) -> str:
        """One line for `op`, without what is inside its regions. Values keep the names they have been given so far."""
        start = len(self._out)
        names = [self.value(result).partition("#")[0] for result in op._results[:1]]
        if names:
            self.write(names[0] + (f":{len(op._results)}" if len(op._results) > 1 else "") + " = ")
        header = self._kind(op)[0]
        if header is not None and not op._regions and self._fits_short_form(op):
            header(op, self)
        else:
            regions = f" ({', '.join(['{ … }'] * len(op._regions))})" if op._regions else ""
            self.write(self._generic_start(op) + regions + self._generic_end(op))
        text = "".join(self._out[start:])
        del self._out[start:]
        return text

    # -- names ----------------------------------------------------------------------------------------------------

    def _unique(self, name: str) -> str:
        """A free value name that starts with `name`, its odd characters replaced."""
        stem = "".join(c if c.isascii() and (c.isalnum() or c in "_.$-") else "_" for c in name) or "_"
        if GIVEN_OUT.fullmatch(stem):
            stem = "_" + stem
        count = self._taken.get(stem, 0)
        while True:
            candidate = stem if count == 0 else f"{stem}_{count}"
            count += 1
            if candidate not in self._taken:
                self._taken[stem] = count
                self._taken[candidate] = max(self._taken.get(candidate, 0), 1)
                return "%" + candidate

    def _name_argument(self, argument: BlockArgument) -> str:
        hint = argument.location.name if self._use_names else None
        if hint is not None:
            name = self._unique(hint)
        else:
            name = f"%arg{self._next_argument}"
            self._next_argument += 1
        self._names[argument] = name
        return name

    def _name_results(self, op: Operation) -> str:
        """Name the results of `op`; what stands before ` = `, or nothing."""
        results = op._results
        if not results:
            return ""
        hint = op._location.name if self._use_names else None
        if hint is not None:
            name = self._unique(hint)
        else:
            name = f"%{self._next_result}"
            self._next_result += 1
        if len(results) == 1:
            self._names[results[0]] = name
            return name + " = "
        for result in results:
            self._names[result] = f"{name}#{result.index}"
        return f"{name}:{len(results)} = "

    # -- the traversal --------------------------------------------------------------------------------------------

    def print(self, root: Operation) -> None:
        """Write `root` and everything inside it."""
        start, counters = len(self._out), (self._next_result, self._next_argument, dict(self._taken))
        self._root = root
        self._traverse(root)
        while self._has_forward_uses or not self._entered.isdisjoint(self._unlabelled):
            # A block uses values of a later one, or goes back to the entry: now all names are known, and such entries.
            del self._out[start:]
            self._next_result, self._next_argument, self._taken = counters[0], counters[1], dict(counters[2])
            self._root, self._has_forward_uses = None, False
            self._unlabelled.clear()
            self._traverse(root)
        self._root = None

    def _traverse(self, root: Operation) -> None:
        # What is still to be written: operations from one on (with indent), texts, blocks, counters to restore.
        work: list[tuple[Any, ...]] = [("op", root, 0, True)]
        while work:
            item = work.pop()
            kind = item[0]
            if kind == "text":
                self._out.append(item[1])
            elif kind == "op":
                self._print_ops(item[1], item[2], item[3], work)
            elif kind == "block":
                self._print_block(item[1], item[2], item[3], work)
            elif kind == "region":
                self._print_region(item[1], item[2], work)
            elif kind == "end":
                item[1](item[2], self)
            else:
                self._next_result, self._next_argument, self._taken = item[1]

    def _print_ops(self, op: Operation | None, indent: int, alone: bool, work: list[tuple[Any, ...]]) -> None:
        """Write the operations of a block from `op` on, up to the first one with regions; queue the rest."""
        out, names, signatures, kinds = self._out, self._names, self._signatures, self._kinds
        pad = _pad(indent)
        plain = not self._use_names
        locations = self._locations
        attribute_text, spell, unspelled = self._attribute, self.signature, self._spelling.is_plain
        end = "" if alone else "\n"
        while op is not None:
            if self._comments:
                end = self._comment(op, pad, alone)
            header, op_name, flat = kinds.get(op.__class__) or self._kind(op)
            if flat and not op._regions and not op._successors:
                # The common case, flat: one line made of cached parts.
                results = op._results
                if len(results) == 1 and plain:
                    name = f"%{self._next_result}"
                    self._next_result += 1
                    names[results[0]] = name
                    prefix = f"{pad}{name} = "
                else:
                    prefix = pad + self._name_results(op)
                operands: list[str] = []
                types: list[Type] = []
                for use in op._operands:
                    value = use._value
                    operands.append(names.get(value) or self.value(value))
                    types.append(value._type)
                if len(results) == 1:
                    key: Any = (*types, results[0]._type)
                    signature = signatures.get(key)
                    if signature is None:
                        signature = signatures[key] = spell(types, (results[0]._type,))
                else:
                    signature = spell(types, tuple([r._type for r in results]))
                attributes = op._attributes
                if attributes is EMPTY_DICT:
                    shown = ""
                else:
                    shown = f" {attributes}" if unspelled else f" {attribute_text(attributes)}"
                location = f" {self._location(op._location)}" if locations else ""
                out.append(f"{prefix}{op_name}({', '.join(operands)}){shown} : {signature}{location}{end}")
            else:
                out.append(pad + self._name_results(op))
                if header is not None and not self._fits_short_form(op):
                    header = None
                if op._regions:
                    tail = self._open(op, header, work, indent)
                    if not alone:
                        work.append(("op", op._next, indent, False))
                    work.extend(reversed([*tail, ("text", end)]))
                    return
                self._write_flat(op, header)
                out.append(end)
            if alone:
                return
            op = op._next

    def _comment(self, op: Operation, pad: str, alone: bool) -> str:
        """Write the comments above `op`; what stands after it up to the next one."""
        above, behind, below = comments_of(op._location)
        self._out += [f"{pad}//{c}\n" for c in (*above, *behind[1:])]
        end = "".join([f" //{c}" for c in behind[:1]] + [f"\n{pad}//{c}" for c in below])
        return end if alone else end + "\n"

    def _kind(self, op: Operation) -> tuple[Callable[..., None] | None, str, bool]:
        """Of the class of `op`: what writes the short form, if any; the quoted name; whether a plain line may do."""
        custom = getattr(op.__class__, "print_custom", None) if self._short or not self._generic else None
        if self._short and custom is None:
            assembly = assembly_of(op.__class__)
            custom = getattr(op.__class__, "print_short", None) if assembly is None else assembly.print
        properties = isinstance(op, UnregisteredOp) and op.__class__.properties
        flat = custom is None and not self._generic and not properties
        found = self._kinds[op.__class__] = (custom, quote(op.name), flat)
        return found

    def _write_flat(self, op: Operation, header: Any) -> None:
        location = f" {self._location(op._location)}" if self._locations else ""
        if header is not None:
            header(op, self)
        else:
            self.write(self._generic_start(op) + self._generic_end(op))
        self.write(location)

    def _open(self, op: Operation, header: Any, work: list[tuple[Any, ...]], indent: int) -> list[tuple[Any, ...]]:
        """Write what stands before the regions of `op`; the work that remains for it."""
        location = f" {self._location(op._location)}" if self._locations else ""
        isolated = op.has_trait(IsolatedFromAbove)
        tail: list[tuple[Any, ...]] = []
        if header is None:
            self.write(self._generic_start(op) + " (")
        counters = (self._next_result, self._next_argument, self._taken)
        if isolated and not self._generic:  # where values have their names once, as not every tool starts anew
            self._next_result = self._next_argument = 0
            self._taken = {}
        if header is not None:
            header(op, self)
            for number, (word, region) in enumerate(short_regions(op)):
                if region._blocks:
                    labelled = bool(region._blocks[0]._args) and not (number == 0 and names_arguments(op))
                    before = f"\n{_pad(indent)}" if word[:1] == "\n" else "" if word == "," else " "
                    tail.append(("text", f"{before}{word.strip()} " if word else " "))
                    tail.append(("region", region, (indent, labelled)))
            end = end_of(op)
            if end is not None:
                tail.append(("end", end, op))
            tail.append(("text", location))
        else:
            for number, region in enumerate(op._regions):
                tail.append(("text", ", " if number else ""))
                tail.append(("region", region, (indent, True)))
            tail.append(("text", f"){self._generic_end(op)}{location}"))
        if isolated:
            tail.append(("counters", counters))
        return tail

    def _print_region(self, region: Region, how: tuple[int, bool], work: list[tuple[Any, ...]]) -> None:
        indent, label_entry = how
        self.write("{\n")
        work.append(("text", _pad(indent) + "}"))
        for number, block in enumerate(region._blocks):
            self._blocks[block] = f"^bb{number}"
        # In the generic form nothing between the braces means no block, so a block without operations needs its label.
        alone = len(region._blocks) == 1
        for number, block in reversed(list(enumerate(region._blocks))):
            bare = alone and not block._args and block._first is not None and block not in self._entered
            labelled = number > 0 or (label_entry and not bare)
            if not labelled:
                self._unlabelled.add(block)
            work.append(("block", block, indent, labelled))

    def _print_block(self, block: Block, indent: int, labelled: bool, work: list[tuple[Any, ...]]) -> None:
        if labelled:
            arguments = self.arguments(block)
            self.write(_pad(indent) + self._blocks[block] + (f"({arguments})" if arguments else "") + ":\n")
        work.append(("op", block._first, indent + 1, False))

    def _generic_start(self, op: Operation) -> str:
        operands = ", ".join([self.value(use._value) for use in op._operands])
        self._entered.update(op._successors)
        successors = f"[{', '.join(self._blocks.get(b, '^outer') for b in op._successors)}]" if op._successors else ""
        properties = f" <{self._attribute(found)}>" if (found := self._split(op)[0]) is not EMPTY_DICT else ""
        return f"{quote(op.name)}({operands}){successors}{properties}"

    def _generic_end(self, op: Operation) -> str:
        signature = self.signature([u._value._type for u in op._operands], tuple(r._type for r in op._results))
        attributes = f" {self._attribute(found)}" if (found := self._split(op)[1]) is not EMPTY_DICT else ""
        return f"{attributes} : {signature}"

    def _split(self, op: Operation) -> tuple[DictAttr, DictAttr]:
        """The attributes that are written as properties, and the others."""
        attributes = op._attributes
        if attributes is EMPTY_DICT or not (self._generic or isinstance(op, UnregisteredOp)):
            return EMPTY_DICT, attributes
        key = (op.__class__, attributes)
        found = self._splits.get(key)
        if found is None:
            own = op.__class__.properties if isinstance(op, UnregisteredOp) else inherent_attributes(op)
            parts = [{k: v for k, v in attributes.items() if (k in own) is kept} for kept in (True, False)]
            found = self._splits[key] = (DictAttr(parts[0]), DictAttr(parts[1]))
        return found

    def _location(self, location: Location) -> str:
        return self._spelling.location(location)

    def _needs_no_label(self, region: Region) -> bool:
        """Whether the entry block can be told from the others, and from none, without a label."""
        blocks = region._blocks
        return bool(blocks) and blocks[0] not in self._entered and (len(blocks) == 1 or blocks[0]._first is not None)

    def _fits_short_form(self, op: Operation) -> bool:
        """Whether the short form of `op` tells all about it. It may take for granted what the verifier checks."""
        if op._successors and not self._short:
            return False
        further = op._regions[1:]
        if not all(self._needs_no_label(r) or (not r._blocks and is_declared(op)) for r in op._regions[:1]):
            return False
        if not all(not r._blocks or self._needs_no_label(r) for r in further):
            return False
        if op._next is not None and op.has_trait(Terminator):  # what follows would be read as its operands
            return False
        if isinstance(op, Op) and not self._is_right(op):
            return False
        hidden = getattr(op.__class__, "hides_regions", False)
        return hidden or len(short_regions(op)) >= len(op._regions)

    def _is_right(self, op: Op) -> bool:
        """Whether an operation has what its class declares; one with regions or a form of its own is valid, too."""
        if declared_faults(op.definition, op):
            return False
        assembly = assembly_of(op.__class__)
        if assembly is not None and not assembly.fits(op):
            return False
        if leaves_out_ends(op) and not all(r._blocks[-1].terminator for r in op._regions if r._blocks):
            return False
        own: Callable[[], bool] | None = getattr(op, "fits_short_form", None)
        if own is not None and not own():
            return False
        check = getattr(op, "verify_op", None)
        if check is not None and (op.definition.regions or hasattr(op, "print_short")):
            try:
                check()
            except IrError:
                return False
        return True


def short_regions(op: Operation) -> Sequence[tuple[str, Region]]:
    """The regions of `op` in the order of its short form, each with the word before it; some begin a line."""
    if getattr(op.__class__, "hides_regions", False):
        return ()
    own: Callable[[], Sequence[tuple[str, Region]]] | None = getattr(op, "short_regions", None)
    if own is not None:
        return own()
    words: tuple[str, ...] = getattr(op.__class__, "region_words", ())
    return list(zip(("", *words), op._regions, strict=False))


def leaves_out_ends(op: Operation) -> bool:
    """Whether the short form of `op` may leave out the terminators of its regions, so that reading it makes some."""
    return getattr(op.__class__, "leaves_out_ends", False)


def names_arguments(op: Operation) -> bool:
    """Whether the short form of `op` names the arguments of its first region before that, as a function does."""
    return getattr(op.__class__, "names_arguments", False)


def end_of(op: Operation) -> Callable[[Any, Printer], None] | None:
    """What writes the part of the short form of `op` that follows its regions."""
    assembly = assembly_of(op.__class__)
    return getattr(op.__class__, "print_end", None) if assembly is None else assembly.print_end


def is_declared(op: Operation) -> bool:
    """Whether the short form of `op` has no braces when its region has no block: that of a function."""
    return getattr(op.__class__, "region_is_optional", False)


def inherent_attributes(op: Operation) -> frozenset[str]:
    """The keys of the attributes that belong to the operation itself, whether it has them or not."""
    if not isinstance(op, Op):
        return frozenset()
    return frozenset({f.key for f in op.definition.attributes if not f.discardable} | {SEGMENTS})


def _pad(indent: int) -> str:
    return "  " * min(indent, _DEEPEST_INDENT)
