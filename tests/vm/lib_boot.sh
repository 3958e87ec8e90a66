# shellcheck shell=bash disable=SC2034,SC2119,SC2120
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For guest scripts that run wubi-attach: . "$(dirname "$0")/lib_boot.sh"
# Volumes are files of the work directory, made ready on the host, plugged in as loop devices. A process costs more here than
# on the host, so what bash can do it does.

. "$(dirname "$0")/guest.sh"

program=$WUBI_BUILD/wubi-attach
image=/ubuntu/disks/root.disk
mapper=/dev/mapper/wubi-root
declare -A verdict device reasons # of each map, by boot.json

# plug NAME.img [LOSETUP-OPTION...]: its device is $plugged.
plug() {
	local name=$1
	shift
	plugged=$(losetup -f --show "$@" "$WUBI_WORK/$name") || fail "losetup $name"
}

# later SECONDS COMMAND...: in the background, while boot runs.
later() {
	{
		sleep "$1" # the delay is what is tested
		"${@:2}"
	} >/run/later.out 2>&1 &
}

# plug_as NUMBER NAME.img: as /dev/loopNUMBER, with its partitions.
plug_as() {
	losetup -P "/dev/loop$1" "$WUBI_WORK/$2"
}

devices() {
	local file name
	for file in /sys/block/dm-*/dm/name; do
		[ -e "$file" ] || continue
		read -r name <"$file"
		printf '%s ' "$name"
	done
}

# The start of a case: nothing is plugged in, the maps are those of the work directory's folder maps/.
fresh() {
	local name
	wait # for what later() does
	for name in $(devices); do
		dmsetup remove "$name" || fail "remove $name"
	done
	losetup -D
	maps=$WUBI_WORK/maps
	cmdline="root=$mapper ro quiet"
	timeout=2 # seconds for a host that is not there
}

# boot [OPTION...]: runs wubi-attach: $status, $text is what it said, and what boot.json says.
boot() {
	local name
	rm -rf /run/wubi /run/systemd
	printf '%s\n' "$cmdline" >/run/cmdline
	"$program" --maps "$maps" --cmdline /run/cmdline --run-dir /run/wubi --timeout $timeout "$@" >/run/boot.out 2>/run/boot.err
	status=$?
	text=$(</run/boot.err)
	verdict=() device=() reasons=()
	[ -e /run/wubi/boot.json ] || return 0
	while IFS=$'\t' read -r name "verdict[x]" "device[x]" "reasons[x]"; do
		verdict[$name]=${verdict[x]} device[$name]=${device[x]} reasons[$name]=${reasons[x]}
	done < <(jq -r '.maps[] | [.name, .verdict, .device // "-", (.reasons | join("; "))] | @tsv' /run/wubi/boot.json)
}

# After boot of a volume with root, home and swap: what is attached, and what each map's verdict is.
state_of_three() {
	local name all=''
	for name in root home swap; do
		all="$all $name:${verdict[$name]:-}:${device[$name]#/dev/mapper/}"
	done
	echo "$status$all"
}

three() { # VOLUME
	maps=$WUBI_WORK/three
	plug "$1"
	boot
}

says() { # WHAT PATTERN [TEXT]: an extended regular expression
	local lower=${3:-$text} pattern=$2
	if [[ ${lower,,} =~ ${pattern,,} ]]; then
		pass "$1"
	else
		fail "$1" "no '$2' in:" "${3:-$text}"
	fi
}

says_not() { # WHAT PATTERN [TEXT]
	local lower=${3:-$text} pattern=$2
	if [[ ${lower,,} =~ ${pattern,,} ]]; then
		fail "$1" "'$2' is in:" "${3:-$text}"
	else
		pass "$1"
	fi
}

direct_sum() { # DEVICE: its content, past the page cache
	local line
	read -r line _ < <(dd if="$1" iflag=direct bs=1M status=none | sha256sum)
	echo "$line"
}

sys_of() { # DEVICE: its folder in /sys
	echo "/sys/class/block/${1#/dev/}"
}

# The kernel's count of what was ever written to a device: sectors written and discarded.
check_unwritten() { # WHAT DEVICE
	local counts
	sync
	read -r -a counts <"$(sys_of "$2")/stat"
	check_equal "$1: not a byte of the volume was written" '0 0' "${counts[6]} ${counts[13]:-0}"
}

# Only lines of linear on this one device.
check_table() { # WHAT DM-NAME DEVICE
	local number bad='' target at lines=0
	read -r number <"$(sys_of "$3")/dev"
	while read -r _ _ target at _; do
		lines=$((lines + 1))
		[ "$target $at" = "linear $number" ] || bad="$bad $target $at"
	done < <(dmsetup table "$2")
	[ "$lines" -gt 0 ] || bad='no table'
	check_equal "$1: the table is linear on $3" '' "$bad"
}

# attached WHAT VERDICT [WORDS...]: after boot, root is there, whole, on $plugged, and the text says so.
attached() {
	local what=$1 words extents='extents?\)' content
	content=${content_sum:-$(<"$WUBI_WORK/root.sum")}
	check_equal "$what: attached" "0 $2 $mapper" "$status ${verdict[root]:-} ${device[root]:-}"
	[ "$status" = 0 ] || printf '%s\n' "$text"
	if [ -b $mapper ]; then
		check_table "$what" wubi-root "$plugged"
		check_equal "$what: the content" "$content" "$(direct_sum $mapper)"
	else
		fail "$what: no node $mapper"
	fi
	says "$what: says so" "wubi: root: $2, $mapper on $plugged \([0-9]+ $extents"
	shift 2
	for words in "$@"; do
		says "$what: tells '$words'" "$words"
	done
	check_unwritten "$what" "$plugged"
}

# refused WHAT VERDICT [WORDS...]: after boot, no device; the verdict, and each of the words, in text and in boot.json.
refused() {
	local what=$1 words
	check_equal "$what: refused" "3 $2 - " "$status ${verdict[root]:-} ${device[root]:-} $(devices)"
	says "$what: says so" "wubi: root: not attached: $2"
	shift 2
	for words in "$@"; do
		says "$what: tells '$words'" "$words"
		says "$what: reports '$words'" "$words" "${reasons[root]:-}"
	done
	check_unwritten "$what" "$plugged"
}

# one VOLUME attached|refused WHAT VERDICT [WORDS...]: a boot with one volume. With ALLOW set, unsettled ones are allowed.
one() {
	plug "$1"
	[ -z "${allow:-}" ] || cmdline="$cmdline wubi.unsettled=allow"
	boot
	shift
	"$@"
	fresh
}

ln -s /proc/self/fd /dev/fd # devtmpfs has none
load_module dm_mod loop || fail 'load the modules'
fresh
