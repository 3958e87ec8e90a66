#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Which packages the new system needs, from which folder, and in which order; what is lacking; that nothing else changes.

load ../lib.sh

setup() {
	setup_common
	requires apt-get dpkg-deb
	TREE=$T/tree WORK=$T/work POOL=$T/pool
	mkdir -p "$TREE/var/lib/dpkg" "$TREE/etc/apt" "$WORK" "$POOL"
	: >"$TREE/var/lib/dpkg/status"
	# whoever asks a mirror fails, and says that he asked
	echo 'deb [trusted=yes] http://127.0.0.1:9/debian bookworm main' >"$TREE/etc/apt/sources.list"
	unset http_proxy https_proxy APT_CONFIG
}

# deb FOLDER NAME VERSION [FIELD: VALUE]...: NAME_VERSION_all.deb
deb() {
	local folder=$1 name=$2 version=$3 root=$T/root
	shift 3
	rm -rf "$root"
	mkdir -p "$root/DEBIAN" "$root/usr/share/$name" "$folder"
	echo "$version" >"$root/usr/share/$name/version"
	{
		printf '%s\n' "Package: $name" "Version: $version" 'Architecture: all' 'Maintainer: Test <test@example.org>'
		[ $# = 0 ] || printf '%s\n' "$@"
		printf '%s\n' "Description: test" " of debpool"
	} >"$root/DEBIAN/control"
	dpkg-deb -b -Znone "$root" "$folder/${name}_${version//:/%3a}_all.deb" >"$T/deb.log"
}

# installed NAME VERSION [FIELD: VALUE]...: in the copied system.
installed() {
	local name=$1 version=$2
	shift 2
	{
		printf '%s\n' "Package: $name" 'Status: install ok installed' "Version: $version" 'Architecture: all' \
			'Maintainer: Test <test@example.org>'
		[ $# = 0 ] || printf '%s\n' "$@"
		printf '%s\n' 'Description: test' ''
	} >>"$TREE/var/lib/dpkg/status"
}

# resolve HOW FOLDER... -- PACKAGE...: $status, $out, $err.
resolve() {
	status=0
	"$BUILD/tests/cli/debpool_driver" "$TREE" "$WORK" "$1" "${INTERRUPT:-0}" "${@:2}" >"$T/out" 2>"$T/err" </dev/null 3>&- ||
		status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

# gives NAMES HOW FOLDER... -- PACKAGE...: these files, by their names and in any order.
gives() {
	local want=$1
	shift
	resolve "$@"
	status_is 0
	eq "$(sed -n 's/.*\///; s/_all\.deb$//p' <<<"$out" | sort | paste -sd ' ')" "$want" packages
}

# before A B: in that order.
before() {
	local a b
	a=$(grep -n "/$1_" <<<"$out" | cut -d: -f1)
	b=$(grep -n "/$2_" <<<"$out" | cut -d: -f1)
	[ "$a" -lt "$b" ] || fail "$1 is not before $2"
}

# refused WORD...: with all of these in its text.
refused() {
	local w
	status_is 3
	has "$err" '^packages: '
	for w in "$@"; do grep -qF -e "$w" <<<"$err" || fail "no '$w'"; done
}

no_network() { lacks "$err" '127\.0\.0\.1|mirror'; }

# dpkg_takes: as the installer gives them to dpkg, into the tree.
dpkg_takes() {
	local line files=()
	local dpkg=(dpkg --force-not-root --force-bad-path --force-script-chrootless --root="$TREE" --log="$T/dpkg.log")
	mkdir -p "$TREE/var/lib/dpkg/updates" "$TREE/var/lib/dpkg/info"
	while read -r line; do
		case $line in
		installed*) ;;
		settle)
			"${dpkg[@]}" --unpack "${files[@]}" >>"$T/dpkg.out" 2>&1 || fail "$(<"$T/dpkg.out")"
			"${dpkg[@]}" --configure --pending >>"$T/dpkg.out" 2>&1 || true
			files=()
			;;
		*) files+=("$line") ;;
		esac
	done <<<"$out"
	"${dpkg[@]}" --unpack "${files[@]}" >>"$T/dpkg.out" 2>&1 || fail "$(<"$T/dpkg.out")"
	"${dpkg[@]}" --configure -a >>"$T/dpkg.out" 2>&1 || fail "$(<"$T/dpkg.out")"
}

# state: of what may not change.
state() {
	find "$TREE" /var/lib/apt /var/cache/apt /var/lib/dpkg/status -printf '%p %y %s %T@ %i\n' 2>/dev/null | sort | sha256sum
}

