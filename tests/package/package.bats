#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The packages: what is in them, and that they go into and out of real Debian systems, which they leave alone when there are no maps.
# 'make deb' has built them.

load ../lib.sh

VERSION=$(cat "$TESTS_DIR/../VERSION")
ARCH=$(dpkg --print-architecture)
DEB=$BUILD/deb/wubi-tools_${VERSION}_$ARCH.deb
INSTALLER=$BUILD/deb/wubi-installer_${VERSION}_$ARCH.deb
FOLDER=${BATS_FILE_TMPDIR:-}

setup_file() {
	if [ ! -e "$DEB" ] || [ ! -e "$INSTALLER" ]; then fail "no $DEB, or not the installer beside it: run 'make deb'"; fi
	dpkg-deb -x "$DEB" "$FOLDER/content"
	dpkg-deb -e "$DEB" "$FOLDER/control"
	dpkg-deb -x "$INSTALLER" "$FOLDER/installer"
}

teardown_file() { rm -rf -- "${FOLDER:?}"/*; }

# system NAME: a fresh copy of one of tests/boot/roots in $FOLDER/NAME, once.
system() {
	local tar
	requires root mmdebstrap unshare zstd
	[ ! -d "$FOLDER/$1" ] || return 0
	tar=$("$TESTS_DIR/boot/roots" "$1" 3>&-) || fail "roots $1: $tar"
	mkdir "$FOLDER/$1.part"
	tar -x -I zstd -C "$FOLDER/$1.part" --numeric-owner -f "$tar"
	cp -- "$DEB" "$FOLDER/$1.part/wubi-tools.deb"
	cp -- "$INSTALLER" "$FOLDER/$1.part/wubi-installer.deb"
	# small and quick: the boot tests have real ones
	case $1 in
	*-initramfs) printf 'MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n' >"$FOLDER/$1.part/etc/initramfs-tools/conf.d/quick" ;;
	*-dracut) printf 'compress="zstd -1"\nno_kernel=yes\n' >"$FOLDER/$1.part/etc/dracut.conf.d/quick.conf" ;;
	esac
	mv -- "$FOLDER/$1.part" "$FOLDER/$1"
}

# inside NAME SCRIPT: runs it in that system; its mounts go with it. $status, $out has all that it said.
inside() {
	status=0
	# shellcheck disable=SC2016 # the inner shell's
	out=$(unshare --mount --propagation private sh -c '
		mount --bind /dev "$1/dev" && mount -t proc proc "$1/proc" && exec chroot "$1" sh -euc "$2"' \
		inside "$FOLDER/$1" "export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin; $2" 2>&1 3>&-) || status=$?
}

said() { [[ $out == *"$1"* ]] || fail "lacks: $1"; }
silent_about() { [[ $out != *"$1"* ]] || fail "should not say: $1"; }

@test "it has every program, hook, unit, man page and completion" {
	local path
	while read -r path; do
		[ -e "$FOLDER/content/$path" ] || fail "lacks $path"
	done <<-END
		usr/sbin/wubi-disk
		usr/sbin/wubi-attach
		usr/sbin/wubi-initrd
		usr/sbin/wubi-host
		usr/sbin/wubi-map-refresh
		usr/sbin/wubi-profile
		usr/sbin/wubi-boot
		usr/sbin/grub-install
		usr/share/initramfs-tools/hooks/wubi
		usr/share/initramfs-tools/scripts/local-top/wubi
		usr/share/initramfs-tools/conf-hooks.d/wubi
		usr/share/wubi-tools/build-in-memory
		usr/lib/dracut/dracut.conf.d/50-wubi.conf
		usr/lib/dracut/modules.d/55wubi/module-setup.sh
		usr/lib/dracut/modules.d/55wubi/wubi-attach.service
		usr/lib/dracut/modules.d/55wubi/wubi-attach.sh
		usr/lib/systemd/system/wubi-map-refresh.service
		usr/lib/systemd/system/wubi-host.service
		usr/lib/systemd/system/wubi-host-kernel.service
		usr/lib/systemd/system/wubi-profile.service
		usr/lib/systemd/system/wubi-boot.service
		usr/lib/systemd/system/wubi-boot-flush.service
		usr/lib/systemd/system/wubi-boot.path
		usr/lib/systemd/system/wubi-health.service
		usr/lib/systemd/system/wubi-health.timer
		etc/profile.d/wubi-health.sh
		etc/kernel/postinst.d/zy-wubi
		etc/kernel/postinst.d/zzz-wubi
		etc/kernel/postrm.d/zzz-wubi
		etc/initramfs/post-update.d/zy-wubi
		etc/initramfs/post-update.d/zzz-wubi
		etc/grub.d/35_wubi
		etc/wubi/maps
		etc/wubi/wubi.conf
		usr/share/man/man5/wubi.conf.5.gz
		usr/share/man/man7/wubi.7.gz
		usr/share/man/man8/wubi-disk.8.gz
		usr/share/man/man8/wubi-attach.8.gz
		usr/share/man/man8/wubi-initrd.8.gz
		usr/share/man/man8/wubi-host.8.gz
		usr/share/man/man8/wubi-map-refresh.8.gz
		usr/share/man/man8/wubi-profile.8.gz
		usr/share/man/man8/wubi-boot.8.gz
		usr/share/bash-completion/completions/wubi-disk
		usr/share/bash-completion/completions/wubi-attach
		usr/share/bash-completion/completions/wubi-initrd
		usr/share/bash-completion/completions/wubi-host
		usr/share/bash-completion/completions/wubi-map-refresh
		usr/share/bash-completion/completions/wubi-profile
		usr/share/bash-completion/completions/wubi-boot
		usr/share/doc/wubi-tools/boot.md
		usr/share/doc/wubi-tools/recovery.md
		usr/share/doc/wubi-tools/copyright
	END
	for path in "$FOLDER"/content/usr/sbin/wubi-*; do
		[ "$("$path" --version)" = "${path##*/} $VERSION" ] || fail "$path --version: $("$path" --version)"
	done
}

