#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One boot of each system to its login prompt, two at a time, as TAP. Needs root. The long list is tests/soak/soak.
set -eu
[ "$(id -u)" -eq 0 ] || { echo "needs root: chroots and mounts to make the systems with"; exit 77; }
[ $# -gt 0 ] || set -- \
	'bookworm-initramfs boots from its image' \
	'bookworm-dracut boots from its image' \
	'trixie-initramfs boots from its image' \
	'trixie-dracut boots from its image'
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "$0")/cases.py" "$@"
