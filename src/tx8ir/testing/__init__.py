"""What tests need: oracles for compiled programs, and programs to test with.

- `check`: is what the simulator computed what the source program says?
- `strategies`: Hypothesis strategies for types, attributes and whole programs (needs the extra `test`).
- `dialect`: a small dialect with one of everything an operation can have, and a context that knows it.
"""

from __future__ import annotations

from tx8ir.testing.differential import CheckResult, OutputCheck, check, check_outputs, random_inputs, ulp

__all__ = ["CheckResult", "OutputCheck", "check", "check_outputs", "random_inputs", "ulp"]
