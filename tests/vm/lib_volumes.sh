# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the vm-setup lines of guest scripts, on the host: . "$TESTS/vm/lib_volumes.sh"

export PATH=$PATH:/usr/sbin:/sbin PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
image=/ubuntu/disks/root.disk

fx() { python3 "$TESTS/fixtures/ntfsfx.py" "$@"; }
mapfx() { python3 "$TESTS/fixtures/mapfx.py" "$@"; }

mkvol() { # FILE SIZE [MKNTFS-OPTION...]
	truncate -s "$2" "$1"
	mkntfs -F -Q -q -p 2048 -H 255 -S 63 -c 4096 "${@:3}" "$1" && "$TESTS/fixtures/own-serial" "$1"
}

sum_of() { # MAP VOLUME: of the image's bytes
	mapfx extract "$1" "$2" image.tmp
	sha256sum <image.tmp | cut -d ' ' -f 1
	rm image.tmp
}

# base FILE: a volume with root and its map maps/root.map; what root holds is in root.sum.
base() {
	mkvol "$1" 32M
	mkdir -p maps
	wubi-disk create "$1" --size 8M --map maps/root.map --quiet
	mapfx poke maps/root.map "$1" 3000000 "what Linux wrote before"
	sum_of maps/root.map "$1" >root.sum
}

copy() { # TO [FROM]
	cp --sparse=always "${2:-base.img}" "$1"
}

# state FILE FIXTURE [ARGUMENT...]: a copy of base.img, with that state.
state() {
	copy "$1"
	fx "$2" "$1" "${@:3}"
}

# in_linux FILE COMMAND: evaluates it in the mounted volume, and waits until ntfs-3g has let go.
in_linux() {
	local pipe=daemon.fifo waiter
	mkdir -p mnt
	mkfifo $pipe
	cat $pipe >/dev/null &
	waiter=$!
	ntfs-3g "$1" mnt 9>$pipe
	(cd mnt && eval "$2") || { umount mnt; return 1; }
	umount mnt
	wait $waiter
	rm $pipe
}

# wipe FILE: zeros where the image is.
wipe() {
	local lcn count
	fx runs "$1" $image | while read -r lcn count; do
		dd if=/dev/zero of="$1" bs=4096 seek="$lcn" count="$count" conv=notrunc status=none
	done
}

# crowd FILE FOLDER: so many files in a folder that its index has blocks of its own.
crowd() {
	local i
	: >empty
	for i in $(seq 50); do
		ntfscp -q -f "$1" empty "$2/a file with a longer name $i"
	done
	rm empty
}

# maps_of FOLDER [FILE]: a folder of maps; root.map is standard input, or FILE.
maps_of() {
	mkdir -p "$1"
	cat ${2:+"$2"} >"$1/root.map"
}

# disk FILE VOLUME GEOMETRY PARTUUID: the volume as a partition of a disk. GEOMETRY: gpt, primary, logical.
# The PARTUUID of an MBR is XXXXXXXX-NN: of a primary one here 01, of a logical one 05.
disk() {
	local start=2048 sectors
	sectors=$(($(stat -c %s "$2") / 512))
	rm -f "$1"
	truncate -s $((sectors * 512 + (4 << 20))) "$1"
	case $3 in
	gpt) printf 'label: gpt\nstart=2048,size=%d,type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7,uuid=%s\n' "$sectors" "$4" ;;
	primary) printf 'label: dos\nlabel-id: 0x%s\nstart=2048,size=%d,type=7\n' "${4%-*}" "$sectors" ;;
	logical) printf 'label: dos\nlabel-id: 0x%s\n1: start=2048,size=%d,type=5\n5: start=4096,size=%d,type=7\n' \
		"${4%-*}" $((sectors + 2048)) "$sectors" ;;
	esac | sfdisk -q "$1"
	[ "$3" != logical ] || start=4096
	dd if="$2" of="$1" bs=512 seek=$start conv=notrunc,sparse status=none
}

# map_with FOLDER PARTUUID: maps/root.map, for a partition.
map_with() {
	maps_of "$1" maps/root.map
	mapfx set-value "$1/root.map" host_partuuid "$2"
}

# ciphertext FILE [VOLUME]: random bytes, with BitLocker's boot sector; or with that of a volume.
ciphertext() {
	head -c 4M /dev/urandom >"$1"
	if [ $# -gt 1 ]; then
		dd if="$2" of="$1" bs=512 count=1 conv=notrunc status=none
		truncate -s "$(stat -c %s "$2")" "$1"
	else
		printf '\xeb\x58\x90-FVE-FS-\0\2\10\0\0' | dd of="$1" conv=notrunc status=none
	fi
}

# many_runs N: runsN.img with an image of 8 MiB in N runs (a power of two), its true map in runsN/, one that names other places in runsN-stale/;
# runsN-moved.img with the image in one run. What it holds is in runsN.sum.
many_runs() {
	local n=$1 sectors
	mkvol "runs$n.img" 64M
	fx holes "runs$n.img" $((8 * 1024 * 1024 / n)) $((n + 2)) 4096 1048576
	mkdir "runs$n"
	wubi-disk create "runs$n.img" --size 8M --max-extents "$n" --no-host-map --map "runs$n/root.map" --quiet
	[ "$(grep -c '^extent ' "runs$n/root.map")" = "$n" ]
	sum_of "runs$n/root.map" "runs$n.img" >"runs$n.sum"
	copy "runs$n-moved.img" "runs$n.img"
	in_linux "runs$n-moved.img" 'rm -f hole-wall-*'
	fx move "runs$n-moved.img" $image
	maps_of "runs$n-stale" "runs$n/root.map"
	sectors=$((8 * 1024 * 1024 / 512))
	mapfx set-extents "runs$n-stale/root.map" "0,65536,$sectors"
}

# three_images FILE FOLDER: a volume with root, home and swap, and their maps in the folder.
three_images() {
	local image name size fs
	mkvol "$1" 48M
	mkdir "$2"
	for image in root:8M:ext4 home:8M:ext4 swap:4M:swap; do
		IFS=: read -r name size fs <<<"$image"
		wubi-disk create "$1" --size "$size" --name "$name" --fs "$fs" --map "$2/$name.map" --quiet
	done
}

# put_at FILE BYTE: what comes on standard input.
put_at() {
	dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# repair FILE: a change and e2fsck -fy, through ntfs-3g; what root holds then is in repaired.sum.
repair() {
	in_linux "$1" "debugfs -w -R 'mkdir later' .$image && e2fsck -fy .$image; test \$? -lt 2"
	fx extents "$1" $image | diff - <(mapfx extents maps/root.map)
	sum_of maps/root.map "$1" >repaired.sum
}
