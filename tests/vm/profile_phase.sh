#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-profile run: the profile is in force while the command runs, and what was before it is so again after success, failure and
# signals; a run that was killed is told and put right; what was written is on the disk when run ends, or run fails (case F13).
#
# vm-setup: truncate -s 400M v.img
# vm-setup: mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 v.img
# vm-setup: truncate -s 64M plain.img
# vm-options: -d v.img -d plain.img -m 512M -t 600

. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/lib_profile.sh"

# device-mapper over the disk, so that parts of it can fail
volume=/dev/mapper/vol

prepare() {
	local size
	size=$(blockdev --getsz /dev/ubda)
	check 'the volume' sh -c "dmsetup create vol --table '0 $size linear /dev/ubda 0' && dmsetup mknodes vol"
	check 'make root' make_image "$volume" root 190M
	check 'make home' make_image "$volume" home 32M
	check 'attach root' attach_image "$volume" root
	check 'attach home' attach_image "$volume" home
	check 'the system' root_from /dev/mapper/wubi-root
	check 'its home' mount -o commit=30 /dev/mapper/wubi-home $root/home
	mkfifo /run/in
	# says that it is there, and waits at a FIFO of its own for the status that it shall end with; /run/got has the signals that it got
	cat >$root/opt/bin/waits <<-'EOS'
		#!/bin/bash
		for s in INT TERM HUP QUIT; do
			trap "echo $s >>/run/got" $s
		done
		mkfifo /run/out.$$
		exec 3<>/run/out.$$
		echo $$ >/run/in
		until read -r status <&3; do :; done
		exit "$status"
	EOS
	chmod +x $root/opt/bin/waits
	check 'set safe' wp set safe --quiet
	look
	safe=$state
}

is_fast() { # WHAT
	check "$1: / is asynchronous" lacks_option / sync
	check "$1: commit=5 on /home" lacks_option /home commit=30
	values
	case $values in *' 0 1500 500') pass "$1: the knobs" ;; *) fail "$1: the knobs" "$values" ;; esac
}

is_safe() { # WHAT
	state_is "$1: as before" "$safe"
	check "$1: nothing is left of the run" test ! -e $root$phase
}

# begin COMMAND...: a run that is in its command; $runner is wubi-profile, $command the command, $waiter what 'ended' waits for.
begin() {
	rm -f /run/got
	wp run "$@" -- waits >/run/run.out 2>&1 &
	waiter=$!
	# open for both: nobody writes when the run does not get that far
	read -r -t 60 command <>/run/in || fail 'the command was not started' "$(cat /run/run.out)"
	runner=$(sed 's/.*"pid":\([0-9]*\).*/\1/' $root$phase)
}

# ended WHAT STATUS [OF-THE-COMMAND]
ended() {
	local status
	echo "${3:-0}" >"/run/out.$command"
	wait $waiter
	status=$?
	cp /run/run.out /run/check.out
	check_equal "$1: the exit status" "$2" "$status"
}

# ---- success and failure ----

succeeds() {
	begin
	is_fast 'while it runs'
	status_says 'while it runs' 0 '"profile": *"fast"' "\"running_phase\": *\\{\"pid\": *$runner,\"stale\": *false\\}" '"differences": *\[\]'
	check 'on record: which' grep -q '"phase": *"iso-copy"' $root$phase
	ended 'success' 0
	is_safe 'success'
	status_says 'success' 0 '"running_phase": *null' '"profile": *"safe"'
}

fails() {
	begin
	ended 'failure' 7 7
	is_safe 'failure'
	check_status 'killed by a signal of its own' 137 wp run -- sh -c 'kill -9 $$'
	is_safe 'killed by a signal of its own'
	check_status 'no such command' 127 wp run -- /nonexistent
	is_safe 'no such command'
	check_status 'no command' 2 wp run --
	is_safe 'no command'
}

