# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks for the boot tests: a partition table, a Windows-like NTFS volume, our images on it, and a system in root.disk.

Nothing stands in for anything: the volume is made by mkntfs, the images by wubi-disk on the partition's block device, and the
system comes from tests/boot/roots. A finished disk is kept in the cache under its name until its recipe changes.
"""
import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get('BUILD', os.path.join(TOP, 'build')))
CACHE = os.environ.get('WUBI_CACHE') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'wubi-tools')
DISK = os.environ.get('WUBI_DISK') or os.path.join(BUILD, 'wubi-disk')
FX = os.path.join(TOP, 'tests', 'fixtures', 'ntfsfx.py')
CPIO = os.path.join(TOP, 'tests', 'fixtures', 'cpiofx.py')
MIB = 1 << 20
ESP_UUID = 'b8e0f9a2-3f51-4c55-8f0e-2d1c6a5b9e01'
KEPT_DISKS = 3 # of one kind in the cache
PARTUUID = '5d0b1c6e-77a4-4b52-9d3b-0c6f0e7d3a11'


class Failed(Exception):
    """A test's own tools failed, or a check did."""


def run(*command, **options):
    """Runs a command, and returns its output; its words are in the exception when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise Failed('%s: status %d\n%s' % (' '.join(command), done.returncode, done.stdout[-4000:]))
    return done.stdout


def file_sum(*paths):
    total = hashlib.sha256()
    for path in paths:
        with open(path, 'rb') as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()[:16]


class Layout:
    """How a disk is laid out.

    table    'gpt', 'mbr' (primary), 'logical', 'none'
    sector   bytes of the disk's sectors
    images   {name: MiB}, of ext4, but 'swap'
    extents  into how many pieces root.disk falls at least
    scribble the volume's free clusters hold old bytes, none of them zero
    files    {path: text} of the system, written before its initramfs is built
    maps     whether the maps are in the system: a disk of the old Wubi has none
    """

    def __init__(self, table='gpt', sector=512, volume_mib=3600, images=None, extents=1, scribble=False, files=None, maps=True):
        self.table, self.sector, self.volume_mib, self.extents, self.scribble = table, sector, volume_mib, extents, scribble
        self.images, self.files, self.maps = images or {'root': 1500}, files or {}, maps

    def name(self):
        parts = [self.table, str(self.sector), str(self.volume_mib), str(self.extents), 's' if self.scribble else 'p']
        parts += ['%s%d' % image for image in sorted(self.images.items())]
        if self.files or not self.maps:
            parts.append(hashlib.sha256(repr((sorted(self.files.items()), self.maps)).encode()).hexdigest()[:8])
        return '-'.join(parts)

    def is_derived(self):
        """Can it be made from the system on the ordinary disk?"""
        return self.name() != Layout().name() and not self.files and self.maps

    @property
    def start_bytes(self):
        """Of the volume; an ESP or another small partition lies in front of it."""
        return 0 if self.table == 'none' else 64 * MIB

    def number(self):
        return {'gpt': 2, 'mbr': 2, 'logical': 5, 'none': None}[self.table]

    def script(self):
        """For sfdisk, in sectors."""
        per, volume = MIB // self.sector, self.volume_mib * MIB // self.sector
        start = self.start_bytes // self.sector
        if self.table == 'gpt':
            return ('label: gpt\nsize=%d, start=%d, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, uuid=%s, name="EFI system partition"\n'
                    'size=%d, start=%d, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7, uuid=%s, name="Basic data partition"\n'
                    % (32 * per, per, ESP_UUID, volume, start, PARTUUID))
        if self.table == 'mbr':
            return 'label: dos\nlabel-id: 0x5eb1a2c3\nsize=%d, start=%d, type=7\nsize=%d, start=%d, type=7, bootable\n' % (
                32 * per, per, volume, start)
        return ('label: dos\nlabel-id: 0x5eb1a2c4\nsize=%d, start=%d, type=7, bootable\n'
                'start=%d, size=%d, type=f\nstart=%d, size=%d, type=7\n'
                % (32 * per, per, start - per, volume + per, start, volume))


@contextlib.contextmanager
def block_device(disk, layout):
    """The disk as a loop device; yields the path of the volume's partition."""
    loop = run('losetup', '-f', '--show', '-b', str(layout.sector), disk).strip()
    try:
        if layout.number() is None:
            yield loop
            return
        run('partx', '-a', loop)
        try:
            yield '%sp%d' % (loop, layout.number())
        finally:
            run('partx', '-d', loop)
    finally:
        run('losetup', '-d', loop)


