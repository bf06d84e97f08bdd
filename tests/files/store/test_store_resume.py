"""A store that is continued becomes that of the undisturbed run, on any layout; one of another run is refused."""

import shutil

import numpy as np
import pytest
from support.ranks import run_ranks
from support.restarts import assert_same_run, resumed, simulation
from support.snapshots import CASE, NX, NY, config_of, everything, write

from swmodel.errors import ConfigError, FilesError
from swmodel.files.restart.folder import choose, compare
from swmodel.files.store import arrays
from swmodel.files.store.data import StoreData
from swmodel.files.store.snapshots import OutputStore
from swmodel.files.verify import verdicts

pytestmark = pytest.mark.slow

UNDISTURBED = (0, 7, 14, 21, 28)


@pytest.mark.fault("a store has other values than the NetCDF file, or a run goes on in it on other blocks")
@pytest.mark.parametrize("layouts", [((1, 1), (2, 1)), ((2, 1), (3, 1)), ((3, 2), (1, 1)), ((2, 2), (1, 3))])
@pytest.mark.parametrize(
    ("before", "kept", "after"), [(UNDISTURBED, 28, ()), ((0, 7, 14, 17), 14, (21, 28)), ((0, 7), -1, UNDISTURBED)]
)
def test_a_continued_store_is_that_of_the_undisturbed_run(tmp_path, layouts, before, kept, after):
    config, one, two = config_of(), tmp_path / "one.zarr", tmp_path / "two.zarr"
    write(one, OutputStore, config, UNDISTURBED, layout=layouts[0])
    write(two, OutputStore, config, before, layout=layouts[0])
    write(two, OutputStore, config, after, keep=lambda step: step <= kept, layout=layouts[1])
    assert everything(two) == everything(one)
    assert verdicts(two) == {"two.zarr": "intact"}
    files = (sorted(each.relative_to(store) for each in store.rglob("*")) for store in (one, two))
    assert next(files) == next(files)


def test_what_killed_writers_have_left_does_no_harm(tmp_path):
    """Files of records that no reader sees, unfinished files, and pieces beside the store."""
    config, one, two = config_of(), tmp_path / "one.zarr", tmp_path / "two.zarr"
    for store in (one, two):
        write(store, OutputStore, config, (0, 7))
    foreign = two / "h" / "c" / "2" / "0" / "0"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"half a file")
    (two / "time" / "c" / "0.12ab.partial").write_bytes(b"half a file")
    (tmp_path / "two.zarr.writing").mkdir()
    (tmp_path / "two.zarr.writing" / "h-2-0-0-1").write_bytes(b"half a piece")
    for store in (one, two):
        write(store, OutputStore, config, (14,), keep=lambda step: True, layout=(3, 1))
    assert everything(two) == everything(one)
    assert not list(tmp_path.rglob("*.partial"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.zarr", "two.zarr"]


def test_the_history_has_a_line_for_each_run_and_the_configuration_is_the_latest(tmp_path):
    path = tmp_path / "file.zarr"
    write(path, OutputStore, config_of(), (0, 7))
    write(path, OutputStore, config_of(run__steps=100), (14,), keep=lambda step: True)
    with StoreData(path) as data:
        assert [line.partition("Z: ")[2] for line in data.history.splitlines()] == ["swmodel (0, 7)", "swmodel (14,)"]
        assert "steps = 100" in data.configuration
        assert data["time_bounds"][:].tolist() == [[0, 0], [0, 140], [140, 280]]


def contents(folder):
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.fault("half a store, a store of another run, a damaged or missing chunk")
@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("other run", r"grid\.dx: 4000.0 before, 1.0 now"),
        ("other fields", "depth has other values in the store$"),
        ("absent", "there is no such store"),
        ("half", "there is no such store"),
        ("foreign", "it has no configuration of swmodel"),
        ("damaged", "."),
    ],
)
def test_a_store_of_another_run_and_half_a_store_are_refused_by_all_ranks_and_left_as_they_are(tmp_path, harm, words):
    path, config = tmp_path / "output.zarr", config_of()
    write(path, OutputStore, config, (0, 7))
    if harm == "other run":
        config = config_of(grid__dx=1.0)
    elif harm == "other fields":
        changed = config_of(CASE | {"depth": CASE["depth"] + np.eye(NY, NX)})
        config = changed.model_copy(update={"python": config.python})
    elif harm == "absent":
        shutil.rmtree(path)
    elif harm == "half":
        (path / "zarr.json").unlink()
    elif harm == "foreign":
        attributes, documents = arrays.contents(path)
        del attributes["configuration"]
        arrays.published(path, attributes, documents, 2)
    else:
        text = (path / "zarr.json").read_bytes()
        (path / "zarr.json").write_bytes(text[: len(text) // 2])
    before = contents(tmp_path)

    def rank(transport):
        with pytest.raises(FilesError, match=rf"output\.zarr cannot be continued: .*{words}"):
            OutputStore(path, config, transport, keep=lambda step: True)

    run_ranks(rank, (1, 2), NY, NX)
    assert contents(tmp_path) == before


ZARR = {"output__format": "zarr"}


def test_a_restart_is_invisible_in_a_store(tmp_path):
    simulation(**ZARR).run(tmp_path / "whole")
    simulation(run__steps=7, restart__every_steps=5, **ZARR).run(tmp_path / "pieces")
    resumed(tmp_path / "pieces", **ZARR)
    assert_same_run(tmp_path / "pieces", tmp_path / "whole")


def test_the_format_cannot_change_when_a_run_goes_on(tmp_path):
    model = simulation(run__steps=7)
    model.run(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"output\.format: netcdf before, zarr now"):
        compare(simulation(**ZARR).config, choose(tmp_path / "run")[0])


def test_a_run_that_replaces_another_removes_its_store(tmp_path):
    simulation(**ZARR).run(tmp_path)
    simulation().run(tmp_path, force=True)
    assert (tmp_path / "output.nc").is_file()
    assert not (tmp_path / "output.zarr").exists()
