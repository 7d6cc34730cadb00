"""Weights: `Variable` and `WeightStore`.

Graph and weights are kept apart: a program names its parameters, a `WeightStore` holds them. One graph may be used
with many stores and one store with many graphs. Data is never hashed, never copied into attributes, and never read
before it is used: a store loaded from a file holds `MappedTensor` handles, and a tensor's bytes are touched when
`Variable.numpy` is called for it and not earlier.
"""

from __future__ import annotations

import html
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping, MutableMapping
from io import BufferedWriter
from pathlib import Path
from typing import Any, Final, Protocol, TypeGuard, cast, runtime_checkable
from weakref import WeakSet

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core.attrs.elements import scalar_type_of
from tx8ir.core.attrs.types import ScalarType, TensorType, VTensorType
from tx8ir.core.files import shown

from .safetensors import (
    ELEMENT_OF_CODE,
    MAX_HEADER_BYTES,
    METADATA,
    STORAGE,
    MappedTensor,
    WeightError,
    parse_json,
    read_header,
    read_index,
    resolve_inside,
)

DEFAULT_ALIGNMENT: Final = 256
"""Natural alignment of a tensor in TX8 memory, in bytes (machine.md section 1)."""

_VARIABLES = "tx8ir.variables"


@runtime_checkable
class SupportsArray(Protocol):
    """Anything NumPy can view through `__array__`."""

    def __array__(self) -> NDArray[Any]: ...


