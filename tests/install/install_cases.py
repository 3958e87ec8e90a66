# SPDX-License-Identifier: GPL-2.0-or-later
"""The cases of the installer: each function is one, its text what it shows. 'install_cases.py NAME...' runs them as TAP."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from flow import INSTALL, TROUBLE, install_case, our_packages  # noqa: E402,F401 the last for soak
from cases import REGISTRY, tap  # noqa: E402
from disk import OTHER_DEBIAN, VOLUME_START, WRONG_MENU  # noqa: E402
from image import FX, MIB, Failed, extents_of, run  # noqa: E402
from kept import installed_pc  # noqa: E402
from machine import Cd  # noqa: E402
from vm import Disk  # noqa: E402
import cut_cases  # noqa: E402,F401 registers them
import export_cases  # noqa: E402,F401 registers them
import upgrade_cases  # noqa: E402,F401 registers them

ALL = 'check_everything match\ncheck_installed\nboot_is_right\n'


def files():
    """What the cases are made of."""
    return sorted(os.path.join(base, name) for base, _, names in os.walk(HERE) for name in names if not name.endswith('.pyc'))


def install_and_boot(test, script=ALL, **changes):
    """The whole way: no byte of Windows' is another afterwards, and none of the volume's but in the image since the installation."""
    test.install(**changes)
    outside = test.disk.outside_sum(test.map())
    test.installed(script)
    test.check_windows()
    if test.disk.outside_sum(test.map()) != outside:
        raise Failed('the installed system changed bytes of the volume outside the image')


@install_case('secure-boot')
def _(test):
    """Debian 12, Secure Boot: live medium, wubi-install, and the installed system boots; Windows' files and partitions are the same"""
    test.set_up()
    install_and_boot(test)


@install_case('without-secure-boot')
def _(test):
    """the same with Secure Boot off"""
    test.set_up('plain')
    install_and_boot(test)


@install_case('trixie', 'trixie')
def _(test):
    """Debian 13, Secure Boot"""
    test.set_up()
    install_and_boot(test)


@install_case('windows-first')
def _(test):
    """what starts by itself stays Windows: our entry is not the first, but the next start's, once"""
    test.set_up()
    test.payload(default='windows')
    test.live('our_packages\ntimed wubi-install %s\n' % INSTALL)
    test.check_windows()
    test.check_entry(first=False, is_next=True)
    test.installed('check_root match\ncheck_installed\nboot_is_right\n')
    test.check_entry(first=False, is_next=False)
    test.check_windows()


@install_case('other-debian')
def _(test):
    """another Debian's files on the EFI system partition: its menu is not taken, and nothing of it is changed"""
    test.set_up(more_on_esp=OTHER_DEBIAN)
    install_and_boot(test)


@install_case('foreign-menu')
def _(test):
    """somebody else's /boot/grub/grub.cfg on the EFI system partition: refused, and nothing is written"""
    test.set_up(more_on_esp={'boot/grub/grub.cfg': WRONG_MENU.encode()})
    test.payload()
    before = test.disk.disk_sum()
    test.live('our_packages\nrefused "boot/grub/grub.cfg" %s\n' % INSTALL)
    if test.disk.disk_sum() != before or test.our_entries():
        raise Failed('a refused installation has written something')


# Packages of the installed system

NEW_KERNEL = '''
check_system match
open_payload
timed 'a second kernel' dpkg --force-unsafe-io -i "$payload"/more/linux-image-*.deb
boot_is_right
ls /boot /boot/efi/EFI/wubi
'''
RUNS_NEW = '''
check_system match
check 'the new kernel runs' test "$(uname -r | grep -c cloud)" = 1
boot_is_right
'''
UPDATE_GRUB = RUNS_NEW + "timed 'update-grub' update-grub\nboot_is_right\n"
REINSTALL = RUNS_NEW + '''
mkdir -p /medium && mount -o ro /dev/disk/by-label/WUBI-LIVE /medium
timed 'GRUB and shim again' dpkg --force-unsafe-io -i /medium/pool/grub*.deb /medium/pool/shim*.deb /medium/pool/mokutil*.deb \
	/medium/pool/libfreetype6*.deb /medium/pool/libpng*.deb /medium/pool/libbrotli*.deb
timed 'grub-install' grub-install
boot_is_right
'''
PURGE = RUNS_NEW + '''
old=$(dpkg-query -W -f '${Package}\\n' 'linux-image-[0-9]*-amd64' | grep -v cloud)
dpkg-query -W linux-image-amd64 >/dev/null 2>&1 && dpkg --purge linux-image-amd64
timed "without $old" env DEBIAN_FRONTEND=noninteractive dpkg --purge "$old"
check_not 'its copy is gone' ls /boot/efi/EFI/wubi/vmlinuz-"${old#linux-image-}"
boot_is_right
'''


@install_case('kernels')
def _(test):
    """a second kernel, update-grub, GRUB and shim again, the old kernel away: it boots after each, and is right on the ESP"""
    installed_pc(test)
    more = os.listdir(test.system + '.more')
    payload = Cd(test.payload([os.path.join(test.system + '.more', name) for name in more]), 'payload')
    test.installed(NEW_KERNEL, cds=[payload])
    test.installed(UPDATE_GRUB)
    test.installed(REINSTALL, cds=[Cd(test.system, 'live')])
    test.installed(PURGE)
    test.installed(RUNS_NEW)
    test.check_windows()
    test.check_entry()


