#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wubi-host and wubi-map-refresh where there is nothing for them to do; with images attached: tests/vm/host.sh, refresh.sh.

load ../lib.sh

# tool NAME ARG...: $status, $out, $err. Nothing of this machine is changed: --dry-run goes with what could.
tool() {
	local name=$1
	shift
	status=0
	"$BUILD/$name" "$@" >"$T/out" 2>"$T/err" || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

@test "hosttools: usage errors are named" {
	tool wubi-host
	status_is 2
	has "$err" 'no verb'
	tool wubi-host stop --read-write
	status_is 2
	has "$err" "'--read-write' is not for 'stop'"
	tool wubi-map-refresh now
	status_is 2
	has "$err" "unexpected argument 'now'"
}

@test "hosttools: without an attached image" {
	requires root
	[ -z "$(ls /sys/block/*/dm/uuid 2>/dev/null)" ] || skip 'this machine has device-mapper devices'
	tool wubi-host status --json
	status_is 0
	eq "$(jq -r .active <<<"$out")" false
	tool wubi-host start --dry-run --json
	status_is 3
	eq "$(jq -r .reason <<<"$out")" no-image
	tool wubi-host stop --dry-run --json
	status_is 0
	tool wubi-map-refresh --maps "$T/none" --state-dir "$T/state" --json
	status_is 0
	eq "$(jq -r .status <<<"$out")" unchanged
	[ ! -e "$T/state" ] || fail 'nothing to do, and a state folder was made'
}

@test "hosttools: a mount point that cannot be one" {
	requires root
	[ -z "$(ls /sys/block/*/dm/uuid 2>/dev/null)" ] || skip 'this machine has device-mapper devices'
	: >"$T/file"
	tool wubi-host start --dry-run --json --mount "$T/file"
	status_is 3
	eq "$(jq -r .reason <<<"$out")" mount-point
	tool wubi-host start --dry-run --json --mount host
	status_is 3
	eq "$(jq -r .reason <<<"$out")" mount-point
	tool wubi-host start --dry-run --mount "$T/none/host"
	status_is 1
	has "$err" "'$T/none'"
	ln -s "$T/file" "$T/link"
	tool wubi-host start --dry-run --json --mount "$T/link"
	status_is 3
	eq "$(jq -r .reason <<<"$out")" mount-point
	tool wubi-host start --dry-run --json --mount /proc/
	status_is 3
	eq "$(jq -r .reason <<<"$out")" mount-point
	tool wubi-host start --dry-run --json --mount /proc
	status_is 3
	eq "$(jq -r .reason <<<"$out")" mount-point
}

@test "hosttools: a map that is not attached is kept, one that is damaged is refused" {
	requires root
	mkdir "$T/maps"
	mkvol 48M
	ok create "$V" --size 8M --map "$T/maps/root.map" --quiet
	cp "$T/maps/root.map" "$T/before"
	tool wubi-map-refresh --maps "$T/maps" --state-dir "$T/state" --esp "$T/esp" --json
	status_is 0
	eq "$(jq -r '.maps[0].action' <<<"$out")" keep
	sed 's/^generation 1/generation 2/' "$T/before" >"$T/maps/bad.map"
	tool wubi-map-refresh --maps "$T/maps" --state-dir "$T/state" --esp "$T/esp" --json
	status_is 3
	eq "$(jq -r '.status' <<<"$out")" refused
	eq "$(jq -r '.maps[] | select(.action == "refuse").reason' <<<"$out")" invalid-map
	has "$err" 'bad.map'
	cmp "$T/before" "$T/maps/root.map"
}
