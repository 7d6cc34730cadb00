"""The source of an instruction: text that reads back as what it was made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import Source

WORDS = st.from_regex(r"\S+", fullmatch=True)
SOURCES = st.builds(Source, st.integers(0)) | st.builds(Source, st.integers(0), WORDS, st.none() | st.text(min_size=1))


@given(SOURCES)
def test_a_source_reads_back(source: Source) -> None:
    assert Source.parse(str(source)) == source


@pytest.mark.parametrize(
    "text", [None, "", "my kernel", "group", "group 3", "group x Relu", "barrier", "a group 3 Relu"]
)
def test_other_text_says_nothing(text: str | None) -> None:
    assert Source.parse(text) is None


def test_every_instruction_of_a_compiled_program_says_its_origin() -> None:
    program = tx8ir.parse("""module {
      func.func @main(%x: !pd.tensor<4x8xf32>) -> !pd.tensor<4x8xf32> {
        %y = "pd.relu"(%x) : (!pd.tensor<4x8xf32>) -> !pd.tensor<4x8xf32>
        return %y : !pd.tensor<4x8xf32>
      }
    }""")
    compiled = tx8ir.compile(program).program
    origins = [op.origin for op in compiled.module.walk() if isinstance(op, tx8.Instruction)]
    assert [origin.op for origin in origins if origin is not None] == ["LoadVar", "Relu", "StoreVar"]
    assert {origin.group for origin in origins if origin is not None} == {0}
