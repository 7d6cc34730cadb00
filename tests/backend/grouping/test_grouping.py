"""Groups: what is in one, its loads and stores, its tiles, and where tiles must wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Program, VTensorType, f32, i32
from tx8ir.dialects import pd, tx8be
from tx8ir.dialects.tx8be import GroupOp, RegionAttr
from tx8ir.passes import PassError

Fixture = Callable[..., Any]
TO_CONSTANTS = "lower-to-tx8be,layout-init,layout-transmit,layout-align,layout-optimize,load-constants"
LOAD_STORE = f"{TO_CONSTANTS},group-default,group-load-store"
ALL = f"{LOAD_STORE},group-mapping,group-barriers"


def t(*shape: int, element: Any = f32) -> VTensorType:
    return VTensorType(shape, element)


def w(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def groups(program: Program) -> list[GroupOp]:
    return [op for op in program.main.body.block if isinstance(op, GroupOp)]


def contents(group: GroupOp) -> list[str]:
    return [op.name.removeprefix("tx8be.") for op in group.body.block]


LINEAR: dict[str, Any] = {"inputs": {"x": t(2, 4)}, "weights": {"w": w(4, 3), "b": w(3)}}


def linear(x: Any, p: Any) -> Any:
    return pd.add(pd.matmul(pd.tanh(x), p("w")), p("b"))


class TestDefault:
    def test_each_op_gets_a_group_with_its_constants(self, build_program: Fixture, run_passes: Fixture) -> None:
        after = run_passes(build_program(linear, **LINEAR), f"{TO_CONSTANTS},group-default")
        assert [contents(g) for g in groups(after)] == [
            ["Tanh", "Return"],
            ["ChannelNorm", "Return"],
            ["LoadConst", "LoadConst", "None", "Gemm", "Return"],
            ["ChannelNorm", "Return"],
        ]
        assert [g.group_id for g in groups(after)] == [0, 1, 2, 3]
        names = [op.name.removeprefix("tx8be.") for op in after.main.body.block]
        assert [n for n in names if n != "Group"] == ["Input", "Tuple", "Output", "func.return"]

    def test_a_value_used_twice_enters_once(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.multiply(x, x), {"x": t(2, 4)})
        (group,) = groups(run_passes(program, f"{TO_CONSTANTS},group-default"))
        assert len(group.inputs) == 1

    def test_results_without_an_op_are_copied_once(
        self, build_program: Fixture, run_passes: Fixture, check_same_values: Fixture
    ) -> None:
        program = build_program(lambda x, p: (x, p("w"), x, pd.relu(x)), {"x": t(2, 4)}, {"w": w(3)})
        after = run_passes(program, LOAD_STORE)
        assert sorted(contents(g) for g in groups(after)) == [
            ["LoadConst", "StoreVar", "Return"],
            ["LoadVar", "Relu", "StoreVar", "Return"],
            ["LoadVar", "StoreVar", "Return"],
        ]
        check_same_values(program, after)


class TestLoadStore:
    def test_arguments_are_loaded_and_results_stored(self, build_program: Fixture, run_passes: Fixture) -> None:
        after = run_passes(build_program(linear, **LINEAR), LOAD_STORE)
        gemm = groups(after)[2]
        assert contents(gemm) == ["LoadVar", "LoadConst", "LoadConst", "None", "Gemm", "StoreVar", "Return"]
        load, *_, store, _ = gemm.body.block
        assert isinstance(load, tx8be.LoadVarOp)
        assert isinstance(store, tx8be.StoreVarOp)
        assert load.dev_info is not None
        assert load.dev_info.mem_layout == "Cx"  # as the conversion before left it
        assert store.dev_info is not None
        assert store.dev_info.mem_layout == "Cx"
        assert [g.group_tag for g in groups(after)] == [0] * 4

    def test_a_reshape_is_an_alias(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.tanh(pd.reshape(pd.tanh(x), shape=(8,))), {"x": t(2, 4)})
        tags = {contents(g)[-2]: g.group_tag for g in groups(run_passes(program, LOAD_STORE))}
        assert tags == {"StoreVar": 0, "Reshape": 2}

    def test_a_table_is_not_loaded(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(
            lambda table, i, p: pd.embedding(i, pd.tanh(table)), {"table": t(9, 4), "i": t(3, element=i32)}
        )
        gather = next(g for g in groups(run_passes(program, LOAD_STORE)) if "Gather" in contents(g))
        lookup = next(op for op in gather.body.block if isinstance(op, tx8be.GatherOp))
        assert lookup.table in gather.body.block.args
        assert isinstance(lookup.indices.defining_op, tx8be.LoadVarOp)

    def test_an_op_that_reads_a_value_twice_loads_it_once(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.multiply(x, x), {"x": t(2, 4)})
        assert contents(groups(run_passes(program, LOAD_STORE))[0]) == ["LoadVar", "Mul", "StoreVar", "Return"]


class TestMapping:
    def test_the_whole_chip_by_default(self, build_program: Fixture, run_passes: Fixture) -> None:
        after = run_passes(build_program(linear, **LINEAR), f"{LOAD_STORE},group-mapping")
        assert {g.dev_region for g in groups(after)} == {RegionAttr(dx=4, dy=4)}

    def test_the_grid_of_the_module(self, build_program: Fixture, run_passes: Fixture) -> None:
        before = run_passes(build_program(linear, **LINEAR), LOAD_STORE)
        before.module.set_attribute("tile_dx", 2)
        before.module.set_attribute("tile_dy", 1)
        assert {g.dev_region for g in groups(run_passes(before, "group-mapping"))} == {RegionAttr(dx=2, dy=1)}

    @pytest.mark.parametrize("extent", [0, 5])
    def test_a_grid_larger_than_the_chip(self, extent: int, build_program: Fixture, run_passes: Fixture) -> None:
        before = run_passes(build_program(linear, **LINEAR), LOAD_STORE)
        before.module.set_attribute("tile_dy", extent)
        with pytest.raises(PassError, match=f"tile_dy is {extent}; expected 1 to 4"):
            run_passes(before, "group-mapping")


class TestBarriers:
    def test_independent_groups_share_a_layer_and_a_barrier(self, build_program: Fixture, run_passes: Fixture) -> None:
        """Two chains of different length that meet: 0 is the sum; each other op has the layer of its distance to it."""

        def build(x: Any, p: Any) -> Any:
            short = pd.tanh(x)
            long = pd.exp(pd.abs(pd.sin(x)))
            return pd.add(short, long)

        after = run_passes(build_program(build, {"x": t(2, 4)}), ALL)
        found = [(contents(g)[-3], g.layer, g.need_barrier) for g in groups(after)]
        assert found == [
            ("Sin", 3, True), ("Abs", 2, True), ("Tanh", 1, False), ("Exp", 1, True), ("Add", 0, True),
        ]  # fmt: skip

    def test_an_alias_adds_no_layer_and_no_barrier(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.tanh(pd.reshape(pd.exp(x), shape=(8,))), {"x": t(2, 4)})
        found = [(g.layer, g.need_barrier, g.group_tag) for g in groups(run_passes(program, ALL))]
        assert found == [(1, True, 0), (0, False, 2), (0, True, 0)]

    def test_an_alias_of_a_result(self, build_program: Fixture, run_passes: Fixture) -> None:
        """The producer of an aliased result runs before the end of the last layer."""
        program = build_program(lambda x, p: pd.reshape(pd.exp(x), shape=(8,)), {"x": t(2, 4)})
        found = [(g.layer, g.need_barrier, g.group_tag) for g in groups(run_passes(program, ALL))]
        assert found == [(1, True, 0), (0, False, 2)]

    @given(
        steps=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12)
    )
    def test_no_group_reads_from_its_own_layer(
        self, steps: Any, build_program: Fixture, run_passes: Fixture, check_same_values: Fixture
    ) -> None:
        """Between a group and what it reads (through aliases) there is a barrier; layers fall; values stay."""

        def build(x: Any, p: Any) -> Any:
            values = [x, p("w")]
            for kind, i, j in steps:
                a, b = values[i % len(values)], values[j % len(values)]
                shaped = {0: pd.add, 1: pd.matmul}.get(kind)
                if shaped is not None:
                    values.append(shaped(a, b).out)
                elif kind == 2:
                    values.append(pd.softmax(a).out)
                elif kind == 3:
                    values.append(pd.reshape(pd.reshape(a, shape=(2, 8)), shape=(4, 4)).out)
                else:
                    values.append(pd.transpose(a, perm=(1, 0)).out)
            return values[-2:]

        program = build_program(build, {"x": t(4, 4)}, {"w": w(4, 4)})
        after = run_passes(program, ALL)
        check_same_values(program, after)
        barriers: dict[GroupOp, int] = {}
        passed = 0
        for group in groups(after):
            barriers[group] = passed
            passed += group.need_barrier
        for group in groups(after):
            if group.group_tag == 2:
                continue
            producers = [v.defining_op for v in group.inputs]
            while producers:
                producer = producers.pop()
                if isinstance(producer, GroupOp):
                    if producer.group_tag == 2:
                        producers += [v.defining_op for v in producer.inputs]
                    else:
                        assert barriers[producer] < barriers[group]
                        assert producer.layer is not None
                        assert group.layer is not None
                        assert producer.layer > group.layer
        layers = [g.layer for g in groups(after)]
        assert layers == sorted(layers, reverse=True)
        assert passed == len({g.layer for g in groups(after) if g.group_tag != 2})


def test_the_text_of_every_stage(build_program: Fixture, run_passes: Fixture, golden: Fixture) -> None:
    program = run_passes(build_program(linear, **LINEAR), TO_CONSTANTS)
    text = str(program)
    for stage in ("group-default", "group-load-store", "group-mapping", "group-barriers"):
        program = run_passes(program, stage)
        text += f"\n// {stage}\n{program}"
    golden(text, "grouping/linear.mlir")
