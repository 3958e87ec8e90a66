#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What would be copied: layouts of media, real squashfs files, real mounts, and nothing that stays mounted.

load ../lib.sh

DRIVER=$BUILD/tests/cli/livesource_driver
FOLDER=${BATS_FILE_TMPDIR:-}

setup() {
	setup_common
	requires root mksquashfs
	MEDIUM=$T/top/run/live/medium
	mkdir -p "$T/work"
	squashes
}

teardown() {
	local left
	left=$(awk -v t="$T/" 'index($5, t) == 1 { print $5 }' /proc/self/mountinfo | tac)
	MOUNTED=$left
	cleanup
	[ -z "$left" ] || fail "still mounted: $left"
}

teardown_file() { rm -rf -- "${FOLDER:?}"/*; }

# tree NAME [ARCHITECTURE]: a system, as far as is looked at.
tree() {
	local at=$FOLDER/$1
	mkdir -p "$at/etc" "$at/usr/lib/modules/6.1.0-1-amd64" "$at/var/lib/dpkg"
	ln -s usr/lib "$at/lib"
	ln -s /usr/lib/os-release "$at/etc/os-release"
	printf 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n' \
		>"$at/usr/lib/os-release"
	printf 'Package: libc6\nArchitecture: none\n\nPackage: dpkg\nStatus: install ok installed\nArchitecture: %s\n' \
		"${2:-$(dpkg --print-architecture)}" >"$at/var/lib/dpkg/status"
	: >"$at/usr/lib/modules/6.1.0-1-amd64/modules.dep"
}

squash() { mksquashfs "$FOLDER/$1" "$FOLDER/$1.squashfs" -quiet -no-progress -comp gzip >/dev/null 3>&-; }

# squashes: base, over1, over2 (which replaces and deletes), foreign, bare; once.
squashes() {
	[ ! -e "$FOLDER/bare.squashfs" ] || return 0
	tree base
	echo base >"$FOLDER/base/file"
	echo gone >"$FOLDER/base/gone"
	tree foreign s390x
	tree nomodules
	rm -r "$FOLDER/nomodules/usr/lib/modules"
	mkdir -p "$FOLDER/over1" "$FOLDER/over2" "$FOLDER/bare/etc"
	echo over1 >"$FOLDER/over1/file"
	echo one >"$FOLDER/over1/one"
	echo over2 >"$FOLDER/over2/file"
	mknod "$FOLDER/over2/gone" c 0 0
	for name in base foreign nomodules over1 over2 bare; do squash "$name"; done
}

# source_ ARG...: the driver. $status, $out, $err; a mount never stays.
source_() {
	status=0
	"$DRIVER" "$T/work" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
	! grep -qF "$T/work" /proc/self/mountinfo || fail "still mounted: $(grep -F "$T/work" /proc/self/mountinfo)"
	[ -z "$(ls -A "$T/work")" ] || fail "left in work: $(ls "$T/work")"
}

running() { source_ --root "$T/top" "$@"; }

found() { # LINE...
	[ "$status" = 0 ] || fail "status $status"
	for line; do grep -qxF -- "$line" <<<"$out" || fail "no line '$line'"; done
}
refused() { # REASON WORDS
	[ "$status" = 1 ] || fail "status $status"
	has "$err" "^$1: "
	has "$err" "$2"
}
layers() { sed -n 's/^layer=.*\///p' <<<"$out" | paste -sd ' '; }

# put FOLDER NAME...: NAME=SQUASHFS on the medium
put() {
	local folder=$1 pair
	shift
	mkdir -p "$MEDIUM/$folder"
	for pair; do cp -- "$FOLDER/${pair#*=}.squashfs" "$MEDIUM/$folder/${pair%%=*}.squashfs"; done
}

mountable() { slow_one; unshare -m true 2>/dev/null || skip "needs mounts"; requires loop; }

@test "G06 no live system, and none is named: refused" {
	mkdir -p "$T/top/cdrom"
	running find
	refused no-source '--iso'
}

@test "G06 a medium of another layout is refused, and what is known is said" {
	mkdir -p "$MEDIUM/LiveOS" "$MEDIUM/.disk"
	running find
	refused layout 'casper/install-sources.yaml'
	has "$err" "$MEDIUM"
	mkdir -p "$MEDIUM/casper"
	running find
	refused layout 'casper'
}

@test "live-boot's: one squashfs, pool and kernel" {
	mountable
	put live filesystem=base 10-other=over1
	mkdir -p "$MEDIUM/pool"
	touch "$MEDIUM"/live/{vmlinuz-6.1.0-9-amd64,vmlinuz-6.1.0-10-amd64,initrd.img-6.1.0-10-amd64}
	COMMAND="cat $T/work/layer-0/file; touch $T/work/layer-0/x || echo readonly" running mount
	found layout=live-boot "medium=$MEDIUM" "pool=$MEDIUM/pool" "kernel=$MEDIUM/live/vmlinuz-6.1.0-10-amd64" \
		"layer=$MEDIUM/live/filesystem.squashfs" "title=Debian GNU/Linux 12 (bookworm)" id=debian version=12 \
		codename=bookworm \
		"architecture=$(dpkg --print-architecture)" "tree=$T/work/layer-0" base readonly
}

@test "live-boot's filesystem.module: several, the last one on top; one that is missing, or no plain name, is refused" {
	mountable
	put live base=base b=over1 a=over2
	printf 'base.squashfs\nb.squashfs a.squashfs\n' >"$MEDIUM/live/filesystem.module"
	COMMAND="cd $T/work/tree; cat file one; ls gone || echo deleted; touch x || echo readonly" running mount
	found layout=live-boot "tree=$T/work/tree" over2 one deleted readonly
	eq "$(layers)" "base.squashfs b.squashfs a.squashfs" layers
	echo c.squashfs >>"$MEDIUM/live/filesystem.module"
	running find
	refused layout 'c.squashfs'
	echo ../../x.squashfs >"$MEDIUM/live/filesystem.module"
	running find
	refused layout 'no name of a layer'
	: >"$MEDIUM/live/filesystem.module"
	running find
	refused layout 'no layer'
}

@test "casper's, at /cdrom" {
	MEDIUM=$T/top/cdrom
	put casper filesystem=base
	touch "$MEDIUM/casper/vmlinuz" "$MEDIUM/casper/vmlinuz.efi"
	running find
	found layout=casper "medium=$MEDIUM" "kernel=$MEDIUM/casper/vmlinuz" pool=
}

@test "G06 Ubuntu's layered one: what is the default in install-sources.yaml, over its prefixes; not the live session's" {
	mountable
	MEDIUM=$T/top/cdrom
	put casper minimal=base minimal.standard=over1 minimal.standard.live=over2 minimal.en=over2 minimal.standard.en=over2
	cat >"$MEDIUM/casper/install-sources.yaml" <<-'END'
		# made by livefs-edit
		- description:
		    en: All of it
		  id: ubuntu-desktop
		  path: minimal.standard.squashfs
		  type: fsimage-layered
		  variations:
		    secure:
		      path: minimal.enhanced-secureboot.squashfs
		- default: true
		  id: ubuntu-desktop-minimal
		  path: "minimal.squashfs"  # small
		  type: fsimage-layered
	END
	running find
	found layout=casper-layered
	eq "$(layers)" minimal.squashfs layers
	sed -i 's/^- default: true/- default: false/; s/^- description:/- default: true/; s/^    en: All.*//' \
		"$MEDIUM/casper/install-sources.yaml"
	COMMAND="cat $T/work/tree/file" running mount
	found over1
	eq "$(layers)" "minimal.squashfs minimal.standard.squashfs" layers
	rm "$MEDIUM/casper/install-sources.yaml"
	running find
	found layout=casper-layered
	eq "$(layers)" "minimal.squashfs minimal.standard.squashfs" "without a list"
	echo '- path: other.squashfs' >"$MEDIUM/casper/install-sources.yaml"
	running find
	refused layout 'other.squashfs'
	echo 'nothing' >"$MEDIUM/casper/install-sources.yaml"
	running find
	refused layout 'install-sources.yaml'
}

