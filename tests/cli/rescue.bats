#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# rescue: what is left of an image that is gone, copied out byte by byte, or a file again in place.

load ../lib.sh
load lib_traced

BADSHIM=${BADSHIM:-$BUILD/tests/cli/badshim_preload.so}

# made [SIZE [IMAGE-SIZE]]: a volume, and an image with a file of random bytes in its ext4; $T/before.img is all of it
made() {
	mkvol "${1:-64M}" 4096
	create "${2:-16M}"
	mapped "$M" "$V" "$T/before.img"
	head -c 5000000 /dev/urandom >"$T/letter"
	debugfs -w -R "write $T/letter letter" "$T/before.img" >"$T/log" 2>&1 || fail "$(cat "$T/log")"
	e2fsck -f -n "$T/before.img" >"$T/log" 2>&1 || fail "$(cat "$T/log")"
	put_back
	verdict_is match
	cp "$M" "$T/old.map"
	id=$(sed -n 's/^id //p' "$M")
}

# put_back: $T/before.img into the image's clusters, which are one run
put_back() {
	read -r lcn clusters <<<"$(fx runs "$V" "$IMG")"
	dd if="$T/before.img" of="$V" bs=4096 seek="$lcn" conv=notrunc status=none
}

# rescue REASON ARG...: exit 0 for REASON "", else 3, and that reason; the volume is only read
rescue() {
	local reason=$1 before
	shift
	before=$(sum)
	wd rescue "$V" --map "$M" --json "$@"
	if [ -n "$reason" ]; then status_is 3; else status_is 0; fi
	eq "$(json '.reason // ""')" "$reason" reason
	eq "$(sum)" "$before" "checksum of the volume"
}

# sums: free, kept, reused and unowned bytes, which are all there are
sums() {
	eq "$(json '.free_bytes + .kept_bytes + .reused_bytes + .unowned_bytes - .total_bytes')" 0 "bytes that are not accounted for"
	json '[.free_bytes, .kept_bytes, .reused_bytes, .unowned_bytes] | map(tostring) | join(" ")'
}

# owned PATH...: bytes of the old clusters that these files have, by our own reader
owned() {
	local p
	for p in "$@"; do fx runs "$V" "$p"; done |
		awk -v a="$lcn" -v b="$((lcn + clusters))" '{ x = $1 > a ? $1 : a; y = $1 + $2 < b ? $1 + $2 : b; if (y > x) n += y - x }
			END { print n * 4096 }'
}

# nothing_left: no copy, and nothing of one
nothing_left() { eq "$(find "$T" -name 'out.img*')" '' 'left behind'; }

@test "C02 the emptied file: all free, copied out with every byte equal, and the volume only read" {
	made
	fx emptied "$V" "$IMG"
	rescue ''
	eq "$(sums)" '16777216 0 0 0'
	eq "$(json '[.status, .verdict, .superblock.state, .file_system.state, (.reused_by | length)] | join(" ")')" \
		'report emptied right right 0'
	rescue '' --output "$T/out.img"
	cmp "$T/out.img" "$T/before.img"
	eq "$(json '[.status, .output, .e2fsck.state, (.bad | length)] | join(" ")')" "done $T/out.img clean 0"
	[ "$(stat -c %b "$T/out.img")" -lt 20000 ] || fail "the copy is not sparse: $(stat -c %b "$T/out.img") blocks"
	absent "$T/out.img.bad"
	wd rescue "$V" --map "$M"
	status_is 0
	has "$out" '16777216 bytes.*nobody has written them'
	has "$out" 'Do not start Windows.*'
	has "$out" '#####'
	has "$out" 'in-place'
}

