"""Other programs like a given one: what a fuzzer tries next, when a program was worth keeping.

    mutant = mutate(program, random.Random(0), Material(direction, donors))

A mutant is a valid program: one to three edits of a copy, after which all types are inferred again and the program is
verified; an edit that leads nowhere is given up.

- `values`: what can be used where, and new inputs
- `operations`: edits of single operations: attributes, operands, operations put in, left out and moved
- `control`: operations put into branches, loops and functions
- `neighbours`: all programs one small edit away
- `kinds`: what a program shows that others do not
- `programs`: edits of the whole: element types, extents, storage, results, another program added
- `fitting`, `fitted`: operations built from samples on values that there are, with attributes that go with them
- `draft`, `flow`, `accesses`, `templates`: programs with control flow, storage and variables
- `instances`: programs that match a declarative rule, or of the shape that the code of a pass asks for
"""

from __future__ import annotations

from .fitting import Material, grow
from .instances import empty_program, instance, instance_of_shape, is_instantiable
from .kinds import feature_pairs
from .mutate import grow_program, mutate, with_equal_extents
from .neighbours import neighbours
from .templates import Template, all_templates, from_template, templates

__all__ = [
    "all_templates",
    "empty_program",
    "feature_pairs",
    "from_template",
    "grow",
    "grow_program",
    "instance",
    "instance_of_shape",
    "is_instantiable",
    "Material",
    "mutate",
    "neighbours",
    "Template",
    "templates",
    "with_equal_extents",
]
