"""Element types of Paddle: their names in types, in attributes, and their numbers in files of parameters."""

from __future__ import annotations

from typing import Final

from tx8ir.core import ScalarType, bf16, f16, f32, f64, i1, i8, i16, i32, i64, ui8

IN_TYPES: Final[dict[str, ScalarType]] = {
    "t_bool": i1, "t_ui8": ui8, "t_i8": i8, "t_i16": i16, "t_i32": i32, "t_i64": i64, "t_f16": f16, "t_bf16": bf16,
    "t_f32": f32, "t_f64": f64,
}  # fmt: skip
"""By the name of a type (`paddle/pir/include/core/builtin_type.h`)."""

IN_ATTRIBUTES: Final[dict[str, ScalarType]] = {
    "bool": i1, "uint8": ui8, "int8": i8, "int16": i16, "int32": i32, "int64": i64, "float16": f16, "bfloat16": bf16,
    "float32": f32, "float64": f64,
}  # fmt: skip
"""By the name of a `DataType` (`paddle/phi/common/data_type.h`)."""

UNDEFINED: Final = frozenset({"Undefined(ALL_DTYPE)", "undefined", "Undefined"})
"""Names of the `DataType` that says nothing."""

IN_PARAMETERS: Final[dict[int, ScalarType]] = {
    0: i1, 1: i16, 2: i32, 3: i64, 4: f16, 5: f32, 6: f64, 20: ui8, 21: i8, 22: bf16,
}  # fmt: skip
"""By the number of a `VarType.Type` (`paddle/fluid/framework/framework.proto`)."""
