"""`generate-tx8`: the instruction program and the bytes of its constant segments."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from tx8ir.backend.graph import CompileError, backend_ops, mem_layout_of, ranked_type, region_tiles
from tx8ir.backend.lowering.check_ranges import STATUS_WORDS, status_words
from tx8ir.backend.memory.allocate_ddr import result_values
from tx8ir.backend.memory.ddr_annotations import read_ddr_scratch, remove_ddr_scratch
from tx8ir.backend.memory.ddr_storage import address_of, storage_of, stored_bytes
from tx8ir.backend.nest.code import NestCode
from tx8ir.core import Block, Builder, Program, Region, Variable, VTensorType, WeightStore, at_location, ui8
from tx8ir.dialects import tx8, tx8be
from tx8ir.passes import Pass, register_pass
from tx8ir.target.layout import pack

__all__ = ["GenerateTx8"]


@register_pass
@attrs.frozen
class GenerateTx8(Pass):
    """Replaces `main` by a `tx8.program` and the weight store by the DDR image of the constants.

    The target of the module becomes that of the program. Every constant, input and result gets a DDR segment, the
    variables share one (`scratch`). The program's public names become `tx8.input` and `tx8.output`. A group's
    instructions follow those of the groups before it; a barrier stands after a group with `need_barrier` when
    instructions follow, but the next group's loads of constants come before it: they need no other tile's results.
    Groups that alias DDR give no instruction.

    Assumes: `schedule-groups` and `allocate-ddr` ran. Raises `CompileError` when a value's layouts do not agree.
    """

    name: ClassVar[str] = "generate-tx8"

    def run(self, program: Program) -> None:
        body = Block()
        weights = WeightStore()
        target = tx8.target_of(program)
        tiles: set[int] = set()
        with Builder.at_end(body):
            _constants(program, weights)
            _ports(program)
            pending = False
            for group in backend_ops(program):
                if not isinstance(group, tx8be.GroupOp) or group.group_tag == 2:
                    continue
                code = NestCode(group)
                made = code.emit_constants()
                if pending:
                    tx8.BarrierOp(tiles=tuple(sorted(tiles)), source=str(tx8.Source(group.group_id)))
                tiles.update(region_tiles(group, target))
                self.count("instructions", made + code.emit())
                self.count("groups")
                pending = group.need_barrier
        module = program.module
        location = program.main.location
        compiled_for = module.attributes.get(tx8.TARGET)
        remove_ddr_scratch(program)
        for name in (STATUS_WORDS, tx8.TARGET):
            if name in module.attributes:
                module.remove_attribute(name)
        for op in list(program.body):
            op.erase(by=self.name)
        with Builder.at_end(program.body), at_location(location):
            tx8.ProgramOp(target=compiled_for, body=Region([body]))
        program.weights = weights


def _constants(program: Program, weights: WeightStore) -> None:
    """A `const` segment and its packed bytes for every constant."""
    done: set[int] = set()
    for op in program.module.walk():
        if not isinstance(op, tx8be.LoadConstOp) or op.id in done:
            continue
        done.add(op.id)
        declared = ranked_type(op.y)
        array = np.asarray(program.weights[op.parameter].numpy())
        if array.shape != declared.shape or array.dtype != declared.element.format.dtype:
            raise CompileError(
                f"constant {op.parameter!r} is used as {declared} but holds {array.dtype}{list(array.shape)}", op=op
            )
        image = pack(array, declared.element.format, mem_layout_of(op.y))
        name = f"const.{op.id}.{op.parameter}"
        with at_location(op.location):
            tx8.SegmentOp(segment_name=name, address=address_of(op.y), size=image.size, kind="const")
            tx8.ConstantOp(
                port_name=name, address=address_of(op.y), tensor_type=op.y.type, layout=mem_layout_of(op.y).value
            )
        weights[name] = Variable(VTensorType(image.shape, ui8), image)


def _ports(program: Program) -> None:
    """Segments of inputs, results and scratch, then the public tensors."""
    inputs = {op.x: op for op in backend_ops(program) if isinstance(op, tx8be.InputOp)}
    arguments = program.main.body.blocks[0].args
    (results,) = result_values(program)
    owners = dict.fromkeys(storage_of(value) for value in results.xs)
    for name, argument in zip(program.inputs, arguments, strict=True):
        if argument in inputs:
            op = inputs[argument]
            tx8.SegmentOp(segment_name=f"input.{name}", address=address_of(op.y), size=stored_bytes(op.y), kind="input")
    for number, value in enumerate(owners):
        if isinstance(value.defining_op, tx8be.GroupOp):
            size, address = stored_bytes(value), address_of(value)
            tx8.SegmentOp(segment_name=f"output.{number}", address=address, size=size, kind="output")
    scratch = read_ddr_scratch(program)
    if scratch is not None:
        address, size = scratch
        tx8.SegmentOp(segment_name="scratch", address=address, size=size, kind="scratch")
    for name, argument in zip(program.inputs, arguments, strict=True):
        if argument in inputs:
            value = inputs[argument].y
            tx8.InputOp(
                port_name=name, address=address_of(value), tensor_type=value.type, layout=mem_layout_of(value).value
            )
    words = status_words(program)
    for name, value in zip(program.outputs, results.xs, strict=True):
        tx8.OutputOp(
            port_name=name,
            address=address_of(value),
            tensor_type=value.type,
            layout=mem_layout_of(value).value,
            status=words.get(name),
        )
