#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Which clusters the image gets, and what its MFT record says of them.

load ../lib.sh

# through_ntfs COMMAND: the image's bytes, as ntfscat reads them, are those of the map
same_bytes() {
	mapped "$M" "$V" "$T/mapped.img"
	ntfscat -f "$V" "${1:-$IMG}" | cmp - "$T/mapped.img" || fail "ntfscat and the map disagree"
}

@test "B01 data, allocated and initialised size are one, in the record and in the index entry" {
	mkvol 64M
	create 24M
	for what in alloc data init index_alloc index_data; do
		eq "$(field $what "$V")" 25165824 "$what"
	done
	ntfsinfo -f -F "$IMG" "$V" >"$T/info"
	has "$(cat "$T/info")" 'Initialized size:[[:space:]]*25165824'
	has "$(cat "$T/info")" 'Data size:[[:space:]]*25165824'
}

@test "B01 the last cluster reads the same through ntfs-3g and through the map" {
	requires root fuse
	mkvol 64M 4096
	create 24M
	mapfx poke "$M" "$V" $((25165824 - 4096)) 'the last cluster'
	mapfx poke "$M" "$V" $((12 * 1048576)) 'the middle'
	same_bytes
	NTFS_OPTIONS=ro in_ntfs "tail -c 4096 .$IMG | head -c 16 >'$T/tail'"
	eq "$(cat "$T/tail")" 'the last cluster'
}

@test "B01 hidden, system, read-only, not indexed for search; in the index entry too" {
	mkvol 64M
	create 8M
	eq "$(($(field file_flags "$V") & 0x2007))" $((0x2007))
	eq "$(($(field index_flags "$V") & 0x2007))" $((0x2007))
}

@test "B03 fragmented free space: the refusal gives largest run, free space and the extents that would do" {
	mkvol 128M 4096
	fx holes "$V" 65536 300 65536
	free=$(fx free-clusters "$V")
	refuses fragmented '64(\.0)? KiB&--max-extents 128|128 (extents|pieces)' create "$V" --size 8M --map "$M"
	wd create "$V" --size 8M --map "$M" --max-extents 8
	status_is 3
	wd create "$V" --size 8M --map "$M" --max-extents 127
	status_is 3
	eq "$(fx free-clusters "$V")" "$free" "free clusters"
	create 8M --max-extents 1000
	eq "$(mapfx extents "$M" | wc -l)" 128 "extents"
	verdict_is match
	second_opinion
	same_bytes
}

@test "B03 too little space: free space against wanted, nothing left behind" {
	mkvol 64M
	refuses no-space 'free' create "$V" --size 100M --map "$M"
	refuses no-space 'free' create "$V" --size 100M --map "$M" --max-extents 1000
	refuses no-space '' create "$V" --size 2T --map "$M"
	eq "$(ntfscheck "$V" | jq -c '.files | keys')" '["/$Extend/"]'
}

@test "B03 a volume with no free cluster at all" {
	mkvol 16M 4096
	fx scribble "$V"
	fx holes "$V" 8192 1 4096 0
	refuses no-space '' create "$V" --size 8M --map "$M"
}

@test "B04 more mapping pairs than one MFT record holds: an attribute list that others can follow" {
	mkvol 256M 4096
	fx holes "$V" 16384 700 32768 524288 262144
	create 10M --max-extents 1000
	eq "$(mapfx extents "$M" | wc -l)" 640 "extents"
	[ "$(field lists "$V")" -ge 1 ] || fail "there is no attribute list: the test shows nothing"
	verdict_is match
	second_opinion
	same_bytes
	istat -r -f ntfs "$V" "$(field record "$V")" >"$T/istat" || istat -f ntfs "$V" "$(field record "$V")" >"$T/istat"
	icat -f ntfs "$V" "$(field record "$V")" | cmp - "$T/mapped.img"
	ok remove "$V" --image "$IMG" --yes
	second_opinion
}

@test "B04 the 1,000 lines of such a map go through table" {
	mkvol 256M 4096
	fx holes "$V" 16384 1100 16384 524288 131072
	create 16M --max-extents 2000 --fs none
	n=$(mapfx extents "$M" | wc -l)
	[ "$n" -ge 1000 ] || fail "$n extents"
	ok table --map "$M" --device /dev/sda2
	eq "$(wc -l <"$T/out")" "$n"
	verdict_is match
}

@test "the smallest run that fits is taken, outside the MFT zone" {
	mkvol 128M 4096
	fx holes "$V" 20971520 2 65536 1048576
	free_before=$(fx free-list "$V" | awk '$2 >= 2048' | sort -k2n | head -1)
	create 8M --fs none
	read -r lcn n <<<"$free_before"
	read -r at _ <<<"$(fx runs "$V" "$IMG")"
	{ [ "$at" -ge "$lcn" ] && [ "$at" -lt $((lcn + n)) ]; } || fail "at $at, not in $lcn+$n"
}

@test "the start is 1 MiB aligned on the disk where the run allows" {
	requires loop
	mkvol 60M 4096
	mv "$V" "$T/part.img"
	truncate -s 64M "$V"
	printf 'label: dos\nstart=2056, size=122880, type=7\n' | sfdisk -q "$V"
	dd if="$T/part.img" of="$V" bs=512 seek=2056 conv=notrunc,sparse status=none
	loop "$V"
	partx -a "$L"
	ok create "${L}p1" --size 8M --map "$M"
	read -r _ physical _ <<<"$(mapfx extents "$M")"
	eq $(((physical + 2056) % 2048)) 0 "sectors off 1 MiB"
}

@test "the size is rounded up to 1 MiB, and shown" {
	mkvol 64M
	ok create "$V" --size 9000001 --map "$M" --json
	eq "$(json .size_bytes)" 9437184
	eq "$(mapfx check "$M")" 9437184
}
