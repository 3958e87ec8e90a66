#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# An image is there already: nothing is ever overwritten.

load ../lib.sh

@test "A18 create twice: the second refuses" {
	mkvol 40M
	create 8M
	cp "$M" "$T/kept"
	refuses image-exists '/ubuntu/disks/root.disk&remove|--name|--image' create "$V" --size 8M --map "$M"
	M=$T/kept
	verdict_is match
}

@test "A18 an image of 0 bytes is somebody's too" {
	requires root fuse
	mkvol 40M
	in_ntfs "mkdir -p ubuntu/disks; : >ubuntu/disks/root.disk"
	refuses image-exists 'root.disk' create "$V" --size 8M --map "$M"
}

@test "A18 a folder named root.disk" {
	requires root fuse
	mkvol 40M
	in_ntfs "mkdir -p ubuntu/disks/root.disk"
	refuses image-exists 'root.disk' create "$V" --size 8M --map "$M"
	refuses not-a-file 'root.disk' remove "$V" --image "$IMG" --yes
}

@test "A18 a second image beside the first" {
	mkvol 60M
	create 8M
	ok create "$V" --size 8M --name home --map "$T/home.map"
	ok create "$V" --size 4M --name swap --fs swap --map "$T/swap.map"
	verdict_is match
	for name in home swap; do
		ok verify "$V" --map "$T/$name.map"
	done
	ok info "$V" --json
	eq "$(json '[.images[].path] | sort | join(" ")')" \
		"/ubuntu/disks/home.disk /ubuntu/disks/root.disk /ubuntu/disks/swap.disk"
	second_opinion
}

@test "C01 create and remove refuse while a found.000 holds the image" {
	requires root fuse
	mkvol 40M
	create 8M
	for to in dir0000.chk FILE0000.CHK; do
		in_ntfs "mkdir -p found.000; if [ -e ubuntu ]; then mv ubuntu found.000/dir0000.chk; fi"
		refuses image-in-found 'found.000&move' create "$V" --size 8M --map "$M"
		in_ntfs "mv found.000/dir0000.chk/disks/root.disk found.000/$to 2>/dev/null || true"
	done
	refuses image-in-found 'FILE0000.CHK|found.000' create "$V" --size 8M --map "$M"
}

@test "a map that cannot be written is found before anything is done" {
	mkvol 40M
	before=$(sum)
	for bad in "$T/no/such/folder/map" "$T"; do
		wd create "$V" --size 8M --map "$bad"
		[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
		has "$err" "$bad"
		eq "$(sum)" "$before"
	done
}

@test "remove takes exactly the image, its map and what create made" {
	mkvol 60M
	# $MFT may have become longer; nothing shortens it again
	taken() { echo $(($(fx free-clusters "$V") + $(fx runs "$V" '/$MFT' | awk '{ n += $2 } END { print n }'))); }
	before=$(taken)
	create 8M
	ok remove "$V" --image "$IMG" --yes
	eq "$(taken)" "$before" "free clusters and those of \$MFT"
	eq "$(ntfscheck "$V" | jq -c '.files | keys')" '["/$Extend/"]'
	second_opinion
	wd remove "$V" --image "$IMG" --yes
	status_is 1
}

@test "remove leaves the user's files and another image alone" {
	requires root fuse
	mkvol 60M
	in_ntfs "mkdir -p ubuntu/disks; echo mine >ubuntu/mine.txt"
	create 8M
	ok create "$V" --size 8M --name home --map "$T/home.map"
	ok remove "$V" --name root --yes --json
	eq "$(json .freed_bytes)" 8388608
	ok verify "$V" --map "$T/home.map"
	eq "$(ntfscat -f "$V" /ubuntu/mine.txt)" mine
	verdict_is missing
	second_opinion
}

@test "remove asks, and without a terminal needs --yes" {
	mkvol 40M
	create 8M
	before=$(sum)
	wd remove "$V" --image "$IMG"
	status_is 2
	has "$err" 'yes'
	ok remove "$V" --image "$IMG" --dry-run
	eq "$(sum)" "$before"
	wd remove "$V" --image "$IMG" --yes --json
	eq "$(json .status)" done
}