@test "the installer's package: the program with its documents, and the package that the installed system gets" {
	local path
	while read -r path; do
		[ -e "$FOLDER/installer/$path" ] || fail "lacks $path"
		[ ! -e "$FOLDER/content/$path" ] || fail "wubi-tools has $path, too"
	done <<-END
		usr/sbin/wubi-install
		usr/share/man/man5/wubi-install.conf.5.gz
		usr/share/man/man8/wubi-install.8.gz
		usr/share/bash-completion/completions/wubi-install
		usr/share/doc/wubi-installer/install.md
		usr/share/doc/wubi-installer/examples/wubi-install.conf
	END
	cmp "$DEB" "$FOLDER/installer/usr/share/wubi-installer/${DEB##*/}" || fail "another wubi-tools is in it"
	[ "$("$FOLDER/installer/usr/sbin/wubi-install" --version)" = "wubi-install $VERSION" ] || fail "--version"
	dpkg-deb -e "$INSTALLER" "$T/control"
	grep -q "usr/share/wubi-installer/${DEB##*/}" "$T/control/md5sums" || fail "no sum of the package in it"
	objdump -p "$FOLDER"/content/usr/sbin/wubi-* >"$T/needed"
	! grep libparted "$T/needed" || fail "wubi-tools is linked with libparted"
}

@test "make install puts the same files, from the tree" {
	local there=$T/there
	make -C "$TESTS_DIR/.." BUILD="$BUILD" DESTDIR="$there" prefix=/usr install >"$T/log" 2>&1 || fail "$(tail "$T/log")"
	(cd "$there" && find . -type f | sort) >"$T/installed"
	{ cd "$FOLDER/content" && find . -type f && cd ../installer && find . -type f ! -name '*.deb'; } |
		sed -E '/doc.*\/(changelog|copyright)|lintian\/overrides/d; /\/man\//s/\.gz$//' | sort >"$T/packed"
	diff "$T/installed" "$T/packed" || fail "the lists differ"
}

@test "D11 wubi-attach goes into an initramfs: none of the libraries that it does not need" {
	local needed
	needed=$(objdump -p "$FOLDER/content/usr/sbin/wubi-attach" | awk '$1 == "NEEDED" { print $2 }')
	[[ $needed == *libntfs-3g.so* && $needed == *libdevmapper.so* ]] || fail "needs: $needed"
	for library in libext2fs libcom_err libarchive libelf libmount libfuse libparted libefi; do
		[[ $needed != *"$library"* ]] || fail "needs $library"
	done
}

