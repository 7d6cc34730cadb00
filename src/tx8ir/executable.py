"""From a program to an executable: the compile pipeline, and running its result on the simulator."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir import transforms
from tx8ir.backend import constants, grouping, layout, lowering
from tx8ir.backend.codegen import generate_tx8
from tx8ir.backend.memory import allocate_ddr, allocate_spm
from tx8ir.backend.search import shard_and_split
from tx8ir.backend.target_options import PROFILES, target_with
from tx8ir.core import DYNAMIC, IrError, LoadError, Program, RankedTensor, ScalarType, Type
from tx8ir.core.files import read_json, shown
from tx8ir.core.safetensors import STORAGE as FORMATS
from tx8ir.core.schema import Check, structure
from tx8ir.dialects import pd, tx8
from tx8ir.sim import Simulator
from tx8ir.target.chip import TX8, Target
from tx8ir.target.formats import F64, TF32
from tx8ir.target.rounding import convert
from tx8ir.transforms.pass_manager import Pass, PassManager, find_pass
from tx8ir.transforms.preparation import OPTIONS, PREPARATION, REQUIRED
from tx8ir.viz.report import CompileReport, Report, RunReport, Stage

Dtype = Literal["float32", "bfloat16", "float16"]
GraphPasses = Literal["full", "required"]
Grouping = Literal["fused", "single"]

_ELEMENT_OF_DTYPE: Final[Mapping[str, str]] = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
# Importing passes registers them.
_PASSES: Final = (
    transforms,
    lowering,
    layout,
    constants,
    grouping,
    shard_and_split,
    allocate_spm,
    allocate_ddr,
    generate_tx8,
)

_SAVE_FORMAT: Final = 2
_MANIFEST: Final = "executable.json"


class InputError(ValueError):
    """What was given to an executable does not fit its inputs: a name is missing or unknown, a shape or a type is
    wrong, or a value does not fit the integer type the chip computes in. The message says what was expected and
    what was given.
    """


class RangeError(ArithmeticError):
    """A run computed an integer that the format that the chip computes in does not hold.

    The message names the operation of the source program, where it is, and the range.
    """


@attrs.frozen
class CompileOptions:
    """How to compile.

    dtype: format of the floating-point computation; None keeps the formats of the program. Integers of 64 bits always
        become 32 bits wide, with a range check of constants, of the inputs of every run, and on the chip of what is
        cast to them.
    opt_graph: "full" runs every pass of `transforms.preparation`; "required" only those that bring programs into a form
        the backend takes.
    opt_group: "fused" merges groups where the search prices the merged one lower, so that what lies between stays in
        SPM; "single" leaves one operation per group.
    """

    dtype: Dtype | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.in_(_ELEMENT_OF_DTYPE))
    )
    opt_graph: GraphPasses = attrs.field(default="full", validator=attrs.validators.in_(("full", "required")))
    opt_group: Grouping = attrs.field(default="fused", validator=attrs.validators.in_(("fused", "single")))


class Progress(Protocol):
    """Called when a stage starts (``seconds`` is None) and when it has ended (its wall time, verification included)."""

    def __call__(self, stage: str, seconds: float | None) -> None: ...


Extent = Annotated[int, Check("an extent from 0 to 2**63 - 1, or -1 where it is dynamic", lambda n: -1 <= n < 1 << 63)]
Element = Annotated[str, Check(f"an element type, one of {', '.join(FORMATS)}", lambda name: name in FORMATS)]


@attrs.frozen
class Port:
    """One input or output as the source program declares it: public name, shape (-1 where dynamic) and element type
    name.
    """

    name: str
    shape: tuple[Extent, ...] = attrs.field(converter=tuple)
    element: Element

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of the element."""
        return ScalarType.of(self.element).dtype

    def __str__(self) -> str:
        return f"{self.name}: {'x'.join(['?' if n == DYNAMIC else str(n) for n in self.shape] + [self.element])}"


