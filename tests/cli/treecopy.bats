#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The copy of a live system: all of it, onto a real ext4, and whatever goes wrong is told.

load ../lib.sh

DRIVER=${TREECOPY_DRIVER:-$BUILD/tests/cli/treecopy_driver}
SHIM=${COPYSHIM:-$BUILD/tests/cli/copyshim_preload.so}

# driver [NAME=VALUE]... ARG...: with the shim if there are variables for it. $status, $out, $err.
driver() {
	local variables=()
	while [[ $1 == COPY_*=* ]]; do
		variables+=("$1")
		shift
	done
	[ "${#variables[@]}" = 0 ] || variables+=("LD_PRELOAD=$SHIM")
	status=0
	env "${variables[@]}" "$DRIVER" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

mounted() { # WHAT WHERE
	mkdir -p "$2"
	mount -o loop "$1" "$2" || fail "mount $1"
	MOUNTED="$2 $MOUNTED"
}

ext4() { # SIZE: at $T/target
	rm -f "$T/ext4.img"
	truncate -s "$1" "$T/ext4.img"
	mke2fs -q -F -t ext4 -b 4096 -m 0 "$T/ext4.img"
	mounted "$T/ext4.img" "$T/target"
}

squashfs() { # of $T/files, at $T/source
	mksquashfs "$T/files" "$T/fs.squashfs" -comp gzip -no-progress -noappend >"$T/log" 2>&1 || fail "mksquashfs: $(tail -2 "$T/log")"
	mounted "$T/fs.squashfs" "$T/source"
}

noise() { head -c "$1" /dev/urandom; }

# Everything that stat and getfattr know, but for sizes of folders and what a file system numbers itself.
facts() {
	(
		cd "$1" || exit
		find . -path ./lost+found -prune -o -type d -printf '%p %y %m %U %G %T@\n' -o -printf '%p %y %m %U %G %T@ %s %n %l\n' | LC_ALL=C sort
		find . -path ./lost+found -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
		"$PY" - <<-'END'
			import os
			for top, dirs, files in os.walk('.'):
			    dirs[:] = sorted(d for d in dirs if (top, d) != ('.', 'lost+found'))
			    for path in [top] + sorted(os.path.join(top, name) for name in dirs + files):
			        for name in sorted(os.listxattr(path, follow_symlinks=False)):
			            print(path, name, os.getxattr(path, name, follow_symlinks=False))
		END
	)
}

system() { # files of all kinds in $T/files
	local d=$T/files
	mkdir -p "$d/usr/bin" "$d/usr/share/many" "$d/dev" "$d/home" "$d/var/empty"
	noise 3000000 >"$d/usr/bin/large"
	seq 1 3000 >"$d/usr/bin/text"
	: >"$d/usr/bin/empty"
	for n in $(seq 150); do echo "$n" >"$d/usr/share/many/$n"; done
	cp "$d/usr/bin/text" "$d/usr/bin/ping"
	chmod 4755 "$d/usr/bin/text"
	chown 7:8 "$d/usr/bin/empty"
	ln "$d/usr/bin/large" "$d/usr/bin/again"
	ln "$d/usr/bin/large" "$d/home/third"
	ln -s ../nowhere "$d/usr/link"
	mknod "$d/dev/null" c 1 3
	mkfifo "$d/dev/fifo"
	truncate -s 40M "$d/var/sparse"
	printf data | dd of="$d/var/sparse" bs=1 seek=20000001 conv=notrunc status=none
	chmod 1777 "$d/var/empty"
	"$PY" - "$d" <<-'END'
		import os, sys
		os.setxattr(sys.argv[1] + '/usr/bin/ping', 'security.capability', bytes([1, 0, 0, 2, 0, 0x20] + [0] * 14))
		os.setxattr(sys.argv[1] + '/usr/bin/large', 'user.note', b'a\0b')
		os.setxattr(sys.argv[1] + '/usr/link', 'trusted.note', b'link', follow_symlinks=False)
	END
	find "$d" -exec touch -h -d '2020-02-02 02:02:02.25' {} +
}

@test "G01 a squashfs onto ext4: holes, hard links, extended attributes, capabilities, devices, owners, modes, times" {
	requires root loop mksquashfs mke2fs
	system
	squashfs
	ext4 96M
	driver copy "$T/source" "$T/target" --verify
	status_is 0
	diff <(facts "$T/source") <(facts "$T/target") || fail "the copy differs"
	[ "$(du -k "$T/target/var/sparse" | cut -f1)" -le 8 ] || fail "the sparse file is blown up"
	# the file system itself is whole
	umount "$T/target"
	e2fsck -fn "$T/ext4.img" >"$T/log" 2>&1 || fail "e2fsck: $(tail -3 "$T/log")"
}

@test "G01 a file system of its own for home gets its part, and is flushed" {
	requires root loop mke2fs
	mkdir -p "$T/files/home/user" "$T/files/usr"
	noise 100000 >"$T/files/home/user/file"
	chmod 711 "$T/files/home"
	ext4 32M
	truncate -s 16M "$T/home.img"
	mke2fs -q -F -t ext4 "$T/home.img"
	mounted "$T/home.img" "$T/target/home"
	driver COPY_LOG="$T/calls" copy "$T/files" "$T/target" --verify
	status_is 0
	eq "$(grep -c 'sync end' "$T/calls")" 2
	umount "$T/target/home"
	mount -o loop,ro "$T/home.img" "$T/target/home"
	cmp "$T/files/home/user/file" "$T/target/home/user/file"
	eq "$(stat -c %a "$T/target/home")" 711
}

@test "G01 no space in the middle: it stops, and says how much is missing, and so much is enough" {
	requires root loop mke2fs
	mkdir "$T/files"
	for n in $(seq 40); do noise 1500000 >"$T/files/$n"; done
	ext4 48M
	driver copy "$T/files" "$T/target"
	status_is 1
	has "$err" "'/[0-9]+': no space left: [0-9.]+ MiB more are needed: [0-9.]+ MiB are still to be copied"
	more=$(sed -E 's/.*left: ([0-9]+)\.[0-9] MiB more.*/\1/' <<<"$err")
	if [ "$more" -lt 5 ] || [ "$more" -gt 40 ]; then fail "$more MiB are missing?"; fi
	umount "$T/target"
	ext4 "$((48 + more + 3))M"
	driver copy "$T/files" "$T/target" --verify
	status_is 0
}

@test "G01 no inodes left: that is what it says" {
	requires root loop mke2fs
	mkdir "$T/files"
	for n in $(seq 100); do : >"$T/files/$n"; done
	truncate -s 16M "$T/ext4.img"
	mke2fs -q -F -t ext4 -N 48 "$T/ext4.img"
	mounted "$T/ext4.img" "$T/target"
	driver copy "$T/files" "$T/target"
	status_is 1
	has "$err" "no inodes left: .* are needed"
}

@test "G02 a read error of one file stops the copy, and names the file and the side" {
	mkdir "$T/files" "$T/target"
	for n in $(seq 200); do echo "$n" >"$T/files/$n"; done
	driver COPY_EIO="$T/files/137" copy "$T/files" "$T/target"
	status_is 1
	has "$err" "'/137' of '$T/files': read: Input/output error: the medium may be bad, or was removed"
	lacks "$out" copied
}

@test "G02 a damaged block of the squashfs stops the copy" {
	requires root loop mksquashfs
	mkdir "$T/files" "$T/target"
	seq 1 400000 >"$T/files/numbers"
	mksquashfs "$T/files" "$T/fs.squashfs" -comp gzip -no-progress >"$T/log" 2>&1
	noise 5000 | dd of="$T/fs.squashfs" bs=1 seek=200000 conv=notrunc status=none
	mounted "$T/fs.squashfs" "$T/source"
	driver copy "$T/source" "$T/target"
	status_is 1
	has "$err" "'/numbers' of '$T/source': read: Input/output error: the medium may be bad"
}

@test "G02 a medium that was removed stops the copy at once" {
	mkdir "$T/files" "$T/target"
	for n in $(seq 300); do noise 20000 >"$T/files/$n"; done
	driver COPY_EIO_AFTER=1000000 copy "$T/files" "$T/target"
	status_is 1
	has "$err" "was removed"
	[ "$(find "$T/target" -type f | wc -l)" -lt 60 ] || fail "it went on"
}

@test "G02 a flush that fails is a failure of the copy" {
	mkdir "$T/files" "$T/target"
	noise 100000 >"$T/files/file"
	driver COPY_SYNC_EIO=1 copy "$T/files" "$T/target"
	status_is 1
	has "$err" "in '$T/target': flush to the disk: Input/output error"
	lacks "$out" copied
}

@test "G03 one byte of the squashfs flipped: the medium is refused before the copy" {
	mkdir -p "$T/medium/live"
	noise 2000000 >"$T/medium/live/filesystem.squashfs"
	(cd "$T/medium" && find . -type f -exec md5sum {} + >"$T/md5" && sha256sum ./live/* >"$T/sha256")
	for kind in md5 sha256; do
		rm -f "$T"/medium/*.txt
		cp "$T/$kind" "$T/medium/${kind}sum.txt"
		driver medium "$T/medium" live/filesystem.squashfs
		status_is 0
		eq "$out" checked=1
		cp "$T/medium/live/filesystem.squashfs" "$T/kept"
		"$PY" -c "import sys; f = open(sys.argv[1], 'r+b'); f.seek(1234567); b = f.read(1); f.seek(1234567); f.write(bytes([b[0] ^ 1]))" \
			"$T/medium/live/filesystem.squashfs"
		driver medium "$T/medium" live/filesystem.squashfs
		status_is 3
		has "$err" "^bad-medium: .*live/filesystem.squashfs.*again"
		cp "$T/kept" "$T/medium/live/filesystem.squashfs"
	done
}

iso_of() { # SECTORS that it says it has
	"$PY" - "$T/live.iso" "$1" <<-'END'
		import struct, sys
		sector = bytearray(2048)
		sector[:7] = b'\x01CD001\x01'
		sector[80:88] = struct.pack('<I', int(sys.argv[2])) + struct.pack('>I', int(sys.argv[2]))
		sector[128:132] = struct.pack('<H', 2048) + struct.pack('>H', 2048)
		open(sys.argv[1], 'wb').write(bytes(16 * 2048) + sector + bytes([255]) + b'CD001' + bytes((int(sys.argv[2]) - 17) * 2048 - 6))
	END
}

@test "G03 a truncated ISO file is refused, with a list and without" {
	iso_of 500
	driver iso "$T/live.iso"
	status_is 0
	eq "$out" listed=0
	(cd "$T" && sha256sum live.iso >SHA256SUMS)
	driver iso "$T/live.iso"
	eq "$out" listed=1
	rm "$T/SHA256SUMS"
	for size in 1023999 300000 32768 100 0; do
		truncate -s "$size" "$T/live.iso"
		driver iso "$T/live.iso"
		status_is 3
		has "$err" "^bad-medium: .*live.iso"
	done
}

@test "G03 a byte that changes on the target after the copy is found, and named" {
	mkdir -p "$T/files/usr/lib" "$T/target"
	noise 3000000 >"$T/files/usr/lib/large"
	seq 1000 >"$T/files/usr/lib/small"
	driver copy "$T/files" "$T/target" --verify
	status_is 0
	rm -r "$T/target/usr"
	change="printf '\\001\\002' | dd of='$T/target/usr/lib/large' bs=1 seek=2500000 conv=notrunc status=none"
	driver copy "$T/files" "$T/target" --verify --between "$change"
	status_is 1
	has "$err" "'/usr/lib/large' in '$T/target' is not what was copied"
}

@test "G07 progress never exceeds what was written before the last flush that has ended" {
	mkdir "$T/files" "$T/target"
	for n in $(seq 32); do noise 250000 >"$T/files/$n"; done
	# the first flush begins when 2 MB are written, and ends when all is
	status=0
	COPY_LOG=$T/calls COPY_GATE=2000000 COPY_HOLD=8000000 LD_PRELOAD=$SHIM "$DRIVER" copy "$T/files" "$T/target" --progress \
		>>"$T/calls" 2>"$T/err" 3>&- || status=$?
	status_is 0
	awk '
		$1 == "write" { written += $2 }
		$0 == "sync begin" { at_begin = written }
		$0 == "sync end" { flushed = at_begin; syncs++ }
		$2 == "copy" && $3 > flushed { print "line " NR ": progress " $3 ", flushed " flushed; bad = 1 }
		$2 == "copy" && $3 > 0 && $3 < $4 { between = 1 }
		$2 == "copy" { last = $3; total = $4 }
		END {
			if (syncs < 2 || last != total || total != 8000000) { print syncs " flushes, " last " of " total; bad = 1 }
			exit bad
		}' "$T/calls" || fail "$(grep -v write "$T/calls")"
	# while it was held, and all was written, nothing was done
	has "$(grep -B1 'sync end' "$T/calls" | head -1)" 'write|progress copy 0 '
}

@test "cancelled: the exit status says so, and nothing goes on" {
	mkdir "$T/files" "$T/target"
	for n in $(seq 32); do noise 250000 >"$T/files/$n"; done
	driver COPY_GATE=2000000 copy "$T/files" "$T/target" --cancel-at 1
	status_is 4
	has "$err" interrupted
}
