"""Which tests run when: the one place that says so.

`make check`    what needs neither MPI nor long compilation, between two edits: tests without a mark of this table
`make test`     these, and those marked `compiled` and `mpi`: each promise of docs/trust.md at least once
`make test-all` those marked `night`: faults, kills and resumes, random input, packaging, notebooks, documentation, and
                what repeats a theorem for another executor, stepper, scheme, case or precision
"""

import pytest

#: Files and folders of tests/, and beginnings of the names of their tests, that only `make test-all` runs.
NIGHT = {
    "assimilation/test_assimilate.py": ("another_twin", "perfect_observations", "a_run_that_blows_up"),
    "assimilation/test_background.py": ("the_transpose_is_that_of_jax",),
    "assimilation/test_background_correlations.py": (
        *("far_from_coasts", "fields_of_different_lengths", "the_series_is_as_exact"),
        *("with_land", "without_land"),
    ),
    "assimilation/test_background_noise.py": ("a_block_has",),
    "assimilation/test_corrections.py": ("surges_from",),
    "assimilation/test_impact.py": ("stations_share",),
    "assimilation/test_letkf_cycles.py": ("[float32", "a_corrected_member"),
    "assimilation/test_observations.py": ("the_file_satisfies",),
    "assimilation/test_observations_operator.py": ("the_shares", "the_transpose"),
    "bench/test_bench_numbers.py": ("report_and_compare",),
    "bench/test_known_answers.py": (
        *("[williamson_5", "[galewsky_jet", "[chile_2010", "[exact_derivatives", "[bickley"),
        *("[run_up_around", "[run_up_at_monai", "[tide_over_flats", "[inertial_circle", "[open_side"),
        *("[canal_tide", "[energy_is_conserved", "[turned_grid"),
    ),
    "bench/test_bench_samples.py": ("a_right_answer", "a_wrong_answer_of", "an_ensemble_is_measured"),
    "bmi/test_tester.py": (),
    "cases/test_double_gyre.py": ("weak_gyres", "wind_work"),
    "cases/test_global_m2.py": ("the_tide_drives", "what_the_moon_gives"),
    "cases/test_hurricane.py": ("a_run_has_its_track", "a_run_without_a_date", "the_surge"),
    "cases/test_rest.py": ("lake_stays_at_rest",),
    "cases/test_salish_sea.py": ("the_semidiurnal_tide",),
    "cases/test_seamount.py": ("an_anticyclone_grows",),
    "cases/test_steady_zonal.py": ("other_fluxes",),
    "cases/test_stommel.py": (),
    "cases/test_turbulence.py": (),
    "cases/test_vortex.py": ("error_is_of_second_order",),
    "cli/test_fuzz.py": (),
    "config/test_remarks.py": ("records_of_every_case",),
    "config/loading/test_load.py": ("the_resolved_text", "the_text_of_a_configuration"),
    "docs/test_pages.py": ("the_blocks",),
    "ensemble/test_ensemble.py": ("with_reproducible",),
    "ensemble/test_ensemble_memory.py": (),
    "ensemble/test_ensemble_records.py": ("the_file_satisfies",),
    "examples/": (),
    "executors/test_compile.py": (
        *("a_cache_that_others_can", "a_compiler_that_fails", "a_full_disk", "a_library_that", "a_run_says"),
        *("another_compiler", "how_much_the_compiler", "many_processes", "who_waits", "without_a_compiler_a_step"),
    ),
    "executors/test_conformance.py": ("every_open_side", "every_stepper", "every_term", "thin_domains"),
    "executors/test_derive.py": ("tangent_and_transpose",),
    "executors/test_generated.py": ("a_term_of_ones_own",),
    "executors/test_native.py": (
        *("no_full_array", "several_steps", "thin_and_odd", "threads_and_calls", "what_is_far_from_water"),
    ),
    "executors/test_own_terms.py": (
        *("a_sweep_over_what", "a_term_that_changes", "derivatives_go_through"),
        *("conditions_of_fields", "the_time_of_a_term", "what_the_native_step_cannot"),
        "[jax",
    ),
    "executors/test_reference_answers.py": ("order_of_each_stepper",),
    "files/relief/test_grid.py": ("panama_is_closed", "the_file_satisfies"),
    "files/store/test_record_store.py": ("after_a_kill", "xarray_reads"),
    "files/store/test_restart_stores.py": ("a_failure_of", "fields_from_python"),
    "files/store/test_store_damage.py": ("a_flipped_bit",),
    "files/store/test_store_resume.py": ("a_continued_store",),
    "files/test_foreign_files.py": ("a_run_goes_on_whatever",),
    "files/test_given.py": ("eastward_and_northward", "the_command_line", "fields_that_vary"),
    "files/test_harmonics.py": ("the_constants_of_a_canal",),
    "files/test_integrity.py": (
        *("a_file_on_which_hdf5", "a_file_that_is_none", "an_error_of_any_kind"),
        *("any_damage", "what_is_damaged"),
    ),
    "files/test_journal.py": ("a_disk_that_is_full", "a_kill_at_any"),
    "files/test_output.py": ("data_are_the_same", "output_satisfies", "readers_find"),
    "files/test_output_continue.py": ("a_continued_file",),
    "files/test_output_on_a_sphere.py": ("the_file_satisfies",),
    "files/test_parcels.py": (),
    "files/test_own_case.py": ("a_class_from", "looking_at_a_run"),
    "files/test_restart.py": ("a_restart_is_invisible", "a_run_in_pieces", "when_restart_files"),
    "files/test_restart_files.py": ("members_are_the_same",),
    "files/test_samples.py": ("the_files_satisfy", "within_the_loop"),
    "files/test_spectra.py": (*("a_budget", "one_record", "the_command_writes", "the_files_satisfy"),),
    "gradients/test_corrections.py": ("[xla",),
    "gradients/test_gradients.py": ("a_number_for", "derivatives_are_exact", "what_is_kept"),
    "gradients/test_gradients_memory.py": ("a_process_holds", "what_is_observed_counts"),
    "gradients/test_incident.py": (),
    "gradients/test_native.py": (),
    "gradients/test_parameters.py": ("momentum_is_conserved", "second_derivatives"),
    "gradients/test_sensitivity.py": (
        *("integrals_are", "maps_are_the", "maps_reach", "numbers_have", "short_pieces"),
        *("there_is_a_picture", "the_transport_of", "transport_through"),
    ),
    "gradients/test_sensitivity_cli.py": ("a_signal", "tides_that_a_run"),
    "model/test_calls.py": ("functions_are_called",),
    "model/test_door.py": ("a_bad_configuration",),
    "model/test_forcing.py": ("a_run_does_not", "a_run_goes_on", "no_garbage"),
    "model/test_functional.py": (*("a_simulation_on_devices", "in_blocks", "it_takes", "its_gradient", "vmap"),),
    "model/test_health.py": (*("a_tracer_within", "water_that_falls", "[xla"),),
    "model/test_outputs_agree.py": (
        *("a_member_of", "a_run_that_was", "a_run_twice", "what_derivatives", "[reference constant"),
        *("[reference recorded", "[native constant", "[native formula", "[reference formula", "[xla"),
    ),
    "model/test_programs.py": ("a_run_of_another_kind", "a_second_run", "what_is_compiled"),
    "mpi/": (),
    "ocean/test_diagnostics.py": ("same_bits_on",),
    "ocean/test_elliptic.py": ("potentials_are_written", "the_discrete_equation", "the_program_of_the_page"),
    "ocean/test_open_sides.py": ("a_pulse_leaves", "a_run_lies", "a_storm", "oblique_waves"),
    "ocean/test_open_sides_inflow.py": ("gauges_and",),
    "ocean/test_parametric.py": ("cells_around", "the_pure_step"),
    "ocean/test_poison.py": (
        *("a_native_call", "beyond_halo", "static_fields_beyond", "the_declared", "what_fresh_memory"),
    ),
    "ocean/test_rotated.py": ("fields_and_vectors", "the_file_of"),
    "ocean/test_rotation.py": ("a_turned_domain",),
    "ocean/test_scaling.py": ("other_units",),
    "ocean/test_spectra.py": ("the_budget",),
    "ocean/test_terms.py": ("the_phase",),
    "ocean/test_tide.py": ("a_tide_that_grows_slowly",),
    "ocean/test_tracers.py": ("diffusion_agrees", "the_gradient_by", "two_tracers"),
    "parallel/test_fourier.py": (),
    "parallel/test_interrupt.py": (),
    "parallel/test_join.py": (),
    "parallel/test_sharded.py": (),
    "parallel/test_streams.py": (),
    "plotting/test_page.py": ("a_browser", "a_page_that_would"),
    "plotting/test_picture_fields.py": ("what_is_computed",),
    "plotting/test_picture_files.py": ("a_folder_that_cannot_be_written", "a_full_disk"),
    "plotting/test_picture_options.py": ("a_film",),
    "plotting/test_places.py": ("of_many_gauges", "the_page_of"),
    "plotting/test_plotting.py": ("a_film_has_one_frame", "panels_have_the_shape", "plot_writes"),
    "setup/checks/test_stability.py": ("just_below_the_limit_waves_leave",),
    "setup/fields/test_input_coordinates.py": ("however_a_file_lies",),
    "setup/fields/test_netcdf_input.py": ("every_field_is_read",),
    "slurm/": (),
    "test_notebooks.py": (),
    "test_packaging.py": (),
    "test_project_files.py": (),
    "test_readme.py": ("the_table",),
    "test_site.py": (),
    "test_tools.py": (),
    "test_typing.py": (),
    "test_wheel.py": (),
}
#: Of these, what `make test` runs nevertheless: a promise that nothing else proves, or one of the kinds of a theorem.
DAY = {
    "assimilation/test_background.py": ("[{'periodic_y': False, 'periodic_x': True",),
    "assimilation/test_background_correlations.py": ("[(11", "[4-8", "[5-1e-05"),
    "assimilation/test_background_noise.py": ("[layout1",),
    "assimilation/test_observations_operator.py": ("[layout1",),
    "bench/test_bench_samples.py": ("a_right_answer_is_timed[jet",),
    "cases/test_rest.py": ("[energy",),
    "cases/test_vortex.py": ("[overrides1",),
    "cli/test_fuzz.py": ("any_configuration_is_complete",),
    "config/loading/test_load.py": ("[hurricane", "[jet"),
    "docs/test_pages.py": ("[input",),
    "executors/test_compile.py": ("a_compiler_that_fails_is_one_line_and_leaves_nothing_behind[error",),
    "executors/test_conformance.py": ("[native", "[xla-float64-1e-12-ab2", "[xla-energy", "[xla-size0", "[xla-south"),
    "executors/test_derive.py": ("[arakawa_lamb-rk4", "[energy"),
    "executors/test_generated.py": ("a_term_of_ones_own_is_computed_as_xla_does[float32",),
    "executors/test_native.py": (
        *("no_full_array_is_copied[ab2-1", "[2-harmonic-leapfrog", "[3-all terms-ab3", "[4-harmonic-ab2", "[size4"),
        *("[ab3-float64", "[leapfrog-float32", "[rk3-float32", "[ab3-3", "[rk3-1-sides5"),
    ),
    "executors/test_own_terms.py": ("[native-rk3",),
    "executors/test_reference_answers.py": ("[ab3", "[rk4"),
    "files/relief/test_grid.py": ("[1.0",),
    "files/store/test_record_store.py": ("[3]", "[float32-layout1", "[float64-layout3"),
    "files/store/test_restart_stores.py": ("[1-_write", "[0-_verify"),
    "files/store/test_store_damage.py": ("[0.3",),
    "files/store/test_store_resume.py": ("[before1-14-after1-layouts1", "[before2--1-after2-layouts3"),
    "files/test_foreign_files.py": ("[latin-1",),
    "files/test_given.py": ("[one",),
    "files/test_integrity.py": (
        *("[output.nc-<lambda>-variable h", "[output.nc-<lambda>-header", "[diagnostics.nc-<lambda>-variable cfl"),
        *("[output.nc-empty", "[config.toml-a link", "[status.json-no text", "[SystemExit"),
    ),
    "files/test_journal.py": ("a_kill_at_any_moment_leaves_the_records_before_or_with_the_one_in_flight[small",),
    "files/test_output.py": ("[True",),
    "files/test_output_continue.py": ("[before1",),
    "files/test_parcels.py": ("in_a_strain",),
    "files/test_restart.py": (
        *("[ab2-float32-reference", "[ab3-float64-native", "[leapfrog-float32-native", "[rk3-float32-native"),
        *("[stops3", "[options1", "[options4"),
    ),
    "files/test_restart_files.py": ("[2-4194304-",),
    "files/test_samples.py": ("[native-rk3",),
    "gradients/test_gradients.py": ("[ab3, terms", "[rk3, open sides", "[native"),
    "gradients/test_gradients_memory.py": ("[0.7",),
    "model/test_calls.py": ("[5 steps", "[35.0", "[1 day"),
    "model/test_door.py": ("[a time step too long", "[a layout of others"),
    "model/test_forcing.py": ("[values0",),
    "model/test_functional.py": ("it_takes_the_steps_of_the_model[rk3",),
    "model/test_health.py": ("[native",),
    "model/test_programs.py": ("[native",),
    "mpi/test_layouts.py": ("both_exchanges", "the_bits_of_a_gradient_are", "the_native_step_has_the_same_bits"),
    "mpi/test_restart.py": ("another_number_of_processes_goes_on[1",),
    "mpi/test_sharded.py": ("each_transport_goes_on_from_another_and_leaves_the_files_of_one_process[devices, mpi",),
    "mpi/test_slurm.py": ("only_a_run_that_can_be_resumed",),
    "mpi/test_soak.py": ("[1-2",),
    "mpi/test_store.py": ("a_run_goes_on",),
    "ocean/test_diagnostics.py": ("[layout2",),
    "ocean/test_elliptic.py": ("[walls",),
    "ocean/test_open_sides.py": ("[x",),
    "ocean/test_poison.py": ("[arakawa_lamb]", "[2-energy-ab2", "[2-biharmonic, arakawa_lamb-ab3"),
    "ocean/test_rotated.py": ("[pole1",),
    "ocean/test_rotation.py": ("[native-energy", "[reference-enstrophy", "[xla-enstrophy-leapfrog"),
    "ocean/test_scaling.py": ("[native-energy", "[reference-arakawa_lamb", "[xla-energy-ab2"),
    "ocean/test_spectra.py": ("[walls",),
    "ocean/test_terms.py": ("[float64-0.5",),
    "ocean/test_tracers.py": ("[native",),
    "parallel/test_fourier.py": ("transforms_are_those_of_scipy",),
    "plotting/test_picture_fields.py": ("[run4",),
    "plotting/test_plotting.py": ("[1-shape0",),
    "setup/fields/test_input_coordinates.py": ("[False-False-True", "[True-True-False"),
    "setup/fields/test_netcdf_input.py": ("[wind_x", "[outside_m2_cosine", "[self_attraction"),
    "test_notebooks.py": ("a_notebook_runs_as_it_is_and_shows_what_it_is_kept_with[first_run",),
}
#: What starts several processes.
MPI = ("mpi/",)
#: What takes too long for `make check`, beside tests of derivatives and of the executor xla.
LONG = (
    *("assimilation/", "bench/", "cases/", "ensemble/", "examples/", "executors/", "gradients/", "ocean/", "plotting/"),
    *("files/store/", "files/test_foreign_files.py", "files/test_given.py"),
    *("files/test_harmonics.py", "files/test_integrity.py", "files/test_journal.py", "files/test_output_continue.py"),
    *("files/test_output_errors.py", "files/test_own_case.py", "files/test_restart.py", "files/test_samples.py"),
    *("files/test_spectra.py", "model/test_calls.py", "model/test_change.py", "model/test_door.py"),
    *("model/test_forcing.py", "model/test_health.py", "model/test_outputs_agree.py", "model/test_peak_memory.py"),
    *("model/test_programs.py", "model/test_run_folder_guard.py"),
    *("parallel/test_fourier.py", "parallel/test_join.py", "parallel/test_messages.py", "parallel/test_sharded.py"),
    *("parallel/test_spawn.py", "setup/checks/test_stability.py", "test_layers.py", "test_readme.py"),
)
#: Of these, what does not.
SHORT = ("executors/test_reference",)


