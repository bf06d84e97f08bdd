#!/bin/bash
# A run longer than a job may last, in as many jobs as it takes: sbatch examples/slurm-resume.sh
# Another run than the one below: sbatch examples/slurm-resume.sh double_gyre --days 3000, with what `swmodel run` takes.
# What happens when: docs/cluster.md
#SBATCH --job-name=swmodel
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=1
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

set -euo pipefail

CASE=(published_jet -s grid.nx=3600 -s grid.ny=1800 --days 100)
if [ $# -gt 0 ]; then CASE=("$@"); fi
RUN=outputs/${SLURM_JOB_NAME:-swmodel}-${SLURM_JOB_ID:-local}

# The modules of your site: a Python, and the MPI that mpi4jax was compiled with.
# module load python openmpi
# How srun tells the ranks of each other, where it does not do so by itself: pmix for Open MPI, pmi2 for MPICH.
# export SLURM_MPI_TYPE=pmix

cd "${SLURM_SUBMIT_DIR:-.}"
source "${VENV:-.venv}/bin/activate"

# One core for each rank: JAX takes the number of its threads from NPROC.
export NPROC="${SLURM_CPUS_PER_TASK:-1}"

# A job that goes back into the queue keeps its number, and so its folder.
if compgen -G "$RUN/restart/step-*.nc" > /dev/null || compgen -G "$RUN/restart/step-*.zarr" > /dev/null; then
    COMMAND=(swmodel resume "$RUN" --quiet)
else
    COMMAND=(swmodel run "${CASE[@]}" --output "$RUN" --force --quiet)
fi

# Two minutes before the end of the job this shell gets SIGTERM, and scancel passes it to the ranks: srun would kill them.
# A shell runs a trap between commands or while it waits, so srun runs in the background.
stop() {
    STOPPING=yes
    trap "" TERM
    scancel --signal=TERM "$SLURM_JOB_ID" || true
}
STOPPING=no CODE=0
trap stop TERM
srun --kill-on-bad-exit=1 "${COMMAND[@]}" &
wait $! || CODE=$?
if [ "$STOPPING" = yes ]; then  # it was the signal that ended the wait
    CODE=0
    wait $! || CODE=$?
fi

# The signal may have met ranks that were not listening, as they were just starting or had just done their work.
if [ "$STOPPING" = yes ] && [ "$CODE" = 143 ]; then CODE=75; fi

if [ "$CODE" = 75 ]; then
    echo "stopped in time, to be continued: job $SLURM_JOB_ID goes back into the queue"
    CODE=0
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$CODE"
