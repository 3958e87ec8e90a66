# SPDX-License-Identifier: GPL-2.0-or-later
"""The power is cut in the middle of an installation: what is there then, at many places; and what a second run makes of some of them."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from flow import INSTALL, Failed, install_case  # noqa: E402
from disk import ESP_MIB, ESP_PARTUUID, VOLUME_START, WindowsDisk  # noqa: E402
from image import BUILD, DISK, FX, extents_of, run  # noqa: E402
from kept import Installation  # noqa: E402
from variables import Variables  # noqa: E402
import cut  # noqa: E402
import writelog  # noqa: E402

TESTS = os.path.dirname(HERE)
LOOKED_AT = 200
CUTS = 40               # of the same log; installed upon: a sample of them
SAMPLE = range(4, CUTS + 1, 8)
IMAGE, MENU = 'ubuntu/disks/root.disk', 'boot/grub/grub.cfg'
NONE, INCOMPLETE, COMPLETE = 'no image', 'an incomplete image', 'a complete system'
LABELS = {b'wubi-incomplete': INCOMPLETE, b'wubi-root': COMPLETE}


class Cuts:
    def __init__(self, kept, count=CUTS):
        self.kept, self.log = kept, cut.DiskLog(kept.path('log'))
        self.all = cut.choose(self.log, kept.path('root.map'), count)
        self.extents = extents_of(kept.path('root.map'))
        self.last_esp = cut.last_write(self.log, 'esp', self.extents)

    def variables(self, place):
        """What the firmware may remember at that time: the disk's log does not tell when. The entry is made when the menu is there."""
        return ['variables.before'] + (['variables'] if self.log.events[place.after] >= self.last_esp else [])


class CutDisk(WindowsDisk):
    """The disk behind a cut."""

    def at_image(self, extents, size, offset):
        _, physical, length = extents[0]
        with open(self.path, 'rb') as file:
            return os.pread(file.fileno(), min(size, length - offset), VOLUME_START + physical + offset)

    def what_is_there(self, extents):
        with self.files() as folder:
            path = os.path.join(folder, IMAGE)
            if not os.path.exists(path):
                return NONE
            if os.path.getsize(path) != sum(length for _, _, length in extents):
                raise Failed('the image has another size')
        # ext4's superblock: its label
        label = self.at_image(extents, 16, 1024 + 0x78).rstrip(b'\0')
        return LABELS.get(label, INCOMPLETE if not label else 'an image with the label %r' % label)

    def image_sum(self, extents):
        return self._sum([(VOLUME_START + physical, VOLUME_START + physical + length) for _, physical, length in extents])

    def chkdsk(self):
        """As Windows does at its next start when the cut was in the middle of a commit: False, there was nothing to do. Only the mark
        is cleared: what a commit leaves behind are clusters that belong to nobody."""
        with self.volume() as volume:
            if not json.loads(run(DISK, 'info', volume, '--json'))['state']['dirty']:
                return False
            run(sys.executable, FX, 'clear-dirty', volume)
            run('blockdev', '--flushbufs', volume)
            return True


def judge(disk, cuts, before, final, names):
    """Raises Failed, or returns what is there."""
    disk.check_state(before)
    what = disk.what_is_there(cuts.extents)
    has_menu = MENU in disk.esp_list()
    if what not in (NONE, INCOMPLETE, COMPLETE):
        raise Failed(what)
    if what == COMPLETE:
        if disk.image_sum(cuts.extents) != final:
            raise Failed('the image says that it is complete, and is not what it is at the end')
        disk.verify(cuts.kept.path('root.map'))
    elif has_menu:
        raise Failed('there is a menu for ' + what)
    for name in names:
        ours = [e for e in Variables(cuts.kept.path(name)).entries().values() if e.label == 'wubi']
        if ours and what != COMPLETE:
            raise Failed('the firmware may have an entry for ' + what)
    return what + (', a menu' if has_menu else '') + (', an entry or none' if len(names) > 1 else '')


