#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wubi-boot, where there is nothing for it to do: packages' hooks run it on every machine that has the package.
# With an image and an EFI system partition: tests/vm/bootprog.sh.

load ../lib.sh

WUBI_BOOT=$BUILD/wubi-boot

wb() {
	status=0
	"$WUBI_BOOT" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

@test "usage errors: exit 2, and what is wrong is named" {
	while read -r words args; do
		# shellcheck disable=SC2086
		wb $args
		[ "$status" = 2 ] || fail "wubi-boot $args: exit status $status"
		has "$err" "$words"
		eq "$out" ''
	done <<-END
		verb
		frob frob
		hook status --hook
		json flush --json
		default status --default linux
		vista update --default vista
		argument flush /boot
	END
}

@test "D13 no maps: a hook does nothing, says nothing and succeeds; whoever asks is told" {
	mkdir "$T/maps" "$T/esp"
	for folder in "$T/maps" "$T/none"; do
		wb update --hook --maps "$folder" --state-dir "$T/state" --esp "$T/esp"
		status_is 0
		eq "$out$err" ''
	done
	absent "$T/state"
	for verb in update status; do
		wb $verb --maps "$T/maps" --esp "$T/esp"
		status_is 3
		has "$err" "no map in '$T/maps'"
		wb $verb --maps "$T/maps" --esp "$T/esp" --json
		status_is 3
		eq "$(json .reason)" no-map
	done
	eq "$(ls -A "$T/esp")" ''
}

@test "a map, but / is not in an image, as on a live system or in somebody's chroot: the same" {
	mkvol 40M
	mkdir "$T/maps" "$T/esp"
	"$WUBI_DISK" create "$V" --size 8M --map "$T/maps/root.map" >"$T/log" 2>&1 3>&- || fail "$(<"$T/log")"
	wb update --hook --maps "$T/maps" --state-dir "$T/state" --esp "$T/esp"
	status_is 0
	eq "$out$err" ''
	wb update --hook --maps "$T/maps" --state-dir "$T/state"
	eq "$status$out$err" 0
	echo damaged >"$T/maps/root.map"
	wb update --hook --maps "$T/maps" --state-dir "$T/state"
	eq "$status$out$err" 0
	absent "$T/state"
	wb update --maps "$T/maps" --esp "$T/esp" --json
	status_is 3
	eq "$(json .reason)" not-in-image
	eq "$(ls -A "$T/esp")" ''
}

@test "a flush without the right to freeze fails, and names the folder" {
	requires root setpriv
	status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all "$WUBI_BOOT" flush >"$T/out" 2>"$T/err" 3>&- || status=$?
	err=$(<"$T/err")
	[ "$status" = 1 ] || [[ $err == *"Permission denied"* ]] || fail "exit status $status"
	has "$err" "'/(boot)?'"
}

@test "the entries of Windows and of the kernel copy are GRUB's to read" {
	requires grub-script-check
	wb entry
	status_is 0
	eq "$err" ''
	has "$out" "menuentry 'Windows'"
	has "$out" 'bootmgfw\.efi'
	has "$out" 'kernel copy on the EFI system partition'
	lacks "$out" '\?'
	grep -q "$(printf '\t')" "$T/out" || fail "its tabs are gone"
	grub-script-check "$T/out" || fail "GRUB does not take it"
}
