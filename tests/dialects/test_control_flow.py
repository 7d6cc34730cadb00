"""cf and scf: what verifies and what does not, text, and what general passes do with regions."""

from __future__ import annotations

import pytest

import tx8ir
from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    ListType,
    Program,
    Region,
    SymbolRefAttr,
    TensorType,
    VerifyError,
    VTensorType,
    f32,
    i1,
)
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.passes import PassManager

F, T, B = VTensorType((), f32), TensorType((), f32), VTensorType((1,), i1)
L = ListType([F, T])


def main_of(inputs, build=lambda *args: []):
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(inputs, ()))
    with Builder.at_end(main.body.block):
        values = [v.result if hasattr(v, "result") else v for v in build(*main.body.block.args)]
        main.set_attribute("function_type", FunctionType(inputs, [v.type for v in values]))
        func.ReturnOp(values)
    return program


def yielding(*values):
    block = Block()
    with Builder.at_end(block):
        scf.YieldOp(values)
    return Region([block])


@pytest.mark.parametrize("type_", [F, T, L], ids=str)
def test_values_of_any_type_go_through_regions_and_text(type_):
    def build(c, x):
        loop = scf.WhileOp.build([x], lambda y: (c, [y]), lambda y: [y])
        return scf.IfOp.build(c, lambda: [x], lambda: loop.results).results

    program = main_of((B, type_), build)
    program.verify()
    text = str(program)
    again = tx8ir.parse(text)
    again.verify()
    assert str(again) == text
    copy = program.clone()
    copy.verify()
    assert str(copy) == text


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda c, x: scf.IfOp(x, then_region=yielding(), else_region=Region()), "expected one i1"),
        (lambda c, x: scf.IfOp(c, then_region=yielding(x), else_region=Region(), outputs=[F]), "needs an else region"),
        (lambda c, x: scf.IfOp(c, then_region=Region(), else_region=Region()), "the then region of scf.if has 0 bl"),
        (
            lambda c, x: scf.IfOp(c, then_region=yielding(x), else_region=yielding(), outputs=[F]),
            "scf.yield gives (), the results of scf.if are (!pd.vtensor<f32>)",
        ),
        (
            lambda c, x: scf.IfOp(c, then_region=Region([Block([F])]), else_region=Region()),
            "the then region of scf.if takes arguments; it sees the values around it",
        ),
        (
            lambda c, x: scf.WhileOp.build([x], lambda y: (c, []), lambda: [c]),
            "scf.yield gives (!pd.vtensor<1xi1>), the loop-carried values of scf.while are (!pd.vtensor<f32>)",
        ),
        (
            lambda c, x: scf.WhileOp([x], before=yielding(x), after=yielding(x), outputs=[F]),
            "the before region of scf.while takes (), its operands are (!pd.vtensor<f32>)",
        ),
        (
            lambda c, x: scf.WhileOp([], before=yielding(), after=yielding()),
            "scf.yield ends a region of scf.while; it belongs into scf.if or the after region",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(build, message):
    def body(c, x):
        build(c, x)
        return []

    with pytest.raises(VerifyError) as error:
        main_of((B, F), body).verify()
    assert message in str(error.value)


def test_the_values_of_a_region_are_not_seen_outside():
    def build(c, x):
        inside = []
        scf.IfOp.build(c, lambda: inside.append(pd.add(x, x)) or [])
        return [pd.relu(inside[0])]

    with pytest.raises(VerifyError, match=r"operand 0 is defined in a region that does not enclose it by pd\.add"):
        main_of((B, F), build).verify()


def test_a_value_after_the_operation_is_not_seen_inside():
    program = main_of((B, F), lambda c, x: scf.IfOp.build(c, lambda: [x], lambda: [x]).results)
    branch = program.main.body.block.first_op
    with Builder.after(branch):
        late = pd.relu(branch.result)
    branch.then_region.block.last_op.set_operand(0, late.out)
    with pytest.raises(VerifyError, match=r"operand 0 is used before its definition by pd\.relu"):
        program.verify()


def cond_br(main, end):
    condition, *values = main.body.block.args
    cf.cond_br(condition, values, true_dest=end, false_dest=end)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda main, end: cf.br([], dest=end), "cf.br gives () to its successor 0, which takes (!pd.vtensor<f32>)"),
        (lambda main, end: cf.br(main.body.block.args, dest=main.body.block), "is the entry block, which no branch"),
        (lambda main, end: cf.br([main.body.block.args[1]], dest=Block((F,))), "branches to a block of another region"),
        (
            cond_br,
            "cf.cond_br gives () to its successor 1, which takes (!pd.vtensor<f32>)",
        ),
    ],
)  # fmt: skip
def test_edges_that_do_not_fit(wrong, message):
    program = main_of((B, F))
    main = program.main
    main.body.block.last_op.erase()
    end = main.body.append(Block((F,)))
    with Builder.at_end(end):
        func.ReturnOp([])
    with Builder.at_end(main.body.block):
        wrong(main, end)
    with pytest.raises(VerifyError) as error:
        program.verify()
    assert message in str(error.value)


