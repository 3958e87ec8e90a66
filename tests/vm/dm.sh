#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dmlinear in a kernel with device-mapper (cases D06 D07 D10 C17 C20).
# ubda: raw bytes, ubdb: gets an ext4, ubdc: read-only.
#
# vm-setup: truncate -s 64M raw.img ext4.img readonly.img
# vm-options: -d raw.img -d ext4.img -d ro:readonly.img

. "$(dirname "$0")/guest.sh"

driver=$WUBI_BUILD/tests/dm_driver
uuid=WUBI-0123-root
other=WUBI-4567-root
table=2048+64,100+8,30000+128
devices() {
	dmsetup ls | grep -v '^No devices' | sort | cut -f 1 | tr '\n' ' '
}

no_driver() {
	check_status 'no device-mapper: prepare fails' 1 "$driver" prepare wubi-root $uuid /dev/ubda $table
	check_output 'no device-mapper: ENODEV, with the remedy' 'ENODEV.*load dm_mod'
	check_status 'no device-mapper: remove fails' 1 "$driver" remove wubi-root
	check_output 'no device-mapper: ENODEV, with the remedy' 'ENODEV.*load dm_mod'
	check_status 'no device-mapper: find-uuid fails' 1 "$driver" find-uuid $uuid
	check_equal 'no device-mapper: nothing lies on a partition' '' "$("$driver" find-on /dev/ubda)"
}

# What the mapping of $1 must contain, taken from the partition row by row.
mapped_bytes() {
	perl -e 'open(my $f, "<:raw", shift) or die; for (split /,/, shift) { my ($s, $n) = split /\+/;
		seek($f, $s * 512, 0) or die; read($f, my $b, $n * 512) == $n * 512 or die; print $b; }' "$1" "$2"
}

make_and_remove() {
	check_equal 'prepare makes it' prepared "$("$driver" prepare wubi-root $uuid /dev/ubda $table)"
	check_equal 'prepare does not activate it' '' "$("$driver" find-uuid $uuid)$("$driver" find-on /dev/ubda)"
	check 'prepare makes no node' test ! -e /dev/mapper/wubi-root
	# shellcheck disable=SC2016 # perl's variables
	check 'prepare claims the partition' perl -e 'use Fcntl; use Errno;
		!sysopen(my $f, "/dev/ubda", O_RDONLY | O_EXCL) && $!{EBUSY} or die "opened\n"'
	check 'activate' "$driver" activate wubi-root $uuid /dev/ubda $table
	check 'activate makes the node' test -b /dev/mapper/wubi-root
	check_equal 'the table is what dmlinear_format() says' "$("$driver" format 98:0 $table)" \
		"$(dmsetup table wubi-root)"
	check_equal 'the device shows the extents' "$(mapped_bytes /dev/ubda $table | sha256sum)" \
		"$(sha256sum </dev/mapper/wubi-root)"
	check_equal 'find-uuid' wubi-root "$("$driver" find-uuid $uuid)"
	check_equal 'find-uuid: another one' '' "$("$driver" find-uuid $other)"
	check_equal 'find-uuid: a part of one' '' "$("$driver" find-uuid WUBI-0123)"
	check_equal 'find-on' wubi-root "$("$driver" find-on /dev/ubda)"
	check_equal 'find-on: another partition' '' "$("$driver" find-on /dev/ubdb)"
	again
	collisions
	check 'remove' "$driver" remove wubi-root
	check 'remove takes the node away' test ! -e /dev/mapper/wubi-root
	check_status 'remove again' 1 "$driver" remove wubi-root
	check_output 'remove again: ENXIO' '^ENXIO'
	check_equal 'nothing is left' '' "$(devices)"
}

