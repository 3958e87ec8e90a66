# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For guest scripts that run wubi-install: . "$(dirname "$0")/lib_installer.sh"
# The disk is /dev/ubda as lib_install.sh makes it; the guest stands for a live system that was started by UEFI.

. "$(dirname "${BASH_SOURCE[0]}")/guest.sh"

program=$WUBI_BUILD/wubi-install
disk=$WUBI_BUILD/wubi-disk
esp=/dev/ubda1
volume=/dev/ubda2
esp_uuid=11111111-2222-4333-8444-555555555555
guid=8be4df61-93ca-11d2-aa0d-00e098032b8c
export EFIVARFS_PATH=/run/efivars/
conf=/run/conf

begin() {
	load_module dm_mod loop fuse squashfs vfat nls_cp437 nls_iso8859_1 nls_ascii || fail 'load the modules'
	# a live system has its own, and its own may be written
	mount -t tmpfs tmpfs /var/cache/apt
	mount -t tmpfs tmpfs /var/lib
	cp -r "$WUBI_WORK/efivars" /run/
	# shellcheck disable=SC2016 # a hash
	printf '%s\n' "volume = \"$volume\"" 'size = "1280M"' "squashfs = \"$WUBI_WORK/system.squashfs\"" \
		"packages = \"$WUBI_WORK/packages\"" 'network = false' 'hostname = "ada-pc"' 'user = "ada"' \
		'password-hash = "$6$salt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"' \
		'time-zone = "Europe/Berlin"' 'profile-normal = "safe"' >/run/conf
}

wubi_install() { # [OPTION...]: with the configuration
	"$program" --config "$conf" --yes "$@" </dev/null
}

# json FILTER: of what the last command of check_status said. Progress is on the same channel; the value is the last line.
json() {
	grep '^{' /run/check.out | tail -n 1 | jq -r "$1"
}

on_esp() { # rw|ro COMMAND...: with the EFI system partition at /run/look
	local status
	mkdir -p /run/look
	mount -t vfat -o "$1" $esp /run/look || return 1
	(cd /run/look && "${@:2}")
	status=$?
	umount /run/look && return $status
}

# A file of ours on the EFI system partition as a power cut may leave it: its second cluster's entry in each FAT says that it is free.
torn_on_esp() { # NAME
	umount /run/wubi-install/esp 2>/dev/null # of a run that was killed
	on_esp rw sh -c 'mkdir -p EFI/wubi && yes "$0" | head -c 1M >"EFI/wubi/$0"' "$1" || return 1
	python3 -c '
import struct, sys
with open(sys.argv[1], "r+b") as esp:
    boot = esp.read(512)
    per_sector, per_cluster, reserved, fats, root_entries = struct.unpack_from("<HBHBH", boot, 11)
    fat_sectors = struct.unpack_from("<H", boot, 22)[0]
    assert fat_sectors, "not FAT16"
    data = (reserved + fats * fat_sectors) * per_sector + root_entries * 32
    esp.seek(data)
    place = esp.read().index((sys.argv[2] + "\n").encode() * 100) # its folder has the name once
    cluster = 2 + place // (per_sector * per_cluster) + 1
    for fat in range(fats):
        esp.seek((reserved + fat * fat_sectors) * per_sector + cluster * 2)
        esp.write(b"\0\0")
    ' $esp "$1" && blockdev --flushbufs $esp
}

# With sums of files: what is below a folder.
tree_of() { # FOLDER [FIND-TEST...]
	(cd "$1" && { find . "${@:2}" -type f -print0 | xargs -r -0 sha256sum; find . "${@:2}" ! -type f; }) | sort
}

esp_tree() {
	on_esp ro tree_of .
}

# All that Windows has, but for the folder that the images are in.
windows_files() {
	ntfs_mount -o ro $volume /run/n || return 1
	tree_of /run/n ! -path './ubuntu*'
	ntfs_umount /run/n
}

images() { # what is in that folder
	ntfs_mount -o ro $volume /run/n || return 1
	[ ! -e /run/n/ubuntu ] || (cd /run/n && find ubuntu | sort)
	ntfs_umount /run/n
}

variable() { # NAME: its value's numbers of 16 bits
	[ ! -e "$EFIVARFS_PATH$1-$guid" ] || od -An -v -tx2 -j 4 "$EFIVARFS_PATH$1-$guid" | xargs
}

firmware() {
	(cd $EFIVARFS_PATH && sha256sum -- *)
}

# The number of our entry, as BootOrder has it; nothing if there is none.
our_entry() {
	local file
	for file in "$EFIVARFS_PATH"Boot????-"$guid"; do
		if tr -d '\0' <"$file" | grep -qaF '\EFI\wubi\shimx64.efi'; then
			file=${file##*/Boot}
			echo "${file%%-*}" | tr '[:upper:]' '[:lower:]'
		fi
	done
}

# What a run must not leave in a live system.
leftovers() {
	grep -F /run/wubi-install/ /proc/self/mountinfo
	dmsetup ls | grep -v '^No devices'
	losetup -n -O BACK-FILE
	ls -d /run/wubi-install /run/wubi/phase.json 2>/dev/null
	for link in /proc/[0-9]*/root; do
		readlink "$link" | grep wubi-install
	done
}

knobs() {
	cat /proc/sys/vm/dirty_{background_,}{bytes,ratio} /proc/sys/vm/dirty_{expire,writeback}_centisecs | xargs
}

# All of the above: equal before and after something that leaves nothing.
state() {
	esp_tree
	windows_files
	images
	firmware
	leftovers
	knobs
}

# Root's label; "" without an image.
label() {
	"$disk" map $volume --no-host-map --output /run/label.map >/dev/null 2>&1 || return 0
	"$disk" attach $volume --map /run/label.map --readonly >/dev/null && e2label /dev/mapper/wubi-root
	"$disk" detach root >/dev/null
	rm -f /run/label.map
}

# stop SIGNAL PATTERN [OPTION...]: a run of wubi-install that gets the signal when it says that. $status; what it said is in
# /run/said.
stop() {
	local line pid seen=''
	rm -f /run/pipe
	mkfifo /run/pipe
	env --default-signal "$program" --config "$conf" --yes --progress json "${@:3}" </dev/null >/run/out 2>/run/pipe &
	pid=$!
	exec 7</run/pipe
	: >/run/said
	while IFS= read -r -u 7 line; do
		printf '%s\n' "$line" >>/run/said
		if [ -z "$seen" ] && [[ $line =~ $2 ]]; then
			seen=1
			kill "-$1" $pid
			[ "$1" != KILL ] || break # its programs may hold the pipe
		fi
	done
	wait $pid 2>/dev/null
	status=$?
	exec 7<&-
	[ -n "$seen" ] || fail "no line '$2'" "$(tail -n 5 /run/said)"
}
