#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The state that Windows left the volume in: what create, map, remove and verify make of it.

load ../lib.sh

hiber() { # hiber NAME CONTENT SIZE: /NAME that starts with CONTENT, SIZE bytes long
	printf '%s' "$2" >"$T/h"
	truncate -s "$3" "$T/h"
	ntfscp -q -f "$V" "$T/h" "/$1" >/dev/null 2>&1
}

# unsafe REASON WORDS: every verb that would write refuses; map and remove are tried on the image that is there
unsafe() {
	refuses "$1" "$2" create "$V" --size 16M --map "$M" --image /other.disk
	refuses "$1" "$2" map "$V" --output "$M"
	refuses "$1" "$2" remove "$V" --image "$IMG" --yes
}

# a small volume with an image and a map that is true (kept as root.map.kept: 'refuses' removes $M)
with_image() {
	mkvol 40M
	create 8M
	cp "$M" "$M.kept"
}

@test "A01 hibernated Windows: create, map and remove refuse before the first write" {
	with_image
	hiber hiberfil.sys hibr 4096
	unsafe hibernated 'hibernat&shut ?down|powercfg /h off&session|lose|lost|damage|change'
}

@test "A01 hibernated: HIBR, and the file's name in any case" {
	for name in hiberfil.sys HIBERFIL.SYS Hiberfil.Sys; do
		mkvol 40M
		hiber "$name" HIBR 4096
		refuses hibernated 'hibernat' create "$V" --size 16M --map "$M"
	done
}

@test "A01 hibernated: a hiberfil.sys without a header that could be read counts as hibernated" {
	for size in 0 4; do
		mkvol 40M
		hiber hiberfil.sys '' "$size"
		refuses hibernated 'hibernat' create "$V" --size 16M --map "$M"
	done
}

@test "A01 hibernated no more: zeros and 'wake' are a session that was resumed" {
	for word in '' wake; do
		mkvol 40M
		hiber hiberfil.sys "$word" 8192
		create 16M
	done
}

@test "A01 hibernated: verify says unsettled although the extents are right" {
	with_image
	mv "$M.kept" "$M"
	verdict_is match
	hiber hiberfil.sys hibr 4096
	verdict_is unsettled
	has "$(why)" 'hibernat'
}

@test "A01 hibernated: info shows it, and writes nothing" {
	with_image
	hiber hiberfil.sys hibr 4096
	before=$(sum)
	ok info "$V" --json
	eq "$(json .state.hibernated)" true
	eq "$(json .state.fast_startup)" false
	eq "$(sum)" "$before"
}

@test "A02 Fast Startup on a volume without hiberfil.sys: refused, and not called hibernation only" {
	with_image
	fx fastboot "$V"
	unsafe fast-startup 'fast startup&powercfg|shut ?down|turn.* off'
	ok info "$V" --json
	eq "$(json .state.fast_startup)" true
	eq "$(json .state.hibernated)" false
}

@test "A02 Fast Startup: verify says unsettled although the extents still match (C15)" {
	with_image
	mv "$M.kept" "$M"
	fx fastboot "$V"
	verdict_is unsettled
	has "$(why)" 'fast startup'
}

@test "A04 dirty flag only: refused, and the flag stays as it was" {
	with_image
	fx dirty "$V"
	unsafe dirty 'chkdsk'
	eq "$(fx flags "$V")" 0x0001
	ok info "$V" --json
	eq "$(json .state.dirty)" true
}

@test "A04 dirty: --force-state dirty goes on, and the volume stays dirty" {
	mkvol 40M
	fx dirty "$V"
	create 8M --force-state dirty
	eq "$(fx flags "$V")" 0x0001
	fx clear-dirty "$V"
	verdict_is match
	second_opinion
}

@test "A04 dirty: there is no override for the other states" {
	mkvol 40M
	for state in hibernated fast-startup journal bitlocker ''; do
		wd create "$V" --size 8M --force-state "$state"
		status_is 2
	done
	fx fastboot "$V"
	fx dirty "$V"
	refuses fast-startup 'fast startup' create "$V" --size 8M --map "$M" --force-state dirty
}

@test "A04 dirty: verify says unsettled, and match again after chkdsk" {
	with_image
	mv "$M.kept" "$M"
	fx dirty "$V"
	verdict_is unsettled
	has "$(why)" 'dirty|chkdsk'
	fx clear-dirty "$V"
	verdict_is match
}

@test "A06 unclean journal: refused with a reason of its own" {
	with_image
	fx logdirty "$V"
	unsafe journal 'journal|logfile&start windows|windows'
	ok info "$V" --json
	eq "$(json .state.journal_clean)" false
	eq "$(json .state.fast_startup)" false
}

@test "A06 unclean journal: verify says unsettled and names the journal" {
	with_image
	mv "$M.kept" "$M"
	fx logdirty "$V"
	verdict_is unsettled
	has "$(why)" 'journal|logfile'
}

@test "A07 MFT and MFTMirr differ: refused with chkdsk as the remedy" {
	with_image
	fx dirty-mft-only "$V"
	unsafe mft-mirror 'mirr&chkdsk'
}

@test "A07 MFT and MFTMirr differ: verify never says match" {
	with_image
	mv "$M.kept" "$M"
	fx dirty-mft-only "$V"
	wd verify "$V" --map "$M" --json
	[ "$status" = 3 ] || [ "$status" = 1 ] || fail "exit status $status"
	lacks "$out" '"match"'
	has "$err$out" 'mirr|dirty|chkdsk'
}

@test "A07 whatever of ours writes \$Volume writes both copies" {
	mkvol 40M
	create 8M
	eq "$(ntfscheck "$V" | jq -c .mirror)" '[]'
}

@test "A09 BitLocker is named before anything else is said" {
	mkvol 40M
	create 8M
	cp "$M" "$T/kept.map"
	fx bitlocker "$V"
	refuses bitlocker 'bitlocker&suspend|decrypt|turn .*off|manage-bde' create "$V" --size 8M --map "$M"
	refuses bitlocker 'bitlocker' map "$V" --output "$M"
	refuses bitlocker 'bitlocker' remove "$V" --image "$IMG" --yes
	wd info "$V" --json
	eq "$(json .state.bitlocker)" true
	M=$T/kept.map
	verdict_is encrypted
}

@test "A09 BitLocker To Go" {
	mkvol 40M
	fx bitlocker-togo "$V"
	refuses bitlocker 'bitlocker' create "$V" --size 8M --map "$M"
}

@test "all problems are told at once, not the first only" {
	mkvol 40M
	create 8M
	fx dirty "$V"
	fx logdirty "$V"
	before=$(sum)
	wd create "$V" --size 100M --map "$M.2" --json
	status_is 3
	for reason in dirty journal image-exists; do
		grep -qxF "$reason" <<<"$(reasons)" || fail "no $reason in: $(reasons)"
	done
	eq "$(sum)" "$before"
}
