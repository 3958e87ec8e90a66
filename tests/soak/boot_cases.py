# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot cases of 'make soak': each function is a case, its text what it shows."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'boot'))
from cases import TROUBLE, boot_everything, case, outside_sum  # noqa: E402
from image import DISK, FX, MIB, Failed, Layout, block_device, extents_of, gather, run, serial_of  # noqa: E402
from vm import Disk  # noqa: E402


def fixture(test, disk, *words):
    """A state of the volume by tests/fixtures/ntfsfx.py: WORDS are its command, and what follows the volume."""
    with block_device(disk, test.layout) as volume:
        run(sys.executable, FX, words[0], volume, *words[1:])
        run('blockdev', '--flushbufs', volume)


def on_volume(test, disk, *command):
    """A command on the volume, which is '@' among its words."""
    with block_device(disk, test.layout) as volume:
        text = run(*[volume if word == '@' else word for word in command])
        run('blockdev', '--flushbufs', volume)
    return text


def file_of_image(test, disk, path, target, map_file=None):
    """A file out of the file system in root.disk, which was cleanly unmounted."""
    image = test.path('image')
    gather(disk, test.layout, map_file or test.system.map(), image)
    run('debugfs', '-R', 'dump %s %s' % (path, target), image)
    os.unlink(image)
    if not os.path.getsize(target):
        raise Failed('no %s in the image' % path)
    return target


# The initramfs

MODULES_DEP = '''
check_system match
echo MODULES=dep >/etc/initramfs-tools/conf.d/test-modules
check 'update-initramfs with MODULES=dep' update-initramfs -u -k all
check 'wubi-initrd check of it' wubi-initrd check "/boot/initrd.img-$(uname -r)"
echo "KERNEL $(uname -r)"
'''


def modules_dep(test):
    disk = test.disk()
    machine = test.boot([disk], script=MODULES_DEP)
    kernel = re.search(r'^KERNEL (\S+)$', machine.results(), re.M).group(1)
    initrd = file_of_image(test, disk, '/boot/initrd.img-' + kernel, test.path('initrd.dep'))
    if os.path.getsize(initrd) > 0.9 * os.path.getsize(test.system.initrd):
        raise Failed('the initramfs of MODULES=dep is not smaller')
    test.root([disk], initrd=initrd)


@case('modules-dep-bookworm')
def _(test):
    """Debian 12, MODULES=dep: the initramfs is built in the running system, and boots it"""
    modules_dep(test)


@case('modules-dep-trixie', 'trixie-initramfs')
def _(test):
    """Debian 13, compressed modules, MODULES=dep"""
    modules_dep(test)


for name in 'storage-bookworm-initramfs', 'storage-bookworm-dracut', 'storage-trixie-initramfs', 'storage-trixie-dracut':
    @case(name, name.partition('-')[2] + '-storage')
    def _(test):
        """multipath-tools, lvm2 and plymouth are installed"""
        boot_everything(test)


NO_SYSTEMD = {'/etc/dracut.conf.d/test.conf': 'omit_dracutmodules+=" systemd systemd-initrd dracut-systemd systemd-udevd '
                                             'systemd-sysusers systemd-ask-password systemd-cryptsetup "\n'}
for name in 'no-systemd-bookworm', 'no-systemd-trixie':
    @case(name, name.rpartition('-')[2] + '-dracut', Layout(files=NO_SYSTEMD))
    def _(test):
        """dracut without systemd in the initramfs: boots, and refuses"""
        disk = test.disk()
        test.root([disk])
        fixture(test, disk, 'fastboot')
        test.refused([disk], 'unsettled', 'Fast Startup')


# Where the volume is

for name, layout in (('mbr-primary', Layout('mbr')), ('mbr-logical', Layout('logical')), ('no-table', Layout('none'))):
    @case(name, layout=layout)
    def _(test):
        """the volume in another kind of partition table, or on the whole disk"""
        test.boot([test.disk()], script='check_live match\n')


