"""Every registered pass of `tx8ir.transforms`, held to its guarantee by `fuzz`.

A pass comes in by being registered: nothing is listed here but the few that by default leave small programs alone. The
passes of the backend have their own tests: what they take is not any program.
"""

from __future__ import annotations

import pytest

from support.shipped import ON_SMALL_PROGRAMS, PASSES, PIPELINES
from tx8ir.passes import NumericGuarantee, all_passes
from tx8ir.testing import assert_preserves, fuzz
from tx8ir.testing.programs import tensor_programs


def test_the_passes_are_there() -> None:
    assert len(PASSES) >= 30
    assert {"cse", "dce", "canonicalize", "to-value-semantics", "copy-elision", "to-inplace", "nhwc"} <= set(PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_its_guarantee(name: str) -> None:
    """A pass may have nothing to do in so few programs; its own tests have those that it is about."""
    found = fuzz(ON_SMALL_PROGRAMS.get(name, name), examples=16, reduce=False)
    guarantee = all_passes()[name].guarantee
    assert found.passed, (
        f"{found}\n\n{all_passes()[name].__qualname__}.guarantee is NumericGuarantee.{guarantee.name}; "
        "a pass that cannot keep it "
        "declares a weaker one: guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING, say"
    )


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_pipelines_keep_what_their_passes_guarantee(pipeline: str) -> None:
    assert_preserves(pipeline, examples=10)


@pytest.mark.parametrize("pipeline", [text for text in PIPELINES if "," in text])
def test_pipelines_keep_bits_of_programs_with_everything(pipeline: str) -> None:
    assert_preserves(pipeline, programs=tensor_programs(), examples=12, guarantee=NumericGuarantee.BITWISE)
