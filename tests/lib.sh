# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
# Shared by the bats files: load ../lib.sh . Every test has its own folder $T, gone afterwards.
# Nothing outside the project is read but the tools that a fresh Debian has.

TESTS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=${BUILD:-$(cd "$TESTS_DIR/.." && pwd)/build}
WUBI_DISK=${WUBI_DISK:-$BUILD/wubi-disk}
FAULTSHIM=${FAULTSHIM:-$BUILD/tests/fault/faultshim_preload.so}
export BUILD WUBI_DISK FAULTSHIM
PY=/usr/bin/python3
IMG=/ubuntu/disks/root.disk
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
export PYTHONDONTWRITEBYTECODE=1
# a preloaded library comes before libasan, which would refuse to start
export ASAN_OPTIONS=${ASAN_OPTIONS:-verify_asan_link_order=0:detect_leaks=1:abort_on_error=0:exitcode=99}

setup_common() {
	T=$BATS_TEST_TMPDIR
	V=$T/v.img
	M=$T/root.map
	MOUNTED='' LOOPS=''
}

setup() { setup_common; }
teardown() { cleanup; }

# Undoes what a test left: mounts, loop devices, its folder (big volumes must not pile up).
cleanup() {
	local l
	for l in $MOUNTED; do umount -l "$l" 2>/dev/null || true; done
	for l in $LOOPS; do
		# one that the test gave back itself may be another test's by now
		case $(losetup -n -O BACK-FILE "$l" 2>/dev/null) in "$T"/*) ;; *) continue ;; esac
		partx -d "$l" 2>/dev/null || true
		losetup -d "$l" 2>/dev/null || true
	done
	rm -rf "${T:?}"/* 2>/dev/null || true
}

# requires TOOL...: skips, and says why, when one is not there.
requires() {
	local t
	for t in "$@"; do
		case $t in
		root) [ "$(id -u)" = 0 ] || skip "needs root" ;;
		fuse) { [ -w /dev/fuse ] && command -v ntfs-3g >/dev/null; } || skip "needs /dev/fuse" ;;
		loop) { [ "$(id -u)" = 0 ] && losetup -f >/dev/null 2>&1; } || skip "needs loop devices" ;;
		*) command -v "$t" >/dev/null || skip "needs $t" ;;
		esac
	done
}

# mkvol SIZE [CLUSTER [SECTOR [mkntfs options]]]: an empty NTFS in $V; "" for mkntfs' own choice.
mkvol() {
	local size=$1 cluster=${2:-} sector=${3:-512}
	shift $(($# < 3 ? $# : 3))
	rm -f "$V"
	truncate -s "$size" "$V"
	mkntfs -F -Q -q -p 2048 -H 255 -S 63 -s "$sector" ${cluster:+-c "$cluster"} "$@" "$V" >"$T/mkntfs.log" 2>&1 ||
		fail "mkntfs: $(tail -3 "$T/mkntfs.log")"
	"$TESTS_DIR/fixtures/own-serial" "$V" || fail "ntfslabel"
}

# slow_one: what takes minutes under valgrind and shows nothing new there.
slow_one() { [ -z "${WUBI_VALGRIND:-}" ] || skip "too slow under valgrind"; }

# not_valgrind WHY: what valgrind itself cannot do.
not_valgrind() { [ -z "${WUBI_VALGRIND:-}" ] || skip "under valgrind: $1"; }

fx() { "$PY" "$TESTS_DIR/fixtures/ntfsfx.py" "$@"; }
mapfx() { "$PY" "$TESTS_DIR/fixtures/mapfx.py" "$@"; }
ntfscheck() { "$PY" "$TESTS_DIR/fault/ntfscheck.py" "$@"; }

# field NAME IMAGE [PATH]: one of the values of 'ntfsfx.py stat'.
field() { fx stat "$2" "${3:-$IMG}" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

# A checksum of the content of a file; quick for sparse ones.
sum() { fx sparse-sum "${1:-$V}"; }

fail() {
	printf '%s\n' "$*" >&2
	if [ -n "${err:-}" ]; then printf 'stderr was: %s\n' "$err" >&2; fi
	if [ -n "${out:-}" ]; then printf 'stdout was: %.2000s\n' "$out" >&2; fi
	return 1
}

# wd ARG...: runs wubi-disk. $status, $out, $err.
wd() {
	status=0
	"$WUBI_DISK" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

# ok ARG...: wubi-disk must succeed.
ok() {
	wd "$@"
	[ "$status" = 0 ] || fail "wubi-disk $*: exit status $status, not 0"
}

status_is() { [ "$status" = "$1" ] || fail "exit status $status, not $1"; }
eq() { [ "$1" = "$2" ] || fail "${3:-value}: '$1' is not '$2'"; }
has() { grep -qiE -e "$2" <<<"$1" || fail "no /$2/ in: $1"; }
lacks() { ! grep -qiE -e "$2" <<<"$1" || fail "/$2/ in: $1"; }
absent() { [ ! -e "$1" ] || fail "$1 is there"; }

# json FILTER: jq over the last stdout, which must be exactly one value.
json() {
	jq -es 'length == 1' "$T/out" >/dev/null || fail "stdout is not one JSON value"
	jq -r "$1" "$T/out"
}

# reasons: all reason codes of the last --json output, one a line.
reasons() { json '[.. | objects | .reason? // empty] | unique | .[]'; }

# refuses REASON WORDS ARG...: exit 3, that reason in JSON, WORDS (an extended regular expression each, separated by
# '&') in stderr, and not a byte of $V changed.
refuses() {
	local reason=$1 words=$2 before w
	shift 2
	rm -f "$M" # what an earlier create wrote
	before=$(sum "$V")
	wd "$@"
	status_is 3
	while read -r w; do
		[ -z "$w" ] || has "$err" "$w"
	done <<<"${words//&/$'\n'}"
	wd "$@" --json
	status_is 3
	grep -qxF "$reason" <<<"$(reasons)" || fail "reason is not $reason"
	eq "$(sum "$V")" "$before" "checksum of the volume"
	absent "$M"
}

create() { ok create "$V" --size "${1:-16M}" --map "$M" "${@:2}"; }

# verdict_is NAME [ARG...]: 'verify' says so, in JSON and by its exit status, and leaves the volume alone.
verdict_is() {
	local want=$1 before v=${V2:-$V}
	shift
	before=$(sum "$v")
	wd verify "$v" --map "$M" --json "$@"
	eq "$(json .verdict)" "$want" "verdict ($(json '.reasons|join("; ")' 2>/dev/null))"
	if [ "$want" = match ]; then status_is 0; else status_is 3; fi
	eq "$(sum "$v")" "$before" "checksum of the volume after verify"
}

# why: the reasons of the last verify.
why() { json '.reasons | join("; ")'; }

# in_ntfs COMMAND: mounts $V by ntfs-3g, evaluates COMMAND in there, unmounts, and waits until the daemon has gone.
in_ntfs() {
	local m=$T/mnt pipe=$T/daemon.fifo waiter rc=0
	mkdir -p "$m"
	rm -f "$pipe"
	mkfifo "$pipe"
	cat "$pipe" >/dev/null 3>&- &
	waiter=$!
	ntfs-3g -o "${NTFS_OPTIONS:-rw}" "$V" "$m" 3>&- 9>"$pipe" 2>"$T/ntfs-3g.log" || fail "ntfs-3g: $(cat "$T/ntfs-3g.log")"
	MOUNTED="$MOUNTED $m"
	(cd "$m" && eval "$1") 3>&- || rc=$?
	umount "$m" || rc=$?
	wait "$waiter"
	return "$rc"
}

# loop ARG... : a loop device, its name in $L.
loop() {
	L=$(losetup -f --show "$@") || fail "losetup $*"
	LOOPS="$LOOPS $L"
}

# second_opinion [VOLUME]: ntfsresize's check of $Bitmap against every run list, and our own reader.
second_opinion() {
	local v=${1:-$V}
	ntfsresize -i -f "$v" >"$T/ntfsresize.log" 2>&1 || fail "ntfsresize: $(cat "$T/ntfsresize.log")"
	ntfscheck "$v" >"$T/check.json" || fail "ntfscheck: $(cat "$T/check.json")"
}

# mapped MAP VOLUME OUT: the image's bytes through the map, as a sparse file.
mapped() { "$PY" "$TESTS_DIR/fixtures/mapfx.py" extract "$@"; }
