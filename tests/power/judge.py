# SPDX-License-Identifier: GPL-2.0-or-later
"""What a power cut cost: what the witness told (see witness.c) against the file system that is left.

The witness runs one call at a time, so 'told' is a number: all operations up to it had returned, and at most the next one had begun.
An operation is lost when the file system is as if it, or a later one on the same thing, had never been. One whose fsync returned, or an
earlier one on the same thing, must not be lost. A thing is a file; a slot of a file that is overwritten; the directory d/.
"""
import os
import re
import shutil
import subprocess
import zlib

SLOT = 4096
HEAD = re.compile(rb'wubi-record seq=(\d{10}) len=(\d{10}) crc=([0-9a-f]{8})\n')
RECORDS = ('seq', 'app', 'bulk')
NEW_NAME = ('mkdir', 'create', 'link')
NO_NAME = ('rmdir', 'unlink')


class Operation:
    __slots__ = ('seq', 'kind', 'object', 'off', 'len', 'sync', 'returned_ms')

    def __init__(self, fields):
        self.seq, self.kind, self.object = int(fields[1]), fields[3], fields[4]
        self.off, self.len, self.sync = int(fields[5]), int(fields[6]), fields[7]
        self.returned_ms = None

    def thing(self):
        if self.kind == 'over':
            return 'over', self.off
        return 'd/' if self.object.startswith('d/') else self.object


class Acks:
    """The file of the witness: operations[seq - 1]. A last line that was not finished is none."""

    def __init__(self, path):
        with open(path, encoding='ascii') as f:
            text = f.read()
        self.operations, self.acked, self.ms, self.started = [], 0, 0, False
        for line in text[:text.rfind('\n') + 1].splitlines():
            fields = line.split()
            if fields[0] == 'B':
                self.operations.append(Operation(fields))
                assert self.operations[-1].seq == len(self.operations), line
                continue
            self.ms = int(fields[2])
            if fields[0] == 'A':
                self.acked = int(fields[1])
                self.operations[self.acked - 1].returned_ms = self.ms
            elif fields[0] == 'S':
                self.started = True


class Verdict:
    def __init__(self):
        self.unclean = ''     # what e2fsck said, if the file system was not clean
        self.synced = []      # lost operations that must not be: their fsync, or a later one on the same thing, had returned
        self.lost = []        # all lost operations
        self.damaged = []     # things in a state that they never had
        self.torn = []        # files that a rename without fsync put in the place of others, without their data
        self.age_ms = self.bytes = 0


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, 'LC_ALL': 'C', 'E2FSCK_CONFIG': '/dev/null'})


def recover(image):
    """As a mount does: the journal is replayed, orphans are released; nothing else may be wrong. Returns what was."""
    done = run('e2fsck', '-p', image)
    if done.returncode not in (0, 1) or b'forced' in done.stdout:
        return done.stdout.decode(errors='replace') or 'e2fsck -p: status %d' % done.returncode
    done = run('e2fsck', '-fn', image)
    return done.stdout.decode(errors='replace') or 'e2fsck -fn: status %d' % done.returncode if done.returncode else ''


class Tree:
    """The files of the image, in a folder."""

    def __init__(self, image, folder):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        script = folder + '.debugfs'
        with open(script, 'w', encoding='ascii') as f:
            f.write('rdump / %s\n' % folder)
            f.writelines('ea_get -f %s/attr.%d.value /attr.%d user.witness\n' % (folder, i, i) for i in range(4))
        run('debugfs', '-f', script, image)
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def exists(self, name):
        return os.path.lexists(self.path(name))

    def read(self, name):
        try:
            with open(self.path(name), 'rb') as f:
                return f.read()
        except OSError:
            return b''

    def size(self, name):
        try:
            return os.stat(self.path(name)).st_size
        except OSError:
            return -1


def record_at(data, off, length=None):
    """The number of the operation whose record lies there, whole; None if there is none."""
    head = HEAD.match(data, off)
    if not head or (length is not None and int(head.group(2)) != length):
        return None
    end = off + int(head.group(2))
    if end > len(data) or zlib.crc32(memoryview(data)[off + 64:end]) != int(head.group(3), 16):
        return None
    return int(head.group(1))