@attrs.frozen
class Signature:
    """Inputs and outputs of a program: arguments and results of ``main``, and behind them its feeds and fetches."""

    inputs: tuple[Port, ...] = attrs.field(converter=tuple)
    outputs: tuple[Port, ...] = attrs.field(converter=tuple)

    @classmethod
    def of(cls, program: Program) -> Signature:
        """The signature of a program. Raises `IrError` when an input or output is not a tensor."""
        inputs, outputs = dict(program.inputs), dict(program.outputs)
        for op in program.main.walk():
            if isinstance(op, pd.FeedOp):
                inputs.setdefault(op.feed_name, op.out.type)
            elif isinstance(op, pd.FetchOp):
                outputs.setdefault(op.fetch_name, op.x.type)

        def ports(what: str, types: Mapping[str, Type]) -> list[Port]:
            found: list[Port] = []
            for name, kind in types.items():
                if not isinstance(kind, RankedTensor):
                    raise IrError(f"{what} '{name}' has type {kind}; only tensors can be compiled", op=program.main)
                found.append(Port(name, kind.shape, str(kind.element)))
            return found

        return cls(ports("input", inputs), ports("output", outputs))


_CONVERSION: Final = PREPARATION.index("convert-dtype")
_STAGES: Final = (
    "value-signature",
    *PREPARATION[:_CONVERSION],
    "check-ranges",
    *PREPARATION[_CONVERSION:],
    "lower-to-tx8be",
    "layout-init",
    "layout-transmit",
    "layout-align",
    "layout-optimize",
    "load-constants",
    "group-default",
    "group-load-store",
    "group-mapping",
    "group-fuse",
    "group-barriers",
    "shard-and-split",
    "allocate-spm",
    "allocate-ddr",
    "generate-tx8",
)
"""Every stage of a compilation, in order; options may leave some out."""


def pipeline(
    options: CompileOptions = CompileOptions(), target: Target = TX8, *, through: str | None = None
) -> PassManager:
    """The passes that `compile` runs for these options and this target, in order, up to and including `through`.

    Raises `IrError` when no stage is named `through`, or when the target differs from `TX8` in more than the end of its
    allocatable SPM and a named profile.
    """
    if through is not None and through not in _STAGES:
        raise IrError(f"no stage is named '{through}'; stages are {', '.join(_STAGES)}")
    stages = _STAGES if through is None else _STAGES[: _STAGES.index(through) + 1]
    left_out: set[str] = set()
    if options.opt_graph == "required":
        left_out |= set(PREPARATION) - REQUIRED
    if options.opt_group == "single":
        left_out.add("group-fuse")
    stages = [stage for stage in stages if stage not in left_out]
    choices: dict[str, object] = _target_choices(target)
    if options.dtype is not None:
        choices["dtype"] = _ELEMENT_OF_DTYPE[options.dtype]
    texts: list[str] = []
    for name in stages:
        kind = find_pass(name)  # None: a pipeline
        fields = {} if kind is None else attrs.fields_dict(kind)
        taken = [OPTIONS[name]] if name in OPTIONS else []
        taken += [f"{key.replace('_', '-')}={value}" for key, value in choices.items() if key in fields]
        texts.append(f"{name}{{{','.join(taken)}}}" if taken else name)
    return PassManager.parse(",".join(texts))


def _target_choices(target: Target) -> dict[str, object]:
    """The options, shared by several passes, that describe `target`; those of `TX8` are left out."""
    choices: dict[str, object] = {}
    if target.spm_allocatable != TX8.spm_allocatable:
        choices["spm_bytes"] = target.spm_allocatable_bytes
    if target.profile != TX8.profile:
        choices["profile"] = target.profile.name
    try:
        described = target_with(**cast("dict[str, Any]", choices))
    except ValueError as error:
        raise IrError(f"cannot compile for this target: {error}") from error
    if described != target:
        raise IrError(
            f"cannot compile for this target: it may differ from TX8 by a smaller allocatable SPM and by its profile "
            f"({', '.join(PROFILES)}); given: {target}"
        )
    return choices


