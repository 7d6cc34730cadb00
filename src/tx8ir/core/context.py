"""Dialects and contexts: which operations, attributes and types are known under which names."""

# A context makes classes for unregistered operations.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import enum
import importlib
import keyword
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tx8ir.support.screen import fitted

from .attrs.structured import FlagsAttr, StructAttr, enum_attr_name
from .attrs.types import Type
from .errors import IrError
from .ir.operation import Operation, OpInfo

if TYPE_CHECKING:
    from types import ModuleType

    from .ir.interfaces import Interface
    from .ir.traits import Trait
    from .text.attribute_parser import AttributeParser


TypeReader = Callable[["AttributeParser"], Type]


class Dialect:
    """The operations, attributes and types that share a name prefix.

    Args:
        name: the prefix.
        ops: op classes named `name.…`.
        attributes: enumerations (`@enum_attr`), structured attributes (`@struct_attr`) and sets of flags (`FlagsAttr`)
            named `name.…`.
        types: mnemonic to a function that reads what follows `!name.mnemonic` with the parser it is given (`expect`,
            `require`, `type`, …) and returns the type. The type's own text must be what the function reads.
    """

    def __init__(
        self,
        name: str,
        ops: Iterable[type[Operation]] = (),
        attributes: Iterable[type[enum.Enum | StructAttr | FlagsAttr]] = (),
        types: Mapping[str, TypeReader] | None = None,
    ) -> None:
        self.name = name
        self.ops: dict[str, type[Operation]] = {}
        self.attributes: dict[str, type[Any]] = {}
        self.types = dict(types or {})
        for op_class in ops:
            self.add(op_class)
        for attribute in attributes:
            full = attribute.attr_name if issubclass(attribute, (StructAttr, FlagsAttr)) else enum_attr_name(attribute)
            self._check_prefix(full)
            self.attributes[full.split(".", 1)[1]] = attribute

    @classmethod
    def from_yaml(
        cls,
        name: str,
        source: str | os.PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        interfaces: Mapping[str, type[Interface]] | None = None,
        traits: Mapping[str, type[Trait]] | None = None,
    ) -> Dialect:
        """A dialect whose operations a YAML op list declares, each a class like one written in Python.

        An entry has `op`, `inputs` and `attributes` (or both in `args`), `outputs` (or `output`), and if need be
        `optional`, `traits`, `interfaces` (or `infer_meta` and `backward`), `kernel` and `doc`, as Paddle's lists do.
        Its class is the attribute of the dialect called like the operation; `declaration` of the class is the entry as
        it was read.

        Args:
            name: the prefix of the operations.
            source: a file, or a text (which has a newline in it).
            functions: what the list may call by name: methods of interfaces take the operation first; kernels take
                the arrays, then the attributes as keywords. None: the list is read for what it declares alone, so
                nothing infers types or computes.
            interfaces: what the list may name besides the interfaces of the core.
            traits: what the list may name besides the traits of the core.

        Raises:
            ParseError: the list is not YAML, or says something that is not understood; with line and column.
            IrError: PyYAML, the extra `yaml`, is not installed. LoadError: the file cannot be read.
        """
        from .opdef.yaml_dialect import load_ops  # here, because most programs define their dialects in Python

        return cls(name, load_ops(name, source, functions, interfaces, traits))

    def add(self, op_class: type[Operation]) -> None:
        """Add an operation. Raises IrError when its name is taken or has another prefix."""
        self._check_prefix(op_class.name)
        if op_class.name in self.ops:
            raise IrError(f"dialect {self.name} has two operations {op_class.name}")
        self.ops[op_class.name] = op_class

    @property
    def exports(self) -> dict[str, type[Operation]]:
        """What a package offers of its operations: each class under its own name, and under that in the text.

        `globals().update(DIALECT.exports)` lets `pd.ReluOp` and `pd.relu` be the class that is named "pd.relu"; for
        type checkers, `python -m tx8ir.core.opdef.stubs` writes the stub that says so.
        """
        found: dict[str, type[Operation]] = {}
        for full_name, op_class in self.ops.items():
            mnemonic = full_name.split(".", 1)[1]
            found[op_class.__name__] = op_class
            if mnemonic.isidentifier() and not keyword.iskeyword(mnemonic):
                found[mnemonic] = op_class
        return found

    def redefines(self, other: Dialect) -> bool:
        """Whether both have operations of the same names that classes of the same names in the same modules define."""
        shared = self.ops.keys() & other.ops.keys()
        return bool(shared) and all(_place(self.ops[name]) == _place(other.ops[name]) for name in shared)

    def __getattr__(self, name: str) -> type[Operation]:
        found = self.__dict__.get("ops", {}).get(f"{self.__dict__.get('name')}.{name}")
        if found is None:
            raise AttributeError(f"dialect {self.__dict__.get('name')!r} has no operation {name!r}")
        return found

    def _check_prefix(self, full_name: str) -> None:
        if not full_name.startswith(self.name + "."):
            raise IrError(f"{full_name!r} does not belong to dialect {self.name!r}")

    def __repr__(self) -> str:
        return f"<Dialect {self.name}: {len(self.ops)} operations>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{n}</code></td><td>{(c.info.doc.strip().splitlines() or [''])[0]}</td></tr>"
            for n, c in sorted(self.ops.items())
        )
        return f"<table><caption>dialect {self.name}</caption>{rows}</table>"


