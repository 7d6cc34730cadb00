"""Where a group's values and temporaries go in SPM: buffers, in-place chains, lifetimes, addresses."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs

from tx8ir.backend.memory.buffers import Buffer
from tx8ir.backend.memory.planner import plan
from tx8ir.backend.oplib.tensor import align_up
from tx8ir.backend.schedule.body import GroupBody, GroupSlice, op_lib

__all__ = ["SpmPlan", "place_in_spm"]


@attrs.frozen
class SpmPlan:
    """Addresses in SPM, from the low end.

    `values[i]` has one address per buffer of `GroupBody.values[i]`; `imm` is ``(address, bytes)`` of each compute op's
    temporaries; `size` counts the bytes in use, `bound` the peak of live bytes.
    """

    values: tuple[tuple[int, ...], ...]
    imm: tuple[tuple[int, int], ...]
    size: int
    bound: int

    def moved(self, distance: int) -> SpmPlan:
        """The plan with all addresses raised by `distance` bytes."""
        values = tuple(tuple(address + distance for address in addresses) for addresses in self.values)
        imm = tuple((address + distance if size else 0, size) for address, size in self.imm)
        return attrs.evolve(self, values=values, imm=imm)


def place_in_spm(
    body: GroupBody,
    forms: Iterable[GroupSlice],
    *,
    kept: Collection[int],
    buffers: int,
    temporaries: Iterable[int],
    max_nodes: int = 20_000,
) -> SpmPlan:
    """Addresses that hold every slice in `forms`.

    Steps are: 0 the loads, 1 + k compute op k, then the store. `kept` names values that stay over all time steps;
    `buffers` is how many copies the other loads and the stored value have (2: the next step loads while this one
    computes). `temporaries` gives the bytes each compute op takes. The result of an op that works in place takes over
    the buffer of its operand when this one dies there. `max_nodes` bounds the exact search behind the heuristics.

    Raises `BufferTooLargeError` or `CapacityError` when they do not fit the allocatable SPM.
    """
    forms = list(forms)
    target = body.target
    last_step = 1 + len(body.compute)
    sizes = [max((_size(body, i, form) for form in forms), default=0) for i in range(len(body.values))]
    owner = _in_place(body, forms, kept)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    copies: dict[int, int] = {}
    size: dict[int, int] = {}
    for i, value in enumerate(body.values):
        root = owner[i]
        born = 0 if i < len(body.loads) else 1 + i - len(body.loads)
        uses: list[int] = [1 + k for k, op in enumerate(body.compute) if any(v is value for v in op.operands)]
        dies = max(born, *uses, last_step if value is body.stored else 0)
        moved = i < len(body.loads) or value is body.stored
        if i in kept:
            born, dies = 0, last_step
        elif moved and buffers > 1:
            copies[root], born, dies = buffers, 0, last_step
        first[root] = min(first.get(root, born), born)
        last[root] = max(last.get(root, dies), dies)
        size[root] = max(size.get(root, 0), align_up(sizes[i]))
    roots = sorted(size)
    grain = target.spm_alignment
    names = [(op.name.removeprefix("tx8be.")) for op in (*body.loads, *body.compute)]
    items = [Buffer(f"{names[r]} {r}", first[r], last[r] + 1, size[r] * copies.get(r, 1), grain) for r in roots]
    imm_bytes = list(temporaries)
    computed = names[len(body.loads) :]
    items += [
        Buffer(f"temporaries of {computed[k]} {len(body.loads) + k}", 1 + k, 2 + k, align_up(b), grain)
        for k, b in enumerate(imm_bytes)
    ]
    placement = plan(items, target.spm_allocatable_bytes, steps=max_nodes)
    base = target.spm_allocatable[0]
    at = {r: base + offset for r, offset in zip(roots, placement.offsets, strict=False)}
    addresses = tuple(
        tuple(at[owner[i]] + c * size[owner[i]] for c in range(copies.get(owner[i], 1)))
        for i in range(len(body.values))
    )
    imm = tuple(
        (base + offset if bytes_ else 0, bytes_)
        for offset, bytes_ in zip(placement.offsets[len(roots) :], imm_bytes, strict=True)
    )
    return SpmPlan(addresses, imm, placement.peak, placement.bound)


def _size(body: GroupBody, position: int, form: GroupSlice) -> int:
    return 0 if form.boxes[position] is None else body.slice_tensor(position, form).size_bytes


def _in_place(body: GroupBody, forms: list[GroupSlice], kept: Collection[int]) -> list[int]:
    """For each value the one whose buffer it lives in (itself, or the head of its in-place chain)."""
    owner = list(range(len(body.values)))
    for k, op in enumerate(body.compute):
        position = body.index.get(op.operands[0]) if op.operands else None
        if position is None or position in kept or not op_lib(op).query().in_place:
            continue
        value, result = body.values[position], len(body.loads) + k
        others = [u for j, u in enumerate(body.compute) if j > k and any(v is value for v in u.operands)]
        if others or value is body.stored or sum(v is value for v in op.operands) > 1:
            continue
        if all(_size(body, position, form) == _size(body, result, form) for form in forms):
            owner[result] = owner[position]
    return owner
