"""tx8ir: a graph IR in pure Python, the TX8 backend compiler on it, and a simulator of the TX8 under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import dialects as dialects  # makes the shipped dialects known to the default context
from .support.lazy_names import lazy_names
from .support.registration import register_lazily

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import autodiff as autodiff
    from . import core as core
    from . import explorer as explorer
    from . import frontends as frontends
    from . import interpreter as interpreter
    from . import kernels as kernels
    from . import passes as passes
    from . import rewriting as rewriting
    from . import runtime as runtime
    from . import sim as sim
    from . import target as target
    from . import testing as testing
    from . import transforms as transforms
    from . import viz as viz
    from .compiler import CompileOptions, compile
    from .core.program import Program, parse
    from .dialects.pd import Tensor
    from .executable import Executable, RangeError
    from .frontends.files import load
    from .frontends.python import cond, function, jit, while_loop
    from .signature import InputError

__version__ = "0.1.0"
__all__ = [
    "CompileOptions",
    "Executable",
    "InputError",
    "Program",
    "RangeError",
    "Tensor",
    "compile",
    "cond",
    "function",
    "jit",
    "load",
    "parse",
    "while_loop",
]

# What notebooks show comes from a package that nothing else of the IR needs.
register_lazily("renderer", f"{__name__}.viz.notebook")
register_lazily("explorer", f"{__name__}.explorer")

# What `import tx8ir` alone does not need is imported when it is first touched.
if not TYPE_CHECKING:  # to whom a `__getattr__` says that there is every name
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "CompileOptions": "compiler",
            "Executable": "executable",
            "InputError": "signature",
            "RangeError": "executable",
            "Program": "core.program",
            "Tensor": "dialects.pd",
            "compile": "compiler",
            "cond": "frontends.python",
            "function": "frontends.python",
            "jit": "frontends.python",
            "load": "frontends.files",
            "parse": "core.program",
            "while_loop": "frontends.python",
        },
        (
            *(
                "analysis",
                "autodiff",
                "core",
                "dialects",
                "explorer",
                "frontends",
                "interpreter",
                "kernels",
                "passes",
                "rewriting",
                "runtime",
            ),
            *("sim", "target", "testing", "transforms", "viz"),
        ),
    )
