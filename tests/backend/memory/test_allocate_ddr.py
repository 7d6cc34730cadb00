"""DDR: banks, constants stored once, variables that reuse space when their layers allow it, aliases without storage."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from tx8ir.backend.memory import AllocateDdr
from tx8ir.core import Program, parse
from tx8ir.dialects import tx8be
from tx8ir.passes import PassError, PassManager
from tx8ir.target.chip import TX8


def chain(length: int, body: str = "tx8be.Relu", tag: int = 0) -> Program:
    """`length` groups one after the other, each in a layer of its own; the last one's result is returned."""
    lines = ['%0 = "tx8be.Input"(%a) {DEV} : (T) -> T']
    for i in range(length):
        inner = f'%y = "{body}"(%x) {{DEV}} : (T) -> T\n'
        if tag == 0:
            inner = (
                f'%l = "tx8be.LoadVar"(%x) {{DEV}} : (T) -> T\n%z = "{body}"(%l) {{DEV}} : (T) -> T\n'
                '%y = "tx8be.StoreVar"(%z) {DEV} : (T) -> T\n'
            )
        lines.append(
            f'%{i + 1} = "tx8be.Group"(%{i}) ({{\n^bb0(%x: T):\n{inner}"tx8be.Return"(%y) : (T) -> ()\n}}) '
            f"{{group_id = {i} : i64, group_tag = {tag} : i64, layer = {length - 1 - i} : i64}} : (T) -> T"
        )
    lines.append(f'%t = "tx8be.Tuple"(%{length}) : (T) -> tuple<T>')
    lines.append('%o = "tx8be.Output"(%t) : (tuple<T>) -> tuple<T>')
    text = "module {\nfunc.func @main(%a: T) -> tuple<T> {\n" + "\n".join(lines) + "\nreturn %o : tuple<T>\n}\n}\n"
    text = text.replace("DEV", 'dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>')
    return parse(re.sub(r"\bT\b(?=[>,)\s])(?<!mem_layout = \")", "!pd.vtensor<30x100xf32>", text))


def allocate(program: Program) -> dict[str, int]:
    report = PassManager((AllocateDdr(),)).run(program)
    return dict(report.stages[0].statistics)


def groups(program: Program) -> list[tx8be.GroupOp]:
    return [op for op in program.module.walk() if isinstance(op, tx8be.GroupOp)]


def test_variables_reuse_space_once_their_readers_are_done() -> None:
    program = chain(6)
    counts = allocate(program)
    addresses = [g.attributes["ddr_addr"].value for g in groups(program)]
    size = 3 * TX8.ddr_bank  # 12000 bytes
    assert all(address % TX8.ddr_bank == 0 for address in addresses)
    assert all(abs(a - b) >= size for a, b in itertools.pairwise(addresses)), "a group reads the one before"
    assert len(set(addresses[:-1])) == 2, "the others are dead by then"
    assert counts["variable bytes"] == counts["variable bound bytes"] == 2 * size
    assert addresses[-1] not in addresses[:-1], "a result of the program has storage of its own"


def test_without_reuse_every_variable_has_bytes_of_its_own() -> None:
    program = chain(6)
    report = PassManager.parse("allocate-ddr{reuse=false}").run(program)
    counts = dict(report.stages[0].statistics)
    size = 3 * TX8.ddr_bank
    assert len({g.attributes["ddr_addr"].value for g in groups(program)}) == 6
    assert counts["variable bytes"] == 5 * size, "the sixth is a result"


def test_an_alias_has_no_storage_of_its_own() -> None:
    program = chain(1, "tx8be.Reshape", tag=2)
    counts = allocate(program)
    assert counts.get("variables", 0) == 0
    assert "ddr_addr" not in groups(program)[0].attributes


def test_what_an_alias_reads_lives_as_long_as_the_aliass_readers() -> None:
    program = chain(4)
    first, second, third, _ = groups(program)
    second.set_attribute("group_tag", 2)
    body = second.body.block
    load, relu, store = list(body)[:3]
    reshape = tx8be.ReshapeOp(body.args[0], y=relu.y.type, dev_info=relu.dev_info)
    body.insert_before(reshape, load)
    body.terminator.set_operand(0, reshape.y)
    for op in (store, relu, load):
        op.erase()
    allocate(program)
    assert first.attributes["ddr_addr"].value != third.attributes["ddr_addr"].value


def test_one_constant_of_an_id() -> None:
    text = """
    module {
      func.func @main() -> tuple<T> {
        %g = "tx8be.Group"() ({
          %a = "tx8be.LoadConst"() {DEV, id = 3 : i64, name = "w", bypasscodegen = false} : () -> T
          %b = "tx8be.LoadConst"() {DEV, id = 3 : i64, name = "v", bypasscodegen = false} : () -> T
          %y = "tx8be.Add"(%a, %b) {DEV} : (T, T) -> T
          %s = "tx8be.StoreVar"(%y) {DEV} : (T) -> T
          "tx8be.Return"(%s) : (T) -> ()
        }) {group_id = 0 : i64, group_tag = 0 : i64} : () -> T
        %t = "tx8be.Tuple"(%g) : (T) -> tuple<T>
        %o = "tx8be.Output"(%t) : (tuple<T>) -> tuple<T>
        return %o : tuple<T>
      }
    }
    """
    text = re.sub(r"\bT\b", "!pd.vtensor<4xf32>", text).replace(
        "DEV", 'dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>'
    )
    program = parse(text)
    for name in "wv":
        program.weights.add(name, np.zeros(4, np.float32))
    with pytest.raises(PassError, match="constant id 3 is loaded as two different constants"):
        allocate(program)


def test_a_reshape_of_a_blocked_value_that_moves_bytes_is_refused() -> None:
    program = chain(1, "tx8be.Reshape", tag=2)
    reshape = next(op for op in program.module.walk() if isinstance(op, tx8be.ReshapeOp))
    reshape.set_attribute("dev_info", tx8be.DevAttr(mem_layout="Cx"))
    with pytest.raises(PassError, match="cannot turn Tensor into Cx"):
        allocate(program)
