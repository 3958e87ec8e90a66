#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# rescue --in-place of an image of 32 MiB on a volume of 128 MiB: a fault at every write and flush. What is left is the volume as
# it was, or marked dirty with every old file whole, or the complete image; not a byte of the image is ever written.

load ../lib.sh
load lib_fault

setup() { fault_setup; }
teardown() { fault_teardown; }

@test "C02 rescue in place of an emptied image, killed before each operation: as before, or marked dirty, or complete" {
	every kill rescue
}

@test "C04 rescue in place of a deleted image, killed before each operation: as before, or marked dirty, or complete" {
	every kill rescue --layout deleted
}

@test "rescue in place, EIO at each operation: exit 1, volume named, metadata as before or marked dirty" {
	every eio rescue
	every eio rescue --layout deleted --no-host-map
}

@test "rescue in place, SIGINT or SIGTERM at each operation: it is completed" {
	every signal rescue
}

@test "rescue in place, the disk is gone from operation k on" {
	every dead rescue
}

@test "the log of rescue in place replayed at each flush and at random subsets of the writes since" {
	every replay rescue
	every replay rescue --layout deleted
}
