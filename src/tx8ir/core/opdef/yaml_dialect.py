"""Dialects from YAML op lists, in the manner of Paddle's ops.yaml: each entry becomes an ordinary op class.

- op : addmm
  inputs : (Tensor input, Tensor x, Tensor y)
  attributes : (float beta=1.0, float alpha=1.0)
  outputs : Tensor(out)
  traits : (Pure, HasValueSemantics)
  interfaces :
    InferTypes :
      func : addmm_types
  kernel :
    func : addmm

Names of Paddle's own (`paddle::dialect::InferSymbolicShapeInterface`, `pir::SideEffectTrait`) that mean nothing here
are kept in the class's `declaration`. Without `functions`, so are those of kernels and of what infers types.
"""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias, cast

from tx8ir.core.attrs.attributes import Attribute
from tx8ir.core.attrs.types import DictType, ListType, RankedTensor, Type
from tx8ir.core.errors import IrError, ParseError
from tx8ir.core.files import MAX_YAML_BYTES, LoadError, read_regular
from tx8ir.core.ir import interfaces as core_interfaces
from tx8ir.core.ir import traits as core_traits
from tx8ir.core.ir.interfaces import Compute, InferTypes, Interface
from tx8ir.core.ir.traits import Trait

from .fields import Field, attribute, operand, optional_operand, result, variadic_operand, variadic_result
from .op import RESERVED, Op, OpMeta
from .yaml_values import ATTRIBUTES, MAY_LACK, NoneGiven, find_named, read_constant

YamlNode: TypeAlias = Any
"""A node of PyYAML, which is loaded only when a list is read: `id`, `value`, `start_mark`."""

Functions = Mapping[str, Callable[..., Any]]

_VALUES: Final[dict[str, Any]] = {"Tensor": (RankedTensor,), "List": (ListType,), "Dict": (DictType,), "Any": None}
_KEYS: Final = frozenset(
    {"op", "inputs", "attributes", "args", "outputs", "output", "optional", "traits", "interfaces", "infer_meta",
     "kernel", "Kernel", "doc"}
)  # fmt: skip
_KEPT: Final = frozenset(
    {
        "backward",
        "forward",
        "inplace",
        "view",
        "intermediate",
        "no_need_buffer",
        "data_transform",
        "composite",
        "spmd_rule",
        "invoke",
        "support_dygraph_mode",
    }
)
"""Keys of Paddle's lists that are kept in `declaration` and mean nothing here."""
_KERNEL_KEYS: Final = ("backend", "data_type", "dispatch", "force_backend", "func", "layout", "param")
_ALIASES: Final = {"InferShape": "InferTypes", "InferMeta": "InferTypes", "Backward": "Grad"}
"""Interfaces by the names that Paddle's design has for them."""

_PIECE: Final = re.compile(r'(?:[^,(){}\[\]"]|\([^)]*\)|\{[^}]*\}|\[[^\]]*\]|"(?:[^"\\]|\\.)*")+')
_PARAMETER: Final = re.compile(
    r"\s*([A-Za-z_][\w:]*(?:\(\w+\))?(?:\[\])?)\s+([A-Za-z_]\w*)\s*(?:=\s*(.*?))?\s*$", re.DOTALL
)
_OUTPUT: Final = re.compile(r"\s*([A-Za-z_][\w:]*(?:\[\])?)\s*(?:\(\s*([A-Za-z_]\w*)\s*\))?\s*(?:\{[^}]*\})?\s*$")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_QUALIFIED: Final = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_KERNEL: Final = re.compile(r"\s*([A-Za-z_]\w*)")
"""The name of a kernel; of the first of several for different storages: `adam {dense -> dense}, adam_sparse {…}`."""


