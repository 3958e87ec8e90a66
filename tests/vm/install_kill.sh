#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-install is killed, again and again: what it leaves says that it is incomplete, no boot entry leads to it, and the next run in
# the same live system takes it away with its mounts, devices and programs, and begins anew (case G10).
#
# vm-setup: . "$TESTS/vm/lib_install.sh"
# vm-setup: make_system
# vm-setup: make_disk d.img 128
# vm-setup: make_firmware 128
# vm-options: -d d.img -m 768M -t 800

. "$(dirname "$0")/lib_installer.sh"

label_now() { # also while it is attached
	if [ -e /dev/mapper/wubi-root ]; then e2label /dev/mapper/wubi-root; else label; fi
}

killed() { # WHERE PATTERN
	stop KILL "$2"
	check_equal "G10 killed $1" 137 "$status"
	if [ -n "$had_one" ]; then
		check "G10 killed $1: it had begun anew" grep -q 'an interrupted installation: it is removed' /run/out
	fi
	had_one=1
	check_equal "G10 killed $1: no entry" '' "$(our_entry)"
	check_equal "G10 killed $1: the label" wubi-incomplete "$(label_now)"
	check "G10 killed $1: no menu" test -z "$(on_esp ro ls boot 2>/dev/null)"
}

whole() { # WHAT: now it is installed
	check_equal "G10 $1: the label" wubi-root "$(label)"
	check_equal "G10 $1: the entry" 0001 "$(our_entry)"
	check "G10 $1: the menu" on_esp ro test -s boot/grub/grub.cfg
	check_equal "G10 $1: no leftovers" '' "$(leftovers)"
	check_equal "G10 $1: the knobs" "$knobs_before" "$(knobs)"
}

begin
before=$(state) knobs_before=$(knobs) had_one=''
check 'what is compared' grep -q holiday.jpg <<<"$before"
{ cat /run/conf; echo 'command = "echo begun; sleep 1000"'; } >/run/conf-sleep # until it is ended: that is tested
killed 'when the image is there' '^\* copying$'
killed 'in the middle of the copy' '"phase":"copying","done_bytes":[1-9][0-9]{7}'
killed 'while it compares' '^\* comparing'
killed 'while dpkg unpacks' '^Unpacking grub-efi-amd64-signed'
conf=/run/conf-sleep
killed 'while a program of the new system runs' '^begun'
conf=/run/conf
check 'G10 killed while a program runs: that runs on' pgrep -f 'sleep 1000'
killed 'while the initramfs is built' '^\* building its initramfs'
check_equal 'G10 the program of the run before has ended' '' "$(pgrep -f 'sleep 1000')"
killed 'while it fills the EFI system partition' '^\* copying what starts it'
check 'G10 a torn file of ours' torn_on_esp vmlinuz-torn
check_status 'G10 the next run, to its end' 0 wubi_install
check_output 'G10 the next run: says so' 'an interrupted installation: it is removed'
whole 'to its end'
check 'G10 the torn file is gone' on_esp ro test ! -e EFI/wubi/vmlinuz-torn
check 'G10 the EFI system partition is whole' fsck.fat -n $esp

rm -f "$EFIVARFS_PATH"Boot*; cp -r "$WUBI_WORK/efivars" /run/
stop KILL '^\* building its initramfs'
check_equal 'G10 killed, complete: no entry' '' "$(our_entry)"
stop KILL '^\* making its boot entry'
check_equal 'G10 killed while it makes the entry: the label' wubi-root "$(label_now)"
check_status 'G10 repaired' 0 wubi_install --repair
whole repaired
stop KILL '^\* removing the images' --remove
check_equal 'G10 killed while it removes: no entry' '' "$(our_entry)"
wubi_install --remove >/run/check.out 2>&1
check_equal 'G10 removed: all as before' "$before" "$(state)"
finish
