"""The constructor of an op class, generated from its definition as a function specialised to its fields."""

# The generated constructor fills the slots of what it makes.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn, cast

from tx8ir.core.attrs.attributes import EMPTY_DICT, Attribute, DictAttr, dict_attr
from tx8ir.core.attrs.types import Type
from tx8ir.core.errors import IrError, VerifyError
from tx8ir.core.ir.block import Block, Region, require_block
from tx8ir.core.ir.interfaces import InferTypes
from tx8ir.core.ir.operation import Operation, discard
from tx8ir.core.ir.traits import SameOperandsAndResultType
from tx8ir.core.ir.value import OpOperand, OpResult, Value, as_value, link, link_source, operand_source, result_source
from tx8ir.core.location import SITES, THREAD, at_location, python_location

from .definition import SEGMENTS, OpDef, segment_sizes
from .fields import MISSING


def generate_constructor(d: OpDef) -> Callable[..., None]:
    """The constructor of an op class as a function specialised to its fields."""
    name = d.op_class.name or d.op_class.__name__
    scope: dict[str, Any] = {
        "OpOperand": OpOperand, "OpResult": OpResult, "as_value": as_value, "link": link, "EMPTY_DICT": EMPTY_DICT,
        "THREAD": THREAD, "SITES": SITES, "_id": id, "getframe": sys._getframe, "python_location": python_location,
        "definition": d,
        "encode_attributes": _encode_attributes, "infer": _infer, "check_result_types": _check_result_types,
        "take_region": _take_region, "take_block": _take_block, "refuse_repeated": _refuse_repeated,
        "discard": discard, "inferred": d.inferred, "coerce_here": _coerce,
    }  # fmt: skip
    params = ["self"]
    last_required = max((i for i, f in enumerate(d.operands) if f.count == "one"), default=-1)
    for i, f in enumerate(d.operands):  # one before a required one has no default, as in any Python signature
        default = {"one": "", "optional": "=None", "many": "=()"}[f.count]
        params.append(f.name if i < last_required else f.name + default)
    keyword: list[str] = []
    for f in d.attributes:
        if f.default is not MISSING:
            scope[f"default_{f.name}"] = f.default
            keyword.append(f"{f.name}=default_{f.name}")
        else:
            keyword.append(f"{f.name}=None" if d.codecs[f.name][1] else f.name)
    keyword += [f.name for f in d.successors]
    keyword += [f"{f.name}=None" for f in (*d.regions, *d.results)]
    if keyword:
        params += ["*", *keyword]
    body: list[str] = []
    fixed = not d.varying
    coerce = getattr(d.op_class, "coerce_operands", None)
    indent = ""
    if coerce is not None:
        scope["coerce"] = coerce
        names = ", ".join(f.name for f in d.operands)
        foreign = " or ".join(f"{f.name}.__class__ is not OpResult" for f in d.operands)
        body += [f"if {foreign}:", f"    {names} = coerce_here(coerce, {names})"]
        indent = "    "
    for f in d.operands:
        what = f"operand {f.name} of {name}"
        if f.count == "one":
            body.append(f"{indent}if {f.name}.__class__ is not OpResult: {f.name} = as_value({f.name}, {what!r})")
        elif f.count == "optional":
            body.append(f"{f.name} = () if {f.name} is None else (as_value({f.name}, {what!r}),)")
        else:
            body.append(f"{f.name} = [as_value(v, {what!r}) for v in {f.name}]")
    if d.attributes or d.uses_segments:
        given = ", ".join(f"{f.name!r}: {f.name}" for f in d.attributes)
        sizes = ", ".join("1" if f.count == "one" else f"len({f.name})" for f in d.operands)
        segments = f"({sizes},)" if d.uses_segments else "None"
        body.append(f"attributes = encode_attributes(definition, {{{given}}}, {segments})")
    else:
        body.append("attributes = EMPTY_DICT")
    body.append("self._attributes = attributes")
    if fixed:
        for i, f in enumerate(d.operands):
            body.append(operand_source(f"o{i}", "self", i, f.name))
        uses = "".join(f"o{i}, " for i in range(len(d.operands)))
        body.append(f"self._operands = ({uses})")
    else:
        parts = ", ".join(f.name if f.count == "one" else f"*{f.name}" for f in d.operands)
        body += [
            "uses = []",
            f"for _index, _value in enumerate(({parts},)):",  # names that no field has
            f"    {operand_source('_use', 'self', '_index', '_value')}",
            "    uses.append(_use)",
            "self._operands = tuple(uses)",
        ]
    body.append("self._results = self._regions = self._successors = ()")
    body.append("self._parent = self._previous = self._next = None; self._order = 0")
    body += [
        "_build = THREAD.build; _location = _build.location",  # no field has such a name
        "if _location is None:",
        "    _frame = getframe(1); _code = _frame.f_code; _offset = _frame.f_lasti",
        "    try: _location = SITES[_id(_code), _offset]",
        "    except KeyError: _location = python_location(_code, _offset)",
        "self._location = _location",
    ]
    if d.successors:
        taken = ", ".join(f"take_block({f.name}, 'successor {f.name} of {name}')" for f in d.successors)
        body.append(f"self._successors = ({taken},)")
    body += _result_lines(d, fixed)
    if d.regions:
        single = d.regions[:-1] if d.has_variadic_region else d.regions
        taken = "".join(f"take_region(self, {f.name}, {f.name!r}), " for f in single)
        if d.has_variadic_region:
            last = d.regions[-1].name
            taken += f"*[take_region(self, r, {last!r}) for r in {last} or ()],"
        body.append(f"regions = ({taken})")
        if len(d.regions) > 1 or d.has_variadic_region:
            body.append("if len(set(regions)) < len(regions): refuse_repeated(self)")
        body.append("for r in regions: r._parent = self")
        body.append("self._regions = regions")
    # The parts are checked, so the chains of the operands may change; what can still fail discards the operation.
    if fixed:
        for i, f in enumerate(d.operands):
            body += link_source(f"o{i}", f.name)
    else:
        body.append("link(uses)")
    body.append("point = _build.insertion_point")
    inserted = ["try: point.insert(self)", "except BaseException: discard(self); raise"]
    if hasattr(d.op_class, "initialize"):
        body += ["try: self.initialize()", "except BaseException: discard(self); raise"]
    elif not d.regions:  # a block takes any new operation without regions; an anchor may be gone
        inserted = [
            "if point.anchor is None: point.block.link_last(self)",
            "else:",
            *(f"    {line}" for line in inserted),
        ]
    body += ["if point is not None:", *(f"    {line}" for line in inserted)]
    source = f"def __init__({', '.join(params)}):\n" + "".join(f"    {line}\n" for line in body)
    exec(compile(source, f"<constructor of {name}>", "exec"), scope)
    constructor = scope["__init__"]
    constructor.__qualname__ = name  # what Python says in an error about its arguments
    return constructor