@runtime_checkable
class SupportsDLPack(Protocol):
    """Anything that exports its memory through DLPack."""

    def __dlpack__(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


TensorData = SupportsArray | SupportsDLPack


def _as_numpy(data: object) -> NDArray[Any]:
    """Return `data` as an array that shares its memory where the object allows it."""
    if isinstance(data, np.ndarray):
        return cast("NDArray[Any]", data)
    try:
        if isinstance(data, SupportsArray):
            return np.asarray(data)
        if isinstance(data, SupportsDLPack):
            return np.from_dlpack(cast("Any", data))
    except WeightError:
        raise
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise WeightError(f"{type(data).__name__} could not be read as an array: {error}") from error
    raise WeightError(f"data must have __array__ or __dlpack__, got {type(data).__name__}; wrap it with numpy.asarray")


def _is_shape(value: object) -> TypeGuard[tuple[int, ...]]:
    return isinstance(value, tuple) and all(isinstance(extent, int) for extent in cast("tuple[object, ...]", value))


def _described(data: object) -> tuple[tuple[int, ...], np.dtype[Any] | ScalarType]:
    """Return shape and element kind of `data`, reading it only if it cannot say so itself."""
    if isinstance(data, MappedTensor):
        return data.shape, data.element
    shape, dtype = getattr(data, "shape", None), getattr(data, "dtype", None)
    if _is_shape(shape) and isinstance(dtype, np.dtype):
        return shape, cast("np.dtype[Any]", dtype)
    array = _as_numpy(data)
    return array.shape, array.dtype


def _check_fits(type_: TensorType | VTensorType, data: object) -> None:
    if not type_.is_static:
        raise WeightError(f"a variable needs a static shape, but its type is {type_}")
    shape, kind = _described(data)
    if shape != type_.shape:
        raise WeightError(f"declared type is {type_}, but the data has shape {shape}")
    fits = kind is type_.element if isinstance(kind, ScalarType) else kind == type_.element.dtype
    if not fits:
        raise WeightError(f"declared type is {type_}, whose data is {type_.element.dtype}, but the data has {kind}")


def _check_alignment(_: object, __: object, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or value & (value - 1):
        raise WeightError(f"alignment must be a power of two in bytes, got {value!r}")


def _check_new_data(variable: Variable, _: object, data: TensorData) -> TensorData:
    _check_fits(variable.type, data)
    return data


@attrs.define(eq=False, repr=False)
class Variable:
    """One weight: a declared type and the data behind it.

    Attributes:
        type: the declared type, with a static shape.
        data: anything with `__array__` or `__dlpack__`. May be assigned; the new data must fit the type.
        is_mutable: whether some program attached to the store may write it (`set_parameter`, or through an alias).
            Passes may treat the parameter as a constant only while this is False.
        alignment: wanted alignment in device memory, in bytes, a power of two.

    Raises:
        WeightError: shape or element type of the data differ from the declared type. The data is not read for this
            check if it has NumPy's `shape` and `dtype`.
    """

    type: TensorType | VTensorType = attrs.field(on_setattr=attrs.setters.frozen)
    data: TensorData = attrs.field(on_setattr=_check_new_data)
    is_mutable: bool = False
    alignment: int = attrs.field(default=DEFAULT_ALIGNMENT, validator=_check_alignment)

    def __attrs_post_init__(self) -> None:
        _check_fits(self.type, self.data)

    @property
    def nbytes(self) -> int:
        """Size in bytes, one byte per element for types narrower than a byte."""
        return math.prod(self.type.shape) * STORAGE[self.type.element.format.name][1]

    def numpy(self) -> NDArray[Any]:
        """Return the data as an array of `type.shape` and `type.element.dtype`, without a copy where possible.

        The array of an immutable variable is read-only; that of a mutable one is writable if its data is.
        """
        array = _as_numpy(self.data)
        if not self.is_mutable and array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        return array

    def copy(self) -> Variable:
        """Return another variable that shares the data."""
        return Variable(self.type, self.data, self.is_mutable, self.alignment)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its data, wherever that is."""
        return Variable, (self.type, np.array(self.numpy()), self.is_mutable, self.alignment)

    def __repr__(self) -> str:
        mutable = ", is_mutable=True" if self.is_mutable else ""
        return f"Variable({self.type}, {_data_source(self.data)}{mutable})"


def _data_source(data: object) -> str:
    if isinstance(data, MappedTensor):
        return f"mapped from {data.file.path.name!r}"
    return f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"


def _readable_bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} TiB"


class WeightStore(MutableMapping[str, Variable]):
    """Weights by name, in insertion order.

    `store[name] = variable` replaces; `add` refuses a name that is taken. Looking up, adding and deleting cost one
    dict operation; no operation reads tensor data except `Variable.numpy` and `save`.
    """

    __slots__ = ("_next_suffix", "_users", "_variables")

    def __init__(self, variables: Mapping[str, Variable] | None = None) -> None:
        """Make a store of the given variables (the `Variable` objects themselves, not copies)."""
        self._variables: dict[str, Variable] = {}
        self._next_suffix: dict[str, int] = {}
        self._users: WeakSet[object] = WeakSet()
        for name, variable in (variables or {}).items():
            self[name] = variable

    def attach(self, user: object) -> None:
        """Note that `user`, a program, reads or writes the store; it is forgotten when it is gone or uses another."""
        self._users.add(user)

    @property
    def users(self) -> tuple[object, ...]:
        """The programs whose `weights` this store is."""
        return tuple(user for user in self._users if getattr(user, "weights", None) is self)

    def __getitem__(self, name: str) -> Variable:
        try:
            return self._variables[name]
        except KeyError:
            raise KeyError(f"no weight named {name!r} in a store of {len(self)}") from None

    def __setitem__(self, name: str, variable: Variable) -> None:
        _check_name(name)
        if not isinstance(variable, Variable):  # pyright: ignore[reportUnnecessaryIsInstance]  (callers without types)
            raise WeightError(f"weight {name!r}: expected a Variable, got {type(variable).__name__}; use store.add")
        self._variables[name] = variable

    def __delitem__(self, name: str) -> None:
        del self._variables[name]

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def add(
        self,
        name: str,
        data: TensorData,
        type: TensorType | VTensorType | None = None,
        *,
        is_mutable: bool = False,
        alignment: int = DEFAULT_ALIGNMENT,
    ) -> Variable:
        """Add a weight and return its variable.

        Args:
            name: a new name.
            data: anything with `__array__` or `__dlpack__`; it is shared, not copied.
            type: the declared type; a value tensor of the data's own shape and element type if not given.
            is_mutable: whether programs may write it.
            alignment: wanted alignment in device memory, in bytes.

        Raises:
            WeightError: the name is taken, or the data does not fit the type.
        """
        _check_name(name)
        if name in self._variables:
            raise WeightError(
                f"weight {name!r} exists already: {self._variables[name]}; assign store[name] to replace it"
            )
        try:
            if type is None:
                shape, kind = _described(data)
                type = VTensorType(shape, kind if isinstance(kind, ScalarType) else scalar_type_of(kind))
            variable = Variable(type, data, is_mutable, alignment)
        except (WeightError, TypeError) as error:
            raise WeightError(f"weight {name!r}: {error}") from error
        self._variables[name] = variable
        return variable

    def copy(self) -> WeightStore:
        """Return a shallow copy: new variables (so that types and flags are its own) that share the data."""
        return WeightStore({name: variable.copy() for name, variable in self._variables.items()})

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the programs that are attached: each attaches itself."""
        return WeightStore, (self._variables,)

    def unique_name(self, stem: str) -> str:
        """Return `stem` if it is free, else the first free `stem_1`, `stem_2`, …; amortised O(1)."""
        name = stem
        while name in self._variables:
            suffix = self._next_suffix.get(stem, 0) + 1
            self._next_suffix[stem] = suffix
            name = f"{stem}_{suffix}"
        return name

    @property
    def nbytes(self) -> int:
        """Bytes of all variables together."""
        return sum(variable.nbytes for variable in self._variables.values())

    def __repr__(self) -> str:
        rows = [f"  {name}: {variable!r}" for name, variable in self._variables.items()]
        if len(rows) > 12:
            rows = [*rows[:8], f"  … {len(rows) - 10} more", *rows[-2:]]
        return "\n".join([f"WeightStore({len(self)} variables, {_readable_bytes(self.nbytes)})", *rows])

    def _repr_html_(self) -> str:
        """Table for notebooks: name, type, size, source."""
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td><code>{html.escape(str(variable.type))}</code></td>"
            f"<td>{_readable_bytes(variable.nbytes)}</td><td>{'yes' if variable.is_mutable else 'no'}</td>"
            f"<td>{html.escape(_data_source(variable.data))}</td></tr>"
            for name, variable in self._variables.items()
        )
        return (
            f"<table><caption>WeightStore: {len(self)} variables, {_readable_bytes(self.nbytes)}</caption>"
            "<thead><tr><th>name</th><th>type</th><th>size</th><th>mutable</th><th>data</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def save(self, path: str | os.PathLike[str], *, metadata: Mapping[str, str] | None = None) -> None:
        """Write all weights to one safetensors file, atomically: `path` is replaced when the new file is complete.

        Types that a safetensors file cannot express (aliasing tensors, tf32, 4-bit integers) and alignment are kept in
        the file's metadata, where `load` finds them. Mutability is not: it follows from the programs that use a store.

        Args:
            path: where to write.
            metadata: what else the file's metadata says, by keys of the caller's own.

        Raises:
            WeightError: the file cannot be written, data cannot be read as its type says, or the header would be larger
                than the format allows.
        """
        path = Path(path)
        # Widest elements first, so that every tensor is aligned to its element without gaps (which the format forbids).
        by_width = sorted(self._variables.items(), key=lambda item: -STORAGE[item[1].type.element.format.name][1])
        offsets: dict[str, tuple[int, int]] = {}
        end = 0
        for name, variable in by_width:
            offsets[name] = (end, end + variable.nbytes)
            end += variable.nbytes
        header = self._header(offsets, metadata or {})
        if len(header) > MAX_HEADER_BYTES:
            raise WeightError(
                f"cannot write weight file {str(path)!r}: its header has {len(header)} bytes, "
                f"the format allows {MAX_HEADER_BYTES}"
            )
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("wb") as stream:
                stream.write(header)
                for name, variable in by_width:
                    _write_data(stream, name, variable)
            temporary.replace(path)
        except OSError as error:
            raise WeightError(f"cannot write weight file {str(path)!r}: {error.strerror or error}") from error
        finally:
            temporary.unlink(missing_ok=True)

    def _header(self, offsets: Mapping[str, tuple[int, int]], metadata: Mapping[str, str]) -> bytes:
        extra = {name: facts for name, variable in self._variables.items() if (facts := _extra_facts(variable))}
        header: dict[str, object] = {METADATA: {**metadata, "format": "tx8ir", _VARIABLES: json.dumps(extra)}}
        for name, variable in self._variables.items():
            code, _ = STORAGE[variable.type.element.format.name]
            header[name] = {"dtype": code, "shape": list(variable.type.shape), "data_offsets": list(offsets[name])}
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-(8 + len(text)) % DEFAULT_ALIGNMENT)  # the format allows trailing blanks
        return len(text).to_bytes(8, "little") + text

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        types: Mapping[str, TensorType | VTensorType] | None = None,
    ) -> WeightStore:
        """Open a safetensors file, or an index (`*.index.json`) of several. Only headers are read.

        Args:
            path: the file. Files that an index names must lie in its own folder.
            types: declared types by name; each must be in the file and fit. Other weights get the type of the file.

        Returns:
            The weights in the order of the file, all immutable, mapped and not yet read.

        Raises:
            WeightError: the file is missing, truncated or malformed, or a weight is missing or differs from `types`.
        """
        path = Path(path)
        store = cls()
        if path.name.endswith(".index.json"):
            for shard, names in read_index(path).items():
                found = _load_file(resolve_inside(path.parent, shard, owner=f"index {str(path)!r}"))
                for name in names:
                    if name not in found:
                        raise WeightError(f"index {str(path)!r} expects weight {name!r} in {shard!r}, which lacks it")
                    store[name] = found[name]
        else:
            for name, variable in _load_file(path).items():
                store[name] = variable
        for name, declared in (types or {}).items():
            if name not in store:
                raise WeightError(f"{str(path)!r} has no weight {name!r}, which is declared as {declared}")
            store[name] = _with_type(store[name], declared, f"{str(path)!r}: weight {name!r}")
        return store


