#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-install from a squashfs to an image on a disk with Windows: what it refuses, what it makes, and the ways back: repair, remove
# (cases B07 B09 G10).
#
# vm-setup: . "$TESTS/vm/lib_install.sh"
# vm-setup: make_system
# vm-setup: make_disk d.img 128
# vm-setup: make_firmware 128
# vm-options: -d d.img -m 768M -t 800

. "$(dirname "$0")/lib_installer.sh"

image=/ubuntu/disks/root.disk

# All but so many MiB of the EFI system partition are somebody else's.
crowd_esp() { # MIB
	on_esp rw bash -c 'rm -f filler; sync; head -c $(($(stat -f -c "%a * %S" .) - $1 * 1048576)) /dev/zero >filler' crowd "$1"
}

written() { # sectors, to the disk
	sync
	awk '{ print $7 }' /sys/block/ubda/stat
}

map_of_root() { # the one beside the image
	ntfscat $volume ${image%.disk}.map >/run/root.map
}

system() { # rw|ro COMMAND...: with the installed system at /mnt
	local status
	map_of_root && "$disk" attach $volume --map /run/root.map >/dev/null && mount -t ext4 -o "$1" /dev/mapper/wubi-root /mnt || return 1
	"${@:2}"
	status=$?
	umount /mnt && "$disk" detach root >/dev/null && return $status
}

fact() { # FILE FILTER: of a map
	"$disk" show --map "$1" --json | jq -r "$2"
}

refusals() {
	local before
	crowd_esp 10
	before=$(written)
	check_status 'B09 B07 too small an image, and too full an EFI system partition' 3 wubi_install --json --size 300M
	check_equal 'B09 B07 both are told' 'esp-full too-small' "$(json '[.findings[].reason] | sort | join(" ")')"
	check_equal 'B09 B07 nothing was written' "$before" "$(written)"
	check_equal 'B09 B07 nothing stays' '' "$(leftovers)"
	check_status 'nothing to repair' 3 wubi_install --repair --json
	check_equal 'nothing to repair: why' no-image "$(json .reason)"
	check_status 'nothing to remove' 3 wubi_install --remove --json
	check_equal 'nothing to remove: why' no-image "$(json .reason)"
	check_equal 'nothing was written by them' "$before" "$(written)"
}

installed_system() {
	check 'the file systems' grep -qxF '/dev/mapper/wubi-root / ext4 defaults,errors=remount-ro 0 1' /mnt/etc/fstab
	check 'home among them' grep -q '^/dev/mapper/wubi-home /home ext4 ' /mnt/etc/fstab
	check 'swap among them' grep -q '^/dev/mapper/wubi-swap none swap ' /mnt/etc/fstab
	check 'the EFI system partition among them' grep -q "^PARTUUID=$esp_uuid /boot/efi vfat" /mnt/etc/fstab
	check 'the name' grep -qx ada-pc /mnt/etc/hostname
	# shellcheck disable=SC2016 # a hash
	check 'the user' grep -q '^ada:$6$salt\$' /mnt/etc/shadow
	check 'what is needed is installed' test -x /mnt/usr/sbin/wubi-boot -a -e /mnt/usr/lib/shim/shimx64.efi.signed
	check 'what a live system needs has gone' test ! -e /mnt/usr/share/live/file
	check_equal 'its package, too' '' "$(grep -x 'Package: live-boot' /mnt/var/lib/dpkg/status)"
	check 'no service is held' test ! -e /mnt/usr/sbin/policy-rc.d
	check_equal 'the maps' 'home.map root.map swap.map' "$(cd /mnt/etc/wubi/maps && echo *)"
	check 'that of root' cmp /mnt/etc/wubi/maps/root.map /run/root.map
	check 'an initramfs' test -s "$(echo /mnt/boot/initrd.img-*)"
	on_esp ro cmp EFI/wubi/shimx64.efi /mnt/usr/lib/shim/shimx64.efi.signed && on_esp ro cmp EFI/wubi/root.map /mnt/etc/wubi/maps/root.map
	check_equal 'boot loader and map on the EFI system partition' 0 $?
	echo dear >/mnt/root/diary
}

install_it() {
	crowd_esp 20
	files=$(windows_files)
	check_status 'B07 installed, with no room for copies of the kernel' 0 wubi_install --json --home 64M --swap 16M
	check_equal 'B07 that is noted' no-copies "$(json '[.notes[].reason | select(. == "no-copies")] | unique[]')"
	check_equal 'B07 no kernel there' '' "$(on_esp ro find EFI/wubi -name 'vmlinuz*')"
	check_equal 'the files of Windows are as before' "$files" "$(windows_files)"
	check_equal 'beside them are the images' 'home.disk home.map root.disk root.map swap.disk swap.map' \
		"$(images | sed -n 's|ubuntu/disks/||p' | grep -v README | xargs)"
	check_equal 'on the EFI system partition is ours' "$(esp_tree | grep -cE ' ?\./(EFI/wubi|boot)')" \
		"$(($(esp_tree | wc -l) - $(wc -l <<<"$esp_before") - 1))" # the filler
	check_equal 'the label' wubi-root "$(label)"
	check_equal 'the order' '0000 0001' "$(variable BootOrder)"
	check_equal 'what starts next' 0001 "$(variable BootNext)"
	check_equal 'nothing stays' '' "$(leftovers)"
	check_equal 'the knobs' "$knobs_before" "$(knobs)"
	system rw installed_system || fail 'the system is attached and mounted'
	check_status 'a second run' 3 wubi_install --json
	check_equal 'a second run: why not' installed "$(json .reason)"
}

