# SPDX-License-Identifier: GPL-2.0-or-later
"""Moving out: the installed system is exported to a partition, of another disk or of the same one, and boots from there."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from flow import install_case  # noqa: E402
from image import MIB, Failed, run  # noqa: E402
from kept import installed_pc  # noqa: E402
from machine import Booted  # noqa: E402
from vm import Disk  # noqa: E402

PARTUUID = '3f8d6b0a-52c1-4e0e-9c11-7a5d20e4b1e0'
SIZE_MIB = 4096
# In the live system. The volume is compared as a whole: export reads it, and nothing else.
EXPORT = r'''
our_packages
volume=$(readlink -f /dev/disk/by-label/Windows)
target=$(readlink -f /dev/disk/by-partuuid/%s)
volume_sum() { dd if="$volume" bs=4M iflag=direct status=none | sha256sum; }
before=$(volume_sum)
ntfscat "$volume" /ubuntu/disks/root.map >/run/root.map || check 'a map' wubi-disk map "$volume" --no-host-map --output /run/root.map
timed 'export' wubi-disk export "$volume" --map /run/root.map --to "$target" --progress plain
check 'the volume is untouched' test "$before" = "$(volume_sum)"
udevadm settle
timed 'repair' wubi-install --repair --root "$target" --default linux --progress plain
check 'and by that' test "$before" = "$(volume_sum)"
check 'a clean file system' e2fsck -fn "$target"
show blkid "$target"
'''
# In what then boots: a system in a partition, with nothing of ours at work.
MOVED_OUT = r'''
show findmnt /
show cat /proc/cmdline /etc/fstab
show lsblk -f
check '/ is the partition' test "$(findmnt -n -o PARTUUID /)" = %s
check 'by its UUID' grep -q "root=UUID=$(findmnt -n -o UUID /) " /proc/cmdline
check 'its label' test "$(findmnt -n -o LABEL /)" = linux-root
check 'as large as the partition' test "$(df --output=size -m / | tail -n 1)" -gt %d
check_not 'no device of ours' test -e /dev/mapper/wubi-root
check 'the login prompt is there' systemctl is-active multi-user.target serial-getty@ttyS0.service
check 'no unit failed' test -z "$(systemctl --failed --no-legend --plain | tee /dev/ttyS1)"
check_installed
check_not 'no map of root' test -e /etc/wubi/maps/root.map
check 'wubi-boot has nothing to do' wubi-boot update --hook
show wubi-boot status
timed 'update-initramfs' update-initramfs -u -k "$(uname -r)"
timed 'update-grub' update-grub
check 'the menu has Windows' grep -q bootmgfw.efi /boot/grub/grub.cfg
check 'the menu starts the partition' grep -q "root=UUID=$(findmnt -n -o UUID /) " /boot/grub/grub.cfg
'''


def with_disk(test, more):
    """From here on the machine has one disk more."""
    def switch_on(script, cds=(), disk=None):
        test.boots += 1
        test.last = Booted(test.path('boot%d' % test.boots), test.pc, [disk or Disk(test.disk.path), Disk(more)], cds, script)
        return test.last
    test.switch_on = switch_on


def export_and_boot(test):
    """Twice: what it has made anew itself boots as well."""
    test.payload()
    test.live(EXPORT % PARTUUID)
    test.check_entry(is_next=True)
    test.installed(MOVED_OUT % (PARTUUID, SIZE_MIB * 9 // 10))
    test.installed(MOVED_OUT % (PARTUUID, SIZE_MIB * 9 // 10))
    test.check_entry()


@install_case('exported')
def _(test):
    """exported to a partition of another disk, under Secure Boot: it boots from there, and again; Windows and the image are untouched"""
    installed_pc(test)
    other = test.path('other.img')
    with open(other, 'wb') as file:
        file.truncate((SIZE_MIB + 2) * MIB)
    run('sfdisk', '--quiet', other, input='label: gpt\nstart=2048, size=%d, uuid=%s\n' % (SIZE_MIB * 2048, PARTUUID))
    with_disk(test, other)
    export_and_boot(test)
    test.check_windows()


@install_case('exported-same-disk')
def _(test):
    """the same to a new partition of the disk that Windows is on, and then the image is removed"""
    installed_pc(test)
    files = test.disk.windows_sums(), test.disk.esp_sums()
    with open(test.disk.path, 'r+b') as file:
        file.truncate(os.path.getsize(test.disk.path) + (SIZE_MIB + 2) * MIB)
    run('sfdisk', '--quiet', '--no-reread', '--relocate', 'gpt-bak-std', test.disk.path)
    run('sfdisk', '--quiet', '--no-reread', '--append', test.disk.path, input='size=%d, uuid=%s\n' % (SIZE_MIB * 2048, PARTUUID))
    export_and_boot(test)
    if (test.disk.windows_sums(), test.disk.esp_sums()) != files:
        raise Failed('files of Windows are others')
    test.live('our_packages\ntimed remove wubi-disk remove /dev/disk/by-label/Windows --image /ubuntu/disks/root.disk --yes\n')
    test.installed(MOVED_OUT % (PARTUUID, SIZE_MIB * 9 // 10))
