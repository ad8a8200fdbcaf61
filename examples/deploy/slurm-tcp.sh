#!/bin/bash
#SBATCH --job-name=cobre
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
# The same without MPI: one `cobre launch` per node, which starts a rank for each of its cores.
set -euo pipefail
study=${1:?usage: sbatch slurm-tcp.sh STUDY}

source "$HOME/cobre/bin/activate"
export OMP_NUM_THREADS=1
COBRE_TCP_SECRET=$(python -c 'import secrets; print(secrets.token_hex(32))')
export COBRE_TCP_SECRET
coordinator=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
ranks=$((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK))

resume=()
[ -d "$study/output/checkpoint" ] && resume=(--resume)

# Each task has its own SLURM_NODEID; the single quotes keep this shell from reading it.
srun --kill-on-bad-exit=1 bash -c 'exec cobre launch -n "$1" --backend tcp --nodes "$SLURM_JOB_NUM_NODES" \
    --node-rank "$SLURM_NODEID" --coordinator "$2:29500" --max-restarts 3 -m cobre run "${@:3}"' \
    cobre "$ranks" "$coordinator" "$study" "${resume[@]}"
