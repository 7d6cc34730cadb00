"""The memory layouts: published test vectors, agreement of pack with `address`, and properties over any shape."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.target.formats import ALL, BF16, F16, F32, F64, I1, I4, I8, TF32, UI4, UI8, Format
from tx8ir.target.layout import (
    MemLayout,
    address,
    aligned_channels,
    batch_bytes,
    channel_blocking,
    element_mask,
    flatten_shape,
    pack,
    size_bytes,
    tensor_view,
    unpack,
    written_mask,
)

WHOLE = [format for format in ALL if not format.is_packed]
PACKED = [I1, I4, UI4]


def random_array(shape: tuple[int, ...], format: Format, seed: int = 0) -> np.ndarray:
    """Random bits: every byte may be anything, NaN payloads included."""
    rng = np.random.default_rng(seed)
    if format.is_bool:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if format.is_packed:
        return rng.integers(-8 if format.is_signed else 0, 8 if format.is_signed else 16, shape).astype(format.dtype)
    noise = rng.integers(1, 256, (*shape, format.bytes), dtype=np.uint8)  # no zero byte: unlike padding
    return noise.view(format.dtype).reshape(shape)


def raw(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


class TestChannelBlocking:
    @pytest.mark.parametrize(
        ("format", "c", "expected"),
        [
            # seed and vendor vectors
            (F16, 131, (2, 4)),
            (F16, 65, (1, 4)),
            (F16, 96, (1, 32)),
            (F16, 97, (2, 0)),
            (I8, 129, (1, 4)),
            (I8, 192, (1, 64)),
            (I8, 193, (2, 0)),
            # every step of the tail
            (F32, 0, (0, 0)),
            (F32, 1, (0, 4)),
            (F32, 4, (0, 4)),
            (F32, 5, (0, 8)),
            (F32, 8, (0, 8)),
            (F32, 9, (0, 16)),
            (F32, 16, (0, 16)),
            (F32, 17, (0, 32)),
            (F32, 32, (0, 32)),
            (F32, 33, (1, 0)),
            (F32, 64, (1, 0)),
            (UI8, 32, (0, 32)),
            (UI8, 33, (0, 64)),
            (UI8, 64, (0, 64)),
            (UI8, 65, (1, 0)),
        ],
    )
    def test_vector(self, format, c, expected):
        assert channel_blocking(c, format) == expected
        assert aligned_channels(c, format) == expected[0] * format.block + expected[1]

    @pytest.mark.parametrize("format", WHOLE, ids=str)
    def test_holds_all_channels_and_wastes_less_than_half(self, format):
        for c in range(1, 600):
            cx, c0 = channel_blocking(c, format)
            assert c <= cx * format.block + c0 <= max(4, 2 * c)
            assert c0 in {0, 4, 8, 16, 32, *([64] if format.bits == 8 else [])}

    @pytest.mark.parametrize("format", PACKED, ids=str)
    def test_packed_formats_have_none(self, format):
        with pytest.raises(ValueError, match=f"{format.name} is dense only"):
            channel_blocking(8, format)

    def test_negative_channels_are_an_error(self):
        with pytest.raises(ValueError, match="must not be negative, got -1"):
            channel_blocking(-1, F32)


class TestSizes:
    def test_the_seeds_example(self):
        """fp16 2x1x2x131: batch 0 ends at bit 4224 (0x1080), batch 1 starts at bit 6144 (0x1800)."""
        shape = (2, 1, 2, 131)
        last = max(address((0, 0, hw, c), shape, F16, "NCx") for hw in range(2) for c in range(131))
        filled = int(np.flatnonzero(~written_mask(shape, F16, "NCx"))[0])
        assert filled * 8 == 4224
        assert last * 16 < 4224
        assert address((1, 0, 0, 0), shape, F16, "NCx") * 16 == 6144
        assert batch_bytes(shape, F16, "NCx") * 8 == 6144
        assert size_bytes(shape, F16, "NCx") == 2 * 768

    @pytest.mark.parametrize(
        ("shape", "format", "layout", "expected"),
        [
            ((2, 3), F32, "Tensor", 24),
            ((2, 3, 5), BF16, "NTensor", 60),
            ((), F32, "Tensor", 4),
            ((9,), I1, "Tensor", 2),
            ((3, 3), I4, "Tensor", 5),
            ((), F32, "Cx", 256),
            ((1000,), F32, "Cx", 4096),  # 15 * 64 + 64: 40 left over is more than half a block
            ((3, 3, 64, 64), F32, "Cx", 3 * 3 * 64 * 64 * 4),  # HWOI weights
            ((1, 224, 224, 3), F32, "NCx", 224 * 224 * 4 * 4),
            ((4, 3), F32, "NCx", 4 * 256),
            ((4, 3), F32, "Cx", 256),
            ((0, 3), F32, "NCx", 0),
            ((2, 0, 3), F32, "NCx", 0),
        ],
    )
    def test_vector(self, shape, format, layout, expected):
        assert size_bytes(shape, format, layout) == expected

    def test_batch_of_the_layouts_without_one_is_the_tensor(self):
        assert batch_bytes((4, 5, 6), F16, "Tensor") == 240
        assert batch_bytes((4, 5, 6), F16, "NTensor") == 60
        assert batch_bytes((4, 5, 6), F16, "Cx") == size_bytes((4, 5, 6), F16, "Cx") == 512

    def test_batch_of_a_packed_format_must_begin_on_a_byte(self):
        assert batch_bytes((4, 2, 8), I1, "NTensor") == 2
        with pytest.raises(ValueError, match=r"a batch of \(4, 3\) i1 in NTensor takes 3 bits, not whole bytes"):
            batch_bytes((4, 3), I1, "NTensor")

    @pytest.mark.parametrize("format", PACKED, ids=str)
    @pytest.mark.parametrize("layout", ["Cx", "NCx"])
    def test_packed_formats_are_dense_only(self, format, layout):
        with pytest.raises(ValueError, match=f"{format.name} is dense only: it has no {layout} layout"):
            size_bytes((2, 3), format, layout)

    def test_dynamic_extents_are_an_error(self):
        with pytest.raises(ValueError, match=r"static shape\), got \(-1, 3\)"):
            size_bytes((-1, 3), F32, "Tensor")

    def test_unknown_layout_is_an_error(self):
        with pytest.raises(ValueError, match="'NHWC' is not a valid MemLayout"):
            size_bytes((1, 3), F32, "NHWC")


class TestViews:
    @pytest.mark.parametrize(
        ("shape", "layout", "expected"),
        [
            ((), "Cx", (1, 1, 1)),
            ((5,), "Cx", (1, 1, 5)),
            ((5,), "NCx", (1, 1, 5)),
            ((4, 5), "Cx", (1, 4, 5)),
            ((4, 5), "NCx", (4, 1, 5)),
            ((3, 4, 5), "NCx", (3, 4, 5)),
            ((2, 3, 4, 5), "NCx", (2, 12, 5)),
            ((2, 3, 4, 5), "Cx", (1, 24, 5)),
            ((2, 3, 4, 5, 6), "NTensor", (2, 60, 6)),
            ((2, 3, 4, 5, 6), "Tensor", (1, 120, 6)),
        ],
    )
    def test_flatten_shape(self, shape, layout, expected):
        assert flatten_shape(shape, layout) == expected

    def test_rank_chooses_the_layout(self):
        names = [[MemLayout.for_rank(rank, blocked=blocked).value for rank in range(1, 5)] for blocked in (False, True)]
        assert names == [["Tensor", "Tensor", "NTensor", "NTensor"], ["Cx", "Cx", "NCx", "NCx"]]

    def test_kinds(self):
        assert [layout for layout in MemLayout if layout.is_blocked] == [MemLayout.Cx, MemLayout.NCx]
        assert [layout for layout in MemLayout if layout.has_batch] == [MemLayout.NTensor, MemLayout.NCx]
        assert MemLayout("NCx") is MemLayout.NCx
        assert str(MemLayout.NCx) == "NCx"


def literal_address(n: int, hw: int, c: int, HW: int, C: int, format: Format) -> int:
    """The formula of the layout's definition, written down a second time."""
    block = 128 if format.bits == 8 else 64
    q, r = divmod(C, block)
    tails = [t for t in (4, 8, 16, 32, 64) if t <= block // 2 and r <= t]
    cx, c0 = (q, 0) if r == 0 else (q, tails[0]) if tails else (q + 1, 0)
    per_256 = 256 // (format.bits // 8)
    batch = math.ceil(HW * (cx * block + c0) / per_256) * per_256
    if c < cx * block:
        return n * batch + c // block * HW * block + hw * block + c % block
    return n * batch + cx * HW * block + hw * c0 + (c - cx * block)


SHAPES = [
    (3,),
    (2, 131),
    (2, 1, 2, 131),
    (3, 2, 97),
    (2, 5, 64),
    (1, 3, 2, 65),
    (2, 2, 193),
    (2, 2, 2, 2, 3),
    (1, 1, 128),
]


@pytest.mark.parametrize("format", [I8, F16, F32, F64], ids=str)
@pytest.mark.parametrize("layout", list(MemLayout))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pack_puts_each_element_at_its_address_and_zero_elsewhere(shape, layout, format):
    array = raw(random_array(shape, format))
    expected = np.zeros(size_bytes(shape, format, layout) // format.bytes, array.dtype)
    n_extent, hw_extent, c_extent = flatten_shape(shape, layout)
    for flat, index in enumerate(itertools.product(*map(range, shape))):
        place = address(index, shape, format, layout)
        row, c = divmod(flat, c_extent)
        n, hw = divmod(row, hw_extent)
        assert n < n_extent
        assert place == (literal_address(n, hw, c, hw_extent, c_extent, format) if layout.is_blocked else flat)
        expected[place] = array[index]
    packed = pack(array.view(format.dtype), format, layout)
    np.testing.assert_array_equal(packed.view(array.dtype), expected)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[np.ndarray, Format, MemLayout, int]:
    """An array with 0 to 2 leading axes, its format, a layout it can have, and the number of leading axes."""
    format = draw(st.sampled_from(ALL))
    layout = draw(st.sampled_from([MemLayout.Tensor, MemLayout.NTensor] if format.is_packed else list(MemLayout)))
    outer = draw(st.lists(st.integers(0, 5), max_size=3))
    channels = draw(
        st.one_of(st.integers(0, 300), st.sampled_from([1, 3, 32, 33, 63, 64, 65, 127, 128, 129, 192, 193]))
    )
    shape = (*outer, channels) if draw(st.booleans()) or outer else ()
    lead = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    return random_array((*lead, *shape), format, draw(st.integers(0, 100))), format, layout, len(lead)


@given(tensors())
def test_unpack_undoes_pack_for_every_leading_position(case):
    array, format, layout, leading = case
    lead, shape = array.shape[:leading], array.shape[leading:]
    packed = pack(array, format, layout, leading=leading)
    assert packed.dtype == np.uint8
    assert packed.shape == (*lead, size_bytes(shape, format, layout))
    back = unpack(packed, shape, format, layout)
    assert back.dtype == format.dtype
    assert back.shape == array.shape
    assert raw(back).tobytes() == raw(array).tobytes()
    for position in itertools.product(*map(range, lead)):
        np.testing.assert_array_equal(pack(array[position], format, layout), packed[position])


@given(tensors())
def test_unpack_into_an_array_and_views_of_memory_give_the_same(case):
    array, format, layout, leading = case
    lead, shape = array.shape[:leading], array.shape[leading:]
    packed = pack(array, format, layout, leading=leading)
    memory = np.zeros((*lead, packed.shape[-1] + 512), np.uint8)
    window = memory[..., 256 : 256 + packed.shape[-1]]
    window[...] = packed
    view = tensor_view(window, shape, format, layout)
    channels = flatten_shape(shape, layout)[2]
    assert (view is not None) == (not format.is_packed and (not layout.is_blocked or 0 < channels <= format.block))
    if view is not None:
        assert view.shape == array.shape
        assert view.dtype == format.dtype
        assert raw(view).tobytes() == raw(array).tobytes()
        assert array.size == 0 or np.shares_memory(view, memory)
    if not format.is_packed:
        out = np.zeros(array.shape, format.dtype)
        assert unpack(window, shape, format, layout, out=out).tobytes() == array.tobytes()
        assert out.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "out", [np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float16), np.zeros((4, 2), np.float32).T]
)
def test_unpack_into_an_array_that_does_not_fit_is_an_error(out):
    data = pack(np.zeros((2, 4), np.float32), F32, "Tensor")
    with pytest.raises(ValueError, match=r"out must be a C-contiguous array of float32 with shape \(2, 4\)"):
        unpack(data, (2, 4), F32, "Tensor", out=out)


