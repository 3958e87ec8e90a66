#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by an init without systemd, again and again until it has removed itself; $job is this file.
modprobe -q dm_mod
if /usr/sbin/wubi-attach --console; then
	rm -f -- "${job:?}"
else
	emergency_shell "wubi: no root device, the reason is above. 'exit' tries again."
fi