@test "debpool: dependencies across folders, found deep, one that is not there is passed over" {
	deb "$POOL/a/aa" top 1 'Depends: middle (>= 2), base' 'Installed-Size: 100'
	deb "$T/pool 2%/b" middle 2 'Depends: bottom | other' 'Installed-Size: 20'
	deb "$POOL" bottom 1 'Installed-Size: 3'
	deb "$POOL" unneeded 1
	installed base 1
	gives 'bottom_1 middle_2 top_1' network "$POOL" "$T/none" "$T/pool 2%" -- top
	has "$out" "$POOL/a/aa/top_1"
	has "$out" 'installed 125952'
	no_network
	dpkg_takes
	eq "$(<"$TREE/usr/share/middle/version")" 2
}

@test "debpool: nothing of the live system or the copied one changes" {
	local was
	deb "$POOL" top 1 'Depends: bottom'
	deb "$POOL" bottom 1
	was=$(state)
	gives 'bottom_1 top_1' network "$POOL" -- top
	eq "$(state)" "$was"
	resolve network "$POOL" -- nowhere
	refused "'nowhere'"
	eq "$(state)" "$was"
}

@test "debpool: all is there already" {
	installed top 2 'Depends: bottom'
	installed bottom 1
	deb "$POOL" top 1
	gives '' network "$POOL" -- top bottom
	eq "$out" 'installed 0'
	gives '' network "$T/none" -- top
	no_network
}

@test "debpool: an older one in the system is replaced, an equal or newer one stays" {
	installed top 1:1 'Depends: bottom'
	installed same 3
	installed newer 9
	installed bottom 1
	deb "$POOL" top 1:1.1 'Depends: bottom (>= 1)'
	deb "$POOL" top 1:1.0
	deb "$POOL" same 3
	deb "$POOL" newer 8
	deb "$POOL" bottom 2
	gives 'top_1%3a1.1' pools "$POOL" -- top same newer
	dpkg_takes
}

@test "debpool: versions, alternatives, and what provides it" {
	deb "$POOL" top 1 'Depends: lib (>= 2), first | second, virtual'
	deb "$POOL" lib 1
	deb "$POOL" lib 2.1
	deb "$POOL" second 1
	deb "$POOL" real 1 'Provides: virtual'
	gives 'lib_2.1 real_1 second_1 top_1' pools "$POOL" -- top
	dpkg_takes
}

@test "debpool: of alternatives the one that is installed is enough" {
	installed second 1
	deb "$POOL" first 1
	deb "$POOL" top 1 'Depends: first | second' 'Recommends: extra'
	deb "$POOL" extra 1
	gives 'top_1' pools "$POOL" -- top
}

@test "debpool: Pre-Depends are configured before" {
	deb "$POOL" aa 1 'Pre-Depends: zz'
	deb "$POOL" zz 1 'Depends: yy'
	deb "$POOL" yy 1
	deb "$POOL" bb 1 'Depends: aa'
	gives 'aa_1 bb_1 yy_1 zz_1' pools "$POOL" -- aa bb
	before yy aa
	before zz aa
	has "$out" '^settle$'
	dpkg_takes
	lacks "$(dpkg-query --admindir="$TREE/var/lib/dpkg" -W -f '${Status}\n')" 'unpacked|half'
}

@test "debpool: what is lacking is named, and not only what needs it" {
	deb "$POOL" top 1 'Depends: middle'
	deb "$POOL" middle 1 'Depends: bottom (>= 2), absent'
	deb "$POOL" bottom 1
	resolve pools "$POOL" "$T/none" -- top
	refused "'bottom (>= 2)', which 'middle' needs" "'absent', which 'middle' needs"
	refused "$POOL" '--packages DIR' 'not in the network'
	resolve pools "$POOL" -- nowhere top
	refused "'nowhere'"
	resolve pools -- nowhere
	refused "'nowhere'" 'no folder'
}

@test "debpool: nothing is removed for it" {
	installed precious 1
	deb "$POOL" top 1 'Conflicts: precious'
	resolve pools "$POOL" -- top
	refused "'precious' would have to be removed"
}

@test "debpool: a package that is cut short or none is passed over, and named when it is the one" {
	deb "$POOL" top 1 'Depends: bottom'
	deb "$POOL" bottom 1
	truncate -s -100 "$POOL/bottom_1_all.deb"
	echo nothing >"$POOL/junk_1_all.deb"
	: >"$POOL/empty.deb"
	mkfifo "$POOL/pipe.deb"
	ln -s . "$POOL/loop"
	resolve pools "$POOL" -- top
	refused "'bottom'" "broken is '$POOL/bottom_1_all.deb'"
	lacks "$err" 'junk|dpkg-deb'
	deb "$T/sound" bottom 1
	gives 'bottom_1 top_1' pools "$POOL" "$T/sound" -- top
	has "$out" "$T/sound/bottom_1"
}

@test "debpool: one that is broken inside is found before it is used, and an older sound one taken" {
	deb "$POOL" top 1 'Depends: bottom'
	deb "$POOL" bottom 2
	deb "$POOL" bottom 1
	printf 'XXXXXXXXXXXXXXXX' | dd of="$POOL/bottom_2_all.deb" bs=1 seek=$(($(stat -c %s "$POOL/bottom_2_all.deb") - 10240)) \
		conv=notrunc 2>/dev/null
	gives 'bottom_1 top_1' pools "$POOL" -- top
	rm "$POOL/bottom_1_all.deb"
	resolve pools "$POOL" -- top
	refused "'bottom'" "broken is '$POOL/bottom_2_all.deb'"
}

