#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs 'wubi-disk grow' under faultshim once for every operation, and asks of what is left: is the file the old one or the new
one, whole, and does the map that is there lead to it?

growrun.py MODE[,MODE]... HOW
  MODE   kill eio signal   a fault at operation k, for every k (signal: SIGINT and SIGTERM in turn)
         replay            the log of one run, at every flush and at random subsets of the writes since
         planted           the log without its flushes: the checks must find something (negative control)
  HOW    in-place more-extents relocate swap
The volume: 224 MiB, as faultrun.py fills it; the image: 32 MiB with random bytes in it, 44 MiB afterwards. WUBI_DISK, FAULTSHIM
and WORK come from the environment.
"""
import argparse
import json
import mmap
import multiprocessing
import os
import random
import shutil
import signal
import struct
import sys

import faultrun as fr
import ntfscheck
import ntfslib as nt
import ntfsfx

OLD, NEW = 32 << 20, 44 << 20
VOLUME = 224 << 20
LEADS = ('match', 'grown', 'moved')


class Grow:
    """The volume before, and what shall become of it."""

    def __init__(self, how):
        self.how = how
        self.name = 'swap' if how == 'swap' else 'root'
        self.image = '/ubuntu/disks/%s.disk' % self.name
        path, self.map = fr.WORK + '/base.img', fr.WORK + '/base.map'
        fr.make_volume(path, VOLUME)
        done = fr.sh(fr.DISK, 'create', path, '--name', self.name, '--size', str(OLD), '--fs', 'swap' if how == 'swap' else 'ext4',
                     '--map', self.map)
        if done.returncode:
            raise RuntimeError('create: %s' % done.stderr.decode(errors='replace'))
        self._surround(path)
        v = nt.Volume.open(path, True)
        self.record = v.find(self.image)
        _, lcn, n = list(v.stream_runs(self.record, nt.DATA))[0]
        at = lcn * v.cluster + (20 << 20)
        v.b[at:at + (4 << 20)] = random.Random(3).randbytes(4 << 20)
        v.b.flush()
        self.base = fr.Base(path)
        self.content = self.base.bytes[lcn * v.cluster:lcn * v.cluster + OLD]
        with open(self.map, 'rb') as f:
            self.old_map = f.read()

    def _surround(self, path):
        """Other files, which ntfs-3g strews over the volume, but not right behind the image, nor where it can be moved to."""
        behind = 5 << 20 if self.how == 'more-extents' else NEW - OLD
        ntfsfx.wall_behind(path, self.image, 0, behind, 'behind')
        free = max(nt.Volume.open(path).free_runs(), key=lambda run: run[1])
        ntfsfx.fill(path, 'elsewhere', [(free[0], (NEW + (1 << 20)) // 4096)])
        if self.how == 'more-extents':
            ntfsfx.wall_behind(path, '/behind0', 0, 1 << 20)
        fr.with_ntfs3g(path, fr.WORK + '/mnt-base', 'rw', lambda m: fr.populate(m, 'plain'))
        for name in ('/behind0', '/elsewhere0'):
            ntfsfx.free_wall(path, name)

    def argv(self, vol, map_):
        more = {'more-extents': ['--max-extents', '2'], 'relocate': ['--relocate']}.get(self.how, [])
        return [fr.DISK, 'grow', vol, '--map', map_, '--size', str(NEW), '--yes'] + more

    def run(self, vol, map_, mode, **env):
        e = dict(os.environ, LD_PRELOAD=fr.SHIM, FAULT_TARGET=vol, FAULT_MODE=mode,
                 **{'FAULT_' + k.upper(): str(x) for k, x in env.items()})
        return fr.sh(*self.argv(vol, map_), env=e, timeout=120)

    def is_ours(self, path):
        return path.lower().startswith('/ubuntu/disks/%s.' % self.name)

    def others(self, r):
        """Everything that is not ours is as it was."""
        out = list(r.errors)
        old = {p: x for p, x in self.base.report.files.items() if not self.is_ours(p)}
        for path, was in old.items():
            now = r.files.get(path)
            if now is None:
                out.append('%s is gone' % path)
            elif now[2:] != was[2:]:
                out.append('%s has other content' % path)
            elif was[0] in r.owner_unset:
                out.append('%s: %d of its clusters are marked free' % (path, r.owner_unset[was[0]]))
        out += [x for x in r.loose if any(x.startswith(p + ':') for p in old) and 'out of order' not in x]
        return out + ['system record %d: clusters marked free' % n for n in range(nt.FILE_MFT, 16) if n in r.owner_unset]

    def own(self, buf, r):
        """The image is there, of the old size or the new, with the old bytes in front, and has its clusters."""
        if self.image not in r.files or r.files[self.image][0] != self.record:
            return ['%s is gone, or another' % self.image]
        sizes = nt.Volume(buf).attr(self.record, nt.DATA).sizes()
        c = self.base.cluster
        data = b''.join(buf[lcn * c:(lcn + n) * c] for lcn, n in r.runs[self.record])
        out = []
        if sizes not in ((OLD,) * 3, (NEW,) * 3) or len(data) != sizes[1]:
            out.append('sizes %r, %d bytes in runs' % (sizes, len(data)))
        if self.record in r.owner_unset:
            out.append('%d clusters of the image are marked free' % r.owner_unset[self.record])
        skip = 4096 if self.how == 'swap' else 0  # its header has the size
        if data[skip:OLD] != self.content[skip:]:
            out.append('the image has other bytes')
        return out

    def findings(self, buf):
        try:
            r = ntfscheck.check(buf, skip=(self.image,))
        except (nt.Corrupt, struct.error, IndexError) as e:
            return ['cannot be read: %r' % e], True
        out = self.others(r) + self.own(buf, r)
        if not r.dirty and not ntfscheck.sound(r):
            out.append('not marked dirty, but: %s' % (r.errors + r.loose + ['%d leaks' % r.leaks, repr(r.owner_unset)])[:4])
        return out, r.dirty or bool(r.mirror)  # chkdsk is due: the mark is set, or about to be, or half cleared

    def verdict(self, vol, map_):
        said = json.loads(fr.sh(fr.DISK, 'verify', vol, '--map', map_, '--json').stdout)
        return said.get('verdict') or said['message']

    def leads(self, vol, map_, dirty):
        """The old map, and the one that is there, lead to the image, after chkdsk if that is due."""
        if dirty:
            said = self.verdict(vol, self.map)
            if said != 'unsettled' and '$MFTMirr differ' not in said:
                return ['chkdsk is due, and verify says %s' % said]
            fr.sh('ntfsfix', vol)
            ntfsfx.clear_dirty(vol)
        out = []
        for m in (self.map, map_):
            got = self.verdict(vol, m)
            if got not in LEADS:
                out.append('%s is %s' % ('the map of before' if m == self.map else 'the map that is there', got))
        with open(map_, 'rb') as f:
            now = f.read()
        if now != self.old_map and self.verdict(vol, map_) != 'match':
            out.append('the new map does not match')
        return out


def go_on(job, vol, map_):
    """The same command again, on a volume that is settled, comes to the same end."""
    again = fr.sh(*job.argv(vol, map_), timeout=120)
    if again.returncode:
        return ['a second run: exit %d: %s' % (again.returncode, again.stderr.decode(errors='replace'))]
    with open(vol, 'rb') as f:
        out = ['after a second run: ' + x for x in job.findings(f.read())[0]]
    if job.verdict(vol, map_) != 'match':
        out.append('after a second run: no match')
    return out


def look(job, mode, k, first, p, vol, map_):
    text = p.stderr.decode(errors='replace')
    with open(vol, 'rb') as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
        moved = job.base.changed(m)
        out, dirty = job.findings(m)
    early = k < first if mode == 'signal' else k <= first
    if early and moved and not (mode == 'signal' and p.returncode == 0):
        out.append('before the commit, yet bytes %d..%d changed' % moved)
    with open(map_, 'rb') as f:
        map_changed = f.read() != job.old_map
    if map_changed and moved is None:
        out.append('a new map, and no new file')
    want = {'eio': (1,), 'kill': (-signal.SIGKILL,), 'signal': (0, 4)}[mode]
    if p.returncode not in want:
        out.append('exit status %d, not %r: %s' % (p.returncode, want, text))
    if p.returncode == 4 and moved:
        out.append('exit 4 after a change')
    out += job.leads(vol, map_, dirty)
    if not dirty:
        out += go_on(job, vol, map_)
    return out


def fault_at(job, mode, k, first, total):
    vol, map_ = (fr.WORK + '/%s-%d.%s' % (mode, k, x) for x in ('img', 'map'))
    job.base.copy_to(vol)
    shutil.copy(job.map, map_)
    p = job.run(vol, map_, mode, at=k, signal=int((signal.SIGINT, signal.SIGTERM)[k % 2]))
    out = look(job, mode, k, first, p, vol, map_)
    for x in os.listdir(fr.WORK):
        if x.startswith(os.path.basename(vol)[:-3]):
            if x.startswith(os.path.basename(map_) + '.') and mode != 'kill':
                out.append('left behind: %s' % x)
            os.unlink(fr.WORK + '/' + x)
    return ['%s at operation %d of %d (commit from %d): %s' % (mode, k, total, first, x) for x in out]


def ops_of(job):
    vol, map_, log, count = (fr.WORK + '/whole.' + x for x in ('img', 'map', 'log', 'count'))
    for x in (log, count):
        if os.path.exists(x):
            os.unlink(x)
    job.base.copy_to(vol)
    shutil.copy(job.map, map_)
    p = job.run(vol, map_, 'count', log=log, count=count)
    if p.returncode:
        raise RuntimeError('undisturbed run: exit %d: %s' % (p.returncode, p.stderr.decode(errors='replace')))
    with open(vol, 'rb') as f:
        buf = f.read()
    wrong = job.findings(buf)[0] + job.leads(vol, map_, False)
    if wrong or nt.Volume(buf).attr(job.record, nt.DATA).sizes()[1] != NEW:
        raise RuntimeError('undisturbed run: %s' % wrong)
    ops = fr.read_log(log)
    first = next(k for k, (op, off, x) in enumerate(ops, 1)
                 if op in 'WZ' and job.base.touches_metadata(off, len(x) if op == 'W' else x))
    os.unlink(vol)
    return ops, first


JOB = None


def _worker(args):
    try:
        return fault_at(JOB, *args)
    except Exception as e:  # pylint: disable=broad-except
        return ['%s at operation %d: %r' % (args[0], args[1], e)]


def every(job, mode):
    global JOB
    JOB = job
    ops, first = ops_of(job)
    work, bad = [(mode, k, first, len(ops)) for k in range(1, len(ops) + 1)], []
    with multiprocessing.get_context('fork').Pool(fr.WORKERS) as pool:
        for x in pool.imap(_worker, work, chunksize=4):
            bad += x
    return bad, '%s %s: %d operations, commit from %d on' % (mode, job.how, len(ops), first)


def put(job, state, vol):
    """The state in memory as a file; the base's own bytes lie there already."""
    with open(vol, 'r+b') as f:
        for o in range(0, len(state.b), 1 << 16):
            if state.b[o:o + 65536] != os.pread(f.fileno(), 65536, o):
                os.pwrite(f.fileno(), state.b[o:o + 65536], o)


