# SPDX-License-Identifier: GPL-2.0-or-later
"""What the cases have in common: a test with its system, its folder, and the two ends of a boot: the login prompt, or a refusal."""
import concurrent.futures
import hashlib
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

from image import MIB, Failed, Layout, data_pieces, extents_of, get_system
from vm import Disk, Machine

JOBS = 2                # virtual machines at once
SHELL = r'\(initramfs\)|emergency (mode|shell)|Press Enter for maintenance|root account is locked|^dracut:/#'
TROUBLE = SHELL + r'|Kernel panic|wubi: root: not attached: '
REGISTRY = {}           # name: (function, system, layout, what it shows)
LIVE = set()            # the tests that are running
_print_lock = threading.Lock()


def say(text):
    with _print_lock:
        print(text, flush=True)


def case(name, system='bookworm-initramfs', layout=None, test=None):
    """Decorator: a case of 'soak'. The function's text says what it shows; test: another class than Test."""
    def register(function):
        function.test = test or Test
        REGISTRY[name] = (function, system, layout or Layout(), (function.__doc__ or name).strip())
        return function
    return register


class Test:
    """One case while it runs: its folder is gone afterwards, what its machines said is in the exception."""

    def __init__(self, name, layout):
        self.name, self.work, self.boots = name, tempfile.mkdtemp(prefix='wubi-boot.'), 0
        self.last, self.said = None, ''
        self.system, self.layout = None, layout
        LIVE.add(self)

    def prepare(self, system_name):
        self.system = get_system(system_name, self.layout, lambda text: say('# ' + text))

    def disk(self, name='disk.img'):
        """A copy of the system's disk."""
        return self.system.copy_disk(os.path.join(self.work, name))

    def path(self, name):
        return os.path.join(self.work, name)

    def start(self, disks, append='', script='', initrd=None, **options):
        self.boots += 1
        disks = [d if isinstance(d, Disk) else Disk(d, sector=self.layout.sector) for d in disks]
        self.last = Machine(self.path('boot%d' % self.boots), self.system.kernel, initrd or self.system.initrd, disks,
                            append, script, **options)
        return self.last

    def boot(self, disks, verdict='match', append='', script=None, **options):
        """To the login prompt; every check passes and the machine powers off. Returns the machine."""
        with self.start(disks, append, 'check_system %s\n' % verdict if script is None else script, **options) as machine:
            machine.wait_for(r'BOOT-CHECKS', TROUBLE)
            self.finish(machine)
        return machine

    def root(self, disks, verdict='match', append='', **options):
        """As boot(), but only to the root file system: a script of ours is init, which takes half of the time."""
        return self.boot(disks, verdict, append + ' init=/usr/local/sbin/wubi-boot-init', 'check_root %s\n' % verdict, **options)

    def finish(self, machine):
        trouble = re.search(TROUBLE, machine.console(), re.M)
        if trouble:
            raise Failed('the boot went wrong: ' + trouble.group())
        machine.wait_end()
        machine.check_results()
        self.said += machine.results()

    def refused(self, disks, verdict, *words, append='', **options):
        """The console says the verdict and these words, and then there is a shell. Returns the console's text."""
        with self.start(disks, append, **options) as machine:
            machine.wait_for(r'^.*wubi: root: not attached: %s' % verdict, SHELL, r'Kernel panic')
            machine.wait_for(SHELL)
            text = machine.console()
        if not re.search(r'wubi: root: not attached: %s' % verdict, text):
            raise Failed('no refusal with the verdict ' + verdict)
        for word in words:
            if not re.search(word, text):
                raise Failed("the refusal does not say '%s'" % word)
        return text

    def report(self, failure=''):
        """What the guests' scripts said, and of a failure the last machine's console."""
        if not failure:
            return self.said
        return '%s\n%s' % (failure, self.last.results() + '\n---- console ----\n' + self.last.console() if self.last else '')

    def close(self):
        if self.last:
            self.last.kill()
        shutil.rmtree(self.work, ignore_errors=True)
        LIVE.discard(self)


