#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-attach and hibernated sessions: the kernel that comes back has the tables of before, so nothing that a session could be
# resumed from is there unless every image is where it was. Case C14.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: three_images three.img three && swap_at=$(($(awk '$1 == "extent" { print $3; exit }' three/swap.map) * 512))
# vm-setup: copy suspended.img three.img && printf 'S1SUSPEND\0' | put_at suspended.img $((swap_at + 4086))
# vm-setup: for v in three suspended; do copy $v-moved.img $v.img && fx move $v-moved.img /ubuntu/disks/home.disk; done
# vm-setup: copy root-moved.img three.img && fx move root-moved.img /ubuntu/disks/root.disk
# vm-options: -t 300

. "$(dirname "$0")/lib_boot.sh"

all_as_it_was='0 root:match:wubi-root home:match:wubi-home swap:match:wubi-swap'
no_swap='0 root:match:wubi-root home:moved:wubi-home swap:match:-'

# state WHAT VOLUME STATE [PARAMETER...]: a boot with these on the kernel's command line.
state() {
	cmdline="$cmdline ${*:4}"
	three "$2"
	check_equal "C14 $1" "$3" "$(state_of_three)"
}

refuses_swap() { # WHAT
	says "C14 $1: says so" 'wubi: swap: not attached: resume'
	says_not "C14 $1: not by its verdict, which is right" 'swap: not attached: match'
	says "C14 $1: what to do" 'boot with noresume'
	says "C14 $1: boot.json, too" 'not every image is where it was.*noresume' "${reasons[swap]:-}"
	fresh
}

named_swap() {
	local uuid
	uuid=$(sed -n 's/^fs_uuid //p' "$WUBI_WORK/three/swap.map")
	state 'resume=, all as it was' three.img "$all_as_it_was" resume=/dev/mapper/wubi-swap
	check 'C14 resume=: hibernation is left to the user' test ! -e /run/systemd/sleep.conf.d/50-wubi.conf
	fresh
	state 'resume=, Windows moved home' three-moved.img "$no_swap" resume=/dev/mapper/wubi-swap
	refuses_swap 'resume=, Windows moved home'
	state 'resume=UUID=, Windows moved home' three-moved.img "$no_swap" "resume=UUID=${uuid^^}"
	refuses_swap 'resume=UUID=, Windows moved home'
	state 'noresume goes before it' three-moved.img '0 root:match:wubi-root home:moved:wubi-home swap:match:wubi-swap' \
		resume=/dev/mapper/wubi-swap noresume
	fresh
}

# Whoever resumes it needs no word on the kernel's command line: the tools that do have files of their own for that.
session_in_swap() {
	state 'a session in swap, all as it was' suspended.img "$all_as_it_was"
	fresh
	state 'a session in swap, Windows moved home' suspended-moved.img "$no_swap"
	refuses_swap 'a session in swap, Windows moved home'
	state 'a session in swap, Windows moved home, noresume' suspended-moved.img "$no_swap" noresume
	refuses_swap 'a session in swap, Windows moved home, noresume'
}

# A swap file lies in root: then root is what a session is resumed from.
swap_file() {
	local asked='resume=/dev/mapper/wubi-root resume_offset=4096'
	state 'a swap file, all as it was' three.img "$all_as_it_was" "$asked"
	fresh
	cmdline="$cmdline $asked"
	three root-moved.img
	check_equal 'C14 a swap file, Windows moved root: refused' '3 moved -' "$status ${verdict[root]} ${device[root]}"
	says 'C14 a swap file, Windows moved root: says so' 'wubi: root: not attached: resume'
	says 'C14 a swap file, Windows moved root: what to do' 'boot with noresume'
	check_equal 'C14 a swap file, Windows moved root: no device at all' '' "$(devices)"
	check_unwritten 'C14 a swap file, Windows moved root' "$plugged"
	fresh
	state 'a swap file, Windows moved root, noresume' root-moved.img \
		'0 root:moved:wubi-root home:match:wubi-home swap:match:wubi-swap' "$asked noresume"
	fresh
}

named_swap
session_in_swap
swap_file
finish
