#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guest's process 1 (see run.sh): the machine's root file system read-only, and over it whatever a guest may change.
# WUBI_WORK comes from the kernel's command line.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/run

mount -t proc proc /proc
mount -t sysfs sysfs /sys
grep -q ' /dev devtmpfs ' /proc/mounts || mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/console 2>&1
mkdir -p /dev/shm /dev/pts
for dir in /run /tmp /mnt /dev/shm; do
	mount -t tmpfs tmpfs "$dir"
done

# A directory of the host comes back under its own path where one of the tmpfs has just covered it.
uncover() { # DIRECTORY rw|ro
	case $1/ in
	/run/* | /tmp/* | /mnt/* | /dev/shm/*) mkdir -p "$1" && mount -t hostfs -o "$1,$2" hostfs "$1" ;;
	*) [ "$2" = ro ] || mount -t hostfs -o "$1,$2" hostfs "$1" ;;
	esac
}

give_up() {
	echo "init: $1"
	echo o >/proc/sysrq-trigger
	sleep 60 # process 1 must not end before the power does
}

uncover "$WUBI_WORK" rw || give_up "cannot mount the work directory '$WUBI_WORK'"
# shellcheck source=/dev/null
. "$WUBI_WORK/.job" || give_up 'no job'
for dir in "$WUBI_TOP" "$WUBI_BUILD" "$(dirname "$1")"; do
	uncover "$dir" ro
done
# Again: it may lie in one of these.
uncover "$WUBI_WORK" rw
echo 4 >/proc/sys/kernel/printk
ip link set lo up 2>/dev/null

cd /run || give_up 'no /run'
setsid -w "$@"
status=$?

echo "WUBI-VM-EXIT $status"
echo "$status" >"$WUBI_WORK/.status"
sync
echo o >/proc/sysrq-trigger
sleep 60 # as above
