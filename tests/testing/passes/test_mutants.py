"""The bank of mutants: each is wrong on its witness, as the oracle must see, and right where it should be."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from support.mutants import MUTANTS, Mutant, half
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.testing import check


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_oracle_sees_the_witness(mutant: Mutant):
    program, inputs = mutant.witness()
    text = str(program)
    result = check(program, mutant.pass_, inputs=inputs, guarantee=mutant.guarantee, reduce=False)
    assert result.changed
    assert result.counterexample is not None
    assert result.counterexample.failure.kind == "answer", result.counterexample.failure
    assert str(program) == text


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_control_is_changed_and_kept(mutant: Mutant):
    assert mutant.control is not None
    program, inputs = mutant.control()
    result = check(program, mutant.pass_, inputs=inputs, guarantee=mutant.guarantee, reduce=False)
    assert result.changed
    assert result.passed, result.counterexample


def test_names_differ():
    assert [name for name, times in Counter(m.name for m in MUTANTS).items() if times > 1] == []


def test_each_says_where_it_is_from():
    thread, paper = re.compile(r"[\w.-]+/[\w.-]+#\d+(, part \d)?: \S"), re.compile(r".+, [A-Z]+ \d{4}\b")
    assert [m.name for m in MUTANTS if not (thread.match(m.citation) or paper.match(m.citation))] == []
    assert all(m.mistake and "\n" not in m.mistake for m in MUTANTS)


def test_all_areas_and_forms_are_there():
    assert len(MUTANTS) >= 84
    areas, forms = Counter(m.area for m in MUTANTS), Counter(m.form for m in MUTANTS)
    assert len(areas) == 14
    assert min(areas.values()) >= 5
    assert set(forms) == {"function", "pass", "rule"}
    assert min(forms.values()) >= len(MUTANTS) // 4
    assert sum(m.special_value for m in MUTANTS) >= 12
    assert sum(m.guarantee is NumericGuarantee.ROUNDING for m in MUTANTS) >= 6


def test_a_pass_says_its_own_guarantee():
    assert all(m.pass_.guarantee is m.guarantee for m in MUTANTS if isinstance(m.pass_, Pass))


def test_the_halves_are_alike():
    development, held_out = half("development"), half("held-out")
    assert len(development) + len(held_out) == len(MUTANTS)
    assert len(held_out) >= 66
    assert {m.area for m in development} == {m.area for m in held_out}
    assert min(Counter(m.area for m in held_out).values()) >= 4
    for mutants in (development, held_out):
        assert min(Counter(m.form for m in mutants).values()) >= len(mutants) // 7
        assert len(mutants) // 5 <= sum(m.special_value for m in mutants) <= len(mutants) // 3


def test_no_citation_is_in_both_halves():
    threads = [
        {m.citation.split(":")[0] for m in half(which) if "#" in m.citation} for which in ("development", "held-out")
    ]
    assert threads[0] & threads[1] == set()
