#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# 30 GiB on a sparse volume of 64 GiB, looked at by everything that reads NTFS.

load ../lib.sh

@test "30 GiB on 64 GiB: ntfsinfo, index entry, ntfsresize, istat, e2fsck and ntfs-3g agree" {
	requires root fuse
	rm -f "$V"
	truncate -s 64G "$V"
	mkntfs -F -Q -p 2048 "$V" >/dev/null 2>&1
	ok create "$V" --size 30G --map "$M"
	size=$((30 << 30))
	read -r logical physical sectors <<<"$(mapfx extents "$M")"
	eq "$logical $sectors $(mapfx extents "$M" | wc -l)" "0 $((size / 512)) 1"

	# one run; data and initialised size; the index entry
	ntfsinfo -f -v -F "$IMG" "$V" >"$T/info" 2>&1
	has "$(cat "$T/info")" "Data size:[[:space:]]*$size"
	has "$(cat "$T/info")" "Initialized size:[[:space:]]*$size"
	has "$(cat "$T/info")" "Allocated size:[[:space:]]*$size"
	eq "$(sed -n '/DATA/,$p' "$T/info" | grep -c 'lcn: *0x')" "$(sed -n '/DATA/,$p' "$T/info" | grep -c "vcn: *0x0,")" "runs"
	eq "$(fx runs "$V" "$IMG")" "$((physical / 8)) $((size / 4096))"
	for what in alloc data init index_alloc index_data; do
		eq "$(field $what "$V")" "$size" "$what"
	done

	# $Bitmap against the run lists
	ntfsresize -i -f "$V" >"$T/resize" 2>&1 || fail "$(cat "$T/resize")"
	lacks "$(cat "$T/resize")" 'error|inconsist|corrupt'

	# sleuthkit
	istat -r -f ntfs "$V" "$(field record "$V")" >"$T/istat"
	has "$(cat "$T/istat")" "Start address: $((physical / 8)), length: $((size / 4096))|$((physical / 8))[^0-9]+$((size / 4096))"

	# 7-Zip
	7z l "$V" >"$T/7z" 2>&1 || true
	has "$(cat "$T/7z")" "$size +$size +ubuntu/disks/root.disk"

	# the file system in it
	e2fsck -fn "$V?offset=$((physical * 512))" >"$T/fsck" 2>&1 || fail "$(cat "$T/fsck")"
	eq "$(json_blocks)" $((size / 4096))

	# markers at ten offsets
	n=0
	for at in 4096 1048576 1073741824 4294967296 8589934592 12884901888 17179869184 21474836480 30000000000 $((size - 64)); do
		n=$((n + 1))
		mapfx poke "$M" "$V" "$at" "marker $n at $at;"
	done
	NTFS_OPTIONS=ro in_ntfs "for at in 4096 1048576 1073741824 4294967296 8589934592 12884901888 17179869184 21474836480 30000000000 $((size - 64)); do
		dd if=.$IMG iflag=skip_bytes,count_bytes skip=\$at count=40 status=none | cut -d';' -f1; echo; done" |
		tr -d '\0' | grep -ao 'marker.*' >"$T/markers"
	eq "$(wc -l <"$T/markers")" 10
	n=0
	for at in 4096 1048576 1073741824 4294967296 8589934592 12884901888 17179869184 21474836480 30000000000 $((size - 64)); do
		n=$((n + 1))
		grep -qxF "marker $n at $at" "$T/markers" || fail "marker $n: $(cat "$T/markers")"
	done
}

json_blocks() { debugfs -R 'show_super_stats -h' "$V?offset=$((physical * 512))" 2>/dev/null | sed -n 's/^Block count: *//p'; }

@test "markers at ten offsets through the map, read by ntfscat at the same offsets" {
	mkvol 3G
	create 1G
	for i in 0 1 2 3 4 5 6 7 8 9; do
		mapfx poke "$M" "$V" $((i * 119000000 + 5000)) "<marker $i>"
	done
	ntfscat -f "$V" "$IMG" | "$PY" -c '
import sys
at, want = 0, {i * 119000000 + 5000: b"<marker %d>" % i for i in range(10)}
while True:
    b = sys.stdin.buffer.read(1 << 20)
    if not b:
        break
    for off in list(want):
        if at <= off and off + 10 <= at + len(b):
            assert b[off - at:off - at + 10] == want.pop(off), off
    at += len(b)
assert at == 1 << 30 and not want, (at, want)'
}
