"""The target as an attribute: every field of a target travels, text keeps it, and wrong ones are refused."""

from __future__ import annotations

import re

import attrs
import pytest

from tx8ir.core import IrError, ParseError, Program, parse
from tx8ir.dialects import tx8
from tx8ir.passes import PassError, PassManager
from tx8ir.target.chip import BOARD, TX8, NeLimits, Profile, Target

EMPTY = "module {\n  func.func @main() {\n    return\n  }\n}"


def other(value: object) -> object:
    """A value of the kind of `value`, and not equal to it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2
    if isinstance(value, str):
        return f"other {value}"
    if isinstance(value, tuple):
        return tuple(other(entry) for entry in value)
    if isinstance(value, NeLimits | Profile):
        return changed(value)
    raise NotImplementedError(f"a field of type {type(value)}")


def changed(value: object) -> object:
    """A target, profile or limits with another value in every field."""
    fields = {field.name: other(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, Profile):
        fields["ne_steps_per_cycle"] = (("i8", 3, 7), ("f32", 1, 1))
    return type(value)(**fields)


@pytest.mark.parametrize("target", [TX8, attrs.evolve(TX8, profile=BOARD), changed(TX8)], ids=["TX8", "board", "other"])
def test_every_field_travels(target: Target) -> None:
    program = parse(EMPTY)
    tx8.set_target(program, target)
    again = parse(str(program))
    assert str(again) == str(program)
    assert tx8.target_of(again) == target
    assert tx8.target_of(next(iter(again.main.body.block))) == target
    assert (tx8.TARGET in str(program)) is (target != TX8)
    tx8.set_target(program, TX8)
    assert str(program) == str(parse(EMPTY))


def given(attribute: str) -> Program:
    return parse(EMPTY.replace("module", f"module attributes {{tx8.target = {attribute}}}", 1))


def test_the_text_says_what_differs() -> None:
    program = given("#tx8.target<{timing = #tx8.timing<{issue_cycles = 7 : i64}>}>")
    assert tx8.target_of(program) == attrs.evolve(TX8, profile=attrs.evolve(TX8.profile, issue_cycles=7))
    assert "{tx8.target = #tx8.target<{timing = #tx8.timing<{issue_cycles = 7 : i64}>}>}" in str(program)


@pytest.mark.parametrize("rate", ["f32", "f32 1/0", "f32 fast"])
def test_a_rate_is_a_format_and_a_fraction(rate: str) -> None:
    message = re.escape(f'tx8.target: ne_rates has "{rate}"; expected a format and steps per cycle, as "f32 2/3"')
    program = given(f'#tx8.target<{{timing = #tx8.timing<{{ne_rates = ["{rate}"]}}>}}>')
    with pytest.raises(IrError, match=message):
        tx8.target_of(program)


def test_what_is_no_target_is_refused() -> None:
    with pytest.raises(IrError, match=r'tx8.target is "tx8"; expected #tx8.target<\.\.\.>'):
        tx8.target_of(given('"tx8"'))
    with pytest.raises(ParseError, match=r"#tx8\.target has no field 'profile'"):
        given('#tx8.target<{profile = "board"}>')


def test_the_pass_sets_it_by_options() -> None:
    program = parse(EMPTY)
    PassManager.parse("set-target{spm-bytes=4096,profile=board}").run(program)
    low = TX8.spm_allocatable[0]
    assert tx8.target_of(program) == attrs.evolve(TX8, profile=BOARD, spm_allocatable=(low, low + 4096))
    PassManager.parse("set-target").run(program)
    assert str(program) == str(parse(EMPTY))
    for options in ("spm-bytes=0", "spm-bytes=10000000", "profile=fast"):
        with pytest.raises(PassError):
            PassManager.parse(f"set-target{{{options}}}")
