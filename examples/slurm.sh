#!/bin/bash
# A run on a Slurm cluster: sbatch examples/slurm.sh
# For another run, add arguments of `swmodel run`: sbatch examples/slurm.sh double_gyre --days 30
# First install swmodel as docs/install.md says under "On a cluster", with the same modules loaded as here.
#SBATCH --job-name=swmodel
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.log

set -euo pipefail

CASE=(published_jet -s grid.nx=3600 -s grid.ny=1800 --days 1)
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

# srun starts the ranks, so there is no --nproc. If a rank fails, srun ends the others, which would wait for it.
srun --kill-on-bad-exit=1 swmodel run "${CASE[@]}" --output "$RUN"
