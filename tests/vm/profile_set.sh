#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-profile set, status, reset and apply on a system whose '/' and /home are in images (cases F01 F02 F03 F04 F07 F08 F10), on one whose
# '/' is not, without rights, and with values that cannot be written.
#
# vm-setup: truncate -s 400M v.img
# vm-setup: mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 v.img
# vm-options: -d v.img -m 512M -t 600

. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/lib_profile.sh"

volume=/dev/ubda

conf() { # the configuration: standard input
	cat >$root/etc/wubi/wubi.conf
}

my_profile() { # NAME MOUNT [DIRTY BACKGROUND]
	cat <<-EOC
		profile "$1" {
			mount      = "$2"
			dirty      = "${3:-32MiB}"
			background = "${4:-8MiB}"
			expire     = "3s"
			writeback  = "2s"
			loss       = "60s"
		}
	EOC
}

# ---- nothing chosen ----

unchosen() {
	status_says 'nothing chosen' 1 '"chosen": *false' '"profile": *"safe"'
	check_status 'reset: nothing to do' 0 wp reset --json
	says 'reset: nothing to do' '"status": *"unchanged"'
	check_status 'apply: nothing to do' 0 wp apply --json
	says 'apply: nothing to do' '"status": *"unchanged"'
	no_files 'nothing chosen'
}

# ---- F01, F02: there and back, from every kind of start ----

is_safe() { # WHAT
	knobs_are "$1: the knobs of safe" 67108864 16777216 500 100
	check "$1: / is synchronous" has_option / sync
	check "$1: /home is synchronous" has_option /home sync
}

round_trip() { # WHAT START-STATE...
	local what=$1 before
	shift
	start_state "$@"
	look
	before=$state
	check "$what: set safe" wp set safe --quiet
	is_safe "$what: set safe"
	check_equal "$what: one member of each pair in the file" 'dirty_background_bytes dirty_bytes dirty_expire_centisecs dirty_writeback_centisecs' \
		"$(sed -n 's/^vm\.\([a-z_]*\) = .*/\1/p' $root$sysctl | sort | tr '\n' ' ' | sed 's/ $//')"
	status_says "$what: safe" 0 '"profile": *"safe"' '"chosen": *true' '"differences": *\[\]' '"calls_are_durable": *true' '"kept": *true'
	check "$what: set fast" wp set fast --quiet
	check "$what: fast: / is asynchronous" lacks_option / sync
	check "$what: fast: commit=5 on /home" lacks_option /home commit=30
	status_says "$what: fast" 0 '"profile": *"fast"' '"differences": *\[\]' '"calls_are_durable": *false' '"speed_is_known": *true' '"kept": *true'
	check "$what: set safe again" wp set safe --quiet
	is_safe "$what: set safe again"
	check "$what: safe again: what fast had for /home is gone" has_option /home commit=30
	check_status "$what: set safe a third time" 0 wp set safe --json
	says "$what: set safe a third time: nothing to do" '"status": *"unchanged"'
	check "$what: reset" wp reset --quiet
	state_is "$what: all is as it was" "$before"
	no_files "$what"
}

round_trips() {
	round_trip 'ratio' dirty_ratio=20 dirty_background_ratio=10 3000 500
	round_trip 'bytes' dirty_bytes=90000000 dirty_background_bytes=8192 1500 0
	round_trip 'mixed: bytes, ratio' dirty_bytes=50000000 dirty_background_ratio=1 3000 500
	round_trip 'mixed: ratio, bytes' dirty_ratio=40 dirty_background_bytes=70000000 100 9999
	round_trip 'ratio of 0' dirty_ratio=20 dirty_background_ratio=0 3000 500
	start_state dirty_ratio=20 dirty_background_ratio=10 3000 500
}

dry_run() {
	local before
	look
	before=$state
	check_status 'set --dry-run' 0 wp set safe --dry-run --json
	says 'set --dry-run: what it would be' '"dirty_bytes": *67108864'
	state_is 'set --dry-run changes nothing' "$before"
	no_files 'set --dry-run'
	wp set safe --quiet
	look
	before=$state
	check 'reset --dry-run' wp reset --dry-run
	state_is 'reset --dry-run changes nothing' "$before"
	check 'reset --dry-run: what was saved is there' test -e $root$saved
	wp reset --quiet
}

