"""Writes the stub of a dialect's package: what type checkers are to see of names that are made when it is imported.

`python -m tx8ir.core.opdef.stubs tx8ir.dialects.pd` writes `__init__.pyi` beside `__init__.py`. A package that exports
its operations by `globals().update(DIALECT.exports)` needs it; a test compares the file with `stub`.
"""

from __future__ import annotations

import builtins
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tx8ir.core.context import Dialect

from .fields import MISSING, AttributeField, ValueField
from .op import Op

_PARAMETERS = {
    "one": "Value | Operation",
    "optional": "Value | Operation | None",
    "many": "Iterable[Value | Operation]",
}
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
    aliases: list[str] = []
    declared: dict[str, str] = vars(package).get("__annotations__", {})
    names = {word for annotation in declared.values() for word in re.findall(r"\w+", annotation)}
    for name in package.__all__:
        if name not in declared:
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
        "# ruff: noqa: I001",
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
    if "Iterable" in names:
        yield "from collections.abc import Iterable"
        yield ""
    used = sorted(names - {"Iterable"} - set(vars(builtins)))
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
    parameters = ["self"]
    for operand in definition.operands:
        default = {"one": "", "optional": " = None", "many": " = ()"}[operand.count]
        parameters.append(f"{operand.name}: {_PARAMETERS[operand.count]}{default}")
        names.update(re.findall(r"\w+", _PARAMETERS[operand.count]))
    parameters.append("*")
    for attribute in definition.attributes:
        default = "" if attribute.default is MISSING else f" = {_literal(attribute.default)}"
        parameters.append(f"{attribute.name}: {attribute.annotation}{default}")
    parameters += [f"{result.name}: Type | None = None" for result in definition.results]
    names.add("Type")
    fields: list[ValueField | AttributeField] = [*definition.operands, *definition.attributes, *definition.results]
    for field in fields:
        if field.name not in own:
            continue
        yield f"    {field.name}: {field.annotation}"
        names.update(re.findall(r"\w+", str(field.annotation)))
    signature = f"    def __init__({', '.join(parameters)}) -> None: ..."
    if len(signature) <= _LINE:
        yield signature
    else:
        yield "    def __init__("
        yield from (f"        {parameter}," for parameter in parameters)
        yield "    ) -> None: ..."


def _literal(value: Any) -> str:
    """A default as source, if a stub can say it."""
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else "..."


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
