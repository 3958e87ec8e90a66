#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# grow: in place, in more pieces, elsewhere; what it leaves of the map, the file system, and everybody else's files.

load ../lib.sh

MIB=1048576

# with_image SIZE [OPTION...]: a volume of 256 MiB with other files, an image, and what is known of both
with_image() {
	mkvol 256M 4096
	head -c 300000 /dev/urandom >"$T/photo"
	ntfscp -q -f "$V" "$T/photo" /photo.jpg
	create "$@"
	know
}

# know: what grow must not change
know() {
	cp "$M" "$T/old.map"
	mapped "$M" "$V" "$T/before.img"
	others >"$T/others.before"
}

others() { ntfscheck "$V" | jq -c '.files | to_entries[] | select(.key | startswith("/ubuntu") | not)'; }
extents() { mapfx extents "${1:-$M}" | wc -l; }
map_value() { sed -n "s/^$1 //p" "${2:-$M}"; }

# grown BYTES [VERDICT]: the image has this size, the map is right, the old one is VERDICT, and all else is as it was
grown() {
	eq "$(map_value size_bytes)" "$1" "size in the map"
	eq "$(map_value id)" "$(map_value id "$T/old.map")" "id of the map"
	eq "$(map_value generation)" $(($(map_value generation "$T/old.map") + 1)) "generation"
	for what in alloc data init index_alloc index_data; do
		eq "$(field $what "$V" "$(map_value image)")" "$1" "$what"
	done
	verdict_is match
	eq "$(fx extents "$V" "$(map_value image)")" "$(mapfx extents "$M")" "the runs and the map"
	mapped "$M" "$V" "$T/after.img"
	cmp -n "$(stat -c %s "$T/before.img")" "$T/before.img" "$T/after.img" || fail "the image's bytes have changed"
	if [ -n "${2:-}" ]; then
		wd verify "$V" --map "$T/old.map" --json
		eq "$(json .verdict)" "$2" "verdict of the old map"
	fi
	others | cmp - "$T/others.before" || fail "another file has changed"
	second_opinion
}

# fs_grows BYTES: the ext4 in it is clean, and takes all of the image
fs_grows() {
	e2fsck -fn "$T/after.img" >"$T/e2fsck.log" 2>&1 || fail "e2fsck: $(cat "$T/e2fsck.log")"
	resize2fs "$T/after.img" >"$T/resize.log" 2>&1 || fail "resize2fs: $(cat "$T/resize.log")"
	e2fsck -fn "$T/after.img" >"$T/e2fsck.log" 2>&1 || fail "e2fsck, grown: $(cat "$T/e2fsck.log")"
	eq "$(dumpe2fs -h "$T/after.img" 2>/dev/null | awk '/^Block count/ { c = $3 } /^Block size/ { print c * $3 }')" "$1"
}

# says WORDS...: the last error has each of them (extended regular expressions)
says() {
	local w
	for w in "$@"; do has "$err" "$w"; done
}

@test "E07 grow in place: by much; the old map is grown, the file system can take it" {
	with_image 32M
	ok grow "$V" --map "$M" --size 90M --yes
	has "$out" 'resize2fs /dev/mapper/wubi-root'
	has "$out" 'wubi-install --repair'
	grown $((90 * MIB)) grown
	fs_grows $((90 * MIB))
	eq "$(extents)" 1 extents
}

@test "E07 grow by one cluster, and by one byte: to the next MiB, as create rounds" {
	with_image 32M
	ok grow "$V" --map "$M" --size +4096 --yes
	grown $((33 * MIB)) grown
	know
	ok grow "$V" --map "$M" --size $((33 * MIB + 1)) --yes
	grown $((34 * MIB)) grown
}

@test "E07 clusters of 64 KiB and of 512 bytes" {
	for cluster in 65536 512; do
		mkvol 128M $cluster
		create 16M
		know
		ok grow "$V" --map "$M" --size 40M --yes
		grown $((40 * MIB)) grown
		fs_grows $((40 * MIB))
	done
}

@test "E07 the size that it has: nothing to do, once the file system has it, too" {
	with_image 16M --fs none
	before=$(sum)
	ok grow "$V" --map "$M" --size 16M --yes
	has "$out" 'nothing to do'
	eq "$(sum)" "$before"
	cmp "$M" "$T/old.map"
}

@test "E07 a smaller size is refused, and nothing is written" {
	with_image 32M
	before=$(sum)
	wd grow "$V" --map "$M" --size $((32 * MIB - 1)) --yes --json
	status_is 3
	eq "$(reasons)" shrink
	eq "$(sum)" "$before"
	cmp "$M" "$T/old.map"
}

