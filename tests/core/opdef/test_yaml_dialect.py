"""Dialects from YAML op lists: classes like those written in Python, and every mistake shown at its place."""

from __future__ import annotations

import numpy as np
import pytest

import tx8ir
from tx8ir.core import (
    Compute,
    Dialect,
    Grad,
    HasValueSemantics,
    InferTypes,
    IrContext,
    IrError,
    ParseError,
    Pure,
    ReadOnly,
    VerifyError,
    VTensorType,
    default_context,
    f32,
    i64,
)
from tx8ir.core.ir.block import Block
from tx8ir.interpreter import evaluate_operation

V = VTensorType((2,), f32)

LIST = """
- op : addmm
  doc : beta * input + alpha * x @ y
  inputs : (Tensor input, Tensor x, Tensor y)
  attributes : (float beta=1.0, float alpha=1)
  outputs : Tensor(out)
  traits : (Pure)
  interfaces :
    InferTypes :
      func : like_the_first
  kernel :
    func : addmm
    data_type : x
  backward : addmm_grad

- op : pad
  args : (Tensor x, int[] paddings={0, 0}, str mode="constant", Scalar value=0.0f, bool lambda=false, int name=3)
  output : Tensor

- op : choose
  inputs : (Tensor x, Tensor mask, Tensor[] others)
  outputs : (Tensor(first), Tensor[](rest){2})
  optional : mask
  traits : (ReadOnly)
"""


def like_the_first(op):
    return (op.operands[0].type,)


def addmm(input, x, y, beta, alpha):
    return beta * input + alpha * x @ y


def load(text=LIST, **more):
    return Dialect.from_yaml("lab", text, functions={"like_the_first": like_the_first, "addmm": addmm}, **more)


@pytest.fixture
def context():
    """A context with the shipped dialects used here and the loaded one."""
    made = IrContext([load()])
    for name, keywords in (("builtin", {"module": "builtin.module"}), ("func", {"return": "func.return"})):
        made.register(default_context().dialect(name), keywords)
    return made


def values(*types):
    return Block(types).args


def test_a_loaded_class_constructs_infers_and_computes():
    lab = load()
    op = lab.addmm(*values(V, V, V), alpha=2.0)
    assert (op.name, op.beta, op.alpha, op.x.type, op.out.type) == ("lab.addmm", 1.0, 2.0, V, V)
    assert isinstance(op, Compute)
    assert isinstance(op, InferTypes)
    assert op.has_trait(Pure)
    assert type(op).__doc__ == "beta * input + alpha * x @ y"
    assert type(op).declaration["backward"] == "addmm_grad"
    m = VTensorType((2, 2), f32)
    eye = np.eye(2, dtype=np.float32)
    assert evaluate_operation(lab.addmm(*values(m, m, m), alpha=2.0), [eye, eye, eye])[0].tolist() == [[3, 0], [0, 3]]


def test_args_say_inputs_and_attributes_with_all_kinds_of_defaults():
    op = load().pad(*values(V), out=V)
    assert (op.paddings, op.mode, op.value.value, op.lambda_, op.name_) == ((0, 0), "constant", 0.0, False, 3)
    assert set(op.attributes) == {"paddings", "mode", "value", "lambda", "name"}
    assert load().pad(*values(V), paddings=(1, 2), out=V).paddings == (1, 2)


def test_optional_and_many_operands_and_results():
    x, m = values(V, V)
    op = load().choose(x, m, [x, x], first=V, rest=[V, V])
    assert (op.mask, op.others, len(op.rest)) == (m, (x, x), 2)
    assert load().choose(x, first=V).mask is None
    assert op.has_trait(ReadOnly)


def test_a_loaded_operation_verifies_prints_and_parses_like_any_other(context):
    text = """module {
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "lab.addmm"(%arg0, %arg0, %arg0) {alpha = 0.5 : f64, beta = 1.0 : f64} : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %0 : !pd.vtensor<2xf32>
  }
}"""  # noqa: E501
    program = tx8ir.parse(text, context=context)
    program.verify()
    assert str(program) == text
    op = program.main.body.block.first_op
    assert op.alpha == 0.5
    op.set_attribute("alpha", "much")
    with pytest.raises(VerifyError, match='attribute alpha is "much", expected a float'):
        program.verify()


def test_its_constructor_is_checked_like_any_other():
    lab = load()
    with pytest.raises(TypeError, match="unexpected keyword argument 'gamma'"):
        lab.addmm(*values(V, V, V), gamma=1)
    with pytest.raises(IrError, match=r"attribute alpha of lab\.addmm"):
        lab.addmm(*values(V, V, V), alpha="much")
    with pytest.raises(AttributeError, match="dialect 'lab' has no operation 'addmn'"):
        _ = lab.addmn