@case('sectors-4096', 'trixie-initramfs', Layout(sector=4096))
def _(test):
    """a disk and an NTFS with sectors of 4096 bytes"""
    test.boot([test.disk()], script='check_live match\n')


@case('extents-12', 'trixie-dracut', Layout(extents=12))
def _(test):
    """root.disk in a dozen pieces"""
    if len(extents_of(test.system.map())) < 12:
        raise Failed('the image has too few extents')
    test.boot([test.disk()], script='check_live match\n')


for name in 'bus-sata', 'bus-nvme', 'bus-scsi':
    @case(name)
    def _(test, bus=name[4:]):
        """the same disk and initramfs as with virtio; an empty disk in front"""
        with open(test.path('empty'), 'wb') as file:
            file.truncate(64 * MIB)
        test.root([Disk(test.path('empty'), bus), Disk(test.disk(), bus)])


def late(test, seconds, append=''):
    """The disk is plugged in that long after wubi-attach began to wait."""
    append += ' init=/usr/local/sbin/wubi-boot-init'
    with test.start([Disk(test.disk(), late=True)], append, 'check_root match\n') as machine:
        machine.wait_for(r'wubi: waiting for', TROUBLE)
        # the time is what this case is about
        time.sleep(seconds)
        machine.plug(0)
        machine.wait_for(r'BOOT-CHECKS', TROUBLE)
        test.finish(machine)
        if seconds > 11 and len(re.findall(r'wubi: waiting for', machine.console())) < 2:
            raise Failed('it was silent while it waited')


LATE = [('late-5', 'bookworm-initramfs', 5, ''), ('late-20', 'bookworm-initramfs', 20, ''), ('late-20-dracut', 'trixie-dracut', 20, '')]
LATE += [('late-40-' + system, system, 40, 'wubi.timeout=60') for system in (
    'bookworm-initramfs', 'bookworm-dracut', 'trixie-initramfs', 'trixie-dracut')]
for name, system, seconds, append in LATE:
    @case(name, system)
    def _(test, seconds=seconds, append=append):
        """the disk appears that many seconds after wubi-attach began to wait; 40 with wubi.timeout=60"""
        late(test, seconds, append)


for name, system in (('no-disk', 'trixie-initramfs'), ('no-disk-dracut', 'trixie-dracut')):
    @case(name, system)
    def _(test):
        """no disk comes: refused when the time is over, and the console says so"""
        with open(test.path('empty'), 'wb') as file:
            file.truncate(64 * MIB)
        test.refused([test.path('empty')], 'missing', r'wubi: waiting for', append='wubi.timeout=12')


# What Windows did to it

def move_by_resize(test, disk):
    """ntfsresize makes the volume so small that the end of root.disk has to move; returns its size in MiB."""
    last = extents_of(test.system.map())[-1]
    mib = (last[1] + last[2]) // MIB - 300
    if not os.path.exists('/etc/mtab'):
        os.symlink('/proc/self/mounts', '/etc/mtab')
    with block_device(disk, test.layout) as volume:
        done = run('ntfsresize', '-f', '-f', '-s', str(mib * MIB), volume, input='y\n')
        run('blockdev', '--flushbufs', volume)
    if 'Successfully resized' not in done:
        raise Failed(done)
    return mib


@case('moved')
def _(test):
    """ntfsresize moves the file, sfdisk shrinks the partition: unsettled; the mark cleared: moved; the new map: match"""
    disk = test.disk()
    before = extents_of(test.system.map())
    shrunk = Layout(volume_mib=move_by_resize(test, disk))
    run('sfdisk', '--quiet', '-N', '2', disk, input=',%dM\n' % shrunk.volume_mib)
    test.layout = shrunk
    test.refused([disk], 'unsettled', 'chkdsk')
    fixture(test, disk, 'clear-dirty')
    machine = test.boot([disk], script='''
check_system moved
echo MODULES=dep >/etc/initramfs-tools/conf.d/test-modules # fewer processes: each is slow here
check 'wubi-map-refresh' systemctl start --wait wubi-map-refresh.service
show systemctl --no-pager status wubi-map-refresh.service
check 'the map is of another generation' grep -x 'generation 2' "$map"
check 'the new map is true' "$disk" verify "$(host)" --map "$map"
check 'the copy on the ESP is the new one' cmp "$map" /boot/efi/EFI/wubi/root.map
check 'the initramfs has the new map' wubi-initrd check "/boot/initrd.img-$(uname -r)"
echo "KERNEL $(uname -r)"
''')
    kernel = re.search(r'^KERNEL (\S+)$', machine.results(), re.M).group(1)
    on_volume(test, disk, DISK, 'map', '@', '--no-host-map', '--output', test.path('new.map'))
    if extents_of(test.path('new.map')) == before:
        raise Failed('nothing was moved')
    initrd = file_of_image(test, disk, '/boot/initrd.img-' + kernel, test.path('initrd.new'), test.path('new.map'))
    test.boot([disk], script='check_everything match\n', initrd=initrd)