def lower(
    program: Program, options: CompileOptions = CompileOptions(), target: Target = TX8, *, through: str
) -> Program:
    """A copy of `program` after the stages of `compile` up to and including the pass `through`.

    Raises `IrError` when no stage has that name, and what the stages raise.
    """
    working = program.clone()
    pipeline(options, target, through=through).run(working)
    return working


def compile(
    program: Program,
    target: Target = TX8,
    options: CompileOptions = CompileOptions(),
    *,
    keep_stages: bool = False,
    progress: Progress | None = None,
) -> Executable:
    """Compiles `program` (dialects ``pd`` and ``builtin``) into an executable for `target`.

    The program itself is not changed. It is verified before the first stage and after each one.

    keep_stages: keep the program's text after every stage, as `Executable.stages`.
    progress: told when each stage starts and ends.

    Raises `IrError` (usually a `PassError`, which names the stage, or a `VerifyError`) with the operation concerned
    and its location when the program is invalid or cannot be compiled.
    """
    signature = Signature.of(program)
    ops_by_dialect = Counter(op.name.partition(".")[0] for op in program.module.walk())
    working = program.clone()
    manager = pipeline(options, target)
    upcoming = [p.title for p in manager.passes]
    done: list[Stage] = []
    texts: dict[str, str] = {}
    spm_peak = 0
    formats: tuple[str, ...] = ()
    started = time.perf_counter()

    def on_stage(finished: Pass, now: Program, seconds: float) -> None:
        nonlocal started, spm_peak, formats
        seconds = time.perf_counter() - started
        count = 0
        for op in now.module.walk():
            count += 1
            spm_peak = max(spm_peak, _spm_size(op.attributes))
        if finished.title == "convert-dtype":
            formats = _float_formats(now)
        done.append(Stage(finished.title, seconds, count, dict(finished.statistics)))
        if keep_stages:
            texts[finished.title] = str(now)
        if progress is not None:
            progress(finished.title, seconds)
            if len(done) < len(upcoming):
                progress(upcoming[len(done)], None)
        started = time.perf_counter()

    if progress is not None:
        progress(upcoming[0], None)
    manager.run(working, verify_each=True, on_stage=on_stage)
    report = CompileReport(
        target=f"{target.name} ({target.profile.name} profile)",
        formats=formats,
        stages=tuple(done),
        ops_by_dialect=dict(ops_by_dialect),
        instructions=_count_instructions(working),
        spm_peak_bytes=spm_peak,
        spm_bytes=target.spm_allocatable_bytes,
        ddr_bytes=_ddr_bytes(working),
    )
    return Executable(working, signature, report, target=target, stages=texts)


