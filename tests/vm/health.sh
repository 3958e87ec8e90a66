#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-disk status in a system whose root is in an image, with an EFI system partition: healthy, and then each thing that can be off is
# told once, with the command that mends it; that command is run, and it is healthy again. What a login shows comes and goes.
# The system is this machine's /usr with loaders of its own, and an /etc and a /boot, in the image.
#
# vm-setup: truncate -s 260M d.img
# vm-setup: printf 'label: gpt\nstart=2048, size=64M, type=U\nsize=180M, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\n' | /sbin/sfdisk -q d.img
# vm-options: -d d.img -m 768M -t 400

. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/lib_system.sh"

record=$system/run/wubi/health.txt

status() { # STATUS ARGUMENT...
	check_status "$what: exit $1" "$1" chroot $system /usr/sbin/wubi-disk status "${@:2}"
}

# told REASON COMMAND-WORDS: one line, of this reason, that names the command; the same to the journal, and at a login.
told() {
	status 3
	check_equal "$what: told once" "off ($1)" "$(grep -oE '^off \([a-z-]+\)' /run/check.out)"
	check_output "$what: what mends it" "^off .*$2"
	status 3 --json
	check_equal "$what: the reason" "off $1" "$(jq -r '[.status, .findings[].reason] | join(" ")' /run/check.out)"
	JOURNAL_STREAM=1:1 status 3 --quiet # of somebody else
	check_output "$what: an error" "^wubi-disk: status: .*$2"
	JOURNAL_STREAM=$(stat -c %d:%i /run/check.out) status 3 --quiet --record
	check_output "$what: a warning for the journal" "^<4>wubi-disk: status: .*$2"
	check_equal "$what: no more than that" 1 "$(wc -l </run/check.out)"
	check "$what: at a login" logs_in "$2"
}

logs_in() { # PATTERN: what an interactive shell shows, and a script does not
	chroot "$system" /bin/sh -i -c '. /etc/profile.d/wubi-health.sh' 2>/dev/null | grep -qE -- "$1" &&
		[ -z "$(chroot "$system" /bin/sh -c '. /etc/profile.d/wubi-health.sh' 2>&1)" ]
}

healthy() {
	status 0 --record
	check_equal "$what: the last line" healthy "$(tail -n 1 /run/check.out)"
	status 0 --quiet
	check_equal "$what: --quiet says nothing" '' "$(cat /run/check.out)"
	check "$what: nothing at a login" test ! -e $record
}

# mended COMMAND...: that makes it healthy again.
mended() {
	check "$what: $*" chroot $system "$@"
	what="$what, mended" healthy
}

all_is_well() {
	what='all is well'
	healthy
	status 0
	check_output 'the map' '^root: match, generation 1 \(1 on the EFI system partition\), on /dev/ubda2 with .* free'
	check_output 'the kernel' "^kernel $KERNEL: its initramfs has all"
	check_output 'the EFI system partition' "^/boot/efi: .*copies of kernel $KERNEL"
	status 0 --json
	check_equal 'the facts' 'healthy match 1 1 true' \
		"$(jq -r '[.status, .maps[0].verdict, .maps[0].generation, .maps[0].esp_generation, .kernels[0].right] | join(" ")' /run/check.out)"
	check_equal 'free space' "$(ntfs_free)" "$(jq .maps[0].free_bytes /run/check.out)"
}

ntfs_free() { "$disk" info $volume --json | jq .free_bytes; }

# As its unit has it: all but /run is read-only.
nothing_is_written() {
	what='with nothing to write to'
	# shellcheck disable=SC2016 # the inner shell's
	check "$what: healthy" unshare --mount --propagation private sh -c 'for at in "$1/boot" "$1/etc" "$1/boot/efi"; do
		mount --rbind "$at" "$at" && mount -o remount,bind,ro "$at" || exit 9; done
		! touch "$1/etc/x" "$1/boot/efi/x" 2>/dev/null && exec chroot "$1" /usr/sbin/wubi-disk status --record' sh "$system"
}

stale_map_on_esp() {
	what='an old map on the ESP'
	sed 's/^generation .*/generation 7/' $esp/EFI/wubi/root.map | seal >/run/old.map
	cp /run/old.map $esp/EFI/wubi/root.map
	told esp-map 'generation 7.*wubi-boot update'
	mended /usr/sbin/wubi-boot update
}

seal() { # the checksum at a map's end, anew
	head -n -1 | python3 -c 'import sys, zlib; t = sys.stdin.buffer.read(); sys.stdout.buffer.write(t + b"crc32 %08x\n" % zlib.crc32(t))'
}

