#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Where an initramfs is built: what initramfs-tools and dracut are told, in a mount namespace in which nothing of this machine changes.

load ../lib.sh

HOOKS=$(cd "$TESTS_DIR/../initramfs-hook" && pwd)
SHARE=/usr/share/wubi-tools # where the configuration files look for the fragment

setup() {
	setup_common
	requires root unshare findmnt
	unshare -m true 2>/dev/null || skip 'needs mount namespaces'
	local file
	for file in initramfs-tools/conf-hooks.d/wubi dracut/50-wubi.conf; do
		grep -qF "$SHARE/build-in-memory" "$HOOKS/$file"
		sed "s,$SHARE/,$HOOKS/,g" "$HOOKS/$file" >"$T/${file##*/}"
	done
	VAR=sync SHM=size=1g INITRDS='40M 60M' SHELLS='sh bash'
}

# inside SHELL COMMAND: with a /var mounted $VAR, a tmpfs of $SHM ('': none) at /dev/shm and initrds of the sizes $INITRDS in /boot.
inside() {
	run env -u TMPDIR VAR="$VAR" SHM="$SHM" INITRDS="$INITRDS" T="$T" HOOKS="$HOOKS" unshare -m sh -ec '
		mount -t tmpfs -o "$VAR" var /var
		mkdir /var/tmp
		mount -t tmpfs boot /boot
		for size in $INITRDS; do truncate -s "$size" "/boot/initrd.img-$size"; done
		case $SHM in
		"") while umount -l /dev/shm 2>/dev/null; do :; done ;;
		*) mount -t tmpfs -o "$SHM" shm /dev/shm ;;
		esac
		cd /
		exec "$@"' sh "$@" 3>&-
}

# chosen FOLDER: by each shell that sources the fragment, as careful as the shell may be.
chosen() {
	local shell
	for shell in $SHELLS; do
		inside "$shell" -efuc 'IFS=/; wubi_memory=old; . "$HOOKS/build-in-memory"; echo "<$wubi_memory>"'
		eq "$output" "<$1>" "with $VAR, shm '$SHM', initrds '$INITRDS': the folder of $shell"
		status_is 0
	done
}

@test "build in memory: where /var/tmp is mounted sync, and nowhere else" {
	chosen /dev/shm
	VAR=async
	chosen ''
	VAR=dirsync
	chosen ''
}

@test "build in memory: only where it fits: 12 times the largest initrd and 64 MiB, 768 MiB without one" {
	SHM=size=784m
	chosen /dev/shm # 60 * 12 + 64
	SHM=size=783m
	chosen ''
	INITRDS='' SHM=size=768m
	chosen /dev/shm
	SHM=size=767m
	chosen ''
	INITRDS='0' # one that is being made
	chosen ''
	# not in the memory that is there, however large the tmpfs may become
	INITRDS="$(awk '/^MemTotal/ { print int($2 / 12) }' /proc/meminfo)K" SHM=size=16t
	chosen ''
}

@test "build in memory: only in a tmpfs that takes programs" {
	SHM=size=1g,noexec
	chosen ''
	SHM=size=1g,ro
	chosen ''
	SHM=''
	chosen ''
}

@test "build in memory: the shell that asks gets one variable more, and no function" {
	local shell
	for shell in $SHELLS; do
		inside "$shell" -c '
			seen() { set | sed -n "s/^\([A-Za-z0-9_]*\)[= ].*/\1/p" | grep -vx "_\|PIPESTATUS\|OPTIND\|BASH_.*\|LINENO" | sort -u; }
			before=; after=; before=$(seen)
			. "$HOOKS/build-in-memory"
			after=$(seen)
			test "$after" = "$(printf "%s\nwubi_memory\n" "$before" | sort -u)" || { echo "$before"; echo ---; echo "$after"; }'
		eq "$output" '' "what $shell has"
	done
}

@test "build in memory: no shell that asks ends where the tools are not there" {
	local shell
	for shell in $SHELLS; do
		inside "$shell" -euc 'PATH=/nowhere; . "$HOOKS/build-in-memory"; echo "<$wubi_memory>"'
		eq "$output" '<>' "the folder of $shell"
	done
}

@test "build in memory: mkinitramfs gets a TMPDIR, exported, unless there is one" {
	inside sh -ec '. "$T/wubi"; sh -c '\''echo "$TMPDIR"'\''; echo "${wubi_memory-none}"'
	eq "$output" $'/dev/shm\nnone'
	inside sh -ec 'TMPDIR=/mnt; . "$T/wubi"; echo "$TMPDIR"'
	eq "$output" /mnt
	VAR=async
	inside sh -ec '. "$T/wubi"; echo "${TMPDIR-none}"'
	eq "$output" none
}

@test "build in memory: dracut gets a tmpdir, unless there is one or a TMPDIR" {
	inside bash -ec '. "$T/50-wubi.conf"; echo "$tmpdir ${wubi_memory-none}"'
	eq "$output" '/dev/shm none'
	inside bash -ec 'tmpdir=/mnt; . "$T/50-wubi.conf"; echo "$tmpdir"'
	eq "$output" /mnt
	inside bash -ec 'TMPDIR=/mnt; . "$T/50-wubi.conf"; echo "${tmpdir-none}"'
	eq "$output" none
	VAR=async
	inside bash -ec '. "$T/50-wubi.conf"; echo "${tmpdir-none}"'
	eq "$output" none
}

@test "build in memory: mkinitramfs makes its folder there" {
	[ -r /usr/sbin/mkinitramfs ] || skip 'needs mkinitramfs'
	sed -n '/^# source package confs/,/^done/p; /^\[ -n "${TMPDIR}" \]/,/^DESTDIR=/p' /usr/sbin/mkinitramfs |
		sed "s,/usr/share/initramfs-tools/conf-hooks.d/,$T/hooks/," >"$T/part"
	mkdir "$T/hooks"
	cp "$T/wubi" "$T/hooks/wubi"
	grep -q hooks/ "$T/part" && grep -q mktemp "$T/part" || fail 'mkinitramfs is another one'
	inside sh -c '. "$T/part"; echo "$DESTDIR"'
	has "$output" '^/dev/shm/mkinitramfs_[^/]*$'
	VAR=async
	inside sh -c '. "$T/part"; echo "$DESTDIR"'
	has "$output" '^/var/tmp/mkinitramfs_[^/]*$'
}

@test "build in memory: a configuration file that was left behind is silent and changes nothing" {
	sed -i "s,$HOOKS/,/nowhere/," "$T/wubi" "$T/50-wubi.conf"
	inside sh -euc '. "$T/wubi"; echo "${TMPDIR-none}"'
	eq "$output" none
	inside bash -euc '. "$T/50-wubi.conf"; echo "${tmpdir-none}"'
	eq "$output" none
}
