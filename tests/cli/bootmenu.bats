#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The menu on the EFI system partition, as GRUB's own parser sees it.

load ../lib.sh

menu() { # PARTUUID VERSION...
	local partuuid=$1
	shift
	"$BUILD/tests/cli/bootmenu_driver" 'Debian GNU/Linux 12 (bookworm) $x "y"' "$partuuid" \
		aaaaaaaa-2222-3333-4444-555555555555 'root=/dev/mapper/wubi-root ro quiet a;b $c {d} #e' \
		2048+100,5000000000+100 "$@"
}

check() { # FILE
	run grub-script-check "$1"
	[ "$status" -eq 0 ] || fail "$output"
}

@test "boot menu: GRUB's parser takes it, with copies, without, on GPT and MBR" {
	requires grub-script-check
	for partuuid in 11111111-2222-3333-4444-555555555555 1234abcd-0a; do
		menu "$partuuid" >"$T/none"
		check "$T/none"
		menu "$partuuid" 6.1.0-2-amd64 6.1.0-1-amd64 >"$T/two"
		check "$T/two"
		[ "$(grep -c '^		linux ' "$T/two")" -eq 2 ] || fail "$(cat "$T/two")"
		[ "$(grep -c '^if \[ -s .*vmlinuz-.* -a -s .*initrd.img-.* \]; then' "$T/two")" -eq 2 ] || fail "$(cat "$T/two")"
		grep -q 'wubi-install --repair' "$T/two" || fail "no advice for who has deleted the copies: $(cat "$T/two")"
		[ "$(grep -c '^export wubi_' "$T/two")" -eq 4 ] || fail "$(cat "$T/two")"
		[ "$(grep -c '^export wubi_' "$T/none")" -eq 1 ] || fail "$(cat "$T/none")"
	done
}

@test "boot menu: the entries in the system's own menu are ones that GRUB's parser takes" {
	requires grub-script-check
	"$BUILD/tests/cli/bootmenu_driver" system >"$T/system"
	check "$T/system"
	grep -q bootmgfw.efi "$T/system"
	grep -q 'kernel copy' "$T/system"
}

@test "boot menu: GRUB's parser takes that of a system in a partition" {
	requires grub-script-check
	"$BUILD/tests/cli/bootmenu_driver" partition 'Debian GNU/Linux 12 (bookworm) $x "y"' AAAAAAAA-2222-3333-4444-555555555555 >"$T/partition"
	check "$T/partition"
	grep -qx 'if search --no-floppy --fs-uuid --set=wubi_root aaaaaaaa-2222-3333-4444-555555555555; then' "$T/partition"
	grep -q bootmgfw.efi "$T/partition"
	! grep -q wroot "$T/partition" || fail "a loopback"
}
