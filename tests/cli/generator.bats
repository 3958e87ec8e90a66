#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wubi-profile-generator: what systemd is told about images that are mounted late.

load ../lib.sh

generate() { # with $T/fstab, into $T/out
	mkdir -p "$T/out"
	WUBI_FSTAB=$T/fstab PATH=$PATH:/usr/sbin:/sbin run sh "$TESTS_DIR/../sysctl/systemd/wubi-profile-generator" "$T/out"
	[ "$status" -eq 0 ] || fail "$output"
	[ -z "$output" ] || fail "$output"
}

@test "profile: each mount of an image in fstab pulls an apply of its own" {
	requires systemd-escape
	cat >"$T/fstab" <<-'END'
		# a comment
		/dev/mapper/wubi-root / ext4 defaults 0 1
		/dev/mapper/wubi-home /home ext4 nofail 0 2
		/dev/mapper/wubi-more /srv/my\040data ext4 nofail 0 2
		/dev/mapper/wubi-swap none swap sw 0 0
		LABEL=other /mnt/other ext4 nofail 0 2

	END
	generate
	[ "$(find "$T/out" -type f | wc -l)" -eq 2 ] || fail "$(find "$T/out")"
	grep -qx 'Wants=wubi-profile@home.service' "$T/out/home.mount.d/50-wubi-profile.conf"
	grep -qxF 'Wants=wubi-profile@srv-my\x20data.service' "$T/out/srv-my\\x20data.mount.d/50-wubi-profile.conf"
}

@test "profile: without fstab, and without an image in it, nothing is generated" {
	generate
	printf 'LABEL=other /mnt/other ext4 nofail 0 2\n' >"$T/fstab"
	generate
	[ -z "$(ls "$T/out")" ]
}
