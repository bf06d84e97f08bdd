"""The command line of a model in which rank 1 meets a bug after step 100."""

import swmodel
from swmodel.cli import main
from swmodel.parallel.environment import world


class Buggy(swmodel.Simulation):
    """A simulation of which one rank fails while the others wait for its halo."""

    def take_steps(self, steps, *accumulators):
        if world().rank == 1 and self.step >= 100:
            raise ZeroDivisionError("a bug")
        super().take_steps(steps, *accumulators)


swmodel.Simulation = Buggy
main()
