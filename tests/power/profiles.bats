#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts under each profile: no acknowledged fsync is lost, in 'safe' no completed call, in the others no more than the window.

load ../lib.sh
load lib_power.bash

@test "E04 safe: power cuts lose no acknowledged fsync and no completed call" {
	cut --profile safe --cuts 20 --kills 2
}

@test "E04 E05 balanced: power cuts lose no acknowledged fsync, and no more than the window" {
	cut --profile balanced --cuts 20 --kills 2
}

@test "E04 E05 fast: power cuts lose no acknowledged fsync, and no more than the window" {
	cut --profile fast --cuts 20 --kills 2
}
