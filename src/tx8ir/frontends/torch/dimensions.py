"""Extents of symbols: what the caller gives for them, and what expressions of them come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .archive import Source
from .arguments import named
from .document import SymInt, TensorMeta
from .errors import TorchImportError
from .symbols import ExpressionError, Extent, Symbolic, evaluate, extent


class Dimensions:
    """The symbols of an exported program.

    Args:
        source: the program.
        given: extents by symbol (`"s77"`), or by place where an input has it alone (`"x[0]"`).

    Raises:
        TorchImportError: an extent that is not an integer in the bounds of its symbol, or for what is not a symbol.
    """

    def __init__(self, source: Source, given: Mapping[str, int] | None) -> None:
        self._source = source
        self._values: dict[str, int] = {}
        self._known: dict[str, Extent] = {}
        places = self._places()
        symbols = set(places.values())
        for name, value in (given or {}).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise self._error(f"dimensions[{name!r}] is {value!r}; expected an integer >= 0")
            symbol = places.get(name, name)
            if symbol not in symbols:
                listed = ", ".join(f"{place} ({symbol})" for place, symbol in places.items())
                raise self._error(
                    f"dimensions[{name!r}] names no open dimension of an input; open are: "
                    f"{listed or 'none; every input has a static shape'}"
                )
            if self._values.setdefault(symbol, value) != value:
                raise self._error(f"dimensions[{name!r}] is {value}; {symbol} is {self._values[symbol]} elsewhere")
            self._check_bounds(name, symbol, value)
        self._known.clear()

    def _error(self, message: str) -> TorchImportError:
        return TorchImportError(message, file=self._source.file)

    def _check_bounds(self, name: str, symbol: str, value: int) -> None:
        bounds = self._source.document.range_constraints.get(symbol)
        if bounds is None:
            return
        low, high = bounds.min_val, bounds.max_val
        if (low is not None and value < low) or (high is not None and value > high):
            raise self._error(
                f"dimensions[{name!r}] is {value}; the program was exported for {0 if low is None else low} "
                f"to {'any number' if high is None else high}"
            )

    def _places(self) -> dict[str, str]:
        """The symbol of each extent of an input that is one symbol, by place."""
        found: dict[str, str] = {}
        module = self._source.document.graph_module
        for spec in module.signature.input_specs:
            name = None if spec.user_input is None else named(spec.user_input.arg)
            meta: TensorMeta | None = module.graph.tensor_values.get(name or "")
            for axis, size in enumerate(meta.sizes if meta else ()):
                try:
                    value = self.value_of(size)
                except ExpressionError as error:
                    raise self._error(f"input {name!r} has an extent that cannot be read: {error}") from error
                if isinstance(value, Symbolic) and value.symbols == (value.text,):
                    found[f"{name}[{axis}]"] = value.text
        return found

    def value_of(self, size: SymInt) -> Extent:
        """An integer of the program.

        Raises:
            ExpressionError: an expression that cannot be read.
        """
        if size.as_expr is None:
            if size.as_int is None:
                raise ExpressionError("it is neither an integer nor an expression")
            return size.as_int
        text = size.as_expr.expr_str
        if text not in self._known:
            self._known[text] = evaluate(text, self._values)
        return self._known[text]

    def shape(self, sizes: Sequence[SymInt]) -> tuple[int, ...]:
        """Extents, DYNAMIC where they are not known.

        Raises:
            ExpressionError: an expression that cannot be read, or an extent that is negative or too large.
        """
        found = [self.value_of(size) for size in sizes]
        for value in found:
            if isinstance(value, int) and not 0 <= value < 1 << 48:
                raise ExpressionError(f"the extent {value} is not from 0 to 2**48 - 1")
        return tuple(map(extent, found))