def replay(job, planted):
    ops, _ = ops_of(job)
    state, bad, states = fr.State(job.base), [], 0
    vol = fr.WORK + '/replay.img'
    job.base.copy_to(vol)
    for number, epoch in enumerate(fr.epochs_of(ops, planted), 1):
        touches = any(job.base.touches_metadata(o[1], len(o[2]) if o[0] == 'W' else o[2]) for o in epoch)
        picks = fr.subsets(len(epoch), random.Random(number), 24) if touches else []
        for pick in picks + [list(range(len(epoch)))] if touches else []:
            undo = []
            for i in pick:
                state.apply(epoch[i], undo)
            states += 1
            wrong, dirty = job.findings(state.b)
            if states % 4 == 0 and not planted:
                put(job, state, vol)
                wrong += job.leads(vol, job.map, dirty)
            bad += ['epoch %d, writes %s: %s' % (number, pick, x) for x in wrong]
            state.undo(undo)
        for op in epoch:
            state.apply(op)
    return bad, '%s %s: %d states' % ('planted' if planted else 'replay', job.how, states)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('modes')
    a.add_argument('how', choices=('in-place', 'more-extents', 'relocate', 'swap'))
    opts = a.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs have it ignored
    os.makedirs(fr.WORK, exist_ok=True)
    job, failed = Grow(opts.how), False
    for mode in opts.modes.split(','):
        bad, summary = replay(job, mode == 'planted') if mode in ('replay', 'planted') else every(job, mode)
        print(summary)
        if mode == 'planted':
            print('%d findings, as there must be: %s' % (len(bad), bad[:1]))
            failed = failed or not bad
            continue
        for x in bad[:40]:
            print(x)
        failed = failed or bool(bad)
    shutil.rmtree(fr.WORK, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
