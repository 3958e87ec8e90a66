#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/recovery.md: what a person in panic types is what the programs take.

load ../lib.sh

# The commands of ours in it, in blocks and in lines of text, one a line, as 'PROGRAM ARGUMENT...'.
commands() {
	grep -oE '(^ {4,}(sudo )?|`(sudo )?|&& sudo )wubi-[a-z-]+ [^`]*' "$TESTS_DIR/../docs/recovery.md" |
		sed -E 's/^( +|`|&& )(sudo )?//; s/ +#.*//; s/ && .*//; s/ +$//' | sort -u
}

@test "recovery: every command in it is one that the program takes" {
	local line words lacking=''
	while read -r line; do
		read -r -a words <<<"$line"
		if ! "$BUILD/${words[0]}" --list-options | grep -qE "^(-|${words[1]}) "; then
			lacking+=" ${words[1]}"
			continue
		fi
		"$BUILD/${words[0]}" "${words[@]:1}" --test-args >"$T/out" 2>"$T/err" || lacking+=" '$line': $(<"$T/err")"
	done < <(commands)
	[ "$(commands | wc -l)" -gt 15 ] || fail "few: $(commands)"
	[ -z "$lacking" ] || fail "not taken:$lacking"
}

@test "recovery: each verdict that can keep Linux from starting has its heading" {
	local verdict
	for verdict in unsettled renamed orphaned moved missing replaced emptied foreign encrypted ambiguous invalid; do
		grep -qx "## $verdict" "$TESTS_DIR/../docs/recovery.md" || fail "no heading for $verdict"
	done
}
