#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wubi-profile where nothing of this machine is changed: its command line, the configuration, the files of a system in a folder, and
# what it says when it may not. What it does to a running system: tests/vm/profile_*.sh.

load ../lib.sh

PROFILE=$BUILD/wubi-profile
VERBS='set status list show reset apply measure run'

setup() {
	setup_common
	R=$T/root
	PUBLIC='' # a folder that everybody can reach
	mkdir "$R"
}
teardown() {
	rm -rf -- ${PUBLIC:+"$PUBLIC"}
	cleanup
}

# wp ARG...: $status, $out, $err.
wp() {
	status=0
	"$PROFILE" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

usage() { # WORDS ARG...
	local words=$1
	shift
	wp "$@"
	status_is 2
	has "$err" "$words"
	eq "$out" ''
}

files() { (cd "$R" && find . -type f | sort | tr '\n' ' '); }

# nobody ARG...: the same as a user without rights, who can reach a copy of the program.
nobody() {
	local as=()
	[ -n "$PUBLIC" ] || PUBLIC=$(mktemp -d) # $T is root's alone
	chmod 755 "$PUBLIC"
	cp -- "$PROFILE" "$PUBLIC/wubi-profile"
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	status=0
	${as[@]+"${as[@]}"} "$PUBLIC/wubi-profile" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

values() { grep -h . /proc/sys/vm/dirty_*; }

# untouched: nothing of this machine has been chosen, and no test may do it.
untouched() { [ ! -e /etc/wubi/profile.conf ] || skip 'this machine has a profile'; }

@test "profile: a bad command line is named" {
	usage 'no verb'
	usage "unknown verb 'choose'" choose safe
	usage "'set' needs NAME" set
	usage "unexpected argument 'fast'" set safe fast
	usage "'--phase'.*'daily' is not one of normal, iso-copy" set safe --phase daily
	usage "'--phase' is not for 'status'" status --phase normal
	usage "'--root' is not for 'reset'" reset --root /
	usage "'--root'.*empty" set safe --root ''
	usage "'--json' is not for 'run'" run --json -- true
	usage "'--runs'.* 0" measure --runs 0
	usage "'--runs'.*100 are too many, at most 99" measure --runs 100
	usage "'--runs'.*'x'" measure --runs x
	usage "'--size'.*'5'.*1 MiB" measure --size 5
	usage "'--size'.*'1T'.*64 GiB" measure --size 1T
}

@test "profile: a command goes behind '--', with all of its own options" {
	usage "'run' needs -- COMMAND" run
	usage "'run' needs -- COMMAND" run --
	usage "unexpected argument 'ls': a command goes behind '--'" run ls
	usage "the command is empty" run -- ''
	wp run --test-args --phase normal -- ls -l --phase x -- y
	status_is 0
	eq "$out" $'verb run\ncommand ls\ncommand -l\ncommand --phase\ncommand x\ncommand --\ncommand y\nphase normal'
}

@test "profile: help of each verb fits 80 columns, and has its exit status" {
	local verb wide
	for verb in '' $VERBS; do
		# shellcheck disable=SC2086
		wp $verb --help
		status_is 0
		has "$out" "^Usage: wubi-profile ${verb:-VERB}"
		has "$out" '^Exit status: '
		wide=$(grep -E '.{81}' <<<"$out") || true
		eq "$wide" '' "lines of '$verb --help' that are too wide"
	done
	wp --version
	has "$out" '^wubi-profile [0-9]+\.[0-9]+\.[0-9]+$'
}

@test "profile: list and show have the profiles of the program without a file, and they are wubi.conf's" {
	wp list
	status_is 0
	for name in safe balanced fast; do has "$out" "^$name +loss "; done
	has "$out" '^safe .*default for normal'
	has "$out" '^fast .*default for iso-copy'
	wp list --json --conf "$TESTS_DIR/../sysctl/wubi.conf"
	eq "$(json '.phase | "\(.normal) \(."iso-copy")"')" 'safe fast'
	eq "$(json '[.profiles[].name] | join(" ")')" 'safe balanced fast'
	eq "$(json '.profiles[0] | [.mount, .dirty, .background, .expire_ms, .writeback_ms, .loss_ms] | join(" ")')" \
		'sync 64MiB 16MiB 5000 1000 0'
	cp "$T/out" "$T/shipped"
	wp list --json
	cmp "$T/out" "$T/shipped" || fail "what is built in is not what is shipped"
	wp show safe --json
	eq "$(json '[.name, .knobs.dirty_bytes, .knobs.dirty_ratio, .knobs.dirty_background_bytes, .knobs.dirty_expire_centisecs,
		.knobs.dirty_writeback_centisecs] | join(" ")')" 'safe 67108864 0 16777216 500 100'
}

@test "profile: what show prints is a profile of wubi.conf, and of the same content" {
	local name
	for name in safe balanced fast; do
		wp show "$name" --json
		cp "$T/out" "$T/first"
		wp show "$name"
		status_is 0
		cp "$T/out" "$T/own.conf"
		wp show "$name" --json --conf "$T/own.conf"
		status_is 0
		cmp "$T/out" "$T/first" || fail "$name: $(<"$T/own.conf")"
	done
	sed 's/^profile ".*"/profile "mine"/; s/about .*/about = "a \\"b\\" \\\\ c"/' "$T/own.conf" >"$T/mine.conf"
	wp show mine --json --conf "$T/mine.conf"
	eq "$(json .about)" "a \"b\" \\ c"
	wp show mine --conf "$T/mine.conf"
	cp "$T/out" "$T/again.conf"
	wp show mine --json --conf "$T/again.conf"
	eq "$(json .about)" "a \"b\" \\ c"
}

# bad WORDS [FILE]: the configuration on stdin, or the file, is refused by each verb that reads it, with WORDS on stderr.
bad() {
	local file=${2:-$T/bad.conf}
	[ $# -gt 1 ] || cat >"$file"
	for args in list 'show safe' "set safe --root $R" status; do
		# shellcheck disable=SC2086
		wp $args --conf "$file"
		status_is 1
		has "$err" "$1"
		eq "$out" ''
	done
	eq "$(files)" ''
}

@test "F03 F07 profile: a bad configuration is named with its file, line and key, and nothing is written" {
	local keys='mount="sync"; expire="5s"; writeback="1s"; loss="0s"'
	bad 'bad\.conf:2: .*colour' <<<$'profile "x" {\n colour = "red"\n}'
	bad 'bad\.conf:[0-9]+: .*dirty.*"?64MB?m' <<<"profile \"x\" { ${keys//;/$'\n'}"$'\n dirty="64MBm"\n background="1MiB"\n}'
	bad 'bad\.conf:[0-9]+: .*background' <<<"profile \"x\" { ${keys//;/$'\n'}"$'\n dirty="64MiB"\n background="64MiB"\n}'
	bad 'bad\.conf:[0-9]+: .*background' <<<"profile \"x\" { ${keys//;/$'\n'}"$'\n dirty="64MiB"\n background="1024"\n}'
	bad 'bad\.conf:[0-9]+: .*nowhere' <<<'phase "normal" { profile = "nowhere" }'
	bad "none\.conf'?: No such file" "$T/none.conf"
	bad 'not a regular file' "$T"
}

@test "profile: a profile that is not there is refused with those that are" {
	local args
	for args in 'show nosuch' "set nosuch --root $R" "set nosuch --phase iso-copy --root $R"; do
		# shellcheck disable=SC2086
		wp $args --json
		status_is 3
		eq "$(json .reason)" no-profile
		has "$err" "'nosuch'.*safe.*balanced.*fast"
	done
	eq "$(files)" ''
}

@test "profile: set in a folder writes the choice and the kernel's values, and nothing else" {
	local before
	before=$(values)
	wp set safe --root "$R/" --json
	status_is 0
	eq "$(json '[.status, .profile, .phase, .root] | join(" ")')" "done safe normal $R"
	eq "$(json '.knobs.dirty_bytes, (.mounts | length)' | tr '\n' ' ')" '67108864 0 '
	eq "$(files)" './etc/sysctl.d/90-wubi.conf ./etc/wubi/profile.conf '
	eq "$(grep -v '^#' "$R/etc/wubi/profile.conf")" 'normal = safe'
	eq "$(grep -v '^#' "$R/etc/sysctl.d/90-wubi.conf" | sort | tr -d ' ' | tr '\n' ' ')" \
		'vm.dirty_background_bytes=16777216 vm.dirty_bytes=67108864 vm.dirty_expire_centisecs=500 vm.dirty_writeback_centisecs=100 '
	wp set safe --root "$R" --json
	eq "$(json .status)" unchanged
	wp set fast --root "$R" --phase iso-copy
	status_is 0
	has "$out" "'fast'.*recorded"
	eq "$(files)" './etc/sysctl.d/90-wubi.conf ./etc/wubi/profile.conf '
	eq "$(grep -v '^#' "$R/etc/wubi/profile.conf" | sort | tr '\n' ' ')" 'iso-copy = fast normal = safe '
	eq "$(values)" "$before" "this machine's values"
}

@test "F08 profile: what no remount takes goes to the command line of the system in the folder" {
	mkdir -p "$R/etc/wubi" "$R/usr/lib/systemd/system/sysinit.target.wants"
	ln -s ../wubi-profile.service "$R/usr/lib/systemd/system/sysinit.target.wants/"
	cat >"$R/etc/wubi/wubi.conf" <<-'END'
		profile "journal" {
			mount = "sync,data=journal"
			dirty = "64MiB"
			background = "16MiB"
			expire = "5s"
			writeback = "1s"
			loss = "0s"
		}
	END
	wp set journal --root "$R"
	status_is 0
	eq "$(files)" './etc/default/grub.d/wubi.cfg ./etc/sysctl.d/90-wubi.conf ./etc/wubi/profile.conf ./etc/wubi/wubi.conf '
	has "$(<"$R/etc/default/grub.d/wubi.cfg")" 'rootflags=data=journal'
	lacks "$(grep -v '^#' "$R/etc/default/grub.d/wubi.cfg")" 'sync'
	wp set safe --root "$R" --quiet
	status_is 0
	eq "$out$err" ''
	absent "$R/etc/default/grub.d/wubi.cfg"
}

@test "profile: set does not take a profile that only another file has, for the name alone is kept" {
	sed 's/sync/async/; s/loss .*/loss = "60s"/' <<<'profile "mine" { mount = "sync"
		dirty = "64MiB"
		background = "16MiB"
		expire = "5s"
		writeback = "1s"
		loss = "0s"
	}' >"$T/own.conf"
	wp set mine --root "$R" --conf "$T/own.conf" --json
	status_is 3
	eq "$(json .reason)" conf-elsewhere
	has "$err" "own.conf'.*'mine'.*$R/etc/wubi/wubi.conf"
	eq "$(files)" ''
	mkdir -p "$R/etc/wubi"
	cp "$T/own.conf" "$R/etc/wubi/wubi.conf"
	wp set mine --root "$R" --conf "$T/own.conf"
	status_is 0
}

@test "profile: set tells when nothing puts the mount options in force at boot" {
	wp set safe --root "$R" --json
	eq "$(json '.notes[].reason')" not-at-boot
	has "$err" "systemctl --root=$R enable wubi-profile.service"
	mkdir -p "$R/etc/systemd/system/sysinit.target.wants"
	ln -s /usr/lib/systemd/system/wubi-profile.service "$R/etc/systemd/system/sysinit.target.wants/"
	wp set safe --root "$R" --json
	eq "$(json '.notes | length')" 0
	eq "$err" ''
}

@test "profile: a dry run writes nothing" {
	wp set safe --root "$R" --dry-run
	status_is 0
	has "$out" 'nothing was changed'
	wp set fast --phase iso-copy --root "$R" --dry-run --json
	status_is 0
	eq "$(json .status)" dry-run
	eq "$(files)" ''
}

@test "profile: status needs no rights, and says what is in force" {
	untouched
	nobody status --json
	status_is 1
	eq "$(json '[.profile, .chosen, .running_phase, (.mounts | type), (.window | .ms > 0), (.differences | type)] | join(" ")')" \
		'safe false  array true array'
	eq "$(json '.knobs | [.dirty_bytes, .dirty_ratio, .dirty_expire_centisecs] | join(" ")')" \
		"$(cat /proc/sys/vm/dirty_bytes /proc/sys/vm/dirty_ratio /proc/sys/vm/dirty_expire_centisecs | xargs)"
	nobody status
	status_is 1
	has "$out" '^profile +safe: .*none was chosen'
	has "$out" '^loss '
	nobody status --quiet
	status_is 1
	eq "$out$err" ''
}

@test "profile: without rights each verb that changes something says so, and nothing is done" {
	untouched
	local before verb
	before=$(values)
	for verb in 'set safe' 'set safe --dry-run' reset; do
		# shellcheck disable=SC2086
		nobody $verb
		status_is 1
		has "$err" "wubi-profile: ${verb%% *}: .*as root"
		eq "$out" ''
	done
	nobody run -- touch /dev/shm/wubi-profile-ran
	status_is 1
	has "$err" 'as root'
	absent /dev/shm/wubi-profile-ran
	eq "$(values)" "$before" "this machine's values"
	absent /etc/wubi/profile.conf
}

@test "profile: where /proc/sys is read-only, as in a container, it says so, and nothing is done" {
	requires root unshare
	untouched
	local args
	for args in 'set safe' 'set safe --json' 'run -- true'; do
		status=0
		# shellcheck disable=SC2016,SC2086 # the inner shell's; words
		unshare --mount --propagation private sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys &&
			exec "$@"' read-only "$PROFILE" $args >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
		err=$(<"$T/err")
		status_is 1
		has "$err" 'read-only'
	done
	absent /etc/wubi/profile.conf
	absent /run/wubi/phase.json
}

@test "profile: measure without fio is refused, and tells what to install" {
	status=0
	PATH=$T "$PROFILE" measure --json >"$T/out" 2>"$T/err" || status=$?
	err=$(<"$T/err")
	status_is 3
	eq "$(json .reason)" no-fio
	has "$err" 'apt install fio'
}

@test "profile: standard output that is closed is found before something is written" {
	status=0
	"$PROFILE" set safe --root "$R" >&- 2>"$T/err" </dev/null 3>&- || status=$?
	status_is 1
	has "$(<"$T/err")" 'nothing was done.*standard output'
	eq "$(files)" ''
}
