#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A copied system becomes one that boots from its image: real dpkg, useradd, update-initramfs in a real Debian, and nothing of
# the machine that does it is changed.

load ../lib.sh

DRIVER=$BUILD/tests/cli/target_driver
DEB=$BUILD/deb/wubi-tools_$(cat "$TESTS_DIR/../VERSION")_$(dpkg --print-architecture).deb
FOLDER=${BATS_FILE_TMPDIR:-}
ROOT=$FOLDER/root
HASH='$6$salt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/'
PARTUUID=11111111-2222-4333-8444-555555555555

teardown_file() { rm -rf -- "${FOLDER:?}"/*; }

# system: a Debian as a live medium has it, once: with a package that only the medium needs.
system() {
	local tar
	requires root mmdebstrap unshare zstd
	slow_one
	[ ! -d "$ROOT" ] || return 0
	tar=$("$TESTS_DIR/boot/roots" bookworm-initramfs 3>&-) || fail "roots: $tar"
	mkdir "$ROOT.part"
	tar -x -I zstd -C "$ROOT.part" --numeric-owner -f "$tar"
	printf 'MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n' >"$ROOT.part/etc/initramfs-tools/conf.d/quick"
	printf '# makers of media are in a hurry\nforce-unsafe-io\n' >"$ROOT.part/etc/dpkg/dpkg.cfg.d/unsafe"
	printf 'force-unsafe-io\nno-pager\n' >"$ROOT.part/etc/dpkg/dpkg.cfg.d/mixed"
	printf '127.0.0.1\tlocalhost\n127.0.1.1\tlive\n::1\tlocalhost\n' >"$ROOT.part/etc/hosts"
	echo 0123456789abcdef0123456789abcdef >"$ROOT.part/etc/machine-id"
	fake_package live-boot
	dpkg --root="$ROOT.part" --force-script-chrootless -i "$FOLDER/live-boot.deb" >"$FOLDER/dpkg.log" 2>&1 ||
		fail "$(<"$FOLDER/dpkg.log")"
	mkdir -p "$ROOT.part/etc/live/config.conf.d"
	mv -- "$ROOT.part" "$ROOT"
}

fake_package() { # NAME [DEPENDS [POSTINST]]
	local tree=$FOLDER/$1
	mkdir -p "$tree/DEBIAN" "$tree/usr/share/$1"
	echo "it is" >"$tree/usr/share/$1/file"
	printf '%s\n' "Package: $1" 'Version: 1' 'Architecture: all' 'Maintainer: nobody <nobody@example.org>' \
		${2:+"Depends: $2"} 'Description: made up' >"$tree/DEBIAN/control"
	[ -z "${3:-}" ] || { printf '#!/bin/sh\n%s\n' "$3" >"$tree/DEBIAN/postinst" && chmod 755 "$tree/DEBIAN/postinst"; }
	dpkg-deb -b "$tree" "$FOLDER/$1.deb" >/dev/null
}

on_system() { dpkg --root="$ROOT" --force-script-chrootless "$@" >"$T/dpkg.log" 2>&1 || fail "dpkg $*: $(<"$T/dpkg.log")"; }
# states NAME...: of those that are there.
states() { dpkg-query --root="$ROOT" -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | grep -v '^un' | paste -sd ' '; }

# maps: root.map and swap.map in $FOLDER.
maps() {
	[ ! -e "$FOLDER/root.map" ] || return 0
	mkvol 256M
	ok create "$V" --size 64M --map "$FOLDER/root.map"
}

# target ARG...: the driver on the system. $status, $err.
target() {
	status=0
	"$DRIVER" "$ROOT" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
	! grep -qF "$ROOT" /proc/self/mountinfo || fail "still mounted: $(grep -F "$ROOT" /proc/self/mountinfo)"
	absent "$ROOT/usr/sbin/policy-rc.d.wubi-kept"
}

done_by() { target "$@"; [ "$status" = 0 ] || fail "$*"; }
has_line() { grep -qxF -e "$2" "$ROOT/$1" || fail "no line '$2' in $1: $(cat "$ROOT/$1")"; }

@test "no folder, and the running system itself, are no target" {
	requires root
	ROOT=$T/nowhere target files
	[ "$status" = 1 ] || fail "status $status"
	has "$err" "'$T/nowhere'"
	status=0
	"$DRIVER" / files 2>"$T/err" 3>&- || status=$?
	[ "$status" = 1 ] || fail "status $status"
	has "$(<"$T/err")" 'the running system'
}

# What is mounted at the machine's own folders that the target's are made of.
ours() { awk '$5 ~ /^\/(dev|proc|sys|run)($|\/(pts|shm|fs|mqueue))/ { print $3, $4, $5, $6 }' /proc/self/mountinfo | sort; }

@test "programs of the target see their own /proc, /run and /sys, no service, and nothing of our environment" {
	system
	printf '#!/bin/sh\nexit 7\n' >"$ROOT/usr/sbin/policy-rc.d"
	ours >"$T/before"
	# mounts are shared where systemd runs: what is mounted in a copy of /dev would be in /dev, too
	TMPDIR=/nowhere DBUS_SESSION_BUS_ADDRESS=x done_by command do='
		echo "tmp=$TMPDIR bus=$DBUS_SESSION_BUS_ADDRESS lc=$LC_ALL"; umask; /usr/sbin/policy-rc.d || echo "policy $?"
		ls /run | wc -l; [ -e /dev/null ] && [ -d /proc/self ] && [ -d /sys/class ] && echo own
		[ -d /sys/firmware/efi/efivars/. ] && ls /sys/firmware/efi/efivars | grep . && echo efivars
		touch /sys/x 2>/dev/null || echo sysro; mkdir /dev/shm/wubi-test'
	has "$err" 'tmp= bus= lc=C.UTF-8'
	has "$err" '^0022$'
	has "$err" 'policy 101'
	has "$err" '^0$'
	has "$err" '^own$'
	has "$err" '^sysro$'
	lacks "$err" '^efivars$'
	absent /dev/shm/wubi-test
	ours >"$T/after"
	diff "$T/before" "$T/after" || fail "mounts of the machine changed"
	eq "$(tail -n 1 "$ROOT/usr/sbin/policy-rc.d")" "exit 7" "the medium's own policy-rc.d"
	rm "$ROOT/usr/sbin/policy-rc.d"
	done_by command do=true
	absent "$ROOT/usr/sbin/policy-rc.d"
}

@test "where mounts are shared, as systemd has them, none of the target's shows at the machine's own folders" {
	system
	export -f ours
	rm -f "$ROOT/fifo"
	mkfifo "$ROOT/fifo"
	DRIVER=$DRIVER ROOT=$ROOT unshare --mount --propagation shared bash -c '
		ours >"$0/before"
		"$DRIVER" "$ROOT" command do="echo begun; read -r _ </fifo" 2>"$0/log" &
		until grep -q begun "$0/log"; do kill -0 $! || exit 9; done
		ours >"$0/during"; echo >"$ROOT/fifo"; wait $! || exit 8
		ours >"$0/after"' "$T" 3>&- || fail "status $?: $(cat "$T/log")"
	diff "$T/before" "$T/during" || fail "mounts changed meanwhile"
	diff "$T/before" "$T/after" || fail "mounts changed"
}

@test "a step that fails, and one that is interrupted, leave nothing mounted and nothing running" {
	system
	target command do='exit 3'
	[ "$status" = 1 ] || fail "status $status"
	has "$err" 'status 3'
	status=0
	"$DRIVER" "$ROOT" command do='tail -f /dev/null & echo begun; tail -f /dev/null' 2>"$T/err" </dev/null 3>&- &
	pid=$!
	until grep -q begun "$T/err" 2>/dev/null; do kill -0 "$pid" || fail "it ended"; done
	kill -TERM "$pid"
	wait "$pid" || status=$?
	[ "$status" = 1 ] || fail "status $status"
	has "$(<"$T/err")" interrupted
	! grep -qF "$ROOT" /proc/self/mountinfo || fail "still mounted"
	for link in /proc/[0-9]*/root; do [ "$(readlink "$link")" != "$ROOT" ] || fail "$link runs on"; done
	done_by command do='setsid tail -f /dev/null >/dev/null 2>&1 & true' # a daemon
	for link in /proc/[0-9]*/root; do [ "$(readlink "$link")" != "$ROOT" ] || fail "$link runs on"; done
}

