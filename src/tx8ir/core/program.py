"""Programs: a graph and the weights it reads, saved apart and put together again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from .block import Block, Region
from .context import IrContext, default_context
from .errors import IrError, ParseError
from .operation import Operation
from .parser import parse_op
from .printer import print_op
from .types import FunctionType, TupleType, Type
from .verifier import verify
from .weights import WeightStore

GRAPH_FILE: Final = "graph.mlir"
WEIGHTS_FILE: Final = "weights.safetensors"
_HTML_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Program:
    """A module operation and a `WeightStore`.

    Args:
        module: a detached `builtin.module`.
        weights: the variables it reads; an empty store by default. Several programs may share one.

    Raises:
        IrError: `module` is not a detached `builtin.module`.
    """

    __slots__ = ("module", "weights")

    def __init__(self, module: Operation, weights: WeightStore | None = None) -> None:
        if module.name != "builtin.module" or module.parent is not None:
            raise IrError(f"a program holds a detached builtin.module, not {module!r}")
        self.module = module
        self.weights = WeightStore() if weights is None else weights

    @classmethod
    def empty(cls) -> Program:
        """A program with an empty module."""
        return cls(_module_class(default_context()).create(regions=[_one_block()]))

    @property
    def body(self) -> Block:
        """The block of the module."""
        return self.module.regions[0].block

    @property
    def main(self) -> Any:
        """The function called main. Raises IrError when there is none."""
        return self.function("main")

    def function(self, name: str) -> Any:
        """The operation whose symbol is `name`. Raises IrError listing the symbols when there is none."""
        names: list[str] = []
        for op in self.body:
            symbol = op.attributes.get("sym_name")
            if symbol is not None:
                if symbol.value == name:
                    return op
                names.append(symbol.value)
        raise IrError(f"the program has no function {name!r}; it has: {', '.join(names) or 'none'}")

    @property
    def inputs(self) -> dict[str, Type]:
        """Public names and types of what main takes."""
        return self._signature("arg_names", "arg", self._main_type().inputs)

    @property
    def outputs(self) -> dict[str, Type]:
        """Public names and types of what main gives; the elements, when it gives one tuple."""
        types = self._main_type().results
        if len(types) == 1 and isinstance(types[0], TupleType):
            types = types[0].elements
        return self._signature("result_names", "result", types)

    def _main_type(self) -> FunctionType:
        return self.main.attributes["function_type"].value

    def _signature(self, key: str, stem: str, types: tuple[Type, ...]) -> dict[str, Type]:
        names = self.main.attributes.get(key)
        spelled = names.value if names is not None else tuple(f"{stem}{i}" for i in range(len(types)))
        return dict(zip(spelled, types, strict=True))

    def verify(self) -> None:
        """Check the graph. Raises VerifyError listing every fault."""
        verify(self.module)

    def clone(self) -> Program:
        """The graph copied; the store copied shallowly, so that both share the data."""
        return Program(self.module.clone(), self.weights.copy())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `graph.mlir` and `weights.safetensors` into `folder`, which is made when missing."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / GRAPH_FILE).write_text(str(self) + "\n", encoding="utf-8")
        self.weights.save(path / WEIGHTS_FILE)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, context: IrContext | None = None) -> Program:
        """Read what `save` wrote; data stays in the file until it is used.

        Every variable is immutable on load, but for those that a `set_parameter` of the graph writes.

        Raises:
            FileNotFoundError: no graph in `folder`. ParseError, VerifyError, WeightError: a file that is not right.
        """
        path = Path(folder)
        program = parse(path / GRAPH_FILE, context=context)
        weights = path / WEIGHTS_FILE
        if weights.exists():
            program.weights = WeightStore.load(weights)
        for variable in program.weights.values():
            variable.is_mutable = False
        for op in program.module.walk():
            if op.name == "builtin.set_parameter" and op.attributes["name"].value in program.weights:
                program.weights[op.attributes["name"].value].is_mutable = True
        return program

    def __str__(self) -> str:
        return print_op(self.module)

    def __repr__(self) -> str:
        count = sum(1 for _ in self.module.walk())
        return f"<Program: {count} operations, {len(self.weights)} variables>"

    def _repr_html_(self) -> str:
        text = "".join(_HTML_ESCAPES.get(c, c) for c in str(self))
        return f"<details open><summary>{repr(self)[1:-1]}</summary><pre>{text}</pre></details>"


def parse(
    source: str | os.PathLike[str],
    *,
    context: IrContext | None = None,
    allow_unregistered: bool = False,
    keep_names: bool = False,
) -> Program:
    """The program in a text or, when `source` is a path, in a file.

    A `str` without a newline that names an existing file is taken for a path. The program is not verified.

    Args:
        context: the dialects that are known; by default those of the default context.
        allow_unregistered: keep operations, types and attributes of unknown dialects as they are.
        keep_names: remember value names in the locations of operations.

    Raises:
        ParseError: the text is no IR. OSError: the file cannot be read.
    """
    file = "<text>"
    if not isinstance(source, str) or ("\n" not in source and len(source) < 4096 and os.path.isfile(source)):
        file = os.fspath(source)
        text = _read(file)
    else:
        text = source
    ctx = context or default_context()
    op = parse_op(text, context=ctx, file=file, allow_unregistered=allow_unregistered, keep_names=keep_names)
    if op.name == "builtin.module":
        return Program(op)
    region = _one_block()
    region.block.append(op)
    return Program(_module_class(ctx).create(regions=[region], location=op.location))


def _read(file: str) -> str:
    """The text of a file. Raises ParseError at the first byte that is no UTF-8."""
    data = Path(file).read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        start = data.rfind(b"\n", 0, error.start) + 1
        before = data[start : error.start].decode("utf-8")
        message = f"byte 0x{data[error.start]:02X} is no UTF-8"
        raise ParseError(message, file, line, len(before) + 1, before) from error


def _module_class(context: IrContext) -> type[Operation]:
    found = context.op_class("builtin.module")
    if found is None:
        raise IrError("the context lacks the dialect builtin, which a program's module comes from")
    return found


def _one_block() -> Region:
    return Region([Block()])
