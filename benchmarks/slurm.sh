#!/bin/bash
# The scaling table on a Slurm cluster: sbatch benchmarks/slurm.sh
# One allocation runs all numbers of processes one after the other; the results are in outputs/bench-<job>.
# If the time runs out, submit the script again with RESUME=outputs/bench-<job>: finished samples are kept.
#SBATCH --job-name=swmodel-bench
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=1
#SBATCH --exclusive
#SBATCH --time=02:00:00
#SBATCH --output=%x-%j.log

set -euo pipefail

# Load the modules of your cluster: a Python, and the MPI that mpi4jax was compiled with.
# module load python openmpi

cd "${SLURM_SUBMIT_DIR:-.}"
source "${VENV:-.venv}/bin/activate"

folder="${RESUME:-outputs/bench-${SLURM_JOB_ID:-local}}"
tasks="${SLURM_NTASKS:-$(nproc)}"

# The numbers of processes: 1, 2, 4, ... and all tasks, unless NPROC_LIST sets others.
list=1
for ((n = 2; n < tasks; n *= 2)); do list+=",$n"; done
((tasks > 1)) && list+=",$tasks"
list="${NPROC_LIST:-$list}"

# mpiexec starts the ranks. If srun must start them: LAUNCHER="srun --mpi=pmix" (`srun --mpi=list` names the kinds).
options=(--nproc "$list" --launcher "${LAUNCHER:-}")

for sweep in table strong weak halo start; do
    again=()
    if [[ -f "$folder/$sweep/results.json" ]]; then again=(--resume); fi
    swmodel bench "$sweep" "${options[@]}" --output "$folder/$sweep" "${again[@]}" "$@" ||
        echo "$sweep ended with exit code $?; its folder contains the finished samples" >&2
done

swmodel bench report "$folder"/*/results.json --output "$folder"
