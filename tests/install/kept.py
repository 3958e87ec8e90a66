# SPDX-License-Identifier: GPL-2.0-or-later
"""An installation that is made once, and kept in the cache: many cases begin where it ends, and those of power cuts cut its writes."""
import fcntl
import hashlib
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from flow import config_text, our_packages  # noqa: E402
from disk import WindowsDisk  # noqa: E402
from image import CACHE, HERE as BOOT, file_sum, package_sum  # noqa: E402
from machine import LoggedDisk  # noqa: E402

KEPT = 2  # of one release
MADE_BY = [os.path.join(HERE, name) for name in ('flow.py', 'disk.py', 'machine.py', 'kept.py', 'guest/check.sh')] + \
    [os.path.join(BOOT, name) for name in ('vm.py', 'image.py', 'guest/check.sh')]


class Installation:
    """base and disk, variables.before and variables: the disk and the firmware's variables before and after it; log: the disk's
    writes; before.json: what is Windows' there; root.map. Nothing of it is booted: take start()."""

    def __init__(self, test):
        stamp = ' '.join([os.path.basename(test.system), config_text(), file_sum(*MADE_BY)] + [package_sum(path) for path in our_packages()])
        self.family = os.path.join(CACHE, 'installed', os.path.basename(test.system).split('-')[0])
        self.folder = os.path.join(self.family, hashlib.sha256(stamp.encode()).hexdigest()[:16])
        os.makedirs(self.family, exist_ok=True)
        with open(self.family + '.lock', 'w', encoding='ascii') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.isdir(self.folder):
                self._make(test)
            os.utime(self.folder)

    def _make(self, test):
        kept = sorted((os.path.join(self.family, name) for name in os.listdir(self.family)), key=os.path.getmtime)
        for old in [path for path in kept if path.endswith('.part')] + [path for path in kept if not path.endswith('.part')][:1 - KEPT]:
            shutil.rmtree(old)
        part = self.folder + '.part'
        os.mkdir(part)
        test.set_up()
        test.disk.copy_to(os.path.join(part, 'base'))
        shutil.copy(test.pc.variables, os.path.join(part, 'variables.before'))
        with open(os.path.join(part, 'before.json'), 'w', encoding='utf-8') as file:
            json.dump(test.before, file)
        test.install(LoggedDisk(test.disk.path, os.path.join(part, 'log')))
        shutil.copy(test.pc.variables, os.path.join(part, 'variables'))
        shutil.copy(test.map(), os.path.join(part, 'root.map'))
        test.disk.copy_to(os.path.join(part, 'disk'))
        os.rename(part, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, test, disk='disk', variables='variables'):
        """The test's PC and disk are as they were then. disk None: the test makes one itself, at test.disk.path."""
        test.set_up_pc()
        if disk:
            WindowsDisk(self.path(disk)).copy_to(test.disk.path)
        shutil.copy(self.path(variables), test.pc.variables)
        with open(self.path('before.json'), encoding='utf-8') as file:
            test.before = json.load(file)


def installed_pc(test):
    """Instead of set_up() and install(): as after them."""
    Installation(test).start(test)
    test.check_windows()
    test.check_entry()
