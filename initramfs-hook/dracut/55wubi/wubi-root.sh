#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by an init without systemd. On an old Wubi disk (loop=) root= names the Windows volume, and root is the image on it.
wubi_root=$(/usr/sbin/wubi-attach --print-root)
if [ -n "$wubi_root" ]; then
	# shellcheck disable=SC2034 # dracut's
	root="block:$wubi_root"
	# shellcheck disable=SC2034
	rootok=1
fi
unset wubi_root