@case('found-000')
def _(test):
    """chkdsk put the file into found.000: renamed, with a warning, and it boots"""
    disk = test.disk()
    with block_device(disk, test.layout) as volume:
        mount = test.path('mnt')
        os.mkdir(mount)
        run('ntfs-3g', volume, mount)
        try:
            os.makedirs(os.path.join(mount, 'found.000', 'dir0000.chk'))
            os.rename(os.path.join(mount, 'ubuntu/disks/root.disk'), os.path.join(mount, 'found.000/dir0000.chk/root.disk'))
        finally:
            run('umount', mount)
    machine = test.root([disk], 'renamed')
    if not re.search(r'wubi: .*(move it back|do not reinstall|do not install)', machine.console()):
        raise Failed('no warning that says what to do')


@case('fast-startup')
def _(test):
    """Fast Startup: refused; the parameter allows it, but only when the runs are the map's"""
    disk = test.disk()
    fixture(test, disk, 'fastboot')
    test.refused([disk], 'unsettled', 'Fast Startup', r'shutdown|powercfg')
    test.root([disk], 'unsettled', 'wubi.unsettled=allow')
    moved = test.disk('moved.img')
    move_by_resize(test, moved)
    fixture(test, moved, 'clear-dirty')
    fixture(test, moved, 'fastboot')
    test.refused([moved], 'unsettled', append='wubi.unsettled=allow')


@case('fast-startup-dracut', 'trixie-dracut')
def _(test):
    """Fast Startup with dracut: refused, the text is visible, there is a shell"""
    disk = test.disk()
    fixture(test, disk, 'fastboot')
    test.refused([disk], 'unsettled', 'Fast Startup', r'shutdown|powercfg')


@case('bitlocker')
def _(test):
    """the partition is BitLocker's now: encrypted"""
    disk = test.disk()
    fixture(test, disk, 'bitlocker')
    test.refused([disk], 'encrypted', 'BitLocker', append='wubi.timeout=10')


@case('emptied')
def _(test):
    """chkdsk emptied the file: refused, points to what may save the data"""
    disk = test.disk()
    fixture(test, disk, 'emptied', '/ubuntu/disks/root.disk')
    test.refused([disk], 'emptied', append='wubi.timeout=10')


@case('clone')
def _(test):
    """an older clone beside the disk, in both orders: ambiguous, both are named"""
    disk = test.disk()
    clone = test.disk('clone.img')
    test.root([disk])
    for pair in ([disk, clone], [clone, disk]):
        test.refused(pair, 'ambiguous', '/dev/vda2', '/dev/vdb2', append='wubi.timeout=10')


@case('fsck-through-ntfs')
def _(test):
    """a rescue tool repairs the file system in root.disk through ntfs-3g: it boots"""
    disk = test.disk()
    with block_device(disk, test.layout) as volume:
        mount = test.path('mnt')
        os.mkdir(mount)
        run('ntfs-3g', volume, mount)
        try:
            run('e2fsck', '-fy', os.path.join(mount, 'ubuntu/disks/root.disk'))
        finally:
            run('umount', mount)
    test.root([disk])


