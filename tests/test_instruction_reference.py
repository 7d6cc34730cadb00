"""The reference page of instructions leaves nothing of the machine out."""

from __future__ import annotations

from support.scripts import load
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8.families import FAMILIES, Family

# The names of the machine's instructions, by family and function.
CGRA = {
    "arith": "abs recip square sqrt rsqrt neg max min add sub mul div",
    "relation": "eq ne ge gt le lt",
    "logic on values": "not and or xor",
    "logic on packed bits": "not and or xor",
    "transcendental": "log2 ln pow2 exp exp_lp sin cos",
    "activation": "tanh sigmoid relu satrelu leakyrelu softplus",
    "reduce": "sum avg max min",
    "pool": "avg sum max min unpool",
    "pool with index": "max min",
    "move": "mirror transpose rot90 rot180 rot270 nchw2nhwc nhwc2nchw concat pad channelnorm img2col "
    "maskmove maskgather",
    "convert": "int8 int16 int32 fp16 bf16 tf32 fp32",
    "peripheral": "memset count argmax argmin bit2fp bilinear lut16 lut32 rand_gen elem_mask",
}


MACHINE = " ".join(CGRA.values())


def test_every_instruction_belongs_to_a_family_and_is_on_the_page() -> None:
    instructions = {name for name, op in tx8.DIALECT.ops.items() if issubclass(op, tx8.Instruction)}
    assert {name for entry in FAMILIES for name in entry.operations} == instructions
    page = load("docs/instructions.py").page()
    for name in instructions:
        assert f"\n## {name}\n" in page
    for name in instructions:
        for field in tx8.DIALECT.ops[name].definition.attributes:
            assert field.doc, f"{name} {field.name}"


def test_every_name_of_the_machine_has_an_operation() -> None:
    assert {entry.family for entry in FAMILIES} == set(Family)
    for function, names in CGRA.items():
        found = [e for e in FAMILIES if e.family is Family.CGRA and e.function.split(",")[0] == function]
        more = set(tx8.UNARY_FUNCTIONS) - set(MACHINE.split())  # functions that somebody added to the machine
        assert sorted(n for entry in found for n in entry.names if n not in more) == sorted(names.split()), function
    unary = {n for e in FAMILIES if "tx8.unary" in e.operations for n in e.names} - {"and", "or", "xor"}
    assert unary == set(tx8.UNARY_FUNCTIONS)
    binary = {n for e in FAMILIES if "tx8.binary_vv" in e.operations for n in e.names} - {"not"}
    assert binary == set(tx8.BINARY_FUNCTIONS)
