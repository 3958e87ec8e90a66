#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Every cluster size at or above the sector size, sectors of 512 and 4096, images of half the volume, fragmented space.
# mkntfs puts $MFTMirr into the middle, so that half of the volume is never one run: --max-extents 4 here.

load ../lib.sh

clusters() { # clusters SECTOR
	local c=$1
	while [ "$c" -le 2097152 ]; do
		echo "$c"
		c=$((c * 2))
	done
}

agrees() { # agrees CLUSTER: what can read this cluster size
	verdict_is match
	ntfsresize -i -f "$V" >"$T/resize" 2>&1 || fail "cluster $1: ntfsresize: $(cat "$T/resize")"
	eq "$(field data "$V")/$(field init "$V")/$(field index_data "$V")" \
		"$(mapfx check "$M")/$(mapfx check "$M")/$(mapfx check "$M")" "cluster $1: sizes"
	diff <(fx extents "$V" "$IMG") <(mapfx extents "$M") >"$T/diff" || fail "cluster $1: $(cat "$T/diff")"
}

sleuth() { # sleuth CLUSTER: not for clusters of 128 KiB and more, nor sectors of 4096
	[ "$1" -lt 131072 ] || return 0
	icat -f ntfs "$V" "$(field record "$V")" >"$T/icat.img"
	mapped "$M" "$V" "$T/mapped.img"
	cmp "$T/icat.img" "$T/mapped.img" || fail "cluster $1: sleuthkit reads other bytes"
	rm -f "$T/icat.img"
}

half_of_100M() { # half_of_100M SECTOR
	slow_one
	for c in $(clusters "$1"); do
		mkvol 100M "$c" "$1"
		create 50M --max-extents 4
		agrees "$c"
		mapped "$M" "$V" "$T/a.img"
		e2fsck -fn "$T/a.img" >"$T/fsck" 2>&1 || fail "cluster $c: $(cat "$T/fsck")"
		[ "$1" != 512 ] || sleuth "$c"
		ok remove "$V" --image "$IMG" --yes
		rm "$M"
	done
}

@test "half of 100 MiB, sectors of 512, clusters of 512 bytes to 2 MiB" { half_of_100M 512; }
@test "half of 100 MiB, sectors of 4096, clusters of 4096 bytes to 2 MiB" { half_of_100M 4096; }

half_of_2T() { # half_of_2T SECTOR CLUSTER...
	local s=$1 c
	shift
	slow_one
	for c in "$@"; do
		mkvol 2T "$c" "$s"
		create 1T --max-extents 4 "${FS[@]}"
		agrees "$c"
		ok remove "$V" --image "$IMG" --yes
		rm "$M"
	done
}

@test "half of 2 TiB, sectors of 512, clusters of 4 KiB to 2 MiB" {
	FS=(--fs none)
	half_of_2T 512 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152
}

@test "half of 2 TiB, sectors of 4096, clusters of 4 KiB to 2 MiB" {
	FS=(--fs none)
	half_of_2T 4096 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152
}

@test "half of 2 TiB, clusters of 512 bytes to 2 KiB: a bitmap of up to half a GiB" {
	slow_one
	FS=(--fs none)
	# 2^32 clusters are more than NTFS has: a sector less than 2 TiB for the smallest
	for c in 512 1024 2048; do
		rm -f "$V"
		truncate -s $(((2 << 40) - 1048576)) "$V"
		mkntfs -F -Q -q -p 2048 -H 255 -S 63 -s 512 -c "$c" "$V" >"$T/mkntfs.log" 2>&1 || fail "$(cat "$T/mkntfs.log")"
		create 1023G --max-extents 4 --fs none
		verdict_is match
		diff <(fx extents "$V" "$IMG") <(mapfx extents "$M")
		rm "$M"
	done
}

@test "half of 2 TiB with ext4, clusters of 4 KiB and 64 KiB" {
	slow_one
	for c in 4096 65536; do
		mkvol 2T "$c"
		create 1T --max-extents 4
		agrees "$c"
		rm "$M"
	done
}

fragmented() { # fragmented CLUSTER SECTOR: 1 refuses, 8 just fits, 1000 needs an attribute list
	mkvol 128M "$1" "$2"
	fx holes "$V" 4194304 9 1048576
	refuses fragmented '--max-extents 8|8 (extents|pieces)' create "$V" --size 32M --map "$M"
	wd create "$V" --size 32M --map "$M" --max-extents 7
	status_is 3
	create 32M --max-extents 8
	eq "$(mapfx extents "$M" | wc -l)" 8 "extents"
	agrees "$1"
	[ "$2" != 512 ] || sleuth "$1"
	rm "$M"
}

@test "free space in holes of 4 MiB, clusters of 512, 4 KiB, 64 KiB, sectors of 4096: 1 and 7 refuse, 8 just fits" {
	fragmented 512 512
	fragmented 4096 512
	fragmented 65536 512
	fragmented 4096 4096
}

many() { # many CLUSTER SECTOR HOLE COUNT WALL
	mkvol 1G "$1" "$2"
	fx holes "$V" "$3" "$4" "$5" 524288 $((4 * $3))
	create $((($4 - 100) * $3 / 1048576))M --max-extents "$4" --fs none
	[ "$(field lists "$V")" -ge 1 ] || fail "no attribute list"
	agrees "$1"
	[ "$2" != 512 ] || sleuth "$1"
	second_opinion
	rm "$M"
}

@test "free space in 600 holes and more, clusters of 512, 4 KiB, sectors of 4096: the attribute list is followed by all" {
	slow_one
	many 512 512 65536 600 196608
	many 4096 512 65536 600 196608
	many 4096 4096 32768 1300 524288 # its MFT records have 4 KiB
}
