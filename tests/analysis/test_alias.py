"""What the alias analysis answers: by storage, through everything that passes a tensor on."""

from __future__ import annotations

import pytest

from tx8ir.analysis import AliasAnalysis, AnalysisManager
from tx8ir.core import Operation, Program, Value, parse
from tx8ir.passes import all_passes

T = "!pd.tensor<2x3xf32>"
V = "!pd.vtensor<2x3xf32>"
C = "!pd.vtensor<1xi1>"


def main_of(body: str, arguments: str = f"%a: {T}, %b: {T}, %v: {V}, %c: {C}", functions: str = "") -> Program:
    program = parse(f"module {{\n{functions}\nfunc.func @main({arguments}) {{\n{body}\nreturn\n}}\n}}", keep_names=True)
    program.verify()
    return program


def named(program: Program, function: str = "main") -> dict[str, Value]:
    """Values by their names in the text."""
    values: dict[str, Value] = dict(zip("abvc", program.function(function).body.block.args, strict=False))
    for op in program.function(function).walk():
        for result in op.results:
            if result.name_hint:
                values[result.name_hint] = result
    return values


def op_named(program: Program, name: str, index: int = 0, function: str = "main") -> Operation:
    return [op for op in program.function(function).walk() if op.name == name][index]


def view(x: str) -> str:
    return f'"pd.transpose"({x}) {{perm = array<i64: 1, 0>}} : ({T}) -> !pd.tensor<3x2xf32>'


def relu_(x: str) -> str:
    return f'"pd.relu_"({x}) : ({T}) -> {T}'


def test_views_and_results_of_in_place_operations_share_storage():
    program = main_of(f"%x = {view('%a')}\n%y = {relu_('%a')}\n%z = {view('%b')}")
    analysis, v = AliasAnalysis(program), named(program)
    assert analysis.may_alias(v["x"], v["a"])
    assert analysis.may_alias(v["x"], v["y"])
    assert not analysis.may_alias(v["x"], v["z"])
    assert not analysis.may_alias(v["a"], v["b"])
    assert not analysis.may_alias(v["v"], v["v"])  # a vtensor has no storage to share


def test_copies_and_results_of_value_operations_have_storage_of_their_own():
    program = main_of(f'%x = "pd.relu"(%a) : ({T}) -> {T}\n%y = "builtin.to_tensor"(%a) : ({T}) -> {T}')
    analysis, v = AliasAnalysis(program), named(program)
    assert not analysis.may_alias(v["x"], v["a"])
    assert not analysis.may_alias(v["y"], v["a"])
    assert not analysis.may_alias(v["x"], v["y"])


def test_pieces_of_a_split_are_on_one_storage():
    split = f'%x:2 = "pd.split"(%a) {{sections = array<i64: 1, 1>, axis = 0}} : ({T}) -> (!pd.tensor<1x3xf32>, !pd.tensor<1x3xf32>)'  # noqa: E501
    program = main_of(split)
    pieces = op_named(program, "pd.split").results
    assert AliasAnalysis(program).may_alias(*pieces)


def test_reads_of_one_parameter_or_input_are_one_storage():
    program = main_of(
        f'%x = "builtin.get_parameter"() {{name = "w"}} : () -> {T}\n'
        f'%y = "builtin.get_parameter"() {{name = "w"}} : () -> {T}\n'
        f'%z = "builtin.get_parameter"() {{name = "u"}} : () -> {T}\n'
        f'%s = "builtin.get_parameter"() {{name = "w"}} : () -> {V}\n'
        f'%r = "pd.relu_"(%y) : ({T}) -> {T}\n'
        f'"builtin.set_parameter"(%v) {{name = "w"}} : ({V}) -> ()\n'
        f'%f = "pd.feed"() {{name = "arg0"}} : () -> {T}'
    )
    analysis, v = AliasAnalysis(program), named(program)
    assert analysis.may_alias(v["x"], v["y"])
    assert not analysis.may_alias(v["x"], v["z"])
    assert analysis.may_alias(v["f"], v["a"])  # main's argument of that name
    snapshot, write, store = v["s"].defining_op, v["r"].defining_op, op_named(program, "builtin.set_parameter")
    assert not analysis.can_swap(snapshot, write)
    assert not analysis.can_swap(write, store)
    assert analysis.may_write(store, v["x"])
    assert not analysis.may_write(store, v["z"])
    assert analysis.writes_parameter("w")
    assert not analysis.writes_parameter("u")