@test "the profiles are a file that an upgrade leaves to its owner; the choice is no file of the package" {
	grep -qx /etc/wubi/wubi.conf "$FOLDER/control/conffiles" || fail "conffiles: $(<"$FOLDER/control/conffiles")"
	[ ! -e "$FOLDER/content/etc/wubi/profile.conf" ] || fail "profile.conf is in the package"
}

@test "lintian finds nothing" {
	requires lintian
	run lintian --allow-root --fail-on error,warning,info "$BUILD/deb/wubi-tools_${VERSION}_$ARCH.changes"
	[ "$status" = 0 ] || fail "$output"
}

@test "the build left nothing in the tree" {
	for leftover in files debhelper-build-stamp .debhelper wubi-tools wubi-tools.substvars wubi-installer; do
		[ ! -e "$TESTS_DIR/../debian/$leftover" ] || fail "debian/$leftover"
	done
}

@test "Debian 12 without maps: installs, no initramfs is made for it, and one that is made has nothing of it" {
	system bookworm-initramfs
	inside bookworm-initramfs 'dpkg -i /wubi-tools.deb'
	status_is 0
	silent_about update-initramfs
	inside bookworm-initramfs 'update-initramfs -c -k all; lsinitramfs /boot/initrd.img-*'
	status_is 0
	said scripts/local-top/
	[[ ${out,,} != *wubi* ]] || fail "there is something of it: $(grep -i wubi <<<"$out")"
	inside bookworm-initramfs 'for k in /lib/modules/*; do
			for hook in /etc/kernel/*.d/*-wubi /etc/initramfs/post-update.d/*-wubi; do
				"$hook" "${k##*/}" "/boot/vmlinuz-${k##*/}"
			done
		done
		/etc/grub.d/35_wubi; wubi-boot update --hook'
	status_is 0
	[ -z "$out" ] || fail "a hook says: $out"
}

@test "Debian 12: what waits for boot is enabled, wubi-host is not" {
	system bookworm-initramfs
	inside bookworm-initramfs 'for unit in boot.path map-refresh.service host-kernel.service profile.service health.timer host.service; do
		systemctl is-enabled wubi-$unit || :; done'
	[ "$(grep -cx enabled <<<"$out")" = 5 ] || fail "is-enabled: $out"
	[[ $(tail -n 1 <<<"$out") != enabled ]] || fail "wubi-host is enabled"
}

# fake_package NAME VERSION PATH TEXT: a package with one program, in the system's root as NAME.deb. With nothing else in it, it would
# disappear where another package has that file.
fake_package() {
	mkdir -p "$T/$1/DEBIAN" "$T/$1/${3%/*}" "$T/$1/usr/share/$1"
	echo more >"$T/$1/usr/share/$1/more"
	printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: %s\n' \
		"$1" "$2" "for a test" >"$T/$1/DEBIAN/control"
	printf '%s\n' "$4" >"$T/$1/$3"
	chmod 755 "$T/$1/$3"
	dpkg-deb --root-owner-group -b "$T/$1" "$FOLDER/bookworm-initramfs/$1.deb" >"$T/log" || fail "$(<"$T/log")"
}

@test "D13 grub-install: GRUB's own on a system that is not in an image, whichever package came first; upgrades keep it so" {
	local there=$FOLDER/bookworm-initramfs
	system bookworm-initramfs
	inside bookworm-initramfs 'grub-install /dev/sda'
	status_is 127
	said grub2-common
	fake_package grub2-common 1 usr/sbin/grub-install '#!/bin/sh
		echo "one: $*"'
	inside bookworm-initramfs 'dpkg -i /grub2-common.deb && grub-install --target=x86_64-efi /dev/sda'
	status_is 0
	said 'one: --target=x86_64-efi /dev/sda'
	inside bookworm-initramfs 'dpkg -r wubi-tools && ls /usr/sbin/grub-install* && grub-install /dev/sda && dpkg -i /wubi-tools.deb'
	said 'one: /dev/sda'
	silent_about grub-install.distrib$'\n'
	fake_package grub2-common 2 usr/sbin/grub-install '#!/bin/sh
		echo "two: $*"; exit 7'
	inside bookworm-initramfs 'dpkg -i /grub2-common.deb && grub-install "a b"'
	status_is 7
	said 'two: a b'
	cmp "$there/usr/sbin/grub-install" "$FOLDER/content/usr/sbin/grub-install" || fail "it was replaced"
}

