#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Options, exit statuses, JSON keys, dry run, progress.

load ../lib.sh

keys() { json '[paths(scalars) | map(if type == "number" then "[]" else . end) | join(".")] | unique | join(" ")'; }

@test "usage errors: exit 2, the option or value named, not the whole help" {
	mkvol 40M
	before=$(sum)
	while read -r words args; do
		# shellcheck disable=SC2086
		wd $args
		[ "$status" = 2 ] || fail "wubi-disk $args: exit status $status"
		has "$err" "$words"
		eq "$out" ''
		[ "$(wc -l <"$T/err")" -le 2 ] || fail "wubi-disk $args: $(wc -l <"$T/err") lines"
	done <<-EOF2
		verb
		frob frob
		volume create --size 1M
		size create $V
		--colour create $V --size 8M --colour
		8Q create $V --size 8Q
		-1 create $V --size -1
		0 create $V --size 0
		18446744073709551616 create $V --size 18446744073709551616
		ntfs create $V --size 8M --fs ntfs
		root/x create $V --size 8M --name root/x
		relative create $V --size 8M --image relative
		max-extents create $V --size 8M --max-extents 0
		max-extents create $V --size 8M --max-extents many
		hibernated create $V --size 8M --force-state hibernated
		map verify $V
		device table --map x
		--size verify $V --map x --size 1
		second info $V second
		--yes remove $V --image $IMG
	EOF2
	eq "$(sum)" "$before"
}

@test "sizes: 16M, 16MiB, 16777216 and 16MB" {
	mkvol 64M
	for size in 16M 16MiB 16777216; do
		ok create "$V" --size $size --dry-run --json
		eq "$(json .size_bytes)" 16777216 "$size"
	done
	ok create "$V" --size 16MB --dry-run --json
	eq "$(json .size_bytes)" 16777216 "16,000,000 rounded up to 1 MiB"
}

@test "--help and --version go to stdout, 80 columns, exit 0, for every verb" {
	for verb in '' info create map verify show table attach detach remove rescue; do
		# shellcheck disable=SC2086
		ok $verb --help
		[ -n "$out" ] || fail "$verb --help: nothing"
		[ "$(awk '{ print length }' "$T/out" | sort -n | tail -1)" -le 80 ] || fail "$verb --help is too wide"
		eq "$err" ''
	done
	ok --version
	has "$out" '^wubi-disk [0-9]+\.[0-9]+'
}

@test "JSON keys of show, map, verify, info and create" {
	requires jq
	mkvol 64M '' 512 -L volume
	create 16M
	map_keys='extents.[].logical_sector extents.[].physical_sector extents.[].sectors fs.type fs.uuid generation '
	map_keys+='host.cluster_bytes host.partition_sectors host.sector_bytes host.serial image map_id mft.record '
	map_keys+='mft.sequence name size_bytes version'
	ok show --map "$M" --json
	eq "$(keys)" "$map_keys"
	eq "$(json '.host | has("partuuid")')" true
	eq "$(json '[.version, .generation, .image, .size_bytes, .name] | @json')" '[1,1,"/ubuntu/disks/root.disk",16777216,"root"]'
	ok show "$V" --image "$IMG" --json
	eq "$(keys)" "$map_keys"
	ok map "$V" --json --no-host-map
	eq "$(keys)" "$map_keys"
	ok verify "$V" --map "$M" --json
	eq "$(json 'keys | join(" ")')" 'reasons verdict'
	ok info "$V" --json
	eq "$(json 'keys | join(" ")')" \
		'cluster_bytes free_bytes images label largest_free_run_bytes sector_bytes serial state total_bytes'
	eq "$(json '.state | keys | join(" ")')" 'bitlocker dirty fast_startup hibernated journal_clean'
	eq "$(json '.images[0] | [.path, .size_bytes, .extents, .fs.type] | @json')" '["/ubuntu/disks/root.disk",16777216,1,"ext4"]'
	eq "$(json '[.label, .cluster_bytes, .sector_bytes, .total_bytes] | @json')" '["volume",4096,512,67104768]'
	eq "$(json .free_bytes)" $(($(fx free-clusters "$V") * 4096))
}

