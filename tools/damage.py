"""A run folder with damaged files, and what must hold for every command on it.

Each seed chooses files of a stopped run and the damage. `info`, `info --verify`, `plot` and `resume` then end with a
documented code and a reason; if the code is 0, the numbers are those of the undisturbed run.

`python tools/damage.py --seeds 500` (`make damage`) tries so many seeds, in a process that is watched.
"""

import argparse
import logging
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.fuzz import swmodel
from support.restarts import FILES, data, make_halfway, simulation

#: Files that can be damaged; one that is repeated is chosen more often.
TARGETS = (
    *("output.nc", "output.nc", "output.nc", "diagnostics.nc", "diagnostics.nc", "status.json", "config.toml"),
    *("restart/step-0000000007.nc", "restart/step-0000000005.nc", "output.nc.journal", "diagnostics.nc.journal"),
)
#: Bytes that are lost or exchanged at once, as by a disk or a file system.
PAGES = (64, 512, 4096)
#: Seconds after which a command of the campaign counts as hanging.
PATIENCE = 300

#: What `info` reads from records and time series.
INFO = ("records", "mass", "energy", "potential enstrophy")

LINES = {
    "info": ("info",),
    "verify": ("info", "--verify"),
    "plot": ("plot", "--field", "h", "--field", "f", "--record", "1", "-o", "picture.png"),
    "series": ("plot", "--diagnostics", "-o", "picture.png"),
    "resume": ("resume", "--steps", "11"),
}


def flip(content, chance):
    """Change some bytes."""
    for _ in range(chance.choice([1, 3, 20, 100])):
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)


def zero(content, chance):
    """Set a page to zero."""
    size = chance.choice(PAGES)
    first = chance.randrange(len(content)) // size * size
    content[first : first + size] = bytes(len(content[first : first + size]))


