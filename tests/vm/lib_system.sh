# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For guest scripts that need a system whose root is in an image, with an EFI system partition: . "$(dirname "$0")/lib_system.sh"
# after guest.sh. The system is this machine's /usr with our programs and loaders of its own, and an /etc and a /boot, in the image. A
# script's disk has the partitions of '# vm-setup' in bootprog.sh.

BUILD=$WUBI_BUILD
. "$(dirname "$0")/../cli/lib_initrd.bash"

disk=$WUBI_BUILD/wubi-disk
volume=/dev/ubda2
map=/run/root.map
mapper=/dev/mapper/wubi-root
system=/run/system
esp=$system/boot/efi
system_usr=/run/usr # what lies over this machine's /usr; filled before system_start
system_programs=(wubi-boot)

# An initramfs that would boot, which is looked at.
system_kernel() { # VERSION
	KERNEL=$1 TREE=/run/tree-$1
	head -c 300000 /dev/urandom >$system/boot/vmlinuz-"$1"
	mkdir -p "$TREE/etc/wubi/maps"
	cp $map "$TREE/etc/wubi/maps/"
	fill_tree
	system_initrd "$1"
}

system_initrd() { # VERSION
	python3 "$WUBI_TOP/tests/fixtures/cpiofx.py" "/run/tree-$1" | gzip -1 >$system/boot/initrd.img-"$1"
}

system_esp() {
	check 'mount the ESP' mount -t vfat -o iocharset=ascii /dev/ubda1 $esp
}

# KERNEL: the first one.
system_start() { # KERNEL
	local name
	load_module dm_mod loop overlay vfat || fail 'load the modules'
	for name in ascii cp437; do # names with a _ in them
		insert_module "/usr/lib/uml/modules/$(uname -r)/kernel/fs/nls/nls_$name.ko" || fail "load nls_$name"
	done
	check 'mkfs.vfat' mkfs.vfat -F 32 /dev/ubda1
	check 'mkntfs' mkntfs -Q -q $volume
	check 'create' "$disk" create $volume --size 64M --map $map
	check 'attach' "$disk" attach $volume --map $map
	mkdir -p $system $system_usr/{sbin,lib/shim,lib/grub/x86_64-efi-signed}
	for name in "${system_programs[@]}"; do cp "$WUBI_BUILD/$name" $system_usr/sbin/; done
	for name in shim/shimx64.efi shim/mmx64.efi grub/x86_64-efi-signed/gcdx64.efi; do
		echo "one $name" >$system_usr/lib/$name.signed
	done
	check 'mount the image' mount -t ext4 $mapper $system
	mkdir -p $system/{usr,dev,proc,sys,run,tmp,var/tmp,boot/grub,boot/efi,etc/wubi/maps}
	for name in bin sbin lib lib64; do ln -s usr/$name $system/$name; done
	cp /etc/os-release $system/etc/
	cp $map $system/etc/wubi/maps/
	system_kernel "$1"
	echo "menuentry 'Debian' { linux /boot/vmlinuz-$1 root=$mapper ro quiet }" >$system/boot/grub/grub.cfg
	check 'the system of programs' mount -t overlay -o lowerdir=$system_usr:/usr overlay $system/usr
	mount --rbind /dev $system/dev
	mount -t proc proc $system/proc
	mount -t sysfs sysfs $system/sys
	mount -t tmpfs tmpfs $system/run
}

system_end() {
	umount -l $esp $system/usr $system/dev $system/proc $system/sys $system/run
	check 'unmount the image' umount $system
	check 'detach' "$disk" detach root
}
