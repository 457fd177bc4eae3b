#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random batches, graph replays and pools beyond 2^31 elements through every kernel, in several processes at once; the GPU may
# have other work. Results go to $OUT/stress.txt (default: gpu-results). From the folder kernels/:   bash gpu/stress.sh
# BATCHES, REPLAYS: how many; PROCESSES: how many at once; STRESS_SECONDS: no batch is drawn after this long; SEED: another draw.
cd "$(dirname "$0")/.." || exit
export OUT=${OUT:-gpu-results} PYTHONPATH=.${PEERS_PATH:+:$PEERS_PATH} PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
BATCHES=${BATCHES:-13000} REPLAYS=${REPLAYS:-1000} PROCESSES=${PROCESSES:-12} SEED=${SEED:-1}
mkdir -p "$OUT"
begun=$SECONDS
for i in $(seq "$PROCESSES"); do
  python3 -W ignore -m splitverify.stress --batches $((BATCHES / PROCESSES + 1)) --replays "$REPLAYS" --seed $((SEED * 100 + i)) \
    --share "$i/$PROCESSES" --seconds "${STRESS_SECONDS:-100000}" > "$OUT/stress.$i" 2>&1 &
done
wait
cat "$OUT"/stress.[0-9]* > "$OUT/stress.txt"; rm "$OUT"/stress.[0-9]*
bash gpu/stress_summary.sh "$OUT/stress.txt"
grep -hE "WRONG|Error" "$OUT/stress.txt" | head -5
echo "stress took $((SECONDS - begun)) s"
