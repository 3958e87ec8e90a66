# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash

# cut ARGUMENT...: runs ./power, which says whether it saw what it should; what it measured goes to the log, too.
# Nothing is skipped here: where there is no user-mode Linux, nothing has been shown about power cuts.
cut() {
	local status=0
	"$PY" "$TESTS_DIR/power/power" "$@" >"$T/said" 2>&1 3>&- || status=$?
	sed 's/^/# /' "$T/said" >&3
	[ "$status" = 0 ] || fail "power $*: exit status $status: $(cat "$T/said")"
}