def _with_type(variable: Variable, declared: TensorType | VTensorType, owner: str) -> Variable:
    """Return `variable` as `declared`; formats that share their storage (f32 and tf32, i8 and i4) fit each other."""
    data = variable.data
    if isinstance(data, MappedTensor) and STORAGE[data.element.format.name] == STORAGE[declared.element.format.name]:
        data = MappedTensor(data.file, data.offset, declared.element, data.shape)
    try:
        return Variable(declared, data, variable.is_mutable, variable.alignment)
    except WeightError as error:
        raise WeightError(f"{owner}: {error.message}") from error


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or name == METADATA:
        raise WeightError(f"a weight's name is a non-empty string other than {METADATA!r}, got {name!r}")


def _write_data(stream: BufferedWriter, name: str, variable: Variable) -> None:
    stored = ScalarType.of(ELEMENT_OF_CODE[STORAGE[variable.type.element.format.name][0]])
    array = variable.numpy()
    if array.shape != variable.type.shape or array.dtype != variable.type.element.dtype:
        raise WeightError(
            f"weight {name!r}: data is {array.dtype} {array.shape}, but the declared type {variable.type}"
        )
    flat = np.ascontiguousarray(array.reshape(-1), dtype=stored.dtype)
    stream.write(flat.view(np.uint8).data)


