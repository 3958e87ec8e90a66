# SPDX-License-Identifier: GPL-2.0-or-later
"""The volume, the profiles and the guest: one run of the witness in user-mode Linux, with a log of its writes or killed."""
import contextlib
import ctypes
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('BUILD', os.path.join(TOP, 'build'))
RUN = os.path.join(TOP, 'tests', 'vm', 'run.sh')
GUEST = os.path.join(HERE, 'guest', 'witness.sh')
SLOW = os.path.join(BUILD, 'tests', 'power', 'slowshim_preload.so')
MIB = 1 << 20
CLUSTER_SECTORS = 8
sys.path.insert(0, os.path.join(TOP, 'tests', 'fixtures'))
import mapfx  # noqa: E402

os.environ['PATH'] += ':/usr/sbin:/sbin'
os.environ.update(LC_ALL='C.UTF-8', PYTHONDONTWRITEBYTECODE='1')


class Failed(Exception):
    pass


class Profile:
    """Mount options, the kernel's values, and how the witness has to go about it to come near the limits. speed is what the disk of the
    guest takes, so that what is said in seconds of the disk's speed means something."""

    def __init__(self, mount, dirty, background, expire_cs, writeback_cs, speed, witness):
        self.mount, self.speed, self.witness = mount, speed, witness
        self.knobs = {'dirty_bytes': dirty, 'dirty_background_bytes': background, 'dirty_expire_centisecs': expire_cs,
                      'dirty_writeback_centisecs': writeback_cs} if dirty else {}


PROFILES = {
    'safe': Profile('sync', 64 * MIB, 16 * MIB, 500, 100, 8 * MIB, {'operations': 700}),
    'balanced': Profile('async,commit=1', 8 * MIB, 2 * MIB, 200, 100, 8 * MIB,
                        {'operations': 1300, 'per-second': 80, 'burst': 64 * MIB, 'burst-at': 600}),
    'fast': Profile('async,commit=5', 16 * MIB, 4 * MIB, 1500, 500, 4 * MIB,
                    {'operations': 2500, 'per-second': 60, 'burst': 64 * MIB, 'burst-at': 600}),
    # what a kernel does that nobody told anything
    'kernel': Profile('async', 0, 0, 0, 0, 4 * MIB, {'operations': 1500, 'per-second': 50, 'burst': 64 * MIB, 'burst-at': 600}),
}
# A control needs no time to pass: each of its fsyncs is a chance to be caught.
CONTROL = {'operations': 300, 'fsyncs': 'always'}
SHIFTED = {'operations': 300, 'fsyncs': 'always', 'burst': 32 * MIB, 'burst-at': 150}
FAULTS = ('nobarrier', 'noflush', 'lie', 'shift')


class Window:
    """What 'wubi-profile status' says that a power cut may cost, of the values that were in force in the guest: by the same function."""

    def __init__(self, path, speed):
        with open(path, encoding='ascii') as f:
            values = dict(line.rstrip('\n').split(' ', 1) for line in f)
        said = run(os.path.join(BUILD, 'tests', 'power', 'window'), values['dirty_bytes'], values['dirty_ratio'],
                   values['dirty_expire_centisecs'], values['dirty_writeback_centisecs'], str(int(values['memory_kib']) * 1024), str(speed),
                   values['mount']).split()
        self.calls_are_durable, self.ms, self.bytes = said[0] == 'durable', int(said[1]), int(said[2])