@test "D13 grub-install in an image: runs wubi-boot instead, with one line; for another disk it is GRUB's own" {
	local there=$FOLDER/bookworm-initramfs dm
	system bookworm-initramfs
	dm=$there/sys/dev/block/$(stat -c %Hd:%Ld "$there")/dm
	mkdir -p "$dm"
	echo WUBI-8d0f0b0e-0000-4000-8000-000000000000-root >"$dm/uuid"
	mv "$there/usr/sbin/wubi-boot" "$there/wubi-boot.real"
	printf '#!/bin/sh\necho "wubi-boot: $*"\n' >"$there/usr/sbin/wubi-boot"
	chmod 755 "$there/usr/sbin/wubi-boot"
	inside bookworm-initramfs 'grub-install /dev/sda' # there is no map
	said 'two: /dev/sda'
	touch "$there/etc/wubi/maps/root.map"
	inside bookworm-initramfs 'grub-install --target=x86_64-efi'
	status_is 0
	said 'wubi-boot: update --hook'
	[ "$(wc -l <<<"$out")" = 2 ] || fail "more than one line: $out"
	inside bookworm-initramfs 'grub-install --boot-directory=/mnt/boot /dev/sdb'
	said 'two: --boot-directory=/mnt/boot /dev/sdb'
	echo CRYPT-LUKS2-other >"$dm/uuid"
	inside bookworm-initramfs 'grub-install /dev/sda'
	said 'two: /dev/sda'
	rm -r "$there/etc/wubi/maps/root.map" "$there/sys/dev"
	mv "$there/wubi-boot.real" "$there/usr/sbin/wubi-boot"
}

@test "D14 new signed loaders: the trigger runs, and says nothing on a system that is not in an image" {
	system bookworm-initramfs
	fake_package shim-fake 1 usr/lib/shim/shimx64.efi.signed loader
	inside bookworm-initramfs 'dpkg -i /shim-fake.deb'
	status_is 0
	said 'Processing triggers for wubi-tools'
	silent_about wubi-boot
	inside bookworm-initramfs 'dpkg -P shim-fake; dpkg --audit'
	status_is 0
	silent_about half
}

@test "the installer goes in beside it, needs the same version, and goes" {
	system bookworm-initramfs
	inside bookworm-initramfs 'dpkg -i /wubi-installer.deb && wubi-install --version'
	status_is 0
	inside bookworm-initramfs 'dpkg -P wubi-installer && ls -d /usr/share/wubi-installer /usr/sbin/wubi-install'
	said "cannot access '/usr/share/wubi-installer'"
	said "cannot access '/usr/sbin/wubi-install'"
}

@test "an upgrade from the version before: all is configured, the diversion is there, and no unit of the old version stays" {
	local there=$FOLDER/bookworm-initramfs old
	system bookworm-initramfs
	old=$("$TESTS_DIR/package/previous-deb" 2>"$T/log" 3>&-) || { [ $? != 77 ] || skip "$(<"$T/log")"; fail "$(<"$T/log")"; }
	cp -- "$old" "$there/old.deb"
	dpkg-deb -c "$old" | awk '{ print $6 }' | grep -E '^\./(usr/lib/systemd|etc)/.*[^/]$' | sort >"$T/old"
	inside bookworm-initramfs 'dpkg -P wubi-tools && dpkg -i /old.deb && dpkg-query -W wubi-tools'
	status_is 0
	silent_about "wubi-tools	$VERSION"
	inside bookworm-initramfs 'dpkg -i /wubi-tools.deb && dpkg --audit'
	status_is 0
	inside bookworm-initramfs 'dpkg --audit; dpkg-query -W -f "\${db:Status-Status} \${Version}\n" wubi-tools; dpkg-divert --listpackage /usr/sbin/grub-install
		for unit in boot.path map-refresh.service host-kernel.service profile.service health.timer; do systemctl is-enabled wubi-$unit; done
		grub-install x || :'
	[ "$(head -n 2 <<<"$out")" = "installed $VERSION"$'\n'wubi-tools ] || fail "after the upgrade"
	[ "$(grep -cx enabled <<<"$out")" = 5 ] || fail "is-enabled"
	said 'two: x'
	while read -r file; do
		[ -e "$FOLDER/content/$file" ] || [ ! -e "$there/$file" ] || fail "$file of the old version is there"
	done <"$T/old"
	inside bookworm-initramfs 'dpkg -P grub2-common && rm -f /*-common.deb /shim-fake.deb /old.deb'
	status_is 0
}