@test "E07 something is behind it: what is free there does not suffice, and the refusal says what would" {
	with_image 32M
	fx wall_behind "$V" "$IMG" $((8 * MIB)) $((4 * MIB))
	know
	before=$(sum)
	wd grow "$V" --map "$M" --size 64M --yes
	status_is 3
	says '32.0 MiB more' '8.0 MiB are free' '--max-extents 2' 'GRUB' 'defragmenter' '--relocate'
	wd grow "$V" --map "$M" --size 64M --yes --json
	eq "$(reasons)" fragmented
	eq "$(sum)" "$before"
	cmp "$M" "$T/old.map"
}

@test "E07 --max-extents: all of what is right behind, then the fewest others" {
	with_image 32M
	fx wall_behind "$V" "$IMG" $((8 * MIB)) $((4 * MIB))
	know
	ok grow "$V" --map "$M" --size 64M --yes --max-extents 2
	grown $((64 * MIB)) grown
	fs_grows $((64 * MIB))
	eq "$(extents)" 2 extents
	eq "$(mapfx extents "$M" | head -1 | cut -d ' ' -f 3)" $((40 * 2048)) "sectors of the first"
}

@test "E07 it grows again in place at its last piece" {
	with_image 16M
	fx wall_behind "$V" "$IMG" 0 $MIB
	know
	ok grow "$V" --map "$M" --size 20M --yes --max-extents 2
	grown $((20 * MIB)) grown
	know
	ok grow "$V" --map "$M" --size 24M --yes
	grown $((24 * MIB)) grown
	eq "$(extents)" 2 extents
}

@test "E07 a fragmented rest: as many pieces as the refusal says, and not one less" {
	with_image 8M
	fx holes "$V" $MIB 20 65536
	know
	wd grow "$V" --map "$M" --size 20M --yes
	status_is 3
	says '--max-extents 13' 'no free run holds'
	wd grow "$V" --map "$M" --size 20M --yes --max-extents 12
	status_is 3
	wd grow "$V" --map "$M" --size 20M --yes --relocate --json
	status_is 3
	eq "$(reasons)" fragmented
	ok grow "$V" --map "$M" --size 20M --yes --max-extents 13
	grown $((20 * MIB)) grown
	fs_grows $((20 * MIB))
	eq "$(extents)" 13 extents
}

@test "E07 more pieces than one MFT record takes are refused, and nothing is written" {
	with_image 8M
	fx holes "$V" 32768 500 65536
	know
	before=$(sum)
	wd grow "$V" --map "$M" --size 18M --yes --max-extents 1000 --json
	status_is 3
	eq "$(reasons)" attribute-list
	eq "$(sum)" "$before"
	cmp "$M" "$T/old.map"
}

@test "E07 --relocate: all of it in one free run, the old place is free" {
	with_image 32M
	fx wall_behind "$V" "$IMG" 0 $MIB
	know
	free=$(fx free-clusters "$V")
	ok grow "$V" --map "$M" --size 64M --yes --relocate --progress plain
	has "$err" 'copy the image'
	grown $((64 * MIB)) moved
	fs_grows $((64 * MIB))
	eq "$(extents)" 1 extents
	eq "$(fx free-clusters "$V")" $((free - 32 * 256)) "free clusters"
}

@test "E07 --relocate with the size that it has makes one piece of several" {
	mkvol 128M 4096
	fx holes "$V" $MIB 20 65536
	create 8M --max-extents 8
	eq "$(extents)" 8 "extents of the fragmented one"
	know
	wd grow "$V" --map "$M" --size 8M --yes --relocate
	status_is 3
	fx free_wall "$V" /hole-wall-0
	know
	ok grow "$V" --map "$M" --size 8M --yes --relocate
	grown $((8 * MIB)) moved
	eq "$(extents)" 1 extents
	know
	ok grow "$V" --map "$M" --size 8M --yes --relocate
	has "$out" 'resize2fs|nothing to do'
	cmp "$M" "$T/old.map"
}

@test "E07 too little space: no-space, in place and with --relocate, and nothing is written" {
	with_image 32M
	before=$(sum)
	for more in '' --relocate --max-extents=90; do
		wd grow "$V" --map "$M" --size 1G --yes $more --json
		status_is 3
		eq "$(reasons)" no-space
	done
	# the old place is not free before the new one is proven
	wd grow "$V" --map "$M" --size 230M --yes --relocate --json
	status_is 3
	eq "$(sum)" "$before"
	cmp "$M" "$T/old.map"
}