@test "packages come without a network, services or several initramfs; the medium's own go, with what they leave" {
	system
	[ -e "$DEB" ] || skip "no $DEB: run 'make deb'"
	fake_package plain-one
	for _ in 1 2; do
		done_by deb="$DEB" deb="$FOLDER/plain-one.deb" packages purge
		lacks "$err" 'generating'
		eq "$(dpkg-query --root="$ROOT" -W -f '${db:Status-Abbrev}' wubi-tools plain-one)" "ii ii " "state"
		absent "$ROOT/var/cache/wubi-install"
		absent "$ROOT/usr/share/live-boot"
		absent "$ROOT/etc/live"
		has_line etc/initramfs-tools/update-initramfs.conf update_initramfs=yes
	done
	target deb=/nowhere.deb packages
	[ "$status" = 1 ] || fail "status $status"
	has "$err" "'/nowhere.deb'"
	absent "$ROOT/var/cache/wubi-install"
	has_line etc/initramfs-tools/update-initramfs.conf update_initramfs=yes
}

@test "none but the medium's own packages go: one on which another depends stays, a held one goes" {
	local name
	system
	for name in casper calamares ubiquity live-config; do fake_package "$name"; done
	fake_package desktop-here casper
	fake_package either-one 'calamares | ubiquity'
	for name in casper calamares ubiquity live-config desktop-here either-one; do on_system -i "$FOLDER/$name.deb"; done
	echo live-config hold | dpkg --root="$ROOT" --set-selections
	mkdir -p "$ROOT/etc/live" "$ROOT/etc/systemd/system/multi-user.target.wants"
	ln -sfn /lib/systemd/system/live-config.service "$ROOT/etc/systemd/system/multi-user.target.wants/live-config.service"
	ln -sfn /lib/systemd/system/other.service "$ROOT/etc/systemd/system/multi-user.target.wants/other.service"
	for _ in 1 2; do
		done_by purge
		eq "$(states desktop-here either-one casper)" 'ii casper ii desktop-here ii either-one' states
		eq "$(states calamares ubiquity)" 'ii ubiquity' 'which either-one needs'
		eq "$(states live-config)" '' 'a held one'
		[ -d "$ROOT/etc/live" ] || fail "/etc/live, of one that stays"
		[ ! -L "$ROOT/etc/systemd/system/multi-user.target.wants/live-config.service" ] || fail "a unit that is gone"
		[ -L "$ROOT/etc/systemd/system/multi-user.target.wants/other.service" ] || fail "somebody else's"
	done
	on_system --purge desktop-here either-one
	done_by purge
	eq "$(states casper calamares ubiquity)" '' states
	absent "$ROOT/etc/live"
}

