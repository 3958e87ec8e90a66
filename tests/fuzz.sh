#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz.sh SECONDS: runs each fuzzer of $BUILD for that long, from tests/fuzz/corpus/NAME. A finding stays in fuzz-findings/.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-60}
failed=0 ran=0
for fuzzer in "$BUILD"/tests/fuzz/fuzz_*-fuzzer; do
	[ -x "$fuzzer" ] || continue
	name=$(basename "${fuzzer%-fuzzer}")
	new=$BUILD/corpus/$name found=fuzz-findings/$name
	mkdir -p "$new" "$found" "tests/fuzz/corpus/$name"
	echo "== $name, $seconds s"
	if ! "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$found/" "$new" "tests/fuzz/corpus/$name" >"$BUILD/$name.log" 2>&1; then
		echo "FAIL $name: see $BUILD/$name.log and $found/"
		tail -n 30 "$BUILD/$name.log"
		failed=$((failed + 1))
	fi
	grep -E '^stat::(number_of_executed_units|peak_rss_mb)' "$BUILD/$name.log"
	ran=$((ran + 1))
done
echo "$ran fuzzers, $failed with a finding"
[ "$ran" -gt 0 ] && [ "$failed" -eq 0 ]
