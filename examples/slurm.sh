#!/bin/bash
# A run on a Slurm cluster: sbatch examples/slurm.sh
# Install there as docs/install.md says under "On a cluster", with the same modules loaded as here.
#SBATCH --job-name=swmodel
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.log

set -euo pipefail

# The modules of your site: a Python, and the MPI that mpi4jax was compiled with.
# module load python openmpi

cd "${SLURM_SUBMIT_DIR:-.}"
source .venv/bin/activate

# One core for each rank: JAX takes the number of its threads from NPROC.
export NPROC="${SLURM_CPUS_PER_TASK:-1}"

# srun starts the ranks, so there is no --nproc. Where srun and the MPI do not know each other, `srun --mpi=list` names the
# alternatives (pmix for Open MPI, pmi2 for MPICH), or use the mpiexec of the MPI in its place.
srun swmodel run jet -s grid.nx=3600 -s grid.ny=1800 --days 1 --output "outputs/jet-${SLURM_JOB_ID:-local}"
