"""Files of a run that a test has changed on purpose."""

import h5py

from swmodel.files.integrity import checksums


def resealed(path) -> None:
    """Write the checksum of a file's header anew, so that the file does not count as damaged."""
    with h5py.File(path, "r+") as file:
        checksums.seal_header(file)