@install_case('cuts')
def _(test):
    """the power is cut in 200 places of the installation: Windows is whole at each; what starts Linux is there for a complete system only"""
    kept = Installation(test)
    cuts = Cuts(kept, LOOKED_AT)
    with open(kept.path('before.json'), encoding='utf-8') as file:
        before = json.load(file)
    final = CutDisk(kept.path('disk')).image_sum(cuts.extents)
    disk, bad = writelog.Disk(cuts.log, kept.path('base'), test.path('cut.img')), 0
    for number, place in enumerate(cuts.all, 1):
        disk.advance(place.after)
        with disk.with_subset(place.subset):
            try:
                said = judge(CutDisk(disk.path), cuts, before, final, cuts.variables(place))
            except Failed as failure:
                bad, said = bad + 1, 'NOT OK: %s' % failure
        test.said += 'cut %02d: %s: %s\n' % (number, place.text, said)
    if bad:
        raise Failed('%d of %d cuts\n%s' % (bad, len(cuts.all), test.said))


class SmallSystem:
    """What a second run installs in user-mode Linux, in its work folder: of a real Debian, and small."""

    def __init__(self, test):
        self.folder = test.path('guest')
        os.mkdir(self.folder)
        setup = '. "$TESTS/vm/lib_install.sh"; make_system; esp_uuid=%s; make_firmware %d' % (ESP_PARTUUID, ESP_MIB)
        run('bash', '-euc', setup, cwd=self.folder, env={**os.environ, 'PATH': BUILD + ':' + os.environ['PATH'], 'TESTS': TESTS})

    def install_on(self, disk):
        return run(os.path.join(TESTS, 'vm', 'run.sh'), '-v', '-w', self.folder, '-b', BUILD, '-d', disk, '-m', '768M', '-t', '1200',
                   os.path.join(HERE, 'guest', 'again.sh'))


@install_case('cuts-again')
def _(test):
    """the power is cut in 40 places, and wubi-install runs again at each, in user-mode Linux: it is installed, and Windows is whole"""
    kept = Installation(test)
    cuts, small = Cuts(kept), SmallSystem(test)
    with open(kept.path('before.json'), encoding='utf-8') as file:
        before = json.load(file)
    disk, bad = writelog.Disk(cuts.log, kept.path('base'), test.path('cut.img')), 0
    again = CutDisk(test.path('again.img'))
    for number, place in enumerate(cuts.all, 1):
        disk.advance(place.after)
        with disk.with_subset(place.subset):
            CutDisk(disk.path).copy_to(again.path)
        try:
            checked = again.chkdsk()
            said = small.install_on(again.path)
            again.check_state(before)
            again.verify(again.esp_map(test.path('again.map')))
            said = ('chkdsk, ' if checked else '') + ('repaired' if 'it was complete' in said else 'installed')
        except Failed as failure:
            bad, said = bad + 1, 'NOT OK: %s' % failure
        test.said += 'cut %02d: %s: %s\n' % (number, place.text, said)
    if bad:
        raise Failed('%d of %d second runs\n%s' % (bad, len(cuts.all), test.said))


AGAIN = '''our_packages
again() { %s; }
status=0
again >/run/again 2>&1 </dev/null || status=$?
cat /run/again
case $status in
0) result 0 'the second run installs' ;;
*)
	check 'the first run was complete, and the second says so' grep -q 'wubi-install --repair' /run/again
	timed repair wubi-install --repair --volume LABEL=Windows --yes --progress plain
	;;
esac
''' % INSTALL


def cut_case(number):
    @install_case('cut-%02d' % number)
    def _(test):
        """the power is cut in the middle of the installation: Windows is whole, a second run completes it, and it boots"""
        kept = Installation(test)
        cuts = Cuts(kept)
        place = cuts.all[min(number, len(cuts.all)) - 1]
        kept.start(test, None, cuts.variables(place)[-1])
        cut.rebuild(cuts.log, kept.path('base'), place, test.disk.path)
        test.said += place.text + '\n'
        test.check_windows()
        test.payload()
        test.live(AGAIN)
        test.check_windows()
        test.disk.verify(test.map())
        test.installed('check_root match\ncheck_installed\nboot_is_right\n')
        test.check_windows()


for n in SAMPLE:
    cut_case(n)