# With the device of make_and_remove() active.
again() {
	local before
	before=$(dmsetup table wubi-root)
	check_equal 'prepare again: active already' active "$("$driver" prepare wubi-root $uuid /dev/ubda $table)"
	check 'activate again' "$driver" activate wubi-root $uuid /dev/ubda $table
	for row in "another uuid:$other /dev/ubda $table" "another table:$uuid /dev/ubda 2048+64" \
		"another table:$uuid /dev/ubda $table,50000+8" "another table:$uuid /dev/ubdb $table" \
		"active read-write:$uuid /dev/ubda $table ro"; do
		# shellcheck disable=SC2086 # the arguments of one row
		check_status "prepare with ${row%%:*}" 1 "$driver" prepare wubi-root ${row#*:}
		check_output "prepare with ${row%%:*}: EEXIST, and says so" "EEXIST.*${row%%:*}"
	done
	check_status 'another name with this uuid' 1 "$driver" prepare wubi-2 $uuid /dev/ubdb $table
	check_output 'another name with this uuid: EEXIST, names the device' "EEXIST.*wubi-root"
	check_status 'activate with another uuid' 1 "$driver" activate wubi-root $other /dev/ubda $table
	check_equal 'the refusals changed nothing' "wubi-root $before" "$(devices)$(dmsetup table wubi-root)"
}

# To the kernel all dm devices are one holder: it lets them share a partition.
collisions() {
	check_equal 'a second image beside it' prepared "$("$driver" prepare wubi-2 $other /dev/ubda 0+8,200+8)"
	check 'a second image beside it: remove' "$driver" remove wubi-2
	check_status 'a second device over one sector of it' 1 "$driver" prepare wubi-2 $other /dev/ubda 0+8,107+1
	check_output 'a second device over one sector of it: EBUSY, names it' "EBUSY.*'wubi-root'.*98:0"
	dmsetup create theirs --table '0 50000 linear 98:0 40000'
	check_status "another tool's device over the bytes" 1 "$driver" prepare wubi-2 $other /dev/ubda 50000+8
	check_output "another tool's device over the bytes: EBUSY, names it" "EBUSY.*'theirs'"
	check_equal "another tool's device over other bytes" prepared \
		"$("$driver" prepare wubi-2 $other /dev/ubda 200+8)"
	"$driver" remove wubi-2
	dmsetup remove theirs
	dmsetup create theirs --table '0 65536 striped 2 8 98:0 40000 98:16 0'
	check_status "another tool's device of a kind that we cannot read" 1 \
		"$driver" prepare wubi-2 $other /dev/ubda 200+8
	check_output "another tool's device of a kind that we cannot read: EBUSY, names it" "EBUSY.*'theirs'"
	dmsetup remove theirs
	check_equal 'the collisions left nothing' 'wubi-root ' "$(devices)"
}

half_made() {
	check 'half-made: create without a table' dmsetup create wubi-root --notable -u $uuid
	check_equal 'half-made: find-uuid does not count it' '' "$("$driver" find-uuid $uuid)"
	check_status 'half-made: nothing to activate' 1 "$driver" activate wubi-root $uuid /dev/ubda $table
	check_output 'half-made: nothing to activate: ENXIO' '^ENXIO'
	check_equal 'half-made: used again' prepared "$("$driver" prepare wubi-root $uuid /dev/ubda 0+8)"
	check_equal 'half-made with a table: used again' prepared \
		"$("$driver" prepare wubi-root $uuid /dev/ubda $table)"
	check_status 'half-made: not with another uuid' 1 "$driver" prepare wubi-root $other /dev/ubda $table
	check_output 'half-made: not with another uuid: EEXIST' '^EEXIST'
	check 'half-made: activate' "$driver" activate wubi-root $uuid /dev/ubda $table
	check_equal 'half-made: the table is the last one' "$("$driver" format 98:0 $table)" \
		"$(dmsetup table wubi-root)"
	dmsetup suspend wubi-root
	check_equal 'suspended: is not active' prepared "$("$driver" prepare wubi-root $uuid /dev/ubda $table)"
	check 'suspended: activate' "$driver" activate wubi-root $uuid /dev/ubda $table
	check_equal 'suspended: is active again' active "$("$driver" prepare wubi-root $uuid /dev/ubda $table)"
	check 'half-made: remove' "$driver" remove wubi-root
	check_equal 'prepared only' prepared "$("$driver" prepare wubi-root $uuid /dev/ubda $table)"
	check 'prepared only: remove' "$driver" remove wubi-root
	check_equal 'nothing is left' '' "$(devices)"
}

# Each failed load must leave nothing behind, not even the device that it found half-made.
failed_load() {
	mkdir -p /run/m && mount /dev/ubdb /run/m
	check_status 'partition mounted: prepare fails' 1 "$driver" prepare wubi-root $uuid /dev/ubdb $table
	check_output 'partition mounted: EBUSY, with the remedy' 'EBUSY.*98:16.*in use.*unmount'
	check_equal 'partition mounted: nothing is left' '' "$(devices)"
	dmsetup create wubi-root --notable -u $uuid
	check_status 'partition mounted, half-made: fails' 1 "$driver" prepare wubi-root $uuid /dev/ubdb $table
	check_equal 'partition mounted, half-made: nothing is left' '' "$(devices)"
	umount /run/m
	check_status 'beyond the end: prepare fails' 1 "$driver" prepare wubi-root $uuid /dev/ubda 0+8,1000000000+8
	check_output 'beyond the end: EINVAL, with a hint' 'EINVAL.*beyond its end'
	mknod /run/none b 98 208
	check_status 'no such partition: prepare fails' 1 "$driver" prepare wubi-root $uuid /run/none $table
	check_output 'no such partition: ENXIO' 'ENXIO.*does not exist'
	for bad in "wubi-root OTHER-1" "wubi/root $uuid" "$(printf '%0128d' 0) $uuid" "wubi-root WUBI-$(printf '%0200d' 0)"; do
		# shellcheck disable=SC2086 # the arguments of one row
		check_status "bad name or uuid '${bad:0:30}'" 1 "$driver" prepare $bad /dev/ubda $table
		check_output "bad name or uuid '${bad:0:30}': EINVAL" '^EINVAL'
	done
	check_equal 'nothing is left' '' "$(devices)"
}

readonly_partition() {
	check_status 'read-only partition: prepare fails' 1 "$driver" prepare wubi-root $uuid /dev/ubdc $table
	check_output 'read-only partition: EROFS, with the remedy' 'EROFS.*read-only.*setrw'
	check_equal 'read-only partition: nothing is left' '' "$(devices)"
	check_equal 'read-only table' prepared "$("$driver" prepare wubi-root $uuid /dev/ubdc $table ro)"
	check 'read-only table: activate' "$driver" activate wubi-root $uuid /dev/ubdc $table ro
	check_equal 'read-only table: a read-only device' 1 "$(blockdev --getro /dev/mapper/wubi-root)"
	check 'read-only table: remove' "$driver" remove wubi-root
}

in_use() {
	local size
	size=$(blockdev --getsz /dev/ubdb)
	"$driver" prepare wubi-root $uuid /dev/ubdb "0+$size" >/dev/null
	"$driver" activate wubi-root $uuid /dev/ubdb "0+$size"
	check 'mounted: mount the device' mount /dev/mapper/wubi-root /run/m
	check_status 'mounted: the partition cannot be mounted' 32 mount -t ext4 /dev/ubdb /mnt
	check_status 'mounted: remove fails' 1 "$driver" remove wubi-root
	check_output 'mounted: remove fails: EBUSY, with the remedy' 'EBUSY.*unmount'
	check 'mounted: it still works' sh -c 'echo x >/run/m/x && sync && grep -q x /run/m/x'
	umount /run/m
	# What udev's probe does: an open for a moment.
	# shellcheck disable=SC2217 # only to hold it open
	sleep 0.3 </dev/mapper/wubi-root &
	check 'opened for a moment: removed' "$driver" remove wubi-root
	wait
	check_equal 'nothing is left' '' "$(devices)"
}

foreign() {
	dmsetup create theirs --table '0 8 linear 98:0 0'
	dmsetup create wubi-home -u OTHER-wubi-home --table '0 8 linear 98:0 8'
	for name in theirs wubi-home; do
		check_status "foreign '$name': remove refused" 1 "$driver" remove $name
		check_output "foreign '$name': with a reason" 'EPERM: not-ours:'
		check_status "foreign '$name': prepare refused" 1 "$driver" prepare $name $uuid /dev/ubda $table
		check_output "foreign '$name': prepare: EEXIST" 'EEXIST.*another uuid'
	done
	check_equal 'foreign: not found on the partition' '' "$("$driver" find-on /dev/ubda)"
	check_equal 'foreign: both are still there' 'theirs wubi-home ' "$(devices)"
	dmsetup remove theirs
	dmsetup remove wubi-home
}

stale_nodes() {
	mknod /dev/mapper/wubi-root b 98 16
	"$driver" prepare wubi-root $uuid /dev/ubda $table >/dev/null
	check 'wrong node: activate' "$driver" activate wubi-root $uuid /dev/ubda $table
	check_equal 'wrong node: set right' "$(dmsetup info -c --noheadings -o major,minor wubi-root)" \
		"$(printf '%d:%d' "0x$(stat -c %t /dev/mapper/wubi-root)" "0x$(stat -c %T /dev/mapper/wubi-root)")"
	"$driver" remove wubi-root
	ln -s /dev/nothing /dev/mapper/wubi-root
	"$driver" prepare wubi-root $uuid /dev/ubda $table >/dev/null
	check 'dangling link: activate' "$driver" activate wubi-root $uuid /dev/ubda $table
	check 'dangling link: set right' test -b /dev/mapper/wubi-root
	"$driver" remove wubi-root
	rm -f /dev/mapper/wubi-root
	"$driver" prepare wubi-root $uuid /dev/ubda $table >/dev/null
	echo precious >/dev/mapper/wubi-root
	check_status 'a file instead of the node: activate fails' 1 "$driver" activate wubi-root $uuid /dev/ubda $table
	check_output 'a file instead of the node: names it' '/dev/mapper/wubi-root'
	check_equal 'a file instead of the node: stays' precious "$(cat /dev/mapper/wubi-root)"
	rm /dev/mapper/wubi-root
	check 'activate again' "$driver" activate wubi-root $uuid /dev/ubda $table
	check 'activate again: makes the node' test -b /dev/mapper/wubi-root
	"$driver" remove wubi-root
}

semaphores() {
	tail -n +2 /proc/sysvipc/sem | wc -l
}

# A udev that is there and never answers (D07): the cookie is used and given up after the limit.
silent_udev() {
	local start took
	mkdir -p /run/udev && : >/run/udev/control
	"$driver" prepare wubi-root $uuid /dev/ubda $table >/dev/null
	start=$(now_ms)
	DM_TIMEOUT_MS=700 check 'silent udev: activate' "$driver" activate wubi-root $uuid /dev/ubda $table
	took=$(($(now_ms) - start))
	check "silent udev: activate took $took ms, the limit is 700" test $took -ge 700 -a $took -le 3000
	check 'silent udev: the node is there' test -b /dev/mapper/wubi-root
	check_equal 'silent udev: no semaphore is left' 0 "$(semaphores)"
	start=$(now_ms)
	DM_TIMEOUT_MS=700 check 'silent udev: remove' "$driver" remove wubi-root
	took=$(($(now_ms) - start))
	check "silent udev: remove took $took ms, the limit is 700" test $took -ge 700 -a $took -le 3000
	check 'silent udev: the node is gone' test ! -e /dev/mapper/wubi-root
	check_equal 'silent udev: no semaphore is left' 0 "$(semaphores)"
}

answering_udev() {
	local start took
	"$driver" prepare wubi-root $uuid /dev/ubda $table >/dev/null
	start=$(now_ms)
	(while [ "$(semaphores)" -eq 0 ]; do :; done
		exec dmsetup udevcomplete_all -y) >/dev/null 2>&1 &
	DM_TIMEOUT_MS=20000 check 'answering udev: activate' "$driver" activate wubi-root $uuid /dev/ubda $table
	took=$(($(now_ms) - start))
	wait
	check "answering udev: took $took ms of 20000" test $took -le 10000
	check 'answering udev that made no node: it is there' test -b /dev/mapper/wubi-root
	rm -r /run/udev
	"$driver" remove wubi-root
	check_equal 'answering udev: no semaphore is left' 0 "$(semaphores)"
}

many_rows() {
	local rows i
	rows=$(for i in {1000..1}; do printf '%d+%d,' $((i * 24)) 16; done)
	check_equal '1000 extents: prepare' prepared "$("$driver" prepare wubi-root $uuid /dev/ubda "${rows%,}")"
	check '1000 extents: activate' "$driver" activate wubi-root $uuid /dev/ubda "${rows%,}"
	check_equal '1000 extents: the table' "$("$driver" format 98:0 "${rows%,}")" "$(dmsetup table wubi-root)"
	check_equal '1000 extents: rows' 1000 "$(dmsetup table wubi-root | wc -l)"
	check_equal '1000 extents: active' active "$("$driver" prepare wubi-root $uuid /dev/ubda "${rows%,}")"
	check_equal '1000 extents: the content' "$(mapped_bytes /dev/ubda "${rows%,}" | sha256sum)" \
		"$(sha256sum </dev/mapper/wubi-root)"
	check '1000 extents: remove' "$driver" remove wubi-root
}

no_driver
load_module dm_mod || fail 'load dm_mod'
head -c 32M /dev/urandom >/dev/ubda
mkfs.ext4 -q -F /dev/ubdb || fail 'mkfs.ext4'
make_and_remove
half_made
failed_load
readonly_partition
in_use
foreign
stale_nodes
silent_udev
answering_udev
many_rows
check_equal 'nothing is left at the end' '' "$(devices)"
finish