def give_up(number, _):
    """A signal: no machine and no disk stays."""
    for test in list(LIVE):
        if test.last:
            test.last.process.kill()
        shutil.rmtree(test.work, ignore_errors=True)
    os._exit(128 + number)


def stop_on_signals():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, give_up)


def run_case(name, function, system, layout):
    """(passed, what was said, seconds)."""
    began, test = time.monotonic(), getattr(function, 'test', Test)(name, layout)
    try:
        test.prepare(system)
        function(test)
        return True, test.report(), time.monotonic() - began
    except Failed as failure:
        return False, test.report(str(failure)), time.monotonic() - began
    except Exception:
        return False, test.report(traceback.format_exc()), time.monotonic() - began
    finally:
        test.close()


def run_all(jobs, done):
    """Jobs: [(name, function, system, layout)], two at a time; done(name, passed, text, seconds) as each ends."""
    good = True
    stop_on_signals()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        futures = {pool.submit(run_case, *job): job[0] for job in jobs}
        for future in concurrent.futures.as_completed(futures):
            passed, text, seconds = future.result()
            good = good and passed
            done(futures[future], passed, text, seconds)
    return good


def tap(jobs):
    """The cases as TAP, one line each, and what the guests said; of a failure the console too. Returns the exit status."""
    say('1..%d' % len(jobs))
    numbers = {job[0]: number for number, job in enumerate(jobs, 1)}

    def done(name, passed, text, seconds):
        say('%s %d - %s' % ('ok' if passed else 'not ok', numbers[name], name))
        say('# %.0f s\n%s' % (seconds, re.sub('^', '# ', text.rstrip(), flags=re.M)))
    return 0 if run_all(jobs, done) else 1


def outside_sum(test, disk):
    """Of all bytes of the disk outside the extents; holes are zeros. The ESP, which Linux mounts, is Linux' own."""
    extents = [(test.layout.start_bytes + p, n) for name in test.layout.images for _, p, n in extents_of(test.system.map(name))]
    extents = sorted(extents + ([(MIB, 32 * MIB)] if test.layout.table == 'gpt' else []))
    total, at = hashlib.sha256(), 0
    zeros = bytes(MIB)
    with open(disk, 'rb') as file:
        for start, length in extents + [(os.path.getsize(disk), 0)]:
            for offset, size in data_pieces(file.fileno(), at, start):
                offset, size = offset // 4096 * 4096, size + offset % 4096
                while size > 0:
                    chunk = os.pread(file.fileno(), min(size, MIB), offset)
                    if chunk != zeros[:len(chunk)]:
                        total.update(b'%d:' % offset + chunk)
                    offset, size = offset + len(chunk), size - len(chunk)
            at = start + length
    return total.hexdigest()


def initrd_has_none(test):
    """No NTFS driver and no FUSE has come into the initramfs for us."""
    with open(test.system.path('initrd.list'), encoding='utf-8', errors='replace') as file:
        bad = [line for line in file if re.search(r'ntfs-3g$|mount\.ntfs|lowntfs|libfuse|fusermount', line.strip())]
    if bad:
        raise Failed('in the initramfs: ' + ' '.join(bad))


def boot_everything(test):
    """A boot to the login prompt, every check, and after all that not a byte of Windows' has changed."""
    initrd_has_none(test)
    disk = test.disk()
    before = outside_sum(test, disk)
    test.boot([disk], script='check_everything match\n')
    if outside_sum(test, disk) != before:
        raise Failed('bytes outside the extents changed')


if __name__ == '__main__':
    # 'SYSTEM boots from its image': the names are in systems.sh
    sys.exit(tap([(name, boot_everything, name.split()[0], Layout()) for name in sys.argv[1:]]))