@test "a package's script that calls grub-install or update-grub reaches neither; one that fails is told" {
	local name
	system
	for name in grub-install update-grub; do
		[ ! -e "$ROOT/usr/sbin/$name" ] || mv "$ROOT/usr/sbin/$name" "$T/$name"
		printf '#!/bin/sh\necho %s >>/reached\nexit 9\n' "$name" >"$ROOT/usr/sbin/$name"
		chmod 755 "$ROOT/usr/sbin/$name"
	done
	fake_package grub-like '' 'set -e; grub-install --target=x86_64-efi; update-grub'
	target deb="$FOLDER/grub-like.deb" packages
	for name in grub-install update-grub; do
		rm "$ROOT/usr/sbin/$name"
		[ ! -e "$T/$name" ] || mv "$T/$name" "$ROOT/usr/sbin/$name"
	done
	[ "$status" = 0 ] || fail "status $status"
	absent "$ROOT/reached"
	absent "$ROOT/run/wubi-install"
	fake_package broken-one '' 'echo "it has its reasons" >&2; exit 5'
	target deb="$FOLDER/broken-one.deb" packages
	on_system --purge grub-like broken-one
	[ "$status" = 1 ] || fail "status $status"
	has "$err" 'it has its reasons'
	has "$err" '^failed: configure packages: .*messages above name'
}