def _extra_facts(variable: Variable) -> dict[str, object]:
    facts: dict[str, object] = {}
    if isinstance(variable.type, TensorType):
        facts["kind"] = "tensor"
    if variable.type.element.format.name in ("tf32", "i4", "ui4"):
        facts["element"] = variable.type.element.format.name
    if variable.alignment != DEFAULT_ALIGNMENT:
        facts["alignment"] = variable.alignment
    return facts


def _load_file(path: Path) -> dict[str, Variable]:
    """Return the variables of one safetensors file, with what `WeightStore.save` noted about them."""
    tensors, metadata = read_header(path)
    noted = f"weight file {str(path)!r}: metadata {_VARIABLES!r}"
    facts = parse_json(metadata.get(_VARIABLES, "{}").encode(), noted)
    return {name: _apply_fact(tensor, facts.get(name, {}), f"{noted} of {name!r}") for name, tensor in tensors.items()}


def _apply_fact(tensor: MappedTensor, noted: object, owner: str) -> Variable:
    if not isinstance(noted, dict):
        raise WeightError(f"{owner} must be an object, found {shown(noted)}")
    fact = cast("dict[str, object]", noted)
    element = fact.get("element", tensor.element.format.name)
    if not isinstance(element, str) or element not in STORAGE:
        raise WeightError(f"{owner}: unknown element type {shown(element)}")
    if STORAGE[element] != STORAGE[tensor.element.format.name]:
        raise WeightError(f"{owner}: element type {element} does not fit stored {tensor.element.format.name}")
    kind = fact.get("kind", "vtensor")
    if kind not in ("tensor", "vtensor"):
        raise WeightError(f"{owner}: kind is 'tensor' or 'vtensor', found {shown(kind)}")
    scalar = ScalarType.of(element)
    data = tensor if scalar is tensor.element else MappedTensor(tensor.file, tensor.offset, scalar, tensor.shape)
    declared = TensorType(tensor.shape, scalar) if kind == "tensor" else VTensorType(tensor.shape, scalar)
    try:
        return Variable(declared, data, alignment=cast("int", fact.get("alignment", DEFAULT_ALIGNMENT)))
    except WeightError as error:
        raise WeightError(f"{owner}: {error.message}") from error
