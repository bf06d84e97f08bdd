"""Which tests run when: the one place that says so.

`make check`    what needs neither MPI nor long compilation, between two edits: tests without a mark of this table
`make test`     these, and those marked `compiled` and `mpi`: each promise of docs/trust.md at least once
`make test-all` those marked `night`: faults, kills and resumes, random input, packaging, notebooks, documentation
"""

import pytest

#: Beginnings of the names of tests, relative to tests/, that only `make test-all` runs.
NIGHT = (
    "cases/test_double_gyre.py::test_wind_work",
    "cases/test_global_m2.py::test_the_tide_drives",
    "cases/test_salish_sea.py::test_the_semidiurnal_tide",
    "cases/test_seamount.py::test_potential_vorticity",
    "cases/test_turbulence.py",
    "cli/test_fuzz.py",
    "ensemble/test_ensemble.py::test_with_reproducible",
    "ensemble/test_ensemble_memory.py",
    "examples/",
    "executors/test_compile.py::test_how_much_the_compiler_optimises",
    "executors/test_own_terms.py::test_a_sweep_over_what_a_term_reads",
    "files/test_integrity.py::test_any_damage",
    "files/test_integrity.py::test_a_file_on_which_hdf5_crashes",
    "files/test_journal.py::test_a_disk_that_is_full_at_any_moment",
    "gradients/test_gradients_memory.py::test_what_is_observed_counts",
    "gradients/test_native.py::test_derivatives_by_the_native_step",
    "gradients/test_sensitivity.py::test_maps_are_the_derivatives",
    "gradients/test_sensitivity.py::test_there_is_a_picture",
    "model/test_functional.py::test_without_fused_multiply_adds",
    "model/test_outputs_agree.py::test_a_member_of_an_ensemble",
    "model/test_outputs_agree.py::test_a_run_that_was_interrupted",
    "model/test_outputs_agree.py::test_a_run_twice",
    "model/test_outputs_agree.py::test_what_derivatives_and_assimilation_observe",
    "mpi/",
    "ocean/test_poison.py::test_static_fields_beyond",
    "ocean/test_poison.py::test_what_fresh_memory_holds",
    "ocean/test_tide.py::test_a_tide_that_grows_slowly",
    "ocean/test_tracers.py::test_the_gradient_by_the_second_initial_field",
    "parallel/test_fourier.py",
    "parallel/test_interrupt.py",
    "parallel/test_join.py",
    "parallel/test_sharded.py",
    "parallel/test_streams.py",
    "plotting/test_page.py::test_a_browser",
    "plotting/test_picture_files.py::test_a_folder_that_cannot_be_written",
    "setup/checks/test_stability.py::test_just_below_the_limit_waves_leave",
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
    "mpi/test_ensemble.py::test_five_members",
    "mpi/test_files.py::test_reproducible_files",
    "mpi/test_launch.py::test_two_processes_leave_a_complete_run",
    "mpi/test_layouts.py::test_a_rank_that_fails",
    "mpi/test_layouts.py::test_the_bits_of_a_gradient",
    "mpi/test_layouts.py::test_the_native_step_has_the_same_bits",
    "mpi/test_restart.py::test_another_number_of_processes_goes_on[1",
    "mpi/test_sharded.py::test_each_transport_goes_on_from_another_and_leaves_the_files_of_one_process[devices",
    "mpi/test_soak.py::test_a_run_killed_and_resumed_at_random_moments_has_the_bits_of_an_undisturbed_one[1",
    "mpi/test_slurm.py::test_only_a_run_that_can_be_resumed",
    "parallel/test_fourier.py::test_transforms_are_those_of_scipy",
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
