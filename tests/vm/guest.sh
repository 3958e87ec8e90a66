# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For guest scripts (see run.sh): . "$(dirname "$0")/guest.sh"
# A script is a row of checks; each says what it saw when it fails, the rest still runs, and finish() is the exit status.

guest_failed=0
guest_checks=0

# load_module NAME...: with what each depends on. insmod only if there is one: Debian has the guest's modules but
# perhaps no kmod, while perl is always there; 313 is finit_module on x86-64.
load_module() {
	local name line file
	for name in "$@"; do
		line=$(grep -E "/${name//_/[-_]}\.ko:" "/usr/lib/uml/modules/$(uname -r)/modules.dep") || return 1
		# modules.dep lists the nearest dependency first: insert from the end.
		for file in $(printf '%s\n' "${line/:/}" | tr ' ' '\n' | tac); do
			name=${file##*/} name=${name%.ko} name=${name//-/_}
			[ ! -d "/sys/module/$name" ] || continue
			insert_module "/usr/lib/uml/modules/$(uname -r)/$file" || return 1
		done
	done
}

insert_module() {
	if command -v insmod >/dev/null; then
		insmod "$1"
	else
		perl -e 'open(my $f, "<", $ARGV[0]) or die "$ARGV[0]: $!\n";
			syscall(313, fileno($f), my $none = "", 0) == 0 or die "$ARGV[0]: $!\n";' "$1"
	fi
}

pass() {
	guest_checks=$((guest_checks + 1))
	echo "ok: $1"
}

fail() {
	guest_checks=$((guest_checks + 1))
	guest_failed=$((guest_failed + 1))
	echo "NOT OK: $1"
	shift
	[ $# -eq 0 ] || printf '    %s\n' "$@"
}

# check WHAT COMMAND...: the command succeeds.
check() {
	local what=$1
	shift
	if "$@" >/run/check.out 2>&1; then
		pass "$what"
	else
		fail "$what" "status $? of: $*" "$(cat /run/check.out)"
	fi
}

# check_status WHAT STATUS COMMAND...: the command ends with exactly this status; its output stays in /run/check.out.
check_status() {
	local what=$1 wanted=$2 status
	shift 2
	"$@" >/run/check.out 2>&1
	status=$?
	if [ "$status" -eq "$wanted" ]; then
		pass "$what"
	else
		fail "$what" "status $status, wanted $wanted, of: $*" "$(cat /run/check.out)"
	fi
}

# check_output WHAT PATTERN: the last command of check_status said this (extended regular expression).
check_output() {
	if grep -qiE -- "$2" /run/check.out; then
		pass "$1"
	else
		fail "$1" "no '$2' in:" "$(cat /run/check.out)"
	fi
}

check_equal() { # WHAT WANTED SEEN
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "wanted: $2" "seen:   $3"
	fi
}

# A part of a script that this guest cannot run is named, never silently left out.
skip() {
	echo "SKIP: $1"
}

checksum() { # FILE OR DEVICE
	sha256sum <"$1" | cut -d ' ' -f 1
}

# ntfs_mount [OPTION...] VOLUME DIRECTORY: by ntfs-3g; ntfs_umount DIRECTORY also waits for its daemon to let go.
ntfs_mount() {
	local dir=${*: -1}
	mkdir -p "$dir" && ntfs-3g "$@"
}

ntfs_umount() {
	local tries=100
	umount "$1" || return 1
	while [ "$tries" -gt 0 ] && pgrep -f "ntfs-3g.* $1\$" >/dev/null; do
		sleep 0.05 # until the daemon has gone: umount does not wait for it
		tries=$((tries - 1))
	done
	[ "$tries" -gt 0 ]
}

# put_photo VOLUME SIZE: a file of the user's on the Windows side, by ntfs-3g; its sum is $photo.
put_photo() {
	ntfs_mount "$1" /run/n || fail 'ntfs-3g mounts the volume'
	mkdir -p /run/n/Users
	head -c "$2" /dev/urandom >/run/n/Users/holiday.jpg
	# shellcheck disable=SC2034 # for the script
	photo=$(checksum /run/n/Users/holiday.jpg)
	ntfs_umount /run/n || fail 'ntfs-3g lets go'
}

now_ms() {
	date +%s%3N
}

finish() {
	echo "$guest_checks checks, $guest_failed failed"
	[ "$guest_failed" -eq 0 ] && [ "$guest_checks" -gt 0 ]
	exit
}
