#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a chroot with a Debian, the package, and a map in /tmp/root.map; there is no /sys. Builds initramfs images with each thing
# missing in turn. A line a step: "ok - WHAT" or "not ok - WHAT", with what the build printed; /root/initrd.* are the good ones.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
kernel=$(ls /lib/modules)
modules=/lib/modules/$kernel
initrd=/boot/initrd.img-$kernel
log=/tmp/build.log
triplet=$(cd /usr/lib && echo *-linux-gnu)

step() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@"; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		tail -n 20 "$log"
	fi
}

# Few modules, little compression: what is looked at here is ours. The boot tests build as users do.
quick() {
	if [ -d /etc/initramfs-tools ]; then
		printf '%s\n' MODULES=list COMPRESS=zstd COMPRESSLEVEL=1 >/etc/initramfs-tools/conf.d/test
	else
		echo 'compress=cat do_strip=no do_hardlink=no early_microcode=no' >/etc/dracut.conf.d/test.conf
		echo 'omit_dracutmodules+=" kernel-modules kernel-modules-extra i18n drm btrfs nvdimm qemu usrmount shutdown "' \
			>>/etc/dracut.conf.d/test.conf
	fi
}

without_systemd() { # dracut alone
	echo 'dracutmodules=" base udev-rules rootfs-block wubi "' >>/etc/dracut.conf.d/test.conf # what is named has to be there
}

build() {
	if [ -x /usr/bin/dracut ]; then
		dracut -q "$@" --force "$initrd" "$kernel" >"$log" 2>&1
	else
		update-initramfs -u -k "$kernel" >"$log" 2>&1
	fi
}

listing() {
	if [ -x /usr/bin/dracut ]; then
		lsinitrd "$initrd" | awk '/^[-ldcb][-r]/ { print $9 }'
	else
		lsinitramfs "$initrd"
	fi | sort
}

good() { build "$@" && wubi-initrd check "$initrd" --kernel "$kernel" >>"$log" 2>&1; }

# fails WORDS: the build ends with our message, and the image that was there is as it was, byte for byte; nothing lies about.
fails() {
	local before
	before=$(sha256sum <"$initrd")
	if build; then
		echo 'the build did not fail' >>"$log"
		return 1
	fi
	grep -qE "wubi-initrd: check: .*$1" "$log" && [ "$(sha256sum <"$initrd")" = "$before" ] && [ ! -e "$initrd.new" ] &&
		[ -z "$(find /var/tmp -mindepth 1 -name '*initramfs*' -o -name 'dracut*' | head -n 1)" ]
}

# lacking WHAT WORDS FILE...: without the files the build fails, and with them it works again.
lacking() {
	local what=$1 words=$2 file
	shift 2
	for file in "$@"; do mv "$file" "$file.away"; done
	step "$what missing: the build fails, the old image stays" fails "$words"
	for file in "$@"; do mv "$file.away" "$file"; done
}

has() { listing | grep -E "$1" >>"$log"; } # PATTERN
nothing_there() { has 'lib/modules/' && ! has '[Ww]ubi'; } # the first: a listing that shows nothing says nothing
nothing_new() { # the files that came with the map: none of FUSE, loop or ntfs-3g's programs
	comm -13 /root/initrd.without /root/initrd.with | grep -q 'usr/sbin/wubi-attach$' &&
		! comm -13 /root/initrd.without /root/initrd.with | grep -iE 'fuse|/loop|ntfs3|mount.ntfs|bin/ntfs|/ntfs.*[.]ko' >>"$log"
}

# kernel_hook STATUS WORDS [NAME=VALUE...]: the hook that a kernel package calls with the image as it is says and does so, and
# leaves it as it is. dpkg gives it DEB_MAINT_PARAMS.
kernel_hook() {
	local status=$1 words=$2 got=0 before
	shift 2
	before=$(sha256sum <"$initrd")
	env "$@" /etc/kernel/postinst.d/zy-wubi "$kernel" "/boot/vmlinuz-$kernel" >"$log" 2>&1 || got=$?
	echo "status $got" >>"$log"
	[ "$got" = "$status" ] && grep -q -- "$words" "$log" && [ "$(sha256sum <"$initrd")" = "$before" ]
}