def ops_of(*modules: ModuleType) -> list[type[Operation]]:
    """The operations that modules define, in order: their classes that have a name, which starts with the dialect's."""
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Operation)
        and value.__module__ == module.__name__
        and value.info.name
    ]


def _place(op_class: type[Operation]) -> tuple[str, str]:
    return op_class.__module__, op_class.__qualname__


def _defined_by(dialect: Dialect) -> str:
    modules = sorted({op_class.__module__ for op_class in dialect.ops.values()})
    return f"operations of {', '.join(modules)}" if modules else "no operations"


class UnregisteredOp(Operation):
    """An operation of a dialect that is not loaded. It has any operands, results, attributes and regions."""

    __slots__ = ()
    name: ClassVar[str] = "<unregistered>"
    info: ClassVar[OpInfo] = OpInfo("<unregistered>", Operation, frozenset())
    properties: ClassVar[frozenset[str]] = frozenset()
    """The attributes that the text wrote as properties, which belong to the operation itself: `<{key = value}>`."""


class IrContext:
    """The dialects that a parser knows. Dialects may be registered lazily, by the module that defines them."""

    def __init__(self, dialects: Iterable[Dialect] = ()) -> None:
        self._dialects: dict[str, Dialect] = {}
        self._lazy: dict[str, str] = {}
        self._unregistered: dict[tuple[str, frozenset[str]], type[UnregisteredOp]] = {}
        self.keywords: dict[str, str] = {}
        for dialect in dialects:
            self.register(dialect)

    def register(self, dialect: Dialect, keywords: Mapping[str, str] | None = None) -> Dialect:
        """Make a dialect known. Raises IrError when another one has its name.

        One that the same source defines takes the place of the earlier one: a notebook's cell that runs again, a module
        that is reloaded. Operations made before keep their classes.

        Args:
            keywords: short spellings of its operations (`module` for `builtin.module`).
        """
        known = self._dialects.get(dialect.name)
        if known is not None and known is not dialect and not dialect.redefines(known):
            raise IrError(f"a dialect {dialect.name!r} is registered already, with {_defined_by(known)}")
        self._lazy.pop(dialect.name, None)
        self._dialects[dialect.name] = dialect
        self.keywords.update(keywords or {})
        return dialect

    def register_lazily(self, name: str, module: str, keywords: Mapping[str, str] | None = None) -> None:
        """Let the module that holds `DIALECT` be imported when dialect `name` is first needed."""
        if name not in self._dialects:
            self._lazy[name] = module
        self.keywords.update(keywords or {})

    def unregister(self, name: str) -> None:
        """Forget a dialect. Raises KeyError when it is not known."""
        if self._lazy.pop(name, None) is None:
            del self._dialects[name]

    def dialect(self, name: str) -> Dialect | None:
        """The dialect called `name`, loaded if need be, or None."""
        found = self._dialects.get(name)
        if found is None and name in self._lazy:
            found = self.register(importlib.import_module(self._lazy[name]).DIALECT)
        return found

    def op_class(self, name: str) -> type[Operation] | None:
        """The class of operations called `name`, or None."""
        dialect = self.dialect(name.partition(".")[0])
        return dialect.ops.get(name) if dialect is not None else None

    def attribute_class(self, dialect_name: str, mnemonic: str) -> type[Any] | None:
        """The enumeration or structured attribute called `#dialect_name.mnemonic`, or None."""
        dialect = self.dialect(dialect_name)
        return dialect.attributes.get(mnemonic) if dialect is not None else None

    def type_reader(self, dialect_name: str, mnemonic: str) -> TypeReader | None:
        """What reads the rest of a type `!dialect_name.mnemonic…`, or None when there is no such type."""
        dialect = self.dialect(dialect_name)
        return dialect.types.get(mnemonic) if dialect is not None else None

    def unregistered(self, name: str, properties: Iterable[str] = ()) -> type[UnregisteredOp]:
        """The class for operations called `name` that nobody registered; the same class each time.

        Args:
            properties: which of their attributes are properties.
        """
        key = (name, frozenset(properties))
        found = self._unregistered.get(key)
        if found is None:
            info = OpInfo(name, UnregisteredOp, frozenset())
            found = self._unregistered[key] = type(
                "UnregisteredOp",
                (UnregisteredOp,),
                {"__slots__": (), "name": name, "info": info, "properties": key[1]},
            )
            info.op_class = found
        return found

    def __iter__(self) -> Iterator[Dialect]:
        for name in sorted({*self._dialects, *self._lazy}):
            dialect = self.dialect(name)
            if dialect is not None:
                yield dialect

    def __repr__(self) -> str:
        return fitted(f"<IrContext: {', '.join(sorted({*self._dialects, *self._lazy}))}>")


_DEFAULT = IrContext()


def default_context() -> IrContext:
    """The context with the shipped dialects and whatever was registered in it since."""
    return _DEFAULT
