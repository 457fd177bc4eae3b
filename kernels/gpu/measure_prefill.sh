#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What needs a GPU for the prefill kernel and the sampler's decision: tuning, the table, random batches, the benchmarks.
# Results go to $OUT (default: gpu-results). From the folder kernels/:   ARCH=90 bash gpu/measure_prefill.sh
# ARCH: compute capability times ten, whose table is written; SECONDS_TUNE, CASES, STRESS_SECONDS: how long, how many.
# SPLITVERIFY_FA3 may name a FlashAttention-3 library, PEERS_PATH a folder with vLLM's Python files: both are optional.
cd "$(dirname "$0")/.." || exit
export OUT=${OUT:-gpu-results} PYTHONPATH=.${PEERS_PATH:+:$PEERS_PATH} PYTHONUNBUFFERED=1
ARCH=${ARCH:?compute capability times ten} CASES=${CASES:-1000} PROCESSES=${PROCESSES:-10}
mkdir -p "$OUT"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw,temperature.gpu --format=csv | tee "$OUT/gpu.txt"
if [ -z "$NO_TUNE" ]; then
  python3 -W ignore -m splitverify.tune_prefill --out "$OUT/tuned_prefill.jsonl" --table "$ARCH" --seconds "${SECONDS_TUNE:-300}" 2>&1
fi
begun=$SECONDS
for i in $(seq "$PROCESSES"); do
  python3 -W ignore -m splitverify.stress_prefill --cases $((CASES / PROCESSES + 1)) --seed "$i" --seconds "${STRESS_SECONDS:-100000}" \
    $([ "$i" = 1 ] || echo --no-pools) > "$OUT/stress.$i" 2>&1 &
done
wait
cat "$OUT"/stress.* > "$OUT/stress_prefill.txt"; rm "$OUT"/stress.[0-9]*
awk '/random prefill batches/ {n += $1; bad += $5} END {print n, "random prefill batches,", bad, "wrong"}' "$OUT/stress_prefill.txt"
grep -hE "pool|WRONG|Error" "$OUT/stress_prefill.txt" | head -12
echo "random batches took $((SECONDS - begun)) s"
python3 -W ignore -m splitverify.bench.prefill --out "$OUT" 2>&1
python3 -W ignore -m splitverify.bench.mixed --out "$OUT" 2>&1
python3 -W ignore -m splitverify.bench.bench_top_k_top_p --out "$OUT" 2>&1
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw,temperature.gpu --format=csv | tail -1 | tee -a "$OUT/gpu.txt"