def _result_lines(d: OpDef, fixed: bool) -> list[str]:
    """Find the result types, from the caller or by inference, and make the results."""
    if not d.results:
        return []
    lines: list[str] = []
    single = len(d.results) == 1 and d.results[0].count == "one"
    if single and fixed and d.operands and SameOperandsAndResultType in d.op_class.info.traits:
        out, first = d.results[0].name, d.operands[0].name
        same = " and ".join(f"{f.name}._type is t0" for f in d.operands[1:]) or "True"
        lines += [f"t0 = {first}._type", f"if {out} is not None or not ({same}):",
                  f"    t0, = check_result_types(definition, self, ({out},))"]  # fmt: skip
    elif single and fixed and issubclass(d.op_class, InferTypes) and not d.regions:
        out = d.results[0].name
        key = "".join([f"{f.name}._type, " for f in d.operands] + ["attributes, "] * bool(d.attributes))
        lines += [f"try: types = inferred[({key})] if {out} is None else None",
                  "except KeyError: types = None",
                  f"if types is None: types = infer(definition, self, ({out},), ({key}))",
                  "t0, = types"]  # fmt: skip
    else:
        given = ", ".join(f.name for f in d.results)
        lines.append(f"types = infer(definition, self, ({given},), None)")
        lines += [
            "results = []",
            "for _index, _type in enumerate(types):",
            f"    {result_source('r', 'self', '_index', '_type')}; results.append(r)",
            "self._results = tuple(results)",
        ]
        return lines
    lines += [
        result_source("r", "self", 0, "t0"),
        "self._results = (r,)",
    ]
    return lines


