#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs wubi-disk under faultshim once for every operation, and looks at what is left of the volume.

faultrun.py MODE[,MODE]... VERB [--no-host-map] [--layout NAME] [--fs TYPE]
  MODE   eio kill dead signal   a fault at operation k, for every k (signal: SIGINT and SIGTERM in turn)
         replay                 the log of one run, at every flush and at random subsets of the writes since
         planted                the log without its flushes: the checks must find something (negative control)
  VERB   create remove rescue (in place, of an image that was emptied, or deleted: --layout deleted)
The volume: 128 MiB, a big folder, nested folders, a fragmented file; the image: 32 MiB. WUBI_DISK, FAULTSHIM and WORK (a
folder, best on tmpfs) come from the environment. Prints a summary line; exit 1 with each finding on a line.
"""
import argparse
import hashlib
import mmap
import multiprocessing
import os
import random
import shutil
import signal
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'fixtures')]
import ntfscheck  # noqa: E402
import ntfsfx  # noqa: E402
import ntfslib as nt  # noqa: E402

DISK = os.environ['WUBI_DISK']
SHIM = os.environ['FAULTSHIM']
WORK = os.environ['WORK']
IMAGE, SIZE = '/ubuntu/disks/root.disk', 32 << 20
OURS = ('/ubuntu/', '/ubuntu')
WORKERS = 2


def sh(*argv, **kw):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


# The volume that all runs start from

def with_ntfs3g(img, where, options, work):
    """Mounts by ntfs-3g, calls work(folder), and returns only when the daemon has gone."""
    os.makedirs(where, exist_ok=True)
    r, w = os.pipe()
    p = subprocess.run(['ntfs-3g', '-o', options, img, where], pass_fds=(w,), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(w)
    if p.returncode:
        os.close(r)
        raise RuntimeError('ntfs-3g: ' + p.stderr.decode(errors='replace'))
    try:
        return work(where)
    finally:
        gone = subprocess.run(['umount', where], stderr=subprocess.PIPE)
        if gone.returncode:
            subprocess.run(['umount', '-l', where])
            os.close(r)
            raise RuntimeError('umount: ' + gone.stderr.decode(errors='replace'))
        os.read(r, 1)
        os.close(r)


def populate(m, layout):
    rnd = random.Random(7)

    def put(path, n):
        with open(m + path, 'wb') as f:
            f.write(rnd.randbytes(n))
    for d in ('/docs', '/docs/a', '/docs/a/b', '/docs/a/b/c', '/big'):
        os.mkdir(m + d)
    for i in range(220):
        put('/big/a file with a name of some length %04d' % i, 20 + i)
    for i in range(6):
        put('/docs/a/b/c/data%d' % i, 100000 + 4096 * i)
    put('/docs/small', 300)
    for i in range(24):  # a fragmented file: every other one of these goes
        put('/piece%02d' % i, 65536)
    for i in range(0, 24, 2):
        os.unlink(m + '/piece%02d' % i)
    put('/fragmented', 1 << 20)
    if layout == 'full-folder':
        os.makedirs(m + '/ubuntu/disks')
        for i in range(200):
            put('/ubuntu/disks/a file with a name of some length %04d' % i, 20)


def make_volume(path, size):
    with open(path, 'wb') as f:
        f.truncate(size)
    sh('mkntfs', '-F', '-Q', '-q', '-p', '2048', '-H', '255', '-S', '63', '-s', '512', '-c', '4096', path, check=True)


def make_base(path, layout):
    make_volume(path, 128 << 20)
    with_ntfs3g(path, WORK + '/mnt-base', 'rw', lambda m: populate(m, layout))
    empty = WORK + '/empty'
    open(empty, 'w').close()
    folder = {'full-root': '/', 'full-folder': '/ubuntu/disks/'}.get(layout)
    for n in range(200):  # files until create has to split an index block, or to make $MFT longer
        if layout in ('plain', 'deleted') or would_grow(path, folder):
            return
        name = 'v filler %04d' % n if layout == 'full-root' else 'r filler %04d' % n
        sh('ntfscp', '-q', '-f', path, empty, (folder or '/big/') + name, check=True)
    raise RuntimeError('layout %s: create never grows what it should' % layout)


def growth(path, folder):
    """What a layout wants to see grow: index blocks of a folder, or the records of $MFT."""
    v = nt.Volume.open(path)
    if folder is None:
        return v.mft_size
    return sum(bin(x).count('1') for x in v.stream(v.find(folder), nt.BITMAP, '$I30'))


def would_grow(path, folder):
    trial = WORK + '/trial.img'
    sh('cp', '--sparse=always', path, trial, check=True)
    p = sh(DISK, 'create', trial, '--size', '1M', '--fs', 'none')
    if p.returncode:
        raise RuntimeError('create: ' + p.stderr.decode(errors='replace'))
    grew = growth(trial, folder) > growth(path, folder)
    os.unlink(trial)
    return grew


class Base:
    """What is known of the volume before."""

    def __init__(self, path, lost=None):
        self.path, self.rescuing = path, lost is not None
        self.content, self.lost = lost or (None, [])
        with open(path, 'rb') as f:
            self.bytes = f.read()
        v = nt.Volume(self.bytes)
        self.cluster, self.end = v.cluster, v.clusters * v.cluster
        self.free = [(lcn * v.cluster, (lcn + n) * v.cluster) for lcn, n in v.free_runs()]
        self.kept, at = [], 0
        for a, b in self.free + [(len(self.bytes), len(self.bytes))]:
            if a > at:
                self.kept.append((at, a))
            at = b
        self.report = ntfscheck.check(self.bytes)
        if not ntfscheck.sound(self.report):
            raise RuntimeError('the base is not sound: %r' % vars(self.report))
        self.data = self._data()
        o = v.mirr_lcn * v.cluster + nt.FILE_VOLUME * v.rec_size
        self.mirror_mark = (o, o + v.rec_size)

    def _data(self):
        """(offset, bytes) of what is not zero, for quick copies."""
        out, step = [], 1 << 16
        zero = bytes(step)
        for o in range(0, len(self.bytes), step):
            piece = self.bytes[o:o + step]
            if piece != zero[:len(piece)]:
                if out and out[-1][0] + len(out[-1][1]) == o:
                    out[-1] = (out[-1][0], out[-1][1] + piece)
                else:
                    out.append((o, piece))
        return out

    def copy_to(self, path):
        with open(path, 'wb') as f:
            f.truncate(len(self.bytes))
            for o, piece in self.data:
                os.pwrite(f.fileno(), piece, o)

    def changed(self, buf):
        """First allocated byte range (or one beyond the clusters) that is not as it was; None: all are."""
        for a, b in self.kept:
            if buf[a:b] != self.bytes[a:b]:
                return a, b
        return None

    def touches_metadata(self, off, n):
        return any(off < b and off + n > a for a, b in self.kept)


def is_ours(path):
    return path.lower().startswith(OURS) and 'some length' not in path


def old_map():
    """The map that rescue goes by; the base was made with it."""
    return WORK + '/base.map'


def findings(base, buf, removing=False):
    """What is wrong with a volume in this state. [] is as promised."""
    out = ['bytes of the image were written' for a, b in base.lost if buf[a:b] != base.bytes[a:b]]
    if base.changed(buf) is None and not removing:
        return out
    try:
        r = ntfscheck.check(buf, skip=(IMAGE,) if removing else ())
    except (nt.Corrupt, struct.error, IndexError) as e:
        return ['cannot be read: %r' % e]
    out += r.errors
    old = {p: x for p, x in base.report.files.items() if not ((removing or base.rescuing) and is_ours(p))}
    for path, was in old.items():
        now = r.files.get(path)
        if now is None:
            out.append('%s is gone' % path)
        elif now[2:] != was[2:]:
            out.append('%s has other content' % path)
        elif was[0] in r.owner_unset:
            out.append('%s: %d of its clusters are marked free' % (path, r.owner_unset[was[0]]))
    out += ['%s' % x for x in r.loose if any(x.startswith(p + ':') for p in old) and 'out of order' not in x]
    for n in range(nt.FILE_MFT, 16):
        if n in r.owner_unset:
            out.append('system record %d: clusters marked free' % n)
    if r.dirty:
        return out
    if not ntfscheck.sound(r):
        out.append('not marked dirty, but: %s' % (r.errors + r.loose + ['%d leaks' % r.leaks, repr(r.owner_unset)])[:4])
    img = {p.lower(): x for p, x in r.files.items()}.get(IMAGE)
    if removing:
        return out
    if img is not None:
        a = nt.Volume(buf).attr(img[0], nt.DATA)
        if base.rescuing and a.sizes() == (0, 0, 0):
            return out  # as before: only one copy of the mark is there
        if a.sizes() != (SIZE, SIZE, SIZE):
            out.append('not marked dirty, image sizes %r' % (a.sizes(),))
        elif base.rescuing and img[3] != base.content:
            out.append('not marked dirty, and the image has other content')
    elif [p for p in r.files if is_ours(p) and p not in base.report.files]:
        out.append('not marked dirty, and a part of it is there: %s' % [p for p in r.files if is_ours(p)])
    return out


def through_ntfs3g(base, path, where, removing=False):
    """ntfsfix, then every old file's bytes through ntfs-3g."""
    fixed = sh('ntfsfix', path)
    if fixed.returncode:
        return ['ntfsfix: exit %d: %s' % (fixed.returncode, fixed.stdout.decode(errors='replace')[-300:])]

    def look(m):
        out = []
        for p, was in base.report.files.items():
            if p.startswith('/$') or ((removing or base.rescuing) and is_ours(p)):
                continue
            try:
                if p.endswith('/'):
                    os.listdir(m + p)
                else:
                    with open(m + p, 'rb') as f:
                        if hashlib.sha256(f.read()).hexdigest() != was[3]:
                            out.append('through ntfs-3g, %s has other content' % p)
            except OSError as e:
                out.append('through ntfs-3g, %s: %s' % (p, e))
        return out
    try:
        return with_ntfs3g(path, where, 'ro', look)
    except RuntimeError as e:
        return [str(e)]


