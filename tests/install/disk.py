# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of a PC with Windows on it, as its installer lays it out: what is Windows' there must be the same after all that is done."""
import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'boot'))
from image import DISK, MIB, TOP, Failed, data_pieces, extents_of, run, windows_files  # noqa: E402

SERIAL = os.path.join(TOP, 'tests', 'fixtures', 'own-serial')
ESP_MIB, RESERVED_MIB, RECOVERY_MIB = 100, 16, 24
ESP_START = MIB
VOLUME_START = ESP_START + (ESP_MIB + RESERVED_MIB) * MIB
ESP_PARTUUID = '3f8d6b0a-52c1-4e0e-9c11-7a5d20e4b101'
VOLUME_PARTUUID = '3f8d6b0a-52c1-4e0e-9c11-7a5d20e4b103'
OURS_ON_ESP = re.compile(r'EFI/wubi(/|$)|boot(/grub(/grub\.cfg)?)?$', re.I)
WRONG_MENU = 'echo ANOTHER-DEBIANS-MENU\nhalt\n'
ESP_FILES = {'EFI/Microsoft/Boot/bootmgfw.efi': b'MZ, and not the boot manager of Windows\n' * 2000,
             'EFI/Microsoft/Boot/BCD': b'regf' + bytes(8188),
             'EFI/Microsoft/Boot/Fonts/wgl4_boot.ttf': b'a font' * 500,
             'EFI/Boot/bootx64.efi': b'MZ, and not the boot manager of Windows\n' * 2000}
OTHER_DEBIAN = {'EFI/debian/grub.cfg': WRONG_MENU.encode(), 'EFI/debian/shimx64.efi': b'MZ of another system' * 99}