entry_alone() {
	rm "$EFIVARFS_PATH"Boot*
	cp "$WUBI_WORK"/efivars/* $EFIVARFS_PATH
	check_status 'the entry is lost: a plain run' 0 wubi_install --json
	check_equal 'the entry is lost: seen' no-entry "$(json .found)"
	check_equal 'the entry is lost: made again' 0001 "$(our_entry)"
	check_equal 'the entry is lost: nothing is copied' '' "$(grep -E '^\* (copying$|making the images)' /run/check.out)"
	system ro grep -q dear /mnt/root/diary
	check_equal 'the entry is lost: the files are as they were' 0 $?
}

blocks() { # as GRUB is told
	fact "$1" '[.extents[] | "\(.physical_sector)+\(.sectors)"] | join(",")'
}

# Into clusters that were never used: what is zeros need not be written.
move_image() {
	local runs from to count
	runs=$(python3 "$WUBI_TOP/tests/fixtures/ntfsfx.py" move $volume $image no) || return 1
	while read -r from to count; do
		dd if=$volume of=$volume bs=4M iflag=skip_bytes,count_bytes oflag=seek_bytes skip=$((from * 4096)) seek=$((to * 4096)) \
			count=$((count * 4096)) conv=notrunc,sparse,fsync status=none || return 1
	done <<<"$runs"
}

# As somebody adds them to a system without, from a live system.
add_images() {
	local name
	for name in home swap; do
		check "no $name" "$disk" remove $volume --name $name --yes
	done
	system rw sed -i '/wubi-home/d; /wubi-swap/d' /mnt/etc/fstab
	system rw rm /mnt/etc/wubi/maps/home.map /mnt/etc/wubi/maps/swap.map
	check 'a home is added' "$disk" create $volume --name home --size 64M --map /run/home.map
	check 'a swap is added' "$disk" create $volume --name swap --fs swap --size 16M
}

# Of the installed system's fstab and maps.
added() {
	echo "$(grep -o 'wubi-[hs].*' /mnt/etc/fstab | xargs), $(cd /mnt/etc/wubi/maps && echo *)"
}

fill_home() {
	"$disk" attach $volume --map /run/home.map >/dev/null && mount -t ext4 /dev/mapper/wubi-home /mnt && mkdir /mnt/ada
	umount /mnt && "$disk" detach home >/dev/null
}

fill_home_and_repair() {
	check_equal 'repaired: swap is registered, an empty home hides nothing' \
		'wubi-swap none swap sw,nofail 0 0, home.map root.map swap.map' "$(system ro added)"
	fill_home || fail 'a file in the home'
	check_status 'a home with files: repaired' 0 wubi_install --repair --json
	check_equal 'a home with files: no note' '' "$(json '.notes[].reason | select(. == "empty-home")')"
	check_equal 'a home with files: it is registered' \
		'wubi-swap none swap sw,nofail 0 0 wubi-home /home ext4 defaults,nofail 0 2, home.map root.map swap.map' "$(system ro added)"
}

repair_it() {
	local old generation
	add_images
	map_of_root
	old=$(blocks /run/root.map) generation=$(fact /run/root.map .generation)
	move_image || fail 'the image is moved'
	on_esp rw rm -rf filler EFI/wubi boot
	rm "$EFIVARFS_PATH"Boot*
	cp "$WUBI_WORK"/efivars/* $EFIVARFS_PATH
	sed '/^volume/d' /run/conf >/run/conf-any
	conf=/run/conf-any
	check_status 'moved, and no boot files: repaired' 0 wubi_install --repair --json
	check_equal 'repaired: the generation' $((generation + 1)) "$(json .root)"
	check_equal 'repaired: the empty home is noted' empty-home "$(json '.notes[].reason | select(. == "empty-home")')"
	check_equal 'repaired: the entry' 0001 "$(our_entry)"
	check_equal 'repaired: no leftovers' '' "$(leftovers)"
	map_of_root
	check 'repaired: it had been moved' test "$old" != "$(blocks /run/root.map)"
	check 'repaired: the menu finds it' on_esp ro grep -qF "$(blocks /run/root.map)" boot/grub/grub.cfg
	check 'repaired: the kernel is there as well' on_esp ro bash -c 'test -s EFI/wubi/vmlinuz-* -a -s EFI/wubi/initrd.img-*'
	system ro bash -c 'cmp /mnt/etc/wubi/maps/root.map /run/root.map && grep -q dear /mnt/root/diary'
	check_equal 'repaired: the map in the system, and its files' 0 $?
	fill_home_and_repair
	conf=/run/conf
}

incomplete() {
	"$disk" attach $volume --map /run/root.map >/dev/null && e2label /dev/mapper/wubi-root wubi-incomplete && "$disk" detach root >/dev/null
	check_status 'no repair of half a system' 3 wubi_install --repair --json
	check_equal 'no repair of half a system: why' incomplete "$(json .reason)"
}

remove_it() {
	check_status 'remove: a look' 0 wubi_install --remove --dry-run --json
	check_equal 'remove: a look names all' 'home root swap' "$(json '[.images[] | sub(".*/"; "") | sub(".disk"; "")] | sort | join(" ")')"
	check_status 'remove' 0 wubi_install --remove
	check_equal 'removed: all is as before' "$before" "$(state)"
	check_status 'removed: again' 3 wubi_install --remove --json
	check_equal 'removed: again: why not' no-image "$(json .reason)"
}

begin
before=$(state) esp_before=$(esp_tree) knobs_before=$(knobs)
check 'what is compared' grep -q holiday.jpg <<<"$before"
refusals
install_it
entry_alone
repair_it
incomplete
remove_it
finish