def lose_image(path, opts):
    """An image with something in it, emptied as by chkdsk or deleted; the sum of what was in it, and where that lies."""
    made = sh(DISK, 'create', path, '--size', str(SIZE), '--fs', opts.fs, '--max-extents', '4', '--map', old_map())
    if made.returncode:
        raise RuntimeError('create: ' + made.stderr.decode(errors='replace'))
    v, h, lost = nt.Volume.open(path), hashlib.sha256(), []
    rnd = random.Random(8)
    with open(path, 'r+b') as f:
        for _, lcn, n in v.stream_runs(v.find(IMAGE), nt.DATA):
            f.seek((lcn + n // 2) * v.cluster)
            f.write(rnd.randbytes(v.cluster))
            f.seek(lcn * v.cluster)
            h.update(f.read(n * v.cluster))
            lost.append((lcn * v.cluster, (lcn + n) * v.cluster))
    if opts.layout == 'deleted':
        with_ntfs3g(path, WORK + '/mnt-base', 'rw', lambda m: os.unlink(m + IMAGE))
    else:
        ntfsfx.emptied(path, IMAGE)
    return h.hexdigest(), lost


# One run

class Job:
    def __init__(self, base, opts):
        self.base, self.opts = base, opts
        self.removing = opts.verb == 'remove'
        self.rescuing = opts.verb == 'rescue'

    def argv(self, vol, map_):
        if self.removing:
            return [DISK, 'remove', vol, '--image', IMAGE, '--yes']
        if self.rescuing:
            return [DISK, 'rescue', vol, '--map', old_map(), '--in-place'] + (['--no-host-map'] if self.opts.no_host_map else [])
        return [DISK, 'create', vol, '--size', str(SIZE), '--map', map_, '--fs', self.opts.fs, '--max-extents', '4'] + (
            ['--no-host-map'] if self.opts.no_host_map else [])

    def run(self, vol, map_, mode, **env):
        e = dict(os.environ, LD_PRELOAD=SHIM, FAULT_TARGET=vol, FAULT_MODE=mode,
                 **{'FAULT_' + k.upper(): str(x) for k, x in env.items()})
        return sh(*self.argv(vol, map_), env=e, timeout=60)


def read_log(path):
    """(op, offset, data or length) in order."""
    out = []
    with open(path, 'rb') as f:
        while True:
            h = f.read(24)
            if not h:
                return out
            op, off, n = struct.unpack('<c7xQQ', h)
            out.append((op.decode(), off, f.read(n) if op == b'W' else n))


def ops_of(job, name):
    """Log of an undisturbed run, and the number of its first operation that touches metadata (from 1)."""
    vol, map_, log, count = (WORK + '/%s.%s' % (name, x) for x in ('img', 'map', 'log', 'count'))
    for p in (map_, log, count):
        if os.path.exists(p):
            os.unlink(p)
    job.base.copy_to(vol)
    p = job.run(vol, map_, 'count', log=log, count=count)
    if p.returncode:
        raise RuntimeError('undisturbed run: exit %d: %s' % (p.returncode, p.stderr.decode(errors='replace')))
    with open(vol, 'rb') as f:
        wrong = findings(job.base, f.read(), job.removing)
    if wrong:
        raise RuntimeError('undisturbed run: %s' % wrong)
    ops = read_log(log)
    with open(count, encoding='ascii') as f:
        n = int(f.read())
    if n != len(ops):
        raise RuntimeError('%d operations, %d in the log' % (n, len(ops)))
    first = next((k for k, (op, off, x) in enumerate(ops, 1)
                  if op in 'WZ' and job.base.touches_metadata(off, len(x) if op == 'W' else x)), n + 1)
    os.unlink(vol)
    return ops, first


def fault_at(job, mode, k, first, total, tag):
    """Runs with a fault at k and says what is wrong."""
    vol, map_ = WORK + '/%s-%s.img' % (tag, k), WORK + '/%s-%s.map' % (tag, k)
    out = []
    sig = (signal.SIGINT, signal.SIGTERM)[k % 2]
    job.base.copy_to(vol)
    p = job.run(vol, map_, mode, at=k, signal=int(sig))
    text = p.stderr.decode(errors='replace')
    with open(vol, 'rb') as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
        early = k < first if mode == 'signal' else k <= first
        moved = job.base.changed(m)
        if early and moved and not (mode == 'signal' and p.returncode == 0):
            out.append('before the commit, yet bytes %d..%d changed' % moved)
        whole = findings(job.base, m, job.removing)
        out += whole
    made = os.path.exists(map_)
    want = {'eio': 1, 'dead': 1, 'kill': -signal.SIGKILL}.get(mode)
    if mode == 'signal':
        want = 4 if early else 0
        # the request may come too late to be seen before the commit: then the run is complete
        if p.returncode == 0 and early and k + 2 >= first:
            want = 0
        if p.returncode == 4 and moved:
            out.append('exit 4 after a change')
    if p.returncode != want:
        out.append('exit status %d, not %d: %s' % (p.returncode, want, text))
    if want == 1 and vol not in text:
        out.append('the volume is not named: %s' % text)
    if mode == 'eio' and moved is None and 'marked dirty' in text:
        out.append('nothing changed, but it says marked dirty: %s' % text)
    if want == 1 and moved and 'chkdsk' not in text:
        out.append('a cut commit, and chkdsk is not named: %s' % text)
    if made and p.returncode != 0:
        out.append('a map was left')
    if want == 0 and not made and not (job.removing or job.rescuing):
        out.append('no map although it says done')
    if mode == 'kill' and early and not job.removing:
        again = sh(*job.argv(vol, map_))
        if again.returncode:
            out.append('a second run: exit %d: %s' % (again.returncode, again.stderr.decode(errors='replace')))
        with open(vol, 'rb') as f:
            out += ['after a second run: ' + x for x in findings(job.base, f.read())]
    elif mode == 'kill' and not job.removing:
        again = sh(*job.argv(vol, map_))
        if again.returncode != 3:
            out.append('a second run after a cut commit: exit %d, not a refusal: %s' % (
                again.returncode, again.stderr.decode(errors='replace')))
    if mode in ('kill', 'dead') and not early or k % 8 == 0 and mode != 'signal':
        out += through_ntfs3g(job.base, vol, WORK + '/mnt-%d' % os.getpid(), job.removing)
    for x in (vol, map_):
        if os.path.exists(x):
            os.unlink(x)
    for x in os.listdir(WORK):
        if x.startswith(os.path.basename(map_)):
            if mode != 'kill':
                out.append('left behind: %s' % x)
            os.unlink(WORK + '/' + x)
    return ['%s at operation %d of %d (commit from %d): %s' % (mode, k, total, first, x) for x in out]


JOB = None


def _worker(args):
    try:
        return fault_at(JOB, *args)
    except Exception as e:  # pylint: disable=broad-except
        return ['operation %d: %r' % (args[1], e)]


def every(job, mode):
    global JOB
    JOB = job
    ops, first = ops_of(job, 'count')
    n = len(ops)
    work = [(mode, k, first, n, mode) for k in range(1, n + 1)]
    bad = []
    with multiprocessing.get_context('fork').Pool(WORKERS) as pool:
        for x in pool.imap(_worker, work, chunksize=4):
            bad += x
    return bad, '%s: %d operations, commit from %d on' % (mode, n, first)


# Replay

class State:
    """The volume in memory; operations are put on and taken off again."""

    def __init__(self, base):
        self.b = bytearray(base.bytes)

    def apply(self, op, undo=None):
        kind, off, x = op
        if kind not in 'WZ':
            return
        data = x if kind == 'W' else bytes(x)
        if undo is not None:
            undo.append((off, bytes(self.b[off:off + len(data)])))
        self.b[off:off + len(data)] = data

    def undo(self, undo):
        for off, data in reversed(undo):
            self.b[off:off + len(data)] = data


def epochs_of(ops, planted):
    """Writes between flushes; planted: one epoch, as on a disk that swallows every flush."""
    out, now = [], []
    for op in ops:
        if op[0] == 'F' and not planted:
            out.append(now)
            now = []
        elif op[0] in 'WZ':
            now.append(op)
    return out + ([now] if now else [])


def subsets(n, rnd, many):
    if n <= 4:
        return [[i for i in range(n) if k >> i & 1] for k in range(1 << n)]
    picks = [[i for i in range(n) if i != k] for k in range(n)] if n <= 24 else []
    picks += [[k] for k in range(n)] if n <= 24 else []
    return picks + [sorted(rnd.sample(range(n), rnd.randrange(n + 1))) for _ in range(many)]


def replay(job, planted):
    ops, _ = ops_of(job, 'replay')
    state, bad, states = State(job.base), [], 0
    vol = WORK + '/replay.img'
    logged = 0
    for number, epoch in enumerate(epochs_of(ops, planted), 1):
        start, logged = logged, logged + len(epoch)
        touches = any(job.base.touches_metadata(o[1], len(o[2]) if o[0] == 'W' else o[2]) for o in epoch)
        picks = subsets(len(epoch), random.Random(1000 + number), 40 if planted else 24) if touches else []
        for pick in picks + [list(range(len(epoch)))]:
            undo = []
            for i in pick:
                state.apply(epoch[i], undo)
            states += 1
            wrong = findings(job.base, state.b, job.removing)
            if not planted and touches and (states % 6 == 0 or len(pick) == len(epoch)):
                with open(vol, 'wb') as f:
                    f.truncate(len(state.b))
                    for o, piece in job.base.data:
                        os.pwrite(f.fileno(), piece, o)
                    for o in range(0, len(state.b), 1 << 16):
                        if state.b[o:o + 65536] != job.base.bytes[o:o + 65536]:
                            os.pwrite(f.fileno(), state.b[o:o + 65536], o)
                wrong += through_ntfs3g(job.base, vol, WORK + '/mnt-%d' % os.getpid(), job.removing)
            bad += ['epoch %d (writes %d..%d), writes %s: %s' % (number, start, logged, pick, x) for x in wrong]
            state.undo(undo)
        for op in epoch:
            state.apply(op)
    return bad, '%s: %d epochs, %d states' % ('planted' if planted else 'replay', number, states)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('modes')
    a.add_argument('verb', choices=('create', 'remove', 'rescue'))
    a.add_argument('--no-host-map', action='store_true')
    a.add_argument('--layout', default='plain', choices=('plain', 'full-root', 'full-folder', 'full-mft', 'deleted'))
    a.add_argument('--fs', default='ext4')
    opts = a.parse_args()
    # a shell's background jobs have SIGINT ignored, and what is ignored stays so: here it is to arrive
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.makedirs(WORK, exist_ok=True)
    path = WORK + '/base.img'
    make_base(path, opts.layout)
    if opts.verb == 'remove':
        made = sh(DISK, 'create', path, '--size', str(SIZE), '--fs', opts.fs, '--max-extents', '4')
        if made.returncode:
            sys.exit('create: %s' % made.stderr.decode(errors='replace'))
    job, failed = Job(Base(path, lose_image(path, opts) if opts.verb == 'rescue' else None), opts), False
    for mode in opts.modes.split(','):
        bad, summary = replay(job, mode == 'planted') if mode in ('replay', 'planted') else every(job, mode)
        print(summary)
        if mode == 'planted':
            lost = [x for x in bad if ' is gone' in x]
            print('%d findings, as there must be: %s; %d lost files: %s' % (len(bad), bad[:1], len(lost), lost[:1]))
            failed = failed or not bad or opts.layout == 'full-root' and not lost
            continue
        for x in bad[:40]:
            print(x)
        if len(bad) > 40:
            print('... and %d more' % (len(bad) - 40))
        failed = failed or bool(bad)
    shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