@test "E07 bad clusters behind it are never taken" {
	mkvol 128M 4096
	create 16M --no-host-map
	read -r lcn n <<<"$(fx runs "$V" "$IMG")"
	fx badclus "$V" $((lcn + n + 512)) 1
	know
	wd grow "$V" --map "$M" --size 32M --yes --json
	status_is 3
	eq "$(reasons)" fragmented
	ok grow "$V" --map "$M" --size 18M --yes
	verdict_is match
	ntfscheck "$V" >"$T/check.json" || fail "ntfscheck: $(cat "$T/check.json")" # ntfsresize stops at any bad cluster
	lacks "$(ntfscheck "$V" | jq -r '.files | keys | .[]')" 'root\.map'
}

@test "every map is written, the copy beside the image too; another image's map is not" {
	with_image 16M
	cp "$M" "$T/esp.map"
	cp "$M" "$T/home.map"
	mapfx set-value "$T/home.map" id 11111111-2222-4333-8444-555555555555
	wd grow "$V" --map "$M" --map "$T/home.map" --size 20M --yes --json
	status_is 3
	eq "$(reasons)" map-file
	ok grow "$V" --map "$M" --map "$T/esp.map" --map "$T/new.map" --size 20M --yes
	cmp "$M" "$T/esp.map"
	cmp "$M" "$T/new.map"
	ntfscat -f "$V" /ubuntu/disks/root.map | cmp - "$M"
	verdict_is match
	second_opinion
}

@test "a swap grows whole, and keeps its UUID and label" {
	with_image 8M --fs swap --label mine --name swap
	head -c 4096 "$T/before.img" >"$T/page"
	ok grow "$V" --map "$M" --size 16M --yes --json
	eq "$(json '.file_system + " " + .boot_entry')" "grown unchanged"
	eq "$(map_value size_bytes)" $((16 * MIB))
	mapped "$M" "$V" "$T/after.img"
	eq "$(blkid -p -o value -s UUID "$T/after.img")" "$(blkid -p -o value -s UUID "$T/before.img")"
	eq "$(blkid -p -o value -s LABEL "$T/after.img")" mine
	eq "$(od -An -tu4 -j 1028 -N 4 "$T/after.img" | tr -d ' ')" $((16 * 256 - 1)) "last page"
	verdict_is match
	second_opinion
}

@test "a swap with a hibernated session is refused" {
	with_image 8M --fs swap --name swap
	read -r lcn _ <<<"$(fx runs "$V" /ubuntu/disks/swap.disk)"
	printf 'S1SUSPEND\0' | dd of="$V" bs=1 seek=$((lcn * 4096 + 4086)) conv=notrunc status=none
	before=$(sum)
	wd grow "$V" --map "$M" --size 16M --yes --json
	status_is 3
	eq "$(reasons)" suspended
	eq "$(sum)" "$before"
}

@test "--zero: no old byte of the volume can be read through the image" {
	with_image 8M --fs none
	fx scribble "$V"
	know
	ok grow "$V" --map "$M" --size 16M --yes --zero
	mapped "$M" "$V" "$T/after.img"
	cmp -n $((8 * MIB)) "$T/before.img" "$T/after.img"
	cmp -i $((8 * MIB)) -n $((8 * MIB)) "$T/after.img" /dev/zero
	know
	ok grow "$V" --map "$M" --size 24M --yes
	mapped "$M" "$V" "$T/after.img"
	tail -c $((8 * MIB)) "$T/after.img" | grep -qa '[^[:cntrl:]]' || fail "the control: without --zero nothing old is there"
	know
	ok grow "$V" --map "$M" --size 32M --yes --zero --relocate
	mapped "$M" "$V" "$T/after.img"
	cmp -n $((24 * MIB)) "$T/before.img" "$T/after.img"
	cmp -i $((24 * MIB)) -n $((8 * MIB)) "$T/after.img" /dev/zero
}

@test "a map that is not the file's is refused, by its verdict" {
	with_image 16M
	cp "$M" "$T/keep.map"
	ok remove "$V" --image "$IMG" --yes
	before=$(sum)
	wd grow "$V" --map "$T/keep.map" --size 20M --yes --json
	status_is 3
	eq "$(reasons)" verdict-missing
	eq "$(sum)" "$before"
}

@test "an unsafe volume is refused: dirty, hibernated, Fast Startup, a journal that is not clean" {
	with_image 16M
	for state in dirty fastboot logdirty; do
		cp --sparse=always "$V" "$T/keep.img"
		fx $state "$V"
		before=$(sum)
		wd grow "$V" --map "$M" --size 20M --yes --json
		status_is 3
		case $state in fastboot) state=fast-startup ;; logdirty) state=journal ;; esac
		eq "$(reasons)" "$state"
		eq "$(sum)" "$before"
		mv "$T/keep.img" "$V"
	done
	cmp "$M" "$T/old.map"
}

