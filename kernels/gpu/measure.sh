#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one go: tests, tuning, the table, random batches, graph replays, the benchmark.
# Results go to $OUT (default: gpu-results). From the folder kernels/:   bash gpu/measure.sh
# NO_TESTS, NO_TUNE, NO_STRESS leave a part out; stress.sh says how its part is given. TUNE_SECONDS, TUNE_EXTRA: how long is
# tuned, and what else; KEEP=--keep: rows of the table that are not tuned again stay. Q, LENGTHS: what is tuned and measured.
# SPLITVERIFY_FA3 may name a FlashAttention-3 library, PEERS_PATH a folder with vLLM's Python files: both are optional.
# Afterwards:   python -m splitverify.tables $OUT/tuned.jsonl --arch 90 --multiprocessors 132   (other GPUs: their numbers)
# writes the table that ships, and verify.md, verify.svg are for docs/kernels/.
cd "$(dirname "$0")/.." || exit
export OUT=${OUT:-gpu-results} PYTHONPATH=.${PEERS_PATH:+:$PEERS_PATH} PYTHONUNBUFFERED=1
Q=${Q:-1,4,8,16} LENGTHS=${LENGTHS:-4096,16384,131072}
mkdir -p "$OUT"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw,temperature.gpu --format=csv | tee "$OUT/gpu.txt"
if [ -z "$NO_TESTS" ]; then python3 -m pytest -q tests 2>&1 | tail -5 | tee "$OUT/tests.txt"; fi
if [ -z "$NO_TUNE" ]; then
  python3 -m splitverify.tune --out "$OUT/tuned.jsonl" --q "$Q" --lengths "$LENGTHS" ${TUNE_EXTRA:---drafter --inline} \
    --seconds "${TUNE_SECONDS:-200}" > "$OUT/tune.txt" 2>&1; tail -3 "$OUT/tune.txt"
  read -r arch sms <<< "$(python3 -c 'import torch; p = torch.cuda.get_device_properties(0); print(p.major * 10 + p.minor, p.multi_processor_count)')"
  python3 -m splitverify.tables "$OUT/tuned.jsonl" --arch "$arch" --multiprocessors "$sms" $KEEP
fi
if [ -z "$NO_STRESS" ]; then bash gpu/stress.sh; fi
python3 -m splitverify.bench --q "$Q" --lengths "$LENGTHS" --out "$OUT" 2>&1
nvidia-smi --query-gpu=name,clocks.sm,power.draw,temperature.gpu --format=csv | tail -1 | tee -a "$OUT/gpu.txt"
