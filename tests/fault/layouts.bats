#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The same on volumes where create has to split an index block or to make $MFT longer: more writes that must be in order.

load ../lib.sh
load lib_fault

setup() { fault_setup; }
teardown() { fault_teardown; }

@test "root folder with a full index block: killed before each operation, and replayed" {
	every kill,replay create --layout full-root
}

@test "image folder with a full index block: killed before each operation, and replayed" {
	every kill,replay create --layout full-folder
}

@test "\$MFT full: killed before each operation, EIO at each, and replayed" {
	every kill,eio,replay create --layout full-mft
}

@test "negative control: swallowed flushes while an index block is split lose files" {
	every planted create --layout full-root >"$T/out"
	grep -q 'findings' "$T/out"
}
