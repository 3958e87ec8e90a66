# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the vm-setup lines of the guest scripts that run wubi-install, on the host: . "$TESTS/vm/lib_install.sh"
# Makes system.squashfs, a small live system of a real Debian; packages/, what its installation needs; disk images.

# shellcheck disable=SC1091 # its path is known when it runs
. "$TESTS/vm/lib_volumes.sh"

# Without what a guest would only copy.
strip_root() { # FOLDER
	local modules
	modules=$(echo "$PWD/$1"/usr/lib/modules/*)
	(
		cd "$1" || exit
		mkdir kept
		for module in drivers/md/dm-mod.ko lib/crc16.ko crypto/crc32c_generic.ko fs/mbcache.ko fs/jbd2/jbd2.ko fs/ext4/ext4.ko; do
			mkdir -p "kept/$(dirname $module)"
			cp "$modules/kernel/$module" "kept/$module"
		done
		rm -rf "$modules/kernel" usr/lib/x86_64-linux-gnu/{perl,gconv,libperl*} usr/share/{perl,locale,i18n,bash-completion} \
			usr/lib/udev/hwdb.* usr/share/{lintian,bug,zsh,doc,man,info} var/cache/* var/lib/apt/lists/* boot/System.map-*
		find usr/share/zoneinfo -type f ! -path '*/Europe/Berlin' -delete
		mkdir -p var/cache/apt/archives/partial var/lib/apt/lists/partial
		mv kept "$modules/kernel"
	)
	: >"$modules/modules.order"
	depmod -b "$1" "${modules##*/}"
	printf 'MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n' >"$1/etc/initramfs-tools/conf.d/quick"
}

