"""Writes the stub of a dialect's package: what type checkers are to see of names that are made when it is imported.

`python -m tx8ir.core.opdef.stubs tx8ir.dialects.pd` writes `__init__.pyi` beside `__init__.py`. A package that exports
its operations by `globals().update(DIALECT.exports)` needs it; a test compares the file with `stub`.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tx8ir.core.context import Dialect
from tx8ir.core.ir.value import Value

from .fields import AttributeField, ValueField
from .op import Op
from .signature import signature_of

_LINE = 120


def stub(package: ModuleType) -> str:
    """The text of `__init__.pyi` for a package that has `DIALECT` and `__all__`.

    A class that a module of the package defines is imported from there. One that is made at run time, as an in-place
    form is, is written out with its constructor. Variables of the package itself have annotations.
    """
    dialect: Dialect = package.DIALECT
    imported: dict[str, list[str]] = {}
    bodies: list[str] = []
    last: list[str] = ["", ""]
    lent: list[str] = []
    aliases: list[str] = []
    declared: dict[str, str] = vars(package).get("__annotations__", {})
    names = {word for annotation in declared.values() for word in re.findall(r"\w+", annotation)}
    for name in package.__all__:
        value_class = vars(package)[name]
        if (
            isinstance(value_class, type)
            and issubclass(value_class, Value)
            and value_class.__module__ == package.__name__
        ):
            lent += _value_class(value_class, names)
            base = value_class.__mro__[1]
            imported.setdefault(_relative(package, base.__module__), []).append(base.__name__)
        elif name not in declared:
            imported.setdefault(_home(package, name), []).append(name)
    for name, op_class in dialect.exports.items():
        if name != op_class.__name__:
            aliases.append(f"{name} = {op_class.__name__}")
        elif getattr(sys.modules[op_class.__module__], name, None) is op_class:
            if name not in package.__all__:
                imported.setdefault(_relative(package, op_class.__module__), []).append(name)
        else:
            assert issubclass(op_class, Op)  # nothing else is made at run time
            base = _base(op_class)
            if base.__name__ not in package.__all__:
                imported.setdefault(_relative(package, base.__module__), []).append(base.__name__)
            body = [*_class(op_class, names)]
            if len(body) > 1 or len(last) > 1:
                bodies.append("")
            bodies += body
            last = body
    exported = sorted({*package.__all__, *dialect.exports})
    lines = [
        f"# Written by `python -m tx8ir.core.opdef.stubs {package.__name__}` from the operations. Do not edit.",
        "# ruff: noqa: I001, RUF100",
        "",
        *_imports(names - set(exported)),
        "",
    ]
    for module in sorted(imported):
        lines.append(f"from {module} import (")
        lines += [f"    {name}," for name in sorted(set(imported[module]))]
        lines.append(")")
    lines += [
        "",
        *(f"{name}: {annotation}" for name, annotation in declared.items()),
        *bodies,
        *lent,
        "",
        *aliases,
        "",
        "__all__ = [",
        *(f'    "{n}",' for n in exported),
        "]",
    ]
    return "\n".join(lines) + "\n"


def _imports(names: set[str]) -> Iterator[str]:
    """The imports of names that signatures use; the others are of builtins."""
    abstract = names & {"Iterable", "Sequence"}
    if abstract:
        yield f"from collections.abc import {', '.join(sorted(abstract))}"
        yield ""
    used = sorted(names - abstract - set(vars(builtins)))
    yield "from tx8ir.core import " + ", ".join(used)


def _home(package: ModuleType, name: str) -> str:
    """The module of the package, relative to it, that an exported name is defined in."""
    value = getattr(package, name)
    module = getattr(value, "__module__", None)
    if isinstance(module, str) and getattr(sys.modules.get(module), name, None) is value:
        return _relative(package, module)
    for path, candidate in sys.modules.items():  # a constant says nothing of its home
        if path.startswith(package.__name__ + ".") and vars(candidate).get(name) is value:
            return _relative(package, path)
    raise LookupError(f"no module of {package.__name__} defines {name}")


def _relative(package: ModuleType, module: str) -> str:
    prefix = package.__name__ + "."
    return "." + module.removeprefix(prefix) if module.startswith(prefix) else module


def _base(op_class: type[Op]) -> type[Op]:
    return next(base for base in op_class.__mro__[1:] if issubclass(base, Op))


def _class(op_class: type[Op], names: set[str]) -> Iterator[str]:
    """A class with its own fields and its constructor, which follows from the base where there are none."""
    definition = op_class.definition
    own = vars(op_class)["_own_fields"]
    head = f"class {op_class.__name__}({_base(op_class).__name__}):"
    if not own:
        yield f"{head} ..."
        return
    yield head
    fields: list[ValueField | AttributeField] = [*definition.operands, *definition.attributes, *definition.results]
    for field in fields:
        if field.name not in own:
            continue
        yield f"    {field.name}: {field.annotation}"
        names.update(re.findall(r"\w+", str(field.annotation)))
    yield from _function("__init__", signature_of(definition), "None", names)


def _value_class(value_class: type[Value], names: set[str]) -> Iterator[str]:
    """A class that values are lent, whose methods have signatures: those that make an operation."""
    yield ""
    yield f"class {value_class.__name__}({value_class.__mro__[1].__name__}):"
    for name, method in vars(value_class).items():
        signature = getattr(method, "__signature__", None)
        if signature is not None:
            _, *others = signature.parameters.values()
            given = signature.return_annotation
            yield from _function(name, signature.replace(parameters=others), given, names)


def _function(name: str, signature: inspect.Signature, returns: str, names: set[str]) -> Iterator[str]:
    """A method, in one line or with a line for each parameter. `signature` is without self."""
    parameters = ["self"]
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        default = "" if parameter.default is parameter.empty else f" = {_literal(parameter.default)}"
        parameters.append(f"{parameter.name}: {parameter.annotation}{default}")
        names.update(re.findall(r"[A-Za-z_]\w*", str(parameter.annotation)))
    line = f"    def {name}({', '.join(parameters)}) -> {returns}: ..."
    if len(line) <= _LINE:
        yield line
    else:
        yield f"    def {name}("
        yield from (f"        {parameter}," for parameter in parameters)
        yield f"    ) -> {returns}: ..."


def _literal(value: Any) -> str:
    """A default as source, if a stub can say it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    if isinstance(value, str):
        return json.dumps(value)  # quotes as the formatter wants them
    return repr(value) if value is None or value == () or isinstance(value, bool | int | float) else "..."


def main(packages: list[str]) -> None:
    """Write the stubs of packages, by their import names."""
    for name in packages:
        package = importlib.import_module(name)
        assert package.__file__ is not None
        path = Path(package.__file__).with_suffix(".pyi")
        path.write_text(stub(package), encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
