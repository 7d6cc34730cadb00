"""Every registered pass of `tx8ir.transforms`, held to its guarantee by `fuzz`.

A pass comes in by being registered: nothing is listed here but the few that by default leave small programs alone. The
passes of the backend have their own tests: what they take is not any program.
"""

from __future__ import annotations

import pytest

from tx8ir.passes import NumericGuarantee, all_passes
from tx8ir.testing import assert_preserves, fuzz
from tx8ir.testing.programs import tensor_programs

PASSES = [name for name, cls in all_passes().items() if cls.__module__.startswith("tx8ir.transforms.")]
VALUES = "to-value-semantics,copy-elision"
ON_SMALL_PROGRAMS = {
    "externalize-constants": "externalize-constants{inline-bytes=0}",
    "inline-fusions": "fuse-elementwise,inline-fusions",
    "pad-matmul": "pad-matmul{m=4,n=4,k=4,max-waste=0.9}",
    "split-large-ops": "split-large-ops{max-operands=3,max-extent=4,max-channels=2}",
    "to-inplace": f"{VALUES},to-inplace",
}
"""Pipelines in which passes have something to do that by default are for large programs, or for what others leave."""


def test_the_passes_are_there() -> None:
    assert len(PASSES) >= 30
    assert {"cse", "dce", "canonicalize", "to-value-semantics", "copy-elision", "to-inplace", "nhwc"} <= set(PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_its_guarantee(name: str) -> None:
    """A pass may have nothing to do in so few programs; its own tests have those that it is about."""
    found = fuzz(ON_SMALL_PROGRAMS.get(name, name), examples=30, reduce=False)
    guarantee = all_passes()[name].guarantee
    assert found.passed, (
        f"{found}\n\n{all_passes()[name].__qualname__}.guarantee is NumericGuarantee.{guarantee.name}; "
        "a pass that cannot keep it "
        "declares a weaker one: guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING, say"
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_its_guarantee_for_ten_minutes(name: str) -> None:
    found = fuzz(ON_SMALL_PROGRAMS.get(name, name), seconds=600)
    assert found.passed, str(found)


@pytest.mark.parametrize(
    "pipeline",
    ["straighten", "prepare", "canonicalize,constant-fold,cse,dce", f"{VALUES},canonicalize,cse,dce,to-inplace"],
)
def test_pipelines_keep_what_their_passes_guarantee(pipeline: str) -> None:
    assert_preserves(pipeline, examples=20)


@pytest.mark.parametrize(
    "pipeline", ["canonicalize,constant-fold,cse,dce", f"{VALUES},canonicalize,cse,dce,to-inplace"]
)
def test_pipelines_keep_bits_of_programs_with_everything(pipeline: str) -> None:
    assert_preserves(pipeline, programs=tensor_programs(), examples=40, guarantee=NumericGuarantee.BITWISE)