@test "G03 a layer that is no squashfs, and one that differs from the medium's list, are refused before anything is mounted" {
	put live filesystem=base
	touch "$MEDIUM/live/vmlinuz"
	running check
	found checked=0
	(cd "$MEDIUM" && sha256sum ./live/filesystem.squashfs ./live/vmlinuz >sha256sum.txt)
	running check
	found checked=1
	printf x | dd of="$MEDIUM/live/filesystem.squashfs" bs=1 seek=300 conv=notrunc status=none
	running check
	refused bad-medium filesystem.squashfs
	: >"$MEDIUM/live/filesystem.squashfs"
	running find
	refused not-a-squashfs filesystem.squashfs
}

@test "a squashfs file, and the list of checksums beside it" {
	mountable
	cp "$FOLDER/base.squashfs" "$T/my system.squashfs"
	source_ --squashfs "$T/my system.squashfs" mount
	found layout=squashfs medium= pool= kernel= "name=$T/my system.squashfs" id=debian
	source_ --squashfs "$T/my system.squashfs" check
	found checked=0
	sha256sum "$T/my system.squashfs" >"$T/my system.squashfs.sha256"
	source_ --squashfs "$T/my system.squashfs" check
	found checked=1
	printf x | dd of="$T/my system.squashfs" bs=1 seek=300 conv=notrunc status=none
	source_ --squashfs "$T/my system.squashfs" check
	refused bad-medium 'my system.squashfs'
	rm "$T/my system.squashfs.sha256"
	(cd "$T" && sha256sum "my system.squashfs" >sha256sum.txt)
	source_ --squashfs "$T/my system.squashfs" check
	found checked=1
	source_ --squashfs /etc/passwd find
	refused not-a-squashfs /etc/passwd
	source_ --squashfs "$T" find
	refused not-a-squashfs "$T"
	source_ --squashfs "$T/nowhere" find
	refused failed nowhere
}

