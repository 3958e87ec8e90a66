#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Is the map still true? What happened to the image in the meantime, and the verdict.

load ../lib.sh

made() { # a volume with an image that has something in it, a true map, and a copy of both
	mkvol "${1:-64M}" 4096
	create "${2:-16M}"
	cp "$M" "$T/kept.map"
}

@test "match: right after create, and after a boot's worth of writes through the map" {
	made
	verdict_is match
	mapfx poke "$M" "$V" 9000000 'some data of the running system'
	verdict_is match
}

@test "B02 initialised size after a write by ntfs-3g, and when it is short: foreign, with its own reason" {
	requires root fuse
	made
	in_ntfs "printf x | dd of=.$IMG bs=1 seek=8000000 conv=notrunc status=none"
	if [ "$(field init "$V")" = "$(field data "$V")" ]; then
		verdict_is match
	else
		verdict_is foreign
	fi
	fx init-short "$V" "$IMG" 8000001
	verdict_is foreign
	has "$(why)" 'initiali[sz]ed'
	fx init-short "$V" "$IMG" 0
	verdict_is foreign
	refuses initialized-size 'initiali[sz]ed' map "$V" --output "$M"
}

@test "C01 chkdsk moved the folder to found.000: renamed, and what to do" {
	requires root fuse
	made
	in_ntfs "mkdir found.000; mv ubuntu/disks found.000/dir0000.chk"
	verdict_is renamed
	has "$(why)" 'found\.000'
	has "$(why)" 'move'
	has "$(why)" 'reinstall'
	ok info "$V" --json
	eq "$(json '.images[0].path')" /found.000/dir0000.chk/root.disk
}

@test "C01 chkdsk made FILE0000.CHK of it: renamed" {
	requires root fuse
	made
	in_ntfs "mkdir found.000; mv .$IMG found.000/FILE0000.CHK"
	verdict_is renamed
	has "$(why)" 'FILE0000.CHK'
}

@test "C02 root.disk is 0 bytes, its clusters free: emptied, points to rescue, touches nothing" {
	made
	mapfx poke "$M" "$V" 5000000 'the old data'
	fx emptied "$V" "$IMG"
	verdict_is emptied
	has "$(why)" 'rescue'
	mapped "$M" "$V" "$T/a.img"
	eq "$(dd if="$T/a.img" bs=1 skip=5000000 count=12 status=none)" 'the old data'
	refuses image-exists '' create "$V" --size 8M --map "$M"
}

@test "C02 only the bits in \$Bitmap are gone: emptied" {
	made
	fx free-bits "$V" "$IMG"
	verdict_is emptied
}

@test "C02 truncated to half by ntfs-3g: never match" {
	requires root fuse
	made
	in_ntfs "truncate -s 8M .$IMG"
	wd verify "$V" --map "$M" --json
	status_is 3
	lacks "$(json .verdict)" '^(match|moved|renamed|orphaned)$'
}

@test "C03 index block of the folder destroyed: orphaned, chkdsk named, the map kept" {
	requires root fuse
	mkvol 64M 4096
	in_ntfs 'mkdir -p ubuntu/disks; for i in $(seq 100); do : >"ubuntu/disks/a file with some name $i"; done'
	create 16M
	verdict_is match
	fx kill-indx "$V" /ubuntu/disks root.disk
	verdict_is orphaned
	has "$(why)" 'chkdsk'
	has "$(why)" 'map'
}

@test "C04 deleted, and half of its clusters reused: missing, and how much of it is still free" {
	requires root fuse
	made 64M 16M
	read -r lcn n <<<"$(fx runs "$V" "$IMG")"
	in_ntfs "rm .$IMG"
	verdict_is missing
	fx holes "$V" 4096 0 4096 0 # everything is taken ...
	wd verify "$V" --map "$M" --json
	eq "$(json .verdict)" missing
	in_ntfs 'rm hole-wall-*' # ... and free again, but for the first half of the image
	"$PY" - "$TESTS_DIR/fixtures" "$V" "$lcn" "$((n / 2))" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		ntfsfx.fill(sys.argv[2], 'update', [(int(sys.argv[3]), int(sys.argv[4]))])
	EOP
	second_opinion
	verdict_is missing
	has "$(why)" '8(\.0)? MiB|50 ?%|half|2048|8388608'
}

@test "C05 ntfsresize moved it: unsettled, after chkdsk moved, never match" {
	requires root fuse
	mkvol 200M 4096
	# a pad takes the low end, so that the image lies high; then the pad goes, and the volume is cut behind that
	"$PY" - "$TESTS_DIR/fixtures" "$V" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		low = [(lcn, min(n, 30000 - lcn)) for lcn, n in ntfsfx.vol(sys.argv[2], False).free_runs() if lcn < 30000]
		ntfsfx.fill(sys.argv[2], 'pad', low[2:])
	EOP
	create 30M
	in_ntfs 'rm pad*'
	read -r lcn n <<<"$(fx runs "$V" "$IMG")"
	[ "$lcn" -ge 30000 ] || fail "the image lies at $lcn"
	verdict_is match
	echo y | ntfsresize -f -s 110M "$V" >"$T/log" 2>&1 || fail "$(cat "$T/log")"
	[ "$(fx runs "$V" "$IMG")" != "$lcn $n" ] || fail "ntfsresize moved nothing"
	verdict_is unsettled
	fx clear-dirty "$V"
	verdict_is moved
	cp "$M" "$T/stale.map"
	ok map "$V" --map "$T/stale.map" --output "$M" --no-host-map
	verdict_is match
	eq "$(sed -n 's/^id //p' "$M")" "$(sed -n 's/^id //p' "$T/stale.map")"
	eq "$(sed -n 's/^generation //p' "$M")" 2
	M=$T/stale.map
	verdict_is moved
}

