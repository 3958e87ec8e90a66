#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Names that Windows cannot have, or that are its own: a usage error, whatever the verb.

load ../lib.sh

# not_a_name WORDS ARG...: exit 2, WORDS in the message, which does not blame the volume; nothing changed
not_a_name() {
	local words=$1
	shift
	wd "$@"
	[ "$status" = 2 ] || fail "wubi-disk ${*:1:8}: exit status $status, not 2"
	has "$err" "$words"
	lacks "$err" 'corrupt|chkdsk'
	eq "$(sum)" "$before" "checksum of the volume"
	absent "$M"
}

@test "a path component of 300 characters" {
	mkvol 40M
	before=$(sum)
	long=$(printf 'x%.0s' {1..300})
	for path in "/$long.disk" "/ubuntu/$long/root.disk"; do
		not_a_name 'long|255|image' create "$V" --size 8M --map "$M" --image "$path"
		not_a_name 'long|255|image' map "$V" --output "$M" --image "$path"
		not_a_name 'long|255|image' show "$V" --image "$path"
		not_a_name 'long|255|image' remove "$V" --yes --image "$path"
	done
}

@test "a path component of 255 characters is a name" {
	mkvol 40M
	name=$(printf 'x%.0s' {1..250}).disk
	ok create "$V" --size 8M --map "$M" --image "/$name"
	verdict_is match
	ok remove "$V" --image "/$name" --yes
	second_opinion
}

@test "devices of DOS: nul, con, aux, prn, com1, lpt1" {
	mkvol 40M
	before=$(sum)
	for name in nul con aux prn com1 lpt1; do
		not_a_name "$name" create "$V" --size 8M --map "$M" --name $name
		not_a_name "$name" create "$V" --size 8M --map "$M" --image /ubuntu/disks/$name.disk
		not_a_name "$name" create "$V" --size 8M --map "$M" --image "/ubuntu/${name^^}/root.disk"
	done
}

@test "names that only look like devices are names" {
	mkvol 40M
	for name in null console com10 lpt; do
		ok create "$V" --size 8M --name $name --dry-run
	done
}

@test "files of Windows: hiberfil.sys, \$Extend, \$MFT" {
	mkvol 40M
	before=$(sum)
	# shellcheck disable=SC2016 # no variables
	for path in /hiberfil.sys /HIBERFIL.SYS '/$Extend/x.disk' '/$extend/x.disk' '/$MFT' '/$Bitmap' '/$Boot'; do
		not_a_name 'image' create "$V" --size 8M --map "$M" --image "$path"
	done
}

@test "characters that Windows forbids, and a dot or space at the end" {
	mkvol 40M
	before=$(sum)
	for path in '/a:b.disk' '/a?.disk' '/a*.disk' '/a"b.disk' '/a<b.disk' '/a|b.disk' $'/a\tb.disk' '/a./x.disk' '/x.disk.' \
		'/x.disk ' '/../x.disk' '/./x.disk'; do
		not_a_name 'image' create "$V" --size 8M --map "$M" --image "$path"
	done
}
