"""What programs the fuzzer makes: attributes that fit, structured numbers, accesses at any nesting."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from tx8ir.core import Block, Operation, Program, VTensorType, f32
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.target.formats import Format
from tx8ir.testing.cases.mutation import Material, Template, empty_program, from_template, mutate
from tx8ir.testing.cases.mutation.accesses import accesses
from tx8ir.testing.cases.mutation.fitted import fitted
from tx8ir.testing.cases.mutation.flow import calls
from tx8ir.testing.cases.mutation.numbered_flow import chosen_by_number, rounds_by_number
from tx8ir.testing.guidance.direction import Direction
from tx8ir.testing.inputs import draw_inputs, held, structured_array
from tx8ir.testing.passes.observe import ObservedProgram


def test_attributes_fit_the_operands() -> None:
    x = Block([VTensorType((2, 3, 4, 5), f32)]).args[0]
    rng = random.Random(0)
    axes = {fitted(pd.SoftmaxOp, {"axis": 0}, [x], rng)["axis"] for _ in range(200)}
    assert axes == set(range(-4, 4))
    windows = {fitted(pd.Pool2dOp, {"kernel_size": (1, 1)}, [x], rng)["kernel_size"] for _ in range(200)}
    assert {(4, 5), (3, 4)} <= windows
    sizes = {np.prod(fitted(pd.ReshapeOp, {"shape": (7,)}, [x], rng)["shape"]) for _ in range(50)}
    assert 120 in sizes


def test_a_permutation_meets_its_inverse() -> None:
    first = pd.transpose(Block([VTensorType((2, 3, 4), f32)]).args[0], perm=(1, 2, 0))
    rng = random.Random(0)
    perms = [fitted(pd.TransposeOp, {"perm": (0, 1, 2)}, [first.out], rng)["perm"] for _ in range(100)]
    assert perms.count((2, 0, 1)) > 15


def test_structured_numbers_have_one_that_breaks_the_structure_at_times() -> None:
    rng = np.random.default_rng(0)
    made = [structured_array(rng, (3, 3), Format.named("i1")) for _ in range(300)]
    distances = {int((array != np.tri(3, dtype=np.bool_)).sum()) for array in made}
    assert {0, 1} <= distances


def test_drawn_numbers_are_numbers_of_the_format() -> None:
    """The dtype that carries tf32 holds more than tf32."""
    numbers = held(np.array([0.1, 1.0]), Format.named("tf32"))
    assert numbers[1] == 1.0
    assert numbers[0] != np.float32(0.1)
    assert not (numbers.view(np.uint32) & 0x1FFF).any()


def programs(*ops: str) -> Iterator[Program]:
    material = Material(Direction(frozenset(ops)))
    for seed in range(120):
        program = from_template(accesses, empty_program(), random.Random(seed), material)
        if program is not None:
            yield program


def test_loops_read_before_they_write() -> None:
    def is_so(loop: Operation) -> bool:
        kinds = [type(op) for op in loop.regions[1].block]
        writes = [i for i, kind in enumerate(kinds) if issubclass(kind, InplaceOp)]
        return builtin.ToVTensorOp in kinds and bool(writes) and kinds.index(builtin.ToVTensorOp) < writes[-1]

    made = list(programs("scf.while", "builtin.to_vtensor"))
    assert len(made) > 100
    assert any(is_so(op) for p in made for op in p.main.walk() if isinstance(op, scf.WhileOp))


def test_functions_that_nobody_calls_are_among_the_programs() -> None:
    def is_so(program: Program) -> bool:
        called = {op.callee.value for op in program.module.walk() if op.name == "func.call"}
        return bool({function.sym_name for function in program.body} - called - {"main"})

    made = (from_template(calls, empty_program(), random.Random(seed), Material()) for seed in range(40))
    assert any(is_so(program) for program in made if program is not None)


@pytest.mark.parametrize("template", [rounds_by_number, chosen_by_number])
def test_programs_that_go_by_numbers_run_their_regions(template: Template) -> None:
    entered: set[str] = set()
    for seed in range(20):
        program = from_template(template, empty_program(), random.Random(seed), Material())
        assert program is not None
        observed = ObservedProgram(program)
        observed.observe(draw_inputs(program, seed), max_steps=1000)
        entered |= observed.entered()
    names = {"scf.for 0"} if template is rounds_by_number else {f"scf.index_switch {i}" for i in range(3)}
    assert names <= entered


def test_programs_with_operations_that_no_pass_names_are_edited() -> None:
    """Those of the index dialect, for one, are no operations that others take the place of."""
    mutants = []
    for seed in range(60):
        program = from_template(rounds_by_number, empty_program(), random.Random(seed), Material())
        assert program is not None
        mutants += [mutate(program, random.Random(f"{seed}/{i}"), Material()) for i in range(3)]
    assert sum(m is not None for m in mutants) > 60
