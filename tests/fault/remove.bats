#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# remove: a fault at every write and flush.

load ../lib.sh
load lib_fault

setup() { fault_setup; }
teardown() { fault_teardown; }

@test "remove, EIO at each operation" {
	every eio remove
}

@test "remove, killed before each operation: every other file reads the same" {
	every kill remove
}

@test "remove, SIGINT or SIGTERM at each operation" {
	every signal remove
}

@test "remove, the disk is gone from operation k on" {
	every dead remove
}

@test "the log of remove replayed at each flush and at random subsets of the writes since" {
	every replay remove
}

@test "remove from a folder of several index blocks: killed before each operation, and replayed" {
	every kill,replay remove --layout full-folder
}
