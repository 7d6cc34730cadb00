"""Reads what a pass is about out of the pass itself: its patterns, and the bytecode of its functions.

A declarative rule says it outright. Of a Python function, the bytecode tells which op classes, element types, rules and
helper functions its names stand for, and its constants are the numbers and names it compares with: what a fuzzer calls
a dictionary. Nothing needs source text, so functions of a notebook are read like any other.
"""

from __future__ import annotations

import dis
import functools
import math
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, cast

import attrs

from tx8ir.core import Interface, Op, Operation, ScalarType, Trait, default_context
from tx8ir.passes import OperationPass, Pass
from tx8ir.rewriting import FunctionPattern, RewritePattern
from tx8ir.rewriting.declarative import Attr, Make, Node, OneOf, ResultOf, Rule
from tx8ir.rewriting.declarative.constraints import Constraint
from tx8ir.testing.passes.counterexample import PassLike, stages_of
from tx8ir.testing.passes.coverage import all_codes

from .direction import Direction
from .shapes import shapes
from .terms import OpTerm

DIALECTS: Final = ("pd", "builtin", "scf", "cf", "func")
"""Where the operations of programs under test come from."""
_HELPERS: Final = tuple(f"tx8ir.{name}." for name in ("analysis", "autodiff", "passes", "rewriting", "transforms"))
"""Where the functions are that passes are written with."""

_KINDS = 60
"""A base class, trait or interface that more operations than this have says nothing about what a pass is about."""
_OBJECTS = 4000
"""So many objects are looked at, at most."""


@attrs.frozen(eq=False)
class Source:
    """What a pass shows of itself.

    Attributes:
        direction: what it is about.
        words: names that it mentions, of attributes and what they may be.
        rules: its declarative patterns.
        files: the names that the code objects of the pass have as their file.
        codes: the code objects of its functions.
        shapes: the operations that its functions ask about; empty where there is no source text.
    """

    direction: Direction
    words: frozenset[str]
    rules: tuple[Rule, ...]
    files: frozenset[str]
    codes: tuple[CodeType, ...]
    shapes: tuple[OpTerm, ...] = ()


@functools.cache
def op_classes() -> Mapping[str, type[Operation]]:
    """The operations that programs under test may have, by name."""
    context = default_context()
    dialects = [dialect for name in DIALECTS if (dialect := context.dialect(name)) is not None]
    return {op_class.name: op_class for dialect in dialects for op_class in dialect.ops.values()}


def read_pass(pass_: PassLike) -> Source:
    """What a pass, a pipeline or a function shows of itself; little, when it is written in C, never an error.

    Raises what `stages_of` raises.
    """
    reader = _Reader()
    for stage in stages_of(pass_):
        reader.subject(stage.subject)
    reader.run()
    numbers = sorted(reader.numbers, key=lambda x: (abs(x), math.copysign(1.0, x)))
    direction = Direction(
        frozenset(reader.ops), tuple(numbers[:64]), frozenset(reader.elements), tuple(_attributes(reader))
    )
    codes = all_codes(reader.codes)
    expected = shapes(((f, reader.roots.get(f, ())) for f in reader.functions), op_classes(), reader.is_own)
    return Source(direction, frozenset(reader.words), tuple(reader.rules), frozenset(reader.files), codes, expected)


def _attributes(reader: _Reader) -> Iterator[tuple[str, Any]]:
    """What the attributes that the pass reads may be: the words and lists of numbers that it names."""
    fields: dict[str, str] = {}
    for name in sorted(reader.ops):
        cls = op_classes()[name]
        fields |= {f.name: str(f.annotation) for f in cls.definition.attributes} if issubclass(cls, Op) else {}
    for name in sorted(reader.words & set(fields)):
        if fields[name].startswith("str"):
            yield from ((name, word) for word in sorted(reader.words - set(fields)))
        elif fields[name].startswith("tuple[int"):
            yield from ((name, numbers) for numbers in sorted(reader.lists))


