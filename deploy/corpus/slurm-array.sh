#!/usr/bin/env bash
# A data set of ten million pairs as a Slurm array of 64 tasks, each one share of it:
#
#   sbatch deploy/corpus/slurm-array.sh /scratch/pairs
#
# A task that is requeued goes on where it stopped. When all have ended:
#
#   warpsmith corpus card /scratch/pairs && warpsmith corpus verify /scratch/pairs
#
# Without Slurm the same shares can be made one after the other, or on several machines by hand:
#
#   for task in $(seq 0 63); do
#     SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=64 bash deploy/corpus/slurm-array.sh /scratch/pairs
#   done
#SBATCH --job-name=corpus
#SBATCH --array=0-63
#SBATCH --cpus-per-task=4
#SBATCH --mem=2G
#SBATCH --time=02:00:00
#SBATCH --requeue
set -euo pipefail

exec warpsmith corpus generate --count "${COUNT:-10000000}" --seed 1 \
  --output "${1:?name a folder for the data set}" --shard-pairs "${SHARD_PAIRS:-5000}" \
  --verify executed --threads "${SLURM_CPUS_PER_TASK:-1}" \
  --shards "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
