"""Damage the files of a run, and check what every command does with them.

Each seed chooses files of a stopped run and the damage. Then `info`, `info --verify`, `plot` and `resume` must end with
a documented exit code and a reason; if the code is 0, their numbers must be those that they have without the damage.

`python tools/damage.py --seeds 500` (`make damage`) tries 500 seeds in another process, which may crash or hang.
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
from support.fuzz import run_swmodel
from support.restarts import RECORD_FILES, make_halfway_run, read_variables, simulation

#: Files that can be damaged; repeated names are chosen more often.
DAMAGED_FILES = (
    *("output.nc", "output.nc", "output.nc", "diagnostics.nc", "diagnostics.nc", "status.json", "config.toml"),
    *("restart/step-0000000007.nc", "restart/step-0000000005.nc", "output.nc.journal", "diagnostics.nc.journal"),
)
#: Sizes of the parts that are lost or swapped, like those of a disk or a file system.
PAGE_BYTES = (64, 512, 4096)
#: Seconds after which the commands of a seed count as hanging.
MAX_SEED_SECONDS = 300

#: First words of the lines that `info` prints from records and time series.
INFO_LINES = ("records", "mass", "energy", "potential enstrophy")

COMMANDS = {
    "info": "info {folder}",
    "verify": "info {folder} --verify",
    "plot": "plot {folder} --field h --field f --record 1 -o picture.png",
    "series": "plot {folder}/diagnostics.nc -o picture.png",
    "resume": "resume {folder} --steps 11",
}


def flip_bits(content, rng):
    for _ in range(rng.choice([1, 3, 20, 100])):
        content[rng.randrange(len(content))] ^= rng.randrange(1, 256)


def zero_page(content, rng):
    size = rng.choice(PAGE_BYTES)
    first = rng.randrange(len(content)) // size * size
    content[first : first + size] = bytes(len(content[first : first + size]))


def swap_pages(content, rng):
    size = rng.choice(PAGE_BYTES)
    if len(content) >= 2 * size:
        first, second = (rng.randrange(len(content) // size) * size for _ in range(2))
        first_page = content[first : first + size]
        content[first : first + size] = content[second : second + size]
        content[second : second + size] = first_page


def truncate(content, rng):
    del content[rng.randrange(len(content)) :]


def overwrite_end(content, rng):
    """Replace everything after the first 0, 8, 100 or all bytes with up to 10 000 random bytes."""
    content[rng.choice([0, 8, 100, len(content)]) :] = rng.randbytes(rng.choice([0, 1, 1000, 10_000]))


#: Kinds of damage; repeated ones are chosen more often.
DAMAGE_FUNCTIONS = (*3 * (flip_bits,), *3 * (zero_page,), *2 * (swap_pages,), truncate, *2 * (overwrite_end,))


def replace_file(path, rng):
    """Replace a file with something that is not a file; returns a description of the replacement."""
    path.unlink(missing_ok=True)
    kind = rng.choice(["nothing", "a folder", "a broken link", "a link to itself"])
    if kind == "a folder":
        path.mkdir()
    elif kind != "nothing":
        path.symlink_to("nowhere" if kind == "a broken link" else path.name)
    return kind


def damage_files(folder, seed):
    """Damage one or two files of a run at random; returns {file: damage}."""
    rng, damage_of_file = random.Random(seed), {}
    for name in dict.fromkeys(rng.choice(DAMAGED_FILES) for _ in range(rng.choice([1, 1, 1, 2]))):
        path = folder / name
        content = bytearray(path.read_bytes() if path.exists() else rng.randbytes(5000))
        if rng.random() < 0.08:
            damage_of_file[name] = replace_file(path, rng)
            continue
        change = rng.choice(DAMAGE_FUNCTIONS)
        change(content, rng)
        path.write_bytes(content)
        damage_of_file[name] = change.__name__
    return damage_of_file


class DamageCheck:
    """A stopped run to be damaged, the output of the commands on it, and the data of the undisturbed run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.stopped_run = make_halfway_run(self.folder / "half")
        self.stopped_data = {name: read_variables(self.stopped_run / name) for name in RECORD_FILES}
        simulation().run(self.folder / "whole")
        self.undisturbed_data = {name: read_variables(self.folder / "whole" / name) for name in RECORD_FILES}
        copy = self.copy_run()
        self.info_values, self.pictures = read_info_values(run_command("info", copy)[1]), {}
        for command in ("plot", "series"):
            run_command(command, copy)
            self.pictures[command] = take_picture(copy)

    def copy_run(self):
        """Copy the run into a folder with the name of the case, which pictures show if config.toml is missing."""
        shutil.rmtree(self.folder / "jet", ignore_errors=True)
        return shutil.copytree(self.stopped_run, self.folder / "jet")

    def check(self, seed, commands=COMMANDS):
        """Check that commands detect a damage or are unaffected; returns {file: damage} and {command: exit code}."""
        folder = self.copy_run()
        damage_of_file, codes = damage_files(folder, seed), {}
        for command in commands:
            codes[command], output = run_command(command, folder)
            assert codes[command] in (0, 2, 5), (codes, output)
            if codes[command] == 0 and "damaged: header" not in output:
                self.check_output(command, folder, output, "config.toml" not in damage_of_file)
        return damage_of_file, codes

    def check_output(self, command, folder, output, same_configuration):
        """Check what a successful command has read or written."""
        if command == "info":
            assert read_info_values(output).items() <= self.info_values.items(), output
        elif command in self.pictures:
            assert take_picture(folder) == self.pictures[command], f"{command} has drawn another picture"
        else:
            truth = {"verify": self.stopped_data, "resume": self.undisturbed_data}[command]
            for name in RECORD_FILES:
                if command == "resume" or (folder / name).exists():
                    assert_same_records(
                        read_variables(folder / name), truth[name], command == "verify" or same_configuration
                    )


