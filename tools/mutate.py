"""Make deliberate faults in swmodel/, one at a time, and report which test finds each.

    python tools/mutate.py [NAME ...] [--jobs N] [--first] [--write]

tools/mutations.toml has the faults: slips that a person could make, such as a sign, a halo one row short or a lost
record. Each is made in a copy of the working tree, with its own cache of compiled steps. First the tests run that
should find it, and if they all pass, all tests of `make test`, unless --first is given. A fault is found if a test
fails with it, and passes without it. For each fault the program prints the first such test and the seconds.

With --write tools/mutations_found.json has the results; those of other faults stay. The exit code is 1 if a fault
survives, or cannot be made because its old text does not occur exactly once in its file.
"""

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "tools" / "mutations_found.json"
#: What `make test` selects, and what git ignores but tests need: the compiled parts of the package.
SELECTED = "not (night or release)"
COMPILED = ("swmodel/executors/native/*.so", "swmodel/executors/native/built/*.so", "swmodel/parallel/transport/*.so")
#: Python runs this first, so that the editable installation, whose finder goes before all paths, is not what is tested.
SITE = """import sys
sys.meta_path[:] = [each for each in sys.meta_path if "_editable_" not in type(each).__module__]
"""
#: Seconds after which a run of tests is ended.
LONGEST = 3600


class Fault(NamedTuple):
    """A fault of tools/mutations.toml: the text `new` in place of `old`, and the tests to try first."""

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def copied(folder: Path) -> Path:
    """A copy of the working tree, without ignored files except the compiled parts."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    names = listed.stdout.decode().strip("\0").split("\0")
    names += [str(path.relative_to(ROOT)) for pattern in COMPILED for path in ROOT.glob(pattern)]
    for name in (name for name in names if os.path.lexists(ROOT / name)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    (folder.parent / "sitecustomize.py").write_text(SITE)
    line = [sys.executable, "-c", "import swmodel; print(swmodel.__file__)"]
    found = subprocess.check_output(line, cwd=folder.parent, env=environ_of(folder), text=True).strip()
    if not Path(found).is_relative_to(folder):
        sys.exit(f"tests in {folder} would import {found}")
    return folder


def environ_of(tree: Path) -> dict[str, str]:
    """The environment of tests in a copy."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SWMODEL_", "PYTEST_"))}
    paths = os.pathsep.join(map(str, (tree.parent, tree, tree / "tests")))
    return environ | {"PYTHONPATH": paths, "SWMODEL_CACHE": str(tree.parents[1] / "cache")}


def tested(tree: Path, *words: str) -> tuple[int, str]:
    """The exit code of pytest in a copy, up to the first failure, and the test that failed ("" for none)."""
    place, environ = tree.parent, environ_of(tree)
    line = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--basetemp={place / 'pytest'}"]
    with open(place / "output", "w+") as output:  # a pipe would be open until all processes of the tests have ended
        try:
            done = subprocess.run([*line, *words], cwd=tree, env=environ, stdout=output, stderr=output, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return 124, ""
        output.seek(0)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", output.read(), re.MULTILINE)
    return done.returncode, failed[1] if failed else ""


def trial(fault: Fault, tree: Path, others: list[list[str]]) -> tuple[str, str]:
    """The test that finds a fault, or "" and why there is none."""
    path = tree / fault.file
    right = path.read_text(encoding="utf-8")
    if (count := right.count(fault.old)) != 1:
        return "", f"its old text occurs {count} times in {fault.file}"
    path.write_text(right.replace(fault.old, fault.new), encoding="utf-8")
    try:
        for words in (fault.tests, *others):
            code, test = tested(tree, "-m", SELECTED, *words)
            if code not in (0, 5):  # 5: no test was selected
                break
    finally:
        path.write_text(right, encoding="utf-8")
    if code != 1 or not test:
        return "", "all tests pass" if code in (0, 5) else f"pytest ended with exit code {code}"
    return ("", f"{test} fails without it, too") if tested(tree, test)[0] else (test, "")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to make; without any, all")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="faults at a time")
    parser.add_argument("--first", action="store_true", help="run no tests but those to try first")
    parser.add_argument("--write", action="store_true", help=f"write the results into {FOUND.relative_to(ROOT)}")
    asked = parser.parse_args(words)
    read = tomllib.loads(Path(__file__).with_name("mutations.toml").read_text(encoding="utf-8"))["fault"]
    faults = [Fault(**each | {"tests": tuple(each["tests"])}) for each in read]
    if unknown := {*asked.names} - {fault.name for fault in faults}:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    wanted, found = [fault for fault in faults if not asked.names or fault.name in asked.names], {}
    workers = max(1, (os.cpu_count() or 1) // asked.jobs)
    others = [] if asked.first else [["-n", str(workers), "--dist", "worksteal", "tests"]]
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ThreadPoolExecutor(asked.jobs) as threads:
        trees: queue.Queue[Path] = queue.Queue()
        for number in range(asked.jobs):
            trees.put(copied(Path(folder, str(number), "tree")))

        def tried(fault: Fault) -> tuple[Fault, str, str, float]:
            tree, begin = trees.get(), time.monotonic()
            try:
                return fault, *trial(fault, tree, others), time.monotonic() - begin
            finally:
                trees.put(tree)

        for done in as_completed([threads.submit(tried, fault) for fault in wanted]):
            fault, found[fault], problem, seconds = done.result()
            print(f"{fault.name}: {found[fault] or 'NOT FOUND, ' + problem} ({seconds:.0f} s)", flush=True)
    if asked.write:
        known = json.loads(FOUND.read_text(encoding="utf-8")) | {f.name: t.partition("[")[0] for f, t in found.items()}
        FOUND.write_text(json.dumps({f.name: known.get(f.name, "") for f in faults}, indent=0) + "\n", encoding="utf-8")
    print(f"{sum(map(bool, found.values()))} of {len(found)} faults were found")
    return int(not all(found.values()))


if __name__ == "__main__":
    sys.exit(main())
