#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Moving out with a whole system: installed into an image by wubi-install, exported to a partition of the same disk, made one of its
# own by wubi-install --repair --root; what is refused before, and the way back into the image.
#
# vm-setup: . "$TESTS/vm/lib_install.sh"
# vm-setup: make_system
# vm-setup: make_disk d.img 128
# vm-setup: truncate -s +1700M d.img
# vm-setup: sfdisk -q --relocate gpt-bak-std d.img
# vm-setup: printf 'size=1600M,uuid=77777777-7777-4888-9999-aaaaaaaaaaaa\n' | sfdisk -q --append d.img
# vm-setup: make_firmware 128
# vm-options: -d d.img -m 768M -t 800

. "$(dirname "$0")/lib_installer.sh"

root=/dev/ubda3
image=/ubuntu/disks/root.disk

direct_sum() { # DEVICE: its content, past the page cache
	dd if="$1" iflag=direct bs=4M status=none | sha256sum
}

map_of() { # NAME
	ntfscat $volume "/ubuntu/disks/$1.map"
}

in_root() { # rw|ro COMMAND...: with the partition at /mnt
	local status
	mount -t ext4 -o "$1" $root /mnt || return 1
	"${@:2}"
	status=$?
	umount /mnt && return $status
}

refusals() {
	check_status 'an empty partition' 3 wubi_install --repair --root $root --json
	check_equal 'an empty partition: why' not-exported "$(json .reason)"
	check_status 'the Windows volume' 3 wubi_install --repair --root $volume --json
	check_equal 'the Windows volume: why' no-volume "$(json .reason)"
	mke2fs -q -t ext4 -L mine $root
	check_status 'another ext4' 3 wubi_install --repair --root $root --json
	check_equal 'another ext4: why' not-exported "$(json .reason)"
	e2label $root linux-incomplete
	check_status 'half a copy' 3 wubi_install --repair --root $root --json
	check_equal 'half a copy: why' incomplete "$(json .reason)"
	check_status 'without --repair' 2 "$program" --root $root
	dd if=/dev/zero of=$root bs=1M count=1 status=none
	check_equal 'nothing stays' '' "$(leftovers)"
	check_equal 'nothing is changed where it starts' "$boot_before" "$(esp_tree; firmware)"
}

export_it() {
	map_of root >/run/root.map
	before=$(direct_sum $volume)
	check_status 'exported' 0 "$disk" export $volume --map /run/root.map --to $root --json
	uuid=$(json .fs_uuid)
	check_equal 'exported: what to do next' "wubi-install --repair --root $root" "$(json .next)"
	check_equal 'exported: the volume is untouched' "$before" "$(direct_sum $volume)"
}

moved_out() {
	check 'fstab: root by its UUID' grep -qxF "UUID=$uuid / ext4 defaults,errors=remount-ro 0 1" /mnt/etc/fstab
	check 'fstab: home as it was' grep -q '^/dev/mapper/wubi-home /home ext4 ' /mnt/etc/fstab
	check_equal 'fstab: root in no image' '' "$(grep wubi-root /mnt/etc/fstab)"
	check_equal 'the maps' home.map "$(cd /mnt/etc/wubi/maps && echo *)"
	check_equal 'GRUB is not told of the image' '' "$(grep -r wubi-root /mnt/etc/default/grub.d /mnt/boot/grub)"
	check_equal 'the maps in its initramfs' home.map "$(initramfs_maps)"
	check_equal 'its menu' "root=UUID=$uuid" "$(grep -o 'root=[^ ]*' /mnt/boot/grub/grub.cfg)"
	check 'the files of its user' grep -q dear /mnt/root/diary
	check 'no service is held' test ! -e /mnt/usr/sbin/policy-rc.d
}

initramfs_maps() { # the archive that the quick update-initramfs puts behind the other
	local file size
	file=$(echo /mnt/boot/initrd.img-*) size=$(stat -c %s /mnt/usr/share/quick/initramfs)
	tail -c +$((size + 1)) "$file" | cpio -t --quiet | sed -n 's|etc/wubi/maps/\(.*\.map\)$|\1|p' | xargs
}

on_the_esp() {
	check 'the menu finds the partition' on_esp ro grep -qF "search --no-floppy --fs-uuid --set=wubi_root $uuid;" boot/grub/grub.cfg
	check_equal 'no copies of kernels, no map of root' 'grubx64.efi home.map mmx64.efi shimx64.efi' \
		"$(on_esp ro find EFI/wubi -name '*.efi' -o -name '*.map' -o -name 'vm*' -o -name 'init*' | sed 's|.*/||' | sort | xargs)"
	check_equal 'one entry' "$entry" "$(our_entry)"
	check_equal 'what starts next' "$entry" "$(variable BootNext)"
}

repair_root() {
	check_status 'a look' 0 wubi_install --repair --root $root --dry-run --json
	check_equal 'a look changes nothing' "$boot_before" "$(esp_tree; firmware)"
	check 'a look writes nothing' in_root ro grep -q '^/dev/mapper/wubi-root / ' /mnt/etc/fstab
	check_status 'made one of its own' 0 wubi_install --repair --root $root --json
	check_equal 'its entry' "$entry" "$(printf %04x "$(json .boot_entry)")"
	check_equal 'what is said of the image' image-stays "$(json '.notes[].reason')"
	check_equal 'nothing stays' '' "$(leftovers)"
	in_root ro moved_out || fail 'the partition is mounted'
	check 'e2fsck' e2fsck -fn $root
	on_the_esp
	check_equal 'the volume is untouched by it' "$before" "$(direct_sum $volume)"
	check_status 'a second run' 0 wubi_install --repair --root $root --json
	in_root ro moved_out || fail 'the partition is mounted'
	on_the_esp
}

others_leave_it_alone() {
	local menu
	menu=$(esp_tree)
	check_status 'its home is in an image: no removal' 3 wubi_install --remove --json
	check_equal 'its home is in an image: why' other-system "$(json .reason)"
	check_status 'no new system takes its place' 3 wubi_install --json
	check_equal 'it starts what it started' "$menu" "$(esp_tree)"
}

# The image, which nothing has changed, starts again; and the partition after that.
way_back() {
	check_status 'back into the image' 0 wubi_install --repair --json
	check 'back: the menu finds the image' on_esp ro grep -q 'loopback wroot' boot/grub/grub.cfg
	check 'back: its map is there' on_esp ro test -s EFI/wubi/root.map
	before=$(direct_sum $volume)
	check_status 'and out again' 0 wubi_install --repair --root $root --json
	on_the_esp
}

image_away() {
	check_status 'the image of root alone' 0 "$disk" remove $volume --image $image --yes
	check_equal 'home is still there' 'home.disk home.map' "$(images | sed -n 's|ubuntu/disks/||p' | xargs)"
	on_the_esp
}

begin
check_status 'installed' 0 wubi_install --json --home 64M
entry=$(our_entry)
map_of root >/run/root.map
check 'attach' "$disk" attach $volume --map /run/root.map
check 'mount' mount -t ext4 /dev/mapper/wubi-root /mnt
echo dear >/mnt/root/diary
check 'unmount' umount /mnt
check 'detach' "$disk" detach root
boot_before=$(esp_tree; firmware)
refusals
export_it
repair_root
others_leave_it_alone
way_back
image_away
finish