@test "JSON of a failure and of a refusal: status, reason, message, findings" {
	mkvol 40M
	wd map "$V" --json --no-host-map
	status_is 1
	eq "$(json .status)" failed
	[ -n "$(json .message)" ]
	fx dirty "$V"
	wd create "$V" --size 8M --json
	status_is 3
	eq "$(json '[.status, .reason, .findings[0].reason] | join(" ")')" 'refused dirty dirty'
}

@test "text with control characters or quotes in a name: escaped in JSON, masked in text" {
	requires root fuse
	mkvol 64M '' 512 -L 'a"b\c'
	ok info "$V" --json
	eq "$(json .label)" 'a"b\c'
	in_ntfs $'mkdir -p found.000; : >"found.000/e\e[31mvil.chk"'
	ok info "$V"
	[[ $out != *$'\e'* ]] || fail "an escape sequence reached the terminal"
}

@test "--dry-run writes nothing and says what it would do" {
	mkvol 64M
	before=$(sum)
	ok create "$V" --size 16M --map "$M" --dry-run
	has "$out" 'root.disk'
	has "$out" 'dry run'
	absent "$M"
	eq "$(sum)" "$before"
	ok create "$V" --size 16M --map "$M" --dry-run --json
	eq "$(json '.status')" dry-run
	planned=$(json '.extents | tostring')
	ok create "$V" --size 16M --map "$M" --json
	eq "$(json '.extents | tostring')" "$planned" "extents, planned and made"
	before=$(sum)
	ok map "$V" --output "$T/other.map" --dry-run
	absent "$T/other.map"
	ok remove "$V" --image "$IMG" --dry-run
	eq "$(sum)" "$before"
	wd create "$V" --size 8M --dry-run
	status_is 3
}

@test "quiet: nothing on stdout, errors all the same" {
	mkvol 64M
	ok create "$V" --size 16M --map "$M" --quiet
	eq "$out$err" ''
	wd create "$V" --size 16M --quiet
	status_is 3
	eq "$out" ''
	has "$err" 'root.disk'
}

@test "the picture: 80 columns, no colour when it is no terminal" {
	mkvol 64M
	create 16M
	for args in "show --map $M" "show $V --image $IMG" "info $V"; do
		# shellcheck disable=SC2086
		ok $args
		[[ $out != *$'\e'* ]] || fail "colour"
		[ "$(awk '{ print length }' "$T/out" | sort -n | tail -1)" -le 80 ] || fail "$args: too wide"
		has "$out" '#'
	done
}

@test "B06 progress at least every 5 s at 20 MB/s, in bytes, with what is left" {
	mkvol 800M
	# no waiting: faultshim lets the clock run as if the disk wrote 20 MB/s
	LD_PRELOAD=$FAULTSHIM FAULT_TARGET=$V FAULT_MODE=slow FAULT_RATE=20000000 \
		"$WUBI_DISK" create "$V" --size 390M --zero --progress json 2>"$T/progress" >"$T/out" 3>&-
	jq -es 'length > 4' "$T/progress" >/dev/null || fail "$(cat "$T/progress")"
	jq -es '[.[] | select(.total_bytes > 1e8)] | [.[1:], .[:-1]] | transpose
		| all(.[0].phase != .[1].phase or .[0].done_bytes - .[1].done_bytes <= 1e8)' "$T/progress" >/dev/null ||
		fail "more than 100 MB (5 s) without a line: $(cat "$T/progress")"
	jq -es 'any(.seconds_left > 3)' "$T/progress" >/dev/null || fail "no line says how long it takes: $(cat "$T/progress")"
	jq -es 'all(.done_bytes <= .total_bytes)' "$T/progress" >/dev/null || fail "more done than there is"
}

@test "B06 progress for people: lines when asked for, silent when stderr is no terminal" {
	mkvol 64M
	ok create "$V" --size 16M --zero
	eq "$err" ''
	ok remove "$V" --image "$IMG" --yes
	ok create "$V" --size 16M --zero --progress plain
	has "$err" 'MiB'
	lacks "$err" $'\r'
}

@test "reading from a pipe that closes early does not change the exit status to success of nothing" {
	mkvol 40M
	status=0
	"$WUBI_DISK" info "$V" 3>&- | true || status=$?
	[ "${PIPESTATUS[0]:-0}" != 139 ]
}

@test "the C locale is enough for any name" {
	requires root fuse
	mkvol 40M
	in_ntfs "mkdir 'Grüße'; : >'Grüße/ü'"
	LC_ALL=C ok info "$V"
	create 8M
	second_opinion
}
