#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Planted faults: power cuts that do not find them out would say nothing about the profiles. And the same witness on what there was before:
# a loop device on the file in an ntfs-3g mount, which is measured.

load ../lib.sh
load lib_power.bash

@test "control: ext4 mounted with nobarrier is found out" {
	cut --profile balanced --fault nobarrier --cuts 10
}

@test "control: a device that drops flushes is found out" {
	cut --profile balanced --fault noflush --cuts 10
}

@test "control: a witness that acknowledges before fsync is found out" {
	cut --profile balanced --fault lie --cuts 10
}

@test "control: a map that is off by one cluster is found out" {
	cut --profile balanced --fault shift --cuts 10
}

@test "ext4 on a loop device on ntfs-3g, synchronous: measured" {
	cut --stack loop-sync --profile safe --cuts 20
}

@test "ext4 on a loop device on ntfs-3g, the kernel's defaults: measured" {
	cut --stack loop-async --profile kernel --cuts 20
}
