# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# An initramfs that has all that it takes, made of this machine's own files: what the checks of wubi-initrd take away from.

WUBI_INITRD=${WUBI_INITRD:-$BUILD/wubi-initrd}
KERNEL=6.1.0-test
TREE=
MAPS=

# put PATH [TEXT]: a file in the tree.
put() {
	mkdir -p "$TREE/$(dirname "$1")"
	printf '%s\n' "${2:-x}" >"$TREE/$1"
}

# put_program FILE PATH: with its libraries, at the paths that ldd has.
put_program() {
	local library
	install -D -m 755 "$1" "$TREE/$2"
	ldd "$1" | sed -nE 's/.*(=> |\t)(\/[^ ]+) .*/\2/p' | while read -r library; do
		[ -e "$TREE/$library" ] || install -D -m 644 "$library" "$TREE/$library"
	done
	chmod 755 "$TREE/lib64/"ld-*
}

# fill_tree: all but the maps.
fill_tree() {
	local m
	put_program "$BUILD/wubi-attach" usr/sbin/wubi-attach
	put_program /sbin/dmsetup sbin/dmsetup
	for m in fsck fsck.ext4 logsave; do put_program "/sbin/$m" "sbin/$m"; done
	put "lib/modules/$KERNEL/kernel/drivers/md/dm-mod.ko"
	put "lib/modules/$KERNEL/kernel/drivers/dax/dax.ko"
	put "lib/modules/$KERNEL/modules.dep" "$(printf '%s\n' 'kernel/drivers/md/dm-mod.ko: kernel/drivers/dax/dax.ko' 'kernel/drivers/dax/dax.ko:')"
	put "lib/modules/$KERNEL/modules.builtin" kernel/fs/ext4/ext4.ko
	put lib/udev/rules.d/55-dm.rules
	put lib/udev/rules.d/95-dm-notify.rules
	put scripts/local-top/ORDER '/scripts/local-top/wubi "$@"'
	put scripts/local-top/wubi
	chmod 755 "$TREE/scripts/local-top/wubi"
}

# mktree [merged]: $TREE and $MAPS, complete; with "merged" bin, sbin and lib are links into usr.
mktree() {
	local m
	TREE=$T/tree MAPS=$T/maps
	mkdir -p "$TREE/usr" "$MAPS"
	if [ "${1:-}" = merged ]; then
		for m in bin sbin lib lib64; do
			mkdir -p "$TREE/usr/$m"
			ln -s "usr/$m" "$TREE/$m"
		done
	fi
	mkvol 64M
	create 16M
	cp "$M" "$MAPS/root.map"
	mkdir -p "$TREE/etc/wubi/maps"
	cp "$M" "$TREE/etc/wubi/maps/"
	fill_tree
}

cpio_of() { "$PY" "$TESTS_DIR/fixtures/cpiofx.py" "$@"; }

# mkimage [COMPRESSION...]: $T/initrd of the tree.
mkimage() {
	if [ $# -eq 0 ]; then cpio_of "$TREE" >"$T/initrd"; else cpio_of "$TREE" | "$@" >"$T/initrd"; fi
}

# wi ARG...: runs wubi-initrd with the test's maps.
wi() {
	status=0
	"$WUBI_INITRD" "$@" --maps "$MAPS" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

# complete ARG...: check finds nothing missing.
complete() {
	wi check "$@"
	[ "$status" = 0 ] || fail "wubi-initrd check $*: exit status $status, not 0"
}

# lacks_in REASON WORDS ARG...: check refuses with that one reason, in text and in JSON.
lacks_in() {
	local reason=$1 words=$2
	shift 2
	wi check "$@"
	status_is 3
	has "$err" "$words"
	wi check "$@" --json
	status_is 3
	eq "$(json '[.findings[].reason] | unique | join(" ")')" "$reason" "reasons"
}
