"""A file between HDF5 and the disk with atomic commits.

HDF5 updates its metadata in place: if the process is killed or the disk fills up meanwhile, the whole file is lost.
Here, bytes beyond the end of the last commit go directly to the file, because nothing refers to them yet. Changes of
bytes before that end stay in memory, in pages, until `commit`:

1. It syncs the file, so that the new bytes, and the pages of the previous commit, are on the disk.
2. It writes the pages, the new size and a checksum into a second file, the journal, and syncs the journal.
3. It writes the pages into the file.

A failure before the end of step 2 leaves the previous state, followed by bytes that HDF5 ignores. After a later
failure, `recover` repairs the file from the journal, which exists while the file is open for writing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import struct
from pathlib import Path

JOURNAL_SUFFIX = ".journal"
PAGE_BYTES = 4096

#: The header of a journal: MAGIC, number of bytes of pages, size of the file, digest of these two and the pages.
JOURNAL_HEADER = struct.Struct("<8sqq32s")
MAGIC = b"swmjrnl1"

#: The header of each page: its offset in the file and its length.
PAGE_HEADER = struct.Struct("<qq")


def journal_path(path) -> Path:
    path = Path(path)
    return path.with_name(path.name + JOURNAL_SUFFIX)


class JournaledFile(io.RawIOBase):
    """An existing file for `h5py.File(JournaledFile(path), "r+")`; a journal left by a killed writer is applied first.

    The methods that HDF5 calls raise no errors, because HDF5 would crash when it closes the file. After the first error
    all further bytes stay in memory, and `check` and `commit` raise the error.

    OSError: the file cannot be read or written. BlockingIOError: another process is writing it.
    """

    def __init__(self, path):
        super().__init__()
        self.path, self.error = Path(path), None
        self._position, self._pages = 0, {}
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(super().close)
            self._file = os.open(path, os.O_RDWR)
            cleanup.callback(os.close, self._file)
            self._journal = open_journal(self.path, create=True)
            cleanup.callback(os.close, self._journal)
            apply_journal(self._journal, self._file)
            self._committed_size = self._size = os.fstat(self._file).st_size
            reserve_disk_space(self._file, 0, self._size)
            sync_path(self.path.parent)
            cleanup.pop_all()

    def check(self) -> None:
        """Raise the first error, if there was one."""
        if self.error is not None:
            raise self.error

    def commit(self) -> None:
        """Make the contents durable. OSError: the previous state remains, or the new one if only step 3 failed."""
        self.check()
        if not self._pages and self._size == self._committed_size:
            return
        try:
            reserve_disk_space(self._file, self._committed_size, self._size)
            sync_data(self._file)
            sizes = {number: min(PAGE_BYTES, self._size - number * PAGE_BYTES) for number in sorted(self._pages)}
            pages = [(n * PAGE_BYTES, self._pages[n][:size]) for n, size in sizes.items() if size > 0]
            write_journal(self._journal, self._size, pages)
            apply_journal(self._journal, self._file)
        except OSError as error:
            self.error = error
            raise
        self._committed_size = self._size
        self._pages.clear()

    def close(self) -> None:
        """Close the file in the state of the last commit, and remove the journal once that state is on the disk."""
        if self.closed:
            return
        super().close()
        with contextlib.suppress(OSError):
            if not apply_journal(self._journal, self._file):
                os.ftruncate(self._file, self._committed_size)
            sync_and_remove_journal(self.path, self._file)
        os.close(self._file)
        os.close(self._journal)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        return self._position

    def readinto(self, buffer) -> int:
        """Fill the buffer with the bytes from the current position on, and with zeros beyond the end of the file."""
        view, start = memoryview(buffer).cast("B"), self._position
        end = start + len(view)
        view[:] = read_at(self._file, start, len(view))
        for page_number in range(start // PAGE_BYTES, -(-end // PAGE_BYTES)):
            page = self._pages.get(page_number, b"")
            first, last = max(start, page_number * PAGE_BYTES), min(end, page_number * PAGE_BYTES + len(page))
            if first < last:
                view[first - start : last - start] = page[
                    first - page_number * PAGE_BYTES : last - page_number * PAGE_BYTES
                ]
        self._position = end
        return len(view)

    def write(self, data) -> int:
        view, begin = memoryview(data).cast("B"), self._position
        self._position = end = begin + len(view)
        self._size = max(self._size, end)
        n_committed = max(0, min(self._committed_size - begin, len(view)))
        try:
            if self.error is None:
                write_at(self._file, begin + n_committed, view[n_committed:])
        except OSError as error:
            self.error = error
        self._store_in_pages(begin, view if self.error else view[:n_committed])
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Set the size. Bytes beyond it are undefined if the file grows again."""
        self._size = self._position if size is None else size
        return self._size

    def _store_in_pages(self, start: int, view: memoryview) -> None:
        """Store bytes in pages, which reach at most to the committed end of the file, or after an error beyond it."""
        end, position = start + len(view), start
        while position < end:
            page_number = position // PAGE_BYTES
            page_start = page_number * PAGE_BYTES
            page = self._pages.setdefault(page_number, bytearray())
            length = PAGE_BYTES if self.error else min(PAGE_BYTES, self._committed_size - page_start)
            page += read_at(self._file, page_start + len(page), length - len(page))
            stop = min(end, page_start + PAGE_BYTES)
            page[position - page_start : stop - page_start] = view[position - start : stop - start]
            position = stop


