#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wubi-initrd check: every lack in an image and in a tree, in every compression; what is hostile or cut; needed.

load ../lib.sh
load lib_initrd.bash

# missing REASON WORDS PATH...: without these files the check says so, of the tree and of the image; they are put back.
missing() {
	local reason=$1 words=$2 path
	shift 2
	for path in "$@"; do mkdir -p "$T/away/$(dirname "$path")" && mv "$TREE/$path" "$T/away/$path"; done
	mkimage "${COMPRESS[@]}"
	lacks_in "$reason" "$words" "$T/initrd"
	lacks_in "$reason" "$words" --tree "$TREE" --kernel "$KERNEL"
	for path in "$@"; do mv "$T/away/$path" "$TREE/$path"; done
}

every_lack() { # COMPRESSION...: each thing in turn
	local library
	COMPRESS=("$@")
	library=$(cd "$TREE" && find . -name 'libdevmapper.so*' | head -n 1)
	missing no-program "'wubi-attach' is not in it" usr/sbin/wubi-attach
	missing no-program "'dmsetup' is not in it" sbin/dmsetup
	missing no-fsck "'fsck' is not in it" sbin/fsck
	missing no-fsck "'fsck.ext4' is not in it" sbin/fsck.ext4
	missing no-fsck "'logsave' is not in it" sbin/logsave
	missing no-library "libdevmapper.so.*'/usr/sbin/wubi-attach' needs" "$library"
	missing no-library 'ld-linux' "$(cd "$TREE" && echo lib64/ld-linux*)"
	missing no-module "'dm_mod'.* is neither" "lib/modules/$KERNEL/kernel/drivers/md/dm-mod.ko"
	missing no-module "'dax'.*needs" "lib/modules/$KERNEL/kernel/drivers/dax/dax.ko"
	missing no-rule "55-dm.rules" lib/udev/rules.d/55-dm.rules
	missing no-rule "95-dm-notify.rules" lib/udev/rules.d/95-dm-notify.rules
	missing no-map "root.map' is not in it" etc/wubi/maps/root.map
	missing no-hook "neither .*local-top/wubi" scripts/local-top/wubi
}

@test "D03 D01 each lack is found: plain image and tree" {
	mktree
	mkimage
	complete "$T/initrd"
	eq "$out" "$T/initrd: has all that it takes to boot from an image (kernel $KERNEL, maps: 1)"
	complete --tree "$TREE" --kernel "$KERNEL" --quiet
	eq "$out" ''
	every_lack
}

@test "D03 D01 each lack is found: gzip, merged /usr" {
	mktree merged
	mkimage gzip -1
	complete "$T/initrd" --json
	eq "$(json '[.kernel, .maps, .findings[]] | join(" ")')" "$KERNEL 1"
	every_lack gzip -1
}

@test "D03 xz, zstd, lz4, bzip2 and lzma images: complete, and a lack is found" {
	mktree
	for c in 'xz -0 --check=crc32' 'zstd -q -1' 'lz4 -q -1 -l' 'lz4 -q -1' 'bzip2 -1' 'lzma -0'; do
		read -r -a compress <<<"$c"
		requires "${compress[0]}"
		mkimage "${compress[@]}"
		complete "$T/initrd"
		mv "$TREE/lib/udev/rules.d/95-dm-notify.rules" "$T/"
		mkimage "${compress[@]}"
		lacks_in no-rule notify "$T/initrd"
		mv "$T/95-dm-notify.rules" "$TREE/lib/udev/rules.d/"
	done
}

@test "D03 several archives behind each other: microcode in front, zeros between, plain and compressed in any order" {
	mktree
	mkdir -p "$T/early/kernel/x86/microcode"
	head -c 5000 /dev/urandom >"$T/early/kernel/x86/microcode/GenuineIntel.bin"
	cpio_of "$T/early" >"$T/early.cpio"
	(cd "$TREE" && find . -name '*.ko' -o -name '*.map') | sed 's,^\./,,' >"$T/plain"
	xargs "$PY" "$TESTS_DIR/fixtures/cpiofx.py" "$TREE" <"$T/plain" >"$T/plain.cpio"
	while read -r f; do rm "$TREE/$f"; done <"$T/plain"
	cpio_of "$TREE" >"$T/rest.cpio"
	for c in 'xz -0 --check=crc32' 'zstd -q -1' 'gzip -1' 'lz4 -q -1 -l'; do
		{ cat "$T/early.cpio"; head -c 1524 /dev/zero; cat "$T/plain.cpio"; $c <"$T/rest.cpio"; head -c 512 /dev/zero; } >"$T/initrd"
		complete "$T/initrd"
		{ cat "$T/early.cpio"; $c <"$T/rest.cpio"; } >"$T/initrd"
		lacks_in 'no-map no-module' 'dm_mod' "$T/initrd"
	done
	for c in 'zstd -q -1' 'gzip -1'; do
		{ $c <"$T/rest.cpio"; head -c 8 /dev/zero; gzip -1 <"$T/plain.cpio"; } >"$T/initrd"
		complete "$T/initrd"
	done
	cat "$T/rest.cpio" "$T/plain.cpio" | gzip -1 >"$T/initrd"
	complete "$T/initrd"
}

