# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the guest scripts of wubi-profile, after guest.sh: a system of its own below $root, whose '/' is in an image of ours, or is none.
# Programs are the machine's, all that is written goes into that '/', and /run is the guest's.

profile=$WUBI_BUILD/wubi-profile
disk=$WUBI_BUILD/wubi-disk
root=/run/r
choice=/etc/wubi/profile.conf
sysctl=/etc/sysctl.d/90-wubi.conf
grub=/etc/default/grub.d/wubi.cfg
saved=/var/lib/wubi/saved.json
phase=/run/wubi/phase.json
pending=/var/lib/wubi/grub.pending
knobs='dirty_bytes dirty_ratio dirty_background_bytes dirty_background_ratio dirty_expire_centisecs dirty_writeback_centisecs'

# root_from MOUNT-ARGUMENT...: '/' of the system; what is in it stays from one to the next.
root_from() {
	local dir
	mkdir -p $root
	mount "$@" $root || return 1
	for dir in usr proc sys dev run etc/wubi opt/bin home; do
		mkdir -p "$root/$dir"
	done
	for dir in bin sbin lib lib64; do
		[ -L "$root/$dir" ] || [ ! -e "/$dir" ] || ln -s "usr/$dir" "$root/$dir"
	done
	for dir in usr proc sys dev; do
		mount --rbind "/$dir" "$root/$dir" || return 1
	done
	# its GRUB is the test's own, or none, whatever this machine has
	[ ! -e /usr/sbin/update-grub ] || mount --bind /dev/null $root/usr/sbin/update-grub || return 1
	# the guest's /run has $root in it: a plain bind ends before that
	mount --bind /run $root/run
	mkdir -p "$root$WUBI_BUILD"
	mount --bind "$WUBI_BUILD" "$root$WUBI_BUILD"
}

root_away() {
	umount "$root$WUBI_BUILD" $root/run && umount -R $root/usr && umount -R $root/proc && umount -R $root/sys &&
		umount -R $root/dev && umount $root
}

# in_root COMMAND...: in that system; with the signals that bash ignores for what it starts in the background.
in_root() {
	chroot $root env --default-signal=INT,QUIT -u WUBI_WORK PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ "$@"
}

wp() { in_root "$profile" "$@"; }

# make_image VOLUME NAME SIZE; all are made before the first is attached.
make_image() {
	"$disk" create "$1" --size "$3" --name "$2" --image "/ubuntu/disks/$2.disk" --map "/run/$2.map" --quiet
}

attach_image() { # VOLUME NAME
	"$disk" attach "$1" --map "/run/$2.map" --quiet
}

# root_and_home VOLUME: a system whose / and /home are in images, with a mount option that no profile has.
root_and_home() {
	check 'make root' make_image "$1" root 190M
	check 'make home' make_image "$1" home 32M
	check 'attach root' attach_image "$1" root
	check 'attach home' attach_image "$1" home
	check 'the system' root_from /dev/mapper/wubi-root
	check 'its home' mount -o commit=30 /dev/mapper/wubi-home $root/home
	mkdir -p $root/etc/default/grub.d $root/etc/sysctl.d
}

# start_state DIRTY BACKGROUND EXPIRE WRITEBACK: each of the first two NAME=VALUE of one member.
start_state() {
	echo "${1#*=}" >"/proc/sys/vm/${1%=*}" && echo "${2#*=}" >"/proc/sys/vm/${2%=*}" &&
		echo "$3" >/proc/sys/vm/dirty_expire_centisecs && echo "$4" >/proc/sys/vm/dirty_writeback_centisecs
}

# Without a process of its own: it is asked for often, and a guest starts them slowly.
values() { # into $values: the knobs
	local knob value
	values=''
	for knob in $knobs; do
		read -r value <"/proc/sys/vm/$knob"
		values+=" $value"
	done
	values=${values# }
}

options_of() { # TARGET: into $options, those of its super block, as the system's mountinfo has them
	local target=$root${1%/} line lines
	options=''
	mapfile -t lines </proc/self/mountinfo
	for line in "${lines[@]}"; do
		case $line in *" / $target "*) options=${line##* } ;; esac
	done
}

# Knobs and options of the images, on one line, in $state: what reset has to bring back.
look() {
	values
	state=$values
	options_of /
	state+=" / $options"
	options_of /home
	state+=" /home $options"
}

knobs_are() { # WHAT DIRTY-BYTES BACKGROUND-BYTES EXPIRE WRITEBACK
	values
	check_equal "$1" "$2 0 $3 0 $4 $5" "$values"
}

state_is() { # WHAT STATE
	look
	check_equal "$1" "$2" "$state"
}

has_option() { # TARGET OPTION
	options_of "$1"
	case ,$options, in *",$2,"*) ;; *) return 1 ;; esac
}

lacks_option() {
	! has_option "$@"
}

no_files() { # WHAT: none of ours is left
	local file left=''
	for file in $choice $sysctl $grub $saved $phase $pending; do
		[ ! -e "$root$file" ] || left="$left $file"
	done
	check_equal "$1: no file of ours is left" '' "$left"
}

# says WHAT PATTERN: as check_output, also without a process.
says() {
	local text
	IFS= read -r -d '' text </run/check.out
	if [[ $text =~ $2 ]]; then
		pass "$1"
	else
		fail "$1" "no '$2' in:" "$text"
	fi
}

# wait_for COMMAND...: until it succeeds; false after a while.
wait_for() {
	local tries=200
	until "$@"; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.05 # until it is so: there is no event to wait for
	done
}

# status_says WHAT STATUS [PATTERN...]
status_says() {
	local what=$1 status=$2 pattern
	shift 2
	check_status "$what: status $status" "$status" wp status --json
	for pattern in "$@"; do
		says "$what: status says '$pattern'" "$pattern"
	done
}

# killed_at SYSCALL N COMMAND...: wubi-profile, killed before its N-th call. False; true if it had ended before.
killed_at() {
	local call=$1 n=$2
	shift 2
	in_root strace -o /dev/null -e "trace=$call" -e "inject=$call:signal=KILL:when=$n" "$profile" "$@" >/run/killed.out 2>&1
}

# each_kill WHAT CALLS THEN COMMAND...: THEN is run after a kill at each of these system calls.
each_kill() {
	local what=$1 calls=$2 then=$3 call n total=0
	shift 3
	for call in $calls; do
		for ((n = 1; n < 40; n++)); do
			! killed_at "$call" $n "$@" || break
			$then "$what, killed at $call $n"
			total=$((total + 1))
		done
		[ $n -lt 40 ] || fail "$what: $call: no end of it"
		$then "$what, not killed"
	done
	[ $total -ge 3 ] || fail "$what: only $total kills"
}