# ---- F03, F07: what is refused before anything is touched ----

bad_conf() {
	local before what pattern
	look
	before=$state
	while IFS='|' read -r what dirty background mount pattern; do
		my_profile mine "$mount" "$dirty" "$background" | conf
		check_status "$what: refused" 1 wp set mine
		says "$what: file, line and key" "/etc/wubi/wubi.conf:[0-9]+: .*$pattern"
		check_status "$what: status tells it, too" 1 wp status
		says "$what: status tells it, too" "/etc/wubi/wubi.conf:[0-9]+: "
	done <<-'EOT'
		F03 one byte|1|8MiB|async|dirty
		F03 one page|4096|8MiB|async|dirty
		F03 a byte less than two pages|64MiB|8191|async|background
		F07 background = dirty|8MiB|8MiB|async|background
		F07 background > dirty|8MiB|9MiB|async|background
		a wrong unit|8 parsecs|1MiB|async|dirty
		no barriers|64MiB|8MiB|nobarrier|nobarrier
	EOT
	state_is 'bad configuration: nothing has changed' "$before"
	no_files 'bad configuration'
	my_profile mine async 8MiB 8192 | conf
	check 'F03 two pages are taken' wp set mine --quiet
	knobs_are 'F03 two pages' 8388608 8192 300 200
	check_status 'a configuration that is not there' 1 wp set safe --conf /etc/wubi/none.conf
	says 'a configuration that is not there is named' '/etc/wubi/none.conf'
	check_status 'an unknown profile' 3 wp set nothing
	says 'an unknown profile: those there are' "'nothing'.*'safe'.*'mine'"
	wp reset --quiet
	rm $root/etc/wubi/wubi.conf
}

# ---- F04: another one sets it again ----

others() {
	wp set safe --quiet
	echo 'vm.dirty_ratio = 40' >$root/etc/sysctl.d/99-x.conf
	status_says 'F04 a later file, not read yet' 1 '/etc/sysctl.d/99-x.conf:1' 'vm.dirty_ratio = 40'
	echo 40 >/proc/sys/vm/dirty_ratio
	status_says 'F04 a later file with the other member' 1 '"seen": *"vm.dirty_ratio = 40"' '/etc/sysctl.d/99-x.conf:1'
	echo 4711 >/proc/sys/vm/dirty_expire_centisecs
	in_root mount -o remount,async /home
	check_status 'F04 apply: the later file is left alone' 0 wp apply --json
	says 'F04 apply: a note' '"later-file".*vm.dirty_ratio = 40.*/etc/sysctl.d/99-x.conf:1'
	values
	check_equal 'F04 apply: the rest is put right' '0 40 16777216 0 500 100' "$values"
	check 'F04 apply: mount options are always put right' has_option /home sync
	check_equal 'F04 apply: our own file has the profile' 'vm.dirty_bytes = 67108864' "$(grep '^vm.dirty_.*y' $root$sysctl | head -n 1)"
	status_says 'F04 after apply: the later file is named' 1 '"seen": *"vm.dirty_ratio = 40"' '/etc/sysctl.d/99-x.conf:1'
	check_status 'F04 set: for now' 0 wp set safe --json
	says 'F04 set: a note' '"later-file".*/etc/sysctl.d/99-x.conf:1'
	knobs_are 'F04 set' 67108864 16777216 500 100
	rm $root/etc/sysctl.d/99-x.conf
	status_says 'F04 without the file' 0
	echo 41 >/proc/sys/vm/dirty_ratio
	check 'F04 without the file: apply puts it right' wp apply --quiet
	knobs_are 'F04 without the file: apply' 67108864 16777216 500 100
	echo 9000000 >/proc/sys/vm/dirty_background_bytes
	status_says 'F04 by hand' 1 '"what": *"vm.dirty_background_bytes"' '"seen": *"9000000"' 'another program or by hand'
	check 'F04 by hand: set again' wp set safe --quiet
	status_says 'F04 set again' 0
	rm $root$sysctl
	status_says 'F04 our own file is gone' 1 "in no file: '$sysctl'"
	check 'F04 our own file is gone: apply' wp apply --quiet
	status_says 'F04 after apply' 0
}

