#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The sums of what stress.sh left:   bash gpu/stress_summary.sh FILE
awk '/random batches/ {n += $1; bad += $4; for (i = 8; i <= NF; i++) {split($i, x, "="); by[x[1]] += x[2]}}
  END {print n + 0, "random batches,", bad + 0, "wrong"; for (k in by) print "  " k ": " by[k] | "sort"}' "$1"
sed -nE "s/^.*WRONG .*--only [0-9]+: ([a-z ]+): .*Case\(fmt='([a-z0-9]+)'.*/\2 \1: wrong/p" "$1" | sort | uniq -c
grep -hE "replays|pool" "$1" | sort