class Executable:
    """A compiled program and what is needed to run it: its signature, its target and the report of its compilation.

    program: the `tx8` instruction program with its constant segments.
    signature: the inputs and outputs of the source program; `run` takes and returns arrays of these types.
    stages: text of the program after each stage, by pass name; empty unless asked for at compile time.
    """

    def __init__(
        self,
        program: Program,
        signature: Signature,
        compilation: CompileReport,
        *,
        target: Target = TX8,
        stages: Mapping[str, str] | None = None,
    ) -> None:
        self.program = program
        self.signature = signature
        self.target = target
        self.stages = dict(stages or {})
        self._compilation = compilation
        self._latest: RunReport | None = None
        ports = [op for op in program.module.walk() if isinstance(op, tx8.InputOp | tx8.OutputOp)]
        self._elements = {op.port_name: op.tensor.element for op in ports if isinstance(op, tx8.InputOp)}
        outputs = (op for op in ports if isinstance(op, tx8.OutputOp))
        self._status_words = {op.port_name: op.status for op in outputs if op.status is not None}
        self._simulator = Simulator(program, target)

    @property
    def report(self) -> Report:
        """What the compilation did and, after a run, what the latest run cost."""
        return Report(self._compilation, self._latest)

    def run(self, inputs: Mapping[str, ArrayLike] | None = None, /, **named: ArrayLike) -> dict[str, NDArray[Any]]:
        """Runs the program on the simulator and returns its outputs by name, in the types of the source program.

        Inputs are given by name, as keywords or (for names that are no Python identifiers) in a mapping. A
        floating-point input takes any floating-point array and rounds it to the format the chip computes in; an
        integer input takes any integer array whose values fit.

        Raises `InputError` when the inputs do not fit the signature, `RangeError` when a computed integer does not fit
        the chip's format of it, `tx8ir.sim.SimError` when the program misbehaves.
        """
        if inputs is not None and not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # of untyped callers
            raise InputError(f"inputs are a mapping from names to arrays, or keywords; given: {type(inputs).__name__}")
        given = dict(inputs or {})
        twice = [name for name in named if name in given]
        if twice:
            raise InputError(f"input{'s'[: len(twice) > 1]} {_quoted(twice)} given in the mapping and as keyword")
        given.update(named)
        feeds = prepare_inputs(self.signature, given, self._elements)
        started = time.perf_counter()
        result = self._simulator.run(feeds)
        self._latest = RunReport(result.report, time.perf_counter() - started, result.flags)
        wrong = [text for name, text in self._status_words.items() if np.any(result.outputs[name])]
        if wrong:
            raise RangeError("; ".join(wrong))
        return {port.name: _to_port(port, result.outputs) for port in self.signature.outputs}

    def save(self, path: str | Path) -> None:
        """Writes the executable into the folder `path` (made if needed): program, constants and manifest."""
        folder = Path(path)
        self.program.save(folder)
        manifest: dict[str, object] = {
            "format": _SAVE_FORMAT,
            "target": _target_choices(self.target),
            "signature": attrs.asdict(self.signature),
            "compilation": attrs.asdict(self._compilation),
        }
        manifest["checksum"] = _checksum(manifest)
        (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def is_saved(path: str | Path) -> bool:
        """Whether `path` is a folder that `save` wrote, going by its manifest file."""
        return (Path(path) / _MANIFEST).is_file()

    @classmethod
    def load(cls, path: str | Path) -> Executable:
        """Reads what `save` wrote, and checks it: the manifest, the program, and that they fit each other.

        Raises `IrError` when the folder holds something else: `LoadError` with the place in the manifest, `ParseError`,
        `VerifyError` or `WeightError` for the program, `SimError` when its constants are missing.
        """
        folder = Path(path)
        manifest_path = folder / _MANIFEST
        if not os.path.lexists(manifest_path):
            raise IrError(f"{folder} is not a saved executable: it has no {_MANIFEST}")
        document = _of_this_format(read_json(manifest_path, "a manifest"), manifest_path)
        manifest = structure(_Manifest, document, manifest_path)
        target = target_with(**attrs.asdict(manifest.target))
        program = Program.load(folder)
        program.verify()
        _check_ports(manifest.signature, program, manifest_path)
        # Last: what does not even fit has been named. A type may fit and be another: truth values are computed as
        # floats, and what a chip computes in f32 may have been f64.
        wanted = _checksum(cast("dict[str, object]", document))
        if manifest.checksum != wanted:
            raise LoadError(manifest_path, f"{wanted!r}, the checksum of this manifest: it was changed after it was "
                            "saved", repr(manifest.checksum), "checksum")  # fmt: skip
        return cls(program, manifest.signature, manifest.compilation, target=target)

    def __str__(self) -> str:
        def side(ports: tuple[Port, ...]) -> str:
            return ", ".join(map(str, ports))

        return f"Executable({side(self.signature.inputs)}) -> ({side(self.signature.outputs)}) for {self.target.name}"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()  # pyright: ignore[reportPrivateUsage]  # the name is IPython's


_SpmBytes = Annotated[
    int, Check(f"an integer from 1 to {TX8.spm_allocatable_bytes}", lambda n: 0 < n <= TX8.spm_allocatable_bytes)
]
_Profile = Annotated[str, Check(f"one of {', '.join(PROFILES)}", lambda name: name in PROFILES)]


@attrs.frozen
class _TargetChoices:
    """The options of `target_with`."""

    spm_bytes: _SpmBytes | None = None
    profile: _Profile = TX8.profile.name


@attrs.frozen
class _Manifest:
    """What `executable.json` holds."""

    format: int
    target: _TargetChoices
    signature: Signature
    compilation: CompileReport
    checksum: str


def _checksum(manifest: Mapping[str, object]) -> str:
    """SHA-256, in hexadecimal digits, of all that a manifest says besides its checksum."""
    said = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("ascii")).hexdigest()