chosen() {
	check 'another profile for the copy' wp set balanced --phase iso-copy --quiet
	state_is 'another profile for the copy: recorded only' "$safe"
	begin
	check 'another profile: in force' has_option / commit=1
	status_says 'another profile' 0 '"profile": *"balanced"'
	ended 'another profile' 0
	begin --phase normal
	state_is 'the normal phase' "$safe"
	ended 'the normal phase' 0
	wp set fast --phase iso-copy --quiet
	echo 'profile "x" { bad = "1" }' >$root/etc/wubi/wubi.conf
	check_status 'a bad configuration' 1 wp run -- touch /run/has-run
	says 'a bad configuration: file and line' '/etc/wubi/wubi.conf:1: '
	rm $root/etc/wubi/wubi.conf
	check_status 'a configuration that is not there' 1 wp run --conf /etc/wubi/none.conf -- touch /run/has-run
	says 'a configuration that is not there is named' '/etc/wubi/none.conf'
	check 'a bad configuration: nothing was run' test ! -e /run/has-run
	is_safe 'a bad configuration'
}

# Another program changes a value meanwhile: what was before comes back all the same.
meddled() {
	begin
	echo 33 >/proc/sys/vm/dirty_ratio
	mount -o remount,commit=77 $root/home
	status_says 'meddled with' 1 'vm.dirty_ratio = 33' '"what": *"mount /home"'
	ended 'meddled with' 0
	is_safe 'meddled with'
}

# ---- signals to wubi-profile ----

interrupted() {
	local signal
	for signal in INT TERM HUP QUIT; do
		begin
		kill -$signal "$runner"
		check "$signal: restored at once" wait_for test ! -e $root$phase
		state_is "$signal: restored at once" "$safe"
		check "$signal: the command runs on" kill -0 "$command"
		check "$signal: the command got it" wait_for grep -qx $signal /run/got
		ended "$signal" 4
		says "$signal: says so" 'interrupted'
		is_safe "$signal"
	done
}

# A terminal's own: ^C comes from the kernel to both, and is not sent on once more; what somebody sends to wubi-profile alone is.
begin_in_terminal() {
	rm -f /run/got /run/keys
	mkfifo /run/keys
	exec 4<>/run/keys
	script -qec "exec chroot $root env --default-signal=INT,QUIT -u WUBI_WORK PATH=/opt/bin:/usr/bin:/bin $profile run -- waits" \
		/dev/null <&4 >/run/run.out 2>&1 &
	waiter=$!
	read -r command </run/in
	runner=$(sed 's/.*"pid":\([0-9]*\).*/\1/' $root$phase)
}

got() { # SIGNALS
	[ "$(tr '\n' ' ' 2>/dev/null </run/got)" = "$1 " ]
}

in_terminal() {
	mount -t devpts devpts /dev/pts
	begin_in_terminal
	check_equal 'in a terminal: the command is in the foreground' "$(awk '{ print $8 }' "/proc/$runner/stat")" \
		"$(awk '{ print $5 }' "/proc/$command/stat")"
	printf '\003' >&4
	check '^C: restored at once' wait_for test ! -e $root$phase
	state_is '^C: restored at once' "$safe"
	check '^C: the command runs on' kill -0 "$command"
	check '^C: the command got it' wait_for got INT
	kill -TERM "$runner"
	check '^C, and a signal to wubi-profile alone: the command got each once' wait_for got 'INT TERM'
	ended '^C' 4
	says '^C: says so' 'interrupted'
	is_safe '^C'
	begin_in_terminal
	ended 'in a terminal, and nothing is typed' 7 7
	is_safe 'in a terminal, and nothing is typed'
	exec 4>&-
}

# ---- one at a time ----

alone() {
	local before
	begin
	look
	before=$state
	for what in 'run -- touch /run/has-run' 'set fast' 'set safe' 'reset' 'apply'; do
		# shellcheck disable=SC2086 # words
		check_status "$what during a run: refused" 3 wp $what
		says "$what during a run: by which" "process $runner"
	done
	check 'during a run: nothing else was run' test ! -e /run/has-run
	state_is 'during a run: nothing has changed' "$before"
	check 'during a run: a choice for the next copy is recorded' wp set balanced --phase iso-copy --quiet
	ended 'alone' 0
	is_safe 'alone'
	wp set fast --phase iso-copy --quiet
}

# ---- killed ----

begin_and_kill() {
	begin
	kill -KILL "$runner"
	wait $waiter
	echo 0 >"/run/out.$command" # which is left: it ends
}

