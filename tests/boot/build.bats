#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Initramfs images built in a chroot, by both builders of both Debian releases: with each thing missing in turn the build fails and the
# old image stays. Then our scripts in the images, by each shell. guest/build-check.sh and guest/hook-scripts.sh are the steps.

load ../lib.sh

builds() { # SYSTEM
	local root deb
	requires root mmdebstrap zstd unshare
	root=$("$TESTS_DIR/boot/roots" "$1" 3>&-) || fail "roots: $root"
	deb=$(echo "$BUILD"/deb/wubi-tools_*.deb)
	[ -e "$deb" ] || fail "no package in $BUILD/deb: run 'make deb'"
	mkvol 64M
	create 16M
	mkdir "$T/built"
	"$TESTS_DIR/boot/build-root" "$root" "$deb" "$M" "$T/built" "$TESTS_DIR"/boot/guest/{build-check,hook-scripts}.sh >"$T/steps" 2>&1 3>&- ||
		fail "$(cat "$T/steps")"
	! grep -q '^not ok' "$T/steps" || fail "$(cat "$T/steps")"
	eq "$(grep -c '^ok - all steps were made' "$T/steps")" 2
	"$BUILD/wubi-initrd" check "$T/built/initrd" --maps "$T" >"$T/check" 2>&1 || fail "$(cat "$T/check")"
}

@test "D01 D02 D03 D05 D07 D11 Debian 12, initramfs-tools: what is missing fails the build; the scripts by each shell" {
	builds bookworm-initramfs
}

@test "D01 D02 D03 D05 D07 D11 Debian 12, dracut: what is missing fails the build; the scripts by each shell" {
	builds bookworm-dracut
}

@test "D01 D02 D03 D05 D07 D11 C22 Debian 13, initramfs-tools: what is missing fails the build; the scripts by each shell" {
	builds trixie-initramfs
}

@test "D01 D02 D03 D05 D07 D11 C22 Debian 13, dracut: what is missing fails the build; the scripts by each shell" {
	builds trixie-dracut
}
