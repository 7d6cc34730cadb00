"""Reading operations. Iterative, so that only memory limits nesting; lines in the printed form go fast."""

from __future__ import annotations

import re
from typing import Any, NoReturn, cast

from tx8ir.core.attrs.attributes import EMPTY_DICT, DictAttr
from tx8ir.core.attrs.lexer import BLOCK_NAME, INTEGER, KEY, VALUE_NAME, Source, TextLocation
from tx8ir.core.attrs.types import FunctionType, Type
from tx8ir.core.context import IrContext, UnregisteredOp, default_context
from tx8ir.core.errors import IrError, ParseError
from tx8ir.core.ir.block import Block, Region
from tx8ir.core.ir.operation import Operation, create_unchecked
from tx8ir.core.ir.traits import IsolatedFromAbove
from tx8ir.core.ir.value import Value
from tx8ir.core.location import UNKNOWN, Location, NamedLocation
from tx8ir.support.relaxed_gc import relaxed_gc

from .assembly import assembly_of
from .attribute_parser import AttributeParser
from .comments import Mark, attach_comments
from .custom_format import CustomFormat
from .frames import Frame, Generic, Scope
from .lines import ALIAS_NAME, GIVEN_OUT, LINE, RESULT_NUMBER


def parse_op(text: str, *, context: IrContext | None = None, file: str = "<text>", allow_unregistered: bool = False,
             keep_names: bool = False, keep_comments: bool = False) -> Operation:  # fmt: skip
    """The one top-level operation of `text`; several become the body of a module.

    Args:
        context: the dialects that are known; by default the default context.
        file: the name for locations and messages.
        allow_unregistered: keep operations, types and attributes of unknown dialects as they are.
        keep_names: remember value names in the locations of operations.
        keep_comments: remember comments in the locations of operations; `print_op(…, comments=True)` writes them.

    Raises:
        ParseError: the text is not IR; nothing else is ever raised.
    """
    parser = Parser(Source(text, file), context or default_context(), allow_unregistered, keep_names, keep_comments)
    return parser.parse_top_level()


