#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# systemd generator: on an old Wubi disk (loop=) root= names the Windows volume, and root is the image on it. In the early
# folder, so that it counts more than what the others make of root=.
device=$(/usr/sbin/wubi-attach --print-root) || exit 0
[ -n "$device" ] || exit 0
mkdir -p "$2/initrd-root-fs.target.requires"
printf '%s\n' '[Unit]' 'After=wubi-attach.service' 'Before=initrd-root-fs.target' \
	'[Mount]' "What=$device" 'Where=/sysroot' 'Options=ro' >"$2/sysroot.mount"
exec ln -sf ../sysroot.mount "$2/initrd-root-fs.target.requires/sysroot.mount"
