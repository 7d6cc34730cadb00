"""A compiled program: running it on the simulator, saving and loading it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.backend.codegen import c_interface
from tx8ir.backend.codegen.main_c import main_c
from tx8ir.backend.lowering.lift_state import state_argument
from tx8ir.backend.set_target import target_with
from tx8ir.core import DYNAMIC, IrError, LoadError, Program, RankedTensor, WeightStore
from tx8ir.core.files import read_json, shown
from tx8ir.core.program import GRAPH_FILE, WEIGHTS_FILE
from tx8ir.core.schema import Check, structure
from tx8ir.dialects import tx8
from tx8ir.reports import CompileReport, Report, RunReport
from tx8ir.signature import Port, Signature, by_name, kind_of, prepare_inputs, to_port
from tx8ir.sim import SimReport, Simulator, time_program
from tx8ir.support.display import Page, explored
from tx8ir.target.chip import PROFILES, TX8, Profile, Target

_SAVE_FORMAT: Final = 2
_MANIFEST: Final = "executable.json"
MAIN_FILE: Final = "main.c"
HEADER_FILE: Final = "tx8.h"
STATE_FILE: Final = "state.safetensors"
_FILES: Final = (GRAPH_FILE, WEIGHTS_FILE, MAIN_FILE, HEADER_FILE, STATE_FILE)


class RangeError(ArithmeticError):
    """A run computed an integer that the format that the chip computes in does not hold.

    The message names the operation of the source program, where it is, and the range.
    """


class Executable:
    """A compiled program and what is needed to run it: its signature, its target and the report of its compilation.

    program: the `tx8` instruction program with its constant segments; it names its target.
    signature: the inputs and outputs of the source program; `run` takes and returns arrays of these types.
    stages: text of the program after each stage, by pass name; empty unless asked for at compile time.
    input_elements: what the chip reads each input as, by name; inputs that are not used are left out.
    source: a copy of the program that it was compiled from; None of one that was loaded from a folder.
    options: how it was compiled, by the names of `tx8ir.CompileOptions`.
    """

    def __init__(
        self,
        program: Program,
        signature: Signature,
        compilation: CompileReport,
        *,
        stages: Mapping[str, str] | None = None,
        source: Program | None = None,
        options: Mapping[str, Any] | None = None,
        state: WeightStore | None = None,
    ) -> None:
        self.program = program
        self.signature = signature
        self.stages = dict(stages or {})
        self.source = source
        self.options = dict(options or {})
        self._compilation = compilation
        self._latest: RunReport | None = None
        ports = [op for op in program.module.walk() if isinstance(op, tx8.InputOp | tx8.OutputOp)]
        elements = {op.port_name: op.tensor.element for op in ports if isinstance(op, tx8.InputOp)}
        arguments = {port.name: state_argument(port.name) for port in signature.state}
        self._state_elements = {name: elements.pop(a) for name, a in arguments.items() if a in elements}
        self.input_elements = elements
        outputs = {op.port_name: op for op in ports if isinstance(op, tx8.OutputOp)}
        self._status_words = {name: op.status for name, op in outputs.items() if op.status is not None}
        self._written = {name: result for name, result in arguments.items() if result in outputs}
        self.state = WeightStore() if state is None else state
        self._simulator = Simulator(program)

    @property
    def target(self) -> Target:
        """What it was compiled for."""
        return tx8.target_of(self.program)

    @property
    def state(self) -> WeightStore:
        """What the program's mutable variables hold now: each run begins with it, and leaves what it wrote.

        The executable has copies of its own of what the program's store held when it was compiled. Assign a store to
        let runs work on that one: `executable.state = program.weights` gives trained weights back, and two executables
        with one store share their state. Assigning raises `IrError` when the store lacks a variable of
        `signature.state`, has it of another type, or does not let it be written.
        """
        return self._state

    @state.setter
    def state(self, store: WeightStore) -> None:
        for port in self.signature.state:
            _check_variable(port, store, is_written=port.name in self._written)
        self._state = store

    def copy(self) -> Executable:
        """The same program, with a state (at first this one's), a memory and reports of its own."""
        return Executable(
            self.program,
            self.signature,
            self._compilation,
            stages=self.stages,
            source=self.source,
            options=self.options,
            state=copied_state(self.state, [port.name for port in self.signature.state]),
        )

    @property
    def report(self) -> Report:
        """What the compilation did and, after a run, what the latest run cost."""
        return Report(self._compilation, self._latest)

    def __call__(self, *inputs: ArrayLike | Mapping[str, ArrayLike], **named: ArrayLike) -> Any:
        """As `run`, but a single output is given as an array, without its name."""
        outputs = self.run(*inputs, **named)
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def run(self, *inputs: ArrayLike | Mapping[str, ArrayLike], **named: ArrayLike) -> dict[str, NDArray[Any]]:
        """Runs the program on the simulator and returns its outputs by name, in the types of the source program.

        Inputs are given by position, in the order of `signature.inputs`, or by name, as keywords or (for names that are
        no Python identifiers) in a mapping. A floating-point input takes any floating-point array and rounds it to the
        format the chip computes in; an integer input takes any integer array whose values fit. What the program writes
        into its variables is in `state` afterwards; a run that fails leaves it as it was.

        Raises `InputError` when the inputs do not fit the signature, `RangeError` when a computed integer does not fit
        the chip's format of it, `tx8ir.sim.SimError` when the program misbehaves.
        """
        feeds = prepare_inputs(self.signature, by_name(self.signature, inputs, named), self.input_elements)
        held = {port.name: self.state[port.name].numpy() for port in self.signature.state}
        kept = prepare_inputs(Signature(self.signature.state, ()), held, self._state_elements)
        feeds |= {state_argument(name): array for name, array in kept.items()}
        started = time.perf_counter()
        result = self._simulator.run(feeds)
        self._latest = RunReport(result.report, time.perf_counter() - started, result.flags)
        wrong = [text for name, text in self._status_words.items() if np.any(result.outputs[name])]
        if wrong:
            raise RangeError("; ".join(wrong))
        for port in self.signature.state:
            if port.name in self._written:
                self.state[port.name].data = to_port(attrs.evolve(port, name=self._written[port.name]), result.outputs)
        return {port.name: to_port(port, result.outputs) for port in self.signature.outputs}

    def estimate(self, profile: str | Profile | None = None) -> SimReport:
        """What a run costs, without inputs and without computing any data: the report, and the trace, of a run.

        profile: "datasheet" or "board", or a timing profile; by default that of the target it was compiled for.

        Raises ValueError for an unknown profile.
        """
        target = self.target
        if isinstance(profile, str):
            if profile not in PROFILES:
                raise ValueError(f"profile is {profile!r}; expected one of {', '.join(PROFILES)}")
            profile = PROFILES[profile]
        return time_program(self.program, target if profile is None else attrs.evolve(target, profile=profile))

    def explore(self, *, title: str = "program") -> Page:
        """The explorer: source, every pass, memory and time of it in one page, which notebooks show and `save` writes.

        The program is compiled once more, under watch. Of an executable that was loaded from a folder there is no
        source to compile: the page has the instructions and their run.
        """
        return explored(self, title)

    def save(self, path: str | Path) -> None:
        """Writes the executable into the folder `path` (made if needed).

        graph.mlir: the instruction program. weights.safetensors: the bytes of its constants. main.c, tx8.h: the same
        program in C, for other devices. state.safetensors: `state`, if there is any. executable.json: what the program
        takes and returns, the report of its compilation, the version of tx8ir that wrote it, and the SHA-256 of each
        of these files.
        """
        folder = Path(path)
        version = importlib.metadata.version("tx8ir")
        self.program.save(folder)
        (folder / MAIN_FILE).write_text(main_c(self.program, version), encoding="utf-8")
        (folder / HEADER_FILE).write_text(c_interface.header(version), encoding="utf-8")
        if self.signature.state:
            WeightStore({port.name: self.state[port.name] for port in self.signature.state}).save(folder / STATE_FILE)
        else:
            (folder / STATE_FILE).unlink(missing_ok=True)
        manifest: dict[str, object] = {
            "format": _SAVE_FORMAT,
            "version": version,
            "files": {name: _digest(folder / name) for name in _FILES if (folder / name).is_file()},
            "target": {},
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
        program = Program.load(folder)
        program.verify()
        if manifest.target != _TargetChoices():
            tx8.set_target(program, target_with(**attrs.asdict(manifest.target)))
        _check_ports(manifest.signature, program, manifest_path)
        # Last: what does not even fit has been named. A type may fit and be another: truth values are computed as
        # floats, and what a chip computes in f32 may have been f64.
        wanted = _checksum(cast("dict[str, object]", document))
        if manifest.checksum != wanted:
            raise LoadError(manifest_path, f"{wanted!r}, the checksum of this manifest: it was changed after it was "
                            "saved", repr(manifest.checksum), "checksum")  # fmt: skip
        _check_files(manifest.files, folder, manifest_path)
        return cls(program, manifest.signature, manifest.compilation, state=_load_state(manifest.signature, folder))

    def __getstate__(self) -> dict[str, object]:
        """What pickling keeps: all but the report of the latest run, which belongs to this object."""
        return {
            "program": self.program,
            "signature": self.signature,
            "compilation": self._compilation,
            "stages": self.stages,
            "source": self.source,
            "options": self.options,
            "state": self.state,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    def __repr__(self) -> str:
        return f"<{self}>"

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
    """The options of `target_with`, with which executables said their target before their programs did."""

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
    version: str = ""
    files: Mapping[str, str] = attrs.field(factory=dict[str, str])


def _checksum(manifest: Mapping[str, object]) -> str:
    """SHA-256, in hexadecimal digits, of all that a manifest says besides its checksum."""
    said = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("ascii")).hexdigest()


def _digest(file: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_files(digests: Mapping[str, str], folder: Path, manifest: Path) -> None:
    """Raises `LoadError` where a file that was read is another than was saved. Older manifests name no files."""
    for name in digests:
        if name not in _FILES:
            raise LoadError(manifest, f"an object with the keys {', '.join(_FILES)}", f"the key {name!r:.80}", "files")
    for name in (GRAPH_FILE, WEIGHTS_FILE, STATE_FILE):
        if name not in digests:
            continue
        found = repr(_digest(folder / name)) if (folder / name).is_file() else "no file"
        if found != repr(digests[name]):
            expected = f"{digests[name]!r}, the SHA-256 of {name} when it was saved"
            raise LoadError(manifest, expected, found, f"files.{name}")


def _of_this_format(value: object, file: Path) -> object:
    """`value`, unless it says that another version wrote it: that comes before what else is wrong with it."""
    if not isinstance(value, dict):
        return value
    found = cast("dict[str, object]", value).get("format", _SAVE_FORMAT)
    if found != _SAVE_FORMAT or isinstance(found, (bool, float)):
        expected = f"{_SAVE_FORMAT}, the format that this version reads (compile the program again)"
        raise LoadError(file, expected, shown(found), "format")
    return cast(object, value)


def copied_state(weights: WeightStore, names: Iterable[str]) -> WeightStore:
    """A store with copies of these variables, for runs to write."""
    store = WeightStore()
    for name in names:
        variable = weights[name]
        store.add(name, np.array(variable.numpy()), variable.type, is_mutable=True)
    return store


def _load_state(signature: Signature, folder: Path) -> WeightStore:
    """What `save` wrote of `Executable.state`. Raises `WeightError` where it is missing or damaged."""
    store = WeightStore.load(folder / STATE_FILE) if signature.state else WeightStore()
    for variable in store.values():
        variable.is_mutable = True
    return store


def _check_variable(port: Port, store: WeightStore, *, is_written: bool) -> None:
    """Raises `IrError` where a store has no variable that can be the state `port`."""
    variable = store.get(port.name)
    if variable is None:
        raise IrError(f"the state of the program has the variable '{port}', which the store lacks")
    if variable.type.shape != port.shape or str(variable.type.element) != port.element:
        raise IrError(f"the state of the program has the variable '{port}'; in the store it is {variable.type}")
    if is_written and not variable.is_mutable:
        raise IrError(f"the program writes '{port.name}', which the store says is not mutable (Variable.is_mutable)")


def _check_ports(signature: Signature, program: Program, file: Path) -> None:
    """Raises `LoadError` where the signature differs from what the instruction program reads and writes."""
    ops = list(program.module.walk())
    state = {state_argument(port.name): (f"signature.state[{i}]", port) for i, port in enumerate(signature.state)}
    for side, ports, kind in (("inputs", signature.inputs, tx8.InputOp), ("outputs", signature.outputs, tx8.OutputOp)):
        found = [op for op in ops if isinstance(op, kind)]
        # Status words are outputs of the instruction program alone.
        declared = {op.port_name: op.tensor for op in found if not (isinstance(op, tx8.OutputOp) and op.status)}
        for name, (at, port) in state.items():  # a variable may be read only, or written only
            if name in declared:
                _check_port(port, declared.pop(name), file, at)
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
    computed, declared = kind_of(tensor.element.dtype), kind_of(port.dtype)
    is_mask = declared == "bool" and computed == "float"  # how truth values are computed
    if declared != computed and not is_mask:
        raise LoadError(file, f"a type of {computed} values, which the program computes in {tensor.element}",
                        port.element, f"{at}.element")  # fmt: skip