@test "C05 moved, but other content at the new place: not attachable by the canaries" {
	made
	read -r lcn n <<<"$(fx runs "$V" "$IMG")"
	"$PY" - "$TESTS_DIR/fixtures" "$V" "$IMG" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx, ntfslib as nt
		v = ntfsfx.vol(sys.argv[2])
		n = v.find(sys.argv[3])
		_, lcn, c = v.stream_runs(n, nt.DATA)[0]
		bits = v.bitmap()
		v.set_bits(bits, lcn, c, False)
		new = max((r for r in v.free_runs(bits) if r[0] != lcn and r[1] >= c), key=lambda r: abs(r[0] - lcn))
		start = new[0] if abs(new[0] - lcn) >= c else lcn + c
		v.set_bits(bits, start, c)
		v.write_bitmap(bits)
		ntfsfx._remake_data(v, n, runs=[(start, c)])
	EOP
	wd verify "$V" --map "$M" --json
	status_is 3
	lacks "$(json .verdict)" '^(match|moved)$'
}

@test "C05 copied to a new name, deleted, renamed back: another file, so replaced" {
	requires root fuse
	made
	in_ntfs "cd ubuntu/disks; cp root.disk copy; rm root.disk; mv copy root.disk"
	verdict_is replaced
}

@test "C06 a backup copy over the name: replaced, same file system, and one command maps it again" {
	requires root fuse
	made 96M 16M
	ntfscat -f "$V" "$IMG" >"$T/backup"
	in_ntfs "rm .$IMG"
	ntfscp -q -f "$V" "$T/backup" "$IMG" >/dev/null 2>&1
	verdict_is replaced
	has "$(why)" 'same (file system|ext4)|backup|copy'
	has "$(why)" 'wubi-disk map'
	ok map "$V" --map "$M" --output "$T/new.map" --no-host-map
	eq "$(sed -n 's/^id //p' "$T/new.map")" "$(sed -n 's/^id //p' "$M")"
	M=$T/new.map
	verdict_is match
	second_opinion
}

@test "C06 a backup copy over the name: without --map the copy beside the image gives name, id and generation" {
	requires root fuse
	made 96M 16M
	ntfscat -f "$V" "$IMG" >"$T/backup"
	in_ntfs "rm .$IMG"
	ntfscp -q -f "$V" "$T/backup" "$IMG" >/dev/null 2>&1
	verdict_is replaced
	has "$(why)" "another file is at '$IMG' now, with the same file system"
	has "$(why)" "wubi-disk map VOLUME --image '$IMG'"
	ok map "$V" --image "$IMG" --output "$T/new.map"
	eq "$(sed -n 's/^\(id\|name\) //p' "$T/new.map")" "$(sed -n 's/^\(id\|name\) //p' "$T/kept.map")"
	eq "$(sed -n 's/^generation //p' "$T/new.map")" 2
	ntfscat -f "$V" /ubuntu/disks/root.map >"$T/beside.map"
	cmp "$T/beside.map" "$T/new.map" # which is what an old initramfs follows
	M=$T/new.map
	verdict_is match
	second_opinion
}

@test "C06 another file of the same size under that name: replaced, and not called a backup" {
	requires root fuse
	made 96M 16M
	head -c 16777216 /dev/zero | tr '\0' z >"$T/other"
	in_ntfs "rm .$IMG"
	ntfscp -q -f "$V" "$T/other" "$IMG" >/dev/null 2>&1
	verdict_is replaced
	lacks "$(why)" 'same (file system|ext4)'
}

@test "C08 a cloned disk: ambiguous, both named; each alone is right" {
	made
	cp --sparse=always "$V" "$T/clone.img"
	verdict_is match
	V2=$T/clone.img verdict_is match
	wd verify "$V" "$T/clone.img" --map "$M" --json
	eq "$(json .verdict)" ambiguous
	status_is 3
	has "$(why)" 'v\.img'
	has "$(why)" 'clone\.img'
	wd verify "$T/clone.img" "$V" --map "$M" --json
	eq "$(json .verdict)" ambiguous
}

@test "C08 a clone with a new serial, or an older state, is not taken for the original" {
	made
	cp --sparse=always "$V" "$T/clone.img"
	ntfslabel --new-serial "$T/clone.img" >/dev/null 2>&1
	for order in "$V $T/clone.img" "$T/clone.img $V"; do
		# shellcheck disable=SC2086
		wd verify $order --map "$M" --json
		eq "$(json .verdict)" match
		eq "$(json .volume)" "$V"
	done
	cp --sparse=always "$V" "$T/clone.img"
	fx emptied "$T/clone.img" "$IMG"
	wd verify "$T/clone.img" "$V" --map "$M" --json
	eq "$(json .verdict) $(json .volume)" "match $V"
}

