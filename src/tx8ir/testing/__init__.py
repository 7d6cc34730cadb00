"""What tests need: oracles for programs and passes, and programs to test with.

- `check`: is what the simulator computed what the source program says? And does each pass of a pipeline keep it?
- `fuzz`: looks for a program that a pass gets wrong, and needs nothing but the pass.
- `assert_preserves`: both of these as an assertion that fails with the smallest program and a script.
- `first_divergence`: the first value that the chip holds otherwise than the interpreter, and the instruction.
- `Inspector`: a debugger that shows values of the graph by their names, from SPM or DDR.
- `programs`: Hypothesis strategies for tensor programs that can be evaluated (needs the extra `test`).
- `cases.operations`: cases of operations with data and answers, computed here and on other hardware.
- `cases.small_scope`: all small programs, of one and two operations, from the samples of operations.
- `prove`: is a rewrite rule of element-wise operations right for all numbers, in each rounding mode?
"""

from __future__ import annotations

from tx8ir.testing.chip.differential import CheckResult, OutputCheck, check_outputs, random_inputs, ulp
from tx8ir.testing.chip.divergence import Divergence, first_divergence
from tx8ir.testing.chip.inspector import Inspector
from tx8ir.testing.fuzzing import FuzzCoverage, FuzzResult, fuzz
from tx8ir.testing.fuzzing.assertion import assert_preserves
from tx8ir.testing.inputs import draw_inputs
from tx8ir.testing.passes.counterexample import CheckedStage, Counterexample, Failure, PassLike
from tx8ir.testing.passes.observe import Difference, NumericGuarantee, Observation, observe
from tx8ir.testing.passes.preserve import PipelineCheck, check
from tx8ir.testing.passes.reorder import reordered
from tx8ir.testing.proving import Proof, ProofError, prove
from tx8ir.testing.reduction.reduce import reduce_program

__all__ = [
    "assert_preserves",
    "check",
    "check_outputs",
    "CheckResult",
    "Counterexample",
    "Difference",
    "Divergence",
    "draw_inputs",
    "Failure",
    "first_divergence",
    "fuzz",
    "FuzzCoverage",
    "FuzzResult",
    "Inspector",
    "Observation",
    "observe",
    "OutputCheck",
    "PassLike",
    "PipelineCheck",
    "NumericGuarantee",
    "Proof",
    "ProofError",
    "prove",
    "random_inputs",
    "reduce_program",
    "reordered",
    "CheckedStage",
    "ulp",
]
