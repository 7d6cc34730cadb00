"""Axes: what every backend op iterates over, declared once per op, and everything that follows from it.

`declaration_of(op)` is the declaration: the axes of the op and the maps from them to operands and results. `slices`,
`cuts` and `volume` are functions of one declaration; `group` unifies the declarations of the ops of a group into one
iteration space, and `strategy`, `tiles`, `demand`, `sharing`, `residency`, `passes`, `traffic` and `effort` say what a
choice of cuts of that space reads, shares, keeps, moves and computes. Importing the package attaches the declarations
to the op classes.

Sources: the indexing maps and iterator types of MLIR's linalg dialect; the factors of Shardy's op-sharding rules.
"""

from __future__ import annotations

from . import contraction, convolution, elementwise, movement, normalization, reduction
from .axis import Axis, AxisKind
from .combination import Combination
from .declaration import Declaration
from .demand import GroupSlices, needs
from .effort import work_done
from .group import GroupSpace, group_space, space_of
from .interface import Axes, declaration_of
from .maps import Along, CutError, Interval, Shifted, Window
from .passes import Passes, passes
from .residency import PartialResult, partial_results
from .sharing import Sharing, sharing
from .slices import OpSlices, TensorSlice, slices
from .strategy import Cut, Strategy, check
from .tiles import Loop, loops, step_part, steps, tile_part
from .totals import repeating_loops
from .traffic import moved_bytes, stored_bytes
from .volume import work

MODELS = (contraction, convolution, elementwise, movement, normalization, reduction)
"""The modules whose import declares the axes of op classes."""

__all__ = [
    "MODELS",
    "Along", "Axes", "Axis", "AxisKind", "Combination", "CutError", "Declaration", "Interval", "OpSlices", "Shifted",
    "TensorSlice", "Window", "declaration_of", "slices", "work",
    "GroupSlices", "GroupSpace", "group_space", "needs", "space_of",
    "Cut", "Loop", "PartialResult", "Passes", "Sharing", "Strategy", "check", "loops", "moved_bytes", "partial_results",
    "passes", "repeating_loops", "sharing", "step_part", "steps", "stored_bytes", "tile_part", "work_done",
]  # fmt: skip