@test "apt does not ask for the medium any more; links and files of the live system are as an installed one has them" {
	system
	maps
	printf 'overlay / overlay rw 0 0\ntmpfs /tmp tmpfs nosuid,nodev 0 0\n' >"$ROOT/etc/fstab"
	rm -f "$ROOT/etc/resolv.conf"
	ln -s ../run/systemd/resolve/stub-resolv.conf "$ROOT/etc/resolv.conf"
	mkdir -p "$ROOT/etc/apt/sources.list.d" "$ROOT/var/lib/live/config"
	printf 'deb %s bookworm main\n' 'cdrom:[Debian 12]/' http://deb.debian.org/debian >"$ROOT/etc/apt/sources.list"
	echo 'deb [trusted=yes] file:/run/live/medium bookworm main' >"$ROOT/etc/apt/sources.list.d/medium.list"
	printf '%s\n' 'Types: deb' 'URIs: file:/cdrom' 'Suites: bookworm' 'Components: main' \
		>"$ROOT/etc/apt/sources.list.d/medium.sources"
	for _ in 1 2; do
		done_by map="$FOLDER/root.map" purge files
		eq "$(<"$ROOT/etc/apt/sources.list")" \
			$'# deb cdrom:[Debian 12]/ bookworm main\ndeb http://deb.debian.org/debian bookworm main' sources.list
		eq "$(grep -v '^#' "$ROOT/etc/apt/sources.list.d/medium.list")" '' medium.list
		has_line etc/apt/sources.list.d/medium.sources 'Enabled: no'
		has_line etc/apt/sources.list.d/medium.sources 'URIs: file:/cdrom'
		eq "$(chroot "$ROOT" apt-get update --print-uris 2>&1 | cut -d / -f 1-4 | sort -u)" "'http://deb.debian.org/debian" \
			"what apt would ask for"
		eq "$(readlink "$ROOT/etc/resolv.conf")" ../run/systemd/resolve/stub-resolv.conf resolv.conf
		! grep -E 'overlay|tmpfs' "$ROOT/etc/fstab" || fail "fstab of the medium"
		absent "$ROOT/var/lib/live"
	done
}

@test "F13 its files: fstab, maps, name, clock, zone, keyboard; what made dpkg unsafe is gone; a second run changes nothing" {
	local first=''
	system
	maps
	rm -f "$ROOT/etc/hostname"
	ln -s /etc/hostname-of-host "$ROOT/etc/hostname"
	for _ in 1 2; do
		done_by map="$FOLDER/root.map" esp=$PARTUUID hostname=ada-pc time-zone=Europe/Berlin locale=C.UTF-8 \
			keyboard=de:nodeadkeys files
		has_line etc/fstab '/dev/mapper/wubi-root / ext4 defaults,errors=remount-ro 0 1'
		has_line etc/fstab "PARTUUID=$PARTUUID /boot/efi vfat umask=0077,nofail 0 1"
		[ -d "$ROOT/boot/efi" ] || fail "no /boot/efi"
		cmp "$FOLDER/root.map" "$ROOT/etc/wubi/maps/root.map"
		absent /etc/hostname-of-host
		has_line etc/hostname-of-host ada-pc
		eq "$(<"$ROOT/etc/hosts")" $'127.0.0.1\tlocalhost\n127.0.1.1\tada-pc\n::1\tlocalhost' hosts
		[ -f "$ROOT/etc/machine-id" ] && [ ! -s "$ROOT/etc/machine-id" ] || fail "machine-id"
		eq "$(tail -n 1 "$ROOT/etc/adjtime")" LOCAL clock
		eq "$(readlink "$ROOT/etc/localtime")" /usr/share/zoneinfo/Europe/Berlin zone
		has_line etc/timezone Europe/Berlin
		has_line etc/default/locale LANG=C.UTF-8
		has_line etc/default/keyboard 'XKBLAYOUT="de"'
		has_line etc/default/keyboard 'XKBVARIANT="nodeadkeys"'
		has_line etc/default/grub.d/wubi-boot.cfg GRUB_DISABLE_LINUX_UUID=true
		has_line etc/initramfs-tools/conf.d/resume RESUME=none
		absent "$ROOT/etc/dpkg/dpkg.cfg.d/unsafe"
		eq "$(<"$ROOT/etc/dpkg/dpkg.cfg.d/mixed")" no-pager "what else was set"
		now=$(cd "$ROOT/etc" && find . -type f -exec md5sum {} + | sort)
		[ -z "$first" ] || eq "$now" "$first" "after the second run"
		first=$now
	done
	done_by clock=utc files
	eq "$(tail -n 1 "$ROOT/etc/adjtime")" UTC clock
	for zone in Europe/Nowhere ../../../etc/passwd /etc/passwd Europe; do
		target time-zone=$zone files
		[ "$status" = 1 ] || fail "status $status"
		has "$err" '^time-zone: '
	done
	eq "$(readlink "$ROOT/etc/localtime")" /usr/share/zoneinfo/Europe/Berlin zone
}

