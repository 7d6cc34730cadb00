"""The bank of mutants: each is wrong on its witness, as the oracle must see, and right where it should be."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest

from support.mutants import MUTANTS, ROUNDS, Mutant, Round, of_round
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.testing import check


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"round-{m.round}-{m.area}-{m.name}")
def test_the_oracle_sees_the_witness(mutant: Mutant):
    program, inputs = mutant.witness()
    text = str(program)
    result = check(program, mutant.pass_, inputs=inputs, guarantee=mutant.guarantee, reduce=False)
    assert result.changed
    assert result.counterexample is not None
    assert result.counterexample.failure.kind == "answer", result.counterexample.failure
    assert str(program) == text


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"round-{m.round}-{m.area}-{m.name}")
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


def test_all_areas_are_there():
    assert len({m.area for m in MUTANTS}) == 14


def test_a_pass_says_its_own_guarantee():
    assert all(m.pass_.guarantee is m.guarantee for m in MUTANTS if isinstance(m.pass_, Pass))


@pytest.mark.parametrize("which", ROUNDS)
def test_a_round_is_balanced(which: Round):
    mutants = of_round(which)
    assert len(mutants) >= 64
    areas, forms = Counter(m.area for m in mutants), Counter(m.form for m in mutants)
    assert set(areas) == {m.area for m in MUTANTS}
    assert min(areas.values()) >= 4
    assert set(forms) == {"function", "pass", "rule"}
    assert min(forms.values()) >= len(mutants) // 7
    assert len(mutants) // 5 <= sum(m.special_value for m in mutants) <= len(mutants) // 3
    assert sum(m.guarantee is NumericGuarantee.ROUNDING for m in mutants) >= 4


def test_no_citation_is_in_two_rounds():
    threads = [{m.citation.split(":")[0] for m in of_round(which) if "#" in m.citation} for which in ROUNDS]
    assert [both for one, other in combinations(threads, 2) if (both := one & other)] == []
