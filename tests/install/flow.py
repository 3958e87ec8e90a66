# SPDX-License-Identifier: GPL-2.0-or-later
"""An installation from start to end: the live medium, wubi-install in it, and the system that then boots from the disk."""
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'boot'))
sys.path.insert(0, HERE)
from cases import SHELL, Test, case  # noqa: E402
from disk import WindowsDisk  # noqa: E402
from image import BUILD, Failed, run  # noqa: E402
from machine import Booted, Cd, Pc  # noqa: E402
from variables import Variables  # noqa: E402
from vm import Disk  # noqa: E402

LABEL, LOADER = 'wubi', r'\EFI\wubi\shimx64.efi'
TROUBLE = SHELL + r'|Kernel panic|wubi: root: not attached: |ANOTHER-DEBIANS-MENU|^grub>|^grub rescue>|UEFI Interactive Shell'
HASH = '$6$wubitest$uLdUnxQGnoMGQeoUQ/uhqAn6q4hFiSfUTzsxgkkiUoU09XgEI7Gg1ip9fVMcnxKPNwJxEvuPErpnOuyC2isue/'
# The command comes before GRUB's menu is made: the console is on the serial port in tests.
CONFIG = {'volume': 'LABEL=Windows', 'size': '3G', 'hostname': 'wubi-test', 'user': 'ada',
          'full-name': 'Ada Lovelace', 'password-hash': HASH, 'locale': 'C.UTF-8', 'time-zone': 'Europe/Berlin', 'keyboard': 'de',
          'default': 'linux', 'network': False,
          'command': 'mkdir -p /etc/default/grub.d && echo \'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX console=ttyS0 mitigations=off '
                     'systemd.default_timeout_start_sec=300 systemd.mask=e2scrub_reap.service"\' >/etc/default/grub.d/test.cfg && '
                     'echo \'GRUB_TIMEOUT=1\' >>/etc/default/grub.d/test.cfg && '
                     'echo \'password-hash = "%s"\' >/etc/wubi-test.conf' % HASH}
INSTALL = 'wubi-install --config /payload/wubi-install.conf --yes --progress plain'


def config_text(**changes):
    """wubi-install.conf; a value None leaves the key away."""
    lines = []
    for key, value in {**CONFIG, **{k.replace('_', '-'): v for k, v in changes.items()}}.items():
        if value is not None:
            text = str(value).lower() if isinstance(value, bool) else '"%s"' % value.replace('\\', '\\\\').replace('"', '\\"')
            lines.append('%s = %s\n' % (key, text))
    return ''.join(lines)


def our_packages():
    found = [path for name in ('wubi-tools', 'wubi-installer') for path in glob.glob(os.path.join(BUILD, 'deb', name + '_*.deb'))]
    if len(found) != 2:
        raise Failed("no wubi-tools and wubi-installer, once each, in %s: run 'make deb'" % os.path.join(BUILD, 'deb'))
    return found


