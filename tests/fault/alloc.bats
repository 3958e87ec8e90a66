#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The k-th allocation of our own objects fails, for every k: exit 1, 'memory' on stderr, nothing half-made; under the
# sanitizers (make check-asan) no leak either.

load ../lib.sh
load lib_fault

setup() {
	fault_setup
	export ALLOCFAIL=${ALLOCFAIL:-$BUILD/tests/fault/wubi-disk-allocfail}
	[ -z "${WUBI_VALGRIND:-}" ] || skip "valgrind replaces the allocator"
}
teardown() { fault_teardown; }

each() { "$PY" "$TESTS_DIR/fault/allocrun.py" "$1"; }

@test "an allocation fails in create" { each create; }
@test "an allocation fails in map" { each map; }
@test "an allocation fails in verify" { each verify; }
@test "an allocation fails in info" { each info; }
@test "an allocation fails in show" { each show; }
@test "an allocation fails in table" { each table; }
@test "an allocation fails in remove" { each remove; }
@test "an allocation fails in rescue" { each rescue; }
@test "an allocation fails in rescue --in-place" { each place; }
