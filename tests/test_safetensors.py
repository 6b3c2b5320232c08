"""safetensors files: mapped, never read unasked, refused where they contradict the format. Oracle: the library."""

from __future__ import annotations

import gc
import json
import random
import struct
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layouts import numbers
from processes import in_process

import candela_xp as xp
from candela_xp.backends import safetensors as backend
from candela_xp.backends.safetensors import load_file

DTYPES = backend._NAMES


def written(file: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    """A file of header (JSON, or bytes as they are) and data, by nothing but the format's description."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the data is aligned, as the library writes it
    file.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return file


def entry(dtype: str, shape: Any, begin: Any, end: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def packed(arrays: dict[str, tuple[str, np.ndarray]]) -> tuple[dict[str, Any], bytes]:
    """Header and data of arrays with the format's names of their dtypes."""
    header, data = {}, b""
    for name, (dtype, array) in arrays.items():
        header[name] = entry(dtype, list(array.shape), len(data), len(data) + array.nbytes)
        data += array.tobytes()
    return header, data


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def examples() -> dict[str, tuple[str, np.ndarray]]:
    """An array of every dtype, empty and 0-d ones; the 9 bytes of the first leave all others unaligned."""
    return {
        "odd": ("U8", numbers((9,), "uint8")),
        **{name: (name, numbers((2, 3), dtype.dtype)) for name, dtype in DTYPES.items()},
        "empty": ("BF16", numbers((0, 4), xp.bfloat16.dtype)),
        "zero-d": ("F32", numbers((), "float32")),
    }


# -- what comes out ------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
def test_every_tensor_comes_as_an_array_over_the_mapped_file(tmp_path, strict):
    arrays = examples()
    header, data = packed(arrays)
    file = written(tmp_path / "weights.safetensors", {"__metadata__": {"format": "pt"}, **header}, data)
    with xp.settings(strict=strict):
        found = load_file(file)
    assert list(found) == list(arrays)
    for name, (dtype, array) in arrays.items():
        x = found[name]
        assert isinstance(x, xp.NDArray)
        assert x.dtype is DTYPES[dtype]
        assert same_bits(np.asarray(x), array)
        with pytest.raises(ValueError, match=r"read-only; use asarray\(x, copy=True\)"):
            x[...] = 1
    assert load_file(str(file)).keys() == arrays.keys()


def test_an_unaligned_weight_computes_as_an_aligned_one(tmp_path):
    for name, dtype in (("F32", xp.float32), ("BF16", xp.bfloat16), ("F64", xp.float64)):
        array = numbers((8, 8), dtype.dtype)
        header, data = packed({"odd": ("U8", numbers((1,), "uint8")), "w": (name, array)})
        w = load_file(written(tmp_path / f"{name}.safetensors", header, data))["w"]
        assert not np.asarray(w).flags.aligned
        aligned = xp.asarray(array)
        for call in (lambda x: x + x, xp.sum, xp.exp, lambda x: xp.matmul(x, x.T), lambda x: xp.sort(-x)):
            assert same_bits(np.asarray(call(w)), np.asarray(call(aligned)))


def test_the_map_ends_with_the_last_array_and_outlives_the_others(tmp_path):
    header, data = packed(examples())
    found = load_file(written(tmp_path / "weights.safetensors", header, data))
    kept = found["BF16"][1:, ::2]
    mapped = np.asarray(kept)
    while not hasattr(mapped, "close"):
        mapped = mapped.obj if isinstance(mapped, memoryview) else mapped.base
    watched = weakref.ref(mapped)
    del found, mapped
    gc.collect()
    assert np.asarray(kept).astype(np.float32).tolist() == [[4, 6]]
    del kept
    gc.collect()
    assert watched() is None


NOT_READ = """
import json, os, struct
import numpy as np
import candela_xp as xp
from candela_xp.backends.safetensors import load_file

MIB = 2**20

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

names = {"BF16": 2, "F8_E4M3": 1, "F32": 4}
header, end = {}, 0
for name, itemsize in names.items():
    header[name] = {"dtype": name, "shape": [256 // itemsize, MIB], "data_offsets": [end, end + 256 * MIB]}
    end += 256 * MIB
text = json.dumps(header).encode()
with open(FILE, "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)
    out.truncate(8 + len(text) + end)

before = resident()
weights = load_file(FILE)
views = []
for x in weights.values():
    views += [x[1:, ::2], xp.asarray(x), xp.from_dlpack(x), np.asarray(x), x.T, x.__dlpack__(max_version=(1, 1))]
    views += [xp.from_dlpack(np.asarray(x)) if x.dtype is xp.float32 else xp.asarray(np.asarray(x))]
unread = resident() - before
total = float(xp.sum(weights["F8_E4M3"][:64, :]))  # zeros, of which a quarter is read
print(unread < 8 * MIB, total == 0.0, resident() - before > 60 * MIB)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what is resident is read from Linux's proc(5)")
def test_768_mib_of_weights_are_mapped_and_exchanged_without_being_read(tmp_path):
    found = in_process(f"FILE = {str(tmp_path / 'large.safetensors')!r}\n{NOT_READ}")
    assert (found.stdout, found.stderr) == ("True True True\n", "")


# -- what is refused -----------------------------------------------------------------------------------

F32 = entry("F32", [2, 3], 0, 24)
REFUSED: dict[str, tuple[Any, int, str]] = {
    # header, bytes of data, what the message says
    "no JSON": (b"{", 0, "the header is no JSON"),
    "nothing": (b"", 0, "the header is no JSON"),
    "no UTF-8": (b'{"\xff": 1}', 0, "the header is no JSON"),
    "too deep": (b"[" * 100_000, 0, "the header is no JSON"),
    "a number of 5000 digits": (b'{"a": ' + b"1" * 5000 + b"}", 0, "the header is no JSON"),
    "a list": ([], 0, "the header is no JSON object"),
    "metadata of numbers": ({"__metadata__": {"a": 1}}, 0, "__metadata__ holds something other than strings"),
    "metadata of nothing": ({"__metadata__": None}, 0, "__metadata__ holds something other than strings"),
    "twice": (b'{"w": %b, "w": %b}' % (2 * (json.dumps(F32).encode(),)), 24, "'w' occurs twice"),
    "no entry": ({"w": 1}, 0, "tensor 'w' lacks a dtype, a shape or data_offsets"),
    "no dtype": ({"w": {"shape": [], "data_offsets": [0, 4]}}, 4, "tensor 'w' lacks a dtype"),
    "unknown dtype": ({"w": F32 | {"dtype": "F31"}}, 24, "tensor 'w' has dtype 'F31'; known are BOOL, "),
    "packed dtype": ({"w": entry("F4", [2, 3], 0, 3)}, 3, "tensor 'w' has dtype 'F4'; known are BOOL, "),
    "a list for a dtype": ({"w": F32 | {"dtype": ["F32"]}}, 24, "tensor 'w' has dtype"),
    "negative extent": ({"w": F32 | {"shape": [-2, -3]}}, 24, r"tensor 'w' has shape \[-2, -3\]"),
    "broken extent": ({"w": F32 | {"shape": [2.0, 3]}}, 24, r"tensor 'w' has shape \[2.0, 3\]"),
    "true for an extent": ({"w": F32 | {"shape": [True, 6]}}, 24, r"tensor 'w' has shape \[True, 6\]"),
    "a number for a shape": ({"w": F32 | {"shape": 6}}, 24, "tensor 'w' has shape 6"),
    "one offset": ({"w": F32 | {"data_offsets": [24]}}, 24, r"tensor 'w' has data_offsets \[24\], not a begin"),
    "negative offset": ({"w": F32 | {"data_offsets": [-24, 0]}}, 24, r"tensor 'w' has shape .* \[-24, 0\]"),
    "offsets backwards": ({"w": F32 | {"data_offsets": [24, 0]}}, 24, "tensor 'w' has 24 bytes by .*, -24 by"),
    "offsets too near": ({"w": F32 | {"data_offsets": [0, 23]}}, 23, "tensor 'w' has 24 bytes by .*, 23 by"),
    "shape of more than memory": ({"w": entry("F32", [2**40, 2**40], 0, 24)}, 24, "tensor 'w' has .* bytes by"),
    "nothing, of more than memory": ({"w": entry("F32", [0, 2**62, 4], 0, 0)}, 0, "tensor 'w' has .*, which no array"),
    "65 axes": ({"w": entry("F32", [1] * 65, 0, 4)}, 4, "tensor 'w' has shape .*, which no array can have"),
    "beyond the file": ({"w": F32}, 23, "tensor 'w', bytes 0 to 24, ends after byte 23"),
    "far beyond the file": ({"w": entry("U8", [2**62], 0, 2**62)}, 24, "tensor 'w', bytes 0 to .*, ends after byte 24"),
    "a hole before": ({"w": entry("U8", [4], 4, 8)}, 8, "tensor 'w', bytes 4 to 8, leaves a hole from byte 0 on"),
    "a hole between": (
        {"v": entry("U8", [4], 0, 4), "w": entry("U8", [4], 5, 9)}, 9, "tensor 'w', bytes 5 to 9, leaves a hole",
    ),
    "a hole at the end": ({"w": F32}, 32, "its last 8 bytes belong to no tensor"),
    "overlap": (
        {"v": entry("U8", [8], 0, 8), "w": entry("U8", [8], 4, 12)}, 12, "tensor 'w', bytes 4 to 12, overlaps another",
    ),
    "the same bytes": ({"v": F32, "w": F32}, 24, "tensor 'w', bytes 0 to 24, overlaps another"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_contradicts_the_format_is_refused_and_the_tensor_named(tmp_path, case):
    header, size, message = REFUSED[case]
    file = written(tmp_path / "bad.safetensors", header, bytes(size))
    with pytest.raises(ValueError, match=rf"load_file: .*bad\.safetensors is no safetensors file: {message}"):
        load_file(file)


@pytest.mark.parametrize("length", [9, 2**32, 2**63, 2**64 - 1])
def test_a_header_longer_than_the_file_is_refused(tmp_path, length):
    file = written(tmp_path / "bad.safetensors", {}, length=length)
    with pytest.raises(ValueError, match=rf"the header has {length} bytes, the file 16"):
        load_file(file)


def test_a_header_longer_than_the_library_reads_is_refused_unread(tmp_path):
    file = written(tmp_path / "bad.safetensors", {}, length=100_000_001)
    with file.open("r+b") as out:
        out.truncate(200_000_000)
    with pytest.raises(ValueError, match="the header has 100000001 bytes, the file 200000000; the limit is 100000000"):
        load_file(file)


@pytest.mark.parametrize("size", range(8))
def test_a_file_too_short_for_the_length_is_refused(tmp_path, size):
    (tmp_path / "short").write_bytes(bytes(size))
    with pytest.raises(ValueError, match=rf"the header has 0 bytes, the file {size}"):
        load_file(tmp_path / "short")


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "missing.safetensors")
    with pytest.raises(OSError):
        load_file(tmp_path)


# -- the library as the oracle -------------------------------------------------------------------------


def library() -> Any:
    return pytest.importorskip("safetensors.numpy", reason="safetensors is an extra: candela_xp[safetensors]")


def test_what_the_library_writes_comes_back_bit_for_bit(tmp_path):
    arrays = {name: xp.asarray(array) for name, (_, array) in examples().items()}
    file = tmp_path / "weights.safetensors"
    library().save_file({name: np.asarray(x) for name, x in arrays.items()}, file, metadata={"made": "here"})
    found = load_file(file)
    assert found.keys() == arrays.keys()
    for name, x in arrays.items():
        assert found[name].dtype is x.dtype
        assert same_bits(np.asarray(found[name]), np.asarray(x))


def test_the_library_takes_memory_as_it_lies_so_it_wants_a_dense_copy(tmp_path):
    x = xp.reshape(xp.arange(6.0), (2, 3)).T
    library().save_file({"x": np.asarray(xp.asarray(x, copy=True))}, tmp_path / "dense")
    assert bool(xp.all(load_file(tmp_path / "dense")["x"] == x))


def test_what_the_library_accepts_we_accept_and_what_it_refuses_we_refuse(tmp_path):
    numpys = library()
    header, data = packed({"a": ("F32", numbers((2, 3), "float32")), "b": ("U8", numbers((5,), "uint8"))})
    text = json.dumps(header).encode()
    sound = struct.pack("<Q", len(text)) + text + data
    seed = random.randrange(2**32)
    chosen = random.Random(seed)
    accepted = 0
    for _ in range(3000):
        blob = bytearray(sound)
        for _ in range(chosen.choice([1, 1, 1, 2])):
            place = chosen.randrange(len(blob))
            kind = chosen.random()
            if kind < 0.6:
                blob[place] = chosen.choice([chosen.randrange(256), *b'0123456789[]{},:" '])
            elif kind < 0.8:
                del blob[place]
            else:
                blob.insert(place, chosen.choice(b'0123456789[]{},:" '))
        file = tmp_path / "mutated"
        file.write_bytes(blob)
        try:
            wanted = numpys.load(bytes(blob))
        except Exception:
            wanted = None
        if wanted is None:
            with pytest.raises(ValueError, match="is no safetensors file"):
                load_file(file)
                pytest.fail(f"the library refuses {bytes(blob)!r} (seed {seed})")
            continue
        accepted += 1
        found = load_file(file)
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            assert same_bits(np.asarray(found[name]), array), (seed, blob)
    assert accepted > 100


def test_torch_and_numpy_look_at_a_mapped_weight_where_it_lies(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not part of the test extra")
    header, data = packed({"w": ("BF16", numbers((2, 3), xp.bfloat16.dtype))})
    w = load_file(written(tmp_path / "weights.safetensors", header, data))["w"]
    there = torch.from_dlpack(w)
    assert there.data_ptr() == np.asarray(w).__array_interface__["data"][0]
    assert there.to(torch.float32).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_torchs_mapped_tensors_come_in_where_they_lie(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not part of the test extra")
    safe_open = pytest.importorskip("safetensors", reason="safetensors is an extra").safe_open
    header, data = packed({"w": ("F8_E4M3", numbers((2, 3), xp.float8_e4m3fn.dtype))})
    with safe_open(written(tmp_path / "weights.safetensors", header, data), "pt") as file:
        tensor = file.get_tensor("w")
    x = xp.from_dlpack(tensor)
    assert x.dtype is xp.float8_e4m3fn
    assert np.asarray(x).__array_interface__["data"][0] == tensor.data_ptr()
    assert tensor.dtype is torch.float8_e4m3fn
    assert same_bits(np.asarray(x), numbers((2, 3), xp.float8_e4m3fn.dtype))


def test_reading_needs_nothing_beside_numpy():
    found = in_process(
        "import sys; sys.modules['safetensors'] = sys.modules['torch'] = None; import candela_xp.backends.safetensors"
    )
    assert (found.returncode, found.stderr) == (0, "")