def test_a_value_must_dominate_across_blocks():
    program = tx8ir.parse("""
        func.func @main(%c: !pd.vtensor<i1>, %x: !pd.vtensor<f32>) -> !pd.vtensor<f32> {
          "cf.cond_br"(%c)[^a, ^b] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
        ^a:
          %0 = "pd.relu"(%x) : (!pd.vtensor<f32>) -> !pd.vtensor<f32>
          "cf.br"()[^b] : () -> ()
        ^b:
          return %0 : !pd.vtensor<f32>
        }
    """)
    with pytest.raises(VerifyError, match=r"does not dominate this one by pd\.relu"):
        program.verify()


def run(program, pipeline):
    PassManager.parse(pipeline).run(program)
    program.verify()
    return [op.name for op in program.main.walk()][1:]


@pytest.mark.parametrize("pipeline", ["dce", "canonicalize"])
def test_an_if_whose_results_nobody_uses_goes_only_when_nothing_in_it_matters(pipeline):
    def build(c, x):
        scf.IfOp.build(c, lambda: [pd.relu(x)], lambda: [x])

        def write():
            builtin.set_parameter(x, parameter="w")
            return []

        scf.IfOp.build(c, write)
        scf.WhileOp.build([x], lambda y: (c, [y]), lambda y: [pd.relu(y)])
        return []

    names = run(main_of((B, F), build), pipeline)
    assert names == ["scf.if", "builtin.set_parameter", "scf.yield", "func.return"]


@pytest.mark.parametrize("pipeline", ["dce", "canonicalize"])
def test_an_if_that_writes_a_tensor_stays_and_one_that_reads_it_goes(pipeline):
    def build(c, t):
        scf.IfOp.build(c, lambda: [pd.relu_(t)], lambda: [t])
        scf.IfOp.build(c, lambda: [pd.relu(t)], lambda: [t])
        return []

    names = run(main_of((B, T), build), pipeline)
    assert names == ["scf.if", "pd.relu_", "scf.yield", "scf.yield", "func.return"]


def test_equal_operations_merge_into_a_region_but_not_out_of_it_or_between_regions():
    def build(c, x):
        a = pd.relu(x)
        r = scf.IfOp.build(c, lambda: [pd.add(pd.relu(x), pd.abs(x))], lambda: [pd.abs(x)])
        return [pd.abs(x), a, *r.results]

    names = run(main_of((B, F), build), "cse")
    assert names.count("pd.relu") == 1
    assert names.count("pd.abs") == 3


def test_dead_code_in_a_deep_nest_costs_one_sweep():
    """Each of 3,000 nested ifs is asked whether it may go; the effect in the innermost one is looked for once."""

    def build(c, x):
        op = scf.IfOp.build(c, lambda: [builtin.set_parameter(x, parameter="w")][:0])
        for _ in range(3000):
            block = Block()
            op.detach()
            block.append(op)
            with Builder.at_end(block):
                scf.YieldOp([])
            op = scf.IfOp(c, then_region=Region([block]), else_region=Region())
        return []

    assert run(main_of((B, F), build), "dce").count("scf.if") == 3001


def test_operations_built_by_functions_come_from_the_callers_line():
    program = main_of((B, F), lambda c, x: scf.IfOp.build(c, lambda: [x], lambda: [x]).results)
    branch = program.main.body.block.first_op
    assert {op.location.file for op in branch.walk()} == {__file__}


def test_conditions_are_single_booleans():
    assert cf.one_i1(VTensorType((1, 1), i1))
    assert cf.one_i1(i1)
    for type_ in (VTensorType((2,), i1), VTensorType((-1,), i1), F, L):
        assert not cf.one_i1(type_)


# --- calls ---------------------------------------------------------------------------------------------------------


def chain(functions: int) -> Program:
    """Functions that each call the next one."""
    program = Program.empty()
    with Builder.at_end(program.body):
        made = [
            func.FuncOp(sym_name=f"f{i}" if i else "main", function_type=FunctionType([F], [F]))
            for i in range(functions)
        ]
    for i, function in enumerate(made):
        (x,) = function.body.block.args
        with Builder.at_end(function.body.block):
            if i + 1 < functions:
                x = func.call([x], callee=SymbolRefAttr(f"f{i + 1}"), outputs=[F]).outputs[0]
            func.ReturnOp([x])
    return program


def test_a_call_of_nothing_or_of_another_type_is_a_fault() -> None:
    program = chain(2)
    call = program.main.body.block.first_op
    call.set_attribute("callee", SymbolRefAttr("g"))
    with pytest.raises(VerifyError, match=r"func\.call calls @g, which the module does not define"):
        program.verify()
    with pytest.raises(VerifyError, match=r"func\.call calls @g"):
        call.verify()  # of one operation, too: the module is around it
    call.set_attribute("callee", SymbolRefAttr("main"))
    program.main.set_attribute("function_type", FunctionType([F], [F, F]))
    with pytest.raises(VerifyError, match=r"func\.call is .*, @main is "):
        program.verify()


def test_a_call_outside_of_a_module_is_a_fragment_and_valid() -> None:
    func.call([], callee=SymbolRefAttr("f"), outputs=[]).verify()


@pytest.mark.slow
def test_ten_thousand_functions_that_call_each_other_are_verified_with_one_table(monkeypatch) -> None:
    program, tables = chain(10_000), []
    check = func.CallOp.verify_symbols

    def verify_symbols(self: func.CallOp, symbols) -> None:
        tables.append(symbols)
        check(self, symbols)

    monkeypatch.setattr(func.CallOp, "verify_symbols", verify_symbols)
    program.verify()
    assert len(tables) == 9_999
    assert len({id(table) for table in tables}) == 1