def make_volume(disk, layout, maps):
    """Partition table, NTFS, a few files of Windows', the images and their maps: MAPS/NAME.map."""
    with open(disk, 'wb') as file:
        file.truncate(layout.start_bytes + (layout.volume_mib + 8) * MIB)
    if layout.number() is None:
        os.truncate(disk, layout.volume_mib * MIB)
    else:
        loop = run('losetup', '-f', '--show', '-b', str(layout.sector), disk).strip()
        try:
            run('sfdisk', '--quiet', '--no-reread', '--no-tell-kernel', loop, input=layout.script())
        finally:
            run('losetup', '-d', loop)
    with block_device(disk, layout) as volume:
        run('mkntfs', '-Q', '-q', '-F', '-L', 'Windows', '-s', str(layout.sector), '-p',
            str(layout.start_bytes // layout.sector), '-H', '255', '-S', '63', volume)
        windows_files(volume)
        if layout.scribble or layout.extents > 1:
            scattered(volume, layout)
        for name, mib in layout.images.items():
            run(DISK, 'create', volume, '--size', '%dM' % mib, '--name', name, '--fs', 'swap' if name == 'swap' else 'ext4',
                '--map', os.path.join(maps, name + '.map'), '--max-extents', str(1 if layout.extents == 1 else layout.extents * 4))
        run('blockdev', '--flushbufs', volume)
    if layout.table == 'gpt':
        make_esp(disk, layout, maps)


def make_esp(disk, layout, maps):
    """With the copies of the maps that the installer puts there."""
    esp = os.path.join(os.path.dirname(disk), 'esp')
    with open(esp, 'wb') as file:
        file.truncate(32 * MIB)
    run('mkfs.vfat', '-S', str(layout.sector), '-n', 'ESP', esp)
    run('mmd', '-i', esp, '::EFI', '::EFI/wubi')
    run('mcopy', '-i', esp, *[os.path.join(maps, f) for f in sorted(os.listdir(maps))], '::EFI/wubi/')
    with open(esp, 'rb') as source, open(disk, 'r+b') as target:
        copy_range(source.fileno(), target.fileno(), 0, 32 * MIB, MIB)
    os.unlink(esp)


def scattered(volume, layout):
    """Needs the volume as a file: fixtures map it."""
    if layout.scribble:
        run(sys.executable, FX, 'scribble', volume)
    if layout.extents > 1:
        piece = -(-layout.images['root'] * MIB // layout.extents // 4096) * 4096
        run(sys.executable, FX, 'holes', volume, str(piece), str(layout.extents + 1), '1048576', str(8 * MIB))


def windows_files(volume):
    mount = tempfile.mkdtemp(prefix='wubi-boot-ntfs.')
    run('ntfs-3g', '-o', 'noatime', volume, mount)
    try:
        for folder in ('Users/Ada/Documents', 'Windows/System32', 'Program Files'):
            os.makedirs(os.path.join(mount, folder))
        with open(os.path.join(mount, 'Users/Ada/Documents/letter.txt'), 'w', encoding='ascii') as file:
            file.write('a letter that Windows can read\r\n')
        with open(os.path.join(mount, 'pagefile.sys'), 'wb') as file:
            file.write(b'page' * (4 * MIB))
    finally:
        run('umount', mount)
        os.rmdir(mount)


def extents_of(map_file):
    """[(logical, physical, length)] in bytes; physical counts from the volume's start."""
    shown = json.loads(run(DISK, 'show', '--map', map_file, '--json'))
    return [tuple(512 * e[k] for k in ('logical_sector', 'physical_sector', 'sectors')) for e in shown['extents']]


def serial_of(map_file):
    """Of the volume, as blkid prints it."""
    return json.loads(run(DISK, 'show', '--map', map_file, '--json'))['host']['serial'].upper()


def data_pieces(fd, start, end):
    """(offset, length) of what is no hole."""
    at = start
    while at < end:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return
        if at >= end:
            return
        stop = min(end, os.lseek(fd, at, os.SEEK_HOLE))
        yield at, stop - at
        at = stop


def copy_range(source, target, start, end, shift):
    """Copies what is no hole of [start, end) to the same place + shift."""
    for at, length in data_pieces(source, start, end):
        while length:
            chunk = os.pread(source, min(length, 4 * MIB), at)
            os.pwrite(target, chunk, at + shift)
            at, length = at + len(chunk), length - len(chunk)


def gather(disk, layout, map_file, image):
    """The image out of its extents, as a plain file."""
    extents = extents_of(map_file)
    with open(disk, 'rb') as source, open(image, 'wb') as target:
        target.truncate(sum(e[2] for e in extents))
        for logical, physical, length in extents:
            start = layout.start_bytes + physical
            copy_range(source.fileno(), target.fileno(), start, start + length, logical - start)


def scatter(image, disk, layout, map_file):
    """The image back into its extents."""
    with open(image, 'rb') as source, open(disk, 'r+b') as target:
        for logical, physical, length in extents_of(map_file):
            copy_range(source.fileno(), target.fileno(), logical, logical + length, layout.start_bytes + physical - logical)


def write_fstab(path, layout):
    """What the installer would write; root is checked first, the others never hold up a boot."""
    lines = ['/dev/mapper/wubi-root / ext4 defaults 0 1']
    if layout.table == 'gpt':
        lines.append('PARTUUID=%s /boot/efi vfat umask=0077,nofail 0 1' % ESP_UUID)
    for name in layout.images:
        if name == 'swap':
            lines.append('/dev/mapper/wubi-swap none swap sw,nofail 0 0')
        elif name != 'root':
            lines.append('/dev/mapper/wubi-%s /%s ext4 defaults,nofail 0 2' % (name, name))
    with open(path, 'w', encoding='ascii') as file:
        file.write('\n'.join(lines) + '\n')


class System:
    """A finished disk in the cache: disk, kernel, initrd, maps/NAME.map. Never booted from: take copy_disk()."""

    def __init__(self, folder, layout):
        self.folder, self.layout = folder, layout

    def path(self, name):
        return os.path.join(self.folder, name)

    @property
    def kernel(self):
        return self.path('kernel')

    @property
    def initrd(self):
        return self.path('initrd')

    def map(self, name='root'):
        return self.path('maps/%s.map' % name)

    def copy_disk(self, target):
        run('cp', '--sparse=always', self.path('disk'), target)
        return target


def package():
    """The .deb that the build made."""
    folder = os.path.join(BUILD, 'deb')
    found = sorted(f for f in os.listdir(folder) if f.startswith('wubi-tools_') and f.endswith('.deb')) if os.path.isdir(folder) else []
    if len(found) != 1:
        raise Failed("no single package in %s: run 'make deb'" % folder)
    return os.path.join(folder, found[0])


def package_sum(deb):
    """Over what is installed but documentation: a package that was only built again has the same."""
    total = hashlib.sha256()
    for what in '--ctrl-tarfile', '--fsys-tarfile':
        data = subprocess.run(['dpkg-deb', what, deb], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in sorted(archive.getmembers(), key=lambda m: m.name):
                if re.match(r'\./(usr/share/(doc|man|bash-completion)/|md5sums)|\./control$', member.name):
                    continue
                body = archive.extractfile(member).read() if member.isfile() else member.linkname.encode()
                total.update(('%s %o %s\n' % (member.name, member.mode, hashlib.sha256(body).hexdigest())).encode())
    return total.hexdigest()[:16]


def recipe_sum():
    names = 'image.py', 'populate', 'guest/wubi-boot-check.service', 'guest/wubi-boot-init'
    return file_sum(*[os.path.join(HERE, name) for name in names])


def get_system(name, layout=None, log=lambda text: None):
    """The disk of system NAME (see tests/boot/roots) in this layout, made if the cache has none."""
    layout, deb = layout or Layout(), package()
    tar = subprocess.run([os.path.join(HERE, 'roots'), name], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    key = '%s %s %s' % (os.path.basename(tar), package_sum(deb), recipe_sum())
    family = os.path.join(CACHE, 'disks', '%s-%s' % (name, layout.name()))
    folder = os.path.join(family, hashlib.sha256(key.encode()).hexdigest()[:16])
    os.makedirs(family, exist_ok=True)
    with open(family + '.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(folder):
            os.utime(folder)
            return System(folder, layout)
        began = time.monotonic()
        forget_oldest(family)
        with new_folder(folder) as part:
            if layout.is_derived():
                derive_system(part, layout, get_system(name, None, log))
            else:
                make_system(part, layout, tar, deb)
        log('made %s in %.0f s' % (os.path.basename(family), time.monotonic() - began))
    return System(folder, layout)


def forget_oldest(family):
    """Of one system and layout the cache keeps what was used last: a package changes often, and a disk is large."""
    folders = sorted((os.path.join(family, f) for f in os.listdir(family)), key=os.path.getmtime)
    for folder in folders[:1 - KEPT_DISKS]:
        shutil.rmtree(folder)


@contextlib.contextmanager
def new_folder(folder):
    """Takes its place when all went well."""
    part = folder + '.part'
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(os.path.join(part, 'maps'))
    yield part
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(part, folder)


def make_system(part, layout, tar, deb):
    """A system from its root file system, with an initramfs of its own."""
    disk, image, fstab, files, maps = (os.path.join(part, n) for n in ('disk', 'image', 'fstab', 'files', 'maps'))
    make_volume(disk, layout, maps)
    root_map = os.path.join(maps, 'root.map')
    gather(disk, layout, root_map, image)
    write_fstab(fstab, layout)
    for path, text in layout.files.items():
        os.makedirs(os.path.dirname(files + path), exist_ok=True)
        with open(files + path, 'w', encoding='utf-8') as file:
            file.write(text.replace('@SERIAL@', serial_of(root_map)))
    log = run(os.path.join(HERE, 'populate'), image, tar, deb, part, fstab, files,
              *[os.path.join(maps, f) for f in sorted(os.listdir(maps)) if layout.maps])
    with open(os.path.join(part, 'log'), 'w', encoding='utf-8') as file:
        file.write(log)
    put_back(image, disk, layout, root_map)


def put_back(image, disk, layout, root_map):
    run('e2fsck', '-fn', image)
    scatter(image, disk, layout, root_map)
    os.unlink(image)
    with block_device(disk, layout) as volume:
        run(DISK, 'verify', volume, '--map', root_map)


def derive_system(part, layout, base):
    """The same system on another disk: its file system, with the new map in it and, by a second archive, in its initramfs.

    Quicker than building it anew; the initramfs in /boot is still the other's, nothing boots from that.
    """
    disk, image, maps = (os.path.join(part, n) for n in ('disk', 'image', 'maps'))
    make_volume(disk, layout, maps)
    root_map = os.path.join(maps, 'root.map')
    gather(base.path('disk'), base.layout, base.map(), image)
    run('e2fsck', '-fp', image)
    run('tune2fs', '-f', '-U', json.loads(run(DISK, 'show', '--map', root_map, '--json'))['fs']['uuid'], image)
    write_fstab(os.path.join(part, 'fstab'), layout)
    commands = ['cd /etc', 'rm fstab', 'write %s fstab' % os.path.join(part, 'fstab'), 'cd wubi/maps', 'rm root.map']
    commands += ['write %s %s' % (os.path.join(maps, f), f) for f in os.listdir(maps)]
    run('debugfs', '-w', '-f', '-', image, input='\n'.join(commands) + '\n')
    put_back(image, disk, layout, root_map)
    tree = os.path.join(part, 'tree')
    shutil.copytree(maps, os.path.join(tree, 'etc/wubi/maps'))
    more = subprocess.run([sys.executable, CPIO, tree], stdout=subprocess.PIPE, check=True).stdout
    shutil.copy(base.kernel, os.path.join(part, 'kernel'))
    with open(base.initrd, 'rb') as file, open(os.path.join(part, 'initrd'), 'wb') as target:
        old = file.read()
        target.write(old + bytes(-len(old) % 512) + more)


if __name__ == '__main__':
    print(get_system(sys.argv[1], log=print).folder)
