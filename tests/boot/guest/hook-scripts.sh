#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the chroot of build-check.sh, after it: our scripts in the initramfs images that it made, by each shell, with nothing but what is
# in the image. wubi-attach is replaced by a script that says how it was called. A line a step: "ok - WHAT" or "not ok - WHAT".
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tree=/tmp/tree

unpack() { # IMAGE: to $tree
	rm -rf "$tree"
	mkdir -p "$tree"
	if [ -x /usr/bin/dracut ]; then
		(cd "$tree" && lsinitrd --unpack "$1" >/dev/null 2>&1)
	else
		unmkinitramfs "$1" /tmp/unpacked
		if [ -d /tmp/unpacked/main ]; then mv /tmp/unpacked/main/* "$tree/"; else mv /tmp/unpacked/* "$tree/"; fi
	fi
	cat >"$tree/usr/sbin/wubi-attach" <<-'END'
		#!/bin/sh
		echo "wubi-attach $*" >>/tmp/calls
		read -r status </tmp/status
		if [ "$1" = --print-root ] && [ "$status" = 0 ]; then echo /dev/mapper/wubi-root; fi
		exit "$status"
	END
	mkdir -p "$tree/tmp/shells"
	for shell in /bin/dash /bin/bash /bin/busybox; do
		[ -x "$shell" ] || continue
		cp "$shell" "$tree/tmp/shells/"
		ldd "$shell" | sed -nE 's/.*(=> |\t)(\/[^ ]+) .*/\2/p' | while read -r library; do
			[ -e "$tree/$library" ] || cp --parents -L "$library" "$tree/"
		done
	done
}

# by SHELL WORD...: in the image, with the folders that an init has in its PATH.
by() {
	local shell
	read -r -a shell <<<"$1"
	shift
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$tree" "${shell[@]}" "$@" >/tmp/out 2>&1
}

calls() { [ "$(cat "$tree/tmp/calls" 2>/dev/null)" = "$1" ]; }
said() { grep -q -- "$1" /tmp/out; }
says() { echo "$1" >"$tree/tmp/status"; rm -f "$tree/tmp/calls"; }

step() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@"; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		cat /tmp/out "$tree/tmp/calls"
	fi
}

local_top() { # SHELL
	local script=/scripts/local-top/wubi call='wubi-attach --console --root-conf /conf/param.conf'
	says 0
	by "$1" $script prereqs && said '^udev' && [ ! -e "$tree/tmp/calls" ] || return 1
	by "$1" $script && calls "$call" && ! said . || return 1
	says 3
	by "$1" $script # the shell that panic gives is left when things are right again
	calls "$call"$'\n'"$call" && said '^panic: wubi: ' || return 1
	mv "$tree/usr/sbin/wubi-attach" "$tree/tmp/away"
	by "$1" $script && ! said .
	local result=$?
	mv "$tree/tmp/away" "$tree/usr/sbin/wubi-attach"
	return "$result"
}

generator() { # SHELL
	local early=/tmp/early
	rm -rf "${tree:?}$early"
	mkdir "$tree$early"
	says 0
	by "$1" /usr/lib/systemd/system-generators/wubi-generator /tmp "$early" /tmp && calls 'wubi-attach --print-root' && ! said . &&
		grep -qx 'What=/dev/mapper/wubi-root' "$tree$early/sysroot.mount" &&
		grep -qxF 'Wants=systemd-fsck@dev-mapper-wubi\x2droot.service' "$tree$early/sysroot.mount" &&
		grep -qx JobTimeoutSec=infinity "$tree$early/dev-mapper-wubi\\x2droot.device.d/50-wubi.conf" &&
		[ "$(readlink "$tree$early/initrd-root-fs.target.requires/sysroot.mount")" = ../sysroot.mount ] || return 1
	rm -r "${tree:?}$early"
	mkdir "$tree$early"
	says 1
	by "$1" /usr/lib/systemd/system-generators/wubi-generator /tmp "$early" /tmp && [ -z "$(ls "$tree$early")" ]
}

folder_of() { # hooks: where this dracut has them
	if [ -d "$tree/var/lib/dracut/$1" ]; then echo "/var/lib/dracut/$1"; else echo "/lib/dracut/$1"; fi
}

emergency() { # SHELL
	local hook
	hook=$(folder_of hooks)/emergency/90-wubi-emergency.sh
	mkdir -p "$tree/run/wubi"
	printf '%s\n' 'wubi: root: not attached: emptied' 'wubi:   a "reason" \n' >"$tree/run/wubi/boot.log"
	by "$1" -c ". $hook" && cmp -s /tmp/out "$tree/run/wubi/boot.log" || return 1
	rm "$tree/run/wubi/boot.log"
	by "$1" -c ". $hook"
	! said .
}

initqueue() { # SHELL
	local hooks run='emergency_shell() { echo "emergency: $*"; }; job=/tmp/job; . '
	hooks=$(folder_of hooks)/initqueue
	touch "$tree/tmp/job"
	says 1
	by "$1" -c "$run$hooks/settled/20-wubi-attach.sh" && said '^emergency: wubi: ' && [ -e "$tree/tmp/job" ] || return 1
	says 0
	by "$1" -c "$run$hooks/settled/20-wubi-attach.sh" && calls 'wubi-attach --console' && ! said . && [ ! -e "$tree/tmp/job" ] || return 1
	by "$1" -c "hookdir=$(folder_of hooks); . $hooks/finished/20-wubi-finished.sh" && return 1
	mv "$tree/$hooks/settled/20-wubi-attach.sh" "$tree/tmp/away"
	by "$1" -c "hookdir=$(folder_of hooks); . $hooks/finished/20-wubi-finished.sh" || return 1
	mv "$tree/tmp/away" "$tree/$hooks/settled/20-wubi-attach.sh"
	by "$1" -c "root=UUID=1; . $hooks/../cmdline/90-wubi-root.sh; echo \$root \$rootok" && said '^block:/dev/mapper/wubi-root 1$' || return 1
	says 1
	by "$1" -c "root=UUID=1; . $hooks/../cmdline/90-wubi-root.sh; echo \$root" && said '^UUID=1$'
}

each_shell() { # WHAT
	local shell
	for shell in "$tree"/tmp/shells/*; do
		shell=/tmp/shells/$(basename "$shell")
		[ "$shell" != /tmp/shells/busybox ] || shell="$shell sh"
		step "$1, $shell" "$1" "$shell"
	done
}

unpack /root/initrd
if [ -x /usr/bin/dracut ]; then
	each_shell generator
	each_shell emergency
	unpack /root/initrd.nosystemd
	each_shell initqueue
else
	echo 'panic() { echo "panic: $*"; echo 0 >/tmp/status; }' >"$tree/scripts/functions"
	each_shell local_top
fi
echo 'ok - all steps were made'
