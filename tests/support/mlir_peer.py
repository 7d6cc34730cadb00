"""MLIR itself as a peer: it reads what we write, and we what it writes.

    PYTHONPATH=src:tests python -m support.mlir_peer /path/to/python

That Python has jaxlib (`pip install jax`), which brings MLIR's parser, printer and verifier, and the dialects arith,
builtin, cf, func, math, scf, tensor and ub. No test needs it. Each operation of these dialects that has samples is a
module, and so are programs of the tests of `scf` and `tensor`; each is written in the generic form and in assembly
formats, read and verified by MLIR, written by it in both, and read by us: structurally equal or not. One is not: MLIR
gives each `arith.trunci` flags, which xDSL does not know there, so that we write none.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator

from support.samples import program_of, samples
from tx8ir.core import Op, Program, parse, print_op, structurally_equal
from tx8ir.dialects import arith, math, tensor, ub

_PROGRAMS = (("dialects.test_scf_loops", "PROGRAM"), ("dialects.test_tensor_dialect", "LINES"))

_MLIR = """
import json, sys
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
context = mlir.make_ir_context()
context.load_all_available_dialects()
found = {}
with context:
    for name, text in json.load(sys.stdin).items():
        try:
            module = ir.Module.parse(text)
            assert module.operation.verify()
            found[name] = [module.operation.get_asm(print_generic_op_form=True), module.operation.get_asm()]
        except Exception as error:
            found[name] = str(error)
json.dump(found, sys.stdout)
"""


def programs() -> Iterator[tuple[str, Program]]:
    """Names and programs."""
    for dialect in (arith, math, tensor, ub):
        for name, op in dialect.DIALECT.ops.items():
            if issubclass(op, Op) and hasattr(op, "samples") and samples(op):
                yield name, program_of(op)
    for module, name in _PROGRAMS:
        yield f"{module}.{name}", parse(getattr(importlib.import_module(module), name))


def main(python: str) -> int:
    """Print the figures, and what differs."""
    ours: dict[str, Program] = {}
    texts: dict[str, str] = {}
    for name, program in programs():
        for form, short in (("generic", False), ("short", True)):
            ours[f"{name} {form}"] = program
            texts[f"{name} {form}"] = print_op(program.module, generic=True, short=short)
    ran = subprocess.run([python, "-c", _MLIR], input=json.dumps(texts), capture_output=True, text=True, check=True)
    read = equal = 0
    for name, found in json.loads(ran.stdout).items():
        if isinstance(found, str):
            print(f"{name}: {found}")
            continue
        read += 1
        for text in found:
            fault = structurally_equal(ours[name].module, parse(text).module)
            equal += fault is None
            if fault is not None:
                print(f"{name}: {fault}")
    print(f"texts {len(texts)}, read by MLIR {read}; texts of MLIR {2 * read}, read equal {equal}")
    return int(read < len(texts) or equal < 2 * read)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