# F10: what is silently not in force
ignored() {
	in_root mount -o remount,async /home
	status_says 'F10 a remount' 1 '"what": *"mount /home"' '"wanted": *"sync"' '"calls_are_durable": *false' '"kept": *false'
	echo '/dev/mapper/wubi-home /home ext4 defaults,async 0 2' >$root/etc/fstab
	status_says 'F10 a remount by fstab' 1 '/etc/fstab:1'
	# what the unit does after systemd-remount-fs
	check 'F10 apply' wp apply --quiet
	check 'F10 apply: /home is synchronous' has_option /home sync
	status_says 'F10 after apply' 0
	rm $root/etc/fstab
	wp reset --quiet
}

# ---- two at a time ----

waits() { # PROCESS: it has opened the lock, which another one holds
	local fd
	for fd in "/proc/$1/fd"/*; do
		[[ $(readlink "$fd") != */run/wubi/profile.lock ]] || return 0
	done
	return 1
}

# What one of them chose is there for the other one, whichever is first.
two_at_a_time() {
	local first second held
	mkdir -p /run/wubi
	exec {held}>/run/wubi/profile.lock
	flock "$held"
	(exec {held}>&-; exec chroot $root "$profile" set balanced --phase iso-copy --quiet) &
	first=$!
	(exec {held}>&-; exec chroot $root "$profile" set safe --quiet) &
	second=$!
	check 'two at a time: the first waits' wait_for waits $first
	check 'two at a time: the second waits' wait_for waits $second
	check 'two at a time: neither has chosen' test ! -e $root$choice
	exec {held}>&-
	check 'two at a time: the first' wait $first
	check 'two at a time: the second' wait $second
	check_equal 'two at a time: both are kept' 'iso-copy = balanced normal = safe' \
		"$(grep -v '^#' $root$choice | sort | tr '\n' ' ' | sed 's/ $//')"
	# and an apply does not bring back what a reset that it waited for has removed
	exec {held}>/run/wubi/profile.lock
	flock "$held"
	(exec {held}>&-; exec chroot $root "$profile" apply --quiet) &
	first=$!
	check 'apply waits' wait_for waits $first
	mv $root$choice $root$choice.away
	exec {held}>&-
	check 'apply has waited' wait $first
	check 'apply has completed the reset' lacks_option /home sync
	no_files 'apply has waited'
	rm $root$choice.away
}

unreadable_folder() {
	rm -rf /run/wubi
	(umask 077 && wp set safe --quiet)
	check_equal '/run/wubi is open to all, whatever the umask is' 755 "$(stat -c %a /run/wubi)"
	check_status 'without root: status after that' 0 in_root setpriv --reuid=65534 --clear-groups "$profile" status
	wp reset --quiet
}

# ---- F08: what no remount takes ----

reboot_with() { # OPTIONS: of '/', as rootflags= does it
	umount $root/home && root_away && root_from -o "$1" /dev/mapper/wubi-root && mount -o commit=30 /dev/mapper/wubi-home $root/home
}

fake_update_grub() { # STATUS
	cat >$root/opt/bin/update-grub <<-EOS
		#!/bin/sh
		[ ! -e $grub ] || . $grub
		echo "grub:\$GRUB_CMDLINE_LINUX" >>/run/grub.log
		exit $1
	EOS
	chmod +x $root/opt/bin/update-grub
	rm -f /run/grub.log
}

