"""`Variable`, `WeightStore` and the safetensors files they are kept in."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from tx8ir.core.attrs.types import ScalarType, TensorType, VTensorType, bf16, f32, i4, i8, i64, tf32
from tx8ir.core.errors import IrError
from tx8ir.core.weights.safetensors import MappedTensor, WeightError, resolve_inside
from tx8ir.core.weights.store import Variable, WeightStore

STORED = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "ui64", "ui32", "ui16", "ui8", "i1"]


class Exploding:
    """Data that knows its shape and type and must not be read."""

    shape = (2, 3)
    dtype = np.dtype(np.float32)

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise AssertionError("the data was read")


class OnlyDLPack:
    """What a foreign framework hands over: memory, but no NumPy methods."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


# --- variables ---------------------------------------------------------------------------------------------------


def test_a_variable_shares_its_data_and_gives_it_read_only():
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = Variable(VTensorType((2, 3), f32), data).numpy()
    assert np.shares_memory(array, data)
    assert not array.flags.writeable
    assert data.flags.writeable, "the caller's array must stay as it was"


def test_a_mutable_variable_gives_its_own_storage():
    data = np.zeros(2, np.float32)
    Variable(TensorType((2,), f32), data, is_mutable=True).numpy()[0] = 5
    assert data[0] == 5


def test_dlpack_data_is_shared():
    data = np.arange(4, dtype=np.float32)
    assert np.shares_memory(Variable(VTensorType((4,), f32), OnlyDLPack(data)).numpy(), data)


def test_construction_checks_without_reading():
    Variable(VTensorType((2, 3), f32), Exploding())
    with pytest.raises(WeightError):
        Variable(VTensorType((3, 2), f32), Exploding())


@pytest.mark.parametrize(
    ("type_", "data", "message"),
    [
        (VTensorType((2, 3), f32), np.zeros((3, 2), np.float32), r"vtensor<2x3xf32>, but the data has shape \(3, 2\)"),
        (VTensorType((2,), f32), np.zeros(2), "vtensor<2xf32>, whose data is float32, but the data has float64"),
        (VTensorType((2,), bf16), np.zeros(2, np.uint16), "whose data is bfloat16, but the data has uint16"),
        (VTensorType((-1,), f32), np.zeros(2, np.float32), r"needs a static shape, but its type is .*<\?xf32>"),
        (VTensorType((2,), f32), [1.0, 2.0], "must have __array__ or __dlpack__, got list; wrap it with numpy.asarray"),
    ],
)
def test_data_that_does_not_fit_is_refused(type_, data, message):
    with pytest.raises(WeightError, match=message) as caught:
        Variable(type_, data)
    assert isinstance(caught.value, IrError)
    assert isinstance(caught.value, ValueError)


def test_new_data_must_fit_and_a_refusal_changes_nothing():
    variable = Variable(VTensorType((2,), f32), np.zeros(2, np.float32))
    with pytest.raises(WeightError, match=r"shape \(3,\)"):
        variable.data = np.zeros(3, np.float32)
    assert variable.numpy().shape == (2,)
    variable.data = np.ones(2, np.float32)
    assert variable.numpy().tolist() == [1, 1]


@pytest.mark.parametrize("alignment", [0, -4, 3, True, 2.0])
def test_alignment_is_a_power_of_two(alignment):
    with pytest.raises(WeightError, match=f"power of two in bytes, got {alignment!r}"):
        Variable(VTensorType((), f32), np.float32(1), alignment=alignment)


# --- the store ---------------------------------------------------------------------------------------------------


def test_a_store_keeps_insertion_order_and_infers_types():
    store = WeightStore()
    store.add("z", np.zeros((2, 3), ml_dtypes.bfloat16))
    store.add("a", np.array(True))
    assert list(store) == ["z", "a"]
    assert store["z"].type is VTensorType((2, 3), bf16)
    assert store["a"].type is VTensorType((), ScalarType.of("i1"))
    assert store.nbytes == 2 * 3 * 2 + 1