killed() {
	local after
	for after in 'reset' 'run -- touch /run/has-run' 'set safe --quiet' 'apply --quiet'; do
		begin_and_kill
		is_fast "killed, before '$after'"
		status_says "killed, before '$after'" 1 "\"running_phase\": *\\{\"pid\": *$runner,\"stale\": *true\\}" \
			"the run of process $runner, which was killed"
		# shellcheck disable=SC2086 # words
		check "killed: $after" wp $after
		[ "$after" != reset ] || wp set safe --quiet
		is_safe "killed: $after"
		status_says "killed: $after" 0 '"running_phase": *null'
	done
	check 'killed, and the next run was one' test -e /run/has-run
}

# Without a choice: reset goes back to what was before the run.
killed_unchosen() {
	local before
	wp reset --quiet
	look
	before=$state
	begin_and_kill
	is_fast 'killed, nothing chosen'
	check 'killed, nothing chosen: reset' wp reset --quiet
	state_is 'killed, nothing chosen: as before the run' "$before"
	no_files 'killed, nothing chosen'
	wp set safe --quiet
	is_safe 'killed, nothing chosen, and then set'
}

# The number of a process that is no more is another one's by now; and a file of an earlier boot says nothing.
other_times() {
	local before
	begin_and_kill
	sed -i "s/\"pid\":$runner,/\"pid\":$$,/" $root$phase
	status_says 'the number is in use again' 1 '"stale": *true'
	check 'the number is in use again: run' wp run -- true
	is_safe 'the number is in use again'
	begin_and_kill
	sed -i 's/"boot_id":"[^"]*"/"boot_id":"an-earlier-one"/' $root$phase
	check 'an earlier boot: set' wp set safe --quiet
	is_safe 'an earlier boot'
	begin
	ended 'an earlier boot, and a run' 0
	begin_and_kill
	sed -i 's/"boot_id":"[^"]*"/"boot_id":"an-earlier-one"/' $root$phase
	check 'an earlier boot: apply' wp apply --quiet
	check 'an earlier boot: apply: nothing is left of the run' test ! -e $root$phase
	status_says 'an earlier boot: apply' 0
	# there was no reboot, and apply takes the mounts as fstab has them
	mount -o remount,sync,commit=30 $root/home
	is_safe 'an earlier boot: apply'
}

damaged() {
	begin_and_kill
	echo '{"version": 1, "setting": {}}' >$root$phase
	status_says 'damaged' 1 '"stale": *true'
	check_status 'damaged: run' 1 wp run -- touch /run/has-run-damaged
	says 'damaged: run: the file, and what to do' "$phase.*wubi-profile reset"
	check 'damaged: nothing was run' test ! -e /run/has-run-damaged
	check 'damaged: reset' wp reset --quiet
	no_files 'damaged'
	wp set safe --quiet
	is_safe 'damaged: all comes from what was saved'
}

# ---- F13: on the disk, or told ----

# Where the first block of a file is on the volume, in sectors: $at.
sector_of() { # FILE-IN-HOME
	local block start
	block=$(filefrag -v "$root/home/$1" | sed -n 's/^ *0: *0\.\. *[0-9]*: *\([0-9]*\)\.\..*/\1/p')
	start=$("$disk" show --map /run/home.map --json | jq '.extents[0].physical_sector')
	at=$((start + block * 8))
}

# By direct I/O below the image: no cache of Linux answers.
is_on_disk() { # FILE-IN-HOME
	sector_of "$1"
	dd if="$volume" iflag=direct bs=4096 skip=$((at / 8)) count=16 status=none | cmp -n 65536 - "$root/home/$1"
}

# With a profile that stays the same: a remount would sync by itself.
on_disk() {
	wp set fast --quiet
	check 'F13 run writes a file' wp run -- dd if=/dev/urandom of=/home/same bs=64k count=1 status=none
	check 'F13 when it is done the file is on the disk, without a remount' is_on_disk same
	wp set safe --quiet
	check 'F13 run writes a file' wp run -- dd if=/dev/urandom of=/home/new bs=64k count=1 status=none
	check 'F13 when it is done the file is on the disk' is_on_disk new
	check 'F13 one in another folder, of a command that fails' sh -c "! chroot $root $profile run -- sh -c \
		'mkdir /home/d && dd if=/dev/urandom of=/home/d/new bs=64k count=1 status=none; false'"
	check 'F13 it is on the disk, too' is_on_disk d/new
}

