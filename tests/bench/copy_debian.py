#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""copy_debian.py: copy.sh as it is meant, in a Debian live system in QEMU with two processors: unsquashfs to ext4 on a partition,
ours to ext4 in an image through device-mapper, on one disk, with Debian's own kernel, which unpacks with all processors."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(TESTS, 'install'), os.path.join(TESTS, 'boot')]
from disk import WindowsDisk  # noqa: E402
from flow import live_medium, our_packages  # noqa: E402
from image import BUILD, MIB, Failed, run  # noqa: E402
from machine import Booted, Cd, Pc  # noqa: E402
from vm import Disk  # noqa: E402

ROOM_MIB = 2048
TOOLS = 'squashfs-tools', 'liblzo2-2'  # what the medium lacks
SCRIPT = '''
our_packages
check 'unsquashfs' dpkg --force-unsafe-io -i "$payload"/more/*.deb
check 'the image' wubi-disk create /dev/vda3 --size %dM --fs none --map /run/root.map --quiet
check 'attached' wubi-disk attach /dev/vda3 --map /run/root.map
mkdir -p /run/bench/tests/bench && cp "$payload"/more/copy.sh /run/bench/tests/bench/ && cp "$payload"/more/treecopy_driver /run/
export BENCH_SQUASHFS=/run/live/medium/live/filesystem.squashfs BENCH_PARTITION=/dev/vda5 BENCH_IMAGE=/dev/mapper/wubi-root
COPY_DRIVER=/run/treecopy_driver BENCH_ROUNDS=%s timed 'the bench' /run/bench/tests/bench/copy.sh
'''


def make_disk(path):
    disk = WindowsDisk(path, volume_mib=4096)
    disk.make()
    with open(path, 'r+b') as file:
        file.truncate(os.path.getsize(path) + (ROOM_MIB + 2) * MIB)
    run('sfdisk', '--quiet', '--relocate', 'gpt-bak-std', path)
    run('sfdisk', '--quiet', '--no-reread', '--append', path, input='size=%dMiB\n' % ROOM_MIB)


def make_payload(folder):
    for name in 'debs', 'more':
        os.makedirs(os.path.join(folder, 'payload', name))
    run('apt-get', 'download', '-q', *TOOLS, cwd=os.path.join(folder, 'payload', 'more'))
    run('cp', *our_packages(), os.path.join(folder, 'payload', 'debs'))
    run('cp', os.path.join(HERE, 'copy.sh'), os.path.join(BUILD, 'tests/cli/treecopy_driver'), os.path.join(folder, 'payload', 'more'))
    run('xorriso', '-as', 'mkisofs', '-quiet', '-o', os.path.join(folder, 'payload.iso'), '-V', 'WUBI-PAYLOAD', '-R',
        os.path.join(folder, 'payload'))


def main():
    with tempfile.TemporaryDirectory(prefix='wubi-bench.') as folder:
        medium = live_medium('bookworm')
        make_disk(os.path.join(folder, 'disk'))
        make_payload(folder)
        cds = [Cd(medium, 'live', first=True), Cd(os.path.join(folder, 'payload.iso'), 'payload')]
        pc = Pc(folder, 'plain', processors=2, memory='3G')
        with Booted(os.path.join(folder, 'boot'), pc, [Disk(os.path.join(folder, 'disk'))], cds,
                    SCRIPT % (ROOM_MIB, os.environ.get('BENCH_ROUNDS', '3'))) as machine:
            machine.wait_for(r'BOOT-CHECKS')
            machine.wait_end(3600)
            print(machine.results())
            machine.check_results()


if __name__ == '__main__':
    try:
        main()
    except (Failed, subprocess.CalledProcessError) as error:
        sys.exit('copy_debian.py: %s' % error)