def assert_same_records(ours, theirs, must_be_complete=True):
    """Assert equal bits of all values; without `must_be_complete`, of common variables in records of common steps."""
    our_steps, their_steps = ours["step"].tolist(), theirs["step"].tolist()
    if must_be_complete:
        assert (ours.keys(), our_steps) == (theirs.keys(), their_steps)
    common_steps = sorted({*our_steps} & {*their_steps})
    for name in ours.keys() & theirs.keys():
        our_values, their_values = ours[name], theirs[name]
        if len(their_values.shape) and len(their_values) == len(their_steps):
            our_values, their_values = (
                our_values[[our_steps.index(step) for step in common_steps]],
                their_values[[their_steps.index(step) for step in common_steps]],
            )
        assert our_values.tobytes() == their_values.tobytes(), name


def read_info_values(output):
    """{name: text} of INFO_LINES in the output of `info`."""
    pairs = (line.split("  ", 1) for line in output.splitlines() if line.startswith(INFO_LINES))
    return {name: text.strip() for name, text in pairs}


def take_picture(folder):
    """The bytes of the last picture, whose file this function removes; None if there is no picture."""
    path = folder.parent / "picture.png"
    content = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    return content


def run_command(command, folder):
    """Run a command on a folder, in this process; returns its exit code and its output."""
    previous_folder = Path.cwd()
    os.chdir(folder.parent)
    logging.getLogger("swmodel").handlers.clear()  # a run leaves a handler that writes to the stderr of its command
    try:
        (folder.parent / "picture.png").unlink(missing_ok=True)
        return run_swmodel(*COMMANDS[command].format(folder=folder.name).split())
    finally:
        os.chdir(previous_folder)


def check_seeds(seeds, pipe):
    """Check seeds in this worker process; send the result of each check, a text if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        check = DamageCheck(folder)
        for seed in seeds:
            try:
                pipe.send(check.check(seed))
            except BaseException as error:
                pipe.send(f"{type(error).__name__}: {error}"[:2000])


def check_all_seeds(seeds):
    """Check all seeds; returns the failures, {seed: text}, and {(command, exit code): count}."""
    failures, counts, remaining_seeds, context = {}, Counter(), list(seeds), multiprocessing.get_context("spawn")
    while remaining_seeds:
        receiver, sender = context.Pipe(duplex=False)
        worker, worker_failed = context.Process(target=check_seeds, args=(remaining_seeds, sender)), False
        worker.start()
        sender.close()
        while remaining_seeds and not worker_failed:
            start_time = time.monotonic()
            try:
                result = receiver.recv() if receiver.poll(MAX_SEED_SECONDS) else "a command hangs"
            except EOFError:
                result = "the process crashed"
            seed, worker_failed = remaining_seeds.pop(0), result in ("a command hangs", "the process crashed")
            if isinstance(result, str):
                failures[seed] = result
            else:
                counts.update(result[1].items())
            print(f"{seed} {time.monotonic() - start_time:.1f} s: {result}", flush=True)
        worker.kill()
        worker.join()
    return failures, counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="number of seeds")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    args = parser.parse_args()
    failures, codes = check_all_seeds(range(args.first, args.first + args.seeds))
    for (command, code), count in sorted(codes.items()):
        print(f"{command}: exit code {code} {count} times")
    print(f"{args.seeds} seeds, {len(failures)} failures: {sorted(failures)}")
    raise SystemExit(bool(failures))