def test_add_refuses_a_taken_name_and_names_the_weight_that_does_not_fit():
    store = WeightStore()
    store.add("w", np.zeros(2, np.float32))
    with pytest.raises(WeightError, match=r"weight 'w' exists already: Variable\(!pd.vtensor<2xf32>, numpy.ndarray\)"):
        store.add("w", np.zeros(2, np.float32))
    with pytest.raises(WeightError, match=r"weight 'v': declared type is !pd.vtensor<3xf32>, but the data has shape"):
        store.add("v", np.zeros(2, np.float32), VTensorType((3,), f32))
    with pytest.raises(WeightError, match="weight 'c': no scalar type holds dtype complex64; known dtypes: "):
        store.add("c", np.zeros(2, np.complex64))
    with pytest.raises(WeightError, match="non-empty string other than '__metadata__', got ''"):
        store.add("", np.zeros(2, np.float32))
    with pytest.raises(WeightError, match=r"expected a Variable, got ndarray; use store.add"):
        store["x"] = np.zeros(2)
    assert list(store) == ["w"]
    with pytest.raises(KeyError, match="no weight named 'nothing' in a store of 1"):
        store["nothing"]


def test_a_copy_shares_data_and_nothing_else():
    store = WeightStore()
    data = np.zeros(2, np.float32)
    store.add("w", data)
    other = store.copy()
    other["w"].is_mutable = True
    other.add("v", data)
    assert np.shares_memory(other["w"].numpy(), data)
    assert list(store) == ["w"]
    assert not store["w"].is_mutable


def test_unique_name_gives_free_names_only():
    store = WeightStore()
    names = []
    for _ in range(4):
        names.append(store.unique_name("w"))
        store.add(names[-1], np.zeros(1, np.float32))
    assert names == ["w", "w_1", "w_2", "w_3"]


def test_a_store_can_be_read_by_people():
    store = WeightStore()
    for index in range(20):
        store.add(f"<{index}>", np.zeros((256, 4), np.float32))
    text = repr(store)
    assert text.splitlines()[0] == "WeightStore(20 variables, 80.00 KiB)"
    assert "  <0>: Variable(!pd.vtensor<256x4xf32>, numpy.ndarray)" in text
    assert "… 10 more" in text
    page = store._repr_html_()
    assert "&lt;19&gt;" in page
    assert "<19>" not in page


# --- files -------------------------------------------------------------------------------------------------------


def sample(name: str) -> np.ndarray:
    return np.array([[0, 1, 1], [1, 0, 1]]).astype(ScalarType.of(name).dtype)


@pytest.mark.parametrize("name", STORED)
def test_every_element_type_survives_a_file(tmp_path, name):
    store = WeightStore()
    store.add("w", sample(name))
    store.save(tmp_path / "w.safetensors")
    loaded = WeightStore.load(tmp_path / "w.safetensors")["w"]
    assert loaded.type is store["w"].type
    assert loaded.numpy().dtype == sample(name).dtype
    assert np.array_equal(loaded.numpy(), sample(name))


def test_what_safetensors_cannot_say_is_kept_in_the_metadata(tmp_path):
    store = WeightStore()
    store.add("small", np.array([-8, 7, 3], ml_dtypes.int4), VTensorType((3,), i4), alignment=64)
    store.add("tf", np.ones(2, np.float32), TensorType((2,), tf32))
    store.add("none", np.zeros((0, 3), np.float32))
    store.save(tmp_path / "w.safetensors")
    loaded = WeightStore.load(tmp_path / "w.safetensors")
    assert list(loaded) == ["small", "tf", "none"]
    assert {name: v.type for name, v in loaded.items()} == {name: v.type for name, v in store.items()}
    assert loaded["small"].alignment == 64
    assert loaded["small"].numpy().astype(int).tolist() == [-8, 7, 3]
    assert loaded["none"].numpy().shape == (0, 3)


