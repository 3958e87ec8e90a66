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

fake_package() { # NAME
	local tree=$FOLDER/$1
	mkdir -p "$tree/DEBIAN" "$tree/usr/share/$1"
	echo "it is" >"$tree/usr/share/$1/file"
	printf '%s\n' "Package: $1" 'Version: 1' 'Architecture: all' 'Maintainer: nobody <nobody@example.org>' 'Description: made up' \
		>"$tree/DEBIAN/control"
	dpkg-deb -b "$tree" "$FOLDER/$1.deb" >/dev/null
}

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
