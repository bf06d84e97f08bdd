"""Which tests run when: the one place that says so.

`make check`    what needs neither MPI nor long compilation, between two edits: tests without a mark of this table
`make test`     these, and those marked `compiled` and `mpi`: each promise of docs/trust.md at least once
`make test-all` those marked `night`: faults, kills and resumes, random input, packaging, notebooks, documentation
"""

import pytest

#: Beginnings of the names of tests, relative to tests/, that only `make test-all` runs.
NIGHT = (
    "cli/test_fuzz.py",
    "files/test_integrity.py::test_any_damage",
    "files/test_integrity.py::test_a_file_on_which_hdf5_crashes",
    "mpi/test_bench.py",
    "mpi/test_doctor.py",
    "mpi/test_ensemble.py::test_a_killed_rank",
    "mpi/test_ensemble.py::test_what_only_one_process_meets",
    "mpi/test_faults.py",
    "mpi/test_launch.py",
    "mpi/test_sensitivity.py::test_a_signal",
    "mpi/test_sharded.py::test_a_killed_process",
    "mpi/test_sharded.py::test_a_process_with_too_few_devices",
    "mpi/test_sharded.py::test_processes_of_devices_that_are_stopped",
    "mpi/test_slurm.py::test_a_job_is_stopped",
    "mpi/test_soak.py::test_a_run_killed_and_resumed_at_random_moments_has_the_bits_of_an_undisturbed_one[4",
    "mpi/test_stop.py",
    "parallel/test_interrupt.py",
    "parallel/test_streams.py",
    "slurm/",
    "test_notebooks.py",
    "test_packaging.py",
    "test_readme.py::test_commands",
    "test_readme.py::test_the_table",
    "test_site.py",
    "test_tools.py",
    "test_typing.py",
)
#: Of these, what `make test` runs nevertheless: a promise that nothing else proves, or a start of ranks.
DAY = (
    "cli/test_fuzz.py::test_any_configuration_is_complete_or_refused_with_reasons",
    "mpi/test_launch.py::test_two_processes_leave_a_complete_run",
    "test_notebooks.py::test_a_notebook_runs_as_it_is_and_shows_what_it_is_kept_with[first_run",
)
#: What starts several processes.
MPI = ("mpi/",)
#: What takes too long for `make check`, beside tests of derivatives and of the executor xla.
LONG = (
    *("assimilation/", "bench/", "cases/", "ensemble/", "examples/", "executors/", "gradients/", "ocean/", "plotting/"),
    *("files/test_journal.py", "files/test_samples.py", "files/test_spectra.py", "files/test_own_case.py"),
    *("setup/checks/test_stability.py", "model/test_outputs_agree.py", "model/test_programs.py"),
    *("parallel/test_fourier.py", "parallel/test_join.py", "parallel/test_sharded.py", "parallel/test_spawn.py"),
    *("test_readme.py", "test_python_page.py"),
)
#: Of these, what does not.
SHORT = ("executors/test_reference",)


def tier(name: str) -> str:
    """The tier of a test by its name, as pytest writes it from tests/ on: "night", "mpi", "compiled" or "check"."""
    name = name.removeprefix("tests/")
    if name.startswith(NIGHT) and not name.startswith(DAY):
        return "night"
    if name.startswith(MPI):
        return "mpi"
    return "compiled" if name.startswith(LONG) and not name.startswith(SHORT) else "check"


def waits_for_compilation(item) -> bool:
    """Whether a test compiles derivatives, or steps in XLA."""
    return "quickly_compiled" in item.fixturenames or of_xla(item)


def of_xla(item) -> bool:
    """Whether a test is one of the executor xla, by its parameters."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(isinstance(value, str) and value == "xla" for value in values)


def mark(item):
    """Mark a test with its tier."""
    name = tier(item.nodeid)
    if name != "check":
        item.add_marker(getattr(pytest.mark, name))
    if waits_for_compilation(item):
        item.add_marker(pytest.mark.compiled)