@test "D03 hard links: the content comes with the last name" {
	mktree
	library=$(find "$TREE" -name 'libdevmapper.so*' | head -n 1)
	ln "$library" "$TREE/another.so"
	ln "$TREE/usr/sbin/wubi-attach" "$TREE/usr/sbin/zzz"
	ln "$TREE/etc/wubi/maps/root.map" "$TREE/etc/wubi/maps.copy"
	mkimage gzip -1
	complete "$T/initrd"
}

@test "D03 three names of one file: it counts whichever of them we ask for" {
	mktree
	folder=$TREE/etc/wubi/maps
	for names in '000 zzz' 'aaa.x bbb.x' 'yyy.x zzz.x'; do # of the other two, before it and behind it
		for name in $names; do ln "$folder/root.map" "$folder/$name"; done
		mkimage gzip -1
		complete "$T/initrd"
		for name in $names; do rm "$folder/$name"; done
	done
}

@test "D01 compressed modules, dm built in, modules.dep" {
	mktree
	folder=$TREE/lib/modules/$KERNEL
	for suffix in xz zst gz; do # modprobe opens the file that the list names, and no other
		module=$folder/kernel/drivers/md/dm-mod.ko
		mv "$module" "$module.$suffix"
		mkimage
		lacks_in no-module "'kernel/drivers/md/dm-mod.ko', which 'modules.dep'.*is not in it" "$T/initrd"
		complete --tree "$TREE" --kernel "$KERNEL"
		sed -i "s/dm-mod.ko:/dm-mod.ko.$suffix:/" "$folder/modules.dep"
		mkimage
		complete "$T/initrd"
		mv "$module.$suffix" "$module"
		mkimage
		lacks_in no-module "'kernel/drivers/md/dm-mod.ko.$suffix', which" "$T/initrd"
		sed -i "s/dm-mod.ko.$suffix:/dm-mod.ko:/" "$folder/modules.dep"
		sed -i "s/dax.ko/dax.ko.$suffix/" "$folder/modules.dep"
		mkimage
		lacks_in no-module "'dax', which 'dm_mod' needs" "$T/initrd"
		complete --tree "$TREE" --kernel "$KERNEL"
		sed -i "s/dax.ko.$suffix/dax.ko/" "$folder/modules.dep"
	done
	mv "$folder/modules.dep" "$T/"
	mkimage
	lacks_in no-module depmod "$T/initrd"
	mv "$T/modules.dep" "$folder/"
	: >"$folder/kernel/drivers/md/dm-mod.ko"
	mkimage
	lacks_in no-module neither "$T/initrd"
	rm -r "$folder/kernel/drivers/md" "$folder/modules.dep"
	echo kernel/drivers/md/dm-mod.ko >>"$folder/modules.builtin"
	mkimage
	complete "$T/initrd"
	mkdir -p "$TREE/lib/modules/6.2.0-other/kernel"
	put lib/modules/6.2.0-other/modules.builtin
	mkimage
	wi check "$T/initrd"
	status_is 2
	has "$err" '--kernel'
	complete "$T/initrd" --kernel "$KERNEL"
	lacks_in no-module 'neither' "$T/initrd" --kernel 6.2.0-other
}

@test "D03 a stale map, one too many, a damaged one, none at all" {
	mktree
	mapfx set-value "$TREE/etc/wubi/maps/root.map" generation 7
	mkimage
	lacks_in stale-map 'differs' "$T/initrd"
	cp "$MAPS/root.map" "$TREE/etc/wubi/maps/"
	cp "$MAPS/root.map" "$TREE/etc/wubi/maps/gone.map"
	mkimage
	lacks_in stale-map 'gone.map.*no more' "$T/initrd"
	rm "$TREE/etc/wubi/maps/gone.map"
	echo x >>"$MAPS/root.map"
	mkimage
	lacks_in invalid-map 'root.map' "$T/initrd"
	rm "$MAPS/root.map" "$TREE/etc/wubi/maps/root.map"
	mkimage
	lacks_in no-map 'wubi-disk map' "$T/initrd"
}

