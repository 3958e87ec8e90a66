#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wubi-install --list: the disks and volumes, for people and for programs. What it says of each state: volumes.bats.

load ../lib.sh

INSTALL=$BUILD/wubi-install
BASIC=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7

setup() {
	setup_common
	[ -x "$INSTALL" ] || skip "no wubi-install"
}

wi() { # ARG...: $status, $out
	status=0
	"$INSTALL" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
}

two_volumes() { # $L: a disk with two NTFS volumes, the second one dirty
	truncate -s 80M "$V"
	printf '%s\n' 'label: gpt' "start=2048, size=65536, type=$BASIC" "start=67584, size=65536, type=$BASIC" | sfdisk -q "$V"
	loop "$V"
	partx -a "$L"
	mkntfs -F -Q -q -L Windows "${L}p1" >/dev/null 2>&1
	mkntfs -F -Q -q -L Data "${L}p2" >/dev/null 2>&1
	fx dirty "${L}p2"
}

@test "B14 wubi-install --list shows model, size, label, serial number and state of each volume, and changes nothing" {
	requires loop
	two_volumes
	before=$(sum)
	wi --list "$L"
	status_is 0
	has "$out" "^$L .*80.0 MiB, gpt"
	has "$out" "${L}p1 +Windows +32.0 MiB .* ok\$"
	has "$out" "${L}p2 +Data +32.0 MiB .* dirty\$"
	has "$out" 'chkdsk'
	[ "$(wc -L <"$T/out")" -le 100 ] || fail "$(wc -L <"$T/out") columns"
	wi --list --json "$L"
	status_is 0
	eq "$(json '[.disks[0].partitions[] | .label + " " + .state] | join(", ")')" 'Windows ok, Data dirty'
	eq "$(json '.disks[0].partitions[1] | [.reason, .usable] | join(" ")')" 'dirty false'
	eq "$(json '.disks[0].partitions[0].serial | ascii_upcase')" "$(blkid -p -s UUID -o value "${L}p1")"
	eq "$(sum)" "$before"
}

@test "wubi-install --list of a disk that is not there: a row that says so" {
	wi --list --json "$T/nothing"
	status_is 0
	eq "$(json '.disks[0].path')" "$T/nothing"
	has "$(json '.disks[0].problem')" 'no such file'
}

@test "wubi-install --list without operands: all disks, one JSON value" {
	wi --list --json
	status_is 0
	json '.disks | type' >/dev/null
}
