# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
# Faults and signals at the k-th system call that touches the volume, by strace. See also tests/fault, which is thorough.

# needs_trace: under valgrind the call that strace counts would be valgrind's
needs_trace() {
	requires strace
	slow_one
}

# traced CALL ACTION ARG...: runs wubi-disk with ACTION ('error=EIO:when=3'; '' for none) at CALL on $V. $status, $out, $err;
# the calls are in $T/trace.
traced() {
	local call=$1 action=$2
	shift 2
	status=0
	(
		ulimit -c 0
		ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 # which does not work under ptrace
		exec strace -f -qq -o "$T/trace" -P "$V" -e trace="$call" ${action:+-e inject="$call:$action"} "$WUBI_DISK" "$@"
	) >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

# calls CALL ARG...: how many of these calls wubi-disk makes on $V; it must succeed.
calls() {
	local call=$1
	shift
	traced "$call" '' "$@"
	status_is 0
	count=$(grep -c "$call(" "$T/trace")
	[ "$count" -gt 0 ] || fail "no $call on the volume"
}

# hit: the call that the last traced() changed, for messages
hit() { grep -m1 'INJECTED\|^---\| --- SIG' "$T/trace" || tail -1 "$T/trace"; }

# faulted MODE AT ARG...: runs wubi-disk with faultshim; the AT-th write or flush of $V counts
faulted() {
	local mode=$1 at=$2
	shift 2
	status=0
	(
		ulimit -c 0
		LD_PRELOAD=$FAULTSHIM FAULT_TARGET=$V FAULT_MODE=$mode FAULT_AT=$at FAULT_COUNT=$T/count exec "$WUBI_DISK" "$@"
	) >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}