@case('uuid-twice')
def _(test):
    """a raw copy of the file system on another disk, with the same UUID: root is the image"""
    disk = test.disk()
    copy = test.path('copy.img')
    gather(disk, test.layout, test.system.map(), copy)
    test.root([copy, disk])


# What a person sees and asks for

@case('quiet-splash', 'bookworm-initramfs-storage')
def _(test):
    """'quiet splash' with plymouth in the initramfs: the refusal is on the screen"""
    disk = test.disk()
    fixture(test, disk, 'fastboot')
    with test.start([disk], 'quiet splash nomodeset plymouth.ignore-serial-consoles console=tty0', vga=True) as machine:
        machine.wait_for(r'wubi: root: not attached: unsettled')
        end = time.monotonic() + 60
        while '(initramfs)' not in machine.screen():
            if time.monotonic() > end:
                raise Failed('no shell on the screen:\n' + machine.screen())
            # nothing tells when a screen changes
            time.sleep(1)
        screen = machine.screen()
    for words in ('not attached: unsettled', 'Fast Startup'):
        if words not in screen:
            raise Failed("the screen does not say '%s':\n%s" % (words, screen))


HOME = Layout(volume_mib=4400, images={'root': 1500, 'home': 128, 'swap': 128})


@case('home-and-swap', 'bookworm-initramfs', HOME)
def _(test):
    """home and swap are attached, swap is in use, hibernation is off; a swap that is not there does not stop the boot"""
    disk = test.disk()
    test.boot([disk], script='''
check_system match
check 'swap in use' grep -q '^/dev/dm-' /proc/swaps
show swapon --show
check '/home is the image' test "$(findmnt -n -o SOURCE /home)" = /dev/mapper/wubi-home
check_not 'no hibernation though there is swap' systemctl hibernate
show cat /run/systemd/sleep.conf.d/50-wubi.conf
check_host
''')
    with block_device(disk, test.layout) as volume:
        run(DISK, 'remove', volume, '--image', '/ubuntu/disks/swap.disk', '--yes')
    script = '''
check 'root and home are there' test -b /dev/mapper/wubi-root -a -b /dev/mapper/wubi-home
check_not 'no swap' test -e /dev/mapper/wubi-swap
show cat /run/wubi/boot.json
'''
    with test.start([disk], script=script) as machine:
        machine.wait_for(r'wubi: swap: not attached: missing')
        machine.wait_for(r'BOOT-CHECKS', r'Kernel panic')
        machine.wait_end()
        machine.check_results()


@case('host-parameter', 'trixie-initramfs')
def _(test):
    """wubi.host=1: the Windows files are there after the boot"""
    test.boot([test.disk()], append='wubi.host=1', script='''
check 'the unit' systemctl start wubi-host.service
check '/host shows the Windows files' grep -q 'Windows can read' /host/Users/Ada/Documents/letter.txt
check_not 'read-only' touch /host/new
check 'stop' systemctl stop wubi-host.service
check_not 'unmounted' findmnt /host
check_system match
''')


OLD = Layout(maps=False, files={'/etc/kernel/cmdline': 'root=UUID=@SERIAL@ loop=/ubuntu/disks/root.disk ro\n'})
for name, system in (('old-wubi', 'bookworm-initramfs'), ('old-wubi-dracut', 'trixie-dracut')):
    @case(name, system, OLD)
    def _(test):
        """a disk of the old Wubi: no map anywhere, root=UUID=SERIAL loop=PATH"""
        test.boot([test.disk()], append='init=/usr/local/sbin/wubi-boot-init', script='''
show cat /run/wubi/boot.json
check '/ is ours' root_is_ours
check 'no ntfs, fuse or loop in /proc/mounts' no_driver_mounted
''', root='root=UUID=%s loop=/ubuntu/disks/root.disk ro' % serial_of(test.system.map()))


# Twenty boots