@test "G06 what is no system, or one for another processor, is refused, and unmounted" {
	mountable
	source_ --squashfs "$FOLDER/bare.squashfs" mount
	refused no-system os-release
	source_ --squashfs "$FOLDER/nomodules.squashfs" mount
	refused no-system modules
	source_ --squashfs "$FOLDER/foreign.squashfs" mount
	refused architecture s390x
	head -c 512 "$FOLDER/base.squashfs" >"$T/short.squashfs" # the magic is there
	source_ --squashfs "$T/short.squashfs" mount
	refused failed work
}

@test "a work folder that overlayfs could not name is told" {
	mountable
	put live base=base b=over1
	printf 'base.squashfs\nb.squashfs\n' >"$MEDIUM/live/filesystem.module"
	mkdir "$T/a,b"
	status=0
	"$DRIVER" "$T/a,b" --root "$T/top" mount >"$T/out" 2>"$T/err" 3>&- || status=$?
	err=$(<"$T/err")
	refused failed 'overlayfs'
	[ -z "$(ls -A "$T/a,b")" ] || fail "left: $(ls "$T/a,b")"
}

@test "G03 what is no ISO, or is cut short before its beginning ends, is refused" {
	head -c 30000 /dev/zero >"$T/short.iso"
	source_ --iso "$T/short.iso" find
	refused not-an-iso short.iso
	source_ --iso "$FOLDER/base.squashfs" find
	refused not-an-iso base.squashfs
	source_ --iso "$T" find
	refused not-an-iso "$T"
	source_ --iso "$T/nowhere" find
	refused failed nowhere
}

@test "an ISO file: mounted below the work folder, read-only, and unmounted; one of another layout is refused" {
	mountable
	requires xorriso
	grep -qw iso9660 /proc/filesystems || modprobe -q isofs 2>/dev/null || skip "this kernel has no iso9660"
	put live filesystem=base
	xorriso -as mkisofs -quiet -r -J -o "$T/cd.iso" "$MEDIUM" 2>/dev/null 3>&-
	source_ --iso "$T/cd.iso" mount
	found layout=live-boot "name=$T/cd.iso" "medium=$T/work/medium" "layer=$T/work/medium/live/filesystem.squashfs" id=debian
	(cd "$T" && sha256sum cd.iso >SHA256SUMS)
	source_ --iso "$T/cd.iso" check
	found checked=1
	truncate -s -100K "$T/cd.iso"
	source_ --iso "$T/cd.iso" check
	refused bad-medium cd.iso
	rm -r "$MEDIUM/live"
	mkdir "$MEDIUM/LiveOS"
	xorriso -as mkisofs -quiet -r -J -o "$T/cd.iso" "$MEDIUM" 2>/dev/null 3>&-
	source_ --iso "$T/cd.iso" find
	refused layout cd.iso
}