def load_ops(
    dialect: str,
    source: str | os.PathLike[str],
    functions: Functions | None = None,
    interfaces: Mapping[str, type[Interface]] | None = None,
    traits: Mapping[str, type[Trait]] | None = None,
) -> list[type[Op]]:
    """The op classes of a YAML op list; see `Dialect.from_yaml`.

    Raises:
        ParseError: the list is not YAML, or an entry says something that is not understood; with line and column.
        IrError: PyYAML is not installed. LoadError: the file cannot be read.
    """
    return _Loader(dialect, source, functions, interfaces or {}, traits or {}).load()


class _Loader:
    """One YAML text on its way to op classes. Works on nodes, which know their lines and columns."""

    def __init__(
        self,
        dialect: str,
        source: str | os.PathLike[str],
        functions: Functions | None,
        interfaces: Mapping[str, type[Interface]],
        traits: Mapping[str, type[Trait]],
    ) -> None:
        self.dialect = dialect
        if isinstance(source, str) and "\n" in source:
            self.text, self.file = source, "<text>"
        else:
            self.file = os.fspath(source)
            data = read_regular(source, MAX_YAML_BYTES, "a YAML operation list")
            try:
                self.text = data.decode("utf-8")
            except UnicodeDecodeError as error:
                raise LoadError(
                    source, "a YAML operation list in UTF-8", f"byte 0x{data[error.start]:02X} at {error.start}"
                ) from None
        self.functions = functions or {}
        self.only_declares = functions is None
        self.interfaces = {n: c for n, c in vars(core_interfaces).items() if _is_a(c, Interface)} | dict(interfaces)
        self.traits = {n: c for n, c in vars(core_traits).items() if _is_a(c, Trait)} | dict(traits)

    # -- errors and nodes -----------------------------------------------------------------------------------------

    def fail(self, message: str, node: YamlNode, offset: int = 0) -> NoReturn:
        """Raise ParseError at a node, or `offset` characters into the text of a scalar."""
        self._fail_at(message, node.start_mark.line, node.start_mark.column + offset)

    def _fail_at(self, message: str, line: int, column: int) -> NoReturn:
        lines = self.text.splitlines()
        raise ParseError(message, self.file, line + 1, column + 1, lines[line] if line < len(lines) else "")

    def string(self, node: YamlNode, what: str) -> str:
        if not isinstance(node.value, str):
            self.fail(f"expected {what}, found a {node.id}", node)
        return node.value

    def entries(self, node: YamlNode, what: str) -> dict[str, tuple[YamlNode, YamlNode]]:
        """Keys of a mapping to their own and their value's nodes."""
        if node.id != "mapping":
            self.fail(f"expected {what}, found a {node.id}", node)
        found: dict[str, tuple[YamlNode, YamlNode]] = {}
        for key, value in cast("list[tuple[YamlNode, YamlNode]]", node.value):
            name = self.string(key, "a key")
            if name in found:
                self.fail(f"the key {name!r} is given twice", key)
            found[name] = key, value
        return found

    # -- entries --------------------------------------------------------------------------------------------------

    def load(self) -> list[type[Op]]:
        try:
            import yaml  # here, because nothing else needs it
        except ImportError:
            raise IrError("YAML op lists need PyYAML: pip install 'tx8ir[yaml]'") from None
        try:
            root = cast(Any, yaml).compose(self.text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            if mark is None:
                raise
            self._fail_at(f"no YAML: {error.problem or error.context}", mark.line, mark.column)
        except (yaml.YAMLError, RecursionError) as error:
            self._fail_at(f"no YAML: {error}", 0, 0)
        if root is None:
            return []
        nodes = cast("list[YamlNode]", root.value if root.id == "sequence" else [root])
        classes: dict[str, type[Op]] = {}
        for node in nodes:
            keys = self.entries(node, "an entry like '- op : name'")
            if "op" not in keys:
                self.fail("this entry lacks the key 'op'", node)
            name = self._op_name(keys["op"][1])
            if name in classes:
                self.fail(f"the operation {name!r} is defined twice", keys["op"][1])
            for key, (key_node, _) in keys.items():
                if key not in _KEYS | _KEPT:
                    self.fail(f"unknown key {key!r}, expected one of {', '.join(sorted(_KEYS | _KEPT))}", key_node)
            try:
                declaration = yaml.safe_load(cast(Any, yaml).serialize(node))
            except yaml.YAMLError as error:
                self.fail(f"this entry holds what no plain data is: {error}", node)
            classes[name] = _Entry(self, name, keys, declaration).op_class()
        return list(classes.values())

    def _op_name(self, node: YamlNode) -> str:
        name = self.string(node, "the name of an operation").removeprefix(f"{self.dialect}.")
        if re.fullmatch(r"[A-Za-z_][\w.]*", name) is None:
            self.fail(f"expected the name of an operation of dialect {self.dialect!r}, found {name!r}", node)
        return name


class _Entry:
    """One entry on its way to an op class: fields by Python name, and methods."""

    def __init__(
        self,
        loader: _Loader,
        name: str,
        keys: dict[str, tuple[YamlNode, YamlNode]],
        declaration: dict[str, Any],
    ) -> None:
        self.loader, self.name, self.keys = loader, name, keys
        self.fields: dict[str, Field] = {}
        self.annotations: dict[str, Any] = {}
        self.operand_names: dict[str, str] = {}  # as in the list, to the Python name
        self.output_names: list[str] = []
        self.attribute_names: dict[str, str] = {}  # as in the list, to the Python name
        self.bases: list[type[Any]] = []
        self.namespace: dict[str, Any] = {"__module__": __name__, "declaration": declaration}

    def op_class(self) -> type[Op]:
        keys, fail = self.keys, self.loader.fail
        if "Kernel" in keys:
            if "kernel" in keys:
                fail("'kernel' and 'Kernel' say the same; give one of them", keys["Kernel"][0])
            keys["kernel"] = keys.pop("Kernel")
        if "args" in keys and ("inputs" in keys or "attributes" in keys):
            fail("'args' says both inputs and attributes; give either it or these two", keys["args"][0])
        if "output" in keys and "outputs" in keys:
            fail("'output' and 'outputs' say the same; give one of them", keys["output"][0])
        optional = set(self._names("optional"))
        for key in ("inputs", "args", "attributes"):
            for type, name, default, node, offset in self._parameters(key):
                is_value = type.removesuffix("[]") in _VALUES and key != "attributes"
                if is_value:
                    self._operand(type, name, default, name in optional, node, offset)
                elif key == "inputs":
                    fail(f"unknown type {type!r} of input {name!r}, expected one of {_listed(_VALUES)}", node, offset)
                else:
                    self._attribute(type, name, default, node, offset)
        self._outputs(optional)
        for name in optional.difference(self.operand_names, self.output_names):
            fail(f"'optional' names {name!r}, which is not an input and no output", keys["optional"][1])
        self._methods()
        self.namespace |= self.fields
        self.namespace["__annotations__"] = self.annotations
        self.namespace["__doc__"] = self.loader.string(keys["doc"][1], "a text") if "doc" in keys else None
        class_name = "".join(part[:1].upper() + part[1:] for part in re.split(r"[_.]", self.name) if part) + "Op"
        try:
            return OpMeta(
                class_name,
                (Op, *self.bases),
                self.namespace,
                name=f"{self.loader.dialect}.{self.name}",
                traits=self._traits(),
            )
        except TypeError as error:  # what the class statement would refuse too
            fail(str(error), keys["op"][1])

    # -- fields ---------------------------------------------------------------------------------------------------

    def _pieces(self, key: str) -> Iterator[tuple[str, YamlNode, int]]:
        """The pieces between the commas of `(…, …)`, with their node and offset in its text."""
        if key not in self.keys:
            return
        node = self.keys[key][1]
        if node.id == "sequence":
            for item in cast("list[YamlNode]", node.value):
                yield self.loader.string(item, f"a text in {key!r}"), item, _quote_width(item)
            return
        text = self.loader.string(node, f"a list like '(…, …)' under {key!r}")
        start, end = 0, len(text)
        if text.startswith("(") and text.rstrip().endswith(")"):
            start, end = 1, len(text.rstrip()) - 1
        while start < end:
            if text[start] in ", \n":
                start += 1
                continue
            match = _PIECE.match(text, start, end)
            if match is None:
                self.loader.fail(f"unbalanced {text[start]!r}", node, start + _quote_width(node))
            yield match.group().rstrip(), node, start + _quote_width(node)
            start = match.end()

    def _names(self, key: str) -> Iterator[str]:
        for piece, node, offset in self._pieces(key):
            if _NAME.fullmatch(piece) is None:
                self.loader.fail(f"expected a name, found {piece!r}", node, offset)
            yield piece

    def _parameters(self, key: str) -> Iterator[tuple[str, str, str | None, YamlNode, int]]:
        for piece, node, offset in self._pieces(key):
            match = _PARAMETER.match(piece)
            if match is None:
                self.loader.fail(f"expected 'Type name' or 'Type name=default', found {piece!r}", node, offset)
            yield match[1], match[2], match[3], node, offset

    def _add(self, name: str, field: Any, node: YamlNode, offset: int) -> str:
        python_name = f"{name}_" if name in RESERVED or keyword.iskeyword(name) else name
        if python_name in self.fields:
            self.loader.fail(f"the name {name!r} is given twice", node, offset)
        self.fields[python_name] = field
        return python_name

    def _operand(self, type: str, name: str, default: str | None, optional: bool, node: YamlNode, offset: int) -> None:
        if default is not None:
            self.loader.fail(f"input {name!r} has no default; name it under 'optional'", node, offset)
        constraint = _VALUES[type.removesuffix("[]")]
        if type.endswith("[]"):
            field = variadic_operand(constraint)
        else:
            field = optional_operand(constraint) if optional else operand(constraint)
        self.operand_names[name] = self._add(name, field, node, offset)

    def _attribute(self, type: str, name: str, default: str | None, node: YamlNode, offset: int) -> None:
        annotation = ATTRIBUTES.get(type)
        if annotation is None:
            known = _listed(ATTRIBUTES if "attributes" in self.keys else _VALUES | ATTRIBUTES)
            self.loader.fail(f"unknown type {type!r} of {name!r}, expected one of {known}", node, offset)
        if default is None:
            field = attribute(name=name)
        else:
            given = self._default(annotation, type, name, default, node, offset)
            if type in MAY_LACK:
                annotation |= None
            field = attribute(default=given, name=name)
        python_name = self._add(name, field, node, offset)
        self.annotations[python_name] = annotation
        self.attribute_names[name] = python_name

    def _default(self, annotation: Any, type: str, name: str, text: str, node: YamlNode, offset: int) -> Any:
        given: object = read_constant(text, type)
        if isinstance(given, NoneGiven):
            return None
        if isinstance(given, list) and annotation in _SEQUENCES:
            items = [_as(_SEQUENCES[annotation], item) for item in cast("list[Any]", given)]
            if None not in items:
                return tuple(items)
        elif annotation in (bool, int, float, str):
            if (value := _as(annotation, cast(object, given))) is not None:
                return value
        elif isinstance(given, Type) or (annotation is Attribute and isinstance(given, (bool, int, float, str))):
            return given
        article = "an" if type[0] in "aeiou" else "a"
        self.loader.fail(f"the default of {name!r} is not {article} {type}: {text}", node, offset)

    def _outputs(self, optional: Collection[str]) -> None:
        key = "outputs" if "outputs" in self.keys else "output"
        pieces = list(self._pieces(key))
        found: list[tuple[str, bool, Any, YamlNode, int]] = []
        for number, (piece, node, offset) in enumerate(pieces):
            match = _OUTPUT.match(piece)
            if match is None or match[1].removesuffix("[]") not in _VALUES:
                expected = f"'Type(name)' with a type of {_listed(_VALUES)}"
                self.loader.fail(f"expected {expected}, found {piece!r}", node, offset)
            name = match[2] or ("out" if len(pieces) == 1 else f"out{number}")
            constraint = _VALUES[match[1].removesuffix("[]")]
            found.append((name, match[1].endswith("[]"), constraint, node, offset))
        # One field may stand for any number of results; of several that may lack, each is taken to be there.
        varying = [name for name, is_list, *_ in found if is_list or name in optional]
        for name, is_list, constraint, node, offset in found:
            may_lack = is_list or varying == [name]
            self._add(name, (variadic_result if may_lack else result)(constraint), node, offset)
            self.output_names.append(name)

    # -- methods --------------------------------------------------------------------------------------------------

    def _traits(self) -> tuple[type[Trait], ...]:
        found: list[type[Trait]] = []
        for piece, node, offset in self._pieces("traits"):
            trait = find_named(piece, self.loader.traits, "Trait")
            if trait is not None:
                found.append(trait)
            elif "::" not in piece or _QUALIFIED.fullmatch(piece) is None:
                self.loader.fail(f"unknown trait {piece!r}, known: {_listed(self.loader.traits)}", node, offset)
        return tuple(found)

    def _methods(self) -> None:
        loader = self.loader
        if "interfaces" in self.keys:
            self._interfaces(self.keys["interfaces"][1])
        if "infer_meta" in self.keys:
            key, node = self.keys["infer_meta"]
            parts = loader.entries(node, "'func : name'")
            self._check_names(parts.pop("param", None))
            parts.pop("spmd_rule", None)
            self._implement(InferTypes, key, parts)
        if "kernel" in self.keys:
            self._kernel(*self.keys["kernel"])

    def _interfaces(self, node: YamlNode) -> None:
        """A mapping of interfaces to functions, or names of Paddle's own alone."""
        loader = self.loader
        if node.id != "mapping":
            for piece, at, offset in self._pieces("interfaces"):
                if "::" not in piece or _QUALIFIED.fullmatch(piece) is None:
                    loader.fail(
                        f"expected a mapping of interfaces, or names as 'paddle::dialect::…', found {piece!r}",
                        at,
                        offset,
                    )
            return
        for name, (key, value) in loader.entries(node, "a mapping of interfaces").items():
            interface = find_named(_ALIASES.get(name, name), loader.interfaces, "Interface")
            if interface is None:
                loader.fail(f"unknown interface {name!r}, known: {_listed(loader.interfaces)}", key)
            if value.id != "scalar":
                self._implement(interface, key, loader.entries(value, "'func : name'"))
            elif value.value in loader.functions:
                self._implement(interface, key, {"func": (key, value)})
            elif name != "Backward":  # which names an operation, as the key `backward` does
                self._function(value)

    def _kernel(self, key: YamlNode, node: YamlNode) -> None:
        loader = self.loader
        parts = loader.entries(node, "'func : name'")
        for part, (part_key, value) in parts.items():
            if part in ("data_type", "backend", "layout"):
                names = {v.strip() for v in re.split(r"[,>]", loader.string(value, "the name of an input"))}
                if not names <= {*self.operand_names, *self.attribute_names}:
                    loader.fail(f"{part!r} names {value.value!r}, which is not an input and no attribute", value)
            elif part not in _KERNEL_KEYS:
                loader.fail(f"unknown key {part!r} of a kernel, expected {', '.join(_KERNEL_KEYS)}", part_key)
        if "func" not in parts:
            loader.fail("a kernel lacks the key 'func'", key)
        taken = self._check_names(parts.get("param"))
        function = self._function(parts["func"][1])
        if function is not None:
            self._base(Compute, key)
            self.namespace["compute"] = _kernel(function, self.attribute_names, self.operand_names, taken)

    def _check_names(self, param: tuple[YamlNode, YamlNode] | None) -> list[str] | None:
        """The inputs and attributes that `param` lists; None where it is not given: all."""
        if param is None:
            return None
        found: list[str] = []
        for item in cast("list[YamlNode]", param[1].value) if param[1].id == "sequence" else [param[1]]:
            name = self.loader.string(item, "the name of an input or an attribute")
            if name not in (*self.operand_names, *self.attribute_names):
                self.loader.fail(f"'param' names {name!r}, which is not an input and no attribute", item)
            found.append(name)
        return found

    def _implement(
        self, interface: type[Interface], key: YamlNode, given: dict[str, tuple[YamlNode, YamlNode]]
    ) -> None:
        """Take the methods of an interface from functions: `{func: f}` when it has one, `{method: f, …}` otherwise."""
        methods = [n for n, f in vars(interface).items() if callable(f) and not n.startswith("_")]
        if len(methods) == 1 and "func" in given:
            given[methods[0]] = given.pop("func")
        for name, (name_node, _) in given.items():
            if name not in methods:
                self.loader.fail(
                    f"{interface.__name__} has no method {name!r}, it has: {', '.join(methods)}", name_node
                )
        for method in methods:
            if method not in given:
                self.loader.fail(f"{interface.__name__} needs a function for {method!r}", key)
        functions = {method: self._function(given[method][1]) for method in methods}
        if self.loader.only_declares:
            return
        self.namespace |= {method: _method(function) for method, function in functions.items() if function is not None}
        self._base(interface, key)

    def _base(self, interface: type[Interface], key: YamlNode) -> None:
        if interface in self.bases:
            self.loader.fail(f"{interface.__name__} is implemented twice", key)
        self.bases.append(interface)

    def _function(self, node: YamlNode) -> Callable[..., Any] | None:
        """The function of a name; None where a list is read for what it declares alone."""
        text = self.loader.string(node, "the name of a function")
        match = _KERNEL.match(text)
        name = match[1] if match is not None else text
        found = self.loader.functions.get(name)
        if found is None and not self.loader.only_declares:
            self.loader.fail(f"no function {name!r} was given, only: {_listed(self.loader.functions)}", node)
        return found


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that calls `function` with the operation first; any callable is one, not only a Python function."""

    def method(op: Any, *args: Any, **kwargs: Any) -> Any:
        return function(op, *args, **kwargs)

    return method


def _kernel(
    function: Callable[..., Any],
    attributes: Mapping[str, str],
    operands: Mapping[str, str],
    taken: Collection[str] | None,
) -> Callable[..., Any]:
    """`compute` from a kernel: it takes the arrays, then the attributes by the names of the list; those of `taken`."""
    passed = {name: key for name, key in attributes.items() if taken is None or name in taken}
    fields = None if taken is None else {key for name, key in operands.items() if name in taken}

    def compute(op: Any, *arrays: Any) -> Any:
        given: Sequence[Any] = arrays
        if fields is not None:
            definition = op.definition
            ranges = [definition.operand_range(op, f) for f in definition.operands if f.name in fields]
            given = [array for start, end in ranges for array in arrays[start:end]]
        return function(*given, **{name: getattr(op, key) for name, key in passed.items()})

    return compute


_SEQUENCES: Final[dict[Any, type[Any]]] = {
    tuple[int, ...]: int,
    tuple[float, ...]: float,
    tuple[bool, ...]: bool,
    tuple[str, ...]: str,
}


def _is_a(thing: Any, base: type[Any]) -> bool:
    return isinstance(thing, type) and issubclass(thing, base) and thing is not base


def _as(kind: type[Any], given: object) -> Any:
    """`given` if it is of that kind exactly, an int as a float if a float is wanted; else None."""
    if kind is float and given.__class__ is int:
        return float(cast(int, given))
    return given if given.__class__ is kind else None


def _quote_width(node: YamlNode) -> int:
    return 1 if getattr(node, "style", None) in ("'", '"') else 0


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(sorted(names)) or "none"