# By direct I/O: is the first block of a file on the plain ext4 on its disk?
is_on_plain() { # FILE
	local block size
	block=$(filefrag -v "$1" | sed -n 's/^ *0: *0\.\. *[0-9]*: *\([0-9]*\)\.\..*/\1/p')
	size=$(stat -f -c %S "$1")
	[ -n "$block" ] && dd if=/dev/ubdb iflag=direct bs="$size" skip="$block" count=1 status=none | cmp -n "$size" - "$1"
}

# What is not ours, and not '/': written as well, and not held against the command that unmounts it. With a profile that stays the
# same: the kernel begins to write everything when dirty_writeback_centisecs changes.
elsewhere() {
	wp set fast --quiet
	mkfs.ext4 -q -F /dev/ubdb || fail 'mkfs.ext4'
	mkdir -p $root/mnt/plain $root/mnt/later
	mount -o commit=300 /dev/ubdb $root/mnt/plain
	check 'elsewhere: run writes a file' wp run -- dd if=/dev/urandom of=/mnt/plain/new bs=64k count=1 status=none
	check 'elsewhere: when it is done the file is on the disk' is_on_plain $root/mnt/plain/new
	check 'elsewhere: the command can unmount it' wp run -- umount /mnt/plain
	check 'elsewhere: what the command mounts' wp run -- \
		sh -c 'mount -o commit=300 /dev/ubdb /mnt/later && cp /mnt/later/new /mnt/later/two'
	check 'elsewhere: what the command mounts is written' is_on_plain $root/mnt/later/two
	check 'elsewhere: what it covers' wp run -- sh -c 'cp /mnt/later/new /mnt/later/three && mount -t tmpfs tmpfs /mnt/later'
	umount $root/mnt/later
	check 'elsewhere: what it covers is written' is_on_plain $root/mnt/later/three
	umount $root/mnt/later
	wp set safe --quiet
	is_safe 'elsewhere'
}

# ---- F08: what no profile may change, and what all of them have to ----

# An image that is mounted read-only stays so, whatever is done, and nothing is written to it.
read_only() {
	local sum verb
	umount $root/home
	mount -o ro /dev/mapper/wubi-home $root/home
	sum=$(checksum /dev/mapper/wubi-home)
	for verb in 'set fast --dry-run' 'set fast' 'set balanced' apply 'run -- true' reset 'set safe'; do
		# shellcheck disable=SC2086 # words
		check "read-only, $verb" wp $verb --quiet
		check "read-only, $verb: it still is" has_option /home ro
		check_equal "read-only, $verb: nothing was written" "$sum" "$(checksum /dev/mapper/wubi-home)"
	done
	umount $root/home
	mount -o commit=30,sync /dev/mapper/wubi-home $root/home
}

# Without barriers no profile keeps what it promises: told, put in force by set, and put back by reset.
no_barriers() {
	wp reset --quiet
	mount -o remount,nobarrier $root/home
	check 'nobarrier: it is in force' has_option /home nobarrier
	wp set balanced --quiet
	check 'nobarrier: set puts barriers in force' lacks_option /home nobarrier
	status_says 'nobarrier, and set' 0 '"fsync_is_durable": *true' '"kept": *true'
	mount -o remount,nobarrier $root/home
	status_says 'nobarrier since then' 1 '"what": *"mount /home",.*"wanted": *"barrier"' '"fsync_is_durable": *false' '"kept": *false'
	check_status 'nobarrier since then, in words' 1 wp status
	says 'nobarrier since then, in words' 'not even fsync is durable'
	echo "/dev/mapper/wubi-home /home ext4 defaults,nobarrier 0 0" >$root/etc/fstab
	status_says 'nobarrier by fstab' 1 '/etc/fstab:1,'
	rm $root/etc/fstab
	wp reset --quiet
	check 'nobarrier: reset puts back what was' has_option /home nobarrier
	mount -o remount,barrier,sync,commit=30 $root/home
	wp set safe --quiet
	look
	safe=$state
}

# An interval of -1 means never, as 0 does: no reason to tell nothing, and set puts it right.
never() {
	wp reset --quiet
	look
	before=$state
	echo -1 >/proc/sys/vm/dirty_writeback_centisecs
	check_status 'an interval of -1: status' 1 wp status
	says 'an interval of -1: there is no bound' 'however old'
	check 'an interval of -1: set' wp set safe --quiet
	is_safe 'an interval of -1: set'
	check 'an interval of -1: reset' wp reset --quiet
	check_equal 'an interval of -1: reset: never again' 0 "$(cat /proc/sys/vm/dirty_writeback_centisecs)"
	echo 500 >/proc/sys/vm/dirty_writeback_centisecs
	state_is 'an interval of -1: and as before' "$before"
	wp set safe --quiet
}

