"""The command line of swmodel, with a bug on rank 1 after step 100."""

import swmodel
from swmodel.cli import main
from swmodel.parallel.environment import get_rank_info


class FailingSimulation(swmodel.Simulation):
    """A simulation in which rank 1 fails while the others wait for its halo."""

    def take_steps(self, steps, *accumulators):
        if get_rank_info().rank == 1 and self.step >= 100:
            raise ZeroDivisionError("a bug")
        super().take_steps(steps, *accumulators)


swmodel.Simulation = FailingSimulation
main()