class Parser(AttributeParser):
    """Reads operations of the dialects of a context from one text."""

    def __init__(
        self,
        source: Source,
        context: IrContext,
        allow_unregistered: bool,
        keep_names: bool,
        keep_comments: bool = False,
    ) -> None:
        super().__init__(source, context, allow_unregistered)
        self._keep_names = keep_names
        self.location_aliases: set[str] = set()
        self._marks: list[Mark] | None = [] if keep_comments else None
        self._scope = Scope()
        self._frames: list[Frame] = []
        self._attribute_cache: dict[str | None, DictAttr] = {None: EMPTY_DICT}
        self._signature_cache: dict[str, FunctionType] = {}
        self._class_cache: dict[str, type[Operation]] = {}

    # -- the whole text -------------------------------------------------------------------------------------------

    def parse_top_level(self) -> Operation:
        """See `parse_op`."""
        top = Block()
        try:
            self.text.encode("utf-8")
        except UnicodeEncodeError as error:
            self.fail(f"U+{ord(self.text[error.start]):04X} is half of a surrogate pair, no character", error.start)
        try:
            with relaxed_gc():
                self._parse_ops(top)
            self._close_scope(self._scope)
            if self._marks is not None:
                attach_comments(self.text, self._marks)
        except ParseError:
            raise
        except (IrError, ValueError, TypeError, OverflowError) as error:
            self._fail_with(error)
        except RecursionError:  # the limit on nesting keeps far from it, unless the caller is deep in the stack already
            self.fail("this nests too deep for the rest of the Python stack")
        if len(top) == 0:
            self.fail("expected an operation, found nothing")
        if len(top) == 1:
            op = cast(Operation, top.first_op)
            op.detach()
            return op
        module = self.context.op_class("builtin.module")
        if module is None:
            self.fail("several top-level operations need the dialect builtin, to become a module", 0)
        return create_unchecked(module, (), (), EMPTY_DICT, (Region([top]),), (), TextLocation(self.source, 0))

    def _fail_with(self, error: Exception) -> NoReturn:
        """Turn what an op class found wrong into a ParseError at the operation being read."""
        message = error.message if isinstance(error, IrError) else str(error)
        line, column = self.source.position(min(self.pos, len(self.text)))
        start = self.text.rfind("\n", 0, self.pos) + 1
        end = self.text.find("\n", self.pos)
        shown = self.text[start : end if end >= 0 else len(self.text)]
        raise ParseError(message, self.source.file, line, column, shown) from error

    def _parse_ops(self, top: Block) -> None:
        """Read operations into `top` until the text ends."""
        text, line_match = self.text, LINE.match
        attribute_cache, signature_cache, class_cache = self._attribute_cache, self._signature_cache, self._class_cache
        source, plain = self.source, not self._keep_names
        marks = self._marks
        block: Block | None = top
        unshadowed = True  # names need not be taken back at the end of the region
        while True:
            match = line_match(text, self.pos) if block is not None else None
            if match is not None:
                name, count, op_name, operand_text, attribute_text, signature_text = match.groups()
                cls = class_cache.get(op_name)
                signature = signature_cache.get(signature_text)
                attributes = attribute_cache.get(attribute_text)
                if cls is None or signature is None or attributes is None:
                    if not self._learn(match):
                        block = self._operation(block)
                        unshadowed = not self._frames or self._frames[-1].outer_scope is not None
                        continue
                    cls, signature = class_cache[op_name], signature_cache[signature_text]
                    attributes = attribute_cache[attribute_text]
                scope_values = self._scope.values
                operands: list[Value] = []
                types = signature.inputs
                if operand_text:
                    names = operand_text.split(", ")
                    if len(names) != len(types):
                        self._wrong_count(match, len(names), len(types))
                    at = 0
                    for operand_name in names:
                        value = scope_values.get(operand_name[1:])
                        if value is None or value.__class__ is tuple or value.type is not types[at]:
                            offset = match.start(4) + sum(len(n) + 2 for n in names[:at])
                            value = self._use(operand_name[1:], offset, types[at])
                        operands.append(value)
                        at += 1
                elif types:
                    self._wrong_count(match, 0, len(types))
                results = signature.results
                if name is None:
                    expected = 0
                else:
                    expected = 1 if count is None else int(count)
                # Results without a name are allowed when nobody uses them.
                if expected == 0 and name is not None:
                    self.fail("the number of results is at least 1", match.start(2))
                if name is not None and len(results) != expected:
                    self.fail(f"{op_name} has {len(results)} result types for {expected} results", match.start(6))
                start = match.start(3) - 1
                location: Location = TextLocation(source, start)
                if not plain:
                    location = self._named_location(name, location)
                op = create_unchecked(cls, operands, results, attributes, (), (), location)
                if marks is not None:
                    marks.append(Mark(start, match.end(), op))
                block.append(op)  # pyright: ignore[reportOptionalMemberAccess]  (match is None without a block)
                if name is not None:
                    if count is None and unshadowed and name not in scope_values and not self._scope.forward:
                        scope_values[name] = op.results[0]
                    else:
                        self._define(name, match.start(1) - 1, op.results)
                self.pos = match.end()
                continue
            char = self.peek()
            if char == "":
                if self._frames:
                    frame = self._frames[-1]
                    self.fail(
                        f"expected '}}' for the operation at line {source.position(frame.start)[0]}, found the end"
                    )
                return
            if char == "}":
                block = self._close_region(top)
            elif char == "^":
                block = self._block_label()
            elif char and char in "#!{" and not self._frames:
                self._top_level_definition(char)
                continue
            elif char == "l" and block is not None and block.last_op is not None and text.startswith("loc(", self.pos):
                self._read_location(block.last_op, None)  # on a line of its own
            else:
                block = self._operation(block)
            unshadowed = not self._frames or self._frames[-1].outer_scope is not None

    def _learn(self, match: re.Match[str]) -> bool:
        """Read the parts of a line that were not seen before, and remember them by their text.

        False, with the position where the line starts, when the line holds more or less than the operation: a comment,
        a location, types that go on in the next line.
        """
        start = self.pos
        _, _, op_name, _, attribute_text, signature_text = match.groups()
        cls = self._op_class(op_name, match.start(3) - 1)
        if attribute_text is not None and attribute_text not in self._attribute_cache:
            self.pos = match.start(5)
            properties = self._properties()
            if properties is not EMPTY_DICT and issubclass(cls, UnregisteredOp):  # which is another class then
                self.pos = start
                return False
            attributes = self._with_attributes(properties)
            if self.pos != match.end(5):
                self.pos = start
                return False
            self._attribute_cache[attribute_text] = attributes
        self.pos = match.start(6)
        signature = self.function_type()
        if self.pos > match.end(6) or self.text[self.pos : match.end(6)].strip(" \t\r"):
            self.pos = start
            return False
        self._signature_cache[signature_text] = signature
        self._class_cache[op_name] = cls
        return True

    def _properties(self) -> DictAttr:
        """Read `<{…}>`, if it comes next."""
        if not self.accept("<"):
            return EMPTY_DICT
        properties = self.dictionary()
        self.expect(">", "after the properties of an operation")
        return properties

    def _with_attributes(self, properties: DictAttr) -> DictAttr:
        """Read `{…}`, if it comes next, and put it to the properties."""
        self.skip_space()
        start = self.pos
        attributes = self.dictionary() if self.peek() == "{" else EMPTY_DICT
        if properties is EMPTY_DICT or attributes is EMPTY_DICT:
            return attributes if properties is EMPTY_DICT else properties
        twice = next((key for key in attributes if key in properties), None)
        if twice is not None:
            self.fail(f"the attribute '{twice}' is a property too", start)
        return DictAttr({**properties, **attributes})

    def _top_level_definition(self, sigil: str) -> None:
        """Read `#name = attribute`, `!name = type`, or the section of blobs."""
        start = self.pos
        if sigil == "{":
            if not self.text.startswith("{-#", start):
                self.fail("expected an operation, found '{'")
            self.resource_section()
            return
        self.pos += 1
        name = self.match(ALIAS_NAME)
        if name is None:
            self.fail(f"expected the name of an alias right after '{sigil}'")
        self.expect("=", "after the name of an alias")
        known = self.type_aliases if sigil == "!" else self.attribute_aliases
        if name in known or (sigil == "#" and name in self.location_aliases):
            self.fail(f"the alias '{sigil}{name}' is defined already", start)
        if sigil == "!":
            self.type_aliases[name] = self.type()
        elif self.accept("loc"):  # found by its name wherever it stands
            self.location_after_keyword()
            self.location_aliases.add(name)
        else:
            self.attribute_aliases[name] = self.attribute()

    def _wrong_count(self, match: re.Match[str], given: int, types: int) -> NoReturn:
        self.fail(f"{match.group(3)} has {given} operands and {types} operand types", match.start(6))

    def _op_class(self, name: str, at: int) -> type[Operation]:
        cls = self.context.op_class(name)
        if cls is not None:
            return cls
        if self.allow_unregistered:
            return self.context.unregistered(name)
        dialect = name.partition(".")[0]
        if self.context.dialect(dialect) is None:
            self.fail(f"unknown dialect '{dialect}'; allow_unregistered=True keeps its operations as they are", at)
        self.fail(f"dialect '{dialect}' has no operation '{name}'; allow_unregistered=True keeps it as it is", at)

    # -- names ----------------------------------------------------------------------------------------------------

    def _use(self, name: str, offset: int, type: Type) -> Value:
        """The value called `name`, checked against `type`; one that is not defined yet gets a placeholder."""
        stem, numbered, number = name.partition("#")
        if numbered and not (number.isdigit() and len(number) < 10):
            self.fail(f"expected a number after '%{stem}#'", offset)
        index = int(number) if numbered else 0
        found = self._scope.values.get(stem)
        if found is None:
            key = f"{stem}#{index}"
            waiting = self._scope.forward.get(key)
            if waiting is None:
                placeholder = Block((type,)).args[0]
                self._scope.forward[key] = (placeholder, offset, name)
                return placeholder
            found = waiting[0]
        elif found.__class__ is tuple:
            if not numbered:
                self.fail(f"%{stem} names {len(found)} results; say which, as in %{stem}#0", offset)
            if index >= len(found):
                self.fail(f"%{stem} has {len(found)} results, so no %{name}", offset)
            found = found[index]
        elif index:
            self.fail(f"%{stem} has one result, so no %{name}", offset)
        if found.type is not type:
            self.fail(f"%{name} is {found.type}, used here as {type}", offset)
        return found

    def _define(self, name: str, offset: int, values: tuple[Any, ...]) -> None:
        """Give `name` to the results of an operation, or to one value."""
        scope = self._scope
        if name in scope.values:
            self.fail(f"%{name} is defined already", offset)
        for index, value in enumerate(values):
            waiting = scope.forward.pop(f"{name}#{index}", None) if scope.forward else None
            if waiting is not None:
                if len(values) > 1 and "#" not in waiting[2]:
                    self.fail(f"%{name} names {len(values)} results; say which, as in %{name}#0", waiting[1])
                if waiting[0].type is not value.type:
                    self.fail(f"%{name} is {value.type}, used before as {waiting[0].type}", offset)
                waiting[0].replace_all_uses_with(value)
        scope.values[name] = values[0] if len(values) == 1 else values
        if self._frames and self._frames[-1].outer_scope is None:
            self._frames[-1].shadow.append((name, None))

    def _close_scope(self, scope: Scope) -> None:
        for _, offset, name in scope.forward.values():
            stem = name.partition("#")[0]
            known = scope.values.get(stem)
            if known is None:
                self.fail(f"%{name} is not defined", offset)
            count = len(known) if known.__class__ is tuple else 1
            self.fail(f"%{stem} has {'one result' if count == 1 else f'{count} results'}, so no %{name}", offset)

    # -- one operation, any form ----------------------------------------------------------------------------------

    def _operation(self, block: Block | None) -> Block | None:
        """Read one operation, or its start if it has regions; the block that is filled next."""
        if block is None:
            self.fail("expected a block label like '^bb0' or '}'")
        start = self.pos
        results: list[tuple[str, int, int]] = []
        if self.peek() == "%":
            while True:
                self.skip_space()
                at = self.pos
                name = self.require(VALUE_NAME, "a value name like '%0'")
                count = 1
                if self.accept(":"):
                    number_at = self.pos
                    count = self.read_int(self.require(INTEGER, "a number of results"), number_at)
                    if count < 1:
                        self.fail("the number of results is at least 1", number_at)
                results.append((name, count, at))
                if not self.accept(","):
                    break
            self.expect("=", "after the names of the results")
        self.skip_space()
        op_at = self.pos
        if self.peek() == '"':
            return self._generic(block, results, start, op_at)
        word = self.match(KEY)
        if word is None:
            self.fail(f"expected an operation, found {self._found()}", op_at)
        full_name = self.context.keywords.get(word, word)
        cls = self.context.op_class(full_name)
        parse_custom = getattr(cls, "parse_custom", None)
        if parse_custom is None and cls is not None:
            assembly = assembly_of(cls)
            if assembly is None:
                self.fail(f'{full_name} has no short form; write it as "{full_name}"(…)', op_at)
            parse_custom = assembly.parse
        if parse_custom is None:
            self.fail(f"expected an operation, found '{word}'", op_at)
        header: CustomFormat = parse_custom(self)
        frame = Frame(results, op_at, None, header, outer_block=block)
        if not header.has_region:
            return self._finish(frame, header.finish(()))
        self._frames.append(frame)
        return self._open_region(header.isolated)

    def _generic(self, block: Block, results: list[tuple[str, int, int]], start: int, op_at: int) -> Block | None:
        cls = self._op_class(self.string(), op_at)
        self.expect("(", "after the name of an operation")
        operands: list[tuple[str, int]] = []
        if not self.accept(")"):
            operands.append(self._operand_name())
            while self.accept(","):
                operands.append(self._operand_name())
            self.expect(")", "after the operands")
        successors: list[Block] = []
        if self.accept("["):
            successors.append(self.successor())
            while self.accept(","):
                successors.append(self.successor())
            self.expect("]", "after the successors")
        properties = self._properties()
        if properties is not EMPTY_DICT and issubclass(cls, UnregisteredOp):
            cls = self.context.unregistered(cls.name, properties)
        frame = Frame(results, op_at, Generic(cls, operands, successors, properties), None, outer_block=block)
        if self.accept("("):
            self._frames.append(frame)
            return self._open_region(IsolatedFromAbove in cls.info.traits)
        return self._finish(frame, self._generic_end(frame))

    def assignments(self) -> list[tuple[tuple[str, int], tuple[str, int]]]:
        """Read `(%a = %x, %b = %y)` (for short forms): names of arguments, and of what they are given."""
        found: list[tuple[tuple[str, int], tuple[str, int]]] = []
        self.expect("(", "before arguments")
        while not self.accept(")"):
            if found:
                self.expect(",", "between arguments")
            argument = self._operand_name()
            self.expect("=", "after the name of an argument")
            found.append((argument, self._operand_name()))
        return found

    def operand(self) -> tuple[str, int]:
        """Read `%a` or `%a#0` (for short forms): its name and offset; see `resolve`."""
        return self._operand_name()

    def _operand_name(self) -> tuple[str, int]:
        self.skip_space()
        at = self.pos
        name = self.require(VALUE_NAME, "a value name like '%0'")
        number = RESULT_NUMBER.match(self.text, self.pos)
        if number is not None:
            self.pos = number.end()
            name += number.group()
        return name, at

    def operands(self) -> list[tuple[str, int]]:
        """Read `%a, %b` (for short forms); resolve them with `resolve` once their types are known."""
        found = [self._operand_name()]
        while self.accept(","):
            found.append(self._operand_name())
        return found

    def resolve(self, operands: list[tuple[str, int]], types: tuple[Type, ...]) -> list[Value]:
        """The values that names stand for. Fails when there is another number of types, or a type differs."""
        if len(operands) != len(types):
            self.fail(f"{len(operands)} operands have {len(types)} types")
        return [self._use(name, at, type) for (name, at), type in zip(operands, types, strict=True)]

    def _generic_end(self, frame: Frame) -> Operation:
        """Read attributes and types of a generic operation, and make it."""
        generic = cast(Generic, frame.generic)
        attributes = self._with_attributes(generic.properties)
        self.expect(":", f"before the types of {generic.cls.name}")
        self.skip_space()
        at = self.pos
        signature = self.function_type()
        if len(signature.inputs) != len(generic.operands):
            self.fail(
                f"{generic.cls.name} has {len(generic.operands)} operands and {len(signature.inputs)} operand types", at
            )
        values = self.resolve(generic.operands, signature.inputs)
        return create_unchecked(
            generic.cls, values, signature.results, attributes, tuple(frame.regions), tuple(generic.successors),
            TextLocation(self.source, frame.start),
        )  # fmt: skip

    def _finish(self, frame: Frame, op: Operation) -> Block | None:
        """Put a complete operation into its block and name its results."""
        total = sum(count for _, count, _ in frame.results)
        if frame.results and total != len(op.results):
            self.fail(f"{op.name} has {len(op.results)} results, {total} are named", frame.results[0][2])
        block = cast(Block, frame.outer_block)
        block.append(op)
        if frame.header is not None:  # which is read after the keyword
            op.location = TextLocation(self.source, frame.start)
        index = 0
        for name, count, at in frame.results:
            self._define(name, at, op.results[index : index + count])
            index += count
        self._read_location(op, frame.results[0][0] if frame.results else None)
        if self._marks is not None:
            self._marks.append(Mark(frame.start, self.pos, op))
        return block

    def _read_location(self, op: Operation, name: str | None) -> None:
        """Read `loc(…)`, if it comes next, and give `op` that location, and a name if names are kept."""
        location: Location = op.location
        if self.peek() == "l" and self.text.startswith("loc(", self.pos):
            location = self.location()
        op.location = self._named_location(name, location)

    # -- regions and blocks ---------------------------------------------------------------------------------------

    def _open_region(self, isolated: bool) -> Block | None:
        """Read `{` and start a region of the innermost frame; its entry block, or None when a label must come first."""
        frame = self._frames[-1]
        self.expect("{", "before a region")
        region = Region()
        frame.regions.append(region)
        frame.blocks = {}
        frame.shadow = []
        if isolated:
            frame.outer_scope, self._scope = self._scope, Scope()
        header = frame.header
        arguments = header.arguments if header is not None and (len(frame.regions) == 1 or header.repeated) else ()
        if self.peek() == "^":
            if arguments:
                self.fail("the entry block has its arguments in the header, so no label")
            frame.block = None
            return None
        if frame.header is None and self.peek() == "}":  # no block at all, unlike a label with nothing after it
            frame.block = None
            return None
        entry = Block()
        region.append(entry)
        for name, at, type, location in arguments:
            self._define(name, at, (entry.add_argument(type, location),))
        frame.block = entry
        return entry

    def _block(self, frame: Frame, name: str, at: int) -> Block:
        found = frame.blocks.get(name)
        if found is None:
            found = frame.blocks[name] = (Block(), at, False)
        return found[0]

    def successor(self) -> Block:
        """Read `^bb0`: the block of the region around the operation."""
        self.skip_space()
        at = self.pos
        name = self.require(BLOCK_NAME, "a block name like '^bb0'")
        if not self._frames:
            self.fail("a successor needs a region around the operation", at)
        return self._block(self._frames[-1], name, at)

    def argument(self) -> tuple[str, int, Type, Location]:
        """Read `%a: T` and its location, if that comes next: name, offset, type, location (with the name if kept)."""
        self.skip_space()
        at = self.pos
        name = self.require(VALUE_NAME, "an argument name like '%a'")
        self.expect(":", "after the name of an argument")
        type = self.type()
        return name, at, type, self.argument_location(name)

    def argument_location(self, name: str) -> Location:
        """Read `loc(…)`, if it comes next, of an argument called `name`, which is remembered if names are kept."""
        location = UNKNOWN if self.peek() != "l" or not self.accept("loc") else self.location_after_keyword()
        return self._named_location(name, location)

    def _named_location(self, name: str | None, location: Location) -> Location:
        if not self._keep_names or name is None or GIVEN_OUT.fullmatch(name) or location.name == name:
            return location
        return NamedLocation(name, location)

    def _block_label(self) -> Block:
        at = self.pos
        name = self.require(BLOCK_NAME, "a block name like '^bb0'")
        if not self._frames:
            self.fail("a block label needs a region around it", at)
        frame = self._frames[-1]
        block = self._block(frame, name, at)
        if frame.blocks[name][2]:
            self.fail(f"^{name} is defined already", at)
        frame.blocks[name] = (block, at, True)
        frame.regions[-1].append(block)
        if self.accept("("):
            while not self.accept(")"):
                if block.args:
                    self.expect(",", "between block arguments")
                name, at, type, location = self.argument()
                self._define(name, at, (block.add_argument(type, location),))
        self.expect(":", "after a block label")
        frame.block = block
        return block

    def _close_region(self, top: Block) -> Block | None:
        """Read `}`, and what follows it: another region, or the end of the operation."""
        if not self._frames:
            self.fail("this '}' closes nothing")
        self.expect("}")
        frame = self._frames[-1]
        for name, (_, at, defined) in frame.blocks.items():
            if not defined:
                self.fail(f"^{name} is not defined in this region", at)
        if frame.outer_scope is not None:
            self._close_scope(self._scope)
            self._scope, frame.outer_scope = frame.outer_scope, None
        else:
            for name, _ in frame.shadow:
                self._scope.values.pop(name, None)
        if frame.header is not None:
            words, another = frame.header.following[len(frame.regions) - 1 :], frame.header.another
            if (words and self.accept(words[0])) or (another is not None and another()):
                return self._open_region(frame.header.isolated)
            op = frame.header.finish(tuple(frame.regions))
            self._frames.pop()
            return self._finish(frame, op)
        generic = cast(Generic, frame.generic)
        if self.accept(","):
            return self._open_region(IsolatedFromAbove in generic.cls.info.traits)
        self.expect(")", "after the regions")
        self._frames.pop()
        return self._finish(frame, self._generic_end(frame))