def _of_this_format(value: object, file: Path) -> object:
    """`value`, unless it says that another version wrote it: that comes before what else is wrong with it."""
    if not isinstance(value, dict):
        return value
    found = cast("dict[str, object]", value).get("format", _SAVE_FORMAT)
    if found != _SAVE_FORMAT or isinstance(found, (bool, float)):
        expected = f"{_SAVE_FORMAT}, the format that this version reads (compile the program again)"
        raise LoadError(file, expected, shown(found), "format")
    return cast(object, value)


def _check_ports(signature: Signature, program: Program, file: Path) -> None:
    """Raises `LoadError` where the signature differs from what the instruction program reads and writes."""
    ops = list(program.module.walk())
    for side, ports, kind in (("inputs", signature.inputs, tx8.InputOp), ("outputs", signature.outputs, tx8.OutputOp)):
        found = [op for op in ops if isinstance(op, kind)]
        # Status words are outputs of the instruction program alone.
        declared = {op.port_name: op.tensor for op in found if not (isinstance(op, tx8.OutputOp) and op.status)}
        listed = ", ".join(map(repr, declared)) or "none"
        names: set[str] = set()
        for index, port in enumerate(ports):
            at = f"signature.{side}[{index}]"
            if port.name in names:
                raise LoadError(file, "a name that no other port of this side has", repr(port.name), f"{at}.name")
            names.add(port.name)
            tensor = declared.pop(port.name, None)
            if tensor is not None:
                _check_port(port, tensor, file, at)
            elif side == "outputs" and 0 not in port.shape:  # what is not used or empty has no place in the program
                raise LoadError(file, f"an output of the program: {listed}", repr(port.name), f"{at}.name")
        if declared:
            raise LoadError(file, f"the {side} of the program: {listed}", f"none called {next(iter(declared))!r}",
                            f"signature.{side}")  # fmt: skip


def _check_port(port: Port, tensor: RankedTensor, file: Path, at: str) -> None:
    fits = len(port.shape) == tensor.rank and all(
        want in (DYNAMIC, have) for want, have in zip(port.shape, tensor.shape, strict=True)
    )
    if not fits:
        raise LoadError(file, f"the shape {list(tensor.shape)} of the program", str(list(port.shape)), f"{at}.shape")
    computed, declared = _kind(tensor.element.dtype), _kind(port.dtype)
    is_mask = declared == "bool" and computed == "float"  # how truth values are computed
    if declared != computed and not is_mask:
        raise LoadError(file, f"a type of {computed} values, which the program computes in {tensor.element}",
                        port.element, f"{at}.element")  # fmt: skip


