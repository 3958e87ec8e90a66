#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# systemd generator: on an old Wubi disk (loop=) root= names the Windows volume, and root is the image on it. In the early
# folder, so that it counts more than what the others make of root=.
device=$(/usr/sbin/wubi-attach --print-root) || exit 0
[ -n "$device" ] || exit 0

# A dash in a name is \x2d in the name of a unit.
unit=dev-mapper-wubi
IFS=-
for part in ${device#/dev/mapper/wubi-}; do
	unit="$unit\\x2d$part"
done

mkdir -p "$2/initrd-root-fs.target.requires" "$2/$unit.device.d"
# How long is waited for the device is wubi-attach's to decide.
printf '%s\n' '[Unit]' 'JobTimeoutSec=infinity' 'JobRunningTimeoutSec=infinity' >"$2/$unit.device.d/50-wubi.conf"
printf '%s\n' '[Unit]' "Wants=systemd-fsck@$unit.service" "After=wubi-attach.service systemd-fsck@$unit.service" \
	'Before=initrd-root-fs.target' '[Mount]' "What=$device" 'Where=/sysroot' 'Options=ro' >"$2/sysroot.mount"
exec ln -sf ../sysroot.mount "$2/initrd-root-fs.target.requires/sysroot.mount"
