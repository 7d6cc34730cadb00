"""Programs with control flow, storage and variables, in the shapes that passes over them look for.

- `flow`: branches, loops, blocks, calls
- `numbered_flow`: loops over numbers, and sides chosen by one
- `decisions`: branches that ask again what was asked before
- `accesses`: reads and writes at any nesting
- `constants`: operations on constants
- `collections`: lists and dictionaries; inputs and results by name
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from tx8ir.core import Block, FunctionType, Program, Value, detached
from tx8ir.dialects import func

from . import decisions, flow, numbered_flow
from .accesses import accesses, storage_of_a_loop, work_on_a_copy
from .collections import lists_and_dictionaries, named_inputs_and_results
from .constants import constant_expressions
from .draft import Draft
from .fitting import Material
from .values import set_results

Template: TypeAlias = Callable[[Draft], Sequence[Value]]
"""Writes into the draft; returns what the program returns."""


# --- the choice ------------------------------------------------------------------------------------------------------

_TEMPLATES: Final[tuple[tuple[Template, frozenset[str]], ...]] = (
    (flow.equal_or_nearly_equal_sides, frozenset({"scf.if", "scf.yield"})),
    (flow.nested, frozenset({"scf.if"})),
    (decisions.asked_again, frozenset({"scf.if"})),
    (flow.counted_loop, frozenset({"scf.while", "scf.condition"})),
    (flow.idle_or_odd_loop, frozenset({"scf.while", "scf.condition"})),
    (numbered_flow.rounds_by_number, frozenset({"scf.for"})),
    (numbered_flow.chosen_by_number, frozenset({"scf.index_switch", "scf.execute_region"})),
    (flow.diamond_of_blocks, frozenset({"cf.cond_br", "cf.br"})),
    (decisions.decision_passed_on, frozenset({"cf.cond_br", "cf.br"})),
    (flow.chain_of_blocks, frozenset({"cf.br"})),
    (flow.loop_of_blocks, frozenset({"cf.br", "cf.cond_br"})),
    (flow.calls, frozenset({"func.call", "func.func"})),
    (flow.calls_of_results, frozenset({"func.call"})),
    (flow.calls_in_a_loop, frozenset({"func.call"})),
    (constant_expressions, frozenset({"builtin.constant", "pd.full"})),
    (accesses, frozenset({"scf.if", "scf.while", "func.call"})),
    (storage_of_a_loop, frozenset({"builtin.to_tensor"})),
    (work_on_a_copy, frozenset({"builtin.to_tensor"})),
    (lists_and_dictionaries, frozenset(f"builtin.{n}" for n in ("combine", "slice", "split", "make_dict", "get_item"))),
    (named_inputs_and_results, frozenset({"pd.feed", "pd.fetch"})),
)
"""Each template, and the operations that a pass names for which it is made."""


def templates(material: Material) -> tuple[Template, ...]:
    """Those for what the pass is about, in turn; none when it names nothing of control flow, storage or variables.

    Of a pass that names accesses, every other program has them.
    """
    about = material.direction.ops
    found = [template for template, ops in _TEMPLATES if ops & about]
    if any(name.endswith("_") or name in _ACCESSES for name in about):
        found += [accesses] * max(1, len(found) - 2 * (accesses in found))
    return tuple(found)


_ACCESSES: Final = frozenset(
    {
        "builtin.to_tensor", "builtin.to_vtensor", "builtin.get_parameter", "builtin.set_parameter",
        "builtin.get_combine_parameter", "builtin.set_combine_parameter",
    }
)  # fmt: skip
"""Operations that read or write storage or variables, besides those that write their operand."""


def all_templates() -> tuple[Template, ...]:
    """Every template."""
    return tuple(template for template, _ in _TEMPLATES)


def from_template(template: Template, program: Program, rng: random.Random, material: Material) -> Program | None:
    """`program`, which is empty, written by a template; None when what was drawn does not fit."""
    try:
        with detached():
            draft = Draft(program, rng, material)
            end = draft.block.terminator
            assert end is not None
            end.detach()
            results = template(draft)
            with draft.at(draft.block):
                func.ReturnOp(results)
            _set_main(program, draft.block)
        program.verify()
    except Exception:  # whatever an operation raises about operands that do not fit
        return None
    return program


def _set_main(program: Program, block: Block) -> None:
    end = block.terminator
    assert isinstance(end, func.ReturnOp)
    if block is program.main.body.blocks[-1]:
        set_results(program)
        return
    types = [v.type for v in end.operands]
    program.main.set_attribute("function_type", FunctionType(program.main.function_type.inputs, types))
    program.main.set_attribute("result_names", tuple(f"result{i}" for i in range(len(types))))