def test_a_list_comes_from_a_file_too(tmp_path):
    path = tmp_path / "ops.yaml"
    path.write_text(LIST)
    assert sorted(load(path).ops) == ["lab.addmm", "lab.choose", "lab.pad"]
    path.write_text("- op : a\n  inputs : (Tensr x)\n")
    with pytest.raises(ParseError) as error:
        load(path)
    assert str(error.value) == (
        f"{path}:2:13: error: unknown type 'Tensr' of input 'x', expected one of Any, Dict, List, Tensor\n"
        "    inputs : (Tensr x)\n"
        "              ^"
    )


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("- op : a\n  inputs : [", (2, 13), "no YAML"),
        ("- op : a\n- 3\n", (2, 3), "expected an entry like '- op : name', found a scalar"),
        ("- inputs : (Tensor x)\n", (1, 3), "this entry lacks the key 'op'"),
        ("- op : a\n- op : a\n", (2, 8), "the operation 'a' is defined twice"),
        ("- op : a b\n", (1, 8), "expected the name of an operation of dialect 'lab', found 'a b'"),
        ("- op : a\n  inptus : ()\n", (2, 3), "unknown key 'inptus', expected one of Kernel, args, attributes"),
        ("- op : a\n  op : b\n", (2, 3), "the key 'op' is given twice"),
        ("- op : a\n  inputs : (Tensor x, Tensor x)\n", (2, 23), "the name 'x' is given twice"),
        ("- op : a\n  inputs : (Tensor)\n", (2, 13), "expected 'Type name' or 'Type name=default', found 'Tensor'"),
        ("- op : a\n  inputs : (Tensor x=3)\n", (2, 13), "input 'x' has no default; name it under 'optional'"),
        ("- op : a\n  inputs : (Tensor x\n", (2, 12), "unbalanced '('"),
        ("- op : a\n  attributes : (Tensor x)\n", (2, 17), "unknown type 'Tensor' of 'x', expected one of Attribute"),
        ("- op : a\n  attributes : (int x, int y=big)\n", (2, 24), "the default of 'y' is not an int: big"),
        ("- op : a\n  attributes : (int[] y={1, 2.5})\n", (2, 17), "the default of 'y' is not an int[]: {1, 2.5}"),
        ("- op : a\n  attributes : (bool y=1)\n", (2, 17), "the default of 'y' is not a bool: 1"),
        ("- op : a\n  args : (Tensor x)\n  inputs : (Tensor y)\n", (2, 3), "'args' says both inputs and attributes"),
        ("- op : a\n  outputs : Tensr\n", (2, 13), "expected 'Type(name)' with a type of Any, Dict, List, Tensor"),
        ("- op : a\n  outputs : (Tensor[](p), Tensor[](q))\n", (1, 8), "several variadic results"),
        ("- op : a\n  optional : y\n", (2, 14), "'optional' names 'y', which is not an input"),
        ("- op : a\n  traits : (Pure, Pur)\n", (2, 19), "unknown trait 'Pur', known: Commutative"),
        ("- op : a\n  interfaces :\n    Infer :\n      func : f\n", (3, 5), "unknown interface 'Infer', known: "),
        ("- op : a\n  interfaces :\n    Fold :\n      func : f\n", (4, 14), "no function 'f' was given, only: addmm"),
        ("- op : a\n  interfaces :\n    Fold : {fold_it: addmm}\n", (3, 13), "Fold has no method 'fold_it', it has"),
        ("- op : a\n  kernel :\n    data_type : x\n", (3, 17), "'data_type' names 'x', which is not an input"),
        ("- op : a\n  kernel :\n    fun : x\n", (3, 5), "unknown key 'fun' of a kernel, expected backend, data_type"),
        ("- op : a\n  inputs :\n    x : Tensor\n", (3, 5), "expected a list like '(…, …)' under 'inputs'"),
    ],
)  # fmt: skip
def test_every_mistake_is_shown_at_its_place(text, place, message):
    with pytest.raises(ParseError) as error:
        load(text)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == place


DESIGN = """
op : addmm
inputs : (Tensor input, Tensor x, Tensor y)
attributes : (float beta=1.0, float alpha=1.0)
outputs : Tensor
interfaces :
  InferShape :
    func : like_the_first
  Backward : addmm_grad
traits : (ReadOnly, HasValueSemanticsTrait)
Kernel :
  func : addmm
  data_type : x
"""
"""As the design document of Paddle's IR has it."""


def test_the_form_of_the_design_document():
    lab = load(DESIGN)
    info = lab.addmm.info
    assert info.traits == {ReadOnly, HasValueSemantics}
    assert info.attribute_names == ("beta", "alpha")
    assert {InferTypes, Compute} <= set(info.interfaces)
    assert Grad not in info.interfaces  # addmm_grad is an operation
    assert lab.addmm.declaration["interfaces"]["Backward"] == "addmm_grad"
    op = lab.addmm(*Block([V, V, V]).args, alpha=2.0)
    arrays = [np.float32([[1, 2], [3, 4]])] * 3
    assert np.array_equal(op.compute(*arrays), addmm(*arrays, 1.0, 2.0))


