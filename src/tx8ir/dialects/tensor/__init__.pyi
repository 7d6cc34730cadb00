# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.tensor` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from tx8ir.core import Dialect

from .construction import (
    ConcatOp,
    EmptyOp,
    FromElementsOp,
    GenerateOp,
    PadOp,
    SplatOp,
    YieldOp,
)
from .declaration import (
    DYNAMIC_INDEX,
)
from .elements import (
    DimOp,
    ExtractOp,
    InsertOp,
    RankOp,
)
from .shapes import (
    CastOp,
    CollapseShapeOp,
    ExpandShapeOp,
    ReshapeOp,
)
from .slices import (
    ExtractSliceOp,
    InsertSliceOp,
)

DIALECT: Dialect

empty = EmptyOp
from_elements = FromElementsOp
splat = SplatOp
concat = ConcatOp
generate = GenerateOp
pad = PadOp
extract = ExtractOp
insert = InsertOp
dim = DimOp
rank = RankOp
cast = CastOp
reshape = ReshapeOp
expand_shape = ExpandShapeOp
collapse_shape = CollapseShapeOp
extract_slice = ExtractSliceOp
insert_slice = InsertSliceOp

__all__ = [
    "CastOp",
    "CollapseShapeOp",
    "ConcatOp",
    "DIALECT",
    "DYNAMIC_INDEX",
    "DimOp",
    "EmptyOp",
    "ExpandShapeOp",
    "ExtractOp",
    "ExtractSliceOp",
    "FromElementsOp",
    "GenerateOp",
    "InsertOp",
    "InsertSliceOp",
    "PadOp",
    "RankOp",
    "ReshapeOp",
    "SplatOp",
    "YieldOp",
    "cast",
    "collapse_shape",
    "concat",
    "dim",
    "empty",
    "expand_shape",
    "extract",
    "extract_slice",
    "from_elements",
    "generate",
    "insert",
    "insert_slice",
    "pad",
    "rank",
    "reshape",
    "splat",
]
