#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# create, 32 MiB on a volume of 128 MiB: a fault at every write and flush.

load ../lib.sh
load lib_fault

setup() { fault_setup; }
teardown() { fault_teardown; }

@test "B17 create, EIO at each operation: exit 1, volume named, no map, metadata as before or marked dirty" {
	every eio create
}

@test "B17 create without a host map, EIO at each operation" {
	every eio create --no-host-map
}

@test "B17 create, killed before each operation: as before, or marked dirty, or complete; a second run" {
	every kill create
}

@test "B17 create without a host map, killed before each operation" {
	every kill create --no-host-map
}

@test "B17 create, SIGINT or SIGTERM at each operation: exit 4 and nothing changed, or it is completed" {
	every signal create
}

@test "create, the disk is gone from operation k on" {
	every dead create
}

@test "create --fs swap and none, killed before each operation" {
	every kill create --fs swap --no-host-map
	every kill create --fs none
}

@test "the log of create replayed at each flush and at random subsets of the writes since" {
	every replay create
	every replay create --no-host-map
}

@test "negative control: the same log on a disk that swallows flushes must be found out" {
	every planted create
}
