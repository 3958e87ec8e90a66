#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The folders on the way to the image: compressed, in another case, reparse points, not folders.

load ../lib.sh

folders() { # folders PATH: made by ntfs-3g in a new volume
	mkvol 40M 4096
	in_ntfs "mkdir -p '$1'"
}

@test "A13 compressed folder: the image inherits nothing" {
	requires root fuse
	folders ubuntu/disks
	fx compress-parent "$V" /ubuntu
	fx compress-parent "$V" /ubuntu/disks
	create 8M
	eq "$(field attr_flags "$V")" 0x0 "attribute flags"
	eq "$(field cu "$V")" 0 "compression unit"
	eq "$(($(field file_flags "$V") & 0x4a00))" 0 "COMPRESSED, SPARSE, ENCRYPTED"
	eq "$(($(field index_flags "$V") & 0x4a00))" 0 "the same in the index entry"
	verdict_is match
	second_opinion
}

@test "A13 compressed volume: new folders may inherit it, the image does not" {
	mkvol 40M 4096 512 -C
	create 8M
	eq "$(field attr_flags "$V")" 0x0
	eq "$(field cu "$V")" 0
	eq "$(($(field file_flags "$V") & 0x4a00))" 0
	verdict_is match
	second_opinion
}

@test "A13 an image that exists and is compressed, or CompactOS (WOF): map refuses" {
	mkvol 40M 4096
	create 8M
	rm "$M"
	cp "$V" "$T/kept.img"
	fx compressed "$V" "$IMG"
	refuses compressed 'compress&uncompress|decompress|turn|clear|untick|compact' map "$V" --output "$M"
	cp "$T/kept.img" "$V"
	fx reparse "$V" "$IMG" 0x80000017 wof
	refuses reparse-point 'reparse|compact' map "$V" --output "$M"
}

@test "A13 compressed later, when the user ticks the box: verify says foreign" {
	mkvol 40M 4096
	create 8M
	fx compressed "$V" "$IMG"
	verdict_is foreign
	has "$(why)" 'compress'
}

@test "A17 image in another case: exists, so create refuses" {
	requires root fuse
	folders Ubuntu/Disks
	: >"$T/empty"
	ntfscp -q -f "$V" "$T/empty" /Ubuntu/Disks/ROOT.DISK >/dev/null 2>&1
	refuses image-exists '/Ubuntu/Disks/ROOT.DISK' create "$V" --size 8M --map "$M"
}

@test "A17 folders in another case are used, no twin is made" {
	requires root fuse
	folders UBUNTU/Disks
	create 8M
	NTFS_OPTIONS=ro in_ntfs "ls >'$T/names'; ls UBUNTU/Disks >'$T/below'"
	eq "$(cat "$T/names")" UBUNTU
	has "$(cat "$T/below")" '^root.disk$'
	verdict_is match
}

@test "A17 the image in another case is found by map, show and remove" {
	mkvol 40M
	create 8M
	for path in /UBUNTU/disks/ROOT.disk /ubuntu/DISKS/root.DISK; do
		ok show "$V" --image "$path" --json
		eq "$(json .mft.record)" "$(field record "$V")"
	done
	ok remove "$V" --image /Ubuntu/Disks/Root.Disk --yes
}

@test "A17 letters beyond ASCII are compared by the volume's own table" {
	requires root fuse
	export LC_ALL=C.UTF-8
	folders 'ÄÖ/disks'
	ok create "$V" --size 8M --map "$M" --image '/äö/disks/root.disk'
	NTFS_OPTIONS=ro in_ntfs "ls >'$T/names'"
	eq "$(cat "$T/names")" 'ÄÖ'
}

@test "A17 twins, two names that Windows takes for one: refused" {
	requires root fuse
	folders UBUNTU/disks
	in_ntfs "mkdir -p ubuntu/disks"
	refuses twins 'ubuntu&rename' create "$V" --size 8M --map "$M"
	folders ubuntu/disks
	in_ntfs "touch ubuntu/disks/root.disk ubuntu/disks/Root.disk"
	refuses twins 'root.disk' map "$V" --output "$M"
	refuses twins 'root.disk' remove "$V" --image "$IMG" --yes
	# a twin beside the exact name is a twin all the same
	refuses twins 'root.disk' create "$V" --size 8M --map "$M"
}

@test "B16 a reparse point on the way: refused" {
	requires root fuse
	for where in /ubuntu /ubuntu/disks; do
		folders ubuntu/disks
		fx reparse "$V" "$where"
		refuses reparse-point "$where" create "$V" --size 8M --map "$M"
		refuses reparse-point "$where" map "$V" --output "$M"
	done
}

@test "B16 a file where a folder should be: refused" {
	mkvol 40M
	echo text >"$T/file"
	ntfscp -q -f "$V" "$T/file" /ubuntu >/dev/null 2>&1
	refuses not-a-folder '/ubuntu' create "$V" --size 8M --map "$M"
}

@test "missing folders are made, and the README tells a Windows user what this is" {
	mkvol 40M
	ok create "$V" --size 8M --map "$M" --image /a/b/c/d.disk
	eq "$(fx stat "$V" /a/b/c/d.disk | wc -l)" 1
	create 8M
	ntfscat -f "$V" /ubuntu/README.txt >"$T/readme"
	grep -q $'\r$' "$T/readme" || fail "README.txt has no CRLF"
	[ "$(grep -c '' "$T/readme")" = "$(grep -c $'\r$' "$T/readme")" ] || fail "a line without CRLF"
	for word in delete move compress remove; do
		has "$(cat "$T/readme")" "$word"
	done
}