@settings(max_examples=30, deadline=None)
@given(
    tensors=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: name != "__metadata__"),
        st.tuples(st.sampled_from(STORED), st.lists(st.integers(0, 4), max_size=3), st.booleans()),
        max_size=5,
    )
)
def test_any_store_survives_a_file_and_the_reference_library_agrees(tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("weights") / "w.safetensors"
    store = WeightStore()
    rng = np.random.default_rng(0)
    for name, (element, shape, transposed) in tensors.items():
        array = rng.integers(0, 2, shape).astype(ScalarType.of(element).dtype)
        store.add(name, array.T if transposed else array)
    store.save(path)
    loaded = WeightStore.load(path)
    assert list(loaded) == list(store)
    reference = safetensors.numpy.load_file(path)
    assert set(reference) == set(store)
    for name, variable in store.items():
        assert np.array_equal(loaded[name].numpy(), variable.numpy())
        assert np.array_equal(reference[name], variable.numpy())


def test_files_of_the_reference_library_are_read(tmp_path):
    arrays = {"b": np.arange(3, dtype=np.uint8), "a": np.eye(2, dtype=np.float16)}
    safetensors.numpy.save_file(arrays, tmp_path / "w.safetensors", metadata={"format": "pt"})
    loaded = WeightStore.load(tmp_path / "w.safetensors")
    assert {name: v.numpy().tolist() for name, v in loaded.items()} == {n: a.tolist() for n, a in arrays.items()}


def test_loading_reads_no_tensor_and_using_one_maps_it(tmp_path, monkeypatch):
    store = WeightStore()
    store.add("w", np.arange(1000, dtype=np.float32))
    store.add("v", np.arange(1000, dtype=np.int64))
    store.save(tmp_path / "w.safetensors")
    reads = []
    original = MappedTensor.__array__
    monkeypatch.setattr(MappedTensor, "__array__", lambda self, *a, **k: reads.append(self) or original(self, *a, **k))
    loaded = WeightStore.load(tmp_path / "w.safetensors")
    repr(loaded), loaded._repr_html_(), loaded.nbytes, loaded.copy()
    assert reads == []
    assert loaded["w"].data.file._map is None, "the file is mapped when the first tensor is used"
    first, second = loaded["w"].numpy(), loaded["w"].numpy()
    assert np.shares_memory(first, second)
    assert not first.flags.owndata
    assert not first.flags.writeable
    assert first.flags.aligned


def test_a_bf16_file_can_be_opened_without_ml_dtypes(tmp_path):
    store = WeightStore()
    store.add("w", np.ones(4, ml_dtypes.bfloat16))
    store.save(tmp_path / "w.safetensors")
    code = (
        "import sys; from tx8ir.core.weights.store import WeightStore\n"
        f"store = WeightStore.load({str(tmp_path / 'w.safetensors')!r}); repr(store)\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "assert store['w'].numpy().sum() == 4 and 'ml_dtypes' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_store_can_be_saved_over_the_file_it_is_mapped_from(tmp_path):
    path = tmp_path / "w.safetensors"
    store = WeightStore()
    store.add("w", np.arange(100_000, dtype=np.float32))
    store.save(path)
    loaded = WeightStore.load(path)
    loaded.add("v", np.zeros(3, np.float32))
    loaded.save(path)
    assert np.array_equal(WeightStore.load(path)["w"].numpy(), np.arange(100_000, dtype=np.float32))
    assert [p.name for p in tmp_path.iterdir()] == ["w.safetensors"], "no temporary file is left"


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "w.safetensors"
    store = WeightStore()
    store.add("w", np.ones((2, 3), np.float32))
    store.save(path)
    before = path.read_bytes()
    store.add("x", Exploding())
    with pytest.raises(AssertionError, match="the data was read"):
        store.save(path)
    assert path.read_bytes() == before
    with pytest.raises(WeightError, match=r"cannot write weight file .*nowhere/w.safetensors': No such file"):
        WeightStore().save(tmp_path / "nowhere" / "w.safetensors")


def test_declared_types_are_checked_against_the_file(tmp_path):
    path = tmp_path / "w.safetensors"
    store = WeightStore()
    store.add("w", np.ones((2, 3), np.float32))
    store.add("q", np.ones(2, np.int8))
    store.save(path)
    loaded = WeightStore.load(path, types={"w": TensorType((2, 3), tf32), "q": VTensorType((2,), i4)})
    assert loaded["w"].type is TensorType((2, 3), tf32)
    assert loaded["q"].numpy().dtype == ml_dtypes.int4
    with pytest.raises(WeightError, match=r"w.safetensors': weight 'w': declared type is .*<3x2xf32>, but the data"):
        WeightStore.load(path, types={"w": VTensorType((3, 2), f32)})
    with pytest.raises(WeightError, match=r"weight 'q': declared type is .*<2xi64>, whose data is int64, but .* i8"):
        WeightStore.load(path, types={"q": VTensorType((2,), i64)})
    with pytest.raises(WeightError, match=r"w.safetensors' has no weight 'b', which is declared as !pd.vtensor<2xi8>"):
        WeightStore.load(path, types={"b": VTensorType((2,), i8)})


def test_an_index_of_several_files(tmp_path):
    for shard, name in (("1.safetensors", "a"), ("2.safetensors", "b")):
        store = WeightStore()
        store.add(name, np.full(2, ord(name), np.float32))
        store.save(tmp_path / shard)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"b": "2.safetensors", "a": "1.safetensors"}}))
    loaded = WeightStore.load(index)
    assert {name: v.numpy()[0] for name, v in loaded.items()} == {"b": ord("b"), "a": ord("a")}
    index.write_text(json.dumps({"weight_map": {"c": "2.safetensors"}}))
    with pytest.raises(WeightError, match=r"expects weight 'c' in '2.safetensors', which lacks it"):
        WeightStore.load(index)
    index.write_text(json.dumps({"weight_map": {"c": "../2.safetensors"}}))
    with pytest.raises(WeightError, match=r"path '../2.safetensors' leaves the folder"):
        WeightStore.load(index)
    index.write_text("{}")
    with pytest.raises(WeightError, match="has no 'weight_map' object"):
        WeightStore.load(index)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "link/x", "", ".", "x\0y"])
