"""The front end against PyTorch itself (`make test-peers`): signatures, modules, its database of operators."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import make_samples
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing._internal.common_methods_invocations import op_db

from tx8ir.frontends.torch import TorchImportError, load, supported_ops, trace
from tx8ir.frontends.torch.signatures import REQUIRED, Parameter
from tx8ir.interpreter import evaluate

SAMPLES = make_samples.samples()
UNDEFINED = {"empty_like", "new_empty", "new_empty_strided", "empty", "empty_permuted", "empty_strided"}
"""Operators whose results may be anything."""
NOT_IN_NUMPY = {"bfloat16"}
ANY_OF_EQUAL = {"topk"}
"""Operators that may choose any of equal elements: their places are not compared."""


def compare(found: Any, expected: Any) -> None:
    """The same numbers, up to rounding."""
    expected = expected.detach().numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# --- signatures ------------------------------------------------------------------------------------------------------


def described(argument: Any) -> tuple[str, bool, bool, Any]:
    """Name, whether it is a list, whether something of it may be None, and the default of an argument of PyTorch's."""
    kind = str(argument.type)
    default = argument.default_value if argument.has_default_value() else REQUIRED
    return argument.name, "List[" in kind, "Optional[" in kind, tuple(default) if isinstance(default, list) else default


def as_described(parameter: Parameter) -> tuple[str, bool, bool, Any]:
    optional = parameter.is_optional or parameter.has_optional_items
    return parameter.name, parameter.is_list, optional, parameter.default


@pytest.mark.parametrize("item", supported_ops(), ids=lambda item: item.operator)
def test_signatures_are_those_of_pytorch(item: Any) -> None:
    space, name, overload = item.operator.split(".")
    schema = getattr(getattr(getattr(torch.ops, space), name), overload)._schema
    theirs = [described(argument) for argument in schema.arguments]
    for mine, (name, is_list, optional, default) in zip(
        map(as_described, item.signature.parameters), theirs, strict=True
    ):
        assert mine[:3] == (name, is_list, optional)
        if name != "memory_format":
            assert mine[3] is default or mine[3] == pytest.approx(default)


# --- modules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["traced", "decomposed", "double"])
@pytest.mark.parametrize("name", SAMPLES)
def test_modules_in_memory_are_what_pytorch_answers(name: str, how: str) -> None:
    module, inputs, dynamic = SAMPLES[name]
    module = copy.deepcopy(module)
    if how == "double":
        module, inputs = module.double(), tuple(x.double() if x.is_floating_point() else x for x in inputs)
    if how == "decomposed":
        program = load(torch.export.export(copy.deepcopy(module), inputs, dynamic_shapes=dynamic).run_decompositions())
    else:
        program = trace(copy.deepcopy(module), inputs, dynamic_shapes=dynamic)
    with torch.no_grad():
        answer = module(*(x.clone() for x in inputs))
    expected = answer if isinstance(answer, tuple) else (answer,)
    found = evaluate(program, dict(zip(program.inputs, (x.numpy() for x in inputs), strict=True)))
    for mine, theirs in zip(found.values(), expected, strict=True):
        compare(mine, theirs)
    for key, value in module.named_buffers():
        if key in program.weights and program.weights[key].is_mutable:
            compare(program.weights[key].numpy(), value)


def test_weights_in_memory_are_shared() -> None:
    module, inputs, _ = SAMPLES["mlp"]
    program = trace(module, inputs)
    shared = program.weights["layers.0.weight"].numpy()
    assert np.shares_memory(shared, module.layers[0].weight.detach().numpy())


# --- the database of operators ---------------------------------------------------------------------------------------


def tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def rebuilt(value: Any, parts: Iterator[Tensor]) -> Any:
    """A structure with other tensors."""
    if isinstance(value, Tensor):
        return next(parts)
    if isinstance(value, (list, tuple)):
        return type(value)([rebuilt(item, parts) for item in value])
    return {key: rebuilt(item, parts) for key, item in value.items()} if isinstance(value, dict) else value


class Call(nn.Module):
    """A call of an operator with the arguments of a sample."""

    def __init__(self, op: Any, sample: Any) -> None:
        super().__init__()
        self.op, self.given = op, [sample.input, list(sample.args), sample.kwargs]

    def forward(self, *parts: Tensor) -> Any:
        first, rest, options = rebuilt(self.given, iter(parts))
        return self.op(first, *rest, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("op", op_db, ids=lambda op: op.formatted_name)
def test_operators_are_right_or_refused(op: Any, dtype: torch.dtype) -> None:
    if dtype not in op.dtypes or op.name in UNDEFINED | NOT_IN_NUMPY:
        return
    for sample in itertools.islice(op.sample_inputs("cpu", dtype), 2):
        given = [x.detach().clone() for x in tensors([sample.input, list(sample.args), sample.kwargs])]
        if not given or any(x.is_complex() or x.layout != torch.strided for x in given):
            continue
        call = Call(op.op, sample)
        try:
            with torch.no_grad():
                expected = list(tensors(call(*(x.clone() for x in given))))
            exported = torch.export.export(call, tuple(given))
        except Exception:  # PyTorch itself cannot export it
            continue
        try:
            program = load(exported)
        except TorchImportError:
            continue
        found = evaluate(program, dict(zip(program.inputs, (x.numpy() for x in given), strict=True)))
        compared = 1 if op.name in ANY_OF_EQUAL else len(expected)
        for mine, theirs in zip(list(found.values())[:compared], expected[:compared], strict=True):
            compare(mine, theirs)
