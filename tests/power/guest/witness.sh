#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In the guest: a stack over the volume /dev/ubda, a profile in force, and the witness, until it ends or the power goes.
#
#   witness.sh STACK FAULT MOUNT-OPTIONS KNOB=VALUE,... WITNESS-OPTION...
#
# STACK: wubi, loop-async, loop-sync (a loop device on the file in an ntfs-3g mount). FAULT: none nobarrier noflush lie shift.
# With /dev/ubdb there is a log of the writes to the volume on it.
# In the work directory: root.map, table (of the map that counts, or of a wrong one); afterwards acks, inforce.

. "$(dirname "$0")/../../vm/guest.sh"

stack=$1 fault=$2 options=$3 knobs=$4
shift 4
volume=/dev/ubda
below=$volume
at=/run/witness
marks=()

give_up() {
	echo "witness.sh: $1"
	exit 1
}

# dmsetup makes no node here: there is no udev.
make_device() { # NAME, table on standard input
	dmsetup create "$1" || give_up "cannot make the device '$1'"
	dmsetup mknodes "$1" || give_up "no node for the device '$1'"
}

log_writes() {
	[ -b /dev/ubdb ] || return 0
	load_module dm_log_writes || give_up 'no dm-log-writes'
	below=/dev/mapper/power
	make_device power <<<"0 $(blockdev --getsz $volume) log-writes $volume /dev/ubdb"
	marks=(--mark power)
}

# The device with the image; $image is its name.
stack_wubi() {
	if [ "$fault" = shift ]; then
		make_device wubi-root <<<"$(sed "s|DEVICE|$below|" "$WUBI_WORK/table")"
	else
		"$WUBI_BUILD/wubi-disk" attach $below --map "$WUBI_WORK/root.map" || give_up 'attach failed'
	fi
	image=/dev/mapper/wubi-root
	# the kernel takes the device's word that it has no cache, and drops flushes and FUA before they get there
	[ "$fault" != noflush ] || echo 'write through' >"/sys/dev/block/$(mountpoint -x $image)/queue/write_cache" ||
		give_up 'no write_cache'
}

stack_loop() {
	load_module fuse loop || give_up 'no fuse or loop'
	case $stack in
	loop-sync) ntfs_mount -o sync $below /run/host ;;
	*) ntfs_mount $below /run/host ;;
	esac || give_up 'ntfs-3g failed'
	image=$(losetup -f --show /run/host/ubuntu/disks/root.disk) || give_up 'no loop device'
}

# One place: mount options and knobs of the profile, as told.
enforce() {
	local knob
	for knob in ${knobs//,/ }; do
		echo "${knob#*=}" >"/proc/sys/vm/${knob%%=*}" || give_up "cannot set $knob"
	done
	mount -t ext4 -o "$options" "$image" $at || give_up 'mount failed'
}

# What is in force, for the window.
tell_inforce() {
	local knob
	for knob in dirty_bytes dirty_ratio dirty_background_bytes dirty_background_ratio dirty_expire_centisecs dirty_writeback_centisecs; do
		echo "$knob $(cat /proc/sys/vm/$knob)"
	done
	awk '/^MemTotal:/ { print "memory_kib", $2 }' /proc/meminfo
	echo "mount $(awk -v at=$at '$5 == at { print $NF "," $6 }' /proc/self/mountinfo)"
}

take_down() {
	umount $at || give_up 'umount failed'
	case $stack in
	wubi) dmsetup remove wubi-root ;;
	*) losetup -d "$image" && ntfs_umount /run/host ;;
	esac || give_up 'cannot take the stack down'
	[ "$below" = "$volume" ] || dmsetup status power >"$WUBI_WORK/log.status"
	[ "$below" = "$volume" ] || dmsetup remove power || give_up 'the log is not complete'
}

load_module dm_mod || give_up 'no device-mapper'
mkdir -p $at
log_writes
case $stack in wubi) stack_wubi ;; *) stack_loop ;; esac
enforce
tell_inforce >"$WUBI_WORK/inforce"
"$WUBI_BUILD/tests/power/witness" $at --tell "$WUBI_WORK/acks" ${marks[@]+"${marks[@]}"} "$@" || give_up 'the witness failed'
take_down
