#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad volumes: a clear error, never a crash, a hang or a write.

load ../lib.sh

# every verb over a hurt volume: an exit status of ours, and the volume unchanged (or, when create went through, right)
survives() { # survives WHAT
	local before
	before=$(sum "$V")
	for verb in "info $V" "show $V --image $IMG" "verify $V --map $T/kept.map" "map $V --output $T/new.map --no-host-map" \
		"create $V --size 8M --image /other.disk --dry-run"; do
		status=0
		# shellcheck disable=SC2086
		timeout 60 "$WUBI_DISK" $verb >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
		case $status in
		0 | 1 | 3) ;;
		*) fail "$1: $verb: exit status $status: $(cat "$T/err")" ;;
		esac
		[ "$status" = 0 ] || [ "${verb%% *}" = verify ] || [ -s "$T/err" ] || fail "$1: $verb: exit $status without a word"
		eq "$(sum "$V")" "$before" "$1: $verb: checksum"
	done
	for verb in "create $V --size 8M --image /other.disk --no-host-map --map $T/other.map --force-state dirty" \
		"remove $V --image $IMG --yes"; do
		status=0
		# shellcheck disable=SC2086
		timeout 60 "$WUBI_DISK" $verb >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
		case $status in
		0) [ "${verb%% *}" = remove ] || "$WUBI_DISK" verify "$V" --map "$T/other.map" >"$T/out" 2>&1 ||
			grep -q unsettled "$T/out" || fail "$1: create said done, verify says $(cat "$T/out")" ;;
		1 | 3) eq "$(sum "$V")" "$before" "$1: $verb: exit $status: checksum ($(cat "$T/err"))" ;;
		*) fail "$1: $verb: exit status $status: $(cat "$T/err")" ;;
		esac
		before=$(sum "$V")
	done
}

base() {
	mkvol 32M 4096
	ok create "$V" --size 8M --map "$T/kept.map"
	cp --sparse=always "$V" "$T/base.img"
}

@test "boot sector, MFT record, run list, index, attribute list, update sequence: an error, no write" {
	base
	for what in boot mft0 bitmap-record bitmap-runs bitmap-beyond root-index usa attr-list; do
		cp --sparse=always "$T/base.img" "$V"
		fx corrupt "$V" $what
		before=$(sum "$V")
		wd create "$V" --size 8M --image /other.disk --map "$M"
		[ "$status" = 1 ] || [ "$status" = 3 ] || fail "$what: create: exit status $status"
		eq "$(sum "$V")" "$before" "$what: checksum"
		absent "$M"
		survives $what
	done
}

@test "\$Bitmap shorter than the volume: refused, clusters without a bit are not free" {
	base
	fx bitmap-short "$V"
	before=$(sum "$V")
	wd create "$V" --size 8M --image /other.disk --map "$M"
	[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
	has "$err" 'bitmap'
	eq "$(sum "$V")" "$before"
	absent "$M"
}

@test "a run list of the image that goes beyond the volume, or over itself: never match" {
	base
	cat >"$T/forge.py" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx, ntfslib as nt
		v = ntfsfx.vol(sys.argv[2])
		n = v.find('/ubuntu/disks/root.disk')
		_, lcn, c = v.stream_runs(n, nt.DATA)[0]
		ntfsfx._remake_data(v, n, runs={
		    'beyond': [(lcn, c // 2), (v.clusters - 10, c - c // 2)],
		    'far': [(1 << 40, c)],
		    'negative': [(lcn, c // 2), (-5, c - c // 2)],
		    'twice': [(lcn, c // 2), (lcn, c - c // 2)],
		    'mft': [(v.mft_lcn, c)],
		    'short': [(lcn, c - 1)],
		    'long': [(lcn, c + 1)],
		}[sys.argv[3]])
	EOP
	for what in beyond far negative twice mft short long; do
		cp --sparse=always "$T/base.img" "$V"
		"$PY" "$T/forge.py" "$TESTS_DIR/fixtures" "$V" $what
		wd verify "$V" --map "$T/kept.map" --json
		[ "$status" = 3 ] || [ "$status" = 1 ] || fail "$what: exit status $status"
		lacks "$out" '"verdict": ?"(match|renamed|orphaned)"'
		wd map "$V" --output "$M" --no-host-map
		[ "$status" != 0 ] || case $what in mft | short) ;; *) echo "$what: map says done" >>"$T/bad" ;; esac
		before=$(sum "$V")
		wd remove "$V" --image "$IMG" --yes
		[ "$status" != 0 ] || case $what in short) ;; *) echo "$what: remove freed clusters that are not the image's" >>"$T/bad" ;; esac
		[ "$status" = 0 ] || eq "$(sum "$V")" "$before" "$what: checksum"
		rm -f "$M"
	done
	[ ! -e "$T/bad" ] || fail "$(cat "$T/bad")"
}

@test "a folder that contains itself, and a deep one: no hang" {
	requires root fuse
	mkvol 32M 4096
	in_ntfs 'mkdir -p found.000/a/b ubuntu/disks; d=.; for i in $(seq 60); do mkdir $d/d; d=$d/d; done'
	"$PY" - "$TESTS_DIR/fixtures" "$V" <<-'EOP'
		import struct, sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx, ntfslib as nt
		v = ntfsfx.vol(sys.argv[2])
		a = v.find('/found.000/a')
		rec = bytearray(v.record(a))
		root = v.attr(a, nt.INDEX_ROOT, '$I30')
		for name, _, ref, _, (place, off) in v.walk_index(a):
		    if name == 'b':
		        up = v.find('/found.000')
		        struct.pack_into('<Q', rec, root.off + nt.u16(root.raw, 20) + off, up | nt.u16(v.record(up), 16) << 48)
		v.write_record(a, rec)
	EOP
	for verb in "info $V" "create $V --size 8M --map $M"; do
		status=0
		# shellcheck disable=SC2086
		timeout 60 "$WUBI_DISK" $verb >"$T/out" 2>"$T/err" 3>&- || status=$?
		case $status in 0 | 1 | 3) ;; *) fail "$verb: exit status $status" ;; esac
	done
}

@test "300 volumes with random bytes in their metadata: an exit status of ours, no write but a right one" {
	slow_one
	mkvol 16M 4096
	for i in 1 2 3 4 5 6 7 8; do
		head -c $((i * 7000)) /dev/zero | tr '\0' "$i" >"$T/file"
		ntfscp -q -f "$V" "$T/file" "/file$i" >/dev/null 2>&1
	done
	ok create "$V" --size 2M --fs none --map "$T/kept.map"
	mkdir "$T/work"
	# shellcheck disable=SC2046
	"$PY" "$TESTS_DIR/cli/survive.py" "$V" "$T/kept.map" "$T/work" $(seq 300)
}