def run(*command, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode:
        raise Failed('%s: status %d\n%s' % (' '.join(command), done.returncode, done.stdout))
    return done.stdout


def needs():
    """What is not there is a failure and not a skip: a claim about power cuts that nobody looked at is none."""
    missing = [tool for tool in ('linux.uml', 'mkntfs', 'ntfslabel', 'ntfscp', 'e2fsck', 'debugfs', 'dumpe2fs', 'dmsetup', 'ntfs-3g', 'losetup')
               if not shutil.which(tool)]
    missing += [p for p in (os.path.join(BUILD, 'wubi-disk'), *(os.path.join(BUILD, 'tests', 'power', name) for name in ('witness', 'window')), SLOW) if not os.path.exists(p)]
    if missing:
        raise Failed('power cuts cannot be tested here, missing: ' + ', '.join(missing))


def work_place():
    """In memory if there is enough: the guest's disk calls fsync for each flush, and nothing here depends on the host's disk."""
    with open('/proc/meminfo', encoding='ascii') as f:
        available = next(int(line.split()[1]) for line in f if line.startswith('MemAvailable'))
    try:
        room = os.statvfs('/dev/shm')
        roomy = room.f_bavail * room.f_frsize > 4 << 30 and available > 6 << 20
    except OSError:
        roomy = False
    return os.environ.get('TMPDIR') or ('/dev/shm' if roomy else '/tmp')


class Volume:
    """An NTFS volume with an image in several extents, between clusters of other files."""

    def __init__(self, folder, extents, mib):
        self.path, self.map = os.path.join(folder, 'base.img'), os.path.join(folder, 'root.map')
        with open(self.path, 'wb') as f:
            f.truncate((mib + 96) * MIB)
        run('mkntfs', '-F', '-Q', '-q', '-p', '2048', '-H', '255', '-S', '63', '-c', str(CLUSTER_SECTORS * 512), self.path)
        run(os.path.join(TOP, 'tests', 'fixtures', 'own-serial'), self.path)
        run(sys.executable, os.path.join(TOP, 'tests', 'fixtures', 'ntfsfx.py'), 'holes', self.path, str(mib * MIB // extents), str(extents + 1),
            '4096', '1048576')
        run(os.path.join(BUILD, 'wubi-disk'), 'create', self.path, '--size', '%dM' % mib, '--max-extents', str(extents), '--no-host-map',
            '--map', self.map, '--quiet')
        self.extents = mapfx.extents_of(self.map)
        if len(self.extents) != extents:
            raise Failed('%d extents, not %d' % (len(self.extents), extents))

    def copy(self, path):
        run('cp', '--sparse=always', self.path, path)

    def image_sectors(self):
        return sum(n for _, _, n in self.extents)

    def is_inside(self, sector, count):
        return any(start <= sector and sector + count <= start + n for _, start, n in self.extents)

    def shifted_table(self):
        """Of a map that is off by one cluster, in all extents in which nothing lies yet: Linux sees no difference."""
        image = self.path + '.image'
        mapfx.extract(self.map, self.path, image)
        free = []
        for line in run('dumpe2fs', image).splitlines():
            if line.startswith('  Free blocks: '):
                free += [tuple(int(x) for x in part.split('-')) for part in line[15:].split(', ') if '-' in part]
        os.unlink(image)
        lines, shifted = [], 0
        for at, start, n in self.extents:
            is_free = any(first <= at // 8 and (at + n) // 8 - 1 <= last for first, last in free)
            shifted += is_free
            lines.append('%d %d linear DEVICE %d\n' % (at, n, start + CLUSTER_SECTORS * is_free))
        if not shifted:
            raise Failed('no extent is free')
        return ''.join(lines)

    def outside_differs(self, other):
        """The first byte outside the extents that is not as it was, or None (promise 1)."""
        at = 0
        with open(self.path, 'rb') as a, open(other, 'rb') as b:
            for start, end in sorted((s * 512, (s + n) * 512) for _, s, n in self.extents) + [(os.path.getsize(self.path), 0)]:
                while at < start:
                    size = min(start - at, MIB)
                    a.seek(at)
                    b.seek(at)
                    if a.read(size) != b.read(size):
                        return at
                    at += size
                at = end
        return None


class Run:
    """One guest. folder has afterwards: volume, log, acks, inforce."""

    def __init__(self, folder, volume, stack, profile, fault, seed):
        os.makedirs(folder)
        self.folder, self.profile, self.fault = folder, PROFILES[profile], fault
        volume.copy(self.file('volume'))
        shutil.copy(volume.map, self.file('root.map'))
        if fault == 'shift':
            with open(self.file('table'), 'w', encoding='ascii') as f:
                f.write(volume.shifted_table())
        options = SHIFTED if fault == 'shift' else CONTROL if fault != 'none' else self.profile.witness
        self.expected = options['operations'] + options.get('burst', 0) // (64 << 10)
        words = [word for key, value in options.items() for word in ('--' + key, str(value))] + ['--seed', str(seed)]
        self.script = [GUEST, stack, fault, self.profile.mount + (',nobarrier' if fault == 'nobarrier' else ''),
                       ','.join('%s=%d' % pair for pair in self.profile.knobs.items())] + words + \
            (['--lie'] if fault == 'lie' else [])

    def file(self, name):
        return os.path.join(self.folder, name)

    def command(self, *disks):
        return [RUN, '-w', self.folder, '-b', BUILD, '-m', '512M', '-t', '150'] + \
            [word for disk in disks for word in ('-d', self.file(disk))] + self.script

    def to_the_end(self):
        """With a log of all writes."""
        with open(self.file('log'), 'wb') as f:
            f.truncate(2 << 30)
        guest = Guest(self.command('volume', 'log'), self.file('volume'), self.profile.speed)
        output, status = guest.end()
        if status:
            raise Failed('the guest ended with status %d\n%s' % (status, output))

    def killed(self, at):
        """The whole process group of the kernel is killed when so many operations have returned."""
        open(self.file('acks'), 'wb').close()
        watch = Watch(self.file('acks'))
        guest = Guest(self.command('volume'), self.file('volume'), self.profile.speed)
        while not returned(self.file('acks'), at) and guest.runs():
            watch.wait()
        guest.kill()
        watch.close()
        output, status = guest.end()
        if os.path.exists(self.file('.status')) or not returned(self.file('acks'), 1):
            raise Failed('the guest was to be killed, and ended with status %d\n%s' % (status, output))


class Guest:
    """run.sh; all that run are known, so that none is left behind."""

    running = set()

    def __init__(self, command, disk, speed):
        slow = {'LD_PRELOAD': SLOW, 'SLOW_FILE': disk, 'SLOW_BYTES_PER_S': str(speed)}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **slow})
        Guest.running.add(self)

    def runs(self):
        return self.process.poll() is None

    def kill(self):
        """The kernel, a grandchild of run.sh, leads a session and a group of its own; its own processes and the guest's are in it."""
        for timeout in children(self.process.pid):
            for kernel in children(timeout):
                with contextlib.suppress(ProcessLookupError):
                    if os.getpgid(kernel) == kernel:
                        os.killpg(kernel, signal.SIGKILL)
                        wait_for_group(kernel)

    def end(self):
        output = self.process.communicate()[0]
        Guest.running.discard(self)
        return output, self.process.returncode


def children(pid):
    try:
        with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as f:
            return [int(word) for word in f.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return [] # it has ended


def wait_for_group(group):
    """Until none of it can write any more."""
    def alive(pid):
        try:
            with open('/proc/%s/stat' % pid, encoding='utf-8', errors='replace') as f:
                fields = f.read().rpartition(')')[2].split()
            return int(fields[2]) == group and fields[0] not in 'ZX'
        except (FileNotFoundError, ProcessLookupError):
            return False
    while any(alive(pid) for pid in os.listdir('/proc') if pid.isdigit()):
        time.sleep(0.005) # nothing tells when a process that is no child of ours has ended


def end_at_signals():
    """The guests have process groups of their own."""
    def handler(number, _):
        for guest in list(Guest.running):
            guest.kill()
        sys.exit(128 + number)
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, handler)


def returned(path, at):
    with open(path, 'rb') as f:
        f.seek(max(0, os.path.getsize(path) - 4096))
        acks = [line.split() for line in f.read().split(b'\n')[:-1] if line.startswith(b'A ')]
    return bool(acks) and int(acks[-1][1]) >= at


class Watch:
    """Waits until a file is written to, by inotify, or for a second: the guest may end instead."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, path.encode(), 2) < 0:
            raise Failed('inotify: errno %d' % ctypes.get_errno())

    def wait(self):
        if select.select([self.fd], [], [], 1)[0]:
            os.read(self.fd, 1 << 16)

    def close(self):
        os.close(self.fd)


def generator(*words):
    """The same numbers for the same words, in every version of Python."""
    return random.Random(' '.join(str(word) for word in words))
