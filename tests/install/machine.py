# SPDX-License-Identifier: GPL-2.0-or-later
"""A PC with UEFI firmware, with or without Secure Boot: its memory of boot entries outlives its boots."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'boot'))
from image import Failed  # noqa: E402
from vm import CHECKS, Disk, Guest  # noqa: E402

OVMF = '/usr/share/OVMF'
# name: (the firmware's code, its variables when it is new)
FIRMWARE = {'secure': ('OVMF_CODE_4M.ms.fd', 'OVMF_VARS_4M.ms.fd'), 'plain': ('OVMF_CODE_4M.fd', 'OVMF_VARS_4M.fd')}
LIVE_CHECKS = os.path.join(HERE, 'guest', 'check.sh')


class Pc:
    """What stays when it is off: the firmware's variables and the disks."""

    def __init__(self, work, firmware='secure', processors=2, memory='2G'):
        self.firmware, self.processors, self.memory = firmware, processors, memory
        self.variables = os.path.join(work, 'variables')
        code, new = (os.path.join(OVMF, name) for name in FIRMWARE[firmware])
        for path in code, new:
            if not os.path.exists(path):
                raise Failed("no firmware '%s': the package ovmf has it" % path)
        shutil.copyfile(new, self.variables)
        self.code = code

    def words(self):
        machine = 'q35,smm=on' if self.firmware == 'secure' else 'q35'
        words = ['-cpu', 'qemu64', '-machine', machine, '-smp', str(self.processors), '-m', self.memory, '-rtc', 'base=utc',
                 '-drive', 'if=pflash,format=raw,unit=0,readonly=on,file=' + self.code,
                 '-drive', 'if=pflash,format=raw,unit=1,file=' + self.variables]
        if self.firmware == 'secure':
            words += ['-global', 'driver=cfi.pflash01,property=secure,value=on']
        return words


class Cd:
    """A CD-ROM. first: what the firmware boots, whatever it remembers. usb: in a drive that can be pulled, by Booted.pull(NAME).
    Neither: it looks like a disk, the last one, for not every kernel of the tests has a driver for CD-ROM drives."""

    def __init__(self, path, name, usb=False, first=False):
        self.path, self.name, self.usb, self.first = path, name, usb, first

    def words(self, number):
        device = 'usb-storage,bus=usb.0,removable=on' if self.usb else \
            'ide-cd,bus=ide.%d' % number if self.first else 'virtio-blk-pci,addr=0x%x' % (0x10 + number)
        media = ',media=cdrom' if self.usb or self.first else ''
        return ['-drive', 'if=none,id=cd-%s%s,readonly=on,format=raw,file.locking=off,file=%s' % (self.name, media, self.path),
                '-device', '%s,drive=cd-%s,id=%s%s' % (device, self.name, self.name, ',bootindex=0' if self.first else '')]


class LoggedDisk(Disk):
    """Each write and flush goes to a log in the format of dm-log-writes: tests/install/cut.py reads it."""

    def __init__(self, path, log, **options):
        super().__init__(path, **options)
        self.log = log
        with open(log, 'wb'):
            pass

    def drive(self):
        # the filter must see flushes; what is below need not make them
        return ('driver=blklogwrites,cache.writeback=on,discard=unmap,file.driver=raw,file.cache.no-flush=on,file.file.driver=file,'
                'file.file.locking=off,file.file.filename=%s,log.driver=raw,log.cache.no-flush=on,log.file.driver=file,log.file.filename=%s'
                % (self.path, self.log))

    def device(self, number):
        """A request that QEMU merges may have as many pieces as a system call takes, and with the log's header one more: EINVAL."""
        return {**super().device(number), 'request-merging': 'off'}


class Booted(Guest):
    """The PC, switched on, with these disks and CDs in it."""

    def __init__(self, work, pc, disks, cds=(), script=''):
        words = pc.words()
        if any(cd.usb for cd in cds):
            words += ['-device', 'qemu-xhci,id=usb']
        for number, cd in enumerate(cds):
            words += cd.words(number)
        super().__init__(work, disks, script, words, (CHECKS, LIVE_CHECKS))

    def pull(self, name):
        """The CD's drive is pulled out."""
        self.qmp('device_del', id=name)