WRITES = '''
check_system match
mkdir -p /var/lib/twenty
journalctl -k -b --no-pager | grep -E 'dm-0.*(recovery|mounted)'
check 'what was synced is there' sh -c 'cd /var/lib/twenty && { [ ! -e sums ] || sha256sum --quiet -c sums; }'
rm -f /var/lib/twenty/old && mv /var/lib/twenty/new /var/lib/twenty/old 2>/dev/null
head -c 20M /dev/urandom >/var/lib/twenty/new
cd /var/lib/twenty && sync && sha256sum new >sums.new && sync && mv sums.new sums && sync && cd /
check 'fstrim' fstrim -av
'''
KILLED = '''
echo BOOT-WRITING >/dev/console
n=0
while :; do head -c 1M /dev/urandom >"/var/lib/twenty/torn.$((n % 40))"; n=$((n + 1)); [ $((n % 9)) -ne 0 ] || fstrim /; done
'''


@case('twenty-boots', 'bookworm-initramfs', Layout(scribble=True))
def _(test):
    """twenty boots with writes and fstrim, five ended by kill -9: not a byte outside the extents differs, the journal recovers"""
    disk = test.disk()
    before, recovered = outside_sum(test, disk), 0
    for boot in range(1, 21):
        killed = boot % 4 == 3
        with test.start([disk], script=WRITES + (KILLED if killed else '')) as machine:
            if killed:
                machine.wait_for(r'BOOT-WRITING', TROUBLE)
                # it is in the middle of its writes whenever the power is cut
                time.sleep(boot / 4)
                machine.kill()
                if 'NOT OK' in machine.results():
                    raise Failed('boot %d' % boot)
            else:
                machine.wait_for(r'BOOT-CHECKS', TROUBLE)
                test.finish(machine)
            # by fsck in the initramfs, or else by the kernel when it mounts
            recovered += bool(re.search('recovering journal|recovery complete', machine.console() + machine.results()))
        if outside_sum(test, disk) != before:
            raise Failed('boot %d changed bytes outside the extents' % boot)
    if recovered != 5:
        raise Failed('the journal was recovered %d times, not 5' % recovered)


# Durability profiles

PROFILE_DIFFERS = '''
check_not 'status tells that they differ' wubi-profile status
check 'and names the file' grep -q /etc/sysctl.d/95-other.conf <(wubi-profile status)
'''


@case('profile-reboot')
def _(test):
    """a profile that is set is in force after a reboot; a later file in sysctl.d is named"""
    disk = test.disk()
    test.boot([disk], script='''
check 'what was chosen when it was installed is in force' wubi-profile status
check 'wubi-profile set balanced' wubi-profile set balanced
check 'it is in force' wubi-profile status
''')
    test.boot([disk], script='''
check 'it is in force after a reboot' wubi-profile status
check 'commit=1' findmnt -n -O commit=1 /
echo 'vm.dirty_ratio = 30' >/etc/sysctl.d/95-other.conf
''')
    test.boot([disk], script=PROFILE_DIFFERS)


SLOW_DISK = '''
copy() { # how much is only in memory, in MiB, when a copy of 200 MiB says that it is done
	dd if=/dev/zero of=/copied bs=1M count=200 status=none
	awk '/^(Dirty|Writeback):/ { kib += $2 } END { print int(kib / 1024) }' /proc/meminfo
	rm /copied && sync
}
mount -o remount,async /
sysctl -q -w vm.dirty_ratio=20 vm.dirty_background_ratio=10 vm.dirty_expire_centisecs=3000 vm.dirty_writeback_centisecs=500
sync
left=$(copy)
check "the kernel's defaults: $left MiB are not on the disk yet" test "$left" -gt 150
check 'wubi-profile set fast' wubi-profile set fast
limit=$(($(cat /proc/sys/vm/dirty_bytes) >> 20))
check "the limit is $limit MiB: 4 s of this disk" test "$limit" -gt 50 -a "$limit" -lt 130
left=$(copy)
check "fast: $left MiB" test "$left" -le $((limit + 16))
'''


@case('slow-disk')
def _(test):
    """8 GiB of memory and a disk of 20 MB/s: what a copy leaves in memory is bounded by the disk's speed, not by the memory"""
    test.boot([Disk(test.disk(), write_mib_s=20)], script=SLOW_DISK, memory='8G')
