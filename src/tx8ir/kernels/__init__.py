"""Kernels by hand: allocate scratch-pad by name, slice, call instructions; the result is a `tx8.program`.

    k = Kernel("double", tiles=range(16))
    x, y = k.input("x", (16, 1024), "f32"), k.output("y", (16, 1024), "f32")
    a = k.spm("a", (1024,), "f32")
    k.load(a, x.split(16))
    k.binary("add", a, a, a)
    k.store(y.split(16), a)
    program = k.program()

`all_reduce`, `reduce_scatter`, `all_gather` and `all_to_all` are library routines over the tiles' messages.
"""

from __future__ import annotations

from .affine import Affine
from .collectives import all_gather, all_reduce, all_to_all, reduce_scatter
from .errors import KernelError
from .kernel import Kernel
from .views import Buffers, View

__all__ = [
    "Affine",
    "Buffers",
    "Kernel",
    "KernelError",
    "View",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "reduce_scatter",
]
