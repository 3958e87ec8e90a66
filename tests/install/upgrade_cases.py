# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine is killed in the middle of an upgrade, again and again: does it still boot, and can the upgrade be completed?"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from flow import TROUBLE, Failed, install_case  # noqa: E402
from kept import installed_pc  # noqa: E402
from machine import Cd  # noqa: E402

KILLS = 10
FIRST, STEP = 4, 17     # the kill comes behind line FIRST + i * STEP of what dpkg says: an upgrade has about 170
# A kill may leave a package half unpacked: dpkg then wants it anew, and does not configure what depends on it.
UPGRADE = r'''
line_number=0
lines() { # COMMAND...: what it says, numbered, on the console
	local line
	"$@" 2>&1 </dev/null | {
		while IFS= read -r line; do line_number=$((line_number + 1)) && echo "UPGRADE-LINE $line_number $line"; done
		echo "$line_number" >/run/lines
		exit 0
	} >/dev/console
	local status=${PIPESTATUS[0]}
	line_number=$(cat /run/lines)
	return "$status"
}
upgrade() {
	export DEBIAN_FRONTEND=noninteractive
	dpkg --configure -a || echo 'not all could be configured'
	dpkg -i /medium/pool/*.deb "$payload"/more/linux-image-*.deb "$payload"/debs/wubi-tools_*.deb && dpkg --configure -a &&
		update-initramfs -u -k all && update-grub
}
check_root match
check 'it is not too full' test "$(df --output=avail / | tail -n 1)" -gt 200000
open_payload
mkdir -p /medium
check 'the medium' mount -o ro /dev/disk/by-label/WUBI-LIVE /medium
'''
CHOOSE = '''
check 'the profile' wubi-profile set %s
show wubi-profile status
sync
'''
LOOP = UPGRADE + '''
while lines upgrade; do :; done
echo UPGRADE-FAILED >/dev/console
'''
COMPLETE = UPGRADE + '''
lines upgrade
result $? 'the upgrade can be completed'
check 'all packages are whole' test -z "$(dpkg --audit)"
check 'nothing is unpacked or half installed' test -z "$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' | grep -v '^[irph][cin] ')"
boot_is_right
'''


def kill_it(test, number, cds):
    """Boots, and is killed in its upgrade. Returns what was the matter, or ''."""
    line = FIRST + number * STEP
    with test.switch_on(LOOP, cds) as machine:
        try:
            machine.wait_for(r'BOOT-CHECKS', TROUBLE)
            trouble = re.search(TROUBLE, machine.console(), re.M)
            if not trouble:
                machine.wait_for(r'^.*UPGRADE-LINE %d .*' % line, 'UPGRADE-FAILED', TROUBLE, seconds=2400)
                trouble = re.search('UPGRADE-FAILED|' + TROUBLE, machine.console(), re.M)
        except Failed as failure:
            return str(failure)
        seen = re.findall(r'UPGRADE-LINE \d+ .*', machine.console())
        test.said += 'killed after %.0f s: %s\n' % (machine.seconds(), seen[-1] if seen else 'before the first line')
        if 'NOT OK' in machine.results():
            return 'boot %d: %s' % (number + 1, machine.results())
    return trouble.group() if trouble else ''


def killed(test, profile, may_fail):
    installed_pc(test)
    more = [os.path.join(test.system + '.more', name) for name in os.listdir(test.system + '.more')]
    cds = [Cd(test.system, 'live'), Cd(test.payload(more), 'payload')]
    test.installed(CHOOSE % profile)
    bad = []
    for number in range(KILLS):
        trouble = kill_it(test, number, cds)
        if trouble:
            bad.append('boot %d, after %d kills: %s' % (number + 1, number, trouble))
            break
    if not bad:
        test.installed(COMPLETE, cds=cds)
        test.installed('check_system match\nboot_is_right\n')
        test.check_windows()
    test.said += '%s: %d of %d kills left a system that does not boot or cannot be upgraded\n' % (profile, len(bad), KILLS)
    if bad and not may_fail:
        raise Failed('\n'.join(bad + [test.said]))
    test.said += '\n'.join(bad)


@install_case('upgrade-killed')
def _(test):
    """D19 killed at ten points of an upgrade of kernel, initramfs, GRUB, shim and wubi-tools, in 'safe': it boots after each, and is completed"""
    killed(test, 'safe', False)


@install_case('upgrade-killed-fast')
def _(test):
    """D19 the same in 'fast': which kills it did not survive is in the log"""
    killed(test, 'fast', True)