@test "the user: in the groups that there are, with a password that no argument shows; a second run updates" {
	system
	done_by user=ada full-name='Ada L' password-hash="$HASH" user
	grep -q '^ada:x:1000:1000:Ada L:/home/ada:/bin/bash$' "$ROOT/etc/passwd" || fail "$(grep ada "$ROOT/etc/passwd")"
	eq "$(sed -n 's/^ada:\([^:]*\):.*/\1/p' "$ROOT/etc/shadow")" "$HASH" hash
	grep -qE '^sudo:.*:ada$' "$ROOT/etc/group" || fail "not in sudo"
	[ -d "$ROOT/home/ada" ] || fail "no home"
	done_by user=ada full-name='Ada King' user
	eq "$(grep -c '^ada:' "$ROOT/etc/passwd")" 1 users
	has "$(grep '^ada:' "$ROOT/etc/passwd")" ':Ada King:'
	eq "$(sed -n 's/^ada:\([^:]*\):.*/\1/p' "$ROOT/etc/shadow")" "$HASH" hash
	target user=daemon user
	[ "$status" = 1 ] || fail "status $status"
	has "$err" '^user: '
	before=$(<"$ROOT/etc/shadow")
	done_by user
	eq "$(<"$ROOT/etc/shadow")" "$before" shadow
}

@test "an initramfs for each kernel has the maps; one that lacks something is told; no kernel is a refusal" {
	local version
	system
	[ -e "$DEB" ] || skip "no $DEB: run 'make deb'"
	maps
	version=$(cd "$ROOT/lib/modules" && echo *)
	done_by map="$FOLDER/root.map" deb="$DEB" packages files
	mv "$ROOT/boot/vmlinuz-$version" "$T/kernel"
	target map="$FOLDER/root.map" kernels
	[ "$status" = 1 ] || fail "status $status"
	has "$err" '^no-kernel: '
	target map="$FOLDER/root.map" kernel=/etc/passwd kernels
	has "$err" '^no-kernel: '
	mkdir -p "$ROOT/lib/modules/1.2.3-left"
	done_by map="$FOLDER/root.map" kernel="$T/kernel" kernels
	rmdir "$ROOT/lib/modules/1.2.3-left"
	cmp "$T/kernel" "$ROOT/boot/vmlinuz-$version"
	[ -s "$ROOT/boot/initrd.img-$version" ] || fail "no initramfs"
	# without its own hooks, which would say so first
	mv "$ROOT/usr/share/initramfs-tools/hooks/wubi" "$T/hook"
	mv "$ROOT/etc/initramfs/post-update.d/zy-wubi" "$T/post"
	target kernels
	mv "$T/hook" "$ROOT/usr/share/initramfs-tools/hooks/wubi"
	mv "$T/post" "$ROOT/etc/initramfs/post-update.d/zy-wubi"
	[ "$status" = 1 ] || fail "status $status"
	has "$err" 'was built, but'
}

# A hook never ends, and the driver is told to end meanwhile.
interrupt_build() {
	local pid
	printf '#!/bin/sh\n[ "$1" = prereqs ] || { echo begun >&2; exec tail -f /dev/null; }\n' \
		>"$ROOT/etc/initramfs-tools/hooks/broken"
	status=0
	"$DRIVER" "$ROOT" map="$FOLDER/root.map" kernels 2>"$T/err" </dev/null 3>&- >&2 &
	pid=$!
	until grep -q begun "$T/err" 2>/dev/null; do kill -0 "$pid" || fail "it ended: $(<"$T/err")"; done
	kill -TERM "$pid"
	wait "$pid" || status=$?
	err=$(<"$T/err")
}

