"""A file between HDF5 and the disk that passes from one state to the next at once, or not at all.

HDF5 updates its metadata in place: a process killed, or a disk full, halfway through would cost the whole file. Here
what is written behind the committed end goes to the file at once, since nothing refers to it yet, and what is written
before it stays in memory, in pages, until `commit`:

1. the file is synced: the new bytes, and the pages of the previous commit, are on the disk;
2. the pages and the new size are written into a second file, the journal, with a checksum, and synced;
3. the pages are written into the file.

Whatever happens before 2 is complete leaves the previous state with bytes behind its end, which HDF5 passes over;
whatever happens after it is repaired from the journal (`recover`). The journal is there while the file is written.
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

PAGE = 4096

#: Of a journal: mark, bytes of pages that follow, size of the file, digest of these two and the pages.
HEADER = struct.Struct("<8sqq32s")
MARK = b"swmjrnl1"

#: Before each run of pages: its place in the file and its length.
RUN = struct.Struct("<qq")


def journal_of(path) -> Path:
    """The journal beside a file."""
    path = Path(path)
    return path.with_name(path.name + ".journal")


class JournaledFile(io.RawIOBase):
    """An existing file as h5py wants it (`h5py.File(JournaledFile(path), "r+")`); an earlier journal is applied first.

    No call by HDF5 fails, because closing it after that would crash: from the first error on everything is kept in
    memory, and `check` and `commit` raise it.

    Raises:
        OSError: it cannot be read or written; BlockingIOError: another process is writing it.
    """

    def __init__(self, path):
        super().__init__()
        self.path, self.error = Path(path), None
        self._position, self._pages = 0, {}
        with contextlib.ExitStack() as undo:
            undo.callback(super().close)
            self._file = os.open(path, os.O_RDWR)
            undo.callback(os.close, self._file)
            self._journal = open_journal(self.path, new=True)
            undo.callback(os.close, self._journal)
            apply(self._journal, self._file)
            self._committed = self._size = os.fstat(self._file).st_size
            reserve(self._file, 0, self._size)
            sync_folder(self.path)
            undo.pop_all()

    def check(self) -> None:
        """Raise what has gone wrong since the last commit."""
        if self.error is not None:
            raise self.error

    def commit(self) -> None:
        """Make what was written so far the state of the file, which then outlives the process and the power.

        Raises:
            OSError: the previous state remains, or if only 3 failed, this one.
        """
        self.check()
        if not self._pages and self._size == self._committed:
            return
        try:
            reserve(self._file, self._committed, self._size)
            sync(self._file)
            write_journal(self._journal, self._size, self._runs())
            apply(self._journal, self._file)
        except OSError as error:
            self.error = error
            raise
        self._committed = self._size
        self._pages.clear()

    def close(self) -> None:
        """Close the file in the state of the last commit, and remove the journal if that is on the disk."""
        if self.closed:
            return
        super().close()
        with contextlib.suppress(OSError):
            if not apply(self._journal, self._file):
                os.ftruncate(self._file, self._committed)
            settle(self.path, self._file)
        os.close(self._file)
        os.close(self._journal)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer) -> int:
        """Fill the buffer from the position on, with zeros behind the end."""
        view, begin = memoryview(buffer).cast("B"), self._position
        end = begin + len(view)
        view[:] = read_at(self._file, begin, len(view))
        for number in range(begin // PAGE, -(-end // PAGE)):
            page = self._pages.get(number, b"")
            first, last = max(begin, number * PAGE), min(end, number * PAGE + len(page))
            if first < last:
                view[first - begin : last - begin] = page[first - number * PAGE : last - number * PAGE]
        self._position = end
        return len(view)

    def write(self, data) -> int:
        view, begin = memoryview(data).cast("B"), self._position
        self._position = end = begin + len(view)
        self._size = max(self._size, end)
        known = max(0, min(self._committed - begin, len(view)))
        try:
            if self.error is None:
                write_at(self._file, begin + known, view[known:])
        except OSError as error:
            self.error = error
        self._keep(begin, view if self.error else view[:known])
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Set the size. What was behind it is not defined if the file grows again."""
        self._size = self._position if size is None else size
        return self._size

    def flush(self) -> None:
        """Nothing: see `commit`."""

    def _keep(self, begin: int, view: memoryview) -> None:
        """Put the bytes into pages, which reach to the committed end of the file, or, after an error, beyond it."""
        end, done = begin + len(view), begin
        while done < end:
            number = done // PAGE
            start = number * PAGE
            page = self._pages.setdefault(number, bytearray())
            length = PAGE if self.error else min(PAGE, self._committed - start)
            page += read_at(self._file, start + len(page), length - len(page))
            until = min(end, start + PAGE)
            page[done - start : until - start] = view[done - begin : until - begin]
            done = until

    def _runs(self) -> list[tuple[int, bytes]]:
        """The pages within the file, neighbours joined, as (place, bytes)."""
        runs, following = [], None
        for number in sorted(self._pages):
            page = self._pages[number][: max(0, self._size - number * PAGE)]
            if number != following:
                runs.append((number * PAGE, bytearray()))
            runs[-1][1].extend(page)
            following = number + 1
        return [run for run in runs if run[1]]


