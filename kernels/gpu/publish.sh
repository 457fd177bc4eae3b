#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Turn the results of measure.sh into what ships:   bash gpu/publish.sh RESULTS ARCH MULTIPROCESSORS   (H200: 90 132)
# KEEP=--keep: rows of the table that were not tuned again stay.
# Writes the selection table and docs/kernels/<gpu>.md with its plot. The table measured is the table written.
set -e
cd "$(dirname "$0")/.."
results=$1 arch=$2 sms=$3
PYTHON=${PYTHON:-python3}
[ -f "$results/tuned.jsonl" ] && PYTHONPATH=. "$PYTHON" -m splitverify.tables "$results/tuned.jsonl" --arch "$arch" --multiprocessors "$sms" $KEEP
docs=../docs/kernels
mkdir -p "$docs"
name=sm_$arch
if [ -f "$results/verify.jsonl" ]; then
  tuned=() && [ -f "$results/tuned.jsonl" ] && tuned=(--tuned "$results/tuned.jsonl")
  # Drawn here, where matplotlib is: PYTHON names one that has it.
  PYTHONPATH=. "$PYTHON" -m splitverify.bench.report "$results/verify.jsonl" "${tuned[@]}" --table "$results/verify.md" \
    --plot "$docs/$name.svg"
  {
    echo "# Measured: $(sed -n 2p "$results/gpu.txt" | cut -d, -f1) ($name)"
    echo
    echo "Made by \`gpu/publish.sh\` from results of \`gpu/measure.sh\`. Microseconds of one call of one layer, median of 20 CUDA-graph"
    echo "replays, L2 flushed before each. \`plain read\` is a kernel that only reads the same bytes. Configs come from the shipped table."
    echo "\`SDPA flash\` reads contiguous K and V without a causal tail. A peer's cell is a dash where it has no path for the format."
    if grep -q "(tuner)" "$results/verify.md"; then
      echo "\`(tuner)\`: the run measured a config with raw keys there, which does not ship ([why](README.md)); the time is the tuner's"
      echo "of the config that ships. A dash under \`splitverify\`: so too, and not tuned."
    fi
    echo
    cat "$results/verify.md"
    echo
    if [ -f "$results/stress.txt" ]; then
      echo "Random batches, graph replays and pools beyond 2^31 elements, on such a GPU:"
      echo '```'
      bash gpu/stress_summary.sh "$results/stress.txt"
      echo '```'
      echo
    fi
    echo "The GPU before and after:"
    echo '```'
    cat "$results/gpu.txt"
    echo '```'
    if [ -f "$results/store.md" ]; then
      printf '\nStores of new K and V, microseconds as above. `plain copy` moves as many bytes.\n\n'
      cat "$results/store.md"
    fi
    echo && echo "![time over context]($name.svg)"
  } > "$docs/$name.md"
fi
ls "$docs"
