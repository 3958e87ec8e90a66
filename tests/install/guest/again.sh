#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In user-mode Linux: wubi-install once more, on the disk that a power cut has left; see ../cut_cases.py.

. "$(dirname "$0")/../../vm/lib_installer.sh"

volume=/dev/ubda3
begin
before=$(knobs)
wubi_install "$@" >/run/out 2>&1
status=$?
cat /run/out
if [ "$status" -ne 0 ] && grep -q 'wubi-install --repair' /run/out; then
	check_status 'it was complete: repaired' 0 wubi_install --repair
else
	check_equal 'the second run installs' 0 "$status"
fi
check_equal 'the label' wubi-root "$(label)"
check_equal 'the entry' 0001 "$(our_entry)"
check 'the menu' on_esp ro test -s boot/grub/grub.cfg
check_equal 'no leftovers' '' "$(leftovers)"
check_equal 'the knobs' "$before" "$(knobs)"
finish
