"""Reading elements of tensors, vectors and memrefs, arrays of numbers, and the blobs at the end of a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core.attrs.attributes import Attribute, BoolAttr, DenseArrayAttr, FloatAttr, IntAttr, float_text
from tx8ir.core.attrs.builtin_attributes import FloatBitsAttr
from tx8ir.core.attrs.builtin_types import (
    ComplexType,
    FloatType,
    IntegerType,
    ShapedType,
    element_of,
    integer_format,
    is_float,
    is_integer,
    static_shape,
    tensor_type,
)
from tx8ir.core.attrs.dense import DENSE_LIMIT, DenseAttr
from tx8ir.core.attrs.elements_attributes import (
    DenseResourceAttr,
    ElementsAttr,
    OpaqueElementsAttr,
    SparseAttr,
    is_string_tensor,
    literals_of_bytes,
)
from tx8ir.core.attrs.floats import bits_float, float_bits
from tx8ir.core.attrs.lexer import FLOAT, HEX, INTEGER, KEY
from tx8ir.core.attrs.types import RankedTensor, ScalarType, Type, VTensorType, f64, i1, i64
from tx8ir.core.location import quote

from .location_parser import LocationParser

# Weights may be millions of digits: no group is repeated for each.
_HEX_STRING: Final = re.compile(r"0x[0-9A-Fa-f]*+")
_HEX_LITERAL: Final = re.compile(f'"{_HEX_STRING.pattern}"')
_ELEMENTS: Final = re.compile(r'[^">]*+(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"[^">]*+)*+(?=>)')
_DIGITS: Final = 1 << 20
"""Digits that are copied at a time."""
_RESOURCES_START: Final = re.compile(r"\{-#")
_AFTER_RESOURCES: Final = re.compile(r"#-\}")


class ElementsParser(LocationParser):
    """Reads numbers, and attributes made of many of them."""

    _blobs: dict[str, bytes] | None = None

    # -- numbers --------------------------------------------------------------------------------------------------

    def number(self) -> Attribute:
        """Read `3`, `3 : i32`, `1.5 : f32`, `0x7F : i8`, `0x7FC00000 : f32`."""
        start = self.pos
        negative = self.text.startswith("-", start) and HEX.match(self.text, start + 1) is not None
        if negative:
            self.pos += 1
        literal = self.match(HEX)
        if literal is not None:
            element = self._number_type(start) if self.accept(":") else i64
            bits = self._read_hex(literal, start)
            if is_float(element):
                return self._float_of_bits(bits, element, start)
            return self.integer(-bits if negative else bits, element, start)
        literal = self.match(FLOAT)
        if literal is not None:
            element = self._number_type(start) if self.accept(":") else f64
            if not isinstance(element, (ScalarType, FloatType)) or not is_float(element):
                self.fail(f"a float literal cannot have the type {element}", start)
            return self.made(lambda: FloatAttr(float(literal), element), start)
        literal = self.match(INTEGER)
        if literal is None:
            self.fail("expected a number", start)
        element = self._number_type(start) if self.accept(":") else i64
        if is_float(element):
            self.fail(f"an integer literal cannot have the type {element}; write a point", start)
        return self.integer(self.read_int(literal, start), element, start)

    def _number_type(self, start: int) -> Type:
        found = self._type()
        if not (is_float(found) or is_integer(found)):
            self.fail(f"a number has a scalar type, not {found}", start)
        return found

    def _read_hex(self, literal: str, start: int) -> int:
        if len(literal) > 400:
            self.fail("this number is too long", start)
        return int(literal, 16)

    def integer(self, value: int, element: Type, start: int) -> IntAttr | BoolAttr:
        """`value` as an attribute of the type. A number of a signless type may be its bits, read as unsigned."""
        if element is i1:
            if value not in (-1, 0, 1):
                self.fail(f"{value} does not fit i1, which holds 0 and 1", start)
            return BoolAttr(value != 0)
        width, signedness = integer_format(element)
        if signedness == "signless" and width and value >> (width - 1) == 1:
            value -= 1 << width
        return self.made(lambda: IntAttr(value, element), start)  # pyright: ignore[reportArgumentType]  (an integer type)

    def _float_of_bits(self, bits: int, element: Type, start: int) -> FloatAttr | FloatBitsAttr:
        if isinstance(element, FloatType):
            return self.made(lambda: FloatBitsAttr(bits, element), start)
        assert isinstance(element, ScalarType)
        format = element.format
        if bits >> format.bits or float_bits(bits_float(bits, format), format) != bits:
            self.fail(f"these bits do not fit {element}", start)
        return FloatAttr(bits_float(bits, format), element)

    def element(self, element: Type) -> Any:
        """Read one bare number of a known type: the Python value, of a `FloatType` the attribute."""
        self.skip_space()
        start = self.pos
        if element is i1 and self.accept("true"):
            return True
        if element is i1 and self.accept("false"):
            return False
        literal = self.match(HEX)
        if literal is not None:
            bits = self._read_hex(literal, start)
            if is_float(element):
                found = self._float_of_bits(bits, element, start)
                return found if isinstance(found, FloatBitsAttr) else found.value
            return self.integer(bits, element, start).value
        if is_float(element):
            literal = self.match(FLOAT)
            if literal is None:
                self.fail(f"expected a float like 1.0, found {self._found()}", start)
            return float(literal)
        what = "true or false" if element is i1 else "an integer"
        return self.integer(self.read_int(self.require(INTEGER, what), start), element, start).value

    def number_array(self) -> DenseArrayAttr:
        """Read what follows `array`: `<i64: 1, 2>`."""
        self.expect("<", "after 'array'")
        start = self.pos
        element = self._type()
        if not isinstance(element, (ScalarType, IntegerType)):
            self.fail(f"the elements of an array have a scalar type, not {element}", start)
        values: list[Any] = []
        if self.accept(":"):
            values.append(self.element(element))
            while self.accept(","):
                values.append(self.element(element))
        self.expect(">", "after the numbers of an array")
        return self.made(lambda: DenseArrayAttr(values, element), start)

    # -- elements -------------------------------------------------------------------------------------------------

    def dense(self) -> Attribute:
        """Read what follows `dense`: `<[[1, 2]]> : tensor<1x2xi32>`."""
        self.expect("<", "after 'dense'")
        self.skip_space()
        start = self.pos
        # The numbers can be read only when the type after them is known, so look there first.
        end = self._end_of_dense()
        self.pos = end
        self.expect(">", "after the numbers of a dense attribute")
        self.expect(":", "before the type of a dense attribute")
        whole = self._elements_type(end)
        after = self.pos
        self.pos = start
        found = self._dense_body(whole, start)
        self.skip_space()
        if self.pos != end:
            self.fail("expected '>' after the numbers of a dense attribute")
        self.pos = after
        return found

    def _elements_type(self, at: int) -> Type:
        """The type of a dense attribute: a static tensor, vector or memref that is not too large."""
        whole = self._type()
        shape = static_shape(whole) if isinstance(whole, (RankedTensor, ShapedType)) else None
        if shape is None or not isinstance(whole, (RankedTensor, ShapedType)):
            self.fail(f"a dense attribute has a static tensor type, not {whole}", at)
        if whole.num_elements > DENSE_LIMIT:
            self.fail(f"{whole} has more than {DENSE_LIMIT} elements, too many for a dense attribute", at)
        return whole

    def _end_of_dense(self) -> int:
        """Where the `>` is that ends the elements which start here; strings may have one inside."""
        found = _ELEMENTS.match(self.text, self.pos)
        if found is None:
            self.fail("expected '>' after the numbers of a dense attribute", self.pos)
        return found.end()

    def _dense_body(self, whole: Any, start: int) -> Attribute:
        """The elements of a type, which stand here."""
        if isinstance(whole, RankedTensor):
            return DenseAttr(self._dense_array(whole, start), whole)
        element, count = whole.element, whole.num_elements
        strings = is_string_tensor(whole)
        if self.peek() == '"' and not strings:
            return self.made(lambda: ElementsAttr(whole, self._literals_of_hex(whole, start)), start)
        if self.peek() == ">":
            if count:
                self.fail(f"{whole} has {count} elements, found none", start)
            return ElementsAttr(whole, ())
        read = (lambda: quote(self.string())) if strings else (lambda: self._literal(element))
        if self.peek() != "[":
            return self.made(lambda: ElementsAttr(whole, [read()] if count else []), start)
        literals, shape = self._nested_numbers(read)
        if shape != whole.shape:
            self.fail(f"the numbers have the shape {shape}, {whole} has {whole.shape}", start)
        return self.made(lambda: ElementsAttr(whole, literals), start)

    def _literal(self, element: Type) -> str:
        """One element in its own spelling."""
        if isinstance(element, ComplexType):
            self.expect("(", "before a complex number")
            real = self._literal(element.element)
            self.expect(",", "between the parts of a complex number")
            imaginary = self._literal(element.element)
            self.expect(")", "after a complex number")
            return f"({real}, {imaginary})"
        value = self.element(element)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, FloatBitsAttr):
            return str(value).partition(" ")[0]
        if is_float(element):
            assert isinstance(element, (ScalarType, FloatType))
            return float_text(FloatAttr(value, element).value, element)
        return str(value)

    def _literals_of_hex(self, whole: Type, start: int) -> list[str]:
        literals = literals_of_bytes(self._hex_string(start), whole)
        if literals is None:
            self.fail(f"these bytes are another number of elements than {whole} has", start)
        return literals

    def _hex_string(self, start: int) -> bytes:
        self.skip_space()
        found = _HEX_LITERAL.match(self.text, self.pos)
        if found is None or (found.end() - found.start()) % 2:
            self.string()
            self.fail('the bytes of a dense attribute are written as "0x…", two digits each', start)
        self.pos = found.end()
        data = bytearray()
        for at in range(found.start() + 3, found.end() - 1, _DIGITS):
            data += bytes.fromhex(self.text[at : min(at + _DIGITS, found.end() - 1)])
        return bytes(data)

    def _dense_array(self, tensor: RankedTensor, start: int) -> NDArray[Any]:
        dtype, count = tensor.element.dtype, tensor.num_elements
        if self.peek() == '"':
            return self._array_of_bytes(self._hex_string(start), tensor, start)
        if self.peek() == ">":
            if count:
                self.fail(f"{tensor} has {count} elements, found none", start)
            return np.empty(tensor.shape, dtype)
        if self.peek() != "[":
            return np.broadcast_to(_array([self.element(tensor.element)], tensor.element)[0], tensor.shape)
        values, shape = self._nested_numbers(lambda: self.element(tensor.element))
        if shape != tensor.shape:
            self.fail(f"the numbers have the shape {shape}, {tensor} has {tensor.shape}", start)
        return _array(values, tensor.element).reshape(tensor.shape)

    def _array_of_bytes(self, data: bytes, tensor: RankedTensor, start: int) -> NDArray[Any]:
        dtype, count = tensor.element.dtype, tensor.num_elements
        if len(data) != count * dtype.itemsize and len(data) != dtype.itemsize:  # one element stands for all
            self.fail(f"{tensor} has {count * dtype.itemsize} bytes, these are {len(data)}", start)
        array = np.frombuffer(data, dtype)
        shaped = array.reshape(tensor.shape) if array.size == count else np.broadcast_to(array[0], tensor.shape)
        return self.made(lambda: DenseAttr(shaped, tensor).value, start)

    def _nested_numbers(self, read: Callable[[], Any]) -> tuple[list[Any], tuple[int, ...]]:
        """Numbers in nested brackets, and the shape that the brackets give."""

        def parse() -> tuple[list[Any], tuple[int, ...]]:
            if self.peek() != "[":
                return [read()], ()
            self.pos += 1
            values: list[Any] = []
            inner: tuple[int, ...] | None = None
            count = 0
            while not self.accept("]"):
                if count:
                    self.expect(",", "between the elements of a dense attribute")
                self.skip_space()
                row = self.pos
                part, shape = self._nested(parse)
                if inner is not None and shape != inner:
                    self.fail(f"the rows of a dense attribute have different shapes: {inner} and {shape}", row)
                inner = shape
                values += part
                count += 1
            return values, (count, *(inner or ()))

        return parse()

    def sparse(self) -> Attribute:
        """Read what follows `sparse`: `<[[0, 1]], [5]> : tensor<2x2xi32>`."""
        self.expect("<", "after 'sparse'")
        start = self.pos
        if self.accept(">"):
            rows: list[Any] = []
            shape: tuple[int, ...] = (0, 0)
            values_at = values_end = self.pos
        else:
            rows, shape = self._nested_numbers(lambda: self.element(i64))
            self.expect(",", "between the indices and the values of a sparse attribute")
            self.skip_space()
            values_at = self.pos
            values_end = self.pos = self._end_of_dense()
            self.expect(">", "after the values of a sparse attribute")
        self.expect(":", "before the type of a sparse attribute")
        whole = self._elements_type(start)
        after, self.pos = self.pos, values_at
        rank = len(static_shape(whole) or ())
        if not shape:
            shape = (1, 1)
        if len(shape) == 1:  # one element
            shape = (1, shape[0])
        if len(shape) != 2 or (rows and shape[1] != rank):
            self.fail(f"the indices of a sparse attribute have the shape (elements, {rank}), not {shape}", start)
        indices = DenseAttr(np.array(rows, np.int64).reshape(shape), VTensorType(shape, i64))
        kind: Any = tensor_type((shape[0],), element_of(whole))
        if rows:
            values = self._dense_body(kind, values_at)
            self.skip_space()
            if self.pos != values_end:
                self.fail("expected '>' after the values of a sparse attribute")
        elif isinstance(kind, RankedTensor):
            values = DenseAttr(np.empty((0,), kind.element.dtype), kind)
        else:
            values = ElementsAttr(kind, ())
        self.pos = after
        return SparseAttr(indices, values, whole)

    def opaque_elements(self) -> Attribute:
        """Read what follows `opaque`: `<"dialect", "0x00"> : tensor<1xf32>`."""
        self.expect("<", "after 'opaque'")
        dialect = self.string()
        self.expect(",", "after the name of the dialect")
        text = self.string()
        self.expect(">", "after the text of an opaque attribute")
        return OpaqueElementsAttr(dialect, text, self.type() if self.accept(":") else None)

    # -- blobs ----------------------------------------------------------------------------------------------------

    def resource(self) -> Attribute:
        """Read what follows `dense_resource`: `<name> : tensor<4xf32>`."""
        self.expect("<", "after 'dense_resource'")
        start = self.pos
        name = self._resource_key()
        self.expect(">", "after the name of a blob")
        self.expect(":", "before the type of a blob")
        whole = self._type()
        if not isinstance(whole, (RankedTensor, ShapedType)):
            self.fail(f"a blob has the type of a tensor, vector or memref, not {whole}", start)
        blob = self._blob(name)
        if blob is None or not isinstance(whole, RankedTensor) or not whole.is_static:
            return DenseResourceAttr(name, whole, blob)
        # Numbers of the machine are known by their value, wherever they are written.
        return DenseAttr(self._array_of_bytes(blob[4:], whole, start), whole)

    def _resource_key(self) -> str:
        return self.string() if self.peek() == '"' else self.require(KEY, "the name of a blob")

    def _blob(self, name: str) -> bytes | None:
        if self._blobs is None:
            self._blobs = {}
            found = self._resources_at()
            if found is not None:
                back, self.pos = self.pos, found
                self.resource_section()
                self.pos = back
        return self._blobs.get(name)

    def _resources_at(self) -> int | None:
        """Where the section of blobs starts, outside of strings and comments: the last line that starts with it."""
        at = self.text.rfind("\n{-#")
        if at >= 0:
            return at + 1
        return 0 if self.text.startswith("{-#") else None

    def resource_section(self) -> None:
        """Read `{-# dialect_resources: { builtin: { name: "0x…" } } #-}`; the blobs of builtin are kept."""
        if self.match(_RESOURCES_START) is None:
            self.fail("expected '{-#'")
        blobs = self._blobs if self._blobs is not None else {}
        self._blobs = blobs
        while self.match(_AFTER_RESOURCES) is None:
            section = self.require(KEY, "'dialect_resources', 'external_resources' or '#-}'")
            self.expect(":", "after the name of a section")
            self.expect("{", "before the resources of a section")
            while not self.accept("}"):
                owner = self._resource_key()
                self.expect(":", "after the owner of resources")
                self.expect("{", "before the resources")
                while not self.accept("}"):
                    key = self._resource_key()
                    self.expect(":", "after the name of a blob")
                    at = self.pos
                    value = self._resource_value()
                    if section == "dialect_resources" and owner == "builtin":
                        if value is None or len(value) < 4:
                            self.fail('a blob is a string "0x…" of its alignment in 4 bytes and its data', at)
                        blobs[key] = value
                    self.accept(",")
                self.accept(",")
            self.accept(",")

    def _resource_value(self) -> bytes | None:
        """A blob, or None for another value that a resource may have."""
        if self.peek() == '"':
            text = self.string()
            return bytes.fromhex(text[2:]) if _HEX_STRING.fullmatch(text) and not len(text) % 2 else None
        if not self.accept("true") and not self.accept("false"):
            self.require(INTEGER, "a string, true, false or a number")
        return None


def _array(values: list[Any], element: ScalarType) -> NDArray[Any]:
    """Numbers as an array of the element's dtype, floats bit by bit (NumPy makes signalling NaN quiet)."""
    if not element.is_float:
        return np.array(values, element.dtype)
    words = [float_bits(value, element.format) for value in values]
    return np.array(words, f"<u{element.dtype.itemsize}").view(element.dtype)