# A kill while update-grub runs: it is run again, though the file is as it should be.
grub_cut_short() {
	# shellcheck disable=SC2016 # for the script
	printf '#!/bin/sh\nkill -KILL $PPID\n' >$root/opt/bin/update-grub
	check_status 'F08 killed in update-grub' 137 wp set wb
	check 'F08 killed in update-grub: it is due' test -e $root$pending
	fake_update_grub 1
	check_status 'F08 it is due and fails' 1 wp set wb
	says 'F08 it is due and fails: the remedy' "update-grub.*status 1.*run 'update-grub'"
	check 'F08 it is due and fails: it stays due' test -e $root$pending
	fake_update_grub 0
	check_status 'F08 it is due: not at boot' 0 wp apply --json
	says 'F08 it is due: not at boot, but a note' '"grub-pending"'
	check 'F08 it is due: not at boot' test ! -e /run/grub.log
	check_status 'F08 it is due: set' 0 wp set wb --json
	says 'F08 it is due: set' '"status": *"done"'
	check 'F08 it is due: then no more' test ! -e $root$pending
	check 'F08 reset after that' wp reset --quiet
	check_equal 'F08 reset after that: GRUB is told' 'grub:' "$(tail -n 1 /run/grub.log)"
}

first_mount_only() {
	local before
	look
	before=$state
	my_profile wb 'commit=9,data=writeback' | conf
	fake_update_grub 1
	check_status 'F08 update-grub fails' 1 wp set wb
	says 'F08 update-grub fails: named' 'update-grub.*status 1'
	state_is 'F08 update-grub fails: all is as it was' "$before"
	check 'F08 update-grub fails: it is due' test -e $root$pending
	rm $root$pending
	no_files 'F08 update-grub fails'
	fake_update_grub 0
	check_status 'F08 set' 0 wp set wb --json
	says 'F08 set: a note' '"after-reboot".*data=writeback'
	says 'F08 set: a note for the other mount' "\"first-mount-only\".*'/home'.*data=writeback.*fstab"
	check 'F08 what a remount takes is in force' has_option / commit=9
	check 'F08 data= is not remounted' lacks_option / data=writeback
	check_equal 'F08 GRUB is told' 'grub: rootflags=data=writeback' "$(cat /run/grub.log)"
	status_says 'F08 until the reboot' 1 '"what": *"mount /"' '"wanted": *"data=writeback"' 'the next boot'
	check 'F08 reboot' reboot_with data=writeback
	check 'F08 at boot' wp apply --quiet
	status_says 'F08 after the reboot' 0 '"differences": *\[\]'
	check 'F08 set safe' wp set safe --quiet
	check 'F08 set safe: no rootflags' test ! -e $root$grub
	check_equal 'F08 set safe: GRUB is told' 'grub:' "$(tail -n 1 /run/grub.log)"
	status_says 'F08 data=writeback is still there' 1 '"wanted": *"data=ordered"' 'the next boot'
	check_status 'F08 reset' 0 wp reset --json
	says 'F08 reset: a note' '"after-reboot".*data=ordered'
	grub_cut_short
	reboot_with rw
	state_is 'F08 in the end all is as it was' "$before"
	no_files 'F08'
	rm $root/opt/bin/update-grub
	check_status 'F08 without update-grub' 0 wp set wb --json
	says 'F08 without update-grub: a note' '"no-update-grub"'
	wp reset --quiet
}

# The second mount says no, when the first one is changed.
refused_by_kernel() {
	local before
	umount $root/home
	mount -o data=journal /dev/mapper/wubi-home $root/home
	look
	before=$state
	my_profile odd 'sync,delalloc' | conf
	check_status 'refused by the kernel' 1 wp set odd
	says 'refused by the kernel: its words' "'/home'.*(delalloc|data=journal)"
	state_is 'refused by the kernel: all is as it was' "$before"
	no_files 'refused by the kernel'
	wp set safe --quiet
	look
	before=$state
	check_status 'refused by the kernel, over another profile' 1 wp set odd
	state_is 'refused by the kernel, over another profile: that is in force' "$before"
	status_says 'refused by the kernel, over another profile' 0 '"profile": *"safe"'
	wp reset --quiet
	umount $root/home
	mount -o commit=30 /dev/mapper/wubi-home $root/home
	rm $root/etc/wubi/wubi.conf
}

# ---- without the right to ----

