"""Element types that a target lacks are replaced everywhere, or computed in others between casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import with_examples
from tx8ir.core import (
    Builder,
    ListType,
    Program,
    ScalarType,
    TensorType,
    Value,
    VTensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
    parse,
    ui8,
)
from tx8ir.dialects import builtin, pd, scf
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError
from tx8ir.rewriting.type_converter import ElementTypeConverter
from tx8ir.testing import NumericGuarantee, assert_preserves
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs

PASS = "convert-element-types"
EXP = f'{PASS}{{replace=[],compute=["pd.exp:bf16:f32"]}}'
Build = Callable[..., Program]


def read(name: str, kind: Any) -> Any:
    return builtin.GetParameterOp(parameter=name, out=kind)


def elements(program: Program) -> set[str]:
    return {str(v.type.element) for op in program.main.walk() for v in (*op.operands, *op.results)}


# --- types ------------------------------------------------------------------------------------------------------------

ALL = [
    ScalarType.of(name)
    for name in [
        "f64",
        "f32",
        "f16",
        "bf16",
        "tf32",
        "i1",
        "i4",
        "i8",
        "i16",
        "i32",
        "i64",
        "ui4",
        "ui8",
        "ui16",
        "ui32",
        "ui64",
    ]
]


def test_a_type_converter_reaches_into_every_type() -> None:
    converter = ElementTypeConverter({f64: f32})
    text = "module { func.func @f(%x: {0}) -> {0} { return %x : {0} } }"
    nested = "!builtin.list<!pd.tensor<2xf64>, !pd.vtensor<?xf64>, !pd.vtensor<i1>>"
    program = parse(text.replace("{0}", nested))
    (function,) = program.body
    new = converter.of(function.function_type)
    assert str(new) == str(function.function_type).replace("f64", "f32")
    assert converter.of(new) is new
    assert not converter.is_legal(function)


# --- replace ----------------------------------------------------------------------------------------------------------


def _everything(x: Value, n: Value) -> list[Any]:
    w = read("w", VTensorType((3,), f64))
    y = pd.multiply(pd.add(x, w), builtin.constant(value=np.array([0.5])))
    flag = pd.greater_than(pd.max(y), pd.full(shape=(), value=1.0, dtype=f64))
    (chosen,) = scf.IfOp.build(flag, lambda: [pd.exp(y)], lambda: [y]).results
    return [chosen, pd.sum(n), pd.cast(n, dtype=f64)]


def _program(build: Build) -> Program:
    return build(
        _everything, VTensorType((2, 3), f64), VTensorType((4,), i64), weights={"w": np.array([1.0, 0.25, 1 / 3])}
    )


def test_the_text_before_and_after(build, run, golden) -> None:
    program = _program(build)
    before = str(program)
    run(program, PASS)
    text = f"// before\n{before}\n\n// {PASS}\n{program}"
    run(program, f"{PASS}{{signatures=true}}")
    golden(f"{text}\n\n// {PASS}{{signatures=true}}\n{program}", "transforms/convert-element-types.mlir")


def test_inside_nothing_is_left_and_the_border_casts(build, run, assert_same) -> None:
    program = _program(build)
    before = program.clone()
    statistics = run(program, PASS).stages[0].statistics
    assert statistics["parameters"] == 1
    assert statistics["constants"] == 1
    assert statistics["casts"] == 4  # x, n, and two results; the third is cast from n as it was
    border = {op for op in program.main.walk() if op.name in ("pd.cast", "func.return", "func.func")}
    inside = {v.type.element for op in program.main.walk() if op not in border for v in (*op.operands, *op.results)}
    assert inside == {f32, i32, i1}
    assert [t.element for t in program.inputs.values()] == [f64, i64]
    assert_same(before, program, tolerance=1e-6)
    assert run(program, PASS).stages[0].statistics == {}


def test_with_signatures_nothing_is_left_at_all(build, run) -> None:
    program = _program(build)
    assert "casts" not in run(program, f"{PASS}{{signatures=true}}").stages[0].statistics
    assert elements(program) == {"f32", "i32", "i1"}
    assert list(program.weights) == ["w", "w.f32"]


CALLS = """module {
  func.func @main(%x: !pd.vtensor<2xf64>) -> !pd.vtensor<2xf64> {
    %l = "builtin.combine"(%x, %x) : (!pd.vtensor<2xf64>, !pd.vtensor<2xf64>) -> !builtin.list<!pd.vtensor<2xf64>, !pd.vtensor<2xf64>>
    %y = "func.call"(%l) {callee = @helper} : (!builtin.list<!pd.vtensor<2xf64>, !pd.vtensor<2xf64>>) -> !pd.vtensor<2xf64>
    "cf.br"(%y)[^end] : (!pd.vtensor<2xf64>) -> ()
  ^end(%z: !pd.vtensor<2xf64>):
    return %z : !pd.vtensor<2xf64>
  }
  func.func @helper(%l: !builtin.list<!pd.vtensor<2xf64>, !pd.vtensor<2xf64>>) -> !pd.vtensor<2xf64> {
    %a = "builtin.slice"(%l) {index = 1 : i64} : (!builtin.list<!pd.vtensor<2xf64>, !pd.vtensor<2xf64>>) -> !pd.vtensor<2xf64>
    return %a : !pd.vtensor<2xf64>
  }
}"""  # noqa: E501


def test_through_functions_lists_and_blocks(run) -> None:
    program = parse(CALLS)
    assert run(program, PASS).stages[0].statistics["casts"] == 2
    lines = [line for line in str(program).splitlines() if "f64" in line]
    assert [line.split()[0] for line in lines] == ["func.func", "%0", "%3", "return"]


def test_main_called_from_inside_keeps_its_signature(run) -> None:
    program = parse("""module {
      func.func @main(%x: !pd.vtensor<2xf64>) -> !pd.vtensor<2xf64> {
        return %x : !pd.vtensor<2xf64>
      }
      func.func @twice(%x: !pd.vtensor<2xf64>) -> !pd.vtensor<2xf64> {
        %y = "func.call"(%x) {callee = @main} : (!pd.vtensor<2xf64>) -> !pd.vtensor<2xf64>
        return %y : !pd.vtensor<2xf64>
      }
    }""")
    run(program, PASS)
    main, twice = program.body
    assert "f32" not in str(main)
    assert [op.name for op in twice.body.block] == ["pd.cast", "func.call", "pd.cast", "func.return"]


def test_mutable_parameters_keep_their_format_behind_one_cast(build, run, names) -> None:
    kind = VTensorType((2,), f64)

    def body() -> Any:
        state = read("state", kind)
        builtin.SetParameterOp(pd.add(state, pd.tanh(state)), parameter="state")
        return pd.exp(state)

    program = build(body, weights={"state": np.array([1.0, 2.0])})
    assert run(program, f"{PASS}{{signatures=true}}").stages[0].statistics["casts"] == 2
    assert names(program) == [
        "builtin.get_parameter", "pd.cast", "pd.tanh", "pd.add", "pd.cast", "builtin.set_parameter", "pd.exp",
    ]  # fmt: skip
    assert run(program, f"{PASS}{{signatures=true}}").stages[0].statistics == {}


def test_storage_that_keeps_its_format_may_be_read(build, run, assert_same) -> None:
    program = build(lambda x: [pd.exp(x), builtin.to_vtensor(x)], TensorType((2,), f64))
    before = program.clone()
    run(program, PASS)
    assert_same(before, program, tolerance=1e-6)


@pytest.mark.parametrize("what", ["view", "in place"])
def test_storage_that_keeps_its_format_has_no_alias_in_another(build, run, what: str) -> None:
    make = (lambda x: pd.reshape(x, shape=(1, 2))) if what == "view" else pd.relu_
    program = build(make, TensorType((2,), f64))
    with pytest.raises(PassError, match=r"argument 0 of main is !pd.tensor<2xf64>, an alias, which cannot change its"):
        run(program, PASS)


PAIR = [VTensorType((2,), f64), VTensorType((2,), i32)]


def _both(kind: Any = PAIR) -> Any:
    return builtin.GetCombineParameterOp(parameters=("a", "b"), out=ListType(kind))


@pytest.mark.parametrize("mutable", [[], ["b"]])
def test_lists_of_parameters(build, run, assert_same, mutable: list[str]) -> None:
    """Immutable ones are converted; the items of others are cast, each where it is taken out of the list."""

    def body() -> Any:
        both = _both()
        builtin.SetCombineParameterOp(builtin.combine([pd.relu(v) for v in builtin.split(both).outputs]),
                                      parameters=("c", "d"))  # fmt: skip
        return [builtin.slice_(both, index=0), *builtin.split(both).outputs]

    weights = {
        "a": np.array([1.0, -1.0]),
        "b": np.array([1, 2], np.int32),
        "c": np.zeros(2),
        "d": np.zeros(2, np.int32),
    }
    program = build(body, weights=weights, mutable=["c", "d", *mutable])
    before = program.clone()
    run(program, PASS)
    assert ("a.f32" in program.weights) == (not mutable)
    assert program.weights["c"].type.element is f64
    assert_same(before, program)
    again = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == again


def test_a_list_that_keeps_its_types_is_taken_apart_for_a_function_that_takes_others(run, assert_same) -> None:
    text = """module {
      func.func @main() -> !pd.vtensor<2xf64> {
        %l = "builtin.get_combine_parameter"() {names = ["a", "b"]} : () -> LIST
        %y = "func.call"(%l) {callee = @first} : (LIST) -> !pd.vtensor<2xf64>
        return %y : !pd.vtensor<2xf64>
      }
      func.func @first(%l: LIST) -> !pd.vtensor<2xf64> {
        %a = "builtin.slice"(%l) {index = 0 : i64} : (LIST) -> !pd.vtensor<2xf64>
        return %a : !pd.vtensor<2xf64>
      }
    }"""
    program = parse(text.replace("LIST", "!builtin.list<!pd.vtensor<2xf64>, !pd.vtensor<2xi32>>"))
    program.weights.add("a", np.array([1.0, -1.0]), is_mutable=True)
    program.weights.add("b", np.array([1, 2], np.int32))
    before = program.clone()
    assert run(program, PASS).stages[0].statistics["casts"] == 2
    assert_same(before, program)
    assert run(program, PASS).stages[0].statistics == {}


def test_a_list_of_storage_cannot_change(build, run) -> None:
    kinds = [TensorType((2,), f64), TensorType((2,), i32)]
    program = build(
        lambda: builtin.slice_(_both(kinds), index=0), weights={"a": np.zeros(2), "b": np.zeros(2, np.int32)}
    )
    with pytest.raises(PassError, match=r"builtin.slice gives !pd.tensor<2xf64>, an alias, which cannot change its"):
        run(program, f"{PASS}{{signatures=true}}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("replace=[f64]", "'f64' is not a replacement; expected an old and a new element type, as in f64:f32"),
        ('replace=["f64:f33"]', "'f64:f33': element type is 'f33'; expected one of i8, i16"),
        ('replace=["f64:f64"]', "'f64:f64' replaces f64 by f64"),
        ('replace=["f64:f32","f64:bf16"]', "'f64:bf16' replaces f64 by bf16 and by f32"),
        ('replace=["f64:f32","f32:bf16"]', "f32 takes the place of f64 and gives way to bf16; write f64:bf16"),
        ('replace=["i32:f32"]', "i32 cannot be replaced by f32 everywhere"),
        ('replace=["i1:i8"]', "i1 cannot be replaced by i8 everywhere"),
        ('compute=["pd.exp:bf16:i32"]', "'bf16:i32': i32 cannot hold fractions of bf16"),
        ('compute=["pd.exp:bf16"]', "does not say what an operation computes in: expected one as in pd.exp:bf16:f32"),
        ('compute=["pd.expp:bf16:f32"]', "there is no operation 'pd.expp'"),
        ('compute=["pd.cast:bf16:f32"]', "pd.cast cannot compute in another type between casts"),
        ('compute=["pd.relu_:bf16:f32"]', "pd.relu_ cannot compute in another type between casts"),
    ],
)
def test_entries_that_say_nothing_are_errors(build, run, options: str, message: str) -> None:
    with pytest.raises(PassError) as caught:
        run(build(pd.exp, VTensorType((2,), f32)), f"{PASS}{{{options}}}")
    assert message in str(caught.value)


# --- compute ----------------------------------------------------------------------------------------------------------


def test_an_operation_computes_in_another_type_between_casts(build, run, names, assert_same, golden) -> None:
    program = build(lambda x: pd.tanh(pd.exp(pd.exp(x))), VTensorType((2, 3), bf16))
    before = program.clone()
    statistics = run(program, EXP).stages[0].statistics
    assert statistics == {"compute-between-casts": 2, "casts": 4}
    assert names(program) == ["pd.cast", "pd.exp", "pd.cast", "pd.cast", "pd.exp", "pd.cast", "pd.tanh"]
    golden(f"// before\n{before}\n\n// {EXP}\n{program}", "transforms/convert-element-types-compute.mlir")
    assert_same(before, program)
    assert run(program, EXP).stages[0].statistics == {}


def test_a_cast_is_shared_and_an_exact_one_is_not_taken_back(build, run, names) -> None:
    """The first sum widens x for both; the products narrow what was widened, so they use x itself."""
    pipeline = f'{PASS}{{replace=[],compute=["pd.add:bf16:f32"]}}'
    program = build(lambda x: [pd.add(x, x), pd.add(x, pd.cast(x, dtype=bf16))], VTensorType((2,), bf16))
    assert run(program, pipeline).stages[0].statistics["casts"] == 3
    assert names(program) == ["pd.cast", "pd.add", "pd.cast", "pd.add", "pd.cast"]
    narrow = f'{PASS}{{replace=[],compute=["pd.exp:f32:bf16"]}}'
    program = build(lambda x: pd.exp(pd.exp(pd.cast(x, dtype=f32))), VTensorType((2,), bf16))
    run(program, narrow)
    assert names(program) == ["pd.exp", "pd.exp", "pd.cast"]


def test_casts_of_constants_are_constants(build, run, names) -> None:
    weights = {"w": np.array([1.0, 2.0], bf16.dtype), "state": np.array([1.0, 2.0], bf16.dtype)}
    kind = VTensorType((2,), bf16)

    def body() -> Any:
        values = [read("w", kind), builtin.constant(value=np.array([1.5], bf16.dtype)),
                  pd.full(shape=(2,), value=0.5, dtype=bf16), read("state", kind)]  # fmt: skip
        return [pd.exp(v) for v in values]

    program = build(body, weights=weights, mutable=["state"])
    statistics = run(program, EXP).stages[0].statistics
    assert statistics == {"compute-between-casts": 4, "parameters": 1, "constants": 2, "casts": 5}
    assert program.weights["w.f32"].type.element is f32
    assert names(program).count("pd.cast") == 5
    assert names(program).count("builtin.get_parameter") == 2


def test_a_cast_stands_outside_of_the_loop(build, run) -> None:
    def body(x: Value) -> Any:
        stop = builtin.constant(value=np.array(False))
        (y,) = scf.WhileOp.build([x], lambda y: (stop, [y]), lambda y: [pd.add(y, pd.exp(x))]).results
        return y

    program = build(body, VTensorType((2,), bf16))
    run(program, EXP)
    first = program.main.body.block.first_op
    assert isinstance(first, pd.CastOp)
    assert [op.name for op in program.main.walk()].count("pd.cast") == 2


def test_a_cast_of_storage_stands_where_it_is_read(build, run, assert_same) -> None:
    def body(x: Value) -> Any:
        first = pd.exp(x)
        pd.scale_(x, scale=2.0)
        return [first, pd.exp(x)]

    program = build(body, TensorType((2,), bf16))
    before = program.clone()
    assert run(program, EXP).stages[0].statistics["casts"] == 4
    assert_same(before, program)


def test_what_is_not_mapped_keeps_its_type(build, run) -> None:
    pipeline = f'{PASS}{{replace=[],compute=["pd.greater_than:bf16:f32","pd.sum:i8:i32","pd.embedding:f16:f32"]}}'
    program = build(
        lambda x, n, t, ids: [pd.greater_than(x, x), pd.sum(n), pd.embedding(ids, t)],
        VTensorType((2,), bf16), VTensorType((2,), i8), VTensorType((4, 2), f16), VTensorType((3,), i64),
    )  # fmt: skip
    before = list(program.outputs.values())
    run(program, pipeline)
    assert list(program.outputs.values()) == before


def test_an_operation_that_cannot_compute_so_is_listed(build, run) -> None:
    program = build(lambda ids, table: pd.embedding(ids, table), VTensorType((2,), i32), VTensorType((4, 3), f32))
    before = str(program)
    with pytest.raises(PassError, match=r"1 operation stayed illegal:\npd.embedding \(!pd.vtensor<2xi32>"):
        run(program, f'{PASS}{{replace=[],compute=["pd.embedding:i32:f32"]}}')
    assert str(program) == before


@given(st.integers(0, 10**6))
def test_narrow_integers_sum_up_in_wide_ones(build, run, seed: int) -> None:
    """Without overflow; BladeDISC's example."""
    program = build(lambda n: pd.add(pd.multiply(n, n), n), VTensorType((4,), ui8))
    n = np.random.default_rng(seed).integers(0, 15, 4).astype(np.uint8)
    expected = evaluate(program, {"arg0": n})
    run(program, f'{PASS}{{replace=[],compute=["pd.add:ui8:i32","pd.multiply:ui8:i32"]}}')
    np.testing.assert_array_equal(evaluate(program, {"arg0": n})["result0"], expected["result0"])