def _encode_attributes(d: OpDef, given: dict[str, Any], segments: tuple[int, ...] | None) -> DictAttr:
    """The attribute dictionary of a new operation. Raises IrError naming the attribute that does not fit."""
    entries: dict[str, Attribute] = {}
    codecs = d.codecs
    for field in d.attributes:
        value = given[field.name]
        codec, optional = codecs[field.name]
        if value is None and optional:
            continue
        try:
            entries[field.key] = codec.encode(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise IrError(f"attribute {field.key} of {d.op_class.name}: {error}") from error
    if segments is not None:
        entries[SEGMENTS] = segment_sizes(segments)
    keys = tuple(sorted(entries))
    return dict_attr(keys, tuple([entries[k] for k in keys]))


def _infer(d: OpDef, op: Operation, given: tuple[Any, ...], key: Any) -> tuple[Type, ...]:
    """The result types: those given, else inferred, remembered under `key`. Raises VerifyError or IrError."""
    if all(t is None for t in given):
        if isinstance(op, InferTypes):
            try:
                types = tuple(op.infer_types())
            except VerifyError as error:
                if error.op is None:  # let inference helpers leave the place to us
                    raise VerifyError(f"{op.name}: {error.message}", op) from error
                raise
            least = sum(f.count == "one" for f in d.results)
            if len(types) < least or (len(types) > least and least == len(d.results)):
                raise IrError(f"{op.name} inferred {len(types)} result types for {len(d.results)} results", op)
            if key is not None:
                d.inferred[key] = types
            return types
        if SameOperandsAndResultType in d.op_class.info.traits and op.op_operands:
            return (op.operands[0].type,) * len(d.results)
        if all(f.count == "many" for f in d.results):
            return ()
        only = [f.only_type for f in d.results]
        if None not in only:
            return cast("tuple[Type, ...]", tuple(only))
        raise IrError(f"{op.name} needs the type of its result: pass {d.results[0].name}=…", op)
    return _check_result_types(d, op, given)


def _check_result_types(d: OpDef, op: Operation, given: tuple[Any, ...]) -> tuple[Type, ...]:
    types: list[Type] = []
    for field, value in zip(d.results, given, strict=True):
        for item in (value,) if field.count == "one" else tuple(value or ()):
            if not isinstance(item, Type):
                if item is None and SameOperandsAndResultType in d.op_class.info.traits:
                    shown = ", ".join(str(v.type) for v in op.operands)
                    raise VerifyError(f"{op.name} needs one type for all operands and results, not {shown}", op)
                raise IrError(f"result {field.name} of {op.name} takes a Type, not {item!r}", op)
            types.append(item)
    return tuple(types)


def _coerce(coerce: Callable[..., Any], *operands: Any) -> Any:
    """What `coerce_operands` makes of the operands; operations it makes for that are at the line of the constructor."""
    if all(isinstance(operand, (Value, Operation)) for operand in operands):
        return operands
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    with at_location(THREAD.build.location or python_location(frame.f_code, frame.f_lasti)):
        return coerce(*operands)


def _take_block(given: Block, what: str) -> Block:
    require_block(given, what)
    return given


def _refuse_repeated(op: Operation) -> NoReturn:
    raise IrError(f"{op.name} is given one region twice", op)


def _take_region(op: Operation, given: Region | None, name: str) -> Region:
    if given is None:
        return Region([Block()])
    if not isinstance(given, Region):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
        raise IrError(f"region {name} of {op.name} takes a Region, not {given!r}", op)
    around = given.parent_op
    if around is not None:
        raise IrError(f"region {name} of {op.name} belongs to a {around.name} already", op)
    return given
