"""The JSON document of an exported program: the part of PyTorch's schema that an import reads.

Names and meaning are those of torch/_export/serde/schema.py; a union there is a class here whose fields are all
optional. Arguments of nodes are kept as JSON: `arguments` reads them by what the operator's signature says.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from tx8ir.core.schema import Extensible


@attrs.frozen
class SymExpr(Extensible):
    """An expression of symbols, as SymPy writes it."""

    expr_str: str


@attrs.frozen
class SymInt(Extensible):
    """An integer or an expression."""

    as_int: int | None = None
    as_expr: SymExpr | None = None


@attrs.frozen
class TensorMeta(Extensible):
    """Type and layout of a tensor; `dtype` and `layout` are the schema's numbers."""

    dtype: int
    sizes: tuple[SymInt, ...]
    strides: tuple[SymInt, ...]
    storage_offset: SymInt
    layout: int


@attrs.frozen
class Named(Extensible):
    """What a name stands for elsewhere in the graph."""

    name: str


@attrs.frozen
class NamedArgument(Extensible):
    """An argument of a node, by its name in the operator's signature."""

    name: str
    arg: Mapping[str, object]


@attrs.frozen
class Node(Extensible):
    """A call of an operator."""

    target: str
    inputs: tuple[NamedArgument, ...]
    outputs: tuple[Mapping[str, object], ...]
    metadata: Mapping[str, str]
    name: str | None = None


@attrs.frozen
class Graph(Extensible):
    """Nodes in order, with the types of what they make."""

    inputs: tuple[Mapping[str, object], ...]
    outputs: tuple[Mapping[str, object], ...]
    nodes: tuple[Node, ...]
    tensor_values: Mapping[str, TensorMeta]
    sym_int_values: Mapping[str, SymInt]


@attrs.frozen
class GraphArgument(Extensible):
    """A graph that is an argument."""

    name: str
    graph: Graph


@attrs.frozen
class UserSpec(Extensible):
    """An input or output of the user."""

    arg: Mapping[str, object]


@attrs.frozen
class StoredSpec(Extensible):
    """An input or output that is a parameter, a buffer or a constant, under its name in the module."""

    arg: Named
    parameter_name: str | None = None
    buffer_name: str | None = None
    tensor_constant_name: str | None = None
    user_input_name: str | None = None


@attrs.frozen
class InputSpec(Extensible):
    """What an input of the graph is."""

    user_input: UserSpec | None = None
    parameter: StoredSpec | None = None
    buffer: StoredSpec | None = None
    tensor_constant: StoredSpec | None = None
    constant_input: object = None
    custom_obj: object = None
    token: object = None


@attrs.frozen
class OutputSpec(Extensible):
    """What an output of the graph is."""

    user_output: UserSpec | None = None
    loss_output: StoredSpec | None = None
    buffer_mutation: StoredSpec | None = None
    parameter_mutation: StoredSpec | None = None
    user_input_mutation: StoredSpec | None = None
    gradient_to_parameter: object = None
    gradient_to_user_input: object = None
    token: object = None


@attrs.frozen
class GraphSignature(Extensible):
    """What the inputs and outputs of the graph are."""

    input_specs: tuple[InputSpec, ...]
    output_specs: tuple[OutputSpec, ...]


@attrs.frozen
class GraphModule(Extensible):
    """A graph and its signature."""

    graph: Graph
    signature: GraphSignature


@attrs.frozen
class RangeConstraint(Extensible):
    """Bounds of a symbol, both included."""

    min_val: int | None = None
    max_val: int | None = None


@attrs.frozen
class SchemaVersion(Extensible):
    """Version of the schema: `major` changes when older readers cannot read it."""

    major: int
    minor: int


@attrs.frozen
class ExportedProgram(Extensible):
    """The whole document."""

    graph_module: GraphModule
    range_constraints: Mapping[str, RangeConstraint]
    schema_version: SchemaVersion
    torch_version: str = "<=2.4"


@attrs.frozen
class PayloadMeta(Extensible):
    """A stored tensor: its file in the archive, and its type there."""

    path_name: str
    use_pickle: bool = False
    tensor_meta: TensorMeta | None = None


@attrs.frozen
class PayloadConfig(Extensible):
    """The stored tensors, by name in the module."""

    config: Mapping[str, PayloadMeta]