@test "C02 the emptied file in place: the same record and clusters, match by the old map's record, generation 2" {
	requires ntfsresize
	made
	record="$(field record "$V") $(field sequence "$V")"
	fx emptied "$V" "$IMG"
	second_opinion
	ok rescue "$V" --map "$M" --in-place --json
	eq "$(json '[.status, .map.map_id, .map.generation] | map(tostring) | join(" ")')" "done $id 2"
	verdict_is match # by the old map: its reference and extents are right again, so that an old initramfs boots
	second_opinion
	eq "$(field record "$V") $(field sequence "$V")" "$record" "MFT reference"
	eq "$(fx runs "$V" "$IMG")" "$lcn $clusters"
	mapped "$M" "$V" "$T/after.img"
	cmp "$T/after.img" "$T/before.img"
	eq "$(ntfscat "$V" "$IMG" | sha256sum)" "$(sha256sum <"$T/before.img")" "sha256 through libntfs-3g"
	eq "$(ntfscat "$V" /ubuntu/disks/root.map | sed -n 's/^generation //p')" 2
	eq "$(field index_data "$V") $(field data "$V") $(field init "$V") $(field alloc "$V")" '16777216 16777216 16777216 16777216'
	# a second run: there is nothing to do any more
	before=$(sum)
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" image-exists
	eq "$(sum)" "$before"
}

@test "C02 only the bits in \$Bitmap are gone: all free, and in place refuses, because the file has them" {
	made
	fx free-bits "$V" "$IMG"
	rescue ''
	eq "$(sums)" '16777216 0 0 0'
	before=$(sum)
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" image-exists
	eq "$(sum)" "$before"
	rescue '' --output "$T/out.img"
	cmp "$T/out.img" "$T/before.img"
}

@test "C04 deleted: in place makes a new record, and the map of the same id follows it" {
	requires root fuse ntfsresize
	made
	in_ntfs "rm .$IMG"
	verdict_is missing
	rescue ''
	ok rescue "$V" --map "$M" --in-place
	has "$out" 'is there again'
	second_opinion
	ok map "$V" --no-host-map --output "$T/new.map"
	eq "$(sed -n 's/^id //p' "$T/new.map")" "$id"
	M=$T/new.map
	verdict_is match
	mapped "$M" "$V" "$T/after.img"
	cmp "$T/after.img" "$T/before.img"
	NTFS_OPTIONS=ro in_ntfs "sha256sum <.$IMG >'$T/sha'"
	eq "$(cat "$T/sha")" "$(sha256sum <"$T/before.img")"
}

@test "C04 half of its clusters reused by files that ntfs-3g wrote: told exactly, byte by byte; the copy is made, exit 3" {
	requires root fuse
	made 64M 16M
	fx holes "$V" 4096 0 4096 0 # nothing else is free: what is written now goes into the image's clusters
	in_ntfs "rm .$IMG; mkdir update; head -c 6M /dev/zero | tr '\0' u >update/first.cab; head -c 2M /dev/zero | tr '\0' v >update/second.cab"
	second_opinion
	rescue reused
	first=$(owned /update/first.cab) second=$(owned /update/second.cab)
	[ "$((first + second))" -gt 8000000 ] || fail "only $first and $second bytes of the old clusters are reused"
	eq "$(json '.reused_by[] | select(.path == "/update/first.cab") | .bytes')" "$first"
	eq "$(json '.reused_by[] | select(.path == "/update/second.cab") | .bytes')" "$second"
	eq "$(json '[.reused_by[].bytes] | add')" "$(json .reused_bytes)"
	eq "$(json .unowned_bytes)" 0
	"$PY" - "$TESTS_DIR/fixtures" "$V" "$lcn" "$clusters" >"$T/free" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		a, b = int(sys.argv[3]), int(sys.argv[3]) + int(sys.argv[4])
		print(4096 * sum(max(0, min(b, lcn + n) - max(a, lcn)) for lcn, n in ntfsfx.vol(sys.argv[2], False).free_runs()))
	EOP
	eq "$(json .free_bytes)" "$(cat "$T/free")"
	eq "$(json '[.extents[].reused_bytes] | add')" "$(json .reused_bytes)"
	rescue reused --output "$T/out.img"
	mapped "$M" "$V" "$T/after.img"
	cmp "$T/out.img" "$T/after.img"
	before=$(sum)
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" reused
	eq "$(sum)" "$before"
	wd rescue "$V" --map "$M"
	has "$out" 'reused +[0-9]+ bytes.*belong to other files'
	has "$out" '/update/first.cab'
}