def test_a_backward_function_that_is_given_is_the_gradient():
    lab = Dialect.from_yaml(
        "lab",
        DESIGN,
        functions={"like_the_first": like_the_first, "addmm": addmm, "addmm_grad": lambda op, given: given},
    )
    assert lab.addmm.info.interfaces[Grad] is lab.addmm
    assert lab.addmm(*Block([V, V, V]).args).grad([3]) == [3]


PADDLE = """
- op : addmm
  args : (Tensor input, Tensor x, Tensor y, float beta=1.0, float alpha=1.0)
  output : Tensor(out)
  infer_meta :
    func : AddmmInferMeta
    param : [input, x, y]
    spmd_rule : AddmmInferSpmd
  kernel :
    func : addmm
    data_type : x
  inplace : (input -> out)
  backward : addmm_grad
  interfaces : paddle::dialect::InferSymbolicShapeInterface, paddle::dialect::LayoutInterface

- op : find
  args : (Tensor x, Scalar(int64_t) axis, bool flatten = false, DataType dtype = DataType::INT64,
    Scalar(double) eps=1e-5)
  output : Tensor (places)
  traits : paddle::dialect::ForwardOnlyTrait
  kernel :
    func : find
    data_type : dtype > x

- op : update_
  args : (Tensor param, Tensor[] grads, Tensor master, float rho = 0.95f, int64_t most = INT64_MAX,
    int bins = (2 << 12) - 1, int64_t[] axes = {}, str layout = "AnyLayout", DataType kind = DataType::UNDEFINED,
    Place place = CPUPlace(), float low=-1.0e-6f)
  output : Tensor(param_out), Tensor[](grads_out){grads.size()}, Tensor(master_out)
  optional : master, master_out
  inplace : (param -> param_out), (master -> master_out)
  traits : pir::SideEffectTrait
  kernel :
    func : update {dense, dense -> dense}
           update_sparse {dense, selected_rows -> dense}
    param : [param, master, rho, axes]
"""


def test_a_list_of_paddle_declares_operations():
    lab = Dialect.from_yaml("lab", PADDLE)
    assert list(lab.ops) == ["lab.addmm", "lab.find", "lab.update_"]
    assert lab.addmm.info.interfaces == {}
    assert lab.addmm.declaration["infer_meta"]["func"] == "AddmmInferMeta"
    x, y, z = Block([V, V, V]).args
    places = lab.find(x, axis=1, places=V)
    assert (places.axis, places.flatten, places.dtype, places.eps) == (1, False, i64, 1e-5)
    made = lab.update_(x, [y], z, param_out=V, grads_out=[V], master_out=V)
    made.verify()
    assert made.rho == 0.95
    assert (made.most, made.bins, made.axes, made.layout) == ((1 << 63) - 1, 8191, (), "AnyLayout")
    assert (made.kind, made.place, made.low) == (None, None, -1e-6)
    assert lab.update_.info.attribute_names[:3] == ("rho", "most", "bins")


def test_a_kernel_takes_what_its_parameters_say():
    given = []
    functions = dict.fromkeys(["AddmmInferMeta", "addmm", "find"])
    functions["update"] = lambda *arrays, **attributes: given.append((arrays, attributes))
    lab = Dialect.from_yaml("lab", PADDLE, functions={n: f or (lambda *a, **k: None) for n, f in functions.items()})
    x, y, z = Block([V, V, V]).args
    lab.update_(x, [y, y], z, param_out=V, grads_out=[V], master_out=V).compute("x", "y", "y", "z")
    assert given == [(("x", "z"), {"rho": 0.95, "axes": ()})]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("- op : a\n  kernel : {func: addmm, param: [q]}\n", (2, 34), "'param' names 'q', which is not an input"),
        ("- op : a\n  interfaces : Fold\n", (2, 16), "expected a mapping of interfaces, or names as 'paddle"),
        ("- op : a\n  kernel : {func: addmm}\n  Kernel : {}\n", (3, 3), "'kernel' and 'Kernel' say the same"),
        ("- op : a\n  attributes : (int x=(1 << 99))\n", (2, 17), "the default of 'x' is not an int: (1 << 99)"),
        ("- op : a\n  attributes : (int x=f(2))\n", (2, 17), "the default of 'x' is not an int: f(2)"),
        ("- op : a\n  attributes : (DataType x=DataType::BIG)\n", (2, 17), "the default of 'x' is not a DataType"),
    ],
)  # fmt: skip
def test_mistakes_in_what_paddle_writes(text, place, message):
    with pytest.raises(ParseError) as error:
        load(text)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == place


def test_an_empty_list_is_an_empty_dialect():
    assert load("# nothing yet\n").ops == {}