#: Long files whose tests share nothing: any worker takes any of them. Other files stay together for their fixtures.
SPREAD = (
    *("bench/test_known_answers.py", "docs/test_pages.py", "executors/test_conformance.py"),
    *("executors/test_native.py", "test_notebooks.py"),
)

#: What `make check` selects.
CHECK = "not (compiled or mpi or night)"

#: Files that one worker takes minutes for: they begin first, so that no worker is left alone with them.
FIRST = ("test_wheel.py", "mpi/test_layouts.py", "mpi/test_restart.py", "parallel/test_sharded.py")


def begins_first(item) -> bool:
    """Whether a test belongs to the files that begin first."""
    return item.nodeid.removeprefix("tests/").startswith(FIRST)


def passed_over(folder: str, selection: str) -> bool:
    """Whether no test of a folder is selected, so that nothing in it has to be imported."""
    return selection == CHECK and folder != "executors/" and (folder in (*LONG, *MPI) or NIGHT.get(folder) == ())


def among(name: str, table: dict[str, tuple[str, ...]]) -> bool:
    """Whether a test is in a table: by its file or folder; by the beginning of its name behind "test_"; or by that of
    its parameters, from "[" on."""
    file, _, test = name.partition("::")
    for place, beginnings in table.items():
        if file.startswith(place) and (
            not beginnings or any(b in test if b.startswith("[") else test.startswith(f"test_{b}") for b in beginnings)
        ):
            return True
    return False


def tier(name: str) -> str:
    """The tier of a test by its name, as pytest writes it from tests/ on: "night", "mpi", "compiled" or "check"."""
    name = name.removeprefix("tests/")
    if among(name, NIGHT) and not among(name, DAY):
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


def group(name: str) -> str:
    """What the tests that one worker takes have in common: their file, or in files of SPREAD the test itself."""
    file = name.partition("::")[0]
    return name if file.removeprefix("tests/") in SPREAD else file