def prepare_inputs(
    signature: Signature, given: Mapping[str, ArrayLike], elements: Mapping[str, ScalarType]
) -> dict[str, NDArray[Any]]:
    """Checks `given` against a signature and converts it to the element types that a compiled program reads.

    elements: by input name; an input that is not in it was found to be unused: it is checked, and left out.

    Raises `InputError`.
    """
    ports = {port.name: port for port in signature.inputs}
    expected = "; expected inputs: " + (", ".join(map(str, ports.values())) or "none")
    unknown = [name for name in given if name not in ports]
    if unknown:
        raise InputError(f"unknown input{'s'[: len(unknown) > 1]} {_quoted(unknown)}{expected}")
    missing = [name for name in ports if name not in given]
    if missing:
        raise InputError(f"missing input{'s'[: len(missing) > 1]} {_quoted(missing)}{expected}")
    arrays = {name: _checked(port, given[name]) for name, port in ports.items()}
    return {name: _to_device(ports[name], arrays[name], element) for name, element in elements.items()}


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _kind(dtype: np.dtype[Any]) -> str:
    """``float``, ``integer``, ``bool`` or ``other``; the small formats of ml_dtypes count as what they are."""
    if dtype.kind == "b":
        return "bool"
    if dtype.kind in "iu" or (dtype.kind == "V" and "int" in dtype.name):
        return "integer"
    if dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name):
        return "float"
    return "other"


def _checked(port: Port, value: ArrayLike) -> NDArray[Any]:
    """`value` as an array of the port's shape and of a type the port takes, or an `InputError`."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # nested sequences of different lengths
        raise InputError(f"input '{port.name}' cannot be made an array: {error}") from error
    wanted, got = _kind(port.dtype), _kind(array.dtype)
    if wanted != got:
        raise InputError(f"input '{port.name}' takes {wanted} values ({port.element}); given: {array.dtype}")
    fits = len(array.shape) == len(port.shape) and all(
        want in (DYNAMIC, have) for want, have in zip(port.shape, array.shape, strict=True)
    )
    if not fits:
        raise InputError(f"input '{port.name}' has shape {_shape(port.shape)}; given: {_shape(array.shape)}")
    return array


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join('?' if n == DYNAMIC else str(n) for n in shape)})"


def _to_device(port: Port, array: NDArray[Any], scalar: ScalarType) -> NDArray[Any]:
    """`array` in the format the compiled program reads; integers that do not fit are an `InputError`."""
    if _kind(array.dtype) == "integer":
        low, high = scalar.format.limits
        outside = (array < low) | (array > high)
        if outside.any():
            index = tuple(int(i) for i in np.argwhere(outside)[0])
            raise InputError(
                f"input '{port.name}' is computed in {scalar}, from {low} to {high}; "
                f"given: {array[index]} at index {_shape(index)}"
            )
        return array.astype(scalar.dtype)
    if array.dtype == scalar.dtype and scalar.format is not TF32:  # of which an array may hold more than tf32 has
        return array
    if _kind(array.dtype) == "bool":
        return array.astype(scalar.dtype)
    return convert(array.astype(np.float64), F64, scalar.format)  # widening, then one rounding


def _to_port(port: Port, outputs: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """A result in the type the source program declares: widening, therefore exact. The chip gives no empty ones."""
    if 0 in port.shape:
        return np.empty(port.shape, port.dtype)
    return outputs[port.name].astype(port.dtype, copy=False)


def _float_formats(program: Program) -> tuple[str, ...]:
    types = (value.type for op in program.module.walk() for value in op.results)
    elements = {kind.element.format for kind in types if isinstance(kind, RankedTensor)}
    return tuple(sorted(element.name for element in elements if element.is_float))


def _spm_size(attributes: Mapping[str, Any]) -> int:
    size = attributes.get("spm_alloc_size")
    return cast(int, size.value) if size is not None else 0


def _count_instructions(program: Program) -> dict[str, int]:
    counts = Counter(op.name.removeprefix("tx8.") for op in program.module.walk() if isinstance(op, tx8.Instruction))
    return dict(counts.most_common())


def _ddr_bytes(program: Program) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for op in program.module.walk():
        if isinstance(op, tx8.SegmentOp):
            sizes[op.kind] += op.size
    return dict(sizes)