@given(tensors())
def test_padding_and_gaps_are_zero_and_the_masks_name_them(case):
    array, format, layout, leading = case
    shape = array.shape[leading:]
    elements, written = element_mask(shape, format, layout), written_mask(shape, format, layout)
    assert elements.shape == written.shape == (size_bytes(shape, format, layout),)
    assert not (elements & ~written).any()
    assert elements.sum() == (math.prod(shape) * format.bits + 7) // 8
    packed = pack(array, format, layout, leading=leading)
    assert not packed[..., ~elements].any()
    if not format.is_packed:  # the test arrays have no zero byte
        assert packed[..., elements].all()
    n, hw, c = flatten_shape(shape, layout)
    filled = n * hw * aligned_channels(c, format) * format.bytes if layout.is_blocked else elements.sum()
    assert written.sum() == filled


@given(tensors(), st.integers(1, 255))
def test_pack_into_memory_writes_elements_and_padding_and_leaves_gaps(case, old):
    array, format, layout, leading = case
    lead, shape = array.shape[:leading], array.shape[leading:]
    size = size_bytes(shape, format, layout)
    memory = np.full((*lead, size + 48), old, np.uint8)
    window = memory[..., 16 : 16 + size]
    assert pack(array, format, layout, leading=leading, out=window) is window
    written = written_mask(shape, format, layout)
    np.testing.assert_array_equal(window[..., written], pack(array, format, layout, leading=leading)[..., written])
    assert (window[..., ~written] == old).all()
    assert (memory[..., :16] == old).all()
    assert (memory[..., 16 + size :] == old).all()
    assert raw(unpack(window, shape, format, layout)).tobytes() == raw(array).tobytes()


