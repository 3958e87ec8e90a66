# SPDX-License-Identifier: GPL-2.0-or-later
"""One virtual machine: QEMU without KVM, its serial console, its results, its QMP socket.

A machine is waited for by what it says, never by time; the limits only end what hangs. Its first serial port is the console,
the second one carries the results of the script that the guest runs (guest/check.sh and a case's own lines).
"""
import json
import os
import re
import socket
import subprocess
import threading
import time

from image import Failed

SECONDS = 900           # for a whole boot on a busy machine; an idle one takes about 50
APPEND = 'root=/dev/mapper/wubi-root ro'
# What a slow machine needs: no unit fails because two virtual machines share two processors with a compiler.
PATIENCE = 'systemd.default_timeout_start_sec=300 mitigations=off console=ttyS0 systemd.mask=e2scrub_reap.service'
ESCAPES = re.compile(r'\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\r\0]')
CHECKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'guest', 'check.sh')


class Disk:
    """One disk of the machine. bus: virtio, sata, nvme, scsi; late: in place, but plugged in by Machine.plug(); write_mib_s: its limit."""

    def __init__(self, path, bus='virtio', sector=512, late=False, write_mib_s=None):
        self.path, self.bus, self.sector, self.late, self.write_mib_s = path, bus, sector, late, write_mib_s

    def drive(self):
        limit = ',throttling.bps-write=%d' % (self.write_mib_s << 20) if self.write_mib_s else ''
        return 'format=raw,file=%s,cache=unsafe,discard=unmap,file.locking=off%s' % (self.path, limit)

    def device(self, number):
        name = {'virtio': 'virtio-blk-pci', 'sata': 'ide-hd', 'nvme': 'nvme', 'scsi': 'scsi-hd'}[self.bus]
        device = {'driver': name, 'drive': 'disk%d' % number, 'id': 'dev%d' % number}
        if self.sector != 512:
            device.update(logical_block_size=self.sector, physical_block_size=self.sector)
        if self.bus == 'sata':
            device['bus'] = 'ahci.%d' % number
        if self.bus == 'nvme':
            device['serial'] = 'nvme%d' % number
        return device