def live_medium(release):
    return subprocess.run([os.path.join(HERE, 'live'), release], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


class InstallTest(Test):
    """A case of the installer: self.system is the live medium. self.pc and self.disk are there from pc() and windows() on."""

    def prepare(self, system_name):
        self.system = live_medium(system_name)
        self.pc = self.disk = self.before = None

    def set_up_pc(self, firmware='secure', **options):
        """A PC without anything on its disk yet."""
        self.pc = Pc(self.work, firmware, **options)
        self.disk = WindowsDisk(self.path('disk.img'))

    def set_up(self, firmware='secure', more_on_esp=None, **options):
        """A PC with Windows."""
        self.set_up_pc(firmware, **options)
        self.disk.make(more_on_esp)
        self.before = self.disk.state()

    def payload(self, more=(), **changes):
        """A CD with our packages, the configuration, and more files in more/."""
        folder = self.path('payload')
        shutil.rmtree(folder, ignore_errors=True)
        for name in 'debs', 'more':
            os.makedirs(os.path.join(folder, name))
        for path in our_packages():
            shutil.copy(path, os.path.join(folder, 'debs'))
        for path in more:
            shutil.copy(path, os.path.join(folder, 'more'))
        with open(os.path.join(folder, 'wubi-install.conf'), 'w', encoding='utf-8') as file:
            file.write(config_text(**changes))
        run('xorriso', '-as', 'mkisofs', '-quiet', '-o', self.path('payload.iso'), '-V', 'WUBI-PAYLOAD', '-R', '-J', '-joliet-long', folder)
        return self.path('payload.iso')

    def switch_on(self, script, cds=(), disk=None):
        self.boots += 1
        self.last = Booted(self.path('boot%d' % self.boots), self.pc, [disk or Disk(self.disk.path)], cds, script)
        return self.last

    def live(self, script, disk=None):
        """The live medium boots, the script runs; every check passes."""
        cds = [Cd(self.system, 'live', first=True), Cd(self.path('payload.iso'), 'payload')]
        with self.switch_on(script, cds, disk) as machine:
            machine.wait_for(r'BOOT-CHECKS', TROUBLE)
            self.finish(machine)
        return machine

    def finish(self, machine):
        trouble = re.search(TROUBLE, machine.console(), re.M)
        if trouble:
            raise Failed('the boot went wrong: ' + trouble.group())
        machine.wait_end(2400)
        machine.check_results()
        self.said += '---- boot %d, %.0f s ----\n%s' % (self.boots, machine.seconds(), machine.results())

    def install(self, disk=None, script='', **changes):
        self.payload(**changes)
        machine = self.live('secure_boot_is %s\nour_packages\ntimed wubi-install %s\n%s' % (self.secure(), INSTALL, script), disk)
        self.check_windows()
        self.check_entry(is_next=True)
        self.disk.verify(self.map())
        return machine

    def secure(self):
        return 'on' if self.pc.firmware == 'secure' else 'off'

    def installed(self, script=None, disk=None, cds=(), verdict='match'):
        """The firmware boots what it remembers; every check passes."""
        if script is None:
            script = 'check_live match\ncheck_installed\n'
        with self.switch_on('secure_boot_is %s\n%s' % (self.secure(), script), cds, disk) as machine:
            machine.wait_for(r'BOOT-CHECKS', TROUBLE)
            self.finish(machine)
        return machine

    # What is seen from outside

    def map(self):
        return self.disk.esp_map(self.path('root.map'))

    def check_windows(self):
        self.disk.check_state(self.before)

    def firmware(self):
        return Variables(self.pc.variables)

    def our_entries(self):
        return [e for e in self.firmware().entries().values() if e.path.lower() == LOADER.lower() or e.label == LABEL]

    def check_entry(self, first=True, is_next=None):
        """One entry of ours: first in the order or else not; and the next start's, or not, where that is asked."""
        known, ours = self.firmware(), self.our_entries()
        self.said += known.text() + '\n'
        if len(ours) != 1 or ours[0].label != LABEL or ours[0].path.lower() != LOADER.lower() or not ours[0].active:
            raise Failed('not one entry of ours in the firmware:\n' + known.text())
        if first != (known.order()[:1] == [ours[0].number]):
            raise Failed('our entry is%s the first:\n%s' % (' not' if first else '', known.text()))
        if is_next not in (None, known.number('BootNext') == ours[0].number):
            raise Failed('our entry is%s what starts next:\n%s' % (' not' if is_next else '', known.text()))

    def check_gone(self):
        """As if we had never been there."""
        self.check_windows()
        left = [path for path in self.disk.esp_tree() if path not in self.before['the files on the EFI system partition']]
        with self.disk.files() as folder:
            left += [name for name in os.listdir(folder) if name.lower() == 'ubuntu']
        if left or self.our_entries():
            raise Failed('left behind: %s\n%s' % (' '.join(left), self.firmware().text()))


def install_case(name, release='bookworm'):
    """Decorator: a case of the installer for 'soak'."""
    return case('install-' + name, release, test=InstallTest)