# All is in force, and yet nobody can tell whether the promise is kept: the disk's speed is not known.
not_kept() {
	rm -f $root/var/lib/wubi/speed.json
	cat >$root/etc/wubi/wubi.conf <<-'EOS'
		profile "own" {
			mount = "async,commit=1"
			dirty = "64MiB"
			background = "16MiB"
			expire = "2s"
			writeback = "1s"
			loss = "10s"
		}
	EOS
	check 'not kept: set' wp set own --quiet
	status_says 'not kept, as far as is known' 1 '"kept": *false' '"differences": *\[\]'
	rm $root/etc/wubi/wubi.conf
	wp set safe --quiet
	is_safe 'not kept'
}

# ---- F13: the disk fails ----

# The disk fails where an old file lies, and nowhere else.
break_disk() {
	local size
	size=$(blockdev --getsz /dev/ubda)
	sector_of victim
	dmsetup suspend vol
	dmsetup load vol --table "0 $at linear /dev/ubda 0
$at 128 error
$((at + 128)) $((size - at - 128)) linear /dev/ubda $((at + 128))"
	dmsetup resume vol
}

mend_disk() {
	dmsetup suspend vol
	dmsetup load vol --table "0 $(blockdev --getsz /dev/ubda) linear /dev/ubda 0"
	dmsetup resume vol
}

broken_disk() {
	dd if=/dev/urandom of=$root/home/victim bs=64k count=1 status=none
	sync
	break_disk
	check_status 'F13 the disk fails' 1 wp run -- dd if=/dev/zero of=/home/victim bs=64k count=1 conv=notrunc status=none
	says 'F13 the disk fails: it is told' "'/home': not all .* on the disk"
	is_safe 'F13 the disk fails'
	# the command's own syncfs has taken the error, and it says nothing
	check_status 'F13 the disk has failed before' 1 wp run -- \
		sh -c 'dd if=/dev/zero of=/home/victim bs=64k count=1 conv=notrunc status=none; sync -f /home; true'
	says 'F13 the disk has failed before: it is told' "'/home': not all .* on the disk"
	is_safe 'F13 the disk has failed before'
	check_status 'F13 a failure of both' 1 wp run -- \
		sh -c 'dd if=/dev/zero of=/home/victim bs=64k count=1 conv=notrunc status=none; exit 5'
	mend_disk
	check 'F13 the disk is well again' wp run -- dd if=/dev/zero of=/home/victim bs=64k count=1 conv=notrunc status=none
	is_safe 'F13 the disk is well again'
}

# An image that the command mounts, as an installer does: synced with the others.
mounted_meanwhile() {
	umount $root/home
	look
	safe=$state
	check 'mounted meanwhile' wp run -- sh -c 'mount /dev/mapper/wubi-home /home && cp /home/new /home/newer'
	check 'mounted meanwhile: on the disk' is_on_disk newer
	umount $root/home
	is_safe 'mounted meanwhile'
}

# ---- '/' is no image ----

other_root() {
	umount -q $root/home
	wp reset --quiet
	cp $root/opt/bin/waits /run/waits
	root_away && root_from -t tmpfs tmpfs
	cp /run/waits $root/opt/bin/
	mkdir -p $root/var/lib/wubi # memory has no speed that could be measured
	echo '{"version":1,"bytes_per_s":20000000,"device":""}' >$root/var/lib/wubi/speed.json
	look
	before=$state
	begin
	values
	case $values in *' 0 1500 500') pass 'no image: the knobs' ;; *) fail 'no image: the knobs' "$values" ;; esac
	ended 'no image' 0
	state_is 'no image: as before' "$before"
}

load_module dm_mod loop fuse || fail 'load the modules'
prepare
[ "$guest_failed" -eq 0 ] || finish
succeeds
fails
chosen
meddled
interrupted
in_terminal
alone
killed
killed_unchosen
other_times
damaged
on_disk
elsewhere
read_only
no_barriers
never
not_kept
broken_disk
mounted_meanwhile
other_root
finish