def recover(path) -> bool:
    """Repair a file from the journal of a killed writer; returns whether no journal is left.

    While a process writes the file, or without permission to write it, the function does nothing. Without a repair the
    file is still intact, unless its writer was killed within the microseconds of step 3 of a commit.
    """
    path = Path(path)
    if not journal_path(path).exists():
        return True
    try:
        with contextlib.ExitStack() as descriptors:
            journal = open_journal(path)
            descriptors.callback(os.close, journal)
            file = os.open(path, os.O_RDWR)
            descriptors.callback(os.close, file)
            apply_journal(journal, file)
            sync_and_remove_journal(path, file)
    except OSError:
        return False
    return True


def remove_with_journal(path) -> None:
    """Remove a file and its journal, because the journal would damage the next file of that name."""
    journal_path(path).unlink(missing_ok=True)
    Path(path).unlink(missing_ok=True)


def open_journal(path: Path, create: bool = False) -> int:
    """Open the journal of a file and lock it; BlockingIOError: another process holds the lock.

    With `create`, the journal need not exist, and it stays unlocked if the file system has no locks.
    """
    journal = os.open(journal_path(path), os.O_RDWR | (os.O_CREAT if create else 0), 0o666)
    try:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(journal_path(path))  # fails if its writer has removed it between the two calls
    except OSError as error:
        if isinstance(error, (BlockingIOError, FileNotFoundError)) or not create:
            os.close(journal)
            raise
    return journal


def sync_and_remove_journal(path: Path, file: int) -> None:
    sync_data(file)
    journal_path(path).unlink(missing_ok=True)


def write_journal(journal: int, size: int, pages: list[tuple[int, bytes]]) -> None:
    """Write and sync the pages of a commit, and the size of the file after it."""
    joined = b"".join(PAGE_HEADER.pack(offset, len(data)) + data for offset, data in pages)
    write_at(journal, 0, JOURNAL_HEADER.pack(MAGIC, len(joined), size, digest(len(joined), size, joined)) + joined)
    sync_data(journal)


def apply_journal(journal: int, file: int) -> bool:
    """Write the pages of a complete journal into the file, which may be repeated; returns whether it is complete."""
    magic, length, size, expected = JOURNAL_HEADER.unpack(read_at(journal, 0, JOURNAL_HEADER.size))
    if magic != MAGIC or not 0 <= length <= os.fstat(journal).st_size or size > os.fstat(file).st_size:
        return False
    pages = read_at(journal, JOURNAL_HEADER.size, length)
    if digest(length, size, pages) != expected:
        return False
    position = 0
    while position < length:
        offset, n_bytes = PAGE_HEADER.unpack_from(pages, position)
        position += PAGE_HEADER.size + n_bytes
        write_at(file, offset, memoryview(pages)[position - n_bytes : position])
    os.ftruncate(file, size)
    return True


def digest(length: int, size: int, pages: bytes) -> bytes:
    return hashlib.blake2b(PAGE_HEADER.pack(length, size) + pages, digest_size=32).digest()


def reserve_disk_space(file: int, start: int, end: int) -> None:
    """Reserve disk space for bytes [start, end), so that writing them later cannot fail on a full disk."""
    if end > start and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, start, end - start)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # the file system cannot reserve
                raise


def read_at(file: int, offset: int, length: int) -> bytes:
    """Read bytes of a file, with zeros beyond its end."""
    return os.pread(file, max(0, length), offset).ljust(length, b"\0")


def write_at(file: int, offset: int, data) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def sync_data(file: int) -> None:
    """Sync the contents of a file, but not its time stamps, which would cost another write."""
    getattr(os, "fdatasync", os.fsync)(file)


def sync_path(path: Path) -> None:
    """Sync a file, or a folder, so that the names in it are durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