class Guest:
    """A started machine. Use it as a context: it is dead at the end. The words of QEMU's command line that make it the machine it is
    come from who is derived from this."""

    def __init__(self, work, disks, script, words, checks=(CHECKS,)):
        os.makedirs(work, exist_ok=True)
        self.work, self.text, self.ended = work, '', None
        self.lock, self.began = threading.Condition(), time.monotonic()
        self.disks = disks
        self.results_file = os.path.join(work, 'results')
        self.console_file = os.path.join(work, 'console')
        self.socket = os.path.join(work, 'qmp')
        script_file = os.path.join(work, 'script')
        with open(script_file, 'w', encoding='utf-8') as file:
            for path in checks:
                with open(path, encoding='utf-8') as functions:
                    file.write(functions.read())
            file.write(script + '\ndone_checking\n')
        for old in (self.socket, self.results_file):
            if os.path.exists(old):
                os.unlink(old)
        command = ['qemu-system-x86_64', '-accel', 'tcg,tb-size=512', '-display', 'none', '-nodefaults', '-no-reboot',
                   '-serial', 'stdio', '-serial', 'file:' + self.results_file, '-qmp', 'unix:%s,server=on,wait=off' % self.socket,
                   '-fw_cfg', 'name=opt/wubi/script,file=' + script_file]
        command += words + self._disk_options()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self._read, daemon=True).start()

    def _disk_options(self):
        options = []
        if any(d.bus == 'sata' for d in self.disks):
            options += ['-device', 'ich9-ahci,id=ahci']
        if any(d.bus == 'scsi' for d in self.disks):
            options += ['-device', 'virtio-scsi-pci']
        for number, disk in enumerate(self.disks):
            options += ['-drive', 'if=none,id=disk%d,%s' % (number, disk.drive())]
            if not disk.late:
                options += ['-device', ','.join('%s' % v if k == 'driver' else '%s=%s' % (k, v)
                                                for k, v in disk.device(number).items())]
        return options

    def _read(self):
        with open(self.console_file, 'wb', buffering=0) as log:
            while True:
                data = os.read(self.process.stdout.fileno(), 65536)
                if not data:
                    break
                log.write(data)
                with self.lock:
                    self.text += data.decode('utf-8', 'replace')
                    self.lock.notify_all()
        with self.lock:
            self.ended = self.process.wait()
            self.lock.notify_all()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.kill()

    def console(self):
        with self.lock:
            return ESCAPES.sub('', self.text)

    def wait_for(self, *patterns, seconds=SECONDS):
        """The match of the first of these regular expressions that the console shows; Failed at the end or the limit."""
        end = time.monotonic() + seconds
        while True:
            with self.lock:
                text, ended = ESCAPES.sub('', self.text), self.ended
                found = [m for m in (re.search(p, text, re.M) for p in patterns) if m]
                if found:
                    return found[0]
                if ended is not None:
                    raise Failed('the machine ended with status %d before the console said %s' % (ended, ' or '.join(patterns)))
                if not self.lock.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise Failed('the console did not say %s within %d s' % (' or '.join(patterns), seconds))

    def wait_end(self, seconds=SECONDS):
        """Until the machine has powered off."""
        end = time.monotonic() + seconds
        with self.lock:
            while self.ended is None:
                if not self.lock.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise Failed('the machine did not power off within %d s' % seconds)
        if self.ended:
            raise Failed('QEMU ended with status %d' % self.ended)

    def results(self):
        try:
            with open(self.results_file, encoding='utf-8', errors='replace') as file:
                return ESCAPES.sub('', file.read())
        except OSError:
            return ''

    def check_results(self):
        """After wait_end(): every check of the guest's script was made and passed."""
        text = self.results()
        bad = re.findall(r'^BOOT-CHECK NOT OK: .*', text, re.M)
        if bad:
            raise Failed('\n'.join(bad))
        if not re.search(r'^BOOT-DONE \d+$', text, re.M) or not re.search('^BOOT-CHECK ok', text, re.M):
            raise Failed('the guest did not make its checks')

    def qmp(self, command, **arguments):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.socket)
            stream = sock.makefile('rw', encoding='utf-8')
            stream.readline()
            for name, words in (('qmp_capabilities', {}), (command, arguments)):
                stream.write(json.dumps({'execute': name, 'arguments': words}) + '\n')
                stream.flush()
                answer = json.loads(stream.readline())
                while 'event' in answer:
                    answer = json.loads(stream.readline())
                if 'error' in answer:
                    raise Failed('QMP %s: %s' % (name, answer['error'].get('desc')))
        return answer.get('return')

    def plug(self, number):
        """The late disk arrives."""
        self.qmp('device_add', **self.disks[number].device(number))

    def screen(self):
        """What the VGA text screen shows, as lines."""
        dump = os.path.join(self.work, 'screen')
        self.qmp('pmemsave', val=0xb8000, size=80 * 25 * 2, filename=dump)
        with open(dump, 'rb') as file:
            text = file.read()[::2].decode('cp437')
        return '\n'.join(text[i:i + 80].rstrip() for i in range(0, len(text), 80))

    def kill(self):
        """kill -9, as a power cut; what the machine said stays."""
        if self.process.poll() is None:
            self.process.kill()
        with self.lock:
            while self.ended is None:
                self.lock.wait()

    def seconds(self):
        return time.monotonic() - self.began


class Machine(Guest):
    """Without firmware to speak of: QEMU hands over the kernel, the initramfs and the command line."""

    def __init__(self, work, kernel, initrd, disks, append='', script='', root=APPEND, vga=False, memory='1G'):
        words = ['-cpu', 'qemu64', '-machine', 'pc', '-smp', '1', '-m', memory, '-kernel', kernel, '-initrd', initrd,
                 '-append', ' '.join((root, PATIENCE, append))]
        super().__init__(work, disks, script, words + (['-vga', 'std'] if vga else []))
