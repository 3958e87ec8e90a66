#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The map as a file: damaged, forged, cut; how it is written; what table makes of it.

load ../lib.sh

fragmented() { # a map with several extents
	mkvol 64M 4096
	fx holes "$V" 2097152 8 131072
	create 16M --max-extents 8 --fs "${1:-ext4}"
}

invalid() { # invalid WORDS: verify and table both refuse $M
	wd verify "$V" --map "$M" --json
	status_is 3
	eq "$(json .verdict)" invalid
	has "$out" "$1"
	wd table --map "$M" --device /dev/sda2
	status_is 3
	eq "$out" ''
	has "$err" "$1"
}

@test "C17 table: one line an extent, contiguous, the sum is the size" {
	fragmented
	ok table --map "$M" --device /dev/sda2
	at=0 lines=0
	while read -r start n target device offset; do
		eq "$start" "$at"
		eq "$target $device" 'linear /dev/sda2'
		[ "$n" -gt 0 ]
		grep -qx "extent $start $offset $n" "$M" || fail "extent $start $offset $n is not in the map"
		at=$((at + n)) lines=$((lines + 1))
	done <<<"$out"
	eq "$((at * 512)) $lines" "16777216 $(mapfx extents "$M" | wc -l)"
	mkvol 64M
	create 16M
	ok table --map "$M" --device 8:2
	eq "$(wc -l <<<"$out")" 1
}

@test "C17 length 0, unsorted, gap, neighbours that are one: refused" {
	mkvol 64M 4096
	create 16M --fs none
	read -r _ p n <<<"$(mapfx extents "$M")"
	h=$((n / 2))
	cp "$M" "$T/kept"
	for forged in \
		"0,$p,$n $n,$((p + n)),0" "0,$p,0 0,$p,$n" \
		"$h,$p,$h 0,$((p + h)),$h" \
		"0,$p,$((h - 8)) $h,$((p + h)),$h" \
		"0,$p,$h $((h - 8)),$((p + h)),$((h + 8))" \
		"0,$p,$h $h,$((p + h)),$h" \
		"8,$p,$n"; do
		cp "$T/kept" "$M"
		# shellcheck disable=SC2086
		mapfx set-extents "$M" $forged
		invalid 'extent|line'
	done
}

@test "C17 a run at LCN 0 and one that ends in the last cluster are possible extents" {
	mkvol 64M 4096
	create 16M --fs none
	read -r _ _ n <<<"$(mapfx extents "$M")"
	mapfx set-extents "$M" "0,0,$n"
	ok table --map "$M" --device /dev/sda2
	eq "$out" "0 $n linear /dev/sda2 0"
	mapfx set-extents "$M" "0,$((64 * 2048 - n)),$n"
	ok table --map "$M" --device /dev/sda2
	wd verify "$V" --map "$M" --json
	status_is 3
	lacks "$(json .verdict)" '^match$'
}

@test "C18 overlap, beyond the partition, unaligned, wrong sum: refused although the checksum is right" {
	mkvol 64M 4096
	create 16M --fs none
	read -r _ p n <<<"$(mapfx extents "$M")"
	h=$((n / 2))
	cp "$M" "$T/kept"
	for forged in \
		"0,$p,$h $h,$p,$h" \
		"0,$p,$h $h,$((p + h - 8)),$h" \
		"0,$((64 * 2048 - n + 8)),$n" \
		"0,$((1 << 54)),$n" "0,18446744073709551608,$n" \
		"0,$p,$((n - 8))" "0,$p,$((n + 8))" \
		"0,-8,$n" "0,0$p,$n" "0,$p,$n,1"; do
		cp "$T/kept" "$M"
		# shellcheck disable=SC2086
		mapfx set-extents "$M" $forged
		invalid 'extent|line|size'
	done
}