@test "debpool: control files that would say where they are themselves" {
	deb "$POOL" top 1 'Filename: ../../etc/passwd' 'Size: 7'
	gives 'top_1' pools "$POOL" -- top
	has "$out" "$POOL/top_1_all.deb"
}

@test "debpool: other architectures are not taken" {
	deb "$POOL" top 1
	dpkg-deb -R "$POOL/top_1_all.deb" "$T/other"
	sed -i 's/^Architecture: .*/Architecture: arm64/; s/^Version: .*/Version: 2/' "$T/other/DEBIAN/control"
	dpkg-deb -b "$T/other" "$POOL/top_2_arm64.deb" >/dev/null
	gives 'top_1' pools "$POOL" -- top
}

# mirror FOLDER: a repository of the copied system's own, which is asked in place of the network.
mirror() {
	local f
	mkdir -p "$1"
	for f in "$1"/*.deb; do
		dpkg-deb -f "$f"
		printf '%s\n' "Filename: ./${f##*/}" "Size: $(stat -c %s "$f")" "SHA256: $(sha256sum "$f" | cut -d' ' -f1)" ''
	done >"$1/Packages"
	mkdir -p "$TREE/etc/apt/sources.list.d"
	echo "deb [trusted=yes] ${2:-file}:$1 ./" >"$TREE/etc/apt/sources.list.d/mirror.list"
	: >"$TREE/etc/apt/sources.list"
}

@test "debpool: only what the folders cannot give is asked of the copied system's sources" {
	deb "$POOL" top 1 'Depends: bottom, both'
	deb "$POOL" both 1
	deb "$T/mirror" both 2
	deb "$T/mirror" top 2 'Depends: bottom, both'
	deb "$T/mirror" bottom 1
	mirror "$T/mirror"
	resolve pools "$POOL" -- top
	refused "'bottom'"
	gives 'both_1 bottom_1 top_1' network "$POOL" -- top
	has "$err" mirrors
	has "$out" "$POOL/both_1"
	has "$out" "$T/mirror/(\./)?bottom_1"
	dpkg_takes
}

@test "debpool: the newest is taken where the folders' own will not do" {
	deb "$POOL" top 1 'Depends: bottom (>= 2)'
	deb "$POOL" bottom 1
	deb "$T/mirror" bottom 2
	mirror "$T/mirror"
	gives 'bottom_2 top_1' network "$POOL" -- top
}

@test "debpool: packages are loaded into the work folder, checked, and loaded once" {
	deb "$POOL" top 1 'Depends: bottom'
	deb "$T/mirror" bottom 1:1
	mirror "$T/mirror" copy
	gives 'bottom_1%3a1 top_1' network "$POOL" -- top
	has "$out" "$WORK/apt/cache/archives/bottom_1%3a1_all.deb"
	has "$err" 'loading'
	dpkg_takes
	: >"$TREE/var/lib/dpkg/status"
	gives 'bottom_1%3a1 top_1' network "$POOL" -- top
	rm -rf "${WORK:?}"/*
	printf X | dd of="$T/mirror/bottom_1%3a1_all.deb" bs=1 seek=300 conv=notrunc 2>/dev/null
	resolve network "$POOL" -- top
	status_is 1
	has "$err" 'could not be loaded.*--packages DIR'
}

@test "debpool: mirrors that do not answer are said to" {
	deb "$POOL" top 1 'Depends: bottom'
	resolve network "$POOL" -- top
	refused "'bottom'" "copied system's sources" 127.0.0.1
	resolve pools "$POOL" -- top
	refused "'bottom'"
	no_network
}

@test "debpool: an interrupt ends it, at any point" {
	local n
	deb "$POOL" top 1 'Depends: bottom'
	deb "$POOL" bottom 1
	for n in 1 3 5 7 9; do
		INTERRUPT=$n resolve pools "$POOL" -- top
		if [ "$status" = 0 ]; then continue; fi
		status_is 4
		eq "$out" ''
	done
	INTERRUPT=1 resolve pools "$POOL" -- top
	status_is 4
	gives 'bottom_1 top_1' pools "$POOL" -- top
}

@test "debpool: paths that apt cannot be told, and folders that are none" {
	local w
	deb "$POOL" top 1
	mkdir "$T/w o+rk"
	for w in "$T/a\"b" "$T/a%20b"; do
		mkdir -p "$w"
		WORK=$w resolve pools "$POOL" -- top
		status_is 1
		has "$err" 'character'
	done
	WORK="$T/w o+rk" gives 'top_1' pools "$POOL" -- top
	TREE=$T/none resolve pools "$POOL" -- top
	status_is 1
	has "$err" "$T/none"
}
