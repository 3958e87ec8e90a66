#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What 'make demo' shows, on a throwaway NTFS volume in a plain file: no disk of this machine is touched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-$here/../build}
export BUILD PATH=$BUILD:$PATH:/usr/sbin:/sbin LC_ALL=C.UTF-8
image=/ubuntu/disks/root.disk

work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-demo.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM HUP

step() {
	printf '\n=== %s\n' "$1"
}

run() { # shows the command, then runs it
	printf '$ %s\n' "$*"
	"$@"
}

die() {
	echo "demo: $1" >&2
	exit 1
}

cd "$work"
step 'A Windows volume of 8 GiB, in a sparse file'
run truncate -s 8G windows.img
run mkntfs -F -Q -q -p 2048 -H 255 -S 63 -L Windows windows.img

step 'Make a root.disk of 2 GiB in it, and the map of where it lies'
run wubi-disk create windows.img --size 2G --map root.map

step 'The volume, the map as text, and the image in the volume'
run wubi-disk info windows.img --quiet
run cat root.map
run wubi-disk show windows.img --map root.map

step 'Is the map true?'
run wubi-disk verify windows.img --map root.map
run e2fsck -fn "windows.img?offset=$(($(awk '$1 == "extent" { print $3 }' root.map) * 512))"

step 'In user-mode Linux: attach it, mount it, write and read a file'
"$here/vm/run.sh" -v -w "$work" -d windows.img -t 180 "$here/demo-guest.sh" |
	sed -n 's/^demo| //p' | tee guest.txt || die 'the guest failed'
written=$(sed -n 's/^sha256 //p' guest.txt)
[ -n "$written" ] || {
	tail -n 40 console.log >&2
	die 'the guest did not write its file'
}

step 'Outside again: the map is still true, and ntfs-3g reads the same bytes from root.disk'
run wubi-disk verify windows.img --map root.map
echo "\$ ntfscat windows.img $image | dd conv=sparse of=root.copy"
ntfscat windows.img "$image" | dd conv=sparse of=root.copy bs=1M iflag=fullblock status=none
run e2fsck -fn root.copy
run debugfs -R 'dump /hello.bin hello.bin' root.copy
read_back=$(sha256sum <hello.bin | cut -d ' ' -f 1)
echo "written in Linux:     $written"
echo "read by ntfs-3g:      $read_back"
[ "$written" = "$read_back" ] || die 'ntfs-3g reads other bytes'
run ntfsresize -i -f windows.img >ntfsresize.log 2>&1 || {
	cat ntfsresize.log >&2
	die "ntfsresize's check of the volume found something"
}

step 'Done'
cat <<END
- a 2 GiB root.disk was made on an NTFS volume without mounting it, and verified;
- its map was printed, drawn, and compared with the MFT;
- in user-mode Linux it became /dev/mapper/wubi-root, was mounted, and a file was written and read;
- ntfs-3g reads the same bytes of that file from root.disk, and ntfsresize finds the volume consistent.
Nothing is left behind: all of it was in $work.
END