@test "D05 root's own map: another map beside it is not enough" {
	mktree
	echo '/dev/mapper/wubi-root / ext4 defaults 0 1' >"$T/fstab"
	mkimage
	complete "$T/initrd" --fstab "$T/fstab"
	mapfx set-value "$MAPS/root.map" name home
	mv "$MAPS/root.map" "$MAPS/home.map"
	rm "$TREE/etc/wubi/maps/root.map"
	cp "$MAPS/home.map" "$TREE/etc/wubi/maps/"
	mkimage
	lacks_in no-map "root is on '/dev/mapper/wubi-root', and the system has no map of that" "$T/initrd" --fstab "$T/fstab"
	lacks_in no-map "wubi-root'" --tree "$TREE" --kernel "$KERNEL" --fstab "$T/fstab"
	echo '/dev/mapper/wubi-home / ext4 defaults 0 1' >"$T/fstab"
	complete "$T/initrd" --fstab "$T/fstab"
	echo '/dev/mapper/wubi-root /srv ext4 defaults 0 1' >"$T/fstab"
	complete "$T/initrd" --fstab "$T/fstab"
}

@test "F09 no check of a file system is asked for where no image is ext4" {
	mktree
	rm "$TREE/sbin/fsck"
	mapfx set-value "$MAPS/root.map" fs_type none
	mapfx set-value "$MAPS/root.map" fs_uuid -
	cp "$MAPS/root.map" "$TREE/etc/wubi/maps/"
	mkimage
	complete "$T/initrd"
}

@test "D03 the folders of ld.so.conf count where ldconfig has made its cache of them" {
	mktree
	library=$(cd "$TREE" && find . -name 'libdevmapper.so*' | head -n 1)
	mkdir -p "$TREE/opt/lib"
	mv "$TREE/$library" "$TREE/opt/lib/"
	put etc/ld.so.conf.d/opt.conf /opt/lib
	mkimage
	lacks_in no-library 'libdevmapper' "$T/initrd"
	complete --tree "$TREE" --kernel "$KERNEL"
	put etc/ld.so.cache
	mkimage
	complete "$T/initrd"
}

@test "D03 the unit of dracut: wanted but not there, there but not wanted; the hook without systemd" {
	mktree
	rm -r "$TREE/scripts"
	mkdir -p "$TREE/usr/lib/systemd/system/initrd.target.wants"
	ln -s ../wubi-attach.service "$TREE/usr/lib/systemd/system/initrd.target.wants/"
	mkimage
	lacks_in no-hook 'wanted by initrd.target, but is not in it' "$T/initrd"
	put usr/lib/systemd/system/wubi-attach.service '[Unit]'
	mkimage
	complete "$T/initrd"
	rm "$TREE/usr/lib/systemd/system/initrd.target.wants/wubi-attach.service"
	mkimage
	lacks_in no-hook 'does not want it' "$T/initrd"
	mkdir -p "$TREE/etc/systemd/system/initrd.target.wants"
	ln -s /usr/lib/systemd/system/wubi-attach.service "$TREE/etc/systemd/system/initrd.target.wants/"
	mkimage
	complete "$T/initrd"
	ln -s /dev/null "$TREE/etc/systemd/system/wubi-attach.service"
	mkimage
	lacks_in no-hook 'or masked' "$T/initrd"
	rm -r "$TREE/etc/systemd" "$TREE/usr/lib/systemd"
	put var/lib/dracut/hooks/initqueue/settled/20-wubi-attach.sh
	mkimage
	complete "$T/initrd"
}

@test "D03 a script that nobody may run, or that is not in the order of the scripts" {
	mktree
	chmod 644 "$TREE/scripts/local-top/wubi"
	mkimage
	lacks_in no-hook 'neither' "$T/initrd"
	chmod 755 "$TREE/scripts/local-top/wubi"
	put scripts/local-top/ORDER '/scripts/local-top/wubi-other "$@"'
	mkimage
	lacks_in no-hook "ORDER' does not have" "$T/initrd"
	complete --tree "$TREE" --kernel "$KERNEL"
}

@test "D07 rules that are masked count as missing" {
	mktree
	mkdir -p "$TREE/etc/udev/rules.d"
	ln -s /dev/null "$TREE/etc/udev/rules.d/55-dm.rules"
	: >"$TREE/etc/udev/rules.d/95-dm-notify.rules"
	mkimage
	lacks_in no-rule '55-dm' "$T/initrd"
	has "$err" '95-dm-notify'
}

