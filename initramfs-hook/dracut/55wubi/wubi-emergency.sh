#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced before an emergency shell: what wubi-attach said, once more, where it can be read.
if [ -r /run/wubi/boot.log ]; then
	while IFS= read -r wubi_line; do printf '%s\n' "$wubi_line"; done </run/wubi/boot.log
fi
