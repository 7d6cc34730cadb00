"""Operators of classical machine learning (domain ai.onnx.ml): tables and trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, ScalarType, Value, f32, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter

DOMAIN = "ai.onnx.ml"

_LABELS = tuple(f"{what}_{kind}" for what in ("keys", "values") for kind in ("tensor", "floats", "int64s", "strings"))
_DEFAULTS = ("default_float", "default_int64", "default_string", "default_tensor")


@converter("LabelEncoder", first=2, last=4, attributes=(*_LABELS, *_DEFAULTS), domain=DOMAIN)
def label_encoder(node: OnnxNode) -> Converted:
    """The value that belongs to each key, or the default; numbers only."""
    (keys, key_type), (values, value_type) = (_list(node, what) for what in ("keys", "values"))
    if len(keys) != len(values):
        raise node.error(f"there are {len(keys)} keys and {len(values)} values; expected as many")
    x, type_ = node.operand(0), node.type_of(0)
    if type_.element is not key_type:
        raise node.error(f"the input is {type_}; the keys are {key_type}")
    default: float
    if node.has_attribute("default_tensor"):
        default = float(node.tensor("default_tensor").array().reshape(()))
    elif value_type.is_float:
        default = node.float("default_float", -0.0)
    else:
        default = float(node.int("default_int64", -1))
    out: Value | Operation = pd.full(shape=type_.shape, value=default, dtype=value_type)
    for key, value in reversed(list(zip(keys.tolist(), values.tolist(), strict=True))):
        same = pd.isnan(x) if key != key else pd.equal(x, node.scalar(key, key_type))
        out = pd.where(same, node.scalar(value, value_type), out)
    return out


def _list(node: OnnxNode, what: str) -> tuple[NDArray[Any], ScalarType]:
    if node.has_attribute(f"{what}_tensor"):
        tensor = node.tensor(f"{what}_tensor")
        return tensor.array(), tensor.type.element
    if node.has_attribute(f"{what}_floats"):
        return np.asarray(node.floats(f"{what}_floats"), np.float32), f32
    if node.has_attribute(f"{what}_int64s"):
        return np.asarray(node.ints(f"{what}_int64s"), np.int64), i64
    raise node.error(f"the {what} are strings, which are not supported; expected numbers")


_TREES = ("aggregate_function", "leaf_targetids", "leaf_weights", "membership_values", "n_targets", "nodes_falseleafs",
          "nodes_falsenodeids", "nodes_featureids", "nodes_hitrates", "nodes_missing_value_tracks_true", "nodes_modes",
          "nodes_splits", "nodes_trueleafs", "nodes_truenodeids", "post_transform", "tree_roots")  # fmt: skip


@converter("TreeEnsemble", first=5, last=5, attributes=_TREES, domain=DOMAIN)
def tree_ensemble(node: OnnxNode) -> Converted:
    """Sums (or other aggregates) over trees of the weights of the leaves that a row of numbers comes to.

    Every leaf is reached by a row or not: all questions of all trees are answered at once.
    """
    type_ = node.type_of(0)
    aggregate = ("average", "sum", "min", "max")[node.int("aggregate_function", 1)]
    if node.int("post_transform", 0) != 0:
        raise node.error(f"attribute post_transform is {node.int('post_transform')}; supported is 0 (none)")
    if type_.rank != 2:
        raise node.error(f"the input is {type_}; expected [rows, features]")
    trees = _Trees(node)
    targets, roots = node.int("n_targets"), node.ints("tree_roots")
    columns: list[list[Operation]] = [[] for _ in range(targets)]
    weights = node.tensor("leaf_weights").array()
    places = node.ints("leaf_targetids")
    for root in roots:
        reached = trees.leaves(root)
        for target in range(targets):
            total: Operation | None = None
            for leaf, condition in reached:
                if places[leaf] != target:
                    continue
                share = trees.number(float(weights[leaf])) if condition is None else pd.where(
                    condition, trees.number(float(weights[leaf])), trees.number(0.0)
                ).out  # fmt: skip
                total = pd.add(total, share) if total is not None else pd.assign(share)
            if total is not None:
                columns[target].append(pd.expand(total, shape=(type_.shape[0],)))
    combined: list[Operation] = []
    for column in columns:
        out: Operation = column[0] if column else pd.full(shape=(type_.shape[0],), value=0.0, dtype=type_.element)
        for other in column[1:]:
            out = {"min": pd.minimum, "max": pd.maximum}.get(aggregate, pd.add)(out, other)
        combined.append(pd.scale(out, scale=1 / len(roots), bias=-0.0) if aggregate == "average" else out)
    return pd.concat([pd.unsqueeze(column, axis=(1,)) for column in combined], axis=1)


class _Trees:
    """The questions of the trees, each asked once."""

    def __init__(self, node: OnnxNode) -> None:
        self._node = node
        self._features = node.ints("nodes_featureids")
        self._splits = node.tensor("nodes_splits").array()
        self._modes = node.tensor("nodes_modes").array()
        self._true = (node.ints("nodes_truenodeids"), node.ints("nodes_trueleafs"))
        self._false = (node.ints("nodes_falsenodeids"), node.ints("nodes_falseleafs"))
        self._tracks = node.ints("nodes_missing_value_tracks_true", (0,) * len(self._features))
        self._sets = self._memberships()

    def number(self, value: float) -> Value:
        """A constant of the input's type."""
        return self._node.scalar(value, self._node.type_of(0).element)

    def _memberships(self) -> dict[int, list[float]]:
        """The numbers that questions of membership are about, by place of the question; NaN ends each list."""
        if not self._node.has_attribute("membership_values"):
            return {}
        lists: list[list[float]] = [[]]
        for value in self._node.tensor("membership_values").array().tolist():
            if value != value:
                lists.append([])
            else:
                lists[-1].append(value)
        asked = [place for place, mode in enumerate(self._modes.tolist()) if mode == 6]
        return dict(zip(asked, lists, strict=False))

    def _answer(self, place: int) -> Value:
        feature = self._features[place]
        x = pd.slice(self._node.operand(0), axes=(1,), starts=(feature,), ends=(feature + 1,), decrease_axis=(1,)).out
        if self._modes[place] == 6:
            answers = [pd.equal(x, self.number(value)).out for value in self._sets[place]]
            out = answers[0]
            for answer in answers[1:]:
                out = pd.logical_or(out, answer).out
        else:
            kinds = (pd.less_equal, pd.less_than, pd.greater_equal, pd.greater_than, pd.equal, pd.not_equal)
            out = kinds[int(self._modes[place])](x, self.number(float(self._splits[place]))).out
        return pd.logical_or(out, pd.isnan(x)).out if self._tracks[place] else out

    def leaves(self, root: int) -> list[tuple[int, Value | None]]:
        """The leaves of a tree, and for each whether a row comes to it."""
        found: list[tuple[int, Value | None]] = []
        # A tree that is one leaf has a question with two equal answers.
        work: list[tuple[int, Value | None]] = [(root, None)]
        seen = 0
        while work:
            place, above = work.pop()
            seen += 1
            if seen > 4 * len(self._features):
                raise self._node.error("the trees have a cycle")
            answer = self._answer(place)
            for (nodes, ends), yes in ((self._true, answer), (self._false, pd.logical_not(answer).out)):
                here = yes if above is None else pd.logical_and(above, yes).out
                (found if ends[place] else work).append((nodes[place], here))
        return found
