#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# GRUB's programs on a system whose root is in an image (case D12): grub-probe knows /dev/mapper/wubi-root, grub-mkconfig, which
# every kernel's upgrade runs, succeeds with root= as the initramfs needs it, os-prober does no harm, and not a byte of the Windows
# volume changes. The system is this machine's /usr with an /etc and a /boot of its own, in the image.
#
# vm-setup: truncate -s 200M d.img
# vm-setup: printf 'label: gpt\nstart=2048, size=180M, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\n' | /sbin/sfdisk -q d.img
# vm-options: -d d.img -m 768M -t 300

. "$(dirname "$0")/guest.sh"

disk=$WUBI_BUILD/wubi-disk
volume=/dev/ubda1
map=/run/root.map
mapper=/dev/mapper/wubi-root
kernel=6.1.0-1-amd64
system=/run/system

# All bytes of the volume outside the image, from the medium and not from a cache.
outside() {
	sync
	blockdev --flushbufs $volume
	echo 3 >/proc/sys/vm/drop_caches
	"$disk" show --map $map --json | jq -r '.extents[] | "\(.physical_sector) \(.sectors)"' | perl -e '
		my ($at, $end) = (0, 512 * pop @ARGV);
		open(my $f, "<:raw", $ARGV[0]) or die "$ARGV[0]: $!\n";
		sub copy { my ($to) = @_; while ($at < $to) {
			my $n = $to - $at > 1 << 20 ? 1 << 20 : $to - $at;
			seek($f, $at, 0) && read($f, my $b, $n) == $n or die "$ARGV[0]: $!\n";
			print $b; $at += $n; } }
		while (<STDIN>) { my ($start, $n) = split; copy(512 * $start); $at = 512 * ($start + $n); $extents++; }
		die "no extents\n" unless $extents;
		copy($end);' $volume "$(blockdev --getsz $volume)" | sha256sum
}

inside() {
	chroot "$system" /usr/bin/env LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# With a kernel and its initrd, as packages leave them, and wubi-boot among this machine's programs.
make_system() {
	local name
	mkdir -p $system /run/sbin
	check 'mount the image' mount -t ext4 $mapper $system
	mkdir -p $system/{usr,dev,proc,sys,run,tmp,boot/grub,var/lib/os-prober,etc/default/grub.d,etc/wubi/maps}
	for name in bin sbin lib lib32 lib64 libx32; do
		[ ! -L /$name ] || ln -s "usr/$name" $system/$name
	done
	cp -r /etc/grub.d $system/etc/
	cp /etc/passwd /etc/group /etc/os-release $system/etc/
	cp "$WUBI_TOP/initramfs-hook/grub/35_wubi" $system/etc/grub.d/
	cp $map $system/etc/wubi/maps/
	cp "$WUBI_BUILD/wubi-boot" /run/sbin/
	printf '%s\n' 'GRUB_DISTRIBUTOR=Debian' 'GRUB_CMDLINE_LINUX_DEFAULT=quiet' >$system/etc/default/grub
	printf '%s\n' 'GRUB_DISABLE_LINUX_UUID=true' >$system/etc/default/grub.d/wubi-boot.cfg
	echo kernel >$system/boot/vmlinuz-$kernel
	echo initrd >$system/boot/initrd.img-$kernel
	mount --bind /usr $system/usr
	check 'wubi-boot in the system' mount -t overlay -o lowerdir=/run/sbin:/usr/sbin overlay $system/usr/sbin
	mount --rbind /dev $system/dev
	mount -t proc proc $system/proc
	mount -t sysfs sysfs $system/sys
}

take_down() {
	umount -l $system/usr/sbin $system/usr $system/dev $system/proc $system/sys
	check 'unmount the image' umount $system
}

# What a kernel's upgrade depends on is the device. GRUB's programs have no name for a disk that is a part of a partition, and so the
# menu below does not search for a UUID, which a copy of the file system elsewhere has as well (D20): it stays on the disk that the
# menu of the EFI system partition has set.
probes() {
	check_status 'grub-probe: the device' 0 inside grub-probe --target=device /
	check_output 'grub-probe: the device' "^$mapper\$"
	check_status 'grub-probe: the device of /boot' 0 inside grub-probe --target=device /boot
	check_output 'grub-probe: the device of /boot' "^$mapper\$"
}

# mkconfig WHAT: exit 0, and the lines that boot.
mkconfig() {
	check_status "$1: grub-mkconfig" 0 inside grub-mkconfig -o /boot/grub/grub.cfg
	check_output "$1: it finds the kernel" "Found linux image: /boot/vmlinuz-$kernel"
	cp $system/boot/grub/grub.cfg /run/check.out
	check_output "$1: root is the mapping" "^[[:space:]]*linux[[:space:]]+/boot/vmlinuz-$kernel root=$mapper ro "
	check_equal "$1: and nothing else, but for the kernel copy" 0 \
		"$(grep -E '^\s*linux\s' /run/check.out | grep -cvE "root=$mapper ro |EFI/wubi/vmlinuz-\\\$wubi_copy \\\$wubi_cmdline\$")"
	check_output "$1: with the initrd" "^[[:space:]]*initrd[[:space:]]+/boot/initrd.img-$kernel\$"
	check_equal "$1: the disk stays the one that is set" 0 "$(grep -cE '^[^#]*(set=root|root=.?\(?hd|search .*--set=root)' /run/check.out)"
	check_output "$1: Windows is in the menu" "menuentry 'Windows'"
	check_output "$1: so is the kernel copy" 'kernel copy on the EFI system partition'
	check "$1: GRUB takes it" inside grub-script-check /boot/grub/grub.cfg
}

load_module dm_mod loop fuse overlay || fail 'load the modules'
check 'mkntfs' mkntfs -Q -q $volume
put_photo $volume 3M
check 'create' "$disk" create $volume --size 64M --map $map
before=$(outside)
check 'attach' "$disk" attach $volume --map $map
make_system
probes
mkconfig 'without os-prober'
if command -v os-prober >/dev/null; then
	echo 'GRUB_DISABLE_OS_PROBER=false' >>$system/etc/default/grub
	mkconfig 'with os-prober'
	check_equal 'with os-prober: its devices are gone' wubi-root "$(dmsetup ls | cut -f 1)"
else
	skip 'with os-prober: it is not installed here'
fi
rm $system/etc/wubi/maps/root.map
check_status 'without a map' 0 inside grub-mkconfig -o /boot/grub/grub.cfg
check_equal 'without a map: no entry of ours' 0 "$(grep -c "menuentry 'Windows'" $system/boot/grub/grub.cfg)"
echo 'export WUBI_MOVED_OUT=true' >>$system/etc/default/grub.d/wubi-boot.cfg
check_status 'moved out of the image' 0 inside grub-mkconfig -o /boot/grub/grub.cfg
check_equal 'moved out of the image: Windows has its entry' 1 "$(grep -c "menuentry 'Windows'" $system/boot/grub/grub.cfg)"
take_down
check 'detach' "$disk" detach root
check_equal 'not a byte outside the image changed' "$before" "$(outside)"
finish
