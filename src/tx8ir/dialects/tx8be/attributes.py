"""Structured and enumerated attributes of the backend graph dialect.

Field names follow the vendor's `dev_attr` and `parallel_attr` definitions.
"""

from __future__ import annotations

from enum import Enum

import attrs

from tx8ir.core import SparseStructAttr, enum_attr, struct_attr
from tx8ir.target.layout import MemLayout


@enum_attr("tx8be.memscope_mode")
class MemScope(Enum):
    """Where a value lives: chip DDR, a tile's SPM, or stacked DRAM."""

    DDR = "DDR"
    SPM = "SPM"
    DDR3D = "3DDRAM"


@enum_attr("tx8be.GemmMode")
class GemmMode(Enum):
    """Operating mode of the matrix unit; `Normal` is the only one the compiler generates."""

    NORMAL = "Normal"


@enum_attr("tx8be.Activation")
class Activation(Enum):
    """Post-processing the neural engine applies before it rounds its output."""

    NONE = "none"
    RELU = "relu"


@enum_attr("tx8be.ReduceFunction")
class ReduceFunction(Enum):
    """What a `Reduce` or `Pool` computes over its axes or windows."""

    SUM = "sum"
    AVG = "avg"
    MAX = "max"
    MIN = "min"


@enum_attr("tx8be.ParallelMode")
class ParallelMode(Enum):
    """How chips or tiles share one op: not at all, by data, by tensor, or both."""

    NONE = "none"
    DATA = "data"
    TENSOR = "tensor"
    HYBRID = "hybrid"


@struct_attr("tx8be.parallel_attr")
@attrs.frozen
class ParallelAttr(SparseStructAttr):
    """Data- and tensor-parallel partition of an op over a chip or tile grid.

    `dp_dim_*` / `tp_dim_*` are the numbers of parts along the grid's x, y and z axes;
    `shape_spatial_sharding` is the number of parts of each tensor axis.
    """

    parallel: ParallelMode = ParallelMode.NONE
    is_dp_inner: bool = False
    dp_dim_x: int = 1
    dp_dim_y: int = 1
    dp_dim_z: int = 1
    tp_dim_x: int = 1
    tp_dim_y: int = 1
    tp_dim_z: int = 1
    sharding_is_given: bool = False
    shape_spatial_sharding: tuple[int, ...] = ()


def _check_layout(instance: object, field: attrs.Attribute[str], value: str) -> None:
    if value not in MemLayout.__members__.values():
        raise ValueError(f"mem_layout is {value!r}; expected one of {', '.join(MemLayout)}")


@struct_attr("tx8be.dev_attr")
@attrs.frozen
class DevAttr(SparseStructAttr):
    """How an op's result is kept on the device.

    `mem_layout` is the physical layout; `imm_size` and `imm_addr` are the bytes and the SPM address of the op's
    scratch buffer; `state_addr` is that of what parts of an axis leave behind that the op combines; `mem_addr` has one
    address per buffer (`multi_buf_num` of them when `multi_buf_en`); `temporal_mem_slice` is the extent of one time
    slice per axis; `source_type` the software-pipeline stage.
    """

    mem_layout: str = attrs.field(converter=str, validator=_check_layout)
    imm_size: int = 0
    multi_buf_en: bool = False
    multi_buf_num: int = 1
    out_shape_buf_idx: tuple[int, ...] = ()
    temporal_mem_slice: tuple[int, ...] = ()
    source_type: int = 0
    imm_addr: int = 0
    mem_addr: tuple[int, ...] = ()
    state_addr: int = 0

    @property
    def is_aligned(self) -> bool:
        """True for the channel-blocked layouts `Cx` and `NCx`."""
        return MemLayout(self.mem_layout).is_blocked

    def with_layout(self, mem_layout: str) -> DevAttr:
        """The same attributes with another `mem_layout`."""
        return attrs.evolve(self, mem_layout=mem_layout)


@struct_attr("tx8be.region")
@attrs.frozen
class RegionAttr(SparseStructAttr):
    """A rectangle of `dx` by `dy` tiles whose corner is tile (`x`, `y`)."""

    x: int = 0
    y: int = 0
    dx: int = 1
    dy: int = 1


ATTRIBUTES = (MemScope, GemmMode, Activation, ReduceFunction, ParallelMode, ParallelAttr, DevAttr, RegionAttr)
