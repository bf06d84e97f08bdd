#!/bin/bash
# A run that is longer than a job may last, in as many jobs as it needs: sbatch examples/slurm-resume.sh
# For another run, add arguments of `swmodel run`: sbatch examples/slurm-resume.sh double_gyre --days 3000
# docs/cluster.md says what happens when a job stops.
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

# Load the modules of your cluster: a Python, and the MPI that mpi4jax was compiled with.
# module load python openmpi
# If srun does not connect the ranks, set the interface of their MPI: pmix for Open MPI, pmi2 for MPICH.
# export SLURM_MPI_TYPE=pmix

cd "${SLURM_SUBMIT_DIR:-.}"
source "${VENV:-.venv}/bin/activate"

# One core per rank: JAX takes the number of its threads from NPROC.
export NPROC="${SLURM_CPUS_PER_TASK:-1}"

# A requeued job keeps its number, and therefore its folder.
if compgen -G "$RUN/restart/step-*.nc" > /dev/null || compgen -G "$RUN/restart/step-*.zarr" > /dev/null; then
    COMMAND=(swmodel resume "$RUN" --quiet)
else
    COMMAND=(swmodel run "${CASE[@]}" --output "$RUN" --force --quiet)
fi

# Two minutes before the job's end this shell gets SIGTERM; scancel passes it on, because srun would kill the ranks.
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
if [ "$STOPPING" = yes ]; then  # the signal has ended the wait, so wait for srun again
    CODE=0
    wait $! || CODE=$?
fi

# The signal may have killed ranks that did not handle it, because they were starting or had completed their work.
if [ "$STOPPING" = yes ] && [ "$CODE" = 143 ]; then CODE=75; fi

if [ "$CODE" = 75 ]; then
    echo "stopped before the time limit: job $SLURM_JOB_ID is requeued and will continue"
    CODE=0
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$CODE"