kernel_hooks() { # what they make of an image that is good, lacks something, cannot be told about, is not there, is elsewhere
	cp "$initrd" /tmp/good
	step 'kernel hook: a good image' kernel_hook 0 '^status'
	cp /root/without "$initrd"
	step 'kernel hook: an image without us stops the kernel' kernel_hook 3 "'dpkg --configure -a'" DEB_MAINT_PARAMS='configure 6.1'
	step 'kernel hook: it names what is missing' kernel_hook 3 "'wubi-attach' is not in it"
	step 'kernel hook: nothing when a package is removed' kernel_hook 0 '^status' DEB_MAINT_PARAMS='abort-upgrade 6.1'
	step 'kernel hook: nothing without an initrd' kernel_hook 0 '^status' INITRD=No
	mkdir -p /tmp/boot
	cp /tmp/good "/tmp/boot/initrd.img-$kernel"
	step 'kernel hook: the initrd beside the kernel' /etc/kernel/postinst.d/zy-wubi "$kernel" "/tmp/boot/vmlinuz-$kernel"
	rm "/tmp/boot/initrd.img-$kernel"
	step 'kernel hook: none beside the kernel' /etc/kernel/postinst.d/zy-wubi "$kernel" "/tmp/boot/vmlinuz-$kernel"
	printf '\x89LZO\x00\r\n\x1a\n and more' >"$initrd"
	step 'kernel hook: lzop stops no kernel' kernel_hook 0 lzop
	step 'post-update hook: lzop stops nothing' /etc/initramfs/post-update.d/zy-wubi "$kernel" "$initrd"
	cp /root/without "$initrd"
	step 'post-update hook: an image without us' post_update_fails
	cp /tmp/good "$initrd"
}

post_update_fails() { ! /etc/initramfs/post-update.d/zy-wubi "$kernel" "$initrd" >"$log" 2>&1 && grep -q 'wubi-attach' "$log"; }

quick
step 'no map: the build works' build
cp "$initrd" /root/without
step 'no map: nothing of ours is in it' nothing_there
listing >/root/initrd.without
mkdir -p /etc/wubi/maps
cp /tmp/root.map /etc/wubi/maps/
step 'a map: the build works, the check passes' good
listing >/root/initrd.with
step 'no FUSE, loop or ntfs-3g in it for us' nothing_new
cp "$initrd" /root/initrd
step 'F09 the programs that check the file system are in it' has 'sbin/fsck.ext4$'
kernel_hooks

lacking module "'dm_mod'" "$(find "$modules" -name 'dm-mod.ko*')"
lacking program "'wubi-attach' is not in it" /usr/sbin/wubi-attach
lacking library 'libntfs-3g' "/usr/lib/$triplet/libntfs-3g.so.89"
mkdir -p /tmp/hooks
mv /usr/share/initramfs-tools/hooks/dmsetup /tmp/hooks/ 2>/dev/null # it would fail first, without a word
lacking rule '55-dm.rules' /usr/lib/udev/rules.d/55-dm.rules
lacking rule '95-dm-notify.rules' /usr/lib/udev/rules.d/95-dm-notify.rules
lacking dmsetup "'dmsetup' is not in it" /usr/sbin/dmsetup
mv /usr/sbin/fsck.ext4 /usr/sbin/fsck.ext4.away
step 'a system without fsck.ext4: the build works' good
mv /usr/sbin/fsck.ext4.away /usr/sbin/fsck.ext4
echo x >>/etc/wubi/maps/root.map
step 'map damaged: the build fails, the old image stays' fails "root.map"
rm /etc/wubi/maps/root.map
echo '/dev/mapper/wubi-root / ext4 defaults 0 1' >/etc/fstab
step 'map missing, root in an image: the build fails, the old image stays' fails 'no map'
sed -e 's/^name root$/name home/' -e '$d' /tmp/root.map >/etc/wubi/maps/home.map
printf 'crc32 %s\n' "$(gzip -c /etc/wubi/maps/home.map | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')" >>/etc/wubi/maps/home.map
step "another map beside it does not help: the build fails, the old image stays" fails "no map of that in"
rm /etc/wubi/maps/home.map
cp /tmp/root.map /etc/wubi/maps/
find "$modules" \( -name 'ntfs3.ko*' -o -name 'fuse.ko*' -o -name 'loop.ko*' \) -delete
step "all of it back: the build works, the check passes; with no dmsetup hook, no ntfs3, FUSE and loop in the kernel" good
if [ -x /usr/bin/dracut ]; then
	step 'host-only, in a chroot without /sys; dm left out by the administrator' good --hostonly --omit dm
	without_systemd
	step 'without systemd' good
	cp "$initrd" /root/initrd.nosystemd
fi
echo 'ok - all steps were made'
