#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one go: tests, tuning, the table, random batches, graph replays, the benchmark.
# Results go to $OUT (default: gpu-results). From the folder kernels/:   bash gpu/measure.sh
# CASES, REPLAYS, STRESS_SECONDS, TUNE_SECONDS: how many, how long; PROCESSES: how many random-batch processes; Q, LENGTHS: what is tuned and measured.
# SPLITVERIFY_FA3 may name a FlashAttention-3 library, PEERS_PATH a folder with vLLM's Python files: both are optional.
# Afterwards:   python -m splitverify.tables $OUT/tuned.jsonl --arch 90 --multiprocessors 132   (other GPUs: their numbers)
# writes the table that ships, and verify.md, verify.svg are for docs/kernels/.
cd "$(dirname "$0")/.." || exit
export OUT=${OUT:-gpu-results} PYTHONPATH=.${PEERS_PATH:+:$PEERS_PATH} PYTHONUNBUFFERED=1
CASES=${CASES:-10000} REPLAYS=${REPLAYS:-1000} PROCESSES=${PROCESSES:-12} Q=${Q:-1,4,8,16} LENGTHS=${LENGTHS:-4096,16384,131072}
mkdir -p "$OUT"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw,temperature.gpu --format=csv | tee "$OUT/gpu.txt"
if [ -z "$NO_TESTS" ]; then python3 -m pytest -q tests 2>&1 | tail -5 | tee "$OUT/tests.txt"; fi
if [ -z "$NO_TUNE" ]; then
  python3 -m splitverify.tune --out "$OUT/tuned.jsonl" --q "$Q" --lengths "$LENGTHS" ${TUNE_EXTRA:---drafter --inline} \
    --seconds "${TUNE_SECONDS:-200}" > "$OUT/tune.txt" 2>&1; tail -3 "$OUT/tune.txt"
  read -r arch sms <<< "$(python3 -c 'import torch; p = torch.cuda.get_device_properties(0); print(p.major * 10 + p.minor, p.multi_processor_count)')"
  python3 -m splitverify.tables "$OUT/tuned.jsonl" --arch "$arch" --multiprocessors "$sms"
fi
begun=$SECONDS
for i in $(seq "$PROCESSES"); do
  python3 -m splitverify.stress --cases $((CASES / PROCESSES + 1)) --replays "$([ "$i" = 1 ] && echo "$REPLAYS" || echo 2)" --seed "$i" \
    --seconds "${STRESS_SECONDS:-100000}" > "$OUT/stress.$i" 2>&1 &
done
wait
cat "$OUT"/stress.* > "$OUT/stress.txt"; rm "$OUT"/stress.[0-9]*
awk '/random batches/ {n += $1; bad += $4} END {print n, "random batches,", bad, "wrong"}' "$OUT/stress.txt"
grep -hE "replays|pool" "$OUT/stress.txt" | sort | uniq -c; grep -hE "WRONG|Error" "$OUT/stress.txt" | head -5
echo "stress took $((SECONDS - begun)) s"
python3 -m splitverify.bench --q "$Q" --lengths "$LENGTHS" --out "$OUT" 2>&1
nvidia-smi --query-gpu=name,clocks.sm,power.draw,temperature.gpu --format=csv | tail -1 | tee -a "$OUT/gpu.txt"
