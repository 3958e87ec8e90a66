#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-profile killed at each step of set, reset and run: status tells, and reset, the next boot or the next run puts it right.
#
# vm-setup: truncate -s 400M v.img
# vm-setup: mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 v.img
# vm-options: -d v.img -m 512M -t 600

. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/lib_profile.sh"

volume=/dev/ubda

then_reset() {
	local code
	wp status >/run/check.out 2>&1
	code=$?
	[ "$code" -le 1 ] || fail "$1: status has $code" "$(cat /run/check.out)"
	look
	[ "$code" -eq 1 ] || [ "$state" = "$whole" ] || fail "$1: status says 0 and it is not so" "$state"
	check "$1: reset" wp reset --quiet
	state_is "$1: reset brings all back" "$before"
	no_files "$1"
}

# The next boot: /run is new, and systemd-sysctl has read its files.
then_boot() {
	rm -rf /run/wubi
	sed -n 's/^vm\.\([a-z_]*\) = \(.*\)/\1 \2/p' "$root$sysctl" 2>/dev/null | while read -r knob value; do
		echo "$value" >"/proc/sys/vm/$knob"
	done
	check "$1: apply" wp apply --quiet
	if grep -q '^normal = safe' "$root$choice" 2>/dev/null; then
		state_is "$1: the boot completes it" "$whole"
		check "$1: status" wp status --quiet
		check "$1: reset" wp reset --quiet
	fi
	state_is "$1: all is as it was" "$before"
	no_files "$1"
}

# After a reset that was killed: the profile is whole, or it is gone.
then_boot_reset() {
	then_boot "$1"
	wp set safe --quiet
}

then_reset_again() {
	then_reset "$1"
	wp set safe --quiet
}

# What a run was to put back.
then_run() {
	local code
	wp status >/run/check.out 2>&1
	code=$?
	look
	if [ -e "$root$phase" ]; then
		check_equal "$1: status tells that it was killed" 1 "$code"
	else
		check_equal "$1: status" 0 "$code"
		check_equal "$1: nothing was to be put back" "$whole" "$state"
	fi
	rm -f /run/has-run
	check "$1: the next run" wp run -- /usr/bin/touch /run/has-run
	check "$1: the next run: the command" test -e /run/has-run
	state_is "$1: the next run puts it right" "$whole"
	check "$1: in the end" test ! -e "$root$phase"
}

kills() {
	local before whole
	if ! in_root strace -o /dev/null /usr/bin/true; then
		fail 'strace in the guest'
		return
	fi
	look
	before=$state
	wp set safe --quiet
	look
	whole=$state
	wp reset --quiet
	each_kill 'set' 'fsconfig write rename' then_reset set safe --quiet
	each_kill 'set and boot' 'rename' then_boot set safe --quiet
	wp set safe --quiet
	each_kill 'reset' 'fsconfig write unlink' then_reset_again reset --quiet
	each_kill 'reset and boot' 'unlink' then_boot_reset reset --quiet
	each_kill 'run' 'fsconfig write rename unlink' then_run run -- /usr/bin/true
	wp reset --quiet
	state_is 'killed at each step: in the end all is as it was' "$before"
}

load_module dm_mod loop fuse || fail 'load the modules'
root_and_home "$volume"
[ "$guest_failed" -eq 0 ] || finish
kills
finish