def swap(content, chance):
    """Exchange two pages."""
    size = chance.choice(PAGES)
    if len(content) >= 2 * size:
        one, other = (chance.randrange(len(content) // size) * size for _ in range(2))
        kept = content[one : one + size]
        content[one : one + size] = content[other : other + size]
        content[other : other + size] = kept


def cut(content, chance):
    """Cut off the end."""
    del content[chance.randrange(len(content)) :]


def garble(content, chance):
    """Replace the contents after the first bytes, or after all of them."""
    content[chance.choice([0, 8, 100, len(content)]) :] = chance.randbytes(chance.choice([0, 1, 1000, 10_000]))


CHANGES = (flip, flip, flip, zero, zero, zero, swap, swap, cut, garble, garble)


def replace(path, chance):
    """Put something else in the place of a file; returns what, in words."""
    path.unlink(missing_ok=True)
    kind = chance.choice(["nothing", "a folder", "a broken link", "a link to itself"])
    if kind == "a folder":
        path.mkdir()
    elif kind != "nothing":
        path.symlink_to("nowhere" if kind == "a broken link" else path.name)
    return kind


def damage(folder, seed):
    """Damage files of a run as the seed chooses; returns {name: what was done}."""
    chance, done = random.Random(seed), {}
    for name in dict.fromkeys(chance.choice(TARGETS) for _ in range(chance.choice([1, 1, 1, 2]))):
        path = folder / name
        content = bytearray(path.read_bytes() if path.exists() else chance.randbytes(5000))
        if chance.random() < 0.08:
            done[name] = replace(path, chance)
            continue
        change = chance.choice(CHANGES)
        change(content, chance)
        path.write_bytes(content)
        done[name] = change.__name__
    return done


class Truth:
    """The run to be damaged, the output of the commands on it, and the undisturbed run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.half = make_halfway(self.folder / "half")
        self.records = {name: data(self.half / name) for name in FILES}
        simulation().run(self.folder / "whole")
        self.whole = {name: data(self.folder / "whole" / name) for name in FILES}
        copy = self.copy()
        self.numbers, self.pictures = numbers(run("info", copy)[1]), {}
        for command in ("plot", "series"):
            run(command, copy)
            self.pictures[command] = picture(copy)

    def copy(self):
        """A copy of the run, to be damaged. It has the name of the case, which pictures show without config.toml."""
        shutil.rmtree(self.folder / "jet", ignore_errors=True)
        return shutil.copytree(self.half, self.folder / "jet")

    def holds(self, seed, commands=LINES):
        """Check that no damage goes unnoticed; returns what was damaged, and {command: exit code}."""
        folder = self.copy()
        done, codes = damage(folder, seed), {}
        for command in commands:
            codes[command], said = run(command, folder)
            assert codes[command] in (0, 2, 5), (codes, said)
            if codes[command] == 0 and "damaged: header" not in said:
                self.compare(command, folder, said, "config.toml" not in done)
        return done, codes

    def compare(self, command, folder, said, same_configuration):
        """Check what a command that has succeeded has read or written."""
        if command == "info":
            assert numbers(said).items() <= self.numbers.items(), said
        elif command in self.pictures:
            assert picture(folder) == self.pictures[command], f"{command}: another picture"
        else:
            truth = {"verify": self.records, "resume": self.whole}[command]
            for name in FILES:
                if command == "resume" or (folder / name).exists():
                    assert_same_records(data(folder / name), truth[name], command == "verify" or same_configuration)


def assert_same_records(ours, theirs, all_of_them=True):
    """The values are the same to the last bit; or only those that do not change, and those of steps in both."""
    one, other = ours["step"].tolist(), theirs["step"].tolist()
    if all_of_them:
        assert (ours.keys(), one) == (theirs.keys(), other)
    both = sorted({*one} & {*other})
    for name in ours.keys() & theirs.keys():
        mine, truth = ours[name], theirs[name]
        if len(truth.shape) and len(truth) == len(other):
            mine, truth = mine[[one.index(step) for step in both]], truth[[other.index(step) for step in both]]
        assert mine.tobytes() == truth.tobytes(), name


def numbers(said):
    """{name: text} of what `info` has read from records and time series."""
    pairs = (line.split("  ", 1) for line in said.splitlines() if line.startswith(INFO))
    return {name: text.strip() for name, text in pairs}


def picture(folder):
    """The bytes of the picture that was drawn last, which is removed; None if there is none."""
    path = folder.parent / "picture.png"
    content = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    return content


def run(command, folder):
    """A command on a folder, in this process: its exit code and its output."""
    before = Path.cwd()
    os.chdir(folder.parent)
    logging.getLogger("swmodel").handlers.clear()  # a run leaves one to the stderr of its own command
    try:
        (folder.parent / "picture.png").unlink(missing_ok=True)
        first, *more = LINES[command]
        return swmodel(first, folder.name, *more)
    finally:
        os.chdir(before)


def work(seeds, pipe):
    """Try seeds in a process of its own; send what each has found, as words if it is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        truth = Truth(folder)
        for seed in seeds:
            try:
                pipe.send(truth.holds(seed))
            except BaseException as error:
                pipe.send(f"{type(error).__name__}: {error}"[:2000])


def campaign(seeds):
    """Try all seeds; returns what is wrong, {seed: words}, and how often each command had which code."""
    wrong, counts, left, context = {}, Counter(), list(seeds), multiprocessing.get_context("spawn")
    while left:
        ours, theirs = context.Pipe(duplex=False)
        worker, lost = context.Process(target=work, args=(left, theirs)), False
        worker.start()
        theirs.close()
        while left and not lost:
            begun = time.monotonic()
            try:
                found = ours.recv() if ours.poll(PATIENCE) else "it hangs"
            except EOFError:
                found = "the process crashed"
            seed, lost = left.pop(0), found in ("it hangs", "the process crashed")
            if isinstance(found, str):
                wrong[seed] = found
            else:
                counts.update(found[1].items())
            print(f"{seed} {time.monotonic() - begun:.1f} s: {found}", flush=True)
        worker.kill()
        worker.join()
    return wrong, counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    found, codes = campaign(range(asked.first, asked.first + asked.seeds))
    for (command, code), count in sorted(codes.items()):
        print(f"{command}: exit code {code} {count} times")
    print(f"{asked.seeds} seeds, {len(found)} wrong: {sorted(found)}")
    raise SystemExit(bool(found))
