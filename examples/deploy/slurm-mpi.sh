#!/bin/bash
#SBATCH --job-name=cobre
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
# One rank per core with the cluster's MPI: `sbatch slurm-mpi.sh study`. Two minutes before the end Slurm sends SIGTERM,
# and training ends after its iteration. Submitted again, it continues.
set -euo pipefail
study=${1:?usage: sbatch slurm-mpi.sh STUDY}

module load openmpi python
source "$HOME/cobre/bin/activate"
export OMP_NUM_THREADS=1

resume=()
[ -d "$study/output/checkpoint" ] && resume=(--resume)
srun --mpi=pmix --cpu-bind=cores cobre run "$study" "${resume[@]}"