def test_a_branch_gives_what_either_side_gives():
    program = main_of(
        f'%x = "scf.if"(%c) ({{ "scf.yield"(%a) : ({T}) -> () }}, {{ "scf.yield"(%b) : ({T}) -> () }}) : ({C}) -> {T}\n'
        f"%y = {relu_('%x')}"
    )
    analysis, v = AliasAnalysis(program), named(program)
    assert analysis.may_alias(v["x"], v["a"])
    assert analysis.may_alias(v["x"], v["b"])
    assert analysis.may_write(v["y"].defining_op, v["a"])
    assert analysis.may_alias(v["a"], v["b"])  # the price of one class for each storage


def test_a_branch_writes_what_is_written_inside():
    program = main_of(
        f'"scf.if"(%c) ({{ %x = {relu_("%a")}\n "scf.yield"() : () -> () }}, {{}}) : ({C}) -> ()\n'
        f'%y = "builtin.to_vtensor"(%a) : ({T}) -> {V}\n%z = "builtin.to_vtensor"(%b) : ({T}) -> {V}'
    )
    analysis, v = AliasAnalysis(program), named(program)
    branch = op_named(program, "scf.if")
    assert analysis.may_write(branch, v["a"])
    assert not analysis.may_write(branch, v["b"])
    assert not analysis.can_swap(branch, v["y"].defining_op)
    assert analysis.can_swap(v["y"].defining_op, v["z"].defining_op)


def test_a_loop_carries_a_tensor_round():
    program = main_of(
        f'%x = "scf.while"(%a) ({{\n^bb0(%p: {T}):\n "scf.condition"(%c, %p) : ({C}, {T}) -> ()\n}}, {{\n^bb0(%q: {T}):\n'  # noqa: E501
        f'%n = "pd.relu"(%q) : ({T}) -> {T}\n%w = {relu_("%b")}\n "scf.yield"(%n) : ({T}) -> ()\n}}) : ({T}) -> {T}'
    )
    analysis, v = AliasAnalysis(program), named(program)
    assert analysis.may_alias(v["x"], v["a"])
    assert analysis.may_alias(v["x"], v["n"])
    assert not analysis.may_alias(v["x"], v["b"])
    assert analysis.may_write(v["x"].defining_op, v["b"])  # captured
    assert not analysis.may_write(v["x"].defining_op, v["a"])


def test_blocks_pass_tensors_on():
    program = parse(
        f"module {{ func.func @main(%a: {T}, %b: {T}, %c: {C}) {{\n"
        f'"cf.cond_br"(%c, %a, %b) [^bb1, ^bb1] {{operandSegmentSizes = array<i32: 1, 1, 1>}} : ({C}, {T}, {T}) -> ()\n'
        f"^bb1(%x: {T}):\n%y = {relu_('%x')}\nreturn\n}} }}"
    )
    program.verify()
    a, b, _ = program.main.body.block.args
    (x,) = program.main.body.blocks[1].args
    analysis = AliasAnalysis(program)
    assert analysis.may_alias(x, a)
    assert analysis.is_written(b)


def test_a_list_holds_its_elements_apart():
    program = main_of(
        f'%l = "builtin.combine"(%a, %b) : ({T}, {T}) -> !builtin.list<{T}, {T}>\n'
        f'%x = "builtin.slice"(%l) {{index = 1}} : (!builtin.list<{T}, {T}>) -> {T}\n%y = {relu_("%x")}'
    )
    analysis, v = AliasAnalysis(program), named(program)
    assert analysis.may_alias(v["x"], v["b"])
    assert not analysis.may_alias(v["x"], v["a"])
    assert analysis.may_alias(v["l"], v["a"])
    assert analysis.may_write(v["y"].defining_op, v["l"])


