# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Runs in the guest as root, at the login prompt or as init: what every boot has to show, and functions for a case's own lines, which the
# runner appends. Results go to the second serial port, a line a check: BOOT-CHECK ok|NOT OK: WHAT; at the end BOOT-DONE STATUS.

export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
echo "BOOT-CHECKS" >/dev/console
exec >/dev/ttyS1 2>&1 </dev/null
stty raw -echo <&1
failed=0
map=/etc/wubi/maps/root.map
disk=/usr/sbin/wubi-disk

result() { # STATUS WHAT
	if [ "$1" -eq 0 ]; then echo "BOOT-CHECK ok: $2"; else failed=1 && echo "BOOT-CHECK NOT OK: $2"; fi
}

check() { # WHAT COMMAND...: the command succeeds
	local what=$1 out status
	shift
	out=$("$@" 2>&1)
	status=$?
	[ "$status" -eq 0 ] || printf '%s: status %d\n%s\n' "$*" "$status" "$out"
	result "$status" "$what"
}

check_not() { # WHAT COMMAND...: the command fails
	local what=$1 out
	shift
	if out=$("$@" 2>&1); then printf '%s: succeeded\n%s\n' "$*" "$out" && result 1 "$what"; else result 0 "$what"; fi
}

show() { # COMMAND...: into the log
	echo "\$ $*"
	"$@" 2>&1
}

# The runner waits for the line on the console: from there on the machine only powers off.
done_checking() {
	echo "BOOT-DONE $failed"
	sync
}

boot_json() { # WORD: boot.json has it, white space aside
	tr -d ' \n\t' </run/wubi/boot.json | grep -qF -- "$1"
}

host() { # the host partition, by the table of wubi-root
	local numbers
	numbers=$(dmsetup table wubi-root | awk 'NR == 1 { print $4 }')
	echo "/dev/$(basename "$(readlink "/sys/dev/block/$numbers")")"
}

says_ebusy() { # COMMAND...: fails, because the thing is in use
	local out
	out=$("$@" 2>&1) && echo "succeeded" && return 1
	echo "$out"
	case $out in *busy*) return 0 ;; esac
	return 1
}

# mount(2) itself: what mount(8) says differs between versions. The kernel claims the device before it looks at what is on it.
mount_it() { # DEVICE
	perl -e 'my ($at, $type) = ("/mnt", "ext4"); exit 0 if syscall(165, $ARGV[0], $at, $type, 1, 0) == 0; print "$!\n"; exit 1' "$1"
}

no_driver_mounted() { # neither NTFS nor FUSE nor a loop device; /sys/fs/fuse/connections is systemd's
	! awk '$3 ~ /^(ntfs|ntfs3|fuseblk|fuse|fuse\..*)$/ || $1 ~ /^\/dev\/loop/ { print; found = 1 } END { exit !found }' /proc/mounts
}

root_is_ours() { [ "$(findmnt -n -o SOURCE /)" = /dev/mapper/wubi-root ] && dmsetup info -c --noheadings -o uuid wubi-root | grep -q '^WUBI-'; }

is_zero() { # FILE OFFSET_SECTORS SECTORS: at most 1 MiB of them, all zeros and not a byte less
	local count=$(($3 < 2048 ? $3 : 2048))
	[ "$(dd if="$1" bs=512 skip="$2" count="$count" status=none | tr -d '\0' | wc -c)" -eq 0 ] &&
		[ "$(dd if="$1" bs=512 skip="$2" count="$count" status=none | wc -c)" -eq $((count * 512)) ]
}

extents_are_zero() { # DEVICE: at both ends of each extent
	local logical physical count n=0
	while read -r _ logical physical count; do
		if ! is_zero "$1" "$physical" "$count" || ! is_zero "$1" $((physical + count - 8)) 8; then
			echo "not zero: the extent at $logical"
			return 1
		fi
		n=$((n + 1))
	done < <(grep '^extent ' "$map")
	[ "$n" -gt 0 ]
}

attached_again() { # a second run changes nothing
	local before after
	before=$(dmsetup table | sort; dmsetup info -c --noheadings -o name,uuid,open | sort)
	/usr/sbin/wubi-attach || return
	after=$(dmsetup table | sort; dmsetup info -c --noheadings -o name,uuid,open | sort)
	[ "$before" = "$after" ]
}

check_host() { # the Windows files beside the running system, and zeros where the images lie
	check 'wubi-host start' wubi-host start
	check 'wubi-host start again' wubi-host start
	show findmnt /host
	check '/host shows the Windows files' grep -q 'Windows can read' /host/Users/Ada/Documents/letter.txt
	check_not '/host is read-only' touch /host/Users/Ada/new
	check 'zeros where root.disk lies' extents_are_zero /dev/mapper/wubi-host
	check 'zeros in /host/ubuntu/disks/root.disk' is_zero /host/ubuntu/disks/root.disk 0 2048
	check 'wubi-host stop' wubi-host stop
	check 'wubi-host stop again' wubi-host stop
	check_not 'no device wubi-host is left' test -e /dev/mapper/wubi-host
}

check_root() { # VERDICT
	show findmnt /
	show dmsetup table
	show lsblk
	show cat /run/wubi/boot.json
	check '/ is /dev/mapper/wubi-root, and that is ours' root_is_ours
	check 'no ntfs, fuse or loop in /proc/mounts' no_driver_mounted
	check "boot.json says $1" boot_json "\"verdict\":\"$1\""
	check 'mounting the partition directly fails with EBUSY' says_ebusy mount_it "$(host)"
}

check_system() { # VERDICT
	check_root "$1"
	check 'the login prompt is there' systemctl is-active multi-user.target serial-getty@ttyS0.service
	check 'no unit failed' test -z "$(systemctl --failed --no-legend --plain | tee /dev/ttyS1)"
	check 'ntfs-3g cannot mount it either' says_ebusy ntfs-3g -o ro "$(host)" /mnt
	check_not 'no hibernation' systemctl hibernate
	check 'the durability profile that was chosen is in force' wubi-profile status
}

check_live() { # VERDICT: of a boot that nothing was done to
	check_system "$1"
	check 'wubi-disk verify on the live root says match' "$disk" verify "$(host)" --map "$map"
	check 'wubi-attach a second time is harmless' attached_again
	check_host
}

check_everything() { # VERDICT
	check_live "$1"
	check 'wubi-initrd check passes on the running initramfs' wubi-initrd check "/boot/initrd.img-$(uname -r)"
}
