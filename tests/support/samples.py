"""Programs of the samples of an operation, as text of every kind and to the peer and back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from support.peer import peer_module, peer_text
from tx8ir.core import Block, Builder, FunctionType, Op, Program, parse, print_op, structurally_equal
from tx8ir.dialects import func
from tx8ir.dialects.samples import Sample, samples_of

TEXTS: tuple[dict[str, bool], ...] = (
    {},
    {"generic": True},
    {"short": True},
    {"short": True, "generic": True},
    {"short": True, "names": True},
)
"""Options of `print_op` whose text reads back."""


@functools.cache
def samples(op: Any) -> tuple[Sample, ...]:
    return tuple(samples_of(op))


def detached(sample: Sample) -> Op:
    block = Block(sample.types)
    with Builder.at_end(block):
        return sample.build(block.args)


def program_of(op: Any, takes: Callable[[Sample], bool] = lambda _: True) -> Program:
    """A function for each sample of `op` that `takes` accepts."""
    program = Program.empty()
    for number, sample in enumerate(filter(takes, samples(op))):
        with Builder.at_end(program.body):
            function = func.FuncOp(sym_name=f"f{number}", function_type=FunctionType(sample.types, sample.result_types))
        with Builder.at_end(function.body.block):
            func.ReturnOp(sample.build(function.body.block.args).results)
    return program


def reads_back(program: Program) -> None:
    """Every text of a valid program is structurally equal to it when it is read."""
    program.verify()
    for options in TEXTS:
        text = print_op(program.module, **options)
        fault = structurally_equal(program.module, parse(text).module)
        assert fault is None, f"{fault}\n{text}"


def goes_to_the_peer_and_back(program: Program, *, unknown: bool = False) -> None:
    """The peer writes what it reads of a program, in both its forms, structurally equal to it.

    Args:
        program: valid.
        unknown: the peer does not know the operations, so it reads the generic form only.
    """
    generic = print_op(program.module, generic=True)
    short = print_op(program.module, short=True, generic=True)
    modules = [peer_module(text) for text in ((generic,) if unknown else (generic, short))]
    for module in modules:
        for as_generic in (True, False):
            back = peer_text(module, generic=as_generic)
            fault = structurally_equal(program.module, parse(back).module)
            assert fault is None, f"{fault}\n{back}"
    assert modules[0].is_structurally_equivalent(modules[-1])