# --- generated programs -----------------------------------------------------------------------------------------------


def exponential(writer: Writer) -> Sequence[Value]:
    """Operations on a narrow float, of which some compute in f32."""
    x = writer.value(lambda t: t.element in (bf16, f16))
    if x is None:
        return ()
    with Builder.at_end(writer.block):
        y = writer.one_of([pd.exp, pd.tanh, pd.relu, pd.abs])(x)
        return pd.add(y, x).results if writer.one_of([False, True]) else y.results


COMPUTE = ",".join(
    f'"pd.{op}:{element}:f32"' for op in ("exp", "tanh", "add", "maximum", "scale") for element in ("bf16", "f16")
)
NARROW = [VTensorType((2, 3), bf16), TensorType((2,), f16)]
WIDEN = f'{PASS}{{replace=["bf16:f32","f16:f32"],signatures=%s}}'


@with_examples()
def test_generated_programs_keep_their_bits_in_wider_formats(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[exponential], inputs=NARROW)
    assert_preserves(
        f"{PASS}{{replace=[],compute=[{COMPUTE}]}}",
        programs=programs,
        examples=examples,
        guarantee=NumericGuarantee.BITWISE,
        changed=2 / 3,
    )


@with_examples()
def test_generated_programs_with_storage_keep_their_values(examples: int) -> None:
    features = attrs.evolve(EVERYTHING, parameters=False, sums=True)
    programs = tensor_programs(features, steps=[exponential], inputs=NARROW)
    assert_preserves(
        WIDEN % "true", programs=programs, examples=examples, guarantee=NumericGuarantee.FORMATS, changed=2 / 3
    )


@with_examples()
def test_generated_programs_with_parameters_keep_their_values(examples: int) -> None:
    features = attrs.evolve(EVERYTHING, aliases=False, sums=True)
    programs = tensor_programs(features, steps=[exponential], inputs=NARROW[:1])
    assert_preserves(
        WIDEN % "false", programs=programs, examples=examples, guarantee=NumericGuarantee.FORMATS, changed=2 / 3
    )