@test "C04 of many files the twenty with the most bytes are named, all are counted" {
	requires root fuse
	made 64M 16M
	fx holes "$V" 4096 0 4096 0
	in_ntfs "rm .$IMG; for i in \$(seq 30); do head -c \$((i * 8192)) /dev/urandom >update\$i; done"
	rescue reused
	eq "$(json '.reused_by | length')" 20
	[ "$(json .reused_by_files)" -ge 30 ] || fail "$(json .reused_by_files) files"
	eq "$(json '.reused_by[0].path')" /update30
	[ "$(json .reused_bytes)" -ge "$(json '[.reused_by[].bytes] | add')" ]
	eq "$(sums | wc -w)" 4
}

@test "C04 a file in many pieces, whose run list fills several MFT records, is one file" {
	requires root fuse
	made 64M 16M
	in_ntfs "rm .$IMG"
	"$PY" - "$TESTS_DIR/fixtures" "$V" "$lcn" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		img, first = sys.argv[2], int(sys.argv[3])
		ntfsfx.fill(img, 'wall', [(first + i, 1) for i in range(0, 800, 2)])
		free = [r for r in ntfsfx.vol(img, False).free_runs() if r[1] > 16]
		ntfsfx.fill(img, 'rest', [(first + i, 1) for i in range(1, 800, 2)] + free)
	EOP
	in_ntfs 'rm wall*; head -c 1500000 /dev/urandom >pieces'
	rescue reused
	eq "$(json '.reused_by[] | select(.path == "/pieces") | .bytes')" "$(($(owned /pieces) + 4096))" \
		"with the cluster of its attribute list"
	[ "$(owned /pieces)" -ge 1400000 ] || fail "only $(owned /pieces)"
	eq "$(sums | cut -d ' ' -f 4)" 0
}

@test "clusters that \$Bitmap has as used and no file has are told apart, and in place refuses" {
	made
	fx emptied "$V" "$IMG"
	"$PY" - "$TESTS_DIR/fixtures" "$V" "$lcn" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		v = ntfsfx.vol(sys.argv[2])
		bits = v.bitmap()
		v.set_bits(bits, int(sys.argv[3]) + 100, 50)
		v.write_bitmap(bits)
	EOP
	rescue unowned
	eq "$(sums)" '16572416 0 0 204800'
	rescue unowned --output "$T/out.img"
	cmp "$T/out.img" "$T/before.img"
	before=$(sum)
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" unowned
	eq "$(sum)" "$before"
}

@test "an image that is still there: kept, and nothing to rescue" {
	made
	rescue ''
	eq "$(sums)" '0 16777216 0 0'
	eq "$(json .verdict)" match
	wd rescue "$V" --map "$M"
	has "$out" 'nothing to rescue'
}

