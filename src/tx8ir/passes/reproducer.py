"""Crash reproducers: when a pass fails, the program and the pipeline are written to a file that runs it again.

The file is IR text. The pipeline stands in MLIR's section `mlir_reproducer`, so that `mlir-opt --run-reproducer` reads
it too; weights are in a safetensors file beside it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from tx8ir.core import IrError, Program, WeightStore, default_context, print_op
from tx8ir.core.program import read_text
from tx8ir.core.text.parser import parse_op
from tx8ir.support.screen import fitting_repr

from .executor import Instrumentation, PassRun
from .text import parse_pipeline

if TYPE_CHECKING:
    from .base import Pass

_END: Final = "\n#-}"
_SECTION: Final = re.compile(r"\bmlir_reproducer\s*:\s*\{")
_PIPELINE: Final = re.compile(r'\bpipeline\s*:\s*"((?:[^"\\]|\\.)*)"')
_WEIGHTS: Final = re.compile(r'\btx8ir\s*:\s*\{\s*weights\s*:\s*"((?:[^"\\]|\\.)*)"')
_NO_VERIFY: Final = re.compile(r"\bverify_each\s*:\s*false\b")
_MODULE: Final = re.compile(r"\s*(?:builtin\.)?module\s*\((.*)\)\s*", re.DOTALL)


class CrashReproducer(Instrumentation):
    """Writes a reproducer when a pass fails, or leaves an invalid program. The error says so in a note.

    Args:
        path: the file that is written; weights go into `path` with the suffix `.safetensors`.
        pipeline: the text of the pipeline that is watched.
        verify_each: whether it verifies after each pass.
        local: write the program as it was right before the pass that failed, and that pass alone. Otherwise the
            program as it was before the pipeline, and all of it. Costs O(text) for each pass, otherwise once.
    """

    def __init__(
        self, path: str | os.PathLike[str], pipeline: str, *, verify_each: bool = True, local: bool = False
    ) -> None:
        self.path = Path(path)
        self.pipeline = pipeline
        self.verify_each = verify_each
        self.local = local
        self._text = ""
        self._weights = WeightStore()
        self._is_written = False

    def before_pipeline(self, program: Program) -> None:
        self._is_written = False
        self._keep(program)

    def before_pass(self, run: PassRun) -> None:
        if self.local and not run.is_nest:
            self._keep(run.program)

    def after_failed_pass(self, run: PassRun, error: BaseException) -> None:
        if self._is_written or not isinstance(error, Exception):
            return
        self._is_written = True
        pipeline = self.pipeline
        if self.local:
            pipeline = run.text
            for kind in reversed(run.path):
                pipeline = f"{kind}({pipeline})"
        try:
            self._write(pipeline)
        except (OSError, IrError) as failure:
            error.add_note(f"a reproducer could not be written to {self.path}: {failure}")
            return
        error.add_note(f"a reproducer is in {self.path}; run it with: tx8ir opt --run-reproducer {self.path}")

    def _keep(self, program: Program) -> None:
        self._text = print_op(program.module)
        self._weights = program.weights.copy()

    def _write(self, pipeline: str) -> None:
        settings = [
            f'pipeline: "builtin.module({_escaped(pipeline)})"',
            "disable_threading: true",
            f"verify_each: {'true' if self.verify_each else 'false'}",
        ]
        entries = ",\n".join(f"      {setting}" for setting in settings)
        section = f"    mlir_reproducer: {{\n{entries}\n    }}"
        if len(self._weights):
            weights = self.path.with_suffix(".safetensors")
            self._weights.save(weights)
            section += f',\n    tx8ir: {{\n      weights: "{_escaped(weights.name)}"\n    }}'
        external = f"  external_resources: {{\n{section}\n  }}\n#-}}\n"
        before = self._text.removesuffix(_END)
        text = f"{before},\n{external}" if before != self._text else f"{before}\n\n{{-#\n{external}"
        self.path.write_text(text, encoding="utf-8")


@attrs.frozen(eq=False)
class Reproducer:
    """What a reproducer holds.

    Attributes:
        program: as it was before the pipeline, with its weights.
        passes: the pipeline.
        verify_each: whether the program was verified after each pass.
    """

    __repr__ = fitting_repr

    program: Program
    passes: tuple[Pass, ...]
    verify_each: bool


def read_reproducer(path: str | os.PathLike[str]) -> Reproducer:
    """Read a file that `CrashReproducer`, or `mlir-opt`, wrote.

    Raises:
        IrError: it has no section `mlir_reproducer`, or no pipeline in it.
        ParseError, LoadError, WeightError, PassError: the text, a file, or the pipeline is wrong.
    """
    text = read_text(path)
    section = next(reversed(list(_SECTION.finditer(text))), None)
    pipeline = _PIPELINE.search(text, section.end()) if section is not None else None
    if section is None or pipeline is None:
        raise IrError(f"{os.fspath(path)} is not a reproducer: it has no `mlir_reproducer` with a `pipeline`")
    whole = _unescaped(pipeline[1])
    inside = _MODULE.fullmatch(whole)
    passes = parse_pipeline(whole if inside is None else inside[1])
    op = parse_op(text, context=default_context(), file=os.fspath(path), allow_unregistered=True)
    weights = _WEIGHTS.search(text, section.end())
    store = WeightStore.load(Path(path).parent / _unescaped(weights[1])) if weights is not None else WeightStore()
    return Reproducer(Program(op, store), passes, _NO_VERIFY.search(text, section.end()) is None)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