# A real initramfs takes a guest more than a minute: here it is made once, without the maps, and the guest's update-initramfs adds
# them behind it, as an archive of its own. deb-systemd-helper is slow as well.
quick_initramfs() { # FOLDER
	local version
	version=$(basename "$1"/usr/lib/modules/*)
	cp -a "$1" base
	dpkg --root=base -i packages/wubi-tools_*.deb
	mkdir -p base/etc/wubi/maps
	cp map.root base/etc/wubi/maps/root.map
	mount --bind /dev base/dev
	chroot base update-initramfs -c -k "$version" || { umount base/dev; return 1; }
	umount base/dev
	mkdir "$1/usr/share/quick" tree
	(cd tree && unmkinitramfs "../base/boot/initrd.img-$version" . && rm -r etc/wubi/maps && find . | cpio -o -H newc --quiet) |
		zstd -q -1 >"$1/usr/share/quick/initramfs"
	truncate -s %4 "$1/usr/share/quick/initramfs" # where the kernel looks for another archive
	printf '%s\n' '#!/bin/sh' '[ "$1 $2" = "-c -k" ] || exit 0' 'echo "update-initramfs: Generating /boot/initrd.img-$3"' \
		'{ cat /usr/share/quick/initramfs && find etc/wubi/maps | cpio -o -H newc --quiet; } >"/boot/initrd.img-$3"' \
		>"$1/usr/sbin/update-initramfs"
	printf '%s\n' '#!/bin/sh' 'while [ "$#" -gt 0 ] && [ "$1" != -o ]; do shift; done' \
		'cat /usr/share/quick/initramfs >"${2:-/dev/stdout}"' >"$1/usr/sbin/mkinitramfs"
	printf '#!/bin/sh\n' >"$1/usr/bin/deb-systemd-helper"
	rm -rf base tree
}

# deb NAME FOLDER DEPENDS: what is in a folder as a package
deb() {
	mkdir -p "$2/DEBIAN"
	printf '%s\n' "Package: $1" 'Version: 1' 'Architecture: amd64' 'Maintainer: nobody <nobody@example.org>' 'Installed-Size: 100' \
		${3:+"Depends: $3"} 'Description: stands in for the real one' >"$2/DEBIAN/control"
	dpkg-deb -b "$2" "packages/$1.deb" >/dev/null
}

# The real ones are a matter of the tests in QEMU.
make_packages() {
	mkdir -p packages shim/usr/lib/shim signed/usr/lib/grub/x86_64-efi-signed bin/usr/share/bin common/usr/sbin manager/usr/share/manager \
		live/usr/share/live
	cp "$BUILD"/deb/wubi-tools_*.deb packages/
	head -c 900K /dev/urandom >shim/usr/lib/shim/shimx64.efi.signed
	head -c 800K /dev/urandom >shim/usr/lib/shim/mmx64.efi.signed
	head -c 2M /dev/urandom >signed/usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed
	printf '%s\n' '#!/bin/sh' 'set -e; . /etc/default/grub.d/wubi-boot.cfg; cd /boot; ls initrd.img-* >/dev/null' \
		'root=${GRUB_DEVICE:-UUID=$(blkid -p -o value -s UUID "$(findmnt -n -o SOURCE /)")}' \
		'echo "linux $(ls /boot/vmlinuz-* | tail -n 1) root=$root ro quiet" >/boot/grub/grub.cfg' >common/usr/sbin/update-grub
	chmod 755 common/usr/sbin/update-grub
	deb shim-signed shim grub2-common
	deb grub-efi-amd64-signed signed
	deb grub-efi-amd64-bin bin
	deb grub2-common common
	deb efibootmgr manager
	echo "it is" >live/usr/share/live/file
	deb live-boot live
	mv packages/live-boot.deb .
}

make_system() {
	local tar
	tar=$("$TESTS/boot/roots" bookworm-initramfs)
	mkdir root
	tar -x -I zstd -C root --numeric-owner -f "$tar"
	strip_root root
	make_packages
	mkvol any.img 32M
	wubi-disk create any.img --size 8M --map map.root --quiet
	quick_initramfs root
	rm root/usr/lib/x86_64-linux-gnu/libicudata.so.*
	dpkg --root=root --force-script-chrootless -i live-boot.deb
	mksquashfs root system.squashfs -quiet -no-progress -comp gzip -Xcompression-level 1
	rm -rf root any.img map.root
}

# put_data FROM TO MIB: what is no hole of a file, at that place of another
put_data() {
	python3 -c '
import os, sys
source, target, at, end = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_WRONLY), int(sys.argv[3]) << 20, 0
while True:
    try:
        start = os.lseek(source, end, os.SEEK_DATA)
    except OSError:
        break
    end = os.lseek(source, start, os.SEEK_HOLE)
    for i in range(start, end, 1 << 20):
        os.pwrite(target, os.pread(source, min(1 << 20, end - i), i), at + i)
' "$@"
}

# A disk with an EFI system partition of so many MiB, and an NTFS volume with files in it.
make_disk() { # FILE ESP-MIB
	local esp=$(($2 * 2048)) volume=$((4096 * 2048))
	truncate -s $((esp * 512)) esp.img
	mkfs.vfat -n ESP esp.img >/dev/null
	mmd -i esp.img ::EFI ::EFI/Microsoft ::EFI/Microsoft/Boot
	head -c 300K /dev/urandom | mcopy -i esp.img - ::EFI/Microsoft/Boot/bootmgfw.efi
	mkvol volume.img $((volume * 512)) -L Windows
	in_linux volume.img 'mkdir -p Users/ada Windows/System32; head -c 3M /dev/urandom >Users/ada/holiday.jpg
		head -c 1M /dev/urandom >Windows/System32/ntdll.dll; echo hello >Users/ada/letter.txt'
	rm -f "$1"
	truncate -s $(((2048 + esp + volume + 2048) * 512)) "$1"
	printf 'label: gpt\n%s\n%s\n' "start=2048,size=$esp,type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B,uuid=$esp_uuid" \
		"start=$((2048 + esp)),size=$volume,type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7,uuid=$volume_uuid" | sfdisk -q "$1"
	dd if=esp.img of="$1" bs=1M seek=1 conv=notrunc,sparse status=none
	put_data volume.img "$1" $((1 + $2))
	rm esp.img volume.img
}
esp_uuid=11111111-2222-4333-8444-555555555555
volume_uuid=66666666-7777-4888-9999-aaaaaaaaaaaa

# The firmware's variables of a machine with Windows alone, as files: efivars/.
make_firmware() {
	mkdir efivars
	ESP=$esp_uuid MIB=$1 python3 -c '
import os, struct, uuid
name = "efivars/%s-8be4df61-93ca-11d2-aa0d-00e098032b8c"
path = "\\EFI\\Microsoft\\Boot\\bootmgfw.efi\0".encode("utf-16-le")
nodes = struct.pack("<BBHIQQ16sBB", 4, 1, 42, 1, 2048, int(os.environ["MIB"]) * 2048, uuid.UUID(os.environ["ESP"]).bytes_le, 2, 2)
nodes += struct.pack("<BBH", 4, 4, 4 + len(path)) + path + bytes((0x7f, 0xff, 4, 0))
option = struct.pack("<IH", 1, len(nodes)) + "Windows Boot Manager\0".encode("utf-16-le") + nodes
for variable, value in (("Boot0000", option), ("BootOrder", bytes(2)), ("BootCurrent", bytes(2))):
    with open(name % variable, "wb") as f:
        f.write(struct.pack("<I", 7 if variable != "BootCurrent" else 6) + value)
'
}
