#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# vmknobs with the kernel's own rules (cases F01 F02 F03), sysctld against systemd-sysctl (case F04), and diskspeed.

. "$(dirname "$0")/guest.sh"

driver=$WUBI_BUILD/tests/kernel_driver
vm=/proc/sys/vm
# dirty bytes and ratio, background bytes and ratio, expire, writeback: per cent, bytes, mixed both ways, nothing
states=(
	'0 20 0 10 3000 500'
	'0 1 0 0 100 0'
	'67108864 0 16777216 0 500 100'
	'8192 0 4096 0 1 1'
	'33554432 0 0 1 3000 500'
	'0 20 16777216 0 200 500'
	'0 0 0 0 3000 500'
)

transitions() {
	local from to
	for from in "${states[@]}"; do
		for to in "${states[@]}"; do
			# shellcheck disable=SC2086 # words
			"$driver" set-knobs $from >/run/check.out 2>&1 || fail "start at $from" "$(cat /run/check.out)"
			# shellcheck disable=SC2086 # words
			"$driver" set-knobs $to >/run/check.out 2>&1 || fail "from $from to $to" "$(cat /run/check.out)"
			check_equal "from $from to $to" "$to" "$("$driver" knobs)"
		done
	done
}

refusals() {
	"$driver" set-knobs 0 20 0 10 3000 500
	check_status 'less than two pages' 1 "$driver" set-knobs 4096 0 1 0 3000 500
	check_output 'less than two pages: EINVAL, with name and value' 'EINVAL: .*vm.dirty_bytes to 4096'
	check_status 'more than 100 per cent' 1 "$driver" set-knobs 0 20 0 101 3000 500
	check_output 'more than 100 per cent: EINVAL, with name and value' 'EINVAL: .*vm.dirty_background_ratio to 101'
	check 'may they be written?' "$driver" may-set-knobs
	check_status 'without the right' 1 setpriv --reuid 1000 --regid 1000 --clear-groups "$driver" may-set-knobs
	check_output 'without the right: what to do' 'EACCES: .*/proc/sys/vm/dirty_bytes.*as root'
	mount --bind $vm $vm && mount -o remount,bind,ro $vm
	check_status 'read-only' 1 "$driver" may-set-knobs
	check_output 'read-only: what to do' 'EROFS: .*/proc/sys/vm/dirty_bytes.*container'
	check_status 'read-only: not set' 1 "$driver" set-knobs 67108864 0 16777216 0 500 100
	umount $vm
}

# Where the pair ends that a file has set, by what systemd-sysctl does and by what we say that it does.
same_as_systemd() { # WHAT LINES: one "FOLDER/NAME LINE" each
	local seen said file text
	rm -f /etc/sysctl.d/* /usr/lib/sysctl.d/* /run/sysctl.d/*
	while read -r file text; do
		case $text in '->'*) ln -s "${text#-> }" "$file" ;; *) echo "$text" >>"$file" ;; esac
	done <<<"$2"
	"$driver" set-knobs 0 99 0 98 3000 500
	/usr/lib/systemd/systemd-sysctl >/run/check.out 2>&1 # it fails where the kernel refuses a value
	seen=$(grep -Hv '^0$' $vm/dirty_bytes $vm/dirty_ratio | sed "s|$vm/|vm.|; s/:/ /")
	said=$("$driver" winner '' vm.dirty_bytes vm.dirty_ratio | cut -d ' ' -f 1,2)
	check_equal "systemd-sysctl: $1" "$seen" "${said:-vm.dirty_ratio 99}"
}

systemd() {
	local e=/etc/sysctl.d u=/usr/lib/sysctl.d r=/run/sysctl.d
	mkdir -p $r
	mount -t tmpfs tmpfs $e || fail "cover $e"
	mount -t tmpfs tmpfs $u || fail "cover $u"
	same_as_systemd 'one line' "$e/a.conf vm.dirty_bytes=16384"
	same_as_systemd 'no line' "$e/a.conf # vm.dirty_bytes=16384"
	same_as_systemd 'the name is the order' "$u/b.conf vm.dirty_bytes=16384
$e/a.conf vm.dirty_ratio=20
$r/c.conf vm.dirty_ratio=30"
	same_as_systemd 'of one name /etc counts' "$u/b.conf vm.dirty_bytes=16384
$e/b.conf vm.dirty_ratio=20
$r/b.conf vm.dirty_ratio=30"
	same_as_systemd 'masked' "$u/b.conf vm.dirty_bytes=16384
$e/b.conf -> /dev/null"
	same_as_systemd 'hidden by a link to nothing' "$u/b.conf vm.dirty_bytes=16384
$e/b.conf -> /no/such/file"
	same_as_systemd 'the later line' "$e/a.conf vm.dirty_bytes=16384
$e/a.conf vm/dirty_ratio = 7"
	same_as_systemd 'the same line again stays where it was' "$e/a.conf vm.dirty_bytes=16384
$e/b.conf vm.dirty_ratio=7
$e/c.conf vm.dirty_bytes=16384"
	same_as_systemd 'zero bytes' "$e/a.conf vm.dirty_ratio=7
$e/b.conf vm.dirty_bytes=0"
	same_as_systemd 'a glob' "$e/a.conf vm.dirty_b[xy]tes=16384"
	same_as_systemd 'a glob and an earlier line that names one' "$e/a.conf vm.dirty_bytes=16384
$e/b.conf vm.dirty_[br]*=50"
	same_as_systemd 'a glob, but not for one' "$e/a.conf vm.dirty_[br]*=16384
$e/a.conf -vm.dirty_ratio"
	same_as_systemd 'a line is taken away' "$e/a.conf vm.dirty_bytes=16384
$e/b.conf -vm.dirty_bytes"
	same_as_systemd 'a minus, spaces and slashes' "$e/a.conf - /vm//dirty_bytes	= 16384"
	same_as_systemd 'slashes first leave the dots' "$e/a.conf vm/dirty.bytes = 16384"
	same_as_systemd 'names with a dot first, and without the suffix' "$e/.a.conf vm.dirty_bytes=16384
$e/a.conf.old vm.dirty_bytes=16384"
	umount $e $u
}

# The work directory is on a file system that knows neither O_TMPFILE nor O_DIRECT.
speed() {
	mkdir "$WUBI_WORK/speed"
	check_status 'speed' 0 "$driver" speed "$WUBI_WORK/speed"
	check_output 'speed: a number' '^[1-9][0-9]+$'
	check_equal 'speed: nothing is left' '' "$(ls -A "$WUBI_WORK/speed")"
	mount -t tmpfs -o size=100M tmpfs /mnt
	check_status 'speed: not enough room' 1 "$driver" speed /mnt
	check_output 'speed: how much is needed' "ENOSPC: '/mnt' has 100.0 MiB free.*128.0 MiB"
	umount /mnt
}

transitions
refusals
speed
if [ -x /usr/lib/systemd/systemd-sysctl ]; then
	systemd
else
	skip 'no systemd-sysctl to compare with'
fi
finish
