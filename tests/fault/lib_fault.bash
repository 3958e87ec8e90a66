# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For the fault suite: the volumes lie in memory where there is room, because each operation is one more run.

fault_setup() {
	setup_common
	requires root fuse
	WORK=$T/work
	if [ -w /dev/shm ] && [ "$(df --output=avail -BM /dev/shm | tail -1 | tr -dc 0-9)" -gt 1024 ]; then
		WORK=$(mktemp -d /dev/shm/wubi-fault.XXXXXX)
	fi
	export WORK
}

fault_teardown() {
	local m
	for m in "$WORK"/mnt-*; do
		if mountpoint -q "$m"; then umount -l "$m"; fi
	done
	rm -rf --one-file-system "$WORK"
	cleanup
}

# every MODE VERB [OPTION]...: faultrun.py; its findings are the failure's text
every() { "$PY" "$TESTS_DIR/fault/faultrun.py" "$@"; }