@given(
    st.sampled_from([I8, F16, F32]),
    st.sampled_from(list(MemLayout)),
    st.lists(st.integers(1, 3), max_size=2),
    st.one_of(st.integers(1, 10), st.sampled_from([33, 64, 65, 129, 131])),
)
def test_addresses_are_disjoint_and_inside(format, layout, outer, channels):
    shape = (*outer, channels)
    places = {address(index, shape, format, layout) for index in itertools.product(*map(range, shape))}
    assert len(places) == math.prod(shape)
    assert max(places) < size_bytes(shape, format, layout) // format.bytes
    assert min(places) == 0


class TestPackedFormats:
    def test_bool_is_lsb_first(self):
        bits = np.array([1, 0, 0, 1, 0, 0, 0, 0, 1], np.bool_)
        assert pack(bits, I1, "Tensor").tolist() == [0b00001001, 1]

    def test_four_bits_low_nibble_first(self):
        assert pack(np.array([1, -1, -8]).astype(I4.dtype), I4, "Tensor").tolist() == [0xF1, 0x08]
        assert pack(np.array([1, 15, 8]).astype(UI4.dtype), UI4, "NTensor").tolist() == [0xF1, 0x08]
        assert unpack(np.array([0xF1, 0x08], np.uint8), (3,), I4, "Tensor").astype(int).tolist() == [1, -1, -8]
        assert unpack(np.array([0xF1, 0x08], np.uint8), (3,), UI4, "Tensor").astype(int).tolist() == [1, 15, 8]

    def test_address_counts_elements(self):
        assert address((2, 1), (3, 3), I4, "Tensor") == 7


