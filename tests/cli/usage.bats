#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The command line itself: what is understood, what is refused with exit status 2, where output goes.

load ../lib.sh

# usage WORDS ARG...: exit 2, WORDS in stderr, nothing on stdout.
usage() {
	local words=$1
	shift
	wd "$@"
	status_is 2
	has "$err" "$words"
	eq "$out" ''
}

# on_tty ANSWER ARG...: wubi-disk with a terminal on stdin, stdout and stderr. $status, $out.
on_tty() {
	local answer=$1 line
	shift
	printf -v line '%q ' "$WUBI_DISK" "$@"
	status=0
	out=$(printf '%s\n' "$answer" | script -qec "$line" /dev/null 3>&-) || status=$?
}

@test "usage: a bad option is named" {
	usage "unknown.*'--frobnicate'" info v.img --frobnicate
	usage "unknown option '-x'" create v.img -x
	usage "'--size' needs an argument" create v.img --size
	usage "'--zero' takes no argument" create v.img --size 1G --zero=yes
	usage "'--zero' is not for 'map'" map v.img --zero
	usage "'--size' is given twice" create v.img --size 1G --size 2G
	usage "'--json' goes behind the verb" --json info v.img
	usage "unexpected argument 'w.img'" info v.img w.img
	usage "unknown verb 'format'" format v.img
	usage 'no verb'
}

@test "usage: a bad value is named" {
	usage "'--size'.*'-1'" create v.img --size -1
	usage "'--size'.*'1.5G'" create v.img --size 1.5G
	usage "'--size'.* 0" create v.img --size 0
	usage "'--max-extents'" create v.img --size 1G --max-extents 0
	usage "'--max-extents'" create v.img --size 1G --max-extents 99999999999
	usage "'--fs'.*xfs.*ext4, swap, none" create v.img --size 1G --fs xfs
	usage "'hibernated' cannot be overridden" create v.img --size 1G --force-state hibernated
	usage "'--name'.*'../x'" create v.img --size 1G --name ../x
	usage "'--image'.*'root.disk'" create v.img --size 1G --image root.disk
	usage "'--label'.*16 bytes" create v.img --size 1G --label 12345678901234567
	usage "'--label'.*15 bytes" create v.img --size 1G --fs swap --label 1234567890123456
	usage "'--label' needs a file system" create v.img --size 1G --fs none --label x
	usage "'--progress'" create v.img --size 1G --progress loud
}

@test "usage: what a verb cannot do without is named" {
	usage "'create' needs --size" create v.img
	usage "'create' needs VOLUME" create --size 1G
	usage "'verify' needs --map" verify v.img
	usage "'table' needs --device" table --map root.map
	usage "'show' needs --map FILE or VOLUME" show
	usage "'remove' needs --image PATH or --name NAME" remove v.img --yes
}

@test "usage: the same option in every way of writing it" {
	local want=$'verb create\noperand v.img\nsize 2147483648\nmap a\nmap b\nzero yes'
	for args in '--size 2G --map a --map b --zero' '--size=2GiB --map=a -m b -z' '-s 2147483648 -z -m a -mb' '-zs2G -ma -mb'; do
		# shellcheck disable=SC2086
		wd create v.img --test-args $args
		status_is 0
		eq "$(sort <<<"$out")" "$(sort <<<"$want")"
	done
}

@test "usage: --help and --version go to stdout, also of each verb" {
	ok --version
	has "$out" '^wubi-disk [0-9]+\.[0-9]+\.[0-9]+$'
	ok --help
	has "$out" '^Usage: wubi-disk'
	for verb in info create map verify show table attach detach remove; do
		ok "$verb" --help
		has "$out" "^Usage: wubi-disk $verb"
		eq "$err" ''
	done
}

@test "usage: a full disk under stdout is a failure, and nothing was created" {
	mkvol 64M
	local before
	before=$(sum)
	status=0
	"$WUBI_DISK" create "$V" --size 16M --map "$M" >/dev/full 2>"$T/err" || status=$?
	status_is 1
	has "$(<"$T/err")" 'nothing was changed.*standard output'
	eq "$(sum)" "$before"
	absent "$M"
	status=0
	"$WUBI_DISK" info "$V" --json >/dev/full 2>"$T/err" || status=$?
	status_is 1
}

# closed WHICH ARG...: wubi-disk with some of its first three descriptors closed, all but 1 and 2 else to files.
closed() {
	local which=$1
	shift
	status=0
	case $which in
	out) "$WUBI_DISK" "$@" </dev/null >&- 2>"$T/err" 3>&- || status=$? ;;
	err) "$WUBI_DISK" "$@" </dev/null >"$T/out" 2>&- 3>&- || status=$? ;;
	all) "$WUBI_DISK" "$@" <&- >&- 2>&- 3>&- || status=$? ;;
	esac
}

@test "usage: what is printed never goes into the volume when standard output or error is closed" {
	not_valgrind "it does not start with standard error closed"
	mkvol 64M
	local before
	before=$(sum)
	for which in out all; do
		closed $which create "$V" --size 16M --map "$M"
		status_is 1
		closed $which create "$V" --size 16M --map "$M" --json
		status_is 1
	done
	has "$(<"$T/err")" 'nothing was done.*standard output'
	eq "$(sum)" "$before"
	absent "$M"
	closed err info "$V"
	status_is 0
	closed err create "$V" --size 16M --map "$M" --progress plain
	status_is 0
	second_opinion
	verdict_is match
	before=$(sum)
	closed out map "$V"
	status_is 1
	closed out remove "$V" --name root --yes
	status_is 1
	closed all info "$V"
	status_is 1
	closed err create "$V" --size 16M
	status_is 3
	eq "$(sum)" "$before"
	closed all remove "$V" --name root --yes --quiet
	status_is 0
	second_opinion
}

