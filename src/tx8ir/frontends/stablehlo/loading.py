"""`load`: StableHLO from a text or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tx8ir.core import Program, parse_op
from tx8ir.core.program import read_text

from .dialect import stablehlo_context
from .importer import import_module


def load(source: str | os.PathLike[str], *, dimensions: Mapping[str, int] | None = None) -> Program:
    """Import a module of StableHLO.

    The program's `main` takes the arguments of the module's `main` and returns its results: arguments under their names
    in the text (`arg0`) or those that JAX writes with `as_text(debug_info=True)`, results under the names of
    `jax.result_info`. Private functions are inlined. Constants of more than 64 elements go to the `WeightStore`. Each
    operation is located at what the text says of it, or its line in the text.

    A module that is one `sdy.manual_computation` (`jax.shard_map`) becomes what each device computes: its inputs and
    outputs are the parts. `tx8ir.interpreter.evaluate_replicas` evaluates several.

    Args:
        source: the text, or the path of a file that holds it. What has a line break or a brace in it is a text.
        dimensions: extents of dynamic dimensions of inputs, by place (`{"arg0[0]": 4}`). Those that are not given stay
            dynamic as far as `pd` can say what becomes of them.

    Returns:
        A verified program of `pd`, `scf` and `ccl` operations on value tensors.

    Raises:
        StableHloImportError: the module uses what is not supported; the message names file, operation and line.
            Operations that are lacking are listed all at once.
        ParseError: the text is malformed; with line and column. LoadError: the file cannot be read.
    """
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return load_text(source, "<text>", dimensions)
    return load_text(read_text(source), os.fspath(source), dimensions)


def load_text(text: str, file: str, dimensions: Mapping[str, int] | None = None) -> Program:
    """Import a module from a text, which messages say is from `file`."""
    module = parse_op(text, context=stablehlo_context(), file=file, allow_unregistered=True)
    return import_module(module, file, dimensions)
