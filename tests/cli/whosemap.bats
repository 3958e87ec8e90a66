#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Which map is of which image: by volume and record, or by path and content; never by a path alone.

load ../lib.sh

on_volume() { ntfscat -f "$V" "$1"; }
value() { sed -n "s/^$1 //p" "$2"; }

edit() { mapfx set-value "$@"; } # MAP KEY VALUE, with the checksum made right

@test "the map of another volume makes no Windows file an image: remove refuses" {
	requires root fuse
	mkvol 64M
	create 8M --image /docs/x.disk --name x --no-host-map
	in_ntfs "dd if=/dev/urandom of=docs/letter.doc bs=1M count=8 status=none"
	record=$(fx stat "$V" /docs/letter.doc | tr ' ' '\n' | sed -n 's/^record=//p')
	cp "$M" "$T/foreign.map"
	edit "$T/foreign.map" host_serial 00000000deadbeef
	edit "$T/foreign.map" mft_record "$record"
	edit "$T/foreign.map" image /docs/letter.doc
	in_ntfs "cp '$T/foreign.map' docs/old.map"
	refuses not-an-image 'letter\.doc' remove "$V" --image /docs/letter.doc --yes
}

@test "another file at the path of a lost image does not take over its map and id" {
	requires root fuse
	mkvol 64M
	create 16M
	id=$(value id "$M")
	in_ntfs "rm -f ubuntu/disks/root.disk; dd if=/dev/urandom of=ubuntu/disks/root.disk bs=1M count=1 status=none"
	refuses map-exists 'rescue' map "$V" --output "$M"
	eq "$(on_volume /ubuntu/disks/root.map | sed -n 's/^id //p')" "$id"
	ok map "$V" --no-host-map --output "$T/new.map"
	[ "$(value id "$T/new.map")" != "$id" ] || fail "the id of the lost image was taken"
}

@test "create takes no clusters of a lost image, under whatever name" {
	requires root fuse
	mkvol 40M
	create 16M
	cp "$M" "$T/lost.map"
	in_ntfs "rm -f ubuntu/disks/root.disk"
	refuses lost-image 'root\.map&rescue' create "$V" --size 16M --name home --map "$M"
	refuses lost-image 'root\.map&rescue' create "$V" --size 16M --no-host-map --map "$M"
	in_ntfs "rm -f ubuntu/disks/root.map"
	create 16M --name home
}

@test "of several maps of one image the one of its name goes on; remove takes them all" {
	mkvol 40M
	create 8M
	id=$(value id "$M")
	ok map "$V" --image "$IMG" --name boot --output "$T/boot.map"
	ok map "$V" --output "$T/again.map"
	eq "$(value name "$T/again.map")" root
	eq "$(value id "$T/again.map")" "$id"
	ok remove "$V" --image "$IMG" --yes
	create 8M
}

@test "images that changed their names: the record tells whose map it is" {
	requires root fuse
	mkvol 64M
	create 8M --image /d/aa.disk --name aa
	create 8M --image /d/bb.disk --name bb
	bb=$(value id "$M")
	in_ntfs "cd d; mv aa.disk x; mv bb.disk aa.disk; mv x bb.disk"
	ok map "$V" --image /d/aa.disk --no-host-map --output "$T/now.map"
	eq "$(value id "$T/now.map")" "$bb" "the id of the file that was bb.disk"
	in_ntfs "cd d; mv aa.disk cc.disk"
	refuses map-exists '/d/bb\.disk|/d/aa\.disk' create "$V" --size 8M --image /d/aa.disk --name aa --map "$M"
}

@test "a map of another volume is no previous map" {
	mkvol 40M
	create 8M
	cp "$M" "$T/first.map"
	edit "$T/first.map" host_serial 00000000deadbeef
	before=$(sum)
	wd map "$V" --map "$T/first.map" --output "$T/x.map"
	status_is 2
	eq "$(sum)" "$before"
	absent "$T/x.map"
}

@test "a read that fails in create's last look at the image is no success" {
	slow_one
	mkvol 24M
	cp --sparse=always "$V" "$T/kept.img"
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f -o "$T/trace" -P "$V" -e trace=pread64 \
		"$WUBI_DISK" create "$V" --size 1M --fs swap --map "$M" --quiet
	n=$(grep -c pread64 "$T/trace")
	for k in $(seq $((n - 12)) "$n"); do
		cp --sparse=always "$T/kept.img" "$V"
		rm -f "$M"
		status=0
		ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f -o /dev/null -P "$V" -e trace=pread64 \
			-e inject=pread64:error=EIO:when="$k" \
			"$WUBI_DISK" create "$V" --size 1M --fs swap --map "$M" --quiet 2>"$T/err" || status=$?
		[ "$status" = 1 ] || fail "read $k of $n: exit status $status"
		has "$(<"$T/err")" 'the image is on the volume'
		absent "$M"
	done
}