@test "sectors that cannot be read: all others are copied, zeros for them, and each range is listed" {
	not_valgrind "it is another preloaded library"
	made
	fx emptied "$V" "$IMG"
	start=$((lcn * 4096))
	# three sectors in the middle of a block, the end of a MiB, and one sector elsewhere
	ranges="$((start + 9000448)):1536,$((start + 10485760 - 512)):1024,$((start + 12000256)):512"
	# shellcheck disable=SC2031
	status=0
	LD_PRELOAD=$BADSHIM BAD_FILE=$V BAD_RANGES=$ranges "$WUBI_DISK" rescue "$V" --map "$M" --output "$T/out.img" --json \
		>"$T/out" 2>"$T/err" 3>&- || status=$?
	out=$(<"$T/out") err=$(<"$T/err")
	status_is 3
	eq "$(json .reason)" bad-sectors
	eq "$(json '[.bad[] | "\(.offset_bytes):\(.length_bytes)"] | join(",")')" '9000448:1536,10485248:1024,12000256:512'
	eq "$(grep -v '^#' "$T/out.img.bad")" $'9000448 1536\n10485248 1024\n12000256 512'
	for range in 9000448:1536 10485248:1024 12000256:512; do
		dd if=/dev/zero of="$T/before.img" bs=512 seek=$((${range%:*} / 512)) count=$((${range#*:} / 512)) conv=notrunc status=none
	done
	cmp "$T/out.img" "$T/before.img"
	# the disk was mended: a later run leaves no old list behind
	rescue '' --output "$T/out.img" --yes
	absent "$T/out.img.bad"
}

@test "NTFS itself cannot be read: what became of the clusters is not known, and the copy is made all the same" {
	not_valgrind "it is another preloaded library"
	made
	fx emptied "$V" "$IMG"
	mft=$("$PY" - "$TESTS_DIR/fixtures" "$V" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx, struct
		print(struct.unpack_from('<Q', open(sys.argv[2], 'rb').read(512), 48)[0] * 4096)
	EOP
	)
	status=0
	LD_PRELOAD=$BADSHIM BAD_FILE=$V BAD_RANGES=$mft:262144 "$WUBI_DISK" rescue "$V" --map "$M" --output "$T/out.img" --json \
		>"$T/out" 2>"$T/err" 3>&- || status=$?
	out=$(<"$T/out") err=$(<"$T/err")
	status_is 3
	eq "$(json '[.reason, .free_bytes, .reused_by] | map(tostring) | join(" ")')" 'unknown null null'
	cmp "$T/out.img" "$T/before.img"
	# damaged, and not unreadable
	fx corrupt "$V" mft0
	wd rescue "$V" --map "$M" --output "$T/out2.img" --json
	status_is 3
	eq "$(json .reason)" unknown
	cmp "$T/out2.img" "$T/before.img"
}

@test "the disk is gone: a failure, no copy" {
	not_valgrind "it is another preloaded library"
	made
	fx emptied "$V" "$IMG"
	status=0
	LD_PRELOAD=$BADSHIM BAD_FILE=$V BAD_RANGES=$((lcn * 4096)):16777216 "$WUBI_DISK" rescue "$V" --map "$M" \
		--output "$T/out.img" >"$T/out" 2>"$T/err" 3>&- || status=$?
	err=$(<"$T/err")
	status_is 1
	has "$err" 'not one sector'
	nothing_left
}

@test "an output on the volume itself is refused, by whatever name" {
	requires root fuse loop
	made
	fx emptied "$V" "$IMG"
	ln -s "$V" "$T/link"
	ln "$V" "$T/hard"
	for name in "$V" "$T/link" "$T/hard"; do
		rescue same-volume --output "$name" --yes
	done
	loop "$V"
	wd rescue "$V" --map "$M" --output "$L" --yes --json
	status_is 3
	eq "$(json .reason)" same-volume
	wd rescue "$L" --map "$M" --output "$V" --yes --json
	status_is 3
	eq "$(json .reason)" same-volume
	losetup -d "$L"
	mkdir "$T/mnt"
	ntfs-3g -o ro "$V" "$T/mnt" 3>&-
	MOUNTED="$MOUNTED $T/mnt"
	wd rescue "$V" --map "$M" --output "$T/mnt/out.img" --json
	status_is 3
	eq "$(json .reason)" same-volume
	umount "$T/mnt"
}

@test "an output that is there is replaced with --yes only; a folder and a pipe never" {
	made
	fx emptied "$V" "$IMG"
	echo precious >"$T/out.img"
	rescue output-exists --output "$T/out.img"
	eq "$(cat "$T/out.img")" precious
	has "$err" '--yes'
	rescue '' --output "$T/out.img" --yes
	cmp "$T/out.img" "$T/before.img"
	mkdir "$T/folder"
	mkfifo "$T/pipe"
	rescue not-a-file --output "$T/folder" --yes
	rescue not-a-file --output "$T/pipe" --yes
	echo somebodys >"$T/new.img.bad"
	rescue output-exists --output "$T/new.img"
	eq "$(cat "$T/new.img.bad")" somebodys
	wd rescue "$V" --map "$M" --output "$T/none/out.img"
	status_is 1
	has "$err" 'none'
}

@test "what a symbolic link leads to is replaced; a damaged record of the image is told, and the copy made" {
	made
	fx emptied "$V" "$IMG"
	mkdir "$T/other"
	echo old >"$T/other/file"
	ln -s other/file "$T/out.img"
	rescue '' --output "$T/out.img" --yes
	[ -L "$T/out.img" ] || fail "the link is gone"
	cmp "$T/other/file" "$T/before.img"
	record=$(field record "$V")
	"$PY" - "$TESTS_DIR/fixtures" "$V" "$record" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		v = ntfsfx.vol(sys.argv[2], False)
		lcn = v.stream_runs(0, 0x80)[0][1]
		with open(sys.argv[2], 'r+b') as f:
		    f.seek(lcn * v.cluster + int(sys.argv[3]) * v.rec_size)
		    f.write(b'BAAD')
	EOP
	rescue unknown --output "$T/out2.img"
	cmp "$T/out2.img" "$T/before.img"
	eq "$(json '[.free_bytes, .damaged_records, .verdict] | map(tostring) | join(" ")')" '16777216 1 unknown'
}

@test "--report and --dry-run make no copy, and find what would be refused" {
	made
	fx emptied "$V" "$IMG"
	for option in --report --dry-run; do
		rescue '' --output "$T/out.img" $option
		nothing_left
		rescue same-volume --output "$V" --yes $option
	done
	before=$(sum)
	ok rescue "$V" --map "$M" --in-place --dry-run --json
	eq "$(json '[.status, .map.generation] | map(tostring) | join(" ")')" 'dry-run 2'
	eq "$(sum)" "$before"
	wd rescue "$V" --map "$M" --in-place --output "$T/out.img"
	status_is 2
	wd rescue "$V"
	status_is 2
}

@test "a block device as output: refused without --yes, refused when too small, and then filled" {
	requires root loop
	made
	fx emptied "$V" "$IMG"
	truncate -s 20M "$T/disk.img"
	tr '\0' x </dev/zero | head -c 20M >"$T/disk.img"
	loop "$T/disk.img"
	rescue output-exists --output "$L"
	rescue '' --output "$L" --yes
	cmp -n 16777216 "$L" "$T/before.img"
	eq "$(tail -c 10 "$T/disk.img")" xxxxxxxxxx
	truncate -s 8M "$T/small.img"
	loop "$T/small.img"
	rescue too-small --output "$L" --yes
}

@test "interrupted in the middle of the copy: exit 4, nothing is left of it; a second run does it" {
	needs_trace
	made
	fx emptied "$V" "$IMG"
	before=$(sum)
	traced pread64 '' rescue "$V" --map "$M" --output "$T/out.img" --quiet
	status_is 0
	rm "$T/out.img"
	n=$(grep -c 'pread64(' "$T/trace")
	for k in 1 $((n / 2)) $((n - 8)) $((n - 2)); do
		traced pread64 "signal=SIGTERM:when=$k" rescue "$V" --map "$M" --output "$T/out.img"
		[ "$status" = 4 ] || fail "SIGTERM at read $k of $n: exit status $status"
		nothing_left
	done
	traced pread64 "signal=SIGKILL:when=$((n - 8))" rescue "$V" --map "$M" --output "$T/out.img"
	absent "$T/out.img" # what is not whole has another name
	rescue '' --output "$T/out.img"
	cmp "$T/out.img" "$T/before.img"
	eq "$(find "$T" -name 'out.img?*')" ''
	eq "$(sum)" "$before"
}

@test "no room for the copy: a failure that names it, and nothing is left of it" {
	requires root
	unshare -m true 2>/dev/null || skip "needs mounts"
	made
	fx emptied "$V" "$IMG"
	mkdir "$T/full"
	mount -t tmpfs -o size=3M none "$T/full"
	MOUNTED="$MOUNTED $T/full"
	wd rescue "$V" --map "$M" --output "$T/full/out.img"
	status_is 1
	has "$err" 'out\.img.*space'
	eq "$(ls -A "$T/full")" ''
}

@test "progress tells flushed bytes" {
	made
	fx emptied "$V" "$IMG"
	wd rescue "$V" --map "$M" --output "$T/out.img" --progress json --json
	status_is 0
	eq "$(jq -s '[.[] | select(.phase == "copy the image")] | last | [.done_bytes, .total_bytes] | @csv' <<<"$err")" \
		'"16777216,16777216"'
}

@test "a dirty, hibernated or Fast Startup volume is only read, and read; in place refuses each" {
	made
	fx emptied "$V" "$IMG"
	cp "$V" "$T/kept.img"
	for state in dirty:dirty fastboot:fast-startup logdirty:journal; do
		cp "$T/kept.img" "$V"
		fx "${state%:*}" "$V"
		rescue '' --output "$T/out.img" --yes
		cmp "$T/out.img" "$T/before.img"
		eq "$(json .verdict)" unsettled
		before=$(sum)
		wd rescue "$V" --map "$M" --in-place --json
		status_is 3
		eq "$(json .reason)" "${state#*:}"
		eq "$(sum)" "$before"
	done
}

@test "another volume, another kind, BitLocker, a map that is damaged: refused" {
	made
	cp "$V" "$T/kept.img"
	mkvol 64M 4096
	rescue not-this-volume --output "$T/out.img"
	nothing_left
	head -c 1M /dev/zero >"$V"
	truncate -s 64M "$V"
	rescue not-this-volume
	cp "$T/kept.img" "$V"
	fx bitlocker "$V"
	rescue bitlocker --output "$T/out.img"
	nothing_left
	cp "$T/kept.img" "$V"
	sed -i 's/^generation 1$/generation 2/' "$M"
	wd rescue "$V" --map "$M" --json
	status_is 3
	eq "$(json .reason)" invalid-map
}

@test "another file system in the old clusters: said, in place refuses" {
	made
	fx emptied "$V" "$IMG"
	dd if=/dev/zero of="$V" bs=4096 seek="$lcn" count=1 conv=notrunc status=none
	rescue superblock
	has "$(json .superblock.text)" 'superblock'
	before=$(sum)
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" superblock
	eq "$(sum)" "$before"
}

@test "a group descriptor that was overwritten is found without e2fsck, and by e2fsck on the copy" {
	made
	fx emptied "$V" "$IMG"
	dd if=/dev/urandom of="$V" bs=1 seek=$(((lcn + 1) * 4096)) count=64 conv=notrunc status=none
	rescue file-system
	eq "$(json '[.superblock.state, .file_system.state] | join(" ")')" 'right damaged'
	rescue file-system --output "$T/out.img"
	eq "$(json .e2fsck.state)" errors
}

@test "in place: another file has the name; a map of another image is where the new one belongs" {
	requires root fuse
	made
	in_ntfs "rm .$IMG; echo new >.$IMG"
	before=$(sum)
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" image-exists
	eq "$(sum)" "$before"
	in_ntfs "rm .$IMG ubuntu/disks/root.map; echo mine >ubuntu/disks/root.map"
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" map-exists
	ok rescue "$V" --map "$M" --in-place --no-host-map
	NTFS_OPTIONS=ro in_ntfs "cp ubuntu/disks/root.map '$T/mine'"
	eq "$(cat "$T/mine")" mine
	second_opinion
}

@test "in place: a swap with its header, and an image without a file system" {
	mkvol 40M 4096
	create 8M --fs swap
	fx emptied "$V" "$IMG"
	ok rescue "$V" --map "$M" --in-place --json
	verdict_is match
	mkvol 40M 4096
	create 8M --fs none
	fx emptied "$V" "$IMG"
	rescue ''
	wd rescue "$V" --map "$M" --in-place --json
	status_is 3
	eq "$(json .reason)" superblock
}

@test "an image in many extents is copied, and brought back, in the right order" {
	requires ntfsresize
	mkvol 96M 4096
	fx holes "$V" 1048576 20 65536 1048576
	create 16M --max-extents 40
	[ "$(grep -c ^extent "$M")" -gt 10 ] || fail "$(grep -c ^extent "$M") extents"
	mapped "$M" "$V" "$T/before.img"
	fx emptied "$V" "$IMG"
	rescue '' --output "$T/out.img"
	cmp "$T/out.img" "$T/before.img"
	ok rescue "$V" --map "$M" --in-place
	verdict_is match
	second_opinion
}

@test "SIGTERM before the commit of rescue --in-place: exit 4, nothing is changed" {
	needs_trace
	made
	fx emptied "$V" "$IMG"
	before=$(sum)
	traced pread64,pwrite64 '' rescue "$V" --map "$M" --in-place --dry-run
	n=$(grep -c 'pread64(' "$T/trace")
	for k in 1 $((n / 3)) $((n / 2)) $((n - 1)); do
		traced pread64 "signal=SIGTERM:when=$k" rescue "$V" --map "$M" --in-place
		[ "$status" = 4 ] || fail "SIGTERM at read $k of $n: exit status $status"
		eq "$(sum)" "$before"
	done
}