@test "usage: a request that no volume can meet is a usage error" {
	mkvol 64M
	local before
	before=$(sum)
	usage 'ext4' create "$V" --size 1K
	usage 'ext4' create "$V" --size 7M
	usage 'ext4' create "$V" --size 7M --dry-run
	usage 'ext4' create "$V" --size 16T
	usage '' create "$V" --size 18446744073709551615
	wd create "$V" --size 1G
	status_is 3
	eq "$(sum)" "$before"
}

@test "usage: table checks the device's name with --json too" {
	mkvol 64M
	create 16M
	for json in '' --json; do
		# shellcheck disable=SC2086
		wd table --map "$M" --device 'a b' $json
		status_is 1
		has "$err" "'a b' is no device name"
	done
	eq "$(json .status)" failed
}

@test "usage: a failure is told on stderr, with --json on stdout too" {
	wd info "$T/none.img"
	status_is 1
	eq "$out" ''
	has "$err" "^wubi-disk: info: .*none.img.*No such file"
	wd info "$T/none.img" --json
	status_is 1
	eq "$(json .status)" failed
	eq "$(json .reason)" ENOENT
	eq "$(json '.findings[0].reason')" ENOENT
	has "$(json .message)" 'none.img'
	: >"$T/empty.map"
	wd show --map "$T/empty.map" --json
	status_is 3
	eq "$(json '[.status, .reason] | join(" ")')" 'refused invalid-map'
}

@test "usage: --dry-run shows the plan and writes nothing" {
	mkvol 64M
	local before
	before=$(sum)
	ok create "$V" --size 16M --map "$M" --dry-run
	has "$out" '/ubuntu/disks/root.disk'
	ok create "$V" --size 16M --map "$M" --dry-run --json
	eq "$(json '[.status, .image, .size_bytes, (.extents | length)] | map(tostring) | join(" ")')" \
		'dry-run /ubuntu/disks/root.disk 16777216 1'
	eq "$(sum)" "$before"
	absent "$M"
	create 16M
	before=$(sum)
	ok map "$V" --dry-run --output "$T/other.map"
	ok map "$V" --dry-run --json
	eq "$(json '[.status, .generation] | map(tostring) | join(" ")')" 'dry-run 2'
	wd map "$V" --dry-run --output "$T/none/other.map"
	[ "$status" != 0 ] || fail 'a folder that is not there'
	absent "$T/other.map"
	ok remove "$V" --name root --dry-run
	eq "$(sum)" "$before"
}

@test "usage: --quiet says nothing, but for errors" {
	mkvol 64M
	ok create "$V" --size 16M --map "$M" --quiet
	eq "$out$err" ''
	ok verify "$V" --map "$M" --quiet
	eq "$out$err" ''
	wd create "$V" --size 16M --quiet
	status_is 3
	has "$err" 'exists'
	ok remove "$V" --name root --yes --quiet
	eq "$out$err" ''
}

@test "usage: remove asks on a terminal, and needs --yes without one" {
	requires script
	mkvol 64M
	create 16M
	local before
	before=$(sum)
	usage 'use --yes' remove "$V" --name root
	on_tty no remove "$V" --name root
	status_is 4
	has "$out" 'All data in it is lost'
	has "$out" 'nothing was removed'
	eq "$(sum)" "$before"
	on_tty yes remove "$V" --name root
	status_is 0
	wd show "$V"
	status_is 1
}

@test "usage: the picture is coloured on a terminal only, and never with NO_COLOR" {
	requires script
	mkvol 64M
	create 16M
	local esc=$'\e'
	ok show --map "$M"
	lacks "$out" "$esc"
	on_tty '' show --map "$M"
	has "$out" "$esc"
	NO_COLOR=1 on_tty '' show --map "$M"
	lacks "$out" "$esc"
	awk 'length > 80 { exit 1 }' "$T/out"
}

@test "usage: progress is silent without a terminal, lines with plain and json" {
	mkvol 128M
	ok create "$V" --size 16M --zero --map "$M"
	eq "$err" ''
	ok create "$V" --size 16M --zero --name home --progress plain
	has "$err" 'zero the image +16.0 MiB / 16.0 MiB +100%'
	ok create "$V" --size 16M --zero --name swap --fs swap --progress json
	jq -es 'map(select(.total_bytes > 0)) | length > 0 and all(.done_bytes <= .total_bytes) and
		(last | has("phase") and has("bytes_per_second") and has("seconds_left"))' <<<"$err" >/dev/null ||
		fail 'no JSON lines'
}

@test "usage: names from the volume cannot control the terminal" {
	mkvol 64M 4096 512 -L $'ev\eil\x07'
	ok info "$V"
	lacks "$out" $'\e|\x07'
	has "$out" 'ev\?il\?'
	ok info "$V" --json
	eq "$(json .label)" $'ev\eil\x07'
}
