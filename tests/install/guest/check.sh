# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Behind tests/boot/guest/check.sh, in the live system and in what was installed: functions for the cases of the installer.

payload=/payload

timed() { # WHAT COMMAND...: as check, with its output as it comes, and the seconds
	local what=$1 start=$SECONDS status line
	shift
	"$@" 2>&1 </dev/null | while IFS= read -r line; do printf '%4d %s\n' $((SECONDS - start)) "$line"; done
	status=${PIPESTATUS[0]}
	result "$status" "$what"
	echo "TIME $((SECONDS - start)) $what"
}

open_payload() {
	mkdir -p "$payload"
	findmnt -n "$payload" >/dev/null || check 'the second CD' mount -o ro /dev/disk/by-label/WUBI-PAYLOAD "$payload"
}

our_packages() {
	open_payload
	timed 'our packages go into the live system, without a network' dpkg --force-unsafe-io -i "$payload"/debs/*.deb
}

efi_byte() { # VARIABLE: the global variable's value
	od -An -t u1 -j 4 -N 1 "/sys/firmware/efi/efivars/$1-8be4df61-93ca-11d2-aa0d-00e098032b8c" | tr -d ' '
}

secure_boot_is() { # on|off
	local want=1
	[ "$1" = on ] || want=0
	check "Secure Boot is $1" test "$(efi_byte SecureBoot)" = "$want"
	if [ "$1" = on ]; then check 'the kernel is locked down' grep -q '\[integrity\]' /sys/kernel/security/lockdown; fi
}

booted_entry() { # the name of the firmware's entry that was booted
	local number
	number=$(efibootmgr | sed -n 's/^BootCurrent: //p')
	efibootmgr | sed -n "s/^Boot${number}[* ] \\([^\t]*\\).*/\\1/p"
}

# What the live system was is in the target no more.
check_installed() { # what wubi-install.conf of the tests says
	local hash
	check 'the host name' test "$(hostname)" = wubi-test
	check 'the host name is known to itself' getent hosts wubi-test
	check 'the user' test "$(id -un 1000)" = ada
	check 'her full name' grep -q '^ada:x:1000:[0-9]*:Ada Lovelace' /etc/passwd
	check 'her home is hers' test "$(stat -c %U /home/ada)" = ada
	check 'she may become root' grep -q '^sudo:.*\bada\b' /etc/group
	hash=$(sed -n 's/^password-hash = "\(.*\)"$/\1/p' /etc/wubi-test.conf)
	check 'her password' test -n "$hash" -a "$(getent shadow ada | cut -d : -f 2)" = "$hash"
	check 'the time zone' test "$(readlink -f /etc/localtime)" = /usr/share/zoneinfo/Europe/Berlin
	check 'the clock is in local time, as in Windows' grep -qx LOCAL /etc/adjtime
	check 'the keyboard' grep -qx 'XKBLAYOUT="\?de"\?' /etc/default/keyboard
	check 'a machine id of its own' grep -qxE '[0-9a-f]{32}' /etc/machine-id
	check 'the EFI system partition is mounted' test "$(findmnt -n -o FSTYPE /boot/efi)" = vfat
	check_not 'live-boot is gone' test -e /usr/share/initramfs-tools/scripts/live
	check_not 'live-config is gone' test -e /lib/live/config
	check 'update-initramfs is the real one' test "$(dpkg-divert --truename /usr/sbin/update-initramfs)" = /usr/sbin/update-initramfs
	check 'dpkg has no unsafe setting' test -z "$(grep -rs force-unsafe-io /etc/dpkg)"
	check 'services may start' test ! -e /usr/sbin/policy-rc.d
	check 'all packages are whole' test -z "$(dpkg --audit)"
	check 'wubi-tools is in it' dpkg -s wubi-tools
	check 'the loader that is signed' dpkg -s shim-signed grub-efi-amd64-signed
	check 'the firmware started our entry' test "$(booted_entry)" = wubi
	check 'the command of the configuration' test -e /etc/default/grub.d/test.cfg
	show efibootmgr -v
	show df -h / /boot/efi
	show findmnt --real
}

boot_is_right() { # what starts it is as it should be, and wubi-boot knows it
	check 'wubi-boot status' wubi-boot status
	# shellcheck disable=SC2154 # in tests/boot/guest/check.sh
	check 'the map on the EFI system partition is the one in use' cmp "$map" /boot/efi/EFI/wubi/root.map
	show ls -l /boot/efi/EFI/wubi /boot/efi/boot/grub
}

refused() { # WORDS COMMAND...: for safety, and it says why
	local words=$1 out status
	shift
	out=$("$@" 2>&1 </dev/null)
	status=$?
	printf '%s\n' "$out"
	check 'refused' test "$status" -eq 3
	check "it says '$words'" grep -qF "$words" <<<"$out"
}

wait_for_refresh() { # after the image has moved
	timed 'wubi-map-refresh' systemctl start --wait wubi-map-refresh.service
	timed 'wubi-boot' systemctl start --wait wubi-boot.service
	show systemctl --no-pager status wubi-map-refresh.service wubi-boot.service
}
