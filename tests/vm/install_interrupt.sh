#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-install is interrupted: before the system is complete nothing of it stays, afterwards the next run does the rest (case G10).
#
# vm-setup: . "$TESTS/vm/lib_install.sh"
# vm-setup: make_system
# vm-setup: make_disk d.img 128
# vm-setup: make_firmware 128
# vm-options: -d d.img -m 768M -t 800

. "$(dirname "$0")/lib_installer.sh"

interrupted() { # SIGNAL WHERE PATTERN
	stop "$1" "$3"
	check_equal "G10 SIG$1 $2: exit status" 4 "$status"
	check "G10 SIG$1 $2: it says that all is removed" grep -q 'all that was made is removed again' /run/said
	check_equal "G10 SIG$1 $2: nothing stays" "$before" "$(state)"
}

begin
before=$(state)
check 'what is compared' grep -q holiday.jpg <<<"$before"
interrupted TERM 'making the images' '^\* making the images'
interrupted INT 'in the middle of the copy' '"phase":"copying","done_bytes":[1-9][0-9]{7}'
interrupted TERM 'while it compares' '^\* comparing'
interrupted INT 'while dpkg unpacks' '^Unpacking grub-efi-amd64-signed'
interrupted TERM 'while the initramfs is built' '^\* building its initramfs'
interrupted INT 'while it fills the EFI system partition' '^\* copying what starts it'

stop TERM '^\* writing everything to the disk'
check_equal 'G10 complete, and interrupted: exit status' 4 "$status"
check 'G10 complete, and interrupted: what to do' grep -q 'the system is complete.*wubi-install' /run/said
check_equal 'G10 complete, and interrupted: the label' wubi-root "$(label)"
check_equal 'G10 complete, and interrupted: no entry' '' "$(our_entry)"
check_equal 'G10 complete, and interrupted: no leftovers' '' "$(leftovers)"
check_status 'G10 the next run makes the boot entry' 0 wubi_install --json
check_equal 'G10 the next run makes the boot entry alone' no-entry "$(json .found)"
check_equal 'G10 the next run: nothing is copied' '' "$(grep -E '^\* (copying$|making the images)' /run/check.out)"
check_equal 'G10 the entry' 0001 "$(our_entry)"
check_status 'G10 away with it' 0 wubi_install --remove
check_equal 'G10 away with it: all as before' "$before" "$(state)"

stop INT '^\* making its boot entry'
check_equal 'G10 too late to be interrupted: exit status' 0 "$status"
check_equal 'G10 too late to be interrupted: the entry' 0001 "$(our_entry)"
check_equal 'G10 too late to be interrupted: no leftovers' '' "$(leftovers)"
finish