class Judge:
    def __init__(self, acks, acked, ms, tree, verdict, calls_are_durable):
        self.tree, self.acked, self.ms, self.verdict, self.calls_are_durable = tree, acked, ms, verdict, calls_are_durable
        begun = acks.operations[:acked + 1]
        self.gone = {op.object for op in begun if op.kind in NO_NAME}
        self.by_thing = {}
        for op in begun:
            self.by_thing.setdefault(op.thing(), []).append(op)
        self.synced = {}      # the last operation of a thing that an fsync covers
        self.all_synced = max((op.seq for op in begun[:acked] if op.sync == 's'), default=0)
        for op in begun[:acked]:
            if op.sync != '-':
                self.synced['over' if op.kind == 'over' else op.thing()] = op.seq

    def synced_until(self, op):
        return max(self.synced.get('over' if op.kind == 'over' else op.thing(), 0), self.all_synced)

    def lose(self, op, length=0):
        v = self.verdict
        v.lost.append(op)
        if op.seq <= self.synced_until(op):
            v.synced.append(op)
        v.age_ms = max(v.age_ms, self.ms - op.returned_ms)
        v.bytes += length

    def damage(self, thing, ops, why):
        """Not even one of its states: all of its operations are lost."""
        self.verdict.damaged.append('%s: %s' % (thing, why))
        for op in ops:
            if op.seq <= self.acked:
                self.lose(op)

    def replaced(self, thing, ops):
        """ext4 starts to write the data of a file that is renamed over another, but the commit of the rename does not wait for it (with
        dioread_nolock, its default since Linux 5.6): a cut in between leaves a file of the right size without its data. Who wants the one or
        the other calls fsync before rename. It is counted; an operation with an fsync must not be one of these, nor any on a synchronous mount."""
        data = self.tree.read(thing)
        found = record_at(data, 0, len(data) or None)
        begun_without = [op for op in ops if op.sync == '-' and op.len == self.tree.size(thing) and op.seq > self.synced_until(ops[0])]
        if found is None and begun_without and not self.calls_are_durable:
            self.verdict.torn.append(begun_without[-1])
            found = begun_without[-1].seq - 1
            for op in ops:
                if found < op.seq <= self.acked:
                    self.lose(op, op.len)
        else:
            self.versions(thing, ops, found, lambda op: op.len)

    def versions(self, thing, ops, found, length):
        """The operation 'found' is what is there: later ones are lost."""
        if found is None or (found and found not in [op.seq for op in ops]):
            self.damage(thing, ops, 'no state that it ever had (%s)' % found)
            return
        lost = [op for op in ops if found < op.seq <= self.acked]
        for op in lost:
            self.lose(op, length(op) if op is lost[-1] else 0)

    def records(self, name, ops):
        writes = [op for op in ops if op.kind in RECORDS]
        removal = [op for op in ops if op.kind in NO_NAME and op.seq <= self.acked]
        if removal and self.tree.exists(name):
            self.lose(removal[0])
        if name in self.gone:
            return
        data = self.tree.read(name)
        for op in writes:
            if op.seq <= self.acked and record_at(data, op.off, op.len) != op.seq:
                self.lose(op, op.len)

    def slots(self):
        data = self.tree.read('over')
        for thing, ops in self.by_thing.items():
            if thing[0] == 'over':
                self.versions('over at %d' % thing[1], ops, record_at(data, thing[1], SLOT), lambda op: op.len)

    def names(self, ops):
        by_name = {}
        for op in ops:
            by_name.setdefault(op.object, []).append(op)
        for name, history in by_name.items():
            there = self.tree.exists(name)
            returned = [op for op in history if op.seq <= self.acked]
            if there and len(returned) == 2:
                self.lose(returned[1])
            elif not there and len(history) == 1 and returned:
                self.lose(returned[0])

    def everything(self):
        for thing, ops in self.by_thing.items():
            kind = ops[0].kind
            if thing == 'd/':
                self.names(ops)
            elif kind in RECORDS:
                self.records(thing, ops)
            elif kind == 'ren':
                self.replaced(thing, ops)
            elif kind in ('shrink', 'grow'):
                size = self.tree.size(thing)
                self.versions(thing, ops, next((op.seq for op in ops if op.len == size), 0 if size == 131072 else None), lambda op: 0)
            elif kind == 'xattr':
                value = self.tree.read(thing + '.value')
                found = re.match(rb'seq=(\d{10})x*$', value)
                self.versions(thing, ops, int(found.group(1)) if found else None, lambda op: 0)
        self.slots()


def judge(image, folder, acks, acked, ms, calls_are_durable):
    """Of an image, which it changes, after a cut when 'acked' operations had returned, at 'ms'."""
    verdict = Verdict()
    verdict.unclean = recover(image)
    Judge(acks, acked, ms, Tree(image, folder), verdict, calls_are_durable).everything()
    return verdict