@test "Debian 12 with a map: an upgrade makes the initramfs anew, with the map and wubi-attach in it" {
	system bookworm-initramfs
	mkvol 256M
	ok create "$V" --size 64M --map "$M"
	cp -- "$M" "$FOLDER/bookworm-initramfs/etc/wubi/maps/"
	inside bookworm-initramfs 'dpkg -i /wubi-tools.deb'
	status_is 0
	said "Processing triggers for initramfs-tools"
	inside bookworm-initramfs 'lsinitramfs /boot/initrd.img-*'
	said usr/sbin/wubi-attach
	said etc/wubi/maps/root.map
}

@test "removing it while the system uses an image is refused, and leaves all of it" {
	local dm
	system bookworm-initramfs
	dm=$FOLDER/bookworm-initramfs/sys/block/dm-1/dm
	mkdir -p "$dm" "${dm//dm-1/dm-0}"
	echo WUBI-host-0123456789abcdef >"${dm//dm-1/dm-0}/uuid"
	echo WUBI-8d0f0b0e-0000-4000-8000-000000000000-home >"$dm/uuid"
	inside bookworm-initramfs 'dpkg -r wubi-tools'
	[ "$status" != 0 ] || fail "it was removed"
	said "not removed"
	inside bookworm-initramfs 'dpkg -s wubi-tools; wubi-attach --version'
	said "install ok installed"
	status_is 0
	inside bookworm-initramfs 'dpkg --no-triggers -i /wubi-tools.deb'
	status_is 0
	echo CRYPT-LUKS2-other >"$dm/uuid"
}

@test "E02 removed elsewhere: the initramfs is made without it; purged: no script or unit stays, only the maps" {
	local there=$FOLDER/bookworm-initramfs file
	system bookworm-initramfs
	# a profile of a system that never ran: nothing is in force that the removal would have to take back
	"$FOLDER/content/usr/sbin/wubi-profile" set safe --root "$there" --quiet || fail "set"
	mkdir -p "$there/var/lib/wubi"
	echo '{"version":1,"bytes_per_s":1}' >"$there/var/lib/wubi/speed.json"
	inside bookworm-initramfs 'dpkg -r wubi-tools'
	status_is 0
	for file in etc/wubi/profile.conf etc/sysctl.d/90-wubi.conf; do
		[ ! -e "$there/$file" ] || fail "removed, and $file is there"
	done
	[ -e "$there/etc/wubi/wubi.conf" ] || fail "removed, and wubi.conf is gone"
	said "Processing triggers for initramfs-tools"
	inside bookworm-initramfs 'lsinitramfs /boot/initrd.img-* | grep -i wubi || :
		for k in /lib/modules/*; do /etc/kernel/postinst.d/zy-wubi "${k##*/}" "/boot/vmlinuz-${k##*/}"; done'
	status_is 0
	silent_about wubi-attach
	inside bookworm-initramfs 'dpkg -P wubi-tools'
	status_is 0
	left=$(cd "$FOLDER/bookworm-initramfs" && find . \( -name '*wubi*' -o -name 'grub-install*' \) ! -name 'wubi-*.deb')
	[ "$left" = ./etc/wubi ] || fail "left: $left"
	[ -e "$FOLDER/bookworm-initramfs/etc/wubi/maps/root.map" ] || fail "the map is gone"
}

@test "Debian 13 with dracut, without maps: installs, and an initramfs has nothing of it" {
	system trixie-dracut
	inside trixie-dracut 'dpkg -i /wubi-tools.deb /wubi-installer.deb'
	status_is 0
	inside trixie-dracut 'for k in /lib/modules/*; do
			[ -e "/boot/initrd.img-${k##*/}" ] || dracut "/boot/initrd.img-${k##*/}" "${k##*/}"
		done; lsinitrd /boot/initrd.img-*'
	status_is 0
	said usr/lib/dracut/hooks
	[[ ${out,,} != *wubi* ]] || fail "there is something of it: $(grep -i wubi <<<"$out")"
	for program in disk attach initrd host map-refresh profile boot install; do
		inside trixie-dracut "wubi-$program --version"
		status_is 0
	done
	inside trixie-dracut 'dpkg -P wubi-installer wubi-tools'
	status_is 0
	[ ! -e "$FOLDER/trixie-dracut/etc/wubi" ] || fail "/etc/wubi stayed"
}
