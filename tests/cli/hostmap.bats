#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The map that is kept beside the image: whose file is it, and what it is good for.

load ../lib.sh

on_volume() { ntfscat -f "$V" "$1"; }
files() { ntfscheck "$V" | jq -r '.files | keys | .[]'; }
value() { sed -n "s/^$1 //p" "$2"; }

@test "a user's file at the place of the host map: create refuses and keeps it" {
	requires root fuse
	for name in root.map ROOT.MAP; do
		mkvol 40M
		in_ntfs "mkdir -p ubuntu/disks; echo 'treasure at x' >ubuntu/disks/$name"
		refuses map-exists 'root\.map' create "$V" --size 8M --map "$M"
		refuses map-exists 'root\.map' create "$V" --size 8M --map "$M" --dry-run
		eq "$(on_volume "/ubuntu/disks/$name")" 'treasure at x'
	done
	create 8M --no-host-map
	eq "$(on_volume "/ubuntu/disks/$name")" 'treasure at x'
	verdict_is match
}

@test "a user's file or folder at the place of the host map: map refuses and keeps it" {
	requires root fuse
	mkvol 40M
	create 8M --no-host-map
	in_ntfs "echo 'treasure at x' >ubuntu/disks/root.map"
	refuses map-exists 'root\.map' map "$V" --output "$M"
	eq "$(on_volume /ubuntu/disks/root.map)" 'treasure at x'
	ok map "$V" --output "$M" --no-host-map
	verdict_is match
	in_ntfs "rm ubuntu/disks/root.map; mkdir ubuntu/disks/root.map"
	refuses map-exists 'root\.map' map "$V" --output "$M"
}

@test "an image whose own name is that of its host map" {
	mkvol 40M
	before=$(sum)
	for args in '/ubuntu/disks/root.map' '/ubuntu/disks/ROOT.MAP' '/root.map' '/foo/data.map --name data'; do
		# shellcheck disable=SC2086
		wd create "$V" --size 8M --map "$M" --image $args
		[ "$status" = 2 ] || [ "$status" = 3 ] || fail "$args: exit status $status"
		has "$err" '\.map'
		eq "$(sum)" "$before" "checksum of the volume"
		absent "$M"
	done
}

@test "a second image of the same name does not take the first one's host map" {
	mkvol 40M
	create 8M
	theirs=$(on_volume /ubuntu/disks/root.map)
	before=$(sum)
	wd create "$V" --size 8M --image /ubuntu/disks/two.disk --map "$T/two.map" --json
	if [ "$status" != 0 ]; then
		status_is 3
		eq "$(reasons)" map-exists
		eq "$(sum)" "$before"
		absent "$T/two.map"
		ok create "$V" --size 8M --image /ubuntu/disks/two.disk --name two --map "$T/two.map"
	fi
	eq "$(on_volume /ubuntu/disks/root.map)" "$theirs"
	verdict_is match
	ok verify "$V" --map "$T/two.map"
}

@test "the map that is left of an image deleted in Windows is not replaced: it is all that leads to the data" {
	requires root fuse
	mkvol 40M
	create 8M
	theirs=$(on_volume /ubuntu/disks/root.map)
	in_ntfs "rm .$IMG"
	refuses map-exists 'root\.map&rescue|remove|delete' create "$V" --size 8M --map "$M"
	eq "$(on_volume /ubuntu/disks/root.map)" "$theirs"
	in_ntfs "rm ubuntu/disks/root.map"
	create 8M
	verdict_is match
}

@test "map takes no id from the host map of another image" {
	mkvol 40M
	create 8M
	theirs=$(on_volume /ubuntu/disks/root.map)
	ok create "$V" --size 8M --image /ubuntu/disks/two.disk --name two --no-host-map
	refuses map-exists 'root\.map' map "$V" --image /ubuntu/disks/two.disk --name root --output "$M"
	eq "$(on_volume /ubuntu/disks/root.map)" "$theirs"
	ok map "$V" --image /ubuntu/disks/two.disk --name root --output "$T/two.map" --no-host-map
	[ "$(value id "$T/two.map")" != "$(sed -n 's/^id //p' <<<"$theirs")" ] || fail "the id of another image"
	eq "$(value generation "$T/two.map")" 1
}

@test "map continues the id and the generation of the map beside the image" {
	mkvol 40M
	create 8M
	cp "$M" "$T/first.map"
	ok map "$V" --output "$M"
	eq "$(value id "$M")" "$(value id "$T/first.map")"
	eq "$(value generation "$M")" 2
	eq "$(on_volume /ubuntu/disks/root.map)" "$(<"$M")"
	verdict_is match
}

@test "image and name that differ: map finds the map beside the image, remove takes both" {
	mkvol 40M
	ok create "$V" --size 8M --image /foo/bar.disk --name data --fs none --map "$M"
	grep -qx /foo/data.map <<<"$(files)" || fail "no data.map: $(files)"
	id=$(value id "$M")
	verdict_is match
	ok map "$V" --image /foo/bar.disk --output "$T/2.map"
	eq "$(value id "$T/2.map") $(value name "$T/2.map") $(value generation "$T/2.map")" "$id data 2"
	eq "$(on_volume /foo/data.map)" "$(<"$T/2.map")"
	ok map "$V" --image /foo/bar.disk --output "$T/3.map"
	eq "$(value id "$T/3.map") $(value name "$T/3.map") $(value generation "$T/3.map")" "$id data 3"
	eq "$(files | grep '^/foo/.' | sort | tr '\n' ' ')" '/foo/bar.disk /foo/data.map ' "files in /foo"
	ok remove "$V" --image /foo/bar.disk --yes
	lacks "$(files)" 'bar\.disk|data\.map'
	second_opinion
}
