#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2119
#
# wubi-attach, a check for each verdict: the right thing attached, or refused with its own text and remedy on standard error
# and in boot.json, and nothing written to the volume. Cases A03 C01 C02 C03 C04 C05 C06 C15 C21.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: base base.img
# vm-setup: mkvol empty.img 32M
# vm-setup: state moved.img move $image
# vm-setup: copy moved-dirty.img moved.img && fx dirty moved-dirty.img
# vm-setup: copy moved-wiped.img moved.img && wipe moved-wiped.img
# vm-setup: copy grown.img && cp maps/root.map grown.map && wubi-disk grow grown.img --map grown.map --size +2M --max-extents 2 --yes
# vm-setup: sum_of grown.map grown.img >grown.sum
# vm-setup: copy grown-dirty.img grown.img && fx dirty grown-dirty.img
# vm-setup: copy renamed.img && in_linux renamed.img 'mkdir found.000; mv ubuntu/disks found.000/dir0000.chk'
# vm-setup: copy orphaned.img && crowd orphaned.img /ubuntu/disks && fx kill-indx orphaned.img /ubuntu/disks root.disk
# vm-setup: for s in dirty fastboot logdirty; do state $s.img $s; done
# vm-setup: copy hibernated.img && in_linux hibernated.img '{ printf HIBR; head -c 8188 /dev/urandom; } >hiberfil.sys'
# vm-setup: state emptied.img emptied $image && state free-bits.img free-bits $image
# vm-setup: copy emptied-dirty.img emptied.img && fx dirty emptied-dirty.img
# vm-setup: copy missing.img && in_linux missing.img "rm .$image"
# vm-setup: copy replaced.img && in_linux replaced.img "mv .$image old; cp old .$image; rm old"
# vm-setup: copy adopted.img replaced.img && wubi-disk map adopted.img --quiet --output adopted.map
# vm-setup: copy again.img missing.img && wubi-disk rescue again.img --map maps/root.map --in-place --quiet
# vm-setup: copy adopted-dirty.img adopted.img && fx dirty adopted-dirty.img
# vm-setup: for s in compressed encrypted sparse hole reparse; do state foreign-$s.img $s $image; done
# vm-setup: state foreign-short.img init-short $image 4194304
# vm-setup: copy foreign-wiped.img && wipe foreign-wiped.img
# vm-setup: { cat maps/root.map; echo extent 0 1 2; } | maps_of more
# vm-setup: head -n 12 maps/root.map | maps_of cut
# vm-setup: maps_of empty /dev/null
# vm-setup: sed 's/^generation 1$/generation 2/' maps/root.map | maps_of digit
# vm-options: -t 300

. "$(dirname "$0")/lib_boot.sh"

attach_by_runs() {
	one base.img attached 'match' match
	one moved.img attached 'moved' moved 'other extents' 'refresh'
	one moved-dirty.img refused 'moved, not settled' unsettled 'chkdsk /f' 'other extents'
	allow=1 one moved-dirty.img refused 'moved, not settled, allowed: the runs differ' unsettled 'chkdsk /f' 'other extents'
	one moved-wiped.img refused 'moved, with other content there' foreign 'not the map.s file system' 'restore'
	content_sum=$(<"$WUBI_WORK/grown.sum") one grown.img attached 'E07 grown' grown 'begins where the map says' 'refresh'
	one grown-dirty.img refused 'E07 grown, not settled' unsettled 'chkdsk /f' 'has grown'
	allow=1 one grown-dirty.img refused 'E07 grown, not settled, allowed: there is more than the map has' unsettled 'chkdsk /f'
	one renamed.img attached 'renamed' renamed 'found.000/dir0000.chk/root.disk' 'move it back' 'do not reinstall'
	one orphaned.img attached 'orphaned' orphaned 'no folder leads' 'chkdsk' 'keep the map'
}

# The host's own state: refused; the parameter allows it, because the runs are the map's.
unsettled() { # VOLUME WORDS
	one "$1" refused "${1%.img}" unsettled "$2"
	allow=1 one "$1" attached "${1%.img}, allowed" unsettled "$2"
}

all_unsettled() {
	unsettled dirty.img 'marked dirty: run chkdsk /f'
	unsettled fastboot.img 'fast startup.*powercfg /h off'
	one base.img attached 'A03 clean again' match
	unsettled logdirty.img 'journal.*not clean: start windows and shut it down'
	unsettled hibernated.img 'windows is hibernated.*powercfg /h off'
	cmdline="$cmdline wubi.unsettled=maybe"
	one dirty.img refused 'a misspelt parameter allows nothing' unsettled 'chkdsk'
	says 'a misspelt parameter is told' 'wubi.unsettled=maybe is not known'
}

lost() {
	one emptied.img refused 'emptied' emptied 'has 0 bytes where the map says 8388608' 'superblocks are still there' 'rescue'
	one free-bits.img refused 'emptied: only the bits in $Bitmap' emptied 'marked free' 'rescue'
	allow=1 one emptied-dirty.img refused 'emptied and dirty, allowed' unsettled 'has 0 bytes'
	one missing.img refused 'missing' missing 'no file .*root.disk' 'write nothing'
	one replaced.img refused 'replaced' replaced 'another file is at' 'wubi-disk map'
	one adopted.img attached 'replaced, and taken over by wubi-disk map: the map beside it leads there' match
	one adopted-dirty.img refused 'taken over, but chkdsk is due' unsettled 'chkdsk /f'
	one again.img attached 'deleted, and rescued in place: another record, and the map beside it' match
	timeout=1
	one empty.img refused 'missing: another volume only' missing 'no volume with' 'is the disk connected' 'wubi.timeout='
	says 'missing: the log has what each volume is' "$plugged: ntfs, serial number"
}

foreign() {
	local state
	for state in compressed encrypted sparse; do
		one foreign-$state.img refused "foreign: $state" foreign "the file is $state"
	done
	one foreign-hole.img refused 'foreign: a hole' foreign 'the run list cannot be used'
	one foreign-reparse.img refused 'foreign: reparse point' foreign 'a reparse point'
	one foreign-short.img refused 'foreign: initialised size' foreign 'initialised size is 4194304 of 8388608'
	one foreign-wiped.img refused 'foreign: no file system' foreign 'not the map.s file system' 'restore'
}

invalid() { # FOLDER WHAT [WORDS...]
	maps=$WUBI_WORK/$1
	one base.img refused "invalid: $2" invalid 'root.map' 'wubi-disk map' "${@:3}"
}

all_invalid() {
	invalid more 'a line too many'
	invalid cut 'cut off'
	invalid empty 'empty'
	invalid digit 'a changed digit' 'crc|checksum'
	maps=$WUBI_WORK/nowhere
	one base.img refused 'no map, but root is ours' invalid 'no map of that name' 'rebuild its initramfs'
}

# The kernel's count of writes, which the checks above go by, can tell.
control() {
	local counts
	plug empty.img
	dd if=/dev/zero of="$plugged" bs=512 count=1 seek=8 conv=notrunc,fsync status=none
	read -r -a counts <"$(sys_of "$plugged")/stat"
	check 'control: a written sector is seen' test "${counts[6]}" -gt 0
	fresh
}

attach_by_runs
all_unsettled
lost
foreign
all_invalid
control
finish