WRITER = f"func.func @writer(%x: {T}, %y: {T}) -> {T} {{\n%z = {relu_('%x')}\nreturn %y : {T}\n}}"


def test_a_call_does_what_the_function_does_with_its_arguments():
    program = main_of(
        f'%x = "func.call"(%a, %b) {{callee = @writer}} : ({T}, {T}) -> {T}\n'
        f'%d = "builtin.to_tensor"(%v) : ({V}) -> {T}\n%e = "builtin.to_tensor"(%v) : ({V}) -> {T}\n'
        f'%y = "func.call"(%d, %e) {{callee = @writer}} : ({T}, {T}) -> {T}',
        functions=WRITER,
    )
    analysis, v = AliasAnalysis(program), named(program)
    first, second = v["x"].defining_op, v["y"].defining_op
    assert analysis.may_alias(v["x"], v["b"])
    assert not analysis.may_alias(v["x"], v["a"])
    assert not analysis.may_alias(v["a"], v["d"])  # one call's arguments are not another's
    assert analysis.may_write(first, v["a"])
    assert not analysis.may_write(first, v["b"])
    assert not analysis.may_write(first, v["d"])
    assert analysis.can_swap(first, second) is analysis.can_swap(second, first)


def test_arguments_that_a_caller_gives_one_storage_may_alias_in_the_function():
    apart = main_of(f'%x = "func.call"(%a, %b) {{callee = @writer}} : ({T}, {T}) -> {T}', functions=WRITER)
    same = main_of(f'%x = "func.call"(%a, %a) {{callee = @writer}} : ({T}, {T}) -> {T}', functions=WRITER)
    assert not AliasAnalysis(apart).may_alias(*apart.function("writer").body.block.args)
    assert AliasAnalysis(same).may_alias(*same.function("writer").body.block.args)


def test_a_function_that_writes_a_parameter_writes_it_for_its_caller():
    program = main_of(
        f'%w = "builtin.get_parameter"() {{name = "w"}} : () -> {T}\n"func.call"() {{callee = @f}} : () -> ()',
        functions=f'func.func @f() {{\n%w = "builtin.get_parameter"() {{name = "w"}} : () -> {T}\n%r = {relu_("%w")}\nreturn\n}}',  # noqa: E501
    )
    analysis, v = AliasAnalysis(program), named(program)
    assert analysis.may_write(op_named(program, "func.call"), v["w"])
    assert analysis.is_written(v["w"])


def test_functions_that_call_each_other():
    text = (
        "func.func @{0}(%x: {T}, %c: {C}) -> {T} {{\n"
        '%r = "scf.if"(%c) ({{ %y = "func.call"(%x, %c) {{callee = @{1}}} : ({T}, {C}) -> {T}\n'
        ' "scf.yield"(%y) : ({T}) -> () }}, {{ {2}\n"scf.yield"(%x) : ({T}) -> () }}) : ({C}) -> {T}\nreturn %r : {T}\n}}'  # noqa: E501
    )
    functions = "\n".join(
        text.format(n, m, w, T=T, C=C) for n, m, w in (("f", "g", ""), ("g", "f", f"%w = {relu_('%x')}"))
    )
    program = main_of(f'%x = "func.call"(%a, %c) {{callee = @f}} : ({T}, {C}) -> {T}', functions=functions)
    analysis, v = AliasAnalysis(program), named(program)
    assert analysis.may_alias(v["x"], v["a"])
    assert analysis.may_write(v["x"].defining_op, v["a"])
    assert not analysis.may_alias(v["x"], v["b"])


