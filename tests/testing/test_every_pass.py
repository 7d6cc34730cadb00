"""Every registered pass of `tx8ir.transforms`, held to its promise on programs with everything.

A pass comes in by being registered: nothing is listed here but the few that need an option to keep a promise at all.
The passes of the backend have their own tests: what they take is not any program.
"""

from __future__ import annotations

import attrs
import pytest

from tx8ir.testing.campaign import campaign
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.transforms import Promise, all_passes

PASSES = [name for name, cls in all_passes().items() if cls.__module__.startswith("tx8ir.transforms.")]
WITH_OPTIONS = {
    # Constants that are rounded once and for all are other constants in arithmetic without rounding, too.
    "auto-mixed-precision": "auto-mixed-precision{convert-constants=false}",
}
VALUES = "to-value-semantics,fold-copies"


def run(name: str, examples: int, before: str = "") -> None:
    """A campaign with the promise that the class declares; a pass that needs another one says `promise: ClassVar`."""
    promise = all_passes()[name].promise
    features = EVERYTHING if promise is Promise.BITS else attrs.evolve(EVERYTHING, sums=True)
    text = WITH_OPTIONS.get(name, name)
    try:
        campaign(f"{before},{text}" if before else text, tensor_programs(features), examples=examples)
    except AssertionError as error:
        error.add_note(
            f"{all_passes()[name].__qualname__}.promise is Promise.{promise.name}; a pass that cannot keep it declares "
            "a weaker one: promise: ClassVar[Promise] = Promise.ROUNDING, say"
        )
        raise


def test_the_passes_are_there() -> None:
    assert len(PASSES) >= 30
    assert {"cse", "dce", "canonicalize", "to-value-semantics", "fold-copies", "to-inplace", "nhwc"} <= set(PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_its_promise(name: str) -> None:
    run(name, 20)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_its_promise_on_thousands_of_programs(name: str) -> None:
    run(name, 5000)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_its_promise_behind_value_semantics(name: str) -> None:
    run(name, 1000, VALUES)


@pytest.mark.parametrize(
    "pipeline", ["canonicalize,constant-fold,cse,dce", f"{VALUES},canonicalize,cse,dce,to-inplace"]
)
def test_pipelines_keep_bits(pipeline: str) -> None:
    campaign(pipeline, tensor_programs(), examples=40, promise=Promise.BITS)
