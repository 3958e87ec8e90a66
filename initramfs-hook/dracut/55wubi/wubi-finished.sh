#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by an init without systemd: the images have to have had their turn before it goes on. That job ends by removing itself.
[ ! -e "${hookdir:?}/initqueue/settled/20-wubi-attach.sh" ]