def test_operations_that_touch_no_storage_swap_and_users_never_do():
    program = main_of(f'%x = "pd.relu"(%v) : ({V}) -> {V}\n%y = "pd.relu"(%x) : ({V}) -> {V}\n%z = {relu_("%a")}')
    analysis, v = AliasAnalysis(program), named(program)
    x, y, z = (v[n].defining_op for n in "xyz")
    assert not analysis.can_swap(x, y)
    assert analysis.can_swap(y, z)
    assert not analysis.can_swap(z, z)
    assert not analysis.can_swap(z, program.main.body.block.last_op)


def test_what_is_fetched_keeps_its_order():
    program = main_of(
        f'"pd.fetch"(%v) {{name = "p"}} : ({V}) -> ()\n"pd.fetch"(%a) {{name = "q"}} : ({T}) -> ()\n%x = {relu_("%b")}'
    )
    analysis = AliasAnalysis(program)
    p, q = op_named(program, "pd.fetch"), op_named(program, "pd.fetch", 1)
    assert not analysis.can_swap(p, q)
    assert analysis.can_swap(q, op_named(program, "pd.relu_"))


@pytest.mark.parametrize("preserved", [(), (AliasAnalysis,)])
def test_an_analysis_is_kept_until_a_pass_that_does_not_preserve_it(preserved) -> None:
    program = main_of("")
    manager = AnalysisManager({})
    first = manager.get(AliasAnalysis, program)
    assert manager.get(AliasAnalysis, program) is first
    manager.invalidate(preserved)
    assert (manager.get(AliasAnalysis, program) is first) is bool(preserved)


def test_nothing_that_touches_a_storage_goes_before_what_allocates_it():
    program = main_of(f'%x = "pd.relu"(%a) : ({T}) -> {T}\n%y = {view("%x")}\n%z = {relu_("%x")}\n%w = {view("%x")}')
    analysis, v = AliasAnalysis(program), named(program)
    x, y, z, w = (v[n].defining_op for n in "xyzw")
    assert not analysis.can_swap(x, z)
    assert analysis.can_swap(y, z)  # a view moves no element
    assert analysis.can_swap(y, w)


@pytest.mark.parametrize("name", ["copy-elision", "to-inplace"])
def test_passes_get_the_analysis_from_the_manager(name: str) -> None:
    program = main_of(f'%x = "pd.assign_"(%a, %v) : ({T}, {V}) -> {T}')
    step = all_passes()[name]()
    step.run(program)
    assert step.analyses.made == {"AliasAnalysis": 1}


def test_a_call_that_allocates_what_it_gives_gives_storage_of_its_own() -> None:
    function = (
        f'func.func @make(%x: {T}) -> ({T}, {T}, {T}) {{\n%y = "pd.relu"(%x) : ({T}) -> {T}\n'
        f'%z = "pd.tanh"(%x) : ({T}) -> {T}\nreturn %y, %z, %z : {T}, {T}, {T}\n}}'
    )
    program = main_of(f'%r:3 = "func.call"(%a) {{callee = @make}} : ({T}) -> ({T}, {T}, {T})', functions=function)
    analysis = AliasAnalysis(program)
    once, twice, again = op_named(program, "func.call").results
    assert [analysis.is_fresh(v) for v in (once, twice, again)] == [True, False, False]
    assert not analysis.is_external(once)
    assert not analysis.may_alias(once, named(program)["a"])
    assert analysis.may_alias(twice, again)


def test_what_is_only_declared_or_in_a_module_inside_may_do_anything():
    program = parse(
        f"func.func private @ext({T}) -> {T}\n"
        f"func.func @main(%x: {T}) -> {T} {{\n  %0 = func.call @ext(%x) : ({T}) -> {T}\n  return %0 : {T}\n}}\n"
        "module @inner {\n  func.func @other() {\n    return\n  }\n}\n"
    )
    analysis = AliasAnalysis(program)
    assert analysis.is_opaque(program.main)
    assert analysis.is_opaque(program.function("inner").regions[0].block.first_op)
