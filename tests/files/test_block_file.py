"""A file of distributed fields is whole or not there, and one that was damaged is not read."""

import h5py
import numpy as np
import pytest
from support.ranks import run_ranks

from swmodel.errors import FilesError
from swmodel.files.block_file import read_blocks, write_blocks
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial

SHAPE = (70, 90)
RNG = np.random.default_rng(0)
FIELDS = {"w": RNG.standard_normal(SHAPE), "records": RNG.standard_normal((3, *SHAPE)), "gravity": np.float64(9.81)}
WHOLE = Serial(block(0, (1, 1), *SHAPE))


def write(path, transport=WHOLE, **more):
    rows, columns = (slice(span.start, span.stop) for span in (transport.block.y, transport.block.x))
    fields = {name: values[..., rows, columns] if values.ndim else values for name, values in (FIELDS | more).items()}
    write_blocks(path, fields, "words", SHAPE, transport)


def test_blocks_of_any_layout_make_one_file_that_any_other_layout_reads(tmp_path):
    run_ranks(lambda transport: write(tmp_path / "file.h5", transport), (2, 3), *SHAPE)
    fields, text = read_blocks(tmp_path / "file.h5", WHOLE.block)
    assert text == "words"
    assert {name: values.tobytes() for name, values in fields.items()} == {k: v.tobytes() for k, v in FIELDS.items()}


def test_one_wrong_bit_is_found(tmp_path):
    path = tmp_path / "file.h5"
    write(path)
    with h5py.File(path) as file:
        place = file["w"].id.get_chunk_info(0).byte_offset + 100
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(FilesError, match=r"cannot be read: .*filter returned failure"):
        read_blocks(path, WHOLE.block)