@test "a file system that is not the map's is refused" {
	with_image 16M
	mapfx poke "$M" "$V" 1080 xx
	before=$(sum)
	wd grow "$V" --map "$M" --size 20M --yes --json
	status_is 3
	eq "$(reasons)" verdict-foreign
	eq "$(sum)" "$before"
}

@test "an earlier run that did not come to its maps: the same command completes it, and +SIZE asks for no more" {
	with_image 16M
	ok grow "$V" --map "$M" --size +4M --yes
	cp "$T/old.map" "$M"
	generation=$(map_value generation)
	ok grow "$V" --map "$M" --size +4M --yes
	eq "$(map_value size_bytes)" $((20 * MIB))
	verdict_is match
	eq "$(map_value generation)" $((generation + 2)) "generation: above that of the copy beside the image"
	ntfscat -f "$V" /ubuntu/disks/root.map | cmp - "$M"
	second_opinion
	cp "$T/old.map" "$M"
	ok grow "$V" --map "$M" --size 24M --yes
	eq "$(map_value size_bytes)" $((24 * MIB))
	verdict_is match
	wd grow "$V" --map "$T/old.map" --size 20M --yes --json
	status_is 3
	eq "$(reasons)" shrink
}

@test "the same after a move: the old map is moved, and the same command completes it" {
	with_image 16M
	ok grow "$V" --map "$M" --size 20M --yes --relocate
	cp "$T/old.map" "$M"
	ok grow "$V" --map "$M" --size 20M --yes --relocate
	eq "$(map_value size_bytes)" $((20 * MIB))
	verdict_is match
	second_opinion
}

@test "--dry-run writes nothing and shows the extents; JSON too" {
	with_image 16M
	before=$(sum)
	ok grow "$V" --map "$M" --size 20M --dry-run
	has "$out" 'from 16.0 MiB to 20.0 MiB, in place'
	ok grow "$V" --map "$M" --size 20M --dry-run --relocate --json
	eq "$(json '.status + " " + (.size_bytes | tostring) + " " + (.relocated | tostring)')" "dry-run $((20 * MIB)) true"
	eq "$(json '[.extents[].sectors] | add')" $((20 * 2048))
	eq "$(sum)" "$before"
	cmp "$M" "$T/old.map"
}

@test "JSON of a grow: the new map, the size before, what became of file system and boot entry" {
	with_image 16M
	ok grow "$V" --map "$M" --size 20M --yes --json
	eq "$(json '.status')" done
	eq "$(json '.size_bytes_before')" $((16 * MIB))
	eq "$(json '.size_bytes')" $((20 * MIB))
	eq "$(json '.file_system + " " + .boot_entry')" "pending stale"
	ok grow "$V" --map "$M" --size 20M --yes --json
	eq "$(json '.file_system + " " + .boot_entry')" "pending unchanged"
}

@test "usage: it asks, + is for grow alone, sizes that nothing can have" {
	with_image 16M
	before=$(sum)
	wd grow "$V" --map "$M" --size 20M
	status_is 2
	has "$err" '--yes'
	ok grow "$V" --map "$M" --size=+2G --test-args
	has "$out" '^size \+2147483648$'
	wd create "$V" --size +20M --name home
	status_is 2
	wd grow "$V" --map "$M" --size + --yes
	status_is 2
	wd grow "$V" --map "$M" --size 17000000000000000000 --yes
	status_is 2
	wd grow "$V" --map "$M" --size 16T --yes
	status_is 2
	wd grow "$V" --size 20M --yes
	status_is 2
	eq "$(sum)" "$before"
}

@test "not confirmed: exit 4, and nothing is changed" {
	requires script
	with_image 16M
	before=$(sum)
	status=0
	script -qec "'$WUBI_DISK' grow '$V' --map '$M' --size 20M --quiet" /dev/null <<<no >"$T/said" 2>&1 3>&- || status=$?
	status_is 4
	has "$(cat "$T/said")" 'not confirmed'
	eq "$(sum)" "$before"
	cmp "$M" "$T/old.map"
	script -qec "'$WUBI_DISK' grow '$V' --map '$M' --size 20M --quiet" /dev/null <<<yes >"$T/said" 2>&1 3>&- ||
		fail "yes: $(cat "$T/said")"
	verdict_is match
}

@test "attached through a loop device: in use, refused" {
	requires loop
	with_image 16M
	loop "$V"
	wd grow "$V" --map "$M" --size 20M --yes --json
	status_is 3
	eq "$(reasons)" busy
}

@test "a map file that cannot be written is found before anything is" {
	with_image 16M
	before=$(sum)
	wd grow "$V" --map "$M" --map "$T/no-such-folder/root.map" --size 20M --yes --json
	status_is 3
	eq "$(reasons)" map-file
	eq "$(sum)" "$before"
}