@test "C18 a forged map over the \$MFT: never match, and not attachable by it" {
	# 'moved' may be said: attach then goes by the file's own runs, never by the map's
	mkvol 64M 4096
	create 16M
	read -r _ _ n <<<"$(mapfx extents "$M")"
	mft=$("$PY" -c "
import struct, sys
b = open(sys.argv[1], 'rb').read(64)
print(struct.unpack_from('<Q', b, 48)[0] * 8)" "$V")
	mapfx set-extents "$M" "0,$mft,$n"
	wd verify "$V" --map "$M" --json
	status_is 3
	lacks "$(json .verdict)" '^(match|renamed|orphaned)$'
	ok map "$V" --map "$M" --output "$T/new.map" --no-host-map
	lacks "$(cat "$T/new.map")" "extent 0 $mft "
}

@test "C18 the map edited by one digit, at every position that holds one: invalid" {
	slow_one
	fragmented
	mkdir "$T/digits"
	n=$(mapfx digits "$M" "$T/digits")
	[ "$n" -gt 150 ] || fail "only $n digits"
	for m in "$T"/digits/*.map; do
		status=0
		"$WUBI_DISK" verify "$V" --map "$m" --quiet >"$T/out" 2>&1 3>&- || status=$?
		[ "$status" = 3 ] || fail "$m: exit status $status: $(cat "$T/out")"
	done
	wd verify "$V" --map "$m" --json
	eq "$(json .verdict)" invalid
}

@test "C18 the map cut at every line: invalid, or no map at all" {
	slow_one
	fragmented
	mkdir "$T/cuts"
	n=$(mapfx cuts "$M" "$T/cuts")
	[ "$n" -gt 60 ] || fail "only $n cuts"
	for m in "$T"/cuts/*.map; do
		status=0
		"$WUBI_DISK" verify "$V" --map "$m" --json >"$T/out" 2>"$T/err" 3>&- || status=$?
		[ "$status" = 3 ] || fail "$m: exit status $status: $(cat "$T/out" "$T/err")"
		eq "$(json .verdict)" invalid "$m"
	done
}

@test "unknown version, a line too much, other line ends, a NUL, an empty file: invalid" {
	mkvol 64M
	create 16M
	cp "$M" "$T/kept"
	sed -i '1s/1/2/' "$M" && mapfx resign "$M"
	invalid 'version'
	cp "$T/kept" "$M"
	sed -i '$i comment nothing' "$M" && mapfx resign "$M"
	invalid 'line'
	sed 's/$/\r/' "$T/kept" >"$M"
	invalid 'line'
	cp "$T/kept" "$M"
	echo >>"$M"
	invalid 'line'
	{ cat "$T/kept"; printf '\0'; } >"$M"
	invalid 'line'
	: >"$M"
	invalid ''
	for key in name image size_bytes mft_record host_serial fs_uuid; do
		cp "$T/kept" "$M"
		mapfx set-value "$M" "$key" 'x/../y'
		invalid 'line'
	done
}

@test "a map of another image than it says: mft record, sequence, serial, size" {
	mkvol 64M
	create 16M
	cp "$M" "$T/kept"
	for edit in 'mft_record 5' 'mft_record 281474976710655' 'mft_sequence 999' 'host_serial 0123456789abcdef'; do
		cp "$T/kept" "$M"
		mapfx set-value "$M" "${edit% *}" "${edit#* }"
		wd verify "$V" --map "$M" --json
		[ "$status" = 3 ] || [ "$status" = 1 ] || fail "$edit: exit status $status"
		lacks "$out" '"verdict": ?"(match|moved|renamed|orphaned)"'
	done
}

@test "C21 the map cannot be written whole: non-zero exit, no half map, the old one stays" {
	not_valgrind "it dies of SIGXFSZ itself"
	mkvol 64M
	create 16M
	echo 'wubi-map old' >"$T/old.map"
	for sig in '' 'trap "" XFSZ;'; do
		for target in "$T/new.map" "$T/old.map"; do
			status=0
			bash -c "$sig ulimit -f 0; exec \"\$@\"" limit "$WUBI_DISK" map "$V" --output "$target" --no-host-map \
				</dev/null 3>&- 2>&1 | cat >"$T/out"
			status=${PIPESTATUS[0]}
			status_is 1
			has "$(cat "$T/out")" "$(basename "$target")"
		done
		absent "$T/new.map"
		eq "$(cat "$T/old.map")" 'wubi-map old'
		eq "$(find "$T" -name '*.map?*' | wc -l)" 0 "temporary files"
	done
	ok map "$V" --output "$T/old.map" --no-host-map
	mapfx check "$T/old.map"
}

@test "C21 a read error half-way through: exit 1, no map, nothing on stdout" {
	mkvol 64M
	create 16M
	cp "$V" "$T/short.img"
	truncate -s 1M "$T/short.img"
	wd map "$T/short.img" --output "$T/new.map" --no-host-map
	[ "$status" != 0 ] || fail "exit status 0"
	absent "$T/new.map"
	eq "$out" ''
}

@test "C21 stdout that cannot be written: exit 1" {
	mkvol 64M
	create 16M
	for verb in "table --map $M --device /dev/sda2" "show --map $M" "verify $V --map $M --json" "info $V" "map $V --no-host-map"; do
		status=0
		# shellcheck disable=SC2086
		"$WUBI_DISK" $verb >/dev/full 2>"$T/err" 3>&- || status=$?
		eq "$verb: $status" "$verb: 1"
	done
}

@test "copies: --map more than once, the one beside the image, and --no-host-map" {
	mkvol 64M
	ok create "$V" --size 16M --map "$M" --map "$T/two.map"
	cmp "$M" "$T/two.map"
	ntfscat -f "$V" /ubuntu/disks/root.map | cmp - "$M"
	rm "$M"
	mkvol 64M
	create 16M --no-host-map
	status=0
	ntfscat -f "$V" /ubuntu/disks/root.map >/dev/null 2>&1 || status=$?
	[ "$status" != 0 ] || fail "a host map in spite of --no-host-map"
}

@test "map goes on counting generations, keeps the id, and renews the copy beside the image" {
	mkvol 64M
	create 16M
	id=$(sed -n 's/^id //p' "$M")
	for generation in 2 3; do
		ok map "$V" --output "$M"
		eq "$(sed -n 's/^generation //p' "$M")" "$generation"
		eq "$(sed -n 's/^id //p' "$M")" "$id"
		ntfscat -f "$V" /ubuntu/disks/root.map | cmp - "$M"
		verdict_is match
	done
	second_opinion
	ok map "$V" --no-host-map
	eq "$(head -1 <<<"$out")" "$(head -1 "$M")"
}

@test "somebody's file, and the volume itself, are never replaced by a map" {
	mkvol 64M
	printf 'letter to the bank\n' >"$T/letter"
	ln -s letter "$T/link"
	ln "$V" "$T/hard"
	before=$(sum)
	for target in "$T/letter" "$T/link" "$V" "$T/hard"; do
		wd create "$V" --size 16M --map "$target"
		status_is 3
		has "$err" 'another file'
		eq "$(sum)" "$before" "$target"
	done
	create 16M
	before=$(sum)
	for target in "$T/letter" "$T/link" "$V" "$T/hard"; do
		for dry in '' --dry-run; do
			# shellcheck disable=SC2086
			wd map "$V" --output "$target" --json $dry
			status_is 3
			eq "$(json .reason)" map-file
			eq "$(sum)" "$before" "$target"
		done
	done
	eq "$(cat "$T/letter")" 'letter to the bank'
	: >"$T/empty.map"
	ok map "$V" --output "$T/empty.map" --no-host-map
	mapfx check "$T/empty.map"
}

@test "a FIFO named as a map: exit 1, no waiting" {
	mkfifo "$T/fifo"
	status=0
	timeout 20 "$WUBI_DISK" show --map "$T/fifo" >"$T/out" 2>"$T/err" 3>&- || status=$?
	status_is 1
	has "$(<"$T/err")" "fifo' is not a regular file"
}

@test "no device name of a running kernel, and no time, is in the map" {
	mkvol 64M
	create 16M
	lacks "$(cat "$M")" '/dev/|sd[a-z][0-9]|nvme|loop|v\.img'
}
