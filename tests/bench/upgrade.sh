#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# upgrade.sh: the price of a durability profile where people feel it: apt upgrades about 50 packages of a Debian 12 that lives in
# an image, on the kernel of a user-mode Linux guest. A row a profile: seconds (median and spread), what is left to write at
# the end, flushes of the disk. Prints ratios; asserts none. 'upgrade.sh guest PROFILE' is what runs in the guest.
#   UPGRADE_ROUNDS    how often each (default 1)
#   UPGRADE_FLUSH_MS  what a flush of the disk takes beside what it takes here, by dm-delay (default 0); a hard disk needs about 10
#   UPGRADE_PROFILES  which (default: kernel, which sets nothing, safe, balanced, fast)
set -u -o pipefail
rounds=${UPGRADE_ROUNDS:-1}
profiles=${UPGRADE_PROFILES:-kernel safe balanced fast}
flush_ms=${UPGRADE_FLUSH_MS:-0}
packages=50

flushes() { # so many did the disk get
	awk '{ print $16 }' /sys/block/ubda/stat
}

now_ms() {
	date +%s%3N
}

in_guest() { # PROFILE
	local root=/mnt/root volume=/dev/ubda2 start end synced before dir
	# shellcheck source=tests/vm/guest.sh
	. "$WUBI_TOP/tests/vm/guest.sh"
	load_module dm_mod || exit 1
	if [ "$flush_ms" -gt 0 ]; then
		load_module dm_delay && dmsetup create slow --table "0 $(blockdev --getsz $volume) \
			delay $volume 0 0 $volume 0 0 $volume 0 $flush_ms" && dmsetup mknodes slow || exit 1
		volume=/dev/mapper/slow
	fi
	"$WUBI_BUILD/wubi-disk" attach $volume --map "$WUBI_WORK/root.map" >/dev/null || exit 1
	mkdir -p $root && mount /dev/mapper/wubi-root $root || exit 1
	for dir in proc sys dev run; do mount --rbind /$dir $root/$dir || exit 1; done
	mkdir -p $root/mnt/repository && mount --bind "$WUBI_WORK/repository" $root/mnt/repository || exit 1
	rm -f $root/etc/apt/sources.list $root/etc/apt/sources.list.d/*
	echo 'deb [trusted=yes] copy:/mnt/repository ./' >$root/etc/apt/sources.list.d/local.list
	ln -sf /bin/true $root/usr/sbin/update-initramfs # takes minutes here, and is the same for all
	cp "$WUBI_BUILD/wubi-profile" $root/usr/sbin/
	chroot $root apt-get -q update >/run/log 2>&1 || { cat /run/log; exit 1; }
	[ "$1" = kernel ] || chroot $root wubi-profile set "$1" || exit 1
	sync
	before=$(flushes) start=$(now_ms)
	DEBIAN_FRONTEND=noninteractive chroot $root apt-get -q -y upgrade >/run/log 2>&1 || { tail -n 20 /run/log; exit 1; }
	end=$(now_ms)
	sync
	synced=$(now_ms)
	grep -E '^[0-9]+ upgraded' /run/log
	echo "$1 $((end - start)) $((synced - end)) $(($(flushes) - before))" >>"$WUBI_WORK/measured"
}

# The same packages with a higher version. One that another needs in exactly its version stays as it is.
make_repository() { # FOLDER-OF-DEBS
	local deb part=$work/part needed name
	needed=$(for deb in "$1"/*.deb; do dpkg-deb -f "$deb" Depends Pre-Depends; done |
		grep -oE '[a-z0-9.+-]+(:any)? \(= ' | sed 's/[: ].*//' | sort -u)
	mkdir "$work/repository"
	for deb in "$1"/*.deb; do
		name=$(dpkg-deb -f "$deb" Package)
		case $name in linux-* | initramfs-tools* | libc6* | kmod) continue ;; esac
		grep -qx "$name" "$work/installed" || continue
		! grep -qxF "$name" <<<"$needed" || continue
		rm -rf "$part"
		dpkg-deb -R "$deb" "$part" && sed -i '/^Version:/s/$/+wubi1/' "$part/DEBIAN/control" &&
			dpkg-deb -Zzstd -z1 -b "$part" "$work/repository/" >/dev/null || return 1
		[ "$(find "$work/repository" -name '*.deb' | wc -l)" -lt $packages ] || break
	done
	(cd "$work/repository" && dpkg-scanpackages -m . >Packages 2>/dev/null)
}

# Names of the packages that the system on the disk has.
installed() { # FOLDER-OF-DISK
	python3 - "$1" "$work/image" <<-'PYTHON' && debugfs -R 'cat /var/lib/dpkg/status' "$work/image" 2>/dev/null |
		import sys
		sys.path.insert(0, 'tests/boot')
		from image import Layout, gather
		gather(sys.argv[1] + '/disk', Layout(), sys.argv[1] + '/maps/root.map', sys.argv[2])
	PYTHON
		sed -n 's/^Package: //p' >"$work/installed"
	rm -f "$work/image"
	[ -s "$work/installed" ]
}

prepare() {
	system=$(python3 tests/boot/image.py bookworm-initramfs | tail -n 1) && installed "$system" &&
		make_repository "${WUBI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/wubi-tools}/debs/bookworm"
}

row() { # PROFILE
	awk -v p="$1" '$1 == p { print $2, $3, $4 }' "$work/measured" | sort -n | awk -v p="$1" -v base="$base_ms" '
		{ ms[NR] = $1; left[NR] = $2; flushes[NR] = $3 }
		END { m = int((NR + 1) / 2); printf "%-10s %7.1f s (%.1f to %.1f) %6.2f %10.1f s %9d\n", p, ms[m] / 1000, ms[1] / 1000,
			ms[NR] / 1000, ms[m] / base, left[m] / 1000, flushes[m] }'
}

if [ "${1:-}" = guest ]; then
	in_guest "$2"
	exit
fi
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-$PWD/build} PYTHONDONTWRITEBYTECODE=1 PATH=$PATH:/usr/sbin:/sbin
command -v linux.uml >/dev/null || { echo "upgrade.sh: no linux.uml, nothing measured"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "upgrade.sh: needs root for the system's disk, nothing measured"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-bench.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
prepare || { echo "upgrade.sh: no system to upgrade" >&2; exit 1; }
cp "$system/maps/root.map" "$work/"
for ((round = 0; round < rounds; round++)); do
	for profile in $profiles; do
		cp --sparse=always "$system/disk" "$work/disk"
		tests/vm/run.sh -v -m 1G -w "$work" -t 3600 -e "UPGRADE_FLUSH_MS=$flush_ms" -d "$work/disk" "$PWD/tests/bench/upgrade.sh" guest "$profile" >"$work/log" ||
			{ cat "$work/log"; exit 1; }
	done
done
grep -h 'upgraded' "$work/log"
base_ms=$(awk '$1 == "kernel" { print $2 }' "$work/measured" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
[ "$flush_ms" = 0 ] || echo "a flush takes $flush_ms ms longer:"
printf '%-10s %30s %6s %12s %9s\n' profile "apt upgrade, median of $rounds" ratio 'still to do' flushes
for profile in $profiles; do
	row "$profile"
done
