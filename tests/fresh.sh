#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Proves that 'make demo' and 'make check' do on a fresh Debian 12: a minimal root file system, a clone of HEAD, both commands.
# Needs root, mmdebstrap and a Debian mirror. MIRROR names another than deb.debian.org's.
set -eu
cd "$(dirname "$0")/.."
command -v mmdebstrap >/dev/null || { echo "fresh: mmdebstrap is missing: run 'make deps'" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "fresh: needs root: a chroot with /proc, /sys and /dev" >&2; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-fresh.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
git bundle create "$work/wubi-tools.bundle" HEAD
[ -z "$(git status --porcelain)" ] || echo "fresh: what is not committed is not tested" >&2

cat >"$work/inside" <<'INSIDE'
#!/bin/sh
set -eux
cd /root
git clone -q wubi-tools.bundle wubi-tools
cd wubi-tools
make demo
make check
INSIDE
chmod +x "$work/inside"

# A machine has /dev/fuse and loop devices; the chroot's own /dev has not, and tests that need them would skip.
cat >"$work/enter" <<'ENTER'
#!/bin/sh
set -eu
mount --rbind /dev "$1/dev"
mount --make-rslave "$1/dev"
status=0
chroot "$1" /root/inside || status=$?
umount -R -l "$1/dev"
exit "$status"
ENTER
chmod +x "$work/enter"

status=0
mmdebstrap --mode=root --variant=minbase --include=make,git,ca-certificates --skip=cleanup/apt/lists \
	--customize-hook="copy-in $work/wubi-tools.bundle $work/inside /root" \
	--customize-hook="$work/enter \"\$1\"" \
	bookworm /dev/null ${MIRROR:+"$MIRROR"} || status=$?
if [ "$status" -eq 0 ]; then
	echo "fresh: make demo and make check passed on a fresh Debian 12"
else
	echo "fresh: failed with status $status" >&2
fi
exit "$status"
