#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wubi-disk status where there is nothing to ask about, and what runs it. In a system in an image: tests/vm/health.sh.

load ../lib.sh

@test "status: without maps, or with one whose image / is not in, it is refused and nothing is left" {
	requires root
	mkdir "$T/maps"
	before=$(cat /run/wubi/health.txt 2>/dev/null || echo none)
	for folder in "$T/none" "$T/maps"; do
		wd status --maps "$folder" --record
		status_is 3
		has "$err" "no map in '$folder'"
		wd status --maps "$folder" --json
		eq "$status $(json .reason)" '3 no-map'
	done
	mkvol 40M
	ok create "$V" --size 8M --map "$T/maps/root.map" --quiet
	wd status --maps "$T/maps" --esp "$T/none" --json --record
	eq "$status $(json .reason)" '3 not-in-image'
	eq "$(cat /run/wubi/health.txt 2>/dev/null || echo none)" "$before"
}

@test "status: takes no volume, and no option of another verb" {
	wd status /dev/sda1
	status_is 2
	has "$err" "unexpected argument '/dev/sda1'"
	wd status --map x
	status_is 2
	has "$err" "'--map' is not for 'status'"
	wd verify x --map y --record
	status_is 2
}

@test "status: systemd takes the units, which ask for what the program has" {
	requires systemd-analyze
	local units=$TESTS_DIR/../initramfs-hook/systemd words
	mkdir "$T/units"
	words=$(sed -n 's|^ExecStart=/usr/sbin/wubi-disk ||p' "$units/wubi-health.service")
	# shellcheck disable=SC2086 # words
	"$WUBI_DISK" $words --test-args >"$T/args" || fail "$words"
	cp "$units/wubi-health.timer" "$T/units/"
	sed 's|^ExecStart=.*|ExecStart=/bin/true|' "$units/wubi-health.service" >"$T/units/wubi-health.service"
	run systemd-analyze verify --man=no "$T/units/wubi-health.service" "$T/units/wubi-health.timer"
	status_is 0
	eq "$output" ''
}

@test "status: what a login shows, and a script does not" {
	local script=$TESTS_DIR/../initramfs-hook/profile.d/wubi-health.sh
	sed "s|/run/wubi/health.txt|$T/health.txt|g" "$script" >"$T/script.sh"
	for shell in dash bash; do
		eq "$("$shell" -i -c ". $T/script.sh; echo end" 2>/dev/null </dev/null)" end
	done
	echo 'wubi: something' >"$T/health.txt"
	for shell in dash bash; do
		eq "$("$shell" -i -c "set -eu; . $T/script.sh" 2>/dev/null </dev/null)" 'wubi: something'
		eq "$("$shell" -c "set -eu; . $T/script.sh; echo end")" end
	done
}
