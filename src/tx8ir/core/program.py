"""Programs: a graph and the weights it reads, saved apart and put together again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, cast

from tx8ir.support.display import Displayable

from .attrs.attributes import StrAttr, TypeAttr
from .attrs.types import DYNAMIC, FunctionType, RankedTensor, TupleType, Type
from .context import IrContext, default_context
from .errors import IrError, ParseError, VerifyError
from .files import MAX_TEXT_BYTES, read_regular
from .ir.block import Block, Region
from .ir.interfaces import ParameterAccess
from .ir.operation import Operation
from .location import caller_location
from .opdef.definition import SEGMENTS, declared_faults
from .opdef.op import Op
from .text.comments import without_comments
from .text.parser import parse_op
from .text.printer import print_op
from .verifier import verify
from .weights.safetensors import WeightError, read_header
from .weights.store import WeightStore

GRAPH_FILE: Final = "graph.mlir"
WEIGHTS_FILE: Final = "weights.safetensors"
ONE_FILE: Final = ".safetensors"
"""How the name of a file ends that holds a graph and its weights."""
_GRAPH_KEY: Final = "tx8ir.graph"
"""Where in the metadata of such a file the text of the graph is."""
_PATH: Final = re.compile(r"[\w.~/\\:-]*\.(mlir|txt|onnx|pt2|json)")
"""What stands for a file where a text is expected: nothing that it could be in a text."""


class Program(Displayable):
    """A module operation and a `WeightStore`.

    Args:
        module: a detached `builtin.module`.
        weights: the variables it reads and writes; an empty store by default. Several programs may share one: each is
            attached to it, now and when `weights` is assigned.

    Raises:
        IrError: `module` is not a detached `builtin.module`.
    """

    __slots__ = ("__weakref__", "_weights", "module")

    def __init__(self, module: Operation, weights: WeightStore | None = None) -> None:
        if module.name != "builtin.module" or module.parent is not None:
            raise IrError(f"a program holds a detached builtin.module, not {module!r}")
        self.module = module
        self.weights = WeightStore() if weights is None else weights

    @property
    def weights(self) -> WeightStore:
        return self._weights

    @weights.setter
    def weights(self, store: WeightStore) -> None:
        if not isinstance(store, WeightStore):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise IrError(f"the weights of a program are a WeightStore, not {store!r}")
        self._weights = store
        store.attach(self)

    @classmethod
    def empty(cls) -> Program:
        """A program with an empty module."""
        module = _module_class(default_context())
        return cls(module.create(regions=[_one_block()], location=caller_location()))

    @property
    def body(self) -> Block:
        """The block of the module. Raises IrError when a malformed module has none."""
        if not self.module.regions:
            raise IrError("the module has no region, expected 1", self.module)
        return self.module.regions[0].block

    def __getitem__(self, name: str) -> Any:
        """The function called `name`: `program["main"]`. Raises IrError listing the functions when there is none."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise IrError(f"a program is asked for a function by its name, as program['main'], not by {name!r}")
        return self.function(name)

    def __contains__(self, name: object) -> bool:
        return name in self._symbols()

    def __iter__(self) -> Iterator[Operation]:
        """The operations of the module: the functions, usually. `program.module.walk()` gives those inside, too."""
        return iter(self.body)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._symbols())

    @property
    def main(self) -> Any:
        """The function called main. Raises IrError when there is none."""
        return self.function("main")

    def function(self, name: str) -> Any:
        """The operation whose symbol is `name`. Raises IrError listing the symbols when there is none."""
        symbols = self._symbols()
        if name not in symbols:
            raise IrError(f"the program has no function {name!r}; it has: {', '.join(symbols) or 'none'}")
        return symbols[name]

    def _symbols(self) -> dict[str, Operation]:
        """The operations of the module that have a symbol, by that; of two with one name the first."""
        named = {op: op.attributes.get("sym_name") for op in reversed(self.body)}
        return {name.value: op for op, name in reversed(named.items()) if isinstance(name, StrAttr)}

    @property
    def inputs(self) -> dict[str, Type]:
        """Public names and types of what main takes: those it declares, or else those that its arguments have."""
        inputs = self._main_type().inputs
        body: Region = self.main.regions[0]
        hints = [a.name_hint for a in body.blocks[0].args] if len(body) else []
        names = [hint or f"arg{i}" for i, hint in enumerate(hints)]
        if len(names) != len(inputs) or len(set(names)) < len(names):
            names = [f"arg{i}" for i in range(len(inputs))]
        return self._signature("arg_names", names, inputs)

    @property
    def outputs(self) -> dict[str, Type]:
        """Public names and types of what main gives; the elements, when it gives one tuple."""
        types = self._main_type().results
        if len(types) == 1 and isinstance(types[0], TupleType):
            types = types[0].elements
        return self._signature("result_names", [f"result{i}" for i in range(len(types))], types)

    def _main_type(self) -> FunctionType:
        main = self.main
        _require_declared(main)
        kind = main.attributes.get("function_type")
        if not isinstance(kind, TypeAttr) or not isinstance(kind.value, FunctionType):
            raise IrError(f"main is a {main.name} without a function_type, so it has no signature", main)
        return kind.value

    def _signature(self, key: str, otherwise: Sequence[str], types: tuple[Type, ...]) -> dict[str, Type]:
        names = self.main.attributes.get(key)
        spelled = names.value if names is not None else otherwise
        if len(set(spelled)) != len(types):
            raise IrError(f"{key} of main must be {len(types)} distinct names, not {list(spelled)}", self.main)
        return dict(zip(spelled, types, strict=True))

    def verify(self) -> None:
        """Check the graph. Raises VerifyError listing every fault."""
        verify(self.module)

    def clone(self) -> Program:
        """The graph copied; the store copied shallowly, so that both share the data.

        What other programs attached to the store may write is marked mutable in the copy, whose own store they are not
        attached to; `recompute_mutability` of the copy drops the marks, and with them all that they may write later.
        O(operations of the programs attached to the store).
        """
        store = self.weights.copy()
        for name in self.written_by_others():
            if name in store:
                store[name].is_mutable = True
        return Program(self.module.clone(), store)

    def __copy__(self) -> Program:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return Program(self.module.clone(), deepcopy(self._weights, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its text, with locations, and its variables with their data."""
        return _unpickle, (print_op(self.module, locations=True), self._weights)

    # -- parameters -----------------------------------------------------------------------------------------------

    def written_parameters(self) -> frozenset[str]:
        """Names of the variables that an operation of this program may write, through an alias too; O(operations)."""
        names: set[str] = set()
        for op in self.module.walk():
            access = op.interface(ParameterAccess)
            if access is not None:
                names.update(access.parameter_writes())
        return frozenset(names)

    def written_by_others(self) -> frozenset[str]:
        """Names of the variables that another program attached to the store may write."""
        others = (cast(Program, user) for user in self.weights.users if user is not self)
        return frozenset[str]().union(*(other.written_parameters() for other in others))

    def mutable_parameters(self) -> frozenset[str]:
        """Names of the variables that may change: a program attached to the store may write them, or the store says so.

        O(operations of the programs attached to the store).
        """
        names = {name for name, variable in self.weights.items() if variable.is_mutable}
        return frozenset(names.union(*(cast(Program, p).written_parameters() for p in self.weights.users)))

    def recompute_mutability(self) -> None:
        """Set `is_mutable` of every variable of the store: whether a program attached to the store may write it."""
        written = frozenset[str]().union(*(cast(Program, p).written_parameters() for p in self.weights.users))
        for name, variable in self.weights.items():
            variable.is_mutable = name in written

    def _check_parameters(self) -> None:
        """Raise WeightError when an operation reads or writes a variable of the store as another type than it has."""
        for op in self.module.walk():
            access = op.interface(ParameterAccess)
            if access is None:
                continue
            _require_declared(op)
            for name, type in (*access.parameter_reads().items(), *access.parameter_writes().items()):
                variable = self.weights.get(name)
                if variable is not None and isinstance(type, RankedTensor) and not _fits(variable.type, type):
                    raise WeightError(f"weight {name!r} is {variable.type}; {op.describe()} declares it as {type}")

    # -- files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, runtime_attributes: bool = False) -> None:
        """Write the graph and the weights: into a folder, or into one file.

        A folder, which is made when missing, gets `graph.mlir` and `weights.safetensors`: another graph may be put to
        the weights, or other weights to the graph. One file is a safetensors file whose metadata has the text of the
        graph, so that other tools see the weights in it.

        Args:
            path: the folder; or the file, whose name ends with `.safetensors`.
            runtime_attributes: also write the attributes that the operations do not declare. They help a computation
                and never change its meaning, so an export does without them.

        Raises:
            WeightError: a file cannot be written; of one file also a graph too large for the header of such a file.
        """
        path = Path(path)
        module = self.module if runtime_attributes else without_runtime_attributes(self.module)
        text = print_op(module) + "\n"
        if path.suffix == ONE_FILE:
            self.weights.save(path, metadata={_GRAPH_KEY: text})
            return
        path.mkdir(parents=True, exist_ok=True)
        (path / GRAPH_FILE).write_text(text, encoding="utf-8")
        self.weights.save(path / WEIGHTS_FILE)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        weights: WeightStore | None = None,
        context: IrContext | None = None,
    ) -> Program:
        """Read what `save` wrote, a folder or one file; data stays in the file until it is used.

        Every variable is then mutable exactly when a program attached to the store may write it.

        Args:
            path: where `save` wrote.
            weights: a store to use instead of the one in `path`, shared with the programs that use it already.
            context: the dialects that are known; by default those of the default context.

        Raises:
            MissingFileError: no graph in the folder. LoadError: a graph that is not a regular file, or too large.
            ParseError: the graph is not IR. VerifyError: an operation that uses parameters is malformed.
            WeightError: a weight file that is not right, or has no graph where it should; a variable that the graph
                declares as another type.
        """
        path = Path(path)
        if path.suffix == ONE_FILE and not path.is_dir():
            program, file = cls._of_text(_graph_in(path), path, context), path
        else:
            program, file = parse(path / GRAPH_FILE, context=context), path / WEIGHTS_FILE
        if weights is not None:
            program.weights = weights
        elif os.path.lexists(file):
            program.weights = WeightStore.load(file)
        program._check_parameters()
        program.recompute_mutability()
        return program

    @classmethod
    def _of_text(cls, text: str, path: Path, context: IrContext | None) -> Program:
        """The program of a text that is in a file with more in it."""
        op = parse_op(text, context=context or default_context(), file=str(path))
        if op.name != "builtin.module":
            raise WeightError(f"weight file {str(path)!r}: metadata {_GRAPH_KEY!r} holds {op.name}, expected a module")
        return cls(op)

    def __str__(self) -> str:
        return print_op(self.module)

    def __repr__(self) -> str:
        count = sum(1 for _ in self.module.walk())
        return f"<Program: {count} operations, {len(self.weights)} variables>"


def _graph_in(path: Path) -> str:
    """The text of the graph in the metadata of a weight file. Raises WeightError when there is none."""
    found = read_header(path)[1].get(_GRAPH_KEY)
    if found is None:
        raise WeightError(f"weight file {str(path)!r} holds weights alone: its metadata has no {_GRAPH_KEY!r}")
    return found


def _require_declared(op: Operation) -> None:
    """Raise VerifyError when `op` breaks its declaration, so that nothing can be read from it."""
    faults = declared_faults(op.definition, op) if isinstance(op, Op) else []
    if faults:
        raise VerifyError(f"{op.name} {faults[0]}", op)


def without_runtime_attributes(root: Operation) -> Operation:
    """A copy of `root` in which the defined operations have the attributes that they declare, and no others."""
    copy = root.clone()
    shown: dict[Any, Any] = {}
    for op in copy.walk():
        if not isinstance(op, Op):
            continue  # what an operation of an unknown dialect declares is not known
        key = (op.__class__, op.attributes)
        kept = shown.get(key)
        if kept is None:
            declared = {*op.info.attribute_names, SEGMENTS}
            kept = shown[key] = {k: v for k, v in op.attributes.items() if k in declared}
        if len(kept) < len(op.attributes):
            op.set_attributes(kept)
    return copy


def _fits(stored: RankedTensor, declared: RankedTensor) -> bool:
    """Whether a variable can be used as `declared`: dynamic extents match any."""
    return (
        stored.element is declared.element
        and stored.rank == declared.rank
        and all(d in (s, DYNAMIC) for s, d in zip(stored.shape, declared.shape, strict=True))
    )


def _unpickle(text: str, weights: WeightStore) -> Program:
    return Program(parse_op(text, context=default_context(), allow_unregistered=True), weights)


def parse(
    source: str | os.PathLike[str],
    *,
    context: IrContext | None = None,
    allow_unregistered: bool = False,
    keep_names: bool = False,
    keep_comments: bool = False,
) -> Program:
    """The program in a text or, when `source` is a path, in a file.

    A `str` without a newline that names an existing file, or ends as one does (`.mlir`), is taken for a path. The
    program is not verified.

    Args:
        context: the dialects that are known; by default those of the default context.
        allow_unregistered: keep operations, types and attributes of unknown dialects as they are.
        keep_names: remember value names in the locations of operations and of block arguments, whose names become
            those of inputs; `print_op(…, names=True)` writes them.
        keep_comments: remember comments in the locations of operations; `print_op(…, comments=True)` writes them.

    Raises:
        ParseError: the text is not IR. MissingFileError, LoadError: the file is not there, or cannot be read.
    """
    file = "<text>"
    if not isinstance(source, str) or _PATH.fullmatch(source) or (_is_short(source) and os.path.isfile(source)):
        file = os.fspath(source)
        text = read_text(file)
    else:
        text = source
    ctx = context or default_context()
    op = parse_op(
        text,
        context=ctx,
        file=file,
        allow_unregistered=allow_unregistered,
        keep_names=keep_names,
        keep_comments=keep_comments,
    )
    if op.name == "builtin.module":
        return Program(op)
    region = _one_block()
    region.block.append(op)
    return Program(_module_class(ctx).create(regions=[region], location=without_comments(op.location)))


def _is_short(text: str) -> bool:
    return "\n" not in text and len(text) < 4096


def read_text(file: str | os.PathLike[str]) -> str:
    """The text of a file of IR text. Raises LoadError, or ParseError at the first byte that is not UTF-8."""
    data = read_regular(file, MAX_TEXT_BYTES, "a file of IR text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        start = data.rfind(b"\n", 0, error.start) + 1
        before = data[start : error.start].decode("utf-8")
        message = f"byte 0x{data[error.start]:02X} is not UTF-8"
        raise ParseError(message, os.fspath(file), line, len(before) + 1, before) from error


def _module_class(context: IrContext) -> type[Operation]:
    found = context.op_class("builtin.module")
    if found is None:
        raise IrError("the context lacks the dialect builtin, which a program's module comes from")
    return found


def _one_block() -> Region:
    return Region([Block()])
