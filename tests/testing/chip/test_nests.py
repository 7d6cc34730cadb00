"""Inspector and first_divergence in loop nests: any strategy, values that never leave SPM, faults in loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support import nests
from tx8ir.backend.axes import CutError
from tx8ir.backend.codegen import GenerateTx8
from tx8ir.backend.graph import shape_of
from tx8ir.backend.nest.body import NestBody
from tx8ir.backend.nest.choice import Choice
from tx8ir.core import ArrayAttr, Operation, Program, Value, f32
from tx8ir.dialects import tx8
from tx8ir.interpreter import Interpreter
from tx8ir.passes import PassManager
from tx8ir.testing import Divergence, Inspector, first_divergence

InstructionT = TypeVar("InstructionT", bound=tx8.Instruction)


@attrs.frozen
class Scheduled:
    """A program of one group by a given strategy: its graph, its instructions, and inputs."""

    lowered: Program
    machine: Program
    feeds: dict[str, np.ndarray]

    def inspector(self) -> Inspector:
        return Inspector(self.lowered, self.machine, self.feeds)

    def divergence(self) -> Divergence | None:
        return first_divergence(self.lowered, self.machine, self.feeds)

    def instructions(self, kind: type[InstructionT]) -> list[InstructionT]:
        return [op for op in self.machine.module.walk() if isinstance(op, kind)]


def scheduled(program: Program, choice: Callable[[NestBody], Choice]) -> Scheduled:
    lowered = nests.lowered(program)
    body = nests.body_of(lowered)
    nests.schedule(lowered, body, choice(body))
    machine = nests.allocate(lowered).clone()
    PassManager((GenerateTx8(),)).run(machine)
    return Scheduled(lowered, machine, nests.random_feeds(program))


def looped_product() -> Scheduled:
    """[64, 256] by [256, 128] with a bias and relu: rows and columns over the mesh, the sum in a loop of 8."""
    return scheduled(
        nests.product(64, 256, 128, f32, activated=True),
        lambda body: Choice(
            nests.by_name(body, x={"m": 4}, y={"n": 4}, time={"k": 8}), 2, 1, ("x", "y", "")[: len(body.loads)]
        ),
    )


@pytest.mark.parametrize("kind", nests.PROGRAMS)
@given(data=st.data())
def test_every_element_of_every_value_is_seen_once_it_is_made_and_right(kind: str, data: st.DataObject) -> None:
    try:
        compiled = scheduled(nests.PROGRAMS[kind](data), lambda body: nests.any_choice(data, body))
    except CutError:
        assume(False)
    references: dict[Value, np.ndarray] = {}

    def remember(op: Operation, results: Sequence[Any]) -> None:
        references.update(zip(op.results, results, strict=True))

    Interpreter(compiled.lowered, "native", remember).run(compiled.feeds)
    inspector = compiled.inspector()
    (group,) = nests.groups(compiled.lowered)
    values = NestBody.of(group).values
    seen = {value: np.zeros(shape_of(value), np.bool_) for value in (*values, *group.outs)}
    while inspector.debugger.current is not None:
        inspector.step()
        for made in inspector.holdings.latest:
            reference = references[made.value].astype(np.float64).reshape(shape_of(made.value))
            bound = 3e-2 * max(1.0, float(np.abs(reference).max()))
            assert np.abs(inspector.array(made).astype(np.float64) - reference[made.part]).max() <= bound
            seen[made.value][made.part] = True
    assert all(mask.all() for mask in seen.values())
    assert first_divergence(compiled.lowered, compiled.machine, compiled.feeds, tolerance=3e-2) is None


def test_a_load_that_moves_wrongly_from_trip_to_trip_is_found_in_the_first_wrong_one() -> None:
    found = looped_product()
    load = next(op for op in found.instructions(tx8.RdmaOp) if any(term.field == "ddr" for term in op.terms))
    moved = [attrs.evolve(t, stride=2 * t.stride) if t.field == "ddr" else t for t in load.terms]
    assert found.divergence() is None
    load.set_attribute("follows", ArrayAttr(moved))
    wrong = found.divergence()
    assert wrong is not None
    assert (wrong.memory, wrong.source) == ("SPM", load.source)
    assert "LoadVar" in wrong.value
    assert [(c.loop, c.trip, c.trips) for c in wrong.iteration] == [("k", 3, 8)]  # two trips are peeled: 2 + 1
    assert wrong.tile in load.tiles
    assert f"(tile {wrong.tile}, k 3 of 8)" in str(wrong)


def test_a_sum_is_compared_when_it_is_complete() -> None:
    """One product in the middle of the loop forgets what was added up before: the last trip shows it."""
    found = looped_product()
    (*_, last) = found.instructions(tx8.GemmOp)
    within = next(op for op in found.instructions(tx8.GemmOp) if isinstance(op.parent_op, tx8.LoopOp))
    for field in ("psum", "psum_format"):
        within.remove_attribute(field)
    wrong = found.divergence()
    assert wrong is not None
    assert "Gemm" in wrong.value
    assert wrong.source == last.source
    assert [str(counter) for counter in wrong.iteration] == ["k 7 of 8"]


def test_a_value_that_stays_in_the_scratch_pads_is_compared() -> None:
    found = looped_product()
    relu = next(op for op in found.instructions(tx8.UnaryOp) if op.function == "relu")
    relu.set_attribute("function", "abs")
    wrong = found.divergence()
    assert wrong is not None
    assert "Relu" in wrong.value
    assert (wrong.memory, wrong.expected, wrong.iteration) == ("SPM", 0, ())
    assert wrong.got > 0


def test_iterations_show_the_loops_and_the_slices_that_tiles_hold() -> None:
    """In trip k of the sum each tile has the columns 32 k to 32 k + 32 of its rows of x, and those that come next."""
    found = looped_product()
    inspector, x = found.inspector(), found.feeds["x"]
    trips: list[int] = []
    inspector.debugger.break_when(lambda d: d.current is not None and isinstance(d.current.op, tx8.GemmOp))
    while inspector.debugger.run() is not None:
        position = inspector.position
        assert position is not None
        assert (position.role, position.op.name) == ("compute", "tx8be.Gemm")
        (counter,) = position.iteration
        trips.append(counter.trip)
        slices = inspector.slices("x", tile=6)
        assert counter in [one.iteration[0] for one in slices]
        for one in slices:
            (held,) = one.iteration
            assert one.start == (16, 32 * held.trip)
            np.testing.assert_array_equal(one.array, x[16:32, 32 * held.trip :][:, :32])
        assert {one.tile for one in inspector.slices("x")} == set(range(16))
    assert trips == list(range(8))


def test_it_goes_on_by_instruction_by_iteration_and_by_group() -> None:
    """The schedule: what loads ahead, a first trip, six in a repeat, the last one and what follows it."""
    inspector = looped_product().inspector()
    inspector.step()
    assert inspector.debugger.executed == 1
    seen: list[str] = []
    while inspector.step("iteration") is not None:
        position = inspector.position
        assert position is not None
        seen.append(f"{position.role} {' '.join(map(str, position.iteration))}".strip())
    assert seen == ["load", *(f"wait k {k} of 8" for k in range(1, 8))]
    again = looped_product().inspector()
    assert again.step("group") is None
    assert again.position is None
    (group,) = nests.groups(again.lowered)
    assert again.value(again.name_of(group.outs[0]), "DDR").count() == 64 * 128
    with pytest.raises(ValueError, match='by is "tile"; expected "instruction", "iteration" or "group"'):
        again.step("tile")  # type: ignore[arg-type]


def test_it_shows_the_iteration_where_it_stands_and_those_of_what_is_held() -> None:
    inspector = looped_product().inspector()
    inspector.debugger.break_when(lambda d: d.current is not None and isinstance(d.current.op, tx8.GemmOp))
    for _ in range(3):
        inspector.debugger.run()
    for text in (str(inspector), inspector._repr_html_()):
        assert "group 4: compute Gemm 4, next part, k 2 of 8" in text
        assert "k 1 of 8; k 2 of 8" in text
