#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian 12 under Secure Boot: from the live medium to the installed system's login prompt, as TAP. Needs root. The long list is
# tests/soak/soak.
set -eu
[ "$(id -u)" -eq 0 ] || { echo "needs root: chroots and mounts to make the live medium and the disk with"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "$0")/install_cases.py" install-secure-boot
