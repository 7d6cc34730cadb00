"""Counterexamples: what a pass got wrong, as a reader and as Python see it."""

from __future__ import annotations

import html
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program, detached
from tx8ir.passes import Pass, PassManager
from tx8ir.support.screen import fitted, fitting_repr
from tx8ir.support.table import Table
from tx8ir.testing.reduction.reduce import count_operations

from .observe import NumericGuarantee

Array: TypeAlias = NDArray[Any]
PassLike: TypeAlias = "str | Pass | PassManager | Callable[[Program], object] | Sequence[PassLike]"
"""A pipeline as text, a pass, a pass manager, a function that changes a program, or several of them in a row."""

Kind: TypeAlias = Literal["answer", "error", "invalid", "evaluation", "nondeterministic", "text", "hang"]
"""What is wrong: another answer, an exception of the pass, an invalid program, or one that cannot be evaluated; a pass
that does not do the same to an equal program; a program that is another one after printing and parsing; a pass that
does not end."""


@attrs.frozen(eq=False)
class CheckedStage:
    """One step of a pipeline under test.

    Attributes:
        name: what it is called in reports: the name of the pass with its options, or of the function.
        subject: the pass or function.
    """

    __repr__ = fitting_repr

    name: str
    subject: Pass | Callable[[Program], object]

    @property
    def guarantee(self) -> NumericGuarantee:
        """What it guarantees to keep: a pass says it, a function keeps all."""
        return self.subject.guarantee if isinstance(self.subject, Pass) else NumericGuarantee.BITWISE

    def run(self, program: Program) -> None:
        """Changes the program, unverified. Raises what the pass raises."""
        if isinstance(self.subject, Pass):
            PassManager((self.subject,)).run(program, verify_each=False)
        else:
            with detached():
                self.subject(program)

    @property
    def expression(self) -> tuple[str, str]:
        """How a script gets at the pass: lines that import what is needed, and an expression."""
        subject = self.subject
        made = type(subject) if isinstance(subject, Pass) else subject
        module, name = getattr(made, "__module__", ""), getattr(made, "__qualname__", "<lambda>")
        registered = isinstance(subject, Pass) and _parses_to(self.name, subject)
        expression = repr(self.name) if registered else repr(subject) if isinstance(subject, Pass) else name
        if module.startswith("tx8ir.") and registered:
            return "", expression
        path = ""
        if module == "__main__":
            file = getattr(sys.modules["__main__"], "__file__", None)
            if file is None:
                return f"# define {name} here", expression
            path = f"import sys\nsys.path.insert(0, {str(Path(file).resolve().parent)!r})\n"
            module = Path(file).stem
        if "<" in name:
            return f"# define {name} of {inspect.getsourcefile(cast(Any, made))} here", expression
        return f"{path}from {module} import {name.partition('.')[0]}", expression


def _parses_to(text: str, subject: Pass) -> bool:
    try:
        return PassManager.parse(text).passes == (subject,)
    except Exception:  # not registered, or shadowed
        return False


def stages_of(pipeline: PassLike) -> tuple[CheckedStage, ...]:
    """The single steps of a pipeline.

    Raises:
        PassError: text that names no pass. TypeError: something that is not a pass.
    """
    if isinstance(pipeline, str):
        pipeline = PassManager.parse(pipeline)
    if isinstance(pipeline, PassManager):
        return tuple(CheckedStage(str(p), p) for p in pipeline.passes)
    if isinstance(pipeline, Pass):
        return (CheckedStage(str(pipeline), pipeline),)
    if isinstance(pipeline, Sequence):
        return tuple(stage for part in cast("Sequence[PassLike]", pipeline) for stage in stages_of(part))
    if not callable(pipeline) or isinstance(pipeline, type):
        raise TypeError(f"{pipeline!r} is not a pass, pipeline or function of a program")
    return (CheckedStage(getattr(pipeline, "__name__", repr(pipeline)), pipeline),)


@attrs.frozen(eq=False)
class Failure:
    """The first pass of a pipeline that does not preserve a program, and on which inputs.

    Attributes:
        index: its place in the pipeline.
        stage: the pass.
        kind: what is wrong.
        message: the same in words.
        inputs: the inputs it shows on; for an error or an invalid program, the first that were drawn.
        after: text of the program after the pass, as far as it got.
        cause: the exception, if there was one.
    """

    __repr__ = fitting_repr

    index: int
    stage: CheckedStage
    kind: Kind
    message: str
    inputs: Mapping[str, Array]
    after: str
    cause: Exception | None = None

    def __str__(self) -> str:
        what = {
            "answer": "changes an answer",
            "error": "raises",
            "invalid": "leaves an invalid program",
            "evaluation": "leaves a program that cannot be evaluated",
            "nondeterministic": "is not deterministic",
            "text": "leaves a program that does not survive printing and parsing",
            "hang": "does not end",
        }
        return f"pass '{self.stage.name}' {what[self.kind]}: {self.message}"


