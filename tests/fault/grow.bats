#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# grow, from 32 to 44 MiB on a volume of 224 MiB: a fault at every write and flush. The file is the old or the new one, and the map
# that is there leads to it.

load ../lib.sh
load lib_fault

setup() { fault_setup; }
teardown() { fault_teardown; }

grows() { "$PY" "$TESTS_DIR/fault/growrun.py" "$@"; }

@test "E07 grow in place, killed before each operation; and a second run" {
	grows kill in-place
}

@test "E07 grow into more extents, killed before each operation; and a second run" {
	grows kill more-extents
}

@test "E07 grow --relocate, killed before each operation; and a second run" {
	grows kill relocate
}

@test "E07 grow of a swap, killed before each operation; and a second run" {
	grows kill swap
}

@test "grow, EIO at each operation: exit 1" {
	grows eio in-place
	grows eio relocate
}

@test "grow --relocate, SIGINT or SIGTERM at each operation: exit 4 and nothing changed, or it is completed" {
	grows signal relocate
}

@test "the log of grow replayed at each flush and at random subsets of the writes since" {
	grows replay in-place
	grows replay more-extents
	grows replay relocate
}

@test "negative control: the same log on a disk that swallows flushes must be found out" {
	grows planted relocate
}