readonly_proc() { # WHAT-IS-READ-ONLY COMMAND...
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m bash -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec chroot "$@"' "$root$1" "$root" "${@:2}"
}

no_right() {
	local before what
	look
	before=$state
	for what in /proc/sys /proc/sys/vm/dirty_expire_centisecs; do
		check_status "$what is read-only: set" 1 readonly_proc $what "$profile" set safe
		says "$what is read-only: set: says so" 'read-only'
		check_status "$what is read-only: run" 1 readonly_proc $what "$profile" run -- /usr/bin/touch /run/has-run
		state_is "$what is read-only: nothing has changed" "$before"
		no_files "$what is read-only"
	done
	check_status 'without root: set' 1 in_root setpriv --reuid=65534 --clear-groups "$profile" set safe
	says 'without root: set: the remedy' 'root'
	check_status 'without root: set for the copy' 1 in_root setpriv --reuid=65534 --clear-groups "$profile" set safe --phase iso-copy
	says 'without root: set for the copy: the remedy' 'root'
	check_status 'without root: run' 1 in_root setpriv --reuid=65534 --clear-groups "$profile" run -- /usr/bin/touch /run/has-run
	check 'without root: nothing was run' test ! -e /run/has-run
	state_is 'without root: nothing has changed' "$before"
	no_files 'without root'
	wp set safe --quiet
	look
	before=$state
	check_status 'without root: status' 0 in_root setpriv --reuid=65534 --clear-groups "$profile" status
	check_status 'without root: reset' 1 in_root setpriv --reuid=65534 --clear-groups "$profile" reset
	check_status '/proc/sys is read-only: reset' 1 readonly_proc /proc/sys "$profile" reset
	state_is 'without rights: still in force' "$before"
	status_says 'without rights: still in force' 0
	wp reset --quiet
}

full_disk() {
	local before
	look
	before=$state
	mount -t tmpfs -o size=4k tmpfs $root/etc/sysctl.d && head -c 4096 /dev/zero >$root/etc/sysctl.d/fill
	check_status 'the files cannot be written' 1 wp set safe
	says 'the files cannot be written: which' "$sysctl"
	state_is 'the files cannot be written: all is as it was' "$before"
	umount $root/etc/sysctl.d
	no_files 'the files cannot be written'
}

# ---- '/' is no image ----

other_root() {
	local before
	umount $root/home && root_away && root_from -t tmpfs tmpfs
	look
	before=$state
	check_status 'no image: set safe' 0 wp set safe --json
	says 'no image: a note' '"not-an-image"'
	knobs_are 'no image: the knobs' 67108864 16777216 500 100
	status_says 'no image' 0 '"differences": *\[\]' '"mounts": *\[\]' '"not-an-image"' '"calls_are_durable": *false'
	check_status 'no image: the speed of memory is not measured' 1 wp set fast
	says 'no image: the speed of memory is not measured' "'fast'.*bytes or per cent"
	status_says 'no image: what was in force is' 0 '"profile": *"safe"'
	check_status 'no image: the note is on standard error' 0 wp set safe --quiet
	says 'no image: the note is on standard error' 'not in an image|no ext4 in an image|left out'
	my_profile wb 'data=writeback' | conf
	check_status 'no image: set with data=' 0 wp set wb --json
	check 'no image: no rootflags' test ! -e $root$grub
	check 'no image: reset' wp reset --quiet
	state_is 'no image: all is as it was' "$before"
	mount -o commit=30 /dev/mapper/wubi-home $root/home
	check_status 'no image but /home' 0 wp set safe --json
	says 'no image but /home: the note' "\"not-an-image\".*are for '/home', and not for '/'"
	check 'no image but /home: it is so' has_option /home sync
	check 'no image but /home: reset' wp reset --quiet
	umount $root/home
	no_files 'no image'
}

load_module dm_mod loop fuse || fail 'load the modules'
root_and_home "$volume"
[ "$guest_failed" -eq 0 ] || finish
unchosen
round_trips
dry_run
bad_conf
others
ignored
two_at_a_time
unreadable_folder
first_mount_only
refused_by_kernel
no_right
full_disk
other_root
finish