def test_paths_from_files_stay_in_their_folder(tmp_path, path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(WeightError, match="external data of 'w'"):
        resolve_inside(folder, path, owner="external data of 'w'")
    assert resolve_inside(folder, "a/../b", owner="") == folder.resolve() / "b"


# --- broken files ------------------------------------------------------------------------------------------------


def raw(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def f32_entry(begin: int, end: int, shape: object = (1,), dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


BROKEN = {
    "empty": (b"", "is truncated: it has 0 bytes, the header length alone takes 8"),
    "no header": (b"\x10\0\0\0\0\0\0\0{}", "is truncated: it has 10 bytes, the header ends at 24"),
    "not safetensors": (
        b"PK\x03\x04" * 10,
        "claims a header of .* bytes, more than the 100000000 .* not a safe",
    ),
    "not JSON": (raw(b"{]"), "header is not valid JSON: "),
    "not UTF-8": (raw(b'{"\xff": 1}'), "header is not valid JSON: .*utf-8"),
    "deep JSON": (raw(b"[" * 100_000), "header is not valid JSON"),
    "a list": (raw([]), "header must be a JSON object, found list"),
    "a name twice": (raw(b'{"a": 1, "a": 2}'), "key 'a' appears twice"),
    "metadata": (raw({"__metadata__": {"a": 1}}), "__metadata__ must map strings to strings"),
    "metadata list": (raw({"__metadata__": []}), "__metadata__ must map strings to strings"),
    "our metadata": (raw({"__metadata__": {"tx8ir.variables": "["}}), "metadata 'tx8ir.variables' is not valid JSON"),
    "no offsets": (raw({"a": {"dtype": "F32", "shape": []}}), "tensor 'a': expected an object with dtype, shape and"),
    "a number": (raw({"a": 3}), "tensor 'a': expected an object with dtype, shape and data_offsets, found 3"),
    "dtype": (raw({"a": f32_entry(0, 4, dtype="C64")}, b"0000"), "data type 'C64' is not supported; supported are F64"),
    "dtype kind": (raw({"a": f32_entry(0, 4, dtype=["F32"])}, b"0000"), "data type .* is not supported"),
    "negative extent": (
        raw({"a": f32_entry(0, 4, [-1])}, b"0000"),
        r"shape must be .* integers .*, found \[-1\]",
    ),
    "fractional extent": (
        raw({"a": f32_entry(0, 4, [1.0])}, b"0000"),
        r"shape must be .* integers .*, found \[1.0\]",
    ),
    "boolean extent": (
        raw({"a": f32_entry(0, 4, [True])}, b"0000"),
        r"shape must be .* integers .*, found \[true\]",
    ),
    "backwards": (raw({"a": f32_entry(4, 0)}, b"0000"), r"data_offsets must be \[begin, end\], found \[4, 0\]"),
    "negative offset": (raw({"a": f32_entry(-4, 0)}, b"0000"), r"data_offsets must be \[begin, end\]"),
    "out of range": (raw({"a": f32_entry(0, 8, [2])}, b"0000"), r"\[0, 8\] reach beyond the 4 bytes of data"),
    "too large": (raw({"a": f32_entry(0, 4, [2**62, 4])}, b"0000"), "takes 73786976294838206464 bytes, but .* hold 4"),
    "size": (raw({"a": f32_entry(0, 4, [2])}, b"0000"), r"F32 of shape \[2\] takes 8 bytes, but data_offsets \[0, 4\]"),
    "overlap": (
        raw({"a": f32_entry(0, 8, [2]), "b": f32_entry(4, 12, [2])}, b"0" * 12),
        r"tensors 'a' and 'b' overlap in bytes 4\.\.8 of the data",
    ),
    "gap": (raw({"a": f32_entry(4, 8)}, b"0" * 8), "bytes 0 to 4 before tensor 'a' belong to no tensor"),
    "tail": (raw({"a": f32_entry(0, 4)}, b"0" * 7), "3 bytes after the last tensor belong to no tensor"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_says_what_and_where(tmp_path, content, message):
    path = tmp_path / "broken.safetensors"
    path.write_bytes(content)
    with pytest.raises(WeightError, match=message) as caught:
        WeightStore.load(path)
    assert str(path) in caught.value.message


def test_truth_values_are_zeros_and_ones(tmp_path):
    (tmp_path / "b.safetensors").write_bytes(raw({"b": f32_entry(0, 3, [3], "BOOL")}, b"\0\1\2"))
    loaded = WeightStore.load(tmp_path / "b.safetensors")
    with pytest.raises(WeightError, match=r"truth values at offset .* are not all 0 or 1"):
        loaded["b"].numpy()


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"a": 3}, "of 'a' must be an object, found 3"),
        ({"a": {"element": "f8"}}, "of 'a': unknown element type 'f8'"),
        ({"a": {"element": "i64"}}, "of 'a': element type i64 does not fit stored f32"),
        ({"a": {"kind": "array"}}, "of 'a': kind is 'tensor' or 'vtensor', found 'array'"),
        ({"a": {"alignment": "big"}}, "of 'a': alignment must be a power of two in bytes, got 'big'"),
    ],
)
def test_broken_facts_about_a_variable(tmp_path, facts, message):
    header = {"__metadata__": {"tx8ir.variables": json.dumps(facts)}, "a": f32_entry(0, 4)}
    (tmp_path / "broken.safetensors").write_bytes(raw(header, b"0000"))
    with pytest.raises(WeightError, match=message):
        WeightStore.load(tmp_path / "broken.safetensors")


def test_a_missing_file_a_folder_and_a_file_that_shrinks(tmp_path):
    with pytest.raises(WeightError, match=r"weight file .*nothing': expected a regular file, found nothing there"):
        WeightStore.load(tmp_path / "nothing")
    with pytest.raises(WeightError, match="expected a regular file, found a folder"):
        WeightStore.load(tmp_path)
    path = tmp_path / "w.safetensors"
    store = WeightStore()
    store.add("w", np.zeros(100, np.float32))
    store.save(path)
    loaded = WeightStore.load(path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(WeightError, match="was 656 bytes when it was opened and is 300 now"):
        loaded["w"].numpy()


@settings(max_examples=200, deadline=None)
@given(position=st.integers(0, 10_000), value=st.integers(0, 255), cut=st.one_of(st.none(), st.integers(0, 700)))
def test_a_damaged_file_loads_or_raises_a_weight_error(tmp_path_factory, position, value, cut):
    path: Path = tmp_path_factory.mktemp("damaged") / "w.safetensors"
    store = WeightStore()
    store.add("w", np.zeros((2, 3), np.float32))
    store.add("v", np.zeros(5, ml_dtypes.int4))
    store.save(path)
    content = bytearray(path.read_bytes())
    content[position % len(content)] = value
    path.write_bytes(content[:cut])
    with contextlib.suppress(WeightError):
        for variable in WeightStore.load(path).values():
            assert variable.numpy().shape == variable.type.shape