@test "C08 another volume, that never had the image" {
	made
	mv "$V" "$T/original.img"
	mkvol 64M 4096
	wd verify "$V" --map "$M" --json
	status_is 3
	lacks "$(json .verdict)" '^(match|moved|renamed|orphaned)$'
	wd verify "$V" "$T/original.img" --map "$M" --json
	eq "$(json .verdict)" match
}

@test "compressed, encrypted or sparse later: foreign, each with its reason" {
	made
	cp "$V" "$T/kept.img"
	for state in compressed encrypted sparse hole; do
		cp "$T/kept.img" "$V"
		fx $state "$V" "$IMG"
		verdict_is foreign
		has "$(why)" "$(sed 's/^hole$/hole|sparse/; s/ed$//' <<<$state)"
	done
	cp "$T/kept.img" "$V"
	fx reparse "$V" "$IMG" 0x80000017 wof
	verdict_is foreign
	has "$(why)" 'reparse'
}

@test "A21 an image with a hole: map refuses, whether a flag says so or not" {
	made
	cp "$V" "$T/kept.img"
	for state in sparse hole; do
		cp "$T/kept.img" "$V"
		fx $state "$V" "$IMG"
		refuses sparse 'sparse|hole' map "$V" --output "$M"
		wd show "$V" --image "$IMG"
		status_is 3
		lacks "$out" 'linear|zero|error'
	done
}

@test "A21 a sparse file as truncate makes it through ntfs-3g" {
	requires root fuse
	mkvol 64M 4096
	in_ntfs "mkdir -p ubuntu/disks; truncate -s 16M .$IMG; printf x | dd of=.$IMG seek=4000000 bs=1 conv=notrunc status=none"
	wd map "$V" --output "$M" --json
	status_is 3
	has "$(reasons)" '^(sparse|initialized-size)$'
	absent "$M"
}

@test "map of what is no image: encrypted, resident, a folder, nothing" {
	requires root fuse
	made
	rm "$M"
	cp "$V" "$T/kept.img"
	fx encrypted "$V" "$IMG"
	refuses encrypted 'encrypt' map "$V" --output "$M"
	cp "$T/kept.img" "$V"
	in_ntfs "rm .$IMG; echo small >.$IMG"
	refuses resident 'no clusters|resident' map "$V" --output "$M"
	wd map "$V" --image /ubuntu/disks --output "$M"
	[ "$status" = 3 ] || [ "$status" = 1 ] || fail "status $status"
	wd map "$V" --image /ubuntu/disks/none.disk --output "$M"
	status_is 1
	has "$err" 'none.disk'
	absent "$M"
}

@test "MFT record reused by another file: missing, and replaced when it has the name" {
	requires root fuse
	made
	record=$(field record "$V")
	cp "$V" "$T/kept.img"
	in_ntfs "rm .$IMG; i=0; while [ \$i -lt 100 ]; do i=\$((i + 1)); echo other >other\$i
		[ \"\$(stat -c %i other\$i)\" != $record ] || break; done"
	eq "$(fx stat "$V" "/$(NTFS_OPTIONS=ro in_ntfs "stat -c '%i %n' other* | sed -n 's/^$record //p'")" | grep -o 'record=[0-9]*')" "record=$record"
	verdict_is missing
	cp "$T/kept.img" "$V"
	fx bump-sequence "$V" "$IMG"
	wd verify "$V" --map "$M" --json
	status_is 3
	has "$(json .verdict)" '^(missing|replaced)$'
	cp "$T/kept.img" "$V"
	in_ntfs "rm .$IMG"
	head -c 5000000 /dev/zero >"$T/zeros"
	ntfscp -q -f "$V" "$T/zeros" "$IMG" >/dev/null 2>&1
	verdict_is replaced
}

@test "a volume that was made smaller than the image's place: never match" {
	made
	truncate -s 20M "$V"
	wd verify "$V" --map "$M" --json
	[ "$status" = 3 ] || [ "$status" = 1 ] || fail "status $status"
	lacks "$out" '"match"'
}

@test "size is no identity: a device that grew is still the host" {
	made
	truncate -s 80M "$V"
	wd verify "$V" --map "$M" --json
	eq "$(json .verdict)" match
}

@test "ext4 damaged at its superblock: match by the MFT is not enough" {
	made
	mapfx poke "$M" "$V" 1024 "$(printf 'x%.0s' $(seq 512))"
	wd verify "$V" --map "$M" --json
	status_is 3
	lacks "$(json .verdict)" '^match$'
}

@test "verify writes nothing: no byte, no time stamp" {
	made
	chmod 444 "$V"
	touch -d '2001-01-01' "$V"
	before=$(stat -c '%Y %Z' "$V")
	verdict_is match
	eq "$(stat -c '%Y %Z' "$V")" "$before"
}