CRASH = NEW_KERNEL + '\necho b >/proc/sysrq-trigger\n'


@install_case('kernel-crash')
def _(test):
    """a second kernel, and the machine is reset at once: GRUB, which replays no journal, boots it"""
    installed_pc(test)
    more = os.listdir(test.system + '.more')
    payload = Cd(test.payload([os.path.join(test.system + '.more', name) for name in more]), 'payload')
    with test.switch_on(CRASH, cds=[payload]) as machine:
        machine.wait_for(r'BOOT-CHECKS', TROUBLE)
        machine.wait_end()
        test.said += machine.results()
        if 'NOT OK' in machine.results():
            raise Failed('before the reset')
    test.installed(RUNS_NEW)


# Windows moves the image

def move_image(test):
    """All of it: ntfsresize makes the volume end where the image began; what was there is overwritten, as Windows' next files would.
    chkdsk would clear the mark that it leaves."""
    before = extents_of(test.map())
    start = min(physical for _, physical, _ in before)
    if not os.path.exists('/etc/mtab'):
        os.symlink('/proc/self/mounts', '/etc/mtab')
    with test.disk.volume() as volume:
        done = run('ntfsresize', '-f', '-f', '-s', str(start), volume, input='y\n')
        run(sys.executable, FX, 'clear-dirty', volume)
        run('blockdev', '--flushbufs', volume)
    if 'Successfully resized' not in done:
        raise Failed(done)
    with open(test.disk.path, 'r+b') as file:
        for _, physical, length in before:
            for at in range(physical, physical + length, MIB):
                file.seek(VOLUME_START + at)
                file.write(b'another file' * (MIB // 12))


def without_copies(test):
    """The kernels on the EFI system partition are deleted."""
    names = [path for path in test.disk.esp_tree() if re.match(r'EFI/wubi/(vmlinuz|initrd)', path)]
    for name in names:
        test.disk.mtools('mdel', '::' + name)
    return names


@install_case('moved')
def _(test):
    """Windows moves the image: the copies on the ESP boot, the maps and the menu are made anew, and it boots from the image again"""
    installed_pc(test)
    move_image(test)
    machine = test.installed('check_system moved\nwait_for_refresh\nboot_is_right\n')
    if 'kernel copy' not in machine.console():
        raise Failed('it did not boot from the copy')
    test.disk.verify(test.map())
    test.installed('check_system match\nboot_is_right\n')
    test.check_windows()


@install_case('moved-without-copies')
def _(test):
    """the same without copies: the menu says what helps, 'wubi-install --repair' from the live medium does, and it boots"""
    installed_pc(test)
    move_image(test)
    if not without_copies(test):
        raise Failed('there were no copies on the EFI system partition')
    with test.switch_on('') as machine:
        machine.wait_for(r'wubi-install --repair', r'BOOT-CHECKS', r'Kernel panic')
        if not re.search('wubi-install --repair', machine.console()):
            raise Failed('the menu does not say what helps')
    test.payload()
    test.live('our_packages\ntimed repair wubi-install --repair --volume LABEL=Windows --yes --progress plain\n')
    test.disk.verify(test.map())
    # the firmware has put the CD first, as it was told to; --repair without --default leaves the order alone
    test.check_entry(first=False, is_next=True)
    test.installed('check_system match\nboot_is_right\n')
    test.check_windows()


# The way back

@install_case('remove')
def _(test):
    """installed, booted, removed from the live medium: as if it had never been there; removed again: says so"""
    installed_pc(test)
    test.installed('check_root match\n')
    test.payload()
    test.live('''our_packages
timed 'remove' wubi-install --remove --volume LABEL=Windows --yes --progress plain
show wubi-install --remove --volume LABEL=Windows --yes
''')
    test.check_gone()


def pulled(test, name, cd, disk=None):
    """The drive of that name goes while it is copied: what is left of the machine is switched off."""
    test.payload()
    script = 'our_packages\n%s 2>&1 | tee /dev/console\necho INSTALLATION-ENDED >/dev/console\n' % INSTALL
    with test.switch_on(script, [cd, Cd(test.path('payload.iso'), 'payload')], disk) as machine:
        machine.wait_for(r'^copying', TROUBLE, r'INSTALLATION-ENDED')
        machine.wait_for(r'^copying(.*\n)+?.*\b[1-9][0-9]? ?%', TROUBLE, r'INSTALLATION-ENDED')
        machine.pull(name)
        began = machine.seconds()
        machine.wait_for(r'INSTALLATION-ENDED')
        test.said += '%s\nit ended %.0f s after the drive had gone\n' % (machine.console(), machine.seconds() - began)
        if not re.search(r'^wubi-install: ', machine.console(), re.M):
            raise Failed('the installation did not tell')
    test.check_windows()
    if test.our_entries():
        raise Failed('an entry for a system that is not there')
    install_and_boot(test)


@install_case('cd-pulled')
def _(test):
    """the live medium is pulled out while it is copied: Windows is whole, and the next installation begins anew"""
    test.set_up()
    pulled(test, 'live', Cd(test.system, 'live', usb=True, first=True))


@install_case('disk-pulled')
def _(test):
    """the same with the disk that is written to"""
    test.set_up()
    pulled(test, 'dev0', Cd(test.system, 'live', first=True), Disk(test.disk.path, 'scsi'))


if __name__ == '__main__':
    sys.exit(tap([(name, REGISTRY[name][0], REGISTRY[name][1], None) for name in sys.argv[1:]]))
