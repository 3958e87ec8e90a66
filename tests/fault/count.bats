#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Do the faults reach every operation? And are the first and last ones what the design says?

load ../lib.sh

@test "the number of operations that can be failed is the number that strace sees" {
	requires strace
	[ -z "${WUBI_ASAN:-}${WUBI_VALGRIND:-}" ] || skip "strace and the leak check both want to trace"
	for verb in "create $V --size 32M --map $M" "create $V --size 8M --name swap --fs swap" \
		"map $V --output $T/other.map" "remove $V --image $IMG --yes"; do
		[ -e "$V" ] || mkvol 128M 4096
		cp --sparse=always "$V" "$T/kept.img"
		# shellcheck disable=SC2086
		LD_PRELOAD=$FAULTSHIM FAULT_TARGET=$V FAULT_MODE=count FAULT_COUNT=$T/count "$WUBI_DISK" $verb >/dev/null 3>&-
		n=$(cat "$T/count")
		cp --sparse=always "$T/kept.img" "$V"
		rm -f "$M"
		# shellcheck disable=SC2086
		strace -f -y -o "$T/trace" -e trace=write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,fallocate,sync_file_range,ftruncate,copy_file_range,sendfile,splice,io_uring_enter,io_submit \
			"$WUBI_DISK" $verb >/dev/null 3>&-
		traced=$(grep -cF "<$V>" "$T/trace")
		eq "$n" "$traced" "$verb: counted, traced"
		[ "$n" -gt 5 ] || fail "only $n operations"
	done
}

@test "create --fs none writes metadata only, for 30 GiB as for 1 GiB" {
	for size in 1G 30G; do
		mkvol 64G
		LD_PRELOAD=$FAULTSHIM FAULT_TARGET=$V FAULT_MODE=count FAULT_LOG=$T/log \
			"$WUBI_DISK" create "$V" --size $size --fs none --quiet 3>&-
		[ "$(stat -c %s "$T/log")" -lt 1500000 ] || fail "$size: $(stat -c %s "$T/log") bytes written"
		rm "$T/log"
	done
}

@test "the last operation is a flush, and a flush comes before the first one that touches metadata" {
	mkvol 128M 4096
	cp --sparse=always "$V" "$T/kept.img"
	LD_PRELOAD=$FAULTSHIM FAULT_TARGET=$V FAULT_MODE=count FAULT_LOG=$T/log \
		"$WUBI_DISK" create "$V" --size 32M --quiet 3>&-
	"$PY" - "$TESTS_DIR" "$T/log" "$T/kept.img" <<-'EOP'
		import os, sys
		os.environ.update(WUBI_DISK='', FAULTSHIM='', WORK='')
		sys.path[:0] = [sys.argv[1] + '/fault']
		import faultrun
		ops, base = faultrun.read_log(sys.argv[2]), faultrun.Base(sys.argv[3])
		assert ops[-1][0] == 'F', 'the last operation is %r' % (ops[-1][0],)
		first = next(k for k, (op, off, x) in enumerate(ops)
		             if op == 'W' and base.touches_metadata(off, len(x)))
		assert ops[first - 1][0] == 'F', 'before the commit: %r' % (ops[first - 1][0],)
		data = [k for k, (op, off, x) in enumerate(ops[first:], first)
		        if op == 'W' and len(x) > 65536]
		assert not data, 'image data in the commit'
	EOP
}
