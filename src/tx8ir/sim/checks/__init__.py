"""What the simulator checks while a program runs: races, layouts, operands, exception flags."""

from __future__ import annotations