class TestMemoryAccess:
    def test_tiles_of_one_scratchpad_are_read_in_place(self):
        """A window of (tiles, bytes) memory at an odd address needs no copy first."""
        memory = np.zeros((4, 4096), np.uint8)
        array = random_array((4, 2, 3, 70), F32)
        size = size_bytes((2, 3, 70), F32, "NCx")
        memory[:, 3 : 3 + size] = pack(array, F32, "NCx", leading=1)
        np.testing.assert_array_equal(raw(unpack(memory[:, 3 : 3 + size], (2, 3, 70), F32, "NCx")), raw(array))

    def test_a_transposed_array_packs(self):
        array = random_array((3, 70, 2), BF16)
        turned = array.transpose(2, 0, 1)
        np.testing.assert_array_equal(pack(turned, BF16, "NCx"), pack(turned.copy(), BF16, "NCx"))

    @pytest.mark.parametrize("layout", list(MemLayout))
    def test_unpack_returns_a_copy(self, layout):
        data = np.zeros(size_bytes((2, 64), F32, layout), np.uint8)
        assert not np.shares_memory(unpack(data, (2, 64), F32, layout), data)

    def test_tf32_is_stored_as_its_float32_bits(self):
        array = np.array([1.5, -2.0], np.float32)
        np.testing.assert_array_equal(pack(array, TF32, "Tensor").view(np.float32), array)


class TestErrors:
    def test_array_of_another_type(self):
        with pytest.raises(TypeError, match="expected an array of bfloat16 for format bf16, got float32"):
            pack(np.zeros((2, 3), np.float32), BF16, "Tensor")

    def test_data_of_another_length(self):
        with pytest.raises(
            ValueError, match=r"data must have shape \(256,\) for this shape, format and layout, got \(24,\)"
        ):
            unpack(np.zeros(24, np.uint8), (2, 3), F32, "Cx")

    def test_data_not_bytes(self):
        with pytest.raises(TypeError, match="data must be uint8, got float32"):
            unpack(np.zeros(6, np.float32), (2, 3), F32, "Tensor")

    def test_data_with_strides(self):
        with pytest.raises(ValueError, match="data must be contiguous in its last axis"):
            unpack(np.zeros(48, np.uint8)[::2], (2, 3), F32, "Tensor")

    def test_out_of_another_shape(self):
        with pytest.raises(ValueError, match=r"out must have shape \(2, 12\)"):
            pack(np.zeros((2, 3), np.float32), F32, "Tensor", leading=1, out=np.zeros(24, np.uint8))

    def test_more_leading_axes_than_axes(self):
        with pytest.raises(ValueError, match="between 0 and the array's rank 1, got 2"):
            pack(np.zeros(3, np.float32), F32, "Tensor", leading=2)

    @pytest.mark.parametrize("index", [(2, 0), (0, -1), (0,), (0, 0, 0)])
    def test_index_outside(self, index):
        with pytest.raises(IndexError, match=r"is not inside shape \(2, 3\)"):
            address(index, (2, 3), F32, "NCx")