missing_copy() {
	what='a kernel copy is missing on the ESP'
	rm "$esp/EFI/wubi/vmlinuz-$KERNEL"
	told esp-due "vmlinuz-$KERNEL', .*is missing; .*wubi-boot update"
	mended /usr/sbin/wubi-boot update
}

corrupt_map() {
	what='a damaged map'
	sed -i 's/^size_bytes ./size_bytes 9/' $system/etc/wubi/maps/root.map
	told invalid-map 'cp /boot/efi/EFI/wubi/root.map /etc/wubi/maps/root.map'
	mended cp /boot/efi/EFI/wubi/root.map /etc/wubi/maps/root.map
}

bad_initramfs() {
	what='an initramfs without wubi-attach'
	cp "$system/boot/initrd.img-$KERNEL" /run/good
	mv "$TREE/usr/sbin/wubi-attach" /run/attach
	system_initrd "$KERNEL"
	status 3
	check_output "$what: what mends it" "^off \(initramfs\): .*$KERNEL: .*run 'update-initramfs -u -k $KERNEL'"
	mv /run/attach "$TREE/usr/sbin/wubi-attach"
	cp /run/good "$system/boot/initrd.img-$KERNEL"
	what="$what, mended" healthy
}

not_attached() {
	what='home was refused at boot'
	sed "s/^name root/name home/; s/^id ......../id 00000000/" $map | seal >$system/etc/wubi/maps/home.map
	cp $system/etc/wubi/maps/home.map $esp/EFI/wubi/
	cp $system/etc/wubi/maps/home.map "$TREE/etc/wubi/maps/"
	system_initrd "$KERNEL"
	chroot $system /usr/sbin/wubi-boot update >/run/check.out 2>&1 || fail 'wubi-boot update' "$(cat /run/check.out)"
	told not-attached 'home.*boot.log'
	rm $system/etc/wubi/maps/home.map $esp/EFI/wubi/home.map "$TREE/etc/wubi/maps/home.map"
	system_initrd "$KERNEL"
	mended /usr/sbin/wubi-boot update
}

unfinished() {
	what='an initramfs that was not built with new maps'
	mkdir -p $system/var/lib/wubi
	echo 1 >$system/var/lib/wubi/map-refresh.unfinished
	told map-unfinished wubi-map-refresh
	rm $system/var/lib/wubi/map-refresh.unfinished
	echo 'no room' >$system/var/lib/wubi/boot.pending
	what='a run of wubi-boot that failed'
	told boot-pending 'no room.*wubi-boot update'
	mended /usr/sbin/wubi-boot update
}

# Windows' files are cut out of what the system sees: they are put there as Windows would, past the claim.
full_host() {
	what='the host is full'
	set_free 100
	told host-full '/dev/ubda2.*cleanmgr'
	set_free 0
	what="$what, mended" healthy
}

# 0: as it was. Of the free clusters of $Bitmap so many stay free; what the kernel has cached of the partition is old then, and not asked.
set_free() {
	python3 - "$WUBI_TOP/tests/fixtures" $volume "$1" <<-'EOP' || fail 'change $Bitmap'
		import sys, os, pickle
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		left = int(sys.argv[3])
		v = ntfsfx.vol(sys.argv[2])
		bits = v.bitmap()
		if left:
		    pickle.dump(bytes(bits), open('/run/bitmap', 'wb'))
		    for lcn, count in list(v.free_runs(bits)):
		        keep = min(left, count)
		        left -= keep
		        v.set_bits(bits, lcn + keep, count - keep)
		else:
		    bits = bytearray(pickle.load(open('/run/bitmap', 'rb')))
		v.write_bitmap(bits)
	EOP
	sync
}

cannot_tell() {
	what='the ESP is not mounted'
	umount $esp
	told no-esp 'mount it.*wubi-boot update'
	system_esp
	what='a record of the past'
	echo old >$record
	healthy
}

# What builds an initramfs is only named here.
mkdir -p $system_usr/{sbin,lib/modules/$KERNEL}
echo 'exit 1' >$system_usr/sbin/update-initramfs
chmod +x $system_usr/sbin/update-initramfs
system_programs+=(wubi-disk)
system_start "$KERNEL"
system_esp
mkdir -p $system/etc/profile.d
cp "$WUBI_TOP/initramfs-hook/profile.d/wubi-health.sh" $system/etc/profile.d/
check 'wubi-boot update' chroot $system /usr/sbin/wubi-boot update
all_is_well
nothing_is_written
stale_map_on_esp
missing_copy
corrupt_map
bad_initramfs
not_attached
unfinished
full_host
cannot_tell
system_end
finish