class WindowsDisk:
    def __init__(self, path, volume_mib=7168, sector=512):
        self.path, self.volume_mib, self.sector = path, volume_mib, sector

    def recovery_start(self):
        return VOLUME_START + self.volume_mib * MIB

    def table(self):
        """For sfdisk."""
        return '''label: gpt
start=%d, size=%d, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, uuid=%s, name="EFI system partition"
size=%d, type=E3C9E316-0B5C-4DB8-817D-F92DF00215AE, name="Microsoft reserved partition"
size=%d, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7, uuid=%s, name="Basic data partition"
size=%d, type=DE94BBA4-06D1-4D40-A16A-BFD50179D6AC, attrs="RequiredPartition GUID:63"
''' % (ESP_START // 512, ESP_MIB * 2048, ESP_PARTUUID, RESERVED_MIB * 2048, self.volume_mib * 2048, VOLUME_PARTUUID, RECOVERY_MIB * 2048)

    def make(self, more_on_esp=None):
        with open(self.path, 'wb') as file:
            file.truncate(self.recovery_start() + (RECOVERY_MIB + 1) * MIB)
            for start, mib, words in ((VOLUME_START - RESERVED_MIB * MIB, RESERVED_MIB, b'reserved'),
                                      (self.recovery_start(), RECOVERY_MIB, b'recovery')):
                file.seek(start)
                file.write(words * (mib * MIB // 8))
        run('sfdisk', '--quiet', '--no-reread', '--no-tell-kernel', self.path, input=self.table())
        with self.volume() as volume:
            run('mkntfs', '-Q', '-q', '-F', '-L', 'Windows', '-p', str(VOLUME_START // 512), '-H', '255', '-S', '63', volume)
            run(SERIAL, volume)
            windows_files(volume)
            run('blockdev', '--flushbufs', volume)
        self._make_esp({**ESP_FILES, **(more_on_esp or {})})

    def _make_esp(self, files):
        # a file system with as many sectors as the partition, in the disk's file: mtools' own offset
        run('mformat', '-i', '%s@@%d' % (self.path, ESP_START), '-T', str(ESP_MIB * 2048), '-h', '255', '-s', '63', '-H',
            str(ESP_START // 512), '-F', '-v', 'SYSTEM', '::')
        with tempfile.TemporaryDirectory() as folder:
            for path, content in files.items():
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), 'wb') as file:
                    file.write(content)
            self.mtools('mcopy', '-s', *[os.path.join(folder, name) for name in sorted(os.listdir(folder))], '::')

    def mtools(self, command, *words):
        return run(command, '-i', '%s@@%d' % (self.path, ESP_START), *words, env={**os.environ, 'MTOOLS_SKIP_CHECK': '1'})

    @contextlib.contextmanager
    def volume(self, read_only=False):
        """The Windows volume as a loop device."""
        words = ['-r'] if read_only else []
        loop = run('losetup', '-f', '--show', *words, '-o', str(VOLUME_START), '--sizelimit', str(self.volume_mib * MIB),
                   self.path).strip()
        try:
            yield loop
        finally:
            run('losetup', '-d', loop)

    @contextlib.contextmanager
    def files(self, read_only=True):
        """The volume's files, in a folder."""
        mount = tempfile.mkdtemp(prefix='wubi-install-ntfs.')
        with self.volume(read_only) as volume:
            run('ntfs-3g', '-o', 'noatime,ro' if read_only else 'noatime', volume, mount)
            try:
                yield mount
            finally:
                run('umount', mount)
                os.rmdir(mount)

    # What must not change

    def windows_sums(self):
        """{path: sum} of all files on the volume but ours."""
        with self.files() as folder:
            return tree_sums(folder, 'ubuntu')

    def esp_sums(self):
        """Of all files on the EFI system partition but ours, which a power cut may have left with clusters that are not theirs."""
        sums = {}
        for path in self.esp_list():
            if not OURS_ON_ESP.match(path.rstrip('/')):
                data = b'' if path.endswith('/') else self.esp_read(path)
                sums[path.rstrip('/')] = 'folder' if path.endswith('/') else hashlib.sha256(data).hexdigest()
        return sums

    def esp_list(self):
        """All paths; those of folders end with '/'."""
        return [line[3:] for line in self.mtools('mdir', '-b', '-/', '::').splitlines() if line.startswith('::/')]

    def esp_read(self, path):
        with tempfile.TemporaryDirectory() as folder:
            self.mtools('mcopy', '-n', '::' + path, os.path.join(folder, 'file'))
            with open(os.path.join(folder, 'file'), 'rb') as file:
                return file.read()

    def esp_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            self.mtools('mcopy', '-s', '-n', '-Q', '-m', '::', folder)
            return tree_sums(folder)

    def frame_sum(self):
        """Of the partition table, the reserved and the recovery partition."""
        return self._sum([(0, ESP_START), (VOLUME_START - RESERVED_MIB * MIB, VOLUME_START),
                          (self.recovery_start(), os.path.getsize(self.path))])

    def disk_sum(self):
        return self._sum([(0, os.path.getsize(self.path))])

    def outside_sum(self, map_file):
        """Of the volume without the image's extents."""
        pieces, at = [], VOLUME_START
        for _, physical, length in sorted(extents_of(map_file), key=lambda e: e[1]):
            pieces.append((at, VOLUME_START + physical))
            at = VOLUME_START + physical + length
        return self._sum(pieces + [(at, self.recovery_start())])

    def _sum(self, pieces):
        """Holes are zeros: a copy of the disk has the same sum, wherever its holes are."""
        total, zeros = hashlib.sha256(), bytes(MIB)
        with open(self.path, 'rb') as file:
            for start, end in pieces:
                for number in block_numbers(file.fileno(), start, end):
                    offset = max(start, number * MIB)
                    chunk = os.pread(file.fileno(), min(end, (number + 1) * MIB) - offset, offset)
                    if chunk != zeros[:len(chunk)]:
                        total.update(b'%d:' % offset + chunk)
        return total.hexdigest()

    def state(self):
        """All of Windows': to compare before and after."""
        return {'the files on the volume': self.windows_sums(), 'the files on the EFI system partition': self.esp_sums(),
                'the partition table, reserved and recovery partition': self.frame_sum()}

    def check_state(self, before):
        for what, now in self.state().items():
            if now != before[what]:
                if isinstance(now, dict):
                    changed = sorted(k for k in set(now) | set(before[what]) if now.get(k) != before[what].get(k))
                    what += ': ' + ' '.join(changed[:20])
                raise Failed('changed: ' + what)
        with self.volume(read_only=True) as volume:
            run('ntfsresize', '--info', '--force', '--no-progress-bar', volume)

    def esp_map(self, target, name='root'):
        """The map on the EFI system partition, as a file."""
        self.mtools('mcopy', '-n', '-o', '::EFI/wubi/%s.map' % name, target)
        return target

    def verify(self, map_file):
        """wubi-disk says that the image is as the map says."""
        with self.volume(read_only=True) as volume:
            run(DISK, 'verify', volume, '--map', map_file)

    def image_path(self, map_file):
        return json.loads(run(DISK, 'show', '--map', map_file, '--json'))['path']

    def copy_to(self, target):
        run('cp', '--sparse=always', self.path, target)
        return WindowsDisk(target, self.volume_mib, self.sector)


def block_numbers(fd, start, end):
    """Of the MiBs in [start, end) that are no holes."""
    last = -1
    for offset, length in data_pieces(fd, start, end):
        for number in range(max(offset // MIB, last + 1), (offset + length - 1) // MIB + 1):
            last = number
            yield number


def tree_sums(folder, but=None):
    """{path below folder: what it is}, without the folder BUT in it, which may hold gigabytes."""
    sums = {}
    for base, folders, names in os.walk(folder):
        if base == folder and but in folders:
            folders.remove(but)
        for name in folders:
            sums[os.path.relpath(os.path.join(base, name), folder)] = 'folder'
        for name in names:
            path = os.path.join(base, name)
            with open(path, 'rb') as file:
                sums[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return sums