class _Reader:
    """Visits everything that the pass reaches, each object once."""

    def __init__(self) -> None:
        self.ops: dict[str, None] = {}
        self.numbers: set[float] = set()
        self.elements: dict[ScalarType, None] = {}
        self.words: set[str] = set()
        self.lists: set[tuple[int, ...]] = set()
        self.rules: dict[Rule, None] = {}
        self.files: set[str] = set()
        self.codes: list[CodeType] = []
        self.functions: list[FunctionType] = []
        self.roots: dict[FunctionType, tuple[type[Any], ...]] = {}
        self.modules: set[str] = set()
        self._work: list[Any] = []
        self._seen: dict[int, Any] = {}  # keeps what it has seen alive, so that no other object gets its id

    def subject(self, subject: Any) -> None:
        """What is under test: all of its module counts as its own."""
        made = type(subject) if isinstance(subject, Pass) else _function_of(subject)
        self.modules.add(getattr(made, "__module__", None) or "")
        if isinstance(subject, Pass):
            for cls in made.__mro__:
                if cls not in (Pass, OperationPass) and issubclass(cls, Pass):
                    self.modules.add(cls.__module__)
                    self.add(cls)
            self.add(tuple(subject.patterns()))
        else:
            self.add(subject)

    def add(self, thing: Any) -> None:
        if len(self._seen) < _OBJECTS and id(thing) not in self._seen:
            self._seen[id(thing)] = thing
            self._work.append(thing)

    def run(self) -> None:
        while self._work:
            self._visit(self._work.pop())

    # --- objects ---------------------------------------------------------------------------------------------------

    def _visit(self, thing: Any) -> None:
        if isinstance(thing, ScalarType):
            self.elements[thing] = None
        elif isinstance(thing, bool | int | float):
            self._number(float(thing)) if abs(thing) < 1e300 or math.isinf(thing) else None
        elif isinstance(thing, str):
            self._word(thing)
        elif isinstance(thing, type):
            self._class(thing)
        elif isinstance(thing, Rule):
            self._rule(thing)
        elif isinstance(thing, RewritePattern):
            self._pattern(cast("RewritePattern[Any]", thing))
        elif isinstance(thing, Constraint):
            self.add(thing.holds)
        elif isinstance(thing, CodeType):
            self._code(thing, {}, {})
        elif isinstance(thing, Mapping):
            for key, value in list(cast("Mapping[Any, Any]", thing).items())[:_KINDS]:
                self.add(key)
                self.add(value)
        elif isinstance(thing, list | tuple | set | frozenset):
            for part in list(cast("Iterable[Any]", thing))[:_KINDS]:
                self.add(part)
        elif not isinstance(thing, ModuleType):
            self._callable(thing)

    def _number(self, number: float) -> None:
        if not math.isnan(number):
            self.numbers.add(number)

    def _word(self, word: str) -> None:
        if word in op_classes():
            self.ops[word] = None
        elif word.isidentifier() and len(word) < 30:
            self.words.add(word)

    def _class(self, cls: type[Any]) -> None:
        if cls is Operation or cls is Op:
            return
        if issubclass(cls, Operation | Trait | Interface):
            fitting = [name for name, kind in op_classes().items() if _is_kind(kind, cls)]
            if len(fitting) <= _KINDS:
                self.ops.update(dict.fromkeys(fitting))
        elif self.is_own(cls.__module__):
            for member in vars(cls).values():
                if isinstance(member, FunctionType | staticmethod | classmethod | property | functools.cached_property):
                    self.add(_function_of(member))

    def _pattern(self, pattern: RewritePattern[Any]) -> None:
        for root in pattern.roots:
            self.add(root)
        made = pattern.function if isinstance(pattern, FunctionPattern) else type(pattern)
        matcher = _function_of(made if isinstance(pattern, FunctionPattern) else pattern.match_and_rewrite)
        if isinstance(matcher, FunctionType):
            self.roots[matcher] = tuple(pattern.roots)
        self.modules.add(made.__module__)
        self.add(made)

    def _rule(self, rule: Rule) -> None:
        self.rules[rule] = None
        self.files.add(f"<rule {rule.name}>")
        work: list[Any] = [rule.left]
        seen: set[int] = set()
        while work:
            part = work.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, OneOf):
                work += part.patterns
            elif isinstance(part, ResultOf):
                work.append(part.node)
            elif isinstance(part, Node):
                work += part.operands
                self.add(tuple(part.kinds))
                self.add(tuple(part.where))
                for key, value in part.attributes.items():
                    self.add(key)
                    self.add(value.constraint if isinstance(value, Attr) else value)
            else:
                self.add(tuple(part.constraints))
        for part in rule.right:
            if isinstance(part, Make):
                self.add(part.kind)
            elif isinstance(part, FunctionType):
                self.modules.add(part.__module__)
                self.add(part)

    def _callable(self, thing: Any) -> None:
        function = _function_of(thing)
        if isinstance(function, FunctionType):
            # What a constraint of the library was made with, `near(2.0)` say, is in its closure.
            cells = _cells(function)
            if function.__code__.co_filename.startswith("<attrs generated"):
                return
            if self.is_own(function.__module__):
                self.files.add(function.__code__.co_filename)
                self.codes.append(function.__code__)
                self.functions.append(function)
                self._code(function.__code__, function.__globals__, cells)
                self.add(tuple(v for v in (function.__defaults__ or ()) if v is not None))
            elif function.__module__.startswith(_HELPERS):
                self._borrowed(function, cells)
            else:
                self.add(tuple(v for v in cells.values() if not isinstance(v, type)))
        elif self.is_own(type(function).__module__):
            self.add(type(function))
            self.add(tuple(getattr(function, "__dict__", {}).values()))

    def _borrowed(self, function: FunctionType, cells: Mapping[str, Any]) -> None:
        """A helper of ours that the pass calls: which `pd` operations it names itself, and no further."""
        self.add(tuple(v for v in cells.values() if not isinstance(v, type)))
        reader = _Reader()
        reader._code(function.__code__, function.__globals__, cells)
        for thing in reader._work:
            if (
                isinstance(thing, type)
                and issubclass(thing, Operation)
                and getattr(thing, "name", "").startswith("pd.")
            ):
                self.add(thing)

    def is_own(self, module: str | None) -> bool:
        """Whether code of a module is the pass's: its own module, and all that neither Python nor we have installed."""
        if module is None or module in self.modules:
            return True
        if module.partition(".")[0] in ("tx8ir", *sys.stdlib_module_names):
            return False
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        return bool(file) and not file.startswith(_INSTALLED)

    # --- code ------------------------------------------------------------------------------------------------------

    def _code(self, code: CodeType, names: Mapping[str, Any], cells: Mapping[str, Any]) -> None:
        """Follows the names of a function, and of those inside it, to what they stand for."""
        current: Any = _NOTHING
        for instruction in dis.get_instructions(code):
            name, argument = instruction.opname, instruction.argval
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                current = names.get(argument, _NOTHING)
            elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
                current = cells.get(argument, _NOTHING)
            elif name == "IMPORT_NAME":
                current = sys.modules.get(argument, _NOTHING)
            elif name in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
                if isinstance(current, ModuleType | type):
                    current = getattr(current, argument, _NOTHING)
                else:
                    self.words.add(argument)
                    current = _NOTHING
            elif name == "LOAD_CONST":
                current = _NOTHING
                if isinstance(argument, CodeType):
                    self._code(argument, names, cells)
                else:
                    self._constant(argument)
            elif name != "PUSH_NULL" and name != "PRECALL":
                continue
            if current is not _NOTHING and not isinstance(current, ModuleType | BuiltinFunctionType):
                self.add(current)

    def _constant(self, value: Any) -> None:
        if isinstance(value, tuple) and value and all(type(part) is int for part in cast("tuple[Any, ...]", value)):
            self.lists.add(cast("tuple[int, ...]", value))
        if isinstance(value, tuple | frozenset):
            for part in cast("Iterable[Any]", value):
                self._constant(part)
        elif isinstance(value, int | float | str):
            self._visit(value)


_NOTHING: Final = object()
_INSTALLED: Final = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")})


def _function_of(thing: Any) -> Any:
    """The function that is inside a method, a partial application or a wrapper."""
    for _ in range(20):
        if isinstance(thing, functools.partial):
            thing = cast(Any, thing).func
        elif isinstance(thing, MethodType | staticmethod | classmethod):
            thing = cast(Any, thing).__func__
        elif isinstance(thing, property):
            thing = thing.fget
        elif isinstance(thing, functools.cached_property):
            thing = cast(Any, thing).func
        elif hasattr(thing, "__wrapped__"):
            thing = thing.__wrapped__
        else:
            break
    return thing


def _cells(function: FunctionType) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return cells


def _is_kind(op_class: type[Operation], kind: type[Any]) -> bool:
    info = op_class.info
    return issubclass(op_class, kind) or kind in info.traits or kind in info.interfaces
