"""Hypothesis strategies for tensor programs that can be evaluated (needs the extra `test`).

    from hypothesis import given
    from tx8ir.testing import assert_preserves
    from tx8ir.testing.programs import tensor_programs

    @given(tensor_programs())
    def test_my_pass(program): assert_preserves("my-pass", program)

Each program is valid, ends, and is evaluated without error on the inputs that `inputs.draw_inputs` draws. It is written
step by step from a pool of the values so far; the newest value is the simplest choice, and no step is simpler still,
so that Hypothesis shrinks a failing program to the few operations that matter. Programs have habits: each prefers a few
kinds of steps and operations, so that rules that need two of a kind, or none of another, are met too (swarm testing:
Groce et al., ISSTA 2012). And their steps look back: they repeat operations, chain them, and read what was written.

- `features`: what programs may have
- `writer`: draws from the pool, writes operations
- `arithmetic`, `views`, `storage`, `control`: the steps, by kind
- `sampled`: the step that writes any operation, from its samples
- `relations`: the steps that look back
- `strategy`: `tensor_programs`
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis
except ImportError as error:
    message = "drawing programs needs the package 'hypothesis': pip install 'tx8ir[test]'"
    raise ImportError(message, name="hypothesis") from error

from .features import ELEMENTS, EVERYTHING, LARGEST, LOWERABLE, NUMBERS, SHAPES, TRIPS, VALUES, Features
from .strategy import Level, tensor_programs
from .writer import Writer, WriterStep, ranked

__all__ = [
    "ELEMENTS",
    "EVERYTHING",
    "Features",
    "LARGEST",
    "Level",
    "LOWERABLE",
    "NUMBERS",
    "ranked",
    "SHAPES",
    "WriterStep",
    "tensor_programs",
    "TRIPS",
    "VALUES",
    "Writer",
]

del _hypothesis
