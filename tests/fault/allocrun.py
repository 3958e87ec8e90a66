#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""allocrun.py VERB: fails the k-th allocation of our own objects, for every k, until the program gets through.

VERB: create map verify info show table remove. ALLOCFAIL is the program, WORK a folder. Each failure must be exit status 1
with 'memory' on stderr, no finding of a sanitizer, nothing half-made on the volume. Exit 1 with each finding on a line.
"""
import json
import multiprocessing
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'fixtures')]
PROGRAM = os.environ['ALLOCFAIL']
WORK = os.environ['WORK']
os.environ.setdefault('WUBI_DISK', PROGRAM)
os.environ.setdefault('FAULTSHIM', '')
import faultrun  # noqa: E402
import ntfscheck  # noqa: E402
import ntfsfx  # noqa: E402

WRITES = ('create', 'remove', 'map', 'place')


def argv(verb, vol, map_):
    return [PROGRAM] + {
        'create': ['create', vol, '--size', '8M', '--map', map_],
        'swap': ['create', vol, '--size', '8M', '--map', map_, '--fs', 'swap'],  # no e2fsck looks at a copy of that
        'map': ['map', vol, '--output', map_],
        'verify': ['verify', vol, '--map', WORK + '/true.map', '--json'],
        'info': ['info', vol],
        'show': ['show', vol, '--image', '/ubuntu/disks/root.disk', '--json'],
        'table': ['table', '--map', WORK + '/true.map', '--device', '/dev/sda2'],
        'rescue': ['rescue', vol, '--map', WORK + '/true.map', '--output', map_, '--quiet'],
        'place': ['rescue', vol, '--map', WORK + '/true.map', '--in-place', '--quiet'],
        'remove': ['remove', vol, '--image', '/ubuntu/disks/root.disk', '--yes'],
    }[verb]


def run(verb, vol, map_, **env):
    p = subprocess.run(argv(verb, vol, map_), env=dict(os.environ, **env), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')


def old_files(base, buf):
    """Are all files that were there before still there? For the writing verbs; dirty or sound as after a cut."""
    r = ntfscheck.check(buf)
    out = list(r.errors)
    for path, was in base.report.files.items():
        if not path.lower().startswith('/ubuntu') and r.files.get(path, (0, 0, 0, 0))[2:] != was[2:]:
            out.append('%s is gone or changed' % path)
    if not r.dirty and not ntfscheck.sound(r):
        out.append('not marked dirty, but %s' % (r.loose + [r.leaks])[:3])
    return out


def one(args):
    base, verb, k = args
    vol, map_ = WORK + '/v%d.img' % k, WORK + '/m%d.map' % k
    base.copy_to(vol)
    count = WORK + '/n%d' % k
    rc, out, err = run(verb, vol, map_, ALLOC_FAIL_AT=str(k), ALLOC_COUNT=count)
    with open(count, encoding='ascii') as f:
        reached = int(f.read()) >= k  # what others mount or attach meanwhile changes how many there are
    os.unlink(count)
    bad = []
    if 'Sanitizer' in err or 'runtime error' in err or rc not in (0, 1):
        bad.append('exit status %d: %s' % (rc, err[:1500]))
    elif rc == 1 and 'memory' not in err.lower():
        bad.append('no word of memory: %s' % err)
    elif rc == 0 and reached:
        bad.append('exit status 0: a failed allocation went unseen; stdout: %.200s stderr: %.200s' % (out, err))
    if rc and os.path.exists(map_):
        bad.append('a map was left')
    if rc and out.startswith('{') and 'failed' not in json.loads(out).get('status', ''):
        bad.append('JSON on stdout does not say failed: %.200s' % out)
    with open(vol, 'rb') as f:
        data = f.read()
    if verb in WRITES:
        bad += old_files(base, data)
    elif data != base.bytes:
        bad.append('the volume was changed')
    for x in os.listdir(WORK):
        if x.startswith(os.path.basename(vol)) or x.startswith(os.path.basename(map_)):
            if x.startswith('m%d.map' % k) and rc:
                bad.append('left behind: %s' % x)
            os.unlink(WORK + '/' + x)
    return ['%s, allocation %d: %s' % (verb, k, x) for x in bad]


def main():
    verb = sys.argv[1]
    os.makedirs(WORK, exist_ok=True)
    path, count = WORK + '/base.img', WORK + '/count'
    with open(path, 'wb') as f:
        f.truncate(32 << 20)
    faultrun.sh('mkntfs', '-F', '-Q', '-q', '-p', '2048', '-H', '255', '-S', '63', '-s', '512', '-c', '4096', path, check=True)
    with open(WORK + '/file', 'wb') as f:
        f.write(bytes(range(256)) * 100)
    faultrun.sh('ntfscp', '-q', '-f', path, WORK + '/file', '/file', check=True)
    if verb != 'create':
        rc, _, err = run('swap' if verb == 'rescue' else 'create', path, WORK + '/true.map')
        if rc:
            sys.exit('create: %s' % err)
    if verb == 'place':
        ntfsfx.emptied(path, '/ubuntu/disks/root.disk')
    base = faultrun.Base(path)
    vol = WORK + '/count.img'
    base.copy_to(vol)
    rc, _, err = run(verb, vol, WORK + '/count.map', ALLOC_COUNT=count)
    if rc:
        sys.exit('undisturbed: exit %d: %s' % (rc, err))
    with open(count, encoding='ascii') as f:
        n = int(f.read())
    for x in (vol, WORK + '/count.map'):
        if os.path.exists(x):
            os.unlink(x)
    bad = []
    with multiprocessing.get_context('fork').Pool(2) as pool:
        for x in pool.imap(one, [(base, verb, k) for k in range(1, n + 1)], chunksize=4):
            bad += x
    print('%s: %d allocations' % (verb, n))
    for x in bad[:30]:
        print(x)
    sys.exit(1 if bad or n == 0 else 0)


if __name__ == '__main__':
    main()
