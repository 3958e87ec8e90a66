#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the report, the messages and the maps go: never into the volume, never over a file that is no map.

load ../lib.sh

# no_text: nothing that wubi-disk prints is in the volume (the README and the map on the volume have other words)
no_text() {
	local found
	found=$(grep -abo -e 'volume  ' -e 'MiB' -e 'one cell:' -e 'wubi-disk: ' -e '"status"' -e '"phase"' "$V" | head -3) || true
	eq "$found" '' "text in the volume"
}

# shut REDIRECTIONS ARG...: runs wubi-disk with streams closed
shut() {
	local how=$1
	shift
	status=0
	(eval "exec 3>&- $how" && exec "$WUBI_DISK" "$@") || status=$?
}

@test "standard output closed: create fails before it writes anything" {
	mkvol 40M
	before=$(sum)
	for how in '>&-' '<&- >&-' '<&- >&- 2>&-' '>/dev/full'; do
		shut "$how" create "$V" --size 8M --map "$M" 2>"$T/err"
		[ "$status" = 1 ] || fail "$how: exit status $status"
		eq "$(sum)" "$before" "checksum of the volume after $how"
		absent "$M"
	done
}

@test "standard output closed: the verbs that only read fail, and the volume stays as it is" {
	mkvol 40M
	create 8M
	before=$(sum)
	shut '>&-' info "$V" 2>"$T/err"
	status_is 1
	shut '>&-' verify "$V" --map "$M" 2>"$T/err"
	status_is 1
	shut '>&-' map "$V" --no-host-map 2>"$T/err"
	status_is 1
	shut '<&- >&- 2>&-' show "$V" --image "$IMG"
	status_is 1
	eq "$(sum)" "$before"
}

@test "standard output closed: create --json, map and remove fail before they change anything" {
	mkvol 40M
	create 8M
	before=$(sum)
	shut '>&-' create "$V" --size 8M --name two --map "$T/two.map" --json 2>"$T/err"
	status_is 1
	absent "$T/two.map"
	shut '>&-' map "$V" 2>"$T/err"
	status_is 1
	shut '<&- >&- 2>&-' map "$V" --output "$T/two.map"
	status_is 1
	absent "$T/two.map"
	for args in '' --json; do
		# shellcheck disable=SC2086
		shut '>&-' remove "$V" --image "$IMG" --yes $args 2>"$T/err"
		status_is 1
	done
	eq "$(sum)" "$before"
	shut '>&-' remove "$V" --image "$IMG" --yes --quiet 2>"$T/err"
	no_text
	eq "$(ntfscheck "$V" | jq -c '[.mirror, .dirty]')" '[[],false]'
}

@test "standard error closed: create works, and no text gets into the volume" {
	not_valgrind "it does not start with standard error closed"
	mkvol 40M
	for how in '2>&-' '<&- 2>&-'; do # with numbers 0 and 2 free, the volume gets one of them
		shut "$how" create "$V" --size 8M --map "$M" >"$T/out"
		status_is 0
		no_text
		verdict_is match
		ok remove "$V" --image "$IMG" --yes
	done
	for mode in plain json; do
		shut '2>&-' create "$V" --size 8M --map "$M" --zero --progress $mode >"$T/out"
		status_is 0
		no_text
		verdict_is match
		ok remove "$V" --image "$IMG" --yes
	done
	second_opinion
}

@test "standard error closed: refusals and failures are an exit status only" {
	not_valgrind "it does not start with standard error closed"
	mkvol 40M
	create 8M
	before=$(sum)
	shut '2>&-' create "$V" --size 8M >"$T/out"
	status_is 3
	shut '2>&-' verify "$V" --map /nonexistent >"$T/out"
	status_is 1
	shut '2>&-' frob >"$T/out"
	status_is 2
	eq "$(sum)" "$before"
}

@test "the volume itself is no place for a map, by whatever name" {
	mkvol 40M
	create 8M --no-host-map
	mkdir "$T/folder"
	ln -s "$V" "$T/link"
	ln -s ../link "$T/folder/link2"
	ln "$V" "$T/hard"
	cd "$T"
	for name in "$V" "$T/link" "$T/folder/link2" "$T/folder/../v.img" v.img ./v.img "$T/hard"; do
		refuses map-file "${name##*/}" create "$V" --size 8M --name two --map "$T/fine.map" --map "$name"
		absent "$T/fine.map"
	done
	refuses map-file 'v\.img' create "$V" --size 8M --name two --map "$V"
	refuses map-file 'v\.img' map "$V" --output "$V"
	refuses map-file 'link2' map "$V" --output "$T/folder/link2" --no-host-map
	refuses map-file 'v.img' create "$T/link" --size 8M --name two --map "$V"
	refuses map-file 'v.img' create "$V" --size 8M --name two --map "$V" --dry-run
}

@test "a file that is no map is not replaced by one" {
	mkvol 40M
	create 8M
	echo 'my thesis' >"$T/thesis.txt"
	head -c 100000 /dev/urandom >"$T/photo"
	cp "$T/photo" "$T/photo.kept"
	for file in thesis.txt photo; do
		refuses map-file "$file" create "$V" --size 8M --name two --map "$T/$file"
		refuses map-file "$file" map "$V" --output "$T/$file"
	done
	eq "$(<"$T/thesis.txt")" 'my thesis'
	cmp "$T/photo" "$T/photo.kept"
}

@test "a map that is there is replaced, also through a symlink" {
	mkvol 40M
	create 8M
	cp "$M" "$T/first.map"
	ok remove "$V" --image "$IMG" --yes
	ln -s "$M" "$T/link.map"
	ok create "$V" --size 8M --map "$T/link.map"
	[ -L "$T/link.map" ] || fail "the link was replaced"
	verdict_is match
	! cmp -s "$M" "$T/first.map" || fail "the old map is still there"
	ok map "$V" --map "$M" --output "$M"
	verdict_is match
}

@test "map --output in a folder that is not there: refused, the volume unchanged" {
	mkvol 40M
	create 8M
	refuses map-file '/nonexistent' map "$V" --output /nonexistent/x.map
	refuses map-file '/nonexistent' map "$V" --output "$T/fine.map" --output /nonexistent/x.map
	absent "$T/fine.map"
}

# a folder of one page, taken
full_folder() {
	mkdir "$T/full"
	mount -t tmpfs -o size=4k none "$T/full" || skip "needs tmpfs"
	MOUNTED="$MOUNTED $T/full"
	head -c 4096 /dev/zero >"$T/full/taken"
}

@test "create with no room for its second map: fails before the image is made, the first map is kept" {
	requires root
	mkvol 40M
	create 8M
	full_folder
	mkdir "$T/maps"
	cp "$M" "$T/maps/one.map"
	before=$(fx allocated-sum "$V")
	wd create "$V" --size 8M --name two --map "$T/maps/one.map" --map "$T/full/two.map"
	[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
	has "$err" 'two.map|space'
	eq "$(fx allocated-sum "$V")" "$before" "checksum of the clusters in use"
	cmp "$T/maps/one.map" "$M"
	eq "$(ls "$T/maps" "$T/full")" "$(printf '%s\n' "$T/full:" taken '' "$T/maps:" one.map)"
}

@test "map with no room for its second output: fails before anything is written" {
	requires root
	mkvol 40M
	create 8M
	full_folder
	before=$(sum)
	wd map "$V" --output "$T/one.map" --output "$T/full/two.map"
	[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
	eq "$(sum)" "$before"
	absent "$T/one.map"
	eq "$(ls "$T/full")" taken
}
