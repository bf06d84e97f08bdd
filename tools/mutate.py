"""Make deliberate faults in swmodel/, one at a time, and report which test finds each.

    python tools/mutate.py [NAME ...] [--jobs N] [--first] [--write]

tools/mutations.toml defines the faults: mistakes that a person could make, such as a wrong sign, a halo that is one row
short or a lost record. This program makes each fault in a copy of the working tree, which has its own cache of compiled
steps. First it runs the tests that should find the fault and, if they all pass, all tests of `make test`, unless
--first is given. A fault is found if a test fails with it and passes without it. For each fault the program prints the
first such test and the time in seconds.

With --write the results are written to tools/mutations_found.json, which keeps those of other faults. The exit code is
1 if a fault is not found, or cannot be made because its old text does not occur exactly once in its file.
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
RESULTS_FILE = ROOT / "tools" / "mutations_found.json"
#: The tests that `make test` selects, and the compiled parts of the package, which git ignores but tests need.
MARK_EXPRESSION = "not (night or release)"
COMPILED_FILES = (
    "swmodel/executors/native/*.so",
    "swmodel/executors/native/built/*.so",
    "swmodel/parallel/transport/*.so",
)
#: Python runs this first. It removes the finder of the editable installation, which would precede all paths.
SITECUSTOMIZE = """import sys
sys.meta_path[:] = [each for each in sys.meta_path if "_editable_" not in type(each).__module__]
"""
#: Seconds after which a run of tests is ended.
MAX_TEST_SECONDS = 3600


class Mutation(NamedTuple):
    """A fault of tools/mutations.toml: the text `new` replaces `old`; `tests` run first."""

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def copy_working_tree(folder: Path) -> Path:
    """Copy the working tree, without ignored files except the compiled parts; returns the folder of the copy."""
    listing = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    names = listing.stdout.decode().strip("\0").split("\0")
    names += [str(path.relative_to(ROOT)) for pattern in COMPILED_FILES for path in ROOT.glob(pattern)]
    for name in (name for name in names if os.path.lexists(ROOT / name)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    (folder.parent / "sitecustomize.py").write_text(SITECUSTOMIZE)
    command = [sys.executable, "-c", "import swmodel; print(swmodel.__file__)"]
    imported_file = subprocess.check_output(command, cwd=folder.parent, env=test_environment(folder), text=True).strip()
    if not Path(imported_file).is_relative_to(folder):
        sys.exit(f"tests in {folder} would import {imported_file}")
    return folder


def test_environment(tree: Path) -> dict[str, str]:
    """The environment of tests that import swmodel from a copy of the working tree."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SWMODEL_", "PYTEST_"))}
    paths = os.pathsep.join(map(str, (tree.parent, tree, tree / "tests")))
    return environ | {"PYTHONPATH": paths, "SWMODEL_CACHE": str(tree.parents[1] / "cache")}


def run_tests(tree: Path, *words: str) -> tuple[int, str]:
    """Run pytest in a copy up to the first failure; returns its exit code and the test that failed, "" for none."""
    folder, environ = tree.parent, test_environment(tree)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'pytest'}"]
    with open(folder / "output", "w+") as output:  # a pipe would stay open until all processes of the tests have ended
        try:
            process = subprocess.run(
                [*command, *words], cwd=tree, env=environ, stdout=output, stderr=output, timeout=MAX_TEST_SECONDS
            )
        except subprocess.TimeoutExpired:
            return 124, ""
        output.seek(0)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", output.read(), re.MULTILINE)
    return process.returncode, failed[1] if failed else ""


def find_failing_test(mutation: Mutation, tree: Path, all_tests: list[list[str]]) -> tuple[str, str]:
    """The test that finds a fault and "", or "" and the reason why no test does."""
    path = tree / mutation.file
    original = path.read_text(encoding="utf-8")
    if (count := original.count(mutation.old)) != 1:
        return "", f"its old text occurs {count} times in {mutation.file}"
    path.write_text(original.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        for words in (mutation.tests, *all_tests):
            code, test = run_tests(tree, "-m", MARK_EXPRESSION, *words)
            if code not in (0, 5):  # 5: no test was selected
                break
    finally:
        path.write_text(original, encoding="utf-8")
    if code != 1 or not test:
        return "", "all tests pass" if code in (0, 5) else f"pytest ended with exit code {code}"
    return ("", f"{test} fails without it, too") if run_tests(tree, test)[0] else (test, "")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to make; default: all")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="number of faults at a time")
    parser.add_argument("--first", action="store_true", help="run only the tests that should find the fault")
    parser.add_argument("--write", action="store_true", help=f"write the results to {RESULTS_FILE.relative_to(ROOT)}")
    args = parser.parse_args(argv)
    tables = tomllib.loads(Path(__file__).with_name("mutations.toml").read_text(encoding="utf-8"))["fault"]
    mutations = [Mutation(**each | {"tests": tuple(each["tests"])}) for each in tables]
    if unknown_names := {*args.names} - {mutation.name for mutation in mutations}:
        parser.error(f"no such fault: {', '.join(sorted(unknown_names))}")
    selected = [mutation for mutation in mutations if not args.names or mutation.name in args.names]
    test_of_mutation: dict[Mutation, str] = {}
    workers = max(1, (os.cpu_count() or 1) // args.jobs)
    all_tests = [] if args.first else [["-n", str(workers), "--dist", "worksteal", "tests"]]
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ThreadPoolExecutor(args.jobs) as threads:
        trees: queue.Queue[Path] = queue.Queue()
        for number in range(args.jobs):
            trees.put(copy_working_tree(Path(folder, str(number), "tree")))

        def try_mutation(mutation: Mutation) -> tuple[Mutation, str, str, float]:
            tree, start_time = trees.get(), time.monotonic()
            try:
                return mutation, *find_failing_test(mutation, tree, all_tests), time.monotonic() - start_time
            finally:
                trees.put(tree)

        for future in as_completed([threads.submit(try_mutation, mutation) for mutation in selected]):
            mutation, test, problem, seconds = future.result()
            test_of_mutation[mutation] = test
            print(f"{mutation.name}: {test or 'NOT FOUND, ' + problem} ({seconds:.0f} s)", flush=True)
    if args.write:
        results = json.loads(RESULTS_FILE.read_text(encoding="utf-8"))
        results |= {mutation.name: test.partition("[")[0] for mutation, test in test_of_mutation.items()}
        text = json.dumps({mutation.name: results.get(mutation.name, "") for mutation in mutations}, indent=0)
        RESULTS_FILE.write_text(text + "\n", encoding="utf-8")
    print(f"{sum(map(bool, test_of_mutation.values()))} of {len(test_of_mutation)} faults were found")
    return int(not all(test_of_mutation.values()))


if __name__ == "__main__":
    sys.exit(main())