@attrs.frozen(eq=False, repr=False)
class Counterexample:
    """A program that a pass does not preserve, as small as it could be made.

    Attributes:
        program: the program before the pipeline.
        stages: the pipeline.
        failure: what goes wrong.
        guarantee: what all passes were held to; None: each to its own guarantee.
        original: how many operations and passes there were before the reduction; None without one.
        found_at: the place of the failing pass in the pipeline before the reduction.
    """

    program: Program
    stages: tuple[CheckedStage, ...]
    failure: Failure
    guarantee: NumericGuarantee | None = None
    original: tuple[int, int] | None = None
    found_at: int = 0

    @property
    def operations(self) -> int:
        """How many operations the program has, the module, its functions and their returns not counted."""
        return count_operations(self.program)

    @property
    def script(self) -> str:
        """A Python script that runs the same check, and ends with the same AssertionError.

        It imports the pass from where it is defined; a function that cannot be imported is left to be pasted in.
        """
        imports: list[str] = []
        expressions: list[str] = []
        for stage in self.stages:
            line, expression = stage.expression
            expressions.append(expression)
            if line and line not in imports:
                imports.append(line)
        pipeline = expressions[0] if len(expressions) == 1 else f"[{', '.join(expressions)}]"
        guarantee = "" if self.guarantee is None else f", guarantee=NumericGuarantee.{self.guarantee.name}"
        lines = [f"# {line}" for line in str(self.failure).splitlines()] + [
            "import numpy as np",
            "from numpy import inf, nan",
            "",
            "import tx8ir",
            f"from tx8ir.testing import {'NumericGuarantee, ' if guarantee else ''}assert_preserves",
            *imports,
            "",
            f"program = tx8ir.parse({_quoted(str(self.program))})",
        ]
        for name, variable in self.program.weights.items():
            mutable = ", is_mutable=True" if variable.is_mutable else ""
            array = _array(variable.numpy())
            lines.append(f"program.weights.add({name!r}, {array}{mutable})")
        lines.append("inputs = {")
        lines += [f"    {name!r}: {_array(array)}," for name, array in self.failure.inputs.items()]
        lines += ["}", f"assert_preserves({pipeline}, program, inputs=inputs{guarantee})", ""]
        return "\n".join(lines)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The inputs it fails on, and the variables."""
        inputs = tuple((name, _array(array)) for name, array in self.failure.inputs.items())
        variables = tuple(
            (name, _array(variable.numpy()), "yes" if variable.is_mutable else "no")
            for name, variable in self.program.weights.items()
        )
        tables = (Table("inputs", ("name", "numbers"), inputs),)
        return (*tables, Table("variables", ("name", "numbers", "mutable"), variables)) if variables else tables

    def __repr__(self) -> str:
        of = _counted(self.operations, len(self.stages))
        return fitted(f"<Counterexample of {of}: {str(self.failure).splitlines()[0]}>")

    def _repr_html_(self) -> str:
        """What goes wrong, the program, its inputs; the program after the pass and the script fold away."""
        folded = ((f"after '{self.failure.stage.name}'", self.failure.after), ("a script that fails", self.script))
        shown = self.program._repr_html_()  # pyright: ignore[reportPrivateUsage]  # IPython's name
        program = shown or f"<pre>{html.escape(str(self.program))}</pre>"
        return "".join(
            (
                f"<p>{html.escape(str(self.failure))}</p>",
                program,
                *(table.to_html() for table in self.tables),
                *(
                    f"<details><summary>{html.escape(title)}</summary><pre>{html.escape(text)}</pre></details>"
                    for title, text in folded
                ),
            )
        )

    def __str__(self) -> str:
        parts = [str(self.failure), ""]
        if self.original is not None:
            before = _counted(*self.original)
            parts += [f"reduced from {before} to {_counted(self.operations, len(self.stages))}", ""]
        parts += ["before:", str(self.program), "", f"after '{self.failure.stage.name}':", self.failure.after, ""]
        parts += [f"{name} = {_array(array)}" for name, array in self.failure.inputs.items()]
        parts += [
            f"variable {name!r} = {_array(variable.numpy())}{' (mutable)' if variable.is_mutable else ''}"
            for name, variable in self.program.weights.items()
        ]
        return "\n".join(parts)


def _counted(operations: int, passes: int) -> str:
    return f"{operations} operation{'s' if operations != 1 else ''} and {passes} pass{'es' if passes != 1 else ''}"


def _quoted(text: str) -> str:
    return f"r'''\n{text}\n'''" if "'''" not in text else repr(text)


def _array(array: Array) -> str:
    """The array as a NumPy expression that gives it back, bit for bit but for the payload of a NaN."""
    wide = array if array.dtype.kind in "iub" else array.astype(np.float64)
    values = wide.tolist()
    if array.size and array.ndim and array.size != 1 and np.array_equal(wide, np.full_like(wide, wide.flat[0])):
        signs = np.signbit(wide) if wide.dtype.kind == "f" else np.zeros(1)
        if signs.all() or not signs.any():
            return f"np.full({array.shape}, {wide.flat[0].item()!r}, dtype={array.dtype.name!r})"
    shape = f".reshape({array.shape})" if 0 in array.shape else ""
    return f"np.array({values!r}, dtype={array.dtype.name!r}){shape}"
