#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# ISO files: mounted, looked at, the layers over one another, and unmounted without a loop device that stays. The kernel of the machine
# that runs the tests need not know iso9660 (cases G03 G06).
#
# vm-setup: mkdir -p base/etc base/usr/lib/modules/6.1.0-1-amd64 base/var/lib/dpkg over cd/live other/LiveOS
# vm-setup: printf 'PRETTY_NAME="Some System"\nID=some\n' >base/etc/os-release
# vm-setup: printf 'Package: dpkg\nArchitecture: %s\n' "$(dpkg --print-architecture)" >base/var/lib/dpkg/status
# vm-setup: ln -s usr/lib base/lib; echo base >base/file; echo over >over/file
# vm-setup: for tree in base over; do mksquashfs $tree cd/live/$tree.squashfs -quiet -no-progress -comp gzip; done
# vm-setup: printf 'base.squashfs\nover.squashfs\n' >cd/live/filesystem.module; head -c 3M /dev/zero >cd/zzz
# vm-setup: (cd cd && sha256sum ./live/*.squashfs >sha256sum.txt)
# vm-setup: xorriso -as mkisofs -quiet -r -J -o cd.iso cd; xorriso -as mkisofs -quiet -r -J -o other.iso other
# vm-setup: cp cd.iso short.iso; truncate -s -2M short.iso
# vm-setup: cp cd.iso flipped.iso; at=$(grep -abo hsqs flipped.iso | head -n 1 | cut -d : -f 1)
# vm-setup: printf x | dd of=flipped.iso bs=1 seek=$((at + 300)) conv=notrunc status=none

. "$(dirname "$0")/guest.sh"

driver=$WUBI_BUILD/tests/cli/livesource_driver
work=/run/source

# nothing_stays WHAT
nothing_stays() {
	check_equal "$1: no mount stays" '' "$(grep -F $work /proc/self/mountinfo)"
	check_equal "$1: no folder stays" '' "$(ls -A $work)"
	check_equal "$1: no loop device stays" '' "$(losetup -n -O BACK-FILE | grep -F "$WUBI_WORK")"
}

load_module isofs squashfs overlay loop || fail 'modules'
mkdir -p $work

COMMAND="cat $work/tree/file" check_status 'an ISO is found and mounted' 0 "$driver" $work --iso "$WUBI_WORK/cd.iso" mount
check_output 'its layout' '^layout=live-boot$'
check_output 'its layers' "^layer=$work/medium/live/over.squashfs\$"
check_output 'its system' '^title=Some System$'
check_output 'the upper layer is seen' '^over$'
nothing_stays 'mounted'

check_status 'a whole one' 0 "$driver" $work --iso "$WUBI_WORK/cd.iso" check
check_output 'by its own list' '^checked=1$'
check_status 'a byte of a layer differs' 1 "$driver" $work --iso "$WUBI_WORK/flipped.iso" check
check_output 'G03 says so' '^bad-medium: '
nothing_stays 'flipped'
check_status 'one that was cut short' 1 "$driver" $work --iso "$WUBI_WORK/short.iso" check
check_output 'G03 says so' '^bad-medium: .*short.iso'
nothing_stays 'cut short'

check_status 'one of another layout' 1 "$driver" $work --iso "$WUBI_WORK/other.iso" find
check_output 'G06 says so' '^layout: .*other.iso'
nothing_stays 'another layout'

finish