@test "the old initramfs goes when the new one is whole: not after a failure, an interruption, or when the run was killed" {
	local version image before name
	system
	[ -e "$DEB" ] || skip "no $DEB: run 'make deb'"
	maps
	version=$(cd "$ROOT/lib/modules" && echo *)
	image=$ROOT/boot/initrd.img-$version
	done_by map="$FOLDER/root.map" deb="$DEB" packages files kernels
	absent "$image.wubi-kept"
	before=$(md5sum <"$image")
	as_before() {
		eq "$(md5sum <"$image")" "$before" "the initramfs after $1"
		eq "$(cd "$ROOT/boot" && echo initrd*)" "initrd.img-$version" "what lies in /boot after $1"
	}
	# its hooks lack: it is built, and looked at
	mv "$ROOT/usr/share/initramfs-tools/hooks/wubi" "$T/hook"
	mv "$ROOT/etc/initramfs/post-update.d/zy-wubi" "$T/post"
	target map="$FOLDER/root.map" kernels
	mv "$T/hook" "$ROOT/usr/share/initramfs-tools/hooks/wubi"
	mv "$T/post" "$ROOT/etc/initramfs/post-update.d/zy-wubi"
	has "$err" 'was built, but'
	as_before 'one that lacks something'
	printf '#!/bin/sh\n[ "$1" = prereqs ] || exit 1\n' >"$ROOT/etc/initramfs-tools/hooks/broken"
	chmod 755 "$ROOT/etc/initramfs-tools/hooks/broken"
	target map="$FOLDER/root.map" kernels
	[ "$status" = 1 ] || fail "status $status"
	as_before 'a hook that fails'
	mv "$image" "$image.wubi-kept" # of a run that was killed
	target map="$FOLDER/root.map" kernels
	[ "$status" = 1 ] || fail "status $status"
	as_before 'a run that was killed, and a hook that fails'
	interrupt_build
	[ "$status" = 1 ] || fail "status $status"
	has "$err" interrupted
	as_before 'an interruption'
	rm "$ROOT/etc/initramfs-tools/hooks/broken"
	# others, of which none can be made: before and after it in the folder
	for name in 1.1.1-a 2.2.2-b 3.3.3-c 4.4.4-d; do
		mkdir "$ROOT/lib/modules/$name"
		touch "$ROOT/lib/modules/$name/modules.dep"
		cp "$ROOT/boot/vmlinuz-$version" "$ROOT/boot/vmlinuz-$name"
	done
	rm "$image"
	echo left >"$image.wubi-kept"
	target map="$FOLDER/root.map" kernels
	for name in 1.1.1-a 2.2.2-b 3.3.3-c 4.4.4-d; do rm -r "$ROOT/lib/modules/$name" "$ROOT/boot/"*"-$name"; done
	[ "$status" = 1 ] || fail "status $status"
	has "$err" "^failed: kernel '[1-4]\\.[1-4]\\.[1-4]-[a-d]'"
	[ "$(stat -c %s "$image")" -gt 1000000 ] || fail "the good one was not built"
	absent "$image.wubi-kept"
}

@test "profiles are chosen in the target, not here" {
	local here
	system
	[ -e "$DEB" ] || skip "no $DEB: run 'make deb'"
	here=$(cat /etc/wubi/profile.conf 2>/dev/null || echo none)
	done_by deb="$DEB" packages
	for _ in 1 2; do
		done_by profile-normal=safe profile-iso-copy=fast profile
		grep -q safe "$ROOT/etc/wubi/profile.conf" || fail "$(cat "$ROOT/etc/wubi/profile.conf")"
		[ -e "$ROOT/etc/sysctl.d/90-wubi.conf" ] || fail "no knobs"
	done
	eq "$(cat /etc/wubi/profile.conf 2>/dev/null || echo none)" "$here" "the machine's own choice"
	target profile-normal=nonesuch profile
	has "$err" '^no-profile: '
}
