"""ccl: what replicas do together: types, what is refused, text, and several replicas in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from support.samples import goes_to_the_peer_and_back, program_of, reads_back
from tx8ir.core import Builder, Program, VerifyError, VTensorType, f32, i1, parse
from tx8ir.core.ir.block import Block
from tx8ir.dialects import ccl
from tx8ir.dialects.samples import samples_of
from tx8ir.interpreter import EvaluationError, evaluate, evaluate_replicas

OPS = list(ccl.DIALECT.ops.values())


def program(body: str, takes: str = "%arg0: !pd.vtensor<4x2xf32>", gives: str = "!pd.vtensor<4x2xf32>") -> Program:
    return parse(
        f'module {{\n  func.func @main({takes}) -> {gives} attributes {{arg_names = ["x"], result_names = ["y"]}} {{\n'
        f"{body}\n  }}\n}}"
    )


def one(name: str, attributes: str, gives: str = "4x2xf32", takes: str = "4x2xf32") -> Program:
    return program(
        f'    %0 = "ccl.{name}"(%arg0) {{{attributes}}} : (!pd.vtensor<{takes}>) -> !pd.vtensor<{gives}>\n'
        f"    return %0 : !pd.vtensor<{gives}>",
        f"%arg0: !pd.vtensor<{takes}>",
        f"!pd.vtensor<{gives}>",
    )


def groups(text: str, shape: str) -> str:
    return f"replica_groups = dense<{text}> : !pd.vtensor<{shape}xi64>"


FOUR = [np.arange(8, dtype=np.float32).reshape(4, 2) + 100 * replica for replica in range(4)]


def run(given: Program, inputs=FOUR) -> list[np.ndarray]:
    return [found["y"] for found in evaluate_replicas(given, [{"x": x} for x in inputs])]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_samples_are_valid_and_read_back(op):
    assert next(samples_of(op), None) is not None
    reads_back(program_of(op))


@pytest.mark.parametrize("op", OPS[:2], ids=lambda op: op.name)
def test_mlir_reads_the_generic_form(op):
    goes_to_the_peer_and_back(program_of(op), unknown=True)


@pytest.mark.parametrize("reduce", ["add", "mul", "min", "max"])
def test_all_reduce_is_the_same_in_each_replica_of_a_group(reduce):
    given = one("all_reduce", groups("[[0, 2], [3, 1]]", "2x2") + f', reduce = "{reduce}"')
    combine = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[reduce]
    found = run(given)
    for pair in ((0, 2), (1, 3)):
        for replica in pair:
            np.testing.assert_array_equal(found[replica], combine(FOUR[pair[0]], FOUR[pair[1]]))


def test_truth_values_are_combined_by_and_and_or():
    values = [np.array([True, False]), np.array([True, True])]
    for reduce, expected in (("and", [True, False]), ("or", [True, True])):
        given = one("all_reduce", groups("[[0, 1]]", "1x2") + f', reduce = "{reduce}"', "2xi1", "2xi1")
        assert [found.tolist() for found in run(given, values)] == [expected, expected]


def test_all_gather_is_in_the_order_of_the_group():
    given = one("all_gather", groups("[[2, 0, 1, 3]]", "1x4") + ", axis = 1", "4x8xf32")
    for found in run(given):
        np.testing.assert_array_equal(found, np.concatenate([FOUR[i] for i in (2, 0, 1, 3)], 1))


def test_reduce_scatter_is_all_reduce_and_a_part():
    given = one("reduce_scatter", groups("[[0, 1, 2, 3]]", "1x4") + ', axis = 0, reduce = "add"', "1x2xf32")
    for replica, found in enumerate(run(given)):
        np.testing.assert_array_equal(found, sum(FOUR)[replica : replica + 1])


def test_all_to_all_is_a_transpose_of_parts():
    given = one("all_to_all", groups("[[0, 1, 2, 3]]", "1x4") + ", split_axis = 0, concat_axis = 1", "1x8xf32")
    for replica, found in enumerate(run(given)):
        np.testing.assert_array_equal(found[0], np.concatenate([x[replica] for x in FOUR]))


def test_collective_permute_gives_zeros_to_whom_nobody_sends():
    given = one("collective_permute", "source_target_pairs = dense<[[0, 2], [2, 1]]> : !pd.vtensor<2x2xi64>")
    found = run(given)
    for replica, source in ((1, 2), (2, 0)):
        np.testing.assert_array_equal(found[replica], FOUR[source])
    assert not found[0].any()
    assert not found[3].any()


def test_bf16_sums_are_rounded_once():
    given = one("all_reduce", groups("[[0, 1, 2]]", "1x3") + ', reduce = "add"', "1xbf16", "1xbf16")
    found = run(given, [np.array([v], np.float32) for v in (256.0, 1.0, 1.0)])
    assert [float(x[0]) for x in found] == [258.0] * 3


def test_a_loop_may_meet_in_each_turn():
    given = program(
        """    %0 = scf.while (%a = %arg0) : (!pd.vtensor<4x2xf32>) -> (!pd.vtensor<4x2xf32>) {
      %most = "pd.max"(%a) {axis = array<i64>, keepdim = false} : (!pd.vtensor<4x2xf32>) -> !pd.vtensor<f32>
      %limit = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.0e3 : f64} : () -> !pd.vtensor<f32>
      %go = "pd.less_than"(%most, %limit) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
      scf.condition(%go : !pd.vtensor<i1>) %a : !pd.vtensor<4x2xf32>
    } do {
    ^bb0(%b: !pd.vtensor<4x2xf32>):
      %s = "ccl.all_reduce"(%b) {GROUPS, reduce = "add"} : (!pd.vtensor<4x2xf32>) -> !pd.vtensor<4x2xf32>
      scf.yield %s : !pd.vtensor<4x2xf32>
    }
    return %0 : !pd.vtensor<4x2xf32>""".replace("GROUPS", groups("[[0, 1]]", "1x2"))
    )
    found = run(given, [np.ones((4, 2), "f"), np.full((4, 2), 2, "f")])
    assert found[0].max() == found[1].max() == 3 * 2**9
    with pytest.raises(EvaluationError, match=r"replica 1 waits for replicas \[0, 1\]: replica 0 has ended"):
        run(given, [np.full((4, 2), 1000, "f"), np.ones((4, 2), "f")])


def test_replicas_that_come_to_different_operations_are_told_where():
    branch = """    %id = "ccl.replica_id"() : () -> !pd.vtensor<ui32>
    %zero = "pd.full"() {dtype = ui32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<ui32>
    %first = "pd.equal"(%id, %zero) : (!pd.vtensor<ui32>, !pd.vtensor<ui32>) -> !pd.vtensor<i1>
    %0 = scf.if %first : !pd.vtensor<i1> -> (!pd.vtensor<4x2xf32>) {
      %s = "ccl.all_reduce"(%arg0) {GROUPS, reduce = "add"} : (!pd.vtensor<4x2xf32>) -> !pd.vtensor<4x2xf32>
      scf.yield %s : !pd.vtensor<4x2xf32>
    } else {
      %s = "ccl.all_reduce"(%arg0) {GROUPS, reduce = "max"} : (!pd.vtensor<4x2xf32>) -> !pd.vtensor<4x2xf32>
      scf.yield %s : !pd.vtensor<4x2xf32>
    }
    return %0 : !pd.vtensor<4x2xf32>""".replace("GROUPS", groups("[[0, 1]]", "1x2"))
    with pytest.raises(EvaluationError) as caught:
        run(program(branch), FOUR[:2])
    said = r"replica 0 waits for replicas \[0, 1\]: replica 1 waits at ccl.all_reduce, loc\(\"<text>\":10"
    assert caught.match(said)
    assert caught.value.op is not None
    assert caught.value.op.location.line == 7


def test_one_alone_waits_for_nobody_or_fails():
    x = {"x": FOUR[0]}
    found = evaluate(one("all_reduce", groups("[[0]]", "1x1") + ', reduce = "add"'), x)
    np.testing.assert_array_equal(found["y"], FOUR[0])
    with pytest.raises(EvaluationError, match=r"replica 1 does not run; 1 runs"):
        evaluate(one("all_reduce", groups("[[0, 1]]", "1x2") + ', reduce = "add"'), x)
    with pytest.raises(EvaluationError, match="replica 0, which is in none of its groups"):
        evaluate(one("all_reduce", groups("[[1]]", "1x1") + ', reduce = "add"'), x)


def test_shapes_that_differ_are_refused():
    given = one("all_reduce", groups("[[0, 1]]", "1x2") + ', reduce = "add"', "?xf32", "?xf32")
    with pytest.raises(EvaluationError, match=r"shapes \[\[2\], \[3\]\]; expected one shape"):
        run(given, [np.ones(2, "f"), np.ones(3, "f")])


def test_programs_that_write_parameters_are_refused():
    given = parse(
        """module {
  func.func @main() {
    %0 = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<f32>
    "builtin.set_parameter"(%0) {name = "w"} : (!pd.vtensor<f32>) -> ()
    return
  }
}"""
    )
    with pytest.raises(EvaluationError, match="writes the parameters w, which replicas would share"):
        evaluate_replicas(given, [{}, {}])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: ccl.all_reduce(x, replica_groups=ccl.groups((0, 0))), "expected different numbers of 0 or more"),
        (lambda x: ccl.all_reduce(x, replica_groups=ccl.groups((0, -1))), "expected different numbers of 0 or more"),
        (lambda x: ccl.all_reduce(x, replica_groups=ccl.groups((0,)), reduce="xor"), "expected one of 'add'"),
        (lambda x: ccl.all_reduce(x, replica_groups=ccl.groups((0,)), reduce="or"), "than 'and' and 'or' for `x`"),
        (
            lambda x: ccl.reduce_scatter(x, replica_groups=ccl.groups((0, 1, 2))),
            "extent 4 of axis 0 is not divided by 3",
        ),
        (lambda x: ccl.all_gather(x, replica_groups=ccl.groups((0, 1)), axis=2), "expected -2 <= axis < 2"),
        (lambda x: ccl.all_to_all(x, replica_groups=ccl.groups((0, 1, 2)), split_axis=1), "is not divided by 3"),
        (lambda x: ccl.collective_permute(x, source_target_pairs=ccl.groups((0, 1), (0, 2))), "each source once"),
        (lambda x: ccl.collective_permute(x, source_target_pairs=ccl.groups((0, 1, 2))), "expected pairs"),
    ],
)
def test_what_is_wrong_is_said(make, message):
    block = Block((VTensorType((4, 2), f32),))
    with Builder.at_end(block), pytest.raises(VerifyError) as caught:
        make(block.args[0])
    assert message in str(caught.value)


def test_truth_values_are_not_added():
    block = Block((VTensorType((2,), i1),))
    with Builder.at_end(block), pytest.raises(VerifyError, match="expected 'and' or 'or'"):
        ccl.all_reduce(block.args[0], replica_groups=ccl.groups((0,)))


def test_passes_keep_what_replicas_do_together():
    from tx8ir.passes import PassManager

    text = """    %0 = "ccl.all_reduce"(%arg0) {GROUPS, reduce = "add"} : (!pd.vtensor<4x2xf32>) -> !pd.vtensor<4x2xf32>
    %1 = "ccl.all_reduce"(%arg0) {GROUPS, reduce = "add"} : (!pd.vtensor<4x2xf32>) -> !pd.vtensor<4x2xf32>
    return %1 : !pd.vtensor<4x2xf32>""".replace("GROUPS", groups("[[0, 1]]", "1x2"))
    given = program(text)
    PassManager.parse("cse,dce,canonicalize,loop-invariant-motion").run(given)
    assert [op.name for op in given.module.walk()].count("ccl.all_reduce") == 2
