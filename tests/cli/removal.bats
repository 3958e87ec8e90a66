#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# remove takes what is ours, and refuses where it could take more.

load ../lib.sh

files() { ntfscheck "$V" | jq -r '.files | keys | .[]'; }

@test "remove leaves a README.txt that is the user's" {
	requires root fuse
	mkvol 40M
	in_ntfs "mkdir ubuntu; echo mine >ubuntu/README.txt"
	create 8M
	ok remove "$V" --image "$IMG" --yes
	eq "$(ntfscat -f "$V" /ubuntu/README.txt)" mine
	lacks "$(files)" 'root\.(disk|map)'
	second_opinion
}

@test "remove leaves other files in our folders" {
	requires root fuse
	mkvol 40M
	create 8M
	in_ntfs "echo mine >ubuntu/disks/notes.txt; mkdir ubuntu/photos; echo p >ubuntu/photos/p.jpg; echo m >ubuntu/disks/other.map"
	ok remove "$V" --image "$IMG" --yes
	eq "$(ntfscat -f "$V" /ubuntu/disks/notes.txt)" mine
	eq "$(ntfscat -f "$V" /ubuntu/photos/p.jpg)" p
	eq "$(ntfscat -f "$V" /ubuntu/disks/other.map)" m
	lacks "$(files)" 'root\.(disk|map)'
	second_opinion
}

@test "remove takes our README.txt with the folders, when nothing else is there" {
	mkvol 40M
	create 8M
	has "$(files)" '^/ubuntu/README.txt$'
	ok remove "$V" --image "$IMG" --yes
	lacks "$(files)" '/ubuntu'
	second_opinion
}

@test "remove leaves a file that the user put in the place of the host map" {
	requires root fuse
	mkvol 40M
	create 8M --no-host-map
	in_ntfs "echo 'treasure at x' >ubuntu/disks/root.map"
	ok remove "$V" --image "$IMG" --yes
	eq "$(ntfscat -f "$V" /ubuntu/disks/root.map)" 'treasure at x'
	second_opinion
}

@test "an image of two names (hard link): remove refuses" {
	requires root fuse
	mkvol 40M
	create 8M
	in_ntfs "ln .$IMG ubuntu/disks/copy.disk"
	refuses hard-link 'root\.disk|copy\.disk|name' remove "$V" --image "$IMG" --yes
	refuses hard-link '' remove "$V" --image /ubuntu/disks/copy.disk --yes
	refuses hard-link '' remove "$V" --image "$IMG" --dry-run
}

@test "a folder entry with another sequence number than its record: map and remove refuse" {
	mkvol 40M
	create 8M
	fx bump-sequence "$V" "$IMG"
	refuses corrupt 'chkdsk' map "$V" --output "$M"
	refuses corrupt 'chkdsk' map "$V" --output "$M" --no-host-map
	refuses corrupt 'chkdsk' remove "$V" --image "$IMG" --yes
	refuses corrupt 'chkdsk' remove "$V" --image "$IMG" --dry-run
}
