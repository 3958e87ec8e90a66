#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The package: what is in it, and that it goes into and out of real Debian systems, which it leaves alone when there are no maps.
# 'make deb' has built it.

load ../lib.sh

VERSION=$(cat "$TESTS_DIR/../VERSION")
ARCH=$(dpkg --print-architecture)
DEB=$BUILD/deb/wubi-tools_${VERSION}_$ARCH.deb
FOLDER=${BATS_FILE_TMPDIR:-}

setup_file() {
	[ -e "$DEB" ] || fail "no $DEB: run 'make deb'"
	dpkg-deb -x "$DEB" "$FOLDER/content"
	dpkg-deb -e "$DEB" "$FOLDER/control"
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
		usr/share/initramfs-tools/hooks/wubi
		usr/share/initramfs-tools/scripts/local-top/wubi
		usr/lib/dracut/modules.d/55wubi/module-setup.sh
		usr/lib/dracut/modules.d/55wubi/wubi-attach.service
		usr/lib/dracut/modules.d/55wubi/wubi-attach.sh
		usr/lib/systemd/system/wubi-map-refresh.service
		usr/lib/systemd/system/wubi-host.service
		usr/lib/systemd/system/wubi-host-kernel.service
		usr/lib/systemd/system/wubi-profile.service
		etc/kernel/postinst.d/zy-wubi
		etc/initramfs/post-update.d/zy-wubi
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
		usr/share/bash-completion/completions/wubi-disk
		usr/share/bash-completion/completions/wubi-attach
		usr/share/bash-completion/completions/wubi-initrd
		usr/share/bash-completion/completions/wubi-host
		usr/share/bash-completion/completions/wubi-map-refresh
		usr/share/bash-completion/completions/wubi-profile
		usr/share/doc/wubi-tools/boot.md
		usr/share/doc/wubi-tools/copyright
	END
	for path in "$FOLDER"/content/usr/sbin/*; do
		[ "$("$path" --version)" = "${path##*/} $VERSION" ] || fail "$path --version: $("$path" --version)"
	done
}

@test "make install puts the same files, from the tree" {
	local there=$T/there
	make -C "$TESTS_DIR/.." BUILD="$BUILD" DESTDIR="$there" prefix=/usr install >"$T/log" 2>&1 || fail "$(tail "$T/log")"
	(cd "$there" && find . -type f | sort) >"$T/installed"
	(cd "$FOLDER/content" && find . -type f | sed -E '/doc.*\/(changelog|copyright)|lintian\/overrides/d; /\/man\//s/\.gz$//' | sort) >"$T/packed"
	diff "$T/installed" "$T/packed" || fail "the lists differ"
}

@test "D11 wubi-attach goes into an initramfs: none of the libraries that it does not need" {
	local needed
	needed=$(objdump -p "$FOLDER/content/usr/sbin/wubi-attach" | awk '$1 == "NEEDED" { print $2 }')
	[[ $needed == *libntfs-3g.so* && $needed == *libdevmapper.so* ]] || fail "needs: $needed"
	for library in libext2fs libcom_err libarchive libelf libmount libfuse; do
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
	for leftover in files debhelper-build-stamp .debhelper wubi-tools wubi-tools.substvars; do
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
	inside bookworm-initramfs 'for k in /lib/modules/*; do /etc/kernel/postinst.d/zy-wubi "${k##*/}" "/boot/vmlinuz-${k##*/}"; done'
	status_is 0
}

@test "Debian 12: what waits for boot is enabled, wubi-host is not" {
	system bookworm-initramfs
	inside bookworm-initramfs 'for unit in map-refresh host-kernel profile host; do systemctl is-enabled wubi-$unit.service || :; done'
	[ "$(grep -cx enabled <<<"$out")" = 3 ] || fail "is-enabled: $out"
	[[ $(tail -n 1 <<<"$out") != enabled ]] || fail "wubi-host is enabled"
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
	left=$(cd "$FOLDER/bookworm-initramfs" && find . -name '*wubi*' ! -name wubi-tools.deb)
	[ "$left" = ./etc/wubi ] || fail "left: $left"
	[ -e "$FOLDER/bookworm-initramfs/etc/wubi/maps/root.map" ] || fail "the map is gone"
}

@test "Debian 13 with dracut, without maps: installs, and an initramfs has nothing of it" {
	system trixie-dracut
	inside trixie-dracut 'dpkg -i /wubi-tools.deb'
	status_is 0
	inside trixie-dracut 'for k in /lib/modules/*; do
			[ -e "/boot/initrd.img-${k##*/}" ] || dracut "/boot/initrd.img-${k##*/}" "${k##*/}"
		done; lsinitrd /boot/initrd.img-*'
	status_is 0
	said usr/lib/dracut/hooks
	[[ ${out,,} != *wubi* ]] || fail "there is something of it: $(grep -i wubi <<<"$out")"
	for program in disk attach initrd host map-refresh profile; do
		inside trixie-dracut "wubi-$program --version"
		status_is 0
	done
	inside trixie-dracut 'dpkg -P wubi-tools'
	status_is 0
	[ ! -e "$FOLDER/trixie-dracut/etc/wubi" ] || fail "/etc/wubi stayed"
}