def recover(path) -> bool:
    """Repair a file whose writer was killed from the journal that it left, and remove that.

    Nothing is done while a process writes the file, or where there is no permission: the file is then whole, unless its
    writer ended within the microseconds of step 3 of a commit.

    Returns:
        Whether there is no journal, or no longer.
    """
    path = Path(path)
    if not journal_of(path).exists():
        return True
    try:
        with contextlib.ExitStack() as opened:
            journal = open_journal(path)
            opened.callback(os.close, journal)
            file = os.open(path, os.O_RDWR)
            opened.callback(os.close, file)
            apply(journal, file)
            settle(path, file)
    except OSError:
        return False
    return True


def remove(path) -> None:
    """Remove a file with its journal, which would spoil the next file of that name."""
    journal_of(path).unlink(missing_ok=True)
    Path(path).unlink(missing_ok=True)


def open_journal(path: Path, new: bool = False) -> int:
    """Open the journal beside a file for this process alone, or a new one, even on a file system without locks.

    Raises:
        BlockingIOError: another process has it.
    """
    while True:
        journal = os.open(journal_of(path), os.O_RDWR | (os.O_CREAT if new else 0), 0o666)
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if isinstance(error, BlockingIOError) or not new:
                os.close(journal)
                raise
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(journal_of(path)), os.fstat(journal)):
                return journal
        os.close(journal)  # its owner removed it between the two calls


def settle(path: Path, file: int) -> None:
    """Remove the journal, once the file is on the disk."""
    sync(file)
    journal_of(path).unlink(missing_ok=True)


def write_journal(journal: int, size: int, runs: list[tuple[int, bytes]]) -> None:
    """Write and sync what a commit overwrites, and the size of the file after it."""
    pages = b"".join(RUN.pack(place, len(data)) + data for place, data in runs)
    write_at(journal, 0, HEADER.pack(MARK, len(pages), size, digest(len(pages), size, pages)) + pages)
    sync(journal)


def apply(journal: int, file: int) -> bool:
    """Write what a complete journal holds into the file, which harms nothing if done before; whether it is complete."""
    mark, length, size, expected = HEADER.unpack(read_at(journal, 0, HEADER.size))
    if mark != MARK or not 0 <= length <= os.fstat(journal).st_size or size > os.fstat(file).st_size:
        return False
    pages = read_at(journal, HEADER.size, length)
    if digest(length, size, pages) != expected:
        return False
    position = 0
    while position < length:
        place, count = RUN.unpack_from(pages, position)
        position += RUN.size + count
        write_at(file, place, memoryview(pages)[position - count : position])
    os.ftruncate(file, size)
    return True


def digest(length: int, size: int, pages: bytes) -> bytes:
    return hashlib.blake2b(RUN.pack(length, size) + pages, digest_size=32).digest()


def reserve(file: int, begin: int, end: int) -> None:
    """Have the disk keep room for these bytes, so that writing them later cannot find it full."""
    if end > begin and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, begin, end - begin)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # a file system that cannot
                raise


def read_at(file: int, place: int, length: int) -> bytes:
    """Bytes of a file, with zeros behind its end."""
    return os.pread(file, max(0, length), place).ljust(length, b"\0")


def write_at(file: int, place: int, data) -> None:
    """Write all bytes, however many the system takes at a time."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, place)
        view, place = view[written:], place + written


def sync(file: int) -> None:
    """Have what was written on the disk; without the times of a file, which would cost another write."""
    getattr(os, "fdatasync", os.fsync)(file)


def sync_folder(path: Path) -> None:
    """Make the names in the folder of a file outlive the power."""
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
