"""Every implementation of an interface has what its Protocol lists: methods with the same parameters, attributes."""

import inspect
from types import FunctionType

import pytest

from swmodel import Simulation, load
from swmodel.executors.registry import COMPILED, EXECUTORS, Executor
from swmodel.parallel.transport import Transport
from swmodel.parallel.transport.mpi import Mpi
from swmodel.parallel.transport.serial import Serial
from swmodel.parallel.transport.sharded import Sharded

IMPLEMENTATIONS = [
    *((Transport, each) for each in (Serial, Mpi, Sharded)),
    *((Executor, each) for each in EXECUTORS.values()),
]


def named(pair):
    return f"{pair[1].__module__.removeprefix('swmodel.')}.{pair[1].__name__}"


def methods(protocol):
    """The methods that a Protocol lists, with their signatures."""
    own = {name: getattr(value, "__func__", value) for name, value in vars(protocol).items()}
    own = {name: value for name, value in own.items() if value.__class__ is FunctionType}
    return {name: inspect.signature(value) for name, value in own.items() if value.__module__ == protocol.__module__}


def parameters(signature):
    return [(each.name, each.kind, each.default) for each in signature.parameters.values()]


@pytest.mark.parametrize("pair", IMPLEMENTATIONS, ids=named)
def test_the_methods_are_those_of_the_protocol(pair):
    protocol, implementation = pair
    assert methods(protocol)
    for name, signature in methods(protocol).items():
        own = inspect.signature(getattr(implementation, name))
        assert parameters(own) == parameters(signature), name


@pytest.fixture(scope="module")
def made():
    """One of each implementation that has attributes, on a small grid."""
    config = load("double_gyre", {"grid.nx": 6, "grid.ny": 5, "run.steps": 1, "run.executor": "reference"}, environ={})
    simulation = Simulation(config)
    transports = Serial(simulation.block), Mpi(simulation.block), Sharded((1, 1), 5, 6, 1)
    parts = simulation.setup, simulation.transport, simulation.grid, simulation.params
    executors = [executor(*parts) for executor in COMPILED.values()]
    return {type(one): one for one in (*transports, *executors)}


@pytest.mark.parametrize("pair", IMPLEMENTATIONS, ids=named)
def test_the_attributes_are_those_of_the_protocol(pair, made):
    protocol, implementation = pair
    one = made.get(implementation, implementation)
    assert [name for name in vars(protocol).get("__annotations__", ()) if not hasattr(one, name)] == []
