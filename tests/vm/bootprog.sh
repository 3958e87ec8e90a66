#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-boot as packages' hooks run it, in a system whose root is in an image, with an EFI system partition (cases D13 D15): what is
# due is done, a second run has nothing to do, and what fails is told and remembered, but is never the package manager's failure.
# The system is this machine's /usr with loaders of its own, and an /etc and a /boot, in the image.
#
# vm-setup: truncate -s 260M d.img
# vm-setup: printf 'label: gpt\nstart=2048, size=64M, type=U\nsize=180M, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\n' | /sbin/sfdisk -q d.img
# vm-options: -d d.img -m 768M -t 300

. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/lib_system.sh"

pending=$system/var/lib/wubi/boot.pending

# In the system, the program; its output stays in /run/check.out.
boots() { # WHAT STATUS ARGUMENT...
	check_status "$1" "$2" chroot $system /usr/sbin/wubi-boot "${@:3}"
}

sums() { (cd $esp && find . -type f -exec stat -c '%n %Y %s' {} + | sort); }

first_run() {
	boots 'no ESP, as in a chroot: a hook goes on' 0 update --hook
	check_output 'no ESP: one line says so' '^wubi-boot: note: .*not mounted'
	check_equal 'no ESP: no more than that' 1 "$(wc -l </run/check.out)"
	check 'no ESP: it is remembered for the next start' grep -q 'not mounted' $pending
	boots 'no ESP: by hand it is refused' 3 update
	system_esp
	boots 'an update is due' 1 status
	boots '--dry-run' 0 update --dry-run
	check_equal '--dry-run writes nothing' '' "$(ls -A $esp)"
	boots 'a hook' 0 update --hook
	check 'a hook: what was remembered is done' test ! -e $pending
	for name in EFI/wubi/{shimx64.efi,mmx64.efi,grubx64.efi,root.map,vmlinuz-6.1.0-1-amd64,initrd.img-6.1.0-1-amd64} boot/grub/grub.cfg; do
		check "the ESP has $name" test -s "$esp/$name"
	done
	check 'the map' cmp $map $esp/EFI/wubi/root.map
	check 'the menu says where the image lies' grep -q 'loopback wroot' $esp/boot/grub/grub.cfg
	boots 'all is right' 0 status
	before=$(sums)
	boots 'again' 0 update --json
	check_output 'again: nothing to do' '"status": *"unchanged"'
	boots 'a hook with nothing to do says nothing' 0 update --hook
	check_equal 'a hook with nothing to do says nothing' '' "$(cat /run/check.out)"
	check_equal 'again: nothing is written' "$before" "$(sums)"
}

upgrades() {
	system_kernel 6.1.0-2-amd64
	boots 'a new kernel' 0 update --hook
	check 'a new kernel: its copy' cmp $system/boot/initrd.img-6.1.0-2-amd64 $esp/EFI/wubi/initrd.img-6.1.0-2-amd64
	check 'a new kernel: in the menu' grep -q 6.1.0-2-amd64 $esp/boot/grub/grub.cfg
	rm "$TREE/usr/sbin/wubi-attach"
	system_initrd 6.1.0-2-amd64
	boots 'an initramfs that would not boot' 0 update --hook
	check_output 'an initramfs that would not boot: it is told' 'note: .*6.1.0-2-amd64.*wubi-attach'
	check_equal 'an initramfs that would not boot: that of the older kernel is copied' initrd.img-6.1.0-1-amd64 \
		"$(cd $esp/EFI/wubi && echo initrd*)"
	system_kernel 6.1.0-2-amd64
	boots 'built well: it is copied' 0 update --hook
	check 'built well: it is copied' cmp $system/boot/initrd.img-6.1.0-2-amd64 $esp/EFI/wubi/initrd.img-6.1.0-2-amd64
	umount $system/usr
	echo 'two' >$system_usr/lib/shim/shimx64.efi.signed
	mount -t overlay -o lowerdir=$system_usr:/usr overlay $system/usr
	boots 'a new shim (revocation)' 0 update --hook
	check 'a new shim: on the ESP' grep -qx two $esp/EFI/wubi/shimx64.efi
}

failures() {
	cp $esp/boot/grub/grub.cfg /run/ours
	echo 'menuentry "somebody else" { true }' >$esp/boot/grub/grub.cfg
	boots "somebody's menu: the package manager goes on" 0 update --hook
	check_output "somebody's menu: it is told" 'menu'
	check_output "somebody's menu: and what becomes of it" 'next start'
	check "somebody's menu: it is remembered" test -s $pending
	check "somebody's menu: it stays" grep -q 'somebody else' $esp/boot/grub/grub.cfg
	boots "somebody's menu: by hand it is refused" 3 update --json
	check_output "somebody's menu: the reason" '"reason": *"foreign-menu"'
	cp /run/ours $esp/boot/grub/grub.cfg
	boots 'what is remembered is due' 1 status
	boots 'the next start' 0 update --hook
	check 'the next start: it is forgotten' test ! -e $pending
	boots 'the next start: all is right' 0 status
	sed "s/^id ......../id 00000000/" $map | head -n -1 >$system/etc/wubi/maps/root.map
	python3 -c 'import sys, zlib; t = open(sys.argv[1], "rb").read(); open(sys.argv[1], "ab").write(b"crc32 %08x\n" % zlib.crc32(t))' \
		$system/etc/wubi/maps/root.map
	boots "another image's map: refused" 3 update --json
	check_output "another image's map: the reason" '"reason": *"other-map"'
	cp $map $system/etc/wubi/maps/root.map
}

# GRUB reads the disk without the journal: what a hook leaves is in its place while the system runs.
flushed() {
	head -c 100000 /dev/urandom >$system/boot/new
	boots 'flush' 0 flush
	dd if=$mapper of=/run/raw iflag=direct bs=1M status=none
	check 'flush: without the journal the file is there' debugfs -R 'dump /boot/new /run/seen' /run/raw
	check 'flush: and whole' cmp $system/boot/new /run/seen
}

system_start 6.1.0-1-amd64
first_run
upgrades
failures
flushed
system_end
finish
