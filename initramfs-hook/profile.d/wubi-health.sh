# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# At a login: what wubi-health.service found to be off, if anything. Not in /etc/update-motd.d: that is run only where PAM is set up
# to, as Ubuntu's is, and then for every login anew; every login shell reads this, and where all is well it costs one test.
case $- in
*i*) [ ! -r /run/wubi/health.txt ] || cat /run/wubi/health.txt ;;
esac