@test "D03 a damaged program, a program of another machine's libraries, a loop of links" {
	mktree
	head -c 3000 "$BUILD/wubi-attach" >"$TREE/usr/sbin/wubi-attach"
	mkimage
	lacks_in no-program 'damaged' "$T/initrd"
	install -m 755 "$BUILD/wubi-attach" "$TREE/usr/sbin/wubi-attach"
	library=$(find "$TREE" -name 'libdevmapper.so*' | head -n 1)
	printf '\3\0' | dd of="$library" bs=1 seek=18 conv=notrunc status=none # e_machine: 80386
	mkimage
	lacks_in no-library 'libdevmapper' "$T/initrd"
	rm "$library"
	ln -s "$(basename "$library")" "$library"
	mkimage
	lacks_in no-library 'libdevmapper' "$T/initrd"
}

@test "D03 images that are cut, damaged or something else: refused, whatever they are" {
	mktree
	mkimage gzip -1
	size=$(stat -c %s "$T/initrd")
	for n in 0 1 3 6 100 4000 $((size / 2)) $((size - 10)); do
		head -c "$n" "$T/initrd" >"$T/cut"
		lacks_in damaged-image 'could be unpacked' "$T/cut"
	done
	mkimage
	size=$(stat -c %s "$T/initrd")
	for n in 50 109 4000 $((size / 2)) $((size - 130)); do
		head -c "$n" "$T/initrd" >"$T/cut"
		lacks_in damaged-image 'could be unpacked' "$T/cut"
	done
	mkimage gzip -1
	size=$(stat -c %s "$T/initrd")
	for n in $((size / 3)) $((size / 2)) $((size - 8)) $((size - 4)); do # content, CRC-32, length
		cp "$T/initrd" "$T/cut"
		byte=$(od -An -tu1 -j "$n" -N 1 "$T/cut")
		printf '%b' "\\x$(printf %x $((byte ^ 16)))" | dd of="$T/cut" bs=1 seek="$n" conv=notrunc status=none
		lacks_in damaged-image 'could be unpacked' "$T/cut"
	done
	mkimage
	head -c 100000 /dev/urandom >"$T/cut"
	lacks_in damaged-image 'could be unpacked' "$T/cut"
	cp "$T/initrd" "$T/cut"
	echo 'not an archive' >>"$T/cut"
	lacks_in damaged-image 'could be unpacked' "$T/cut"
	printf '070707%0200d' 0 >"$T/cut"
	lacks_in damaged-image 'old format' "$T/cut"
	cpio_of --raw ../../etc/passwd 100644 x >"$T/cut"
	lacks_in damaged-image 'no path' "$T/cut"
	wi check "$T/none"
	status_is 1
	wi check "$T"
	status_is 2
}

@test "D03 what the kernel can unpack and we cannot is neither complete nor refused" {
	mktree
	mkdir "$T/early"
	{ cpio_of "$T/early"; printf '\x89LZO\x00\r\n\x1a\n'; head -c 1000 /dev/urandom; } >"$T/initrd"
	wi check "$T/initrd"
	status_is 1
	has "$err" 'lzop'
	put squash-root.img
	mkimage
	wi check "$T/initrd"
	status_is 1
	has "$err" 'squash-root.img'
}

@test "D03 an image that becomes huge takes neither memory nor a disk" {
	slow_one
	[ -z "${WUBI_ASAN:-}" ] || skip "the sanitizers' own memory is beyond any limit"
	mktree
	mkdir "$T/big"
	truncate -s 300M "$T/big/modules.dep.so"
	{ cpio_of "$T/big" | gzip -1; cpio_of "$TREE" | gzip -1; } >"$T/initrd"
	(ulimit -v 400000; wi check "$T/initrd"; status_is 0)
}

@test "D02 needed: a map, or nothing" {
	TREE=$T MAPS=$T/maps
	mkdir "$MAPS"
	wi needed
	status_is 1
	has "$out" '^no: '
	wi needed --quiet
	status_is 1
	eq "$out$err" ''
	touch "$MAPS/root.map"
	wi needed
	status_is 0
	has "$out" '^yes: .*root.map'
	wi needed --json
	eq "$(json .needed)" true
	rm -r "$MAPS"
	wi needed
	status_is 1
	touch "$MAPS"
	wi needed
	status_is 3
}

@test "D03 check --if-needed says nothing is needed where there is no map" {
	TREE=$T MAPS=$T/maps
	wi check --if-needed "$T/there-is-none"
	status_is 0
	has "$out" 'not needed'
}

@test "wubi-initrd: usage" {
	TREE=$T MAPS=$T
	wi check
	status_is 2
	wi check a --tree b
	status_is 2
	wi check a b
	status_is 2
	wi
	status_is 2
}
