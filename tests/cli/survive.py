#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""survive.py BASE MAP WORK SEED...: every verb over volumes whose metadata has random bytes in it.

An exit status of ours within a minute, a word on stderr when it is not 0, and the volume unchanged; or, when create or remove
went through, a volume that is no worse than before. Exit 1 with each finding on a line.
"""
import multiprocessing
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'fixtures'), os.path.join(HERE, '..', 'fault')]
import ntfscheck  # noqa: E402
import ntfsfx  # noqa: E402

DISK = os.environ['WUBI_DISK']
IMAGE = '/ubuntu/disks/root.disk'


def run(*argv):
    try:
        p = subprocess.run([DISK, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    except subprocess.TimeoutExpired:
        return 'timeout', '', ''
    return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')


def content(path):
    with open(path, 'rb') as f:
        return f.read()


def complaints(data):
    """What our own reader has to say of a volume: a set, to compare before and after."""
    try:
        r = ntfscheck.check(data)
    except Exception as e:  # pylint: disable=broad-except
        return {'unreadable: %s' % type(e).__name__}
    return set(r.errors) | {'%s is gone or changed' % p for p, x in FILES.items() if r.files.get(p, (0, 0, 0, 0))[2:] != x[2:]}


FILES = {}


def one(args):
    base, map_, work, seed = args
    vol, out = '%s/%d.img' % (work, seed), '%s/%d.map' % (work, seed)
    subprocess.run(['cp', '--sparse=always', base, vol], check=True)
    ntfsfx.mutate(vol, seed, 1 + seed % 6)
    before, bad = content(vol), []
    for argv in (['info', vol], ['show', vol, '--image', IMAGE], ['verify', vol, '--map', map_],
                 ['map', vol, '--output', out, '--no-host-map'],
                 ['create', vol, '--size', '8M', '--image', '/other.disk', '--dry-run'],
                 ['create', vol, '--size', '8M', '--image', '/other.disk', '--no-host-map', '--map', out, '--force-state', 'dirty'],
                 ['remove', vol, '--image', IMAGE, '--yes']):
        what = 'seed %d: %s' % (seed, ' '.join(argv[:1] + argv[2:]))
        if os.path.exists(out):
            os.unlink(out)
        status, stdout, stderr = run(*argv)
        after = content(vol)
        if status not in (0, 1, 3):
            bad.append('%s: exit status %s: %s' % (what, status, stderr[-600:]))
        if status in (1, 3) and argv[0] != 'verify' and not stderr:
            bad.append('%s: exit status %d without a word' % (what, status))
        if after == before:
            continue
        writes = argv[0] == 'remove' or argv[0] == 'create' and '--dry-run' not in argv
        if not writes or status != 0:
            # data goes into free clusters before the commit: only what was allocated counts
            if not writes or changed_outside_free(before, after):
                bad.append('%s: exit status %s, and the volume changed: %s' % (what, status, stderr[-300:]))
        else:
            more = complaints(after) - complaints(before)
            more = {x for x in more if not x.startswith(('/ubuntu', "folder '/ubuntu"))}
            if more:
                bad.append('%s: done, and the volume is worse: %s' % (what, sorted(more)[:3]))
            if argv[0] == 'create':
                v = run('verify', vol, '--map', out)
                if v[0] != 0 and 'unsettled' not in v[1]:
                    bad.append('%s: done, but verify: %s %s' % (what, v[1], v[2]))
        before = after
    for x in (vol, out):
        if os.path.exists(x):
            os.unlink(x)
    return bad


def changed_outside_free(before, after):
    try:
        v = ntfscheck.nt.Volume(before)
        at = 0
        for lcn, n in v.free_runs() + [(len(before), 0)]:
            end = min(lcn * v.cluster, len(before))
            if before[at:end] != after[at:end]:
                return True
            at = (lcn + n) * v.cluster
        return False
    except Exception:  # pylint: disable=broad-except
        return True


def main():
    base, map_, work = sys.argv[1:4]
    FILES.update(ntfscheck.check(content(base)).files)
    for p in [p for p in FILES if p.startswith('/ubuntu')]:
        del FILES[p]
    bad, n = [], 0
    with multiprocessing.get_context('fork').Pool(2) as pool:
        for x in pool.imap(one, [(base, map_, work, int(s)) for s in sys.argv[4:]], chunksize=4):
            bad += x
            n += 1
    print('%d volumes' % n)
    for x in bad[:30]:
        print(x)
    sys.exit(1 if bad or not n else 0)


if __name__ == '__main__':
    main()
