# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of dm-log-writes, and the states of the disk that a power cut can leave.

What the kernel's target logs, and when (drivers/md/dm-log-writes.c; format and order, Linux 6.1):

- A plain write is held back when it completes. A flush takes with it, when it is submitted, all that had completed until then;
  when the flush completes, these writes and then the flush come into the log. So the plain writes that stand right before a flush,
  its group, are the ones that it made durable, and nobody knows when between two flushes each of them completed.
- A FUA write comes into the log when it completes: durable from there on.
- A mark comes into the log when it is made. What the witness says in it had happened before.
- When the device goes, what nobody flushed comes last, with no flush behind it.

The rule of what a cut may leave, and what has to be there then. Let E be a flush or a FUA write of the log, or its beginning, and N the
next flush or FUA write, in the log's order, which is the order in which they completed.

1. Without the cache. The disk is what all up to E left: each FUA write, and the groups of all flushes. This is possible at any moment
   from E's completion until N's, for a disk that forgets its whole cache. So all marks before N must hold: at the moment right before N
   completed they all had been made, and the disk could be this.
2. With a part of the cache. N is a flush with a group. The disk is as in 1, and any subset of N's group is there, too: all of them had
   completed, none had been flushed, until N completed. So again all marks before N must hold, for every subset. No subset is
   combined with an earlier E: a write of the group may have been submitted because a FUA write before it was durable.

States that are not made: writes of a later group that were on their way when N was submitted, and a write of which only some sectors arrived.
So nothing is made that a disk could not be, and a failure is one.

'Before N completed' is taken as the last mark in the log before N: the witness makes one every 10 ms, also while a call is blocked.
An age by it is never too large.

One thing is assumed: flushes complete in the order in which they were submitted, else a group could stand behind a flush that covered
it. That holds for a guest with one processor, no preemption and one queue, as user-mode Linux is.
"""
import contextlib
import mmap
import os
import struct

FLUSH, FUA, DISCARD, MARK, METADATA = 1, 2, 4, 8, 16
MAGIC = 0x6a736677736872
SECTOR = 512


class LogError(Exception):
    pass


class Entry:
    __slots__ = ('flags', 'sector', 'sectors', 'data', 'text')

    def __init__(self, flags, sector, sectors, data, text):
        self.flags, self.sector, self.sectors, self.data, self.text = flags, sector, sectors, data, text

    def is_plain(self):
        return not self.flags & (FLUSH | FUA | MARK)

    def is_page_of_a_file(self):
        return self.is_plain() and not self.flags & METADATA

    def writes(self):
        return self.sectors > 0 and not self.flags & (MARK | DISCARD)


class Cut:
    """A state: all up to the event 'after', and of the next flush's group the writes 'subset' (indexes of entries); what was told
    until then: the last operation that had returned, and the time."""

    def __init__(self, after, subset, acked, ms, name):
        self.after, self.subset, self.acked, self.ms, self.name = after, subset, acked, ms, name


class Log:
    def __init__(self, path):
        with open(path, 'rb') as f:
            self.bytes = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, count, unit = struct.unpack_from('<QQQI', self.bytes, 0)
        if magic != MAGIC or version != 1:
            raise LogError('no log of dm-log-writes, or of another version')
        self.entries = list(self._entries(count, unit))
        if not self.entries or self.entries[-1].text != 'dm-log-writes-end':
            raise LogError('the log does not end with the mark of its end: the device was not removed, or was too small')
        self._digest()

    def _entries(self, count, unit):
        at = unit
        for _ in range(count):
            sector, sectors, flags, length = struct.unpack_from('<QQQQ', self.bytes, at)
            text = self.bytes[at + 32:at + 32 + length].decode() if flags & MARK else ''
            at += unit
            yield Entry(flags, sector * unit // SECTOR, sectors * unit // SECTOR, at, text)
            if not flags & DISCARD:
                at += sectors * unit

    def _digest(self):
        """events: the indexes of flushes and FUA writes, and the end; told[i]: (operation, ms) of the marks before entry i."""
        acked, ms, self.start = 0, 0, None
        self.events, self.told = [-1], []
        for i, entry in enumerate(self.entries):
            self.told.append((acked, ms))
            if entry.flags & (FLUSH | FUA):
                self.events.append(i)
            elif entry.flags & MARK and entry.text[1:2] == ':':
                kind, seq, when = entry.text.split(':')
                ms = int(when)
                if kind == 'A':
                    acked = int(seq)
                elif kind == 'S':
                    self.start = i
        self.events.append(len(self.entries) - 1)
        if self.start is None:
            raise LogError("the witness' start is not in the log")

    def write_spans(self):
        return [(e.sector, e.sectors) for e in self.entries if e.sectors and not e.flags & MARK]

    def group(self, k):
        """The plain writes between the events k and k + 1: the group of a flush, or what nobody flushed, at the end."""
        entries = self.entries
        return [i for i in range(self.events[k] + 1, self.events[k + 1]) if entries[i].is_plain() and entries[i].writes()]

    def places(self):
        """The events behind which a cut is worth making. The next one must be behind the start, and must change the disk: if it is a
        flush of nothing, the cut behind that is the same disk, and more has been told."""
        events, entries = self.events, self.entries
        return [k for k in range(len(events) - 1) if events[k + 1] > self.start and
                (k == len(events) - 2 or entries[events[k + 1]].writes() or self.group(k))]

    def _cut(self, k, subset, how):
        acked, ms = self.told[self.events[k + 1]]
        return Cut(k, subset, acked, ms, 'event %d of %d, %s' % (k, len(self.events) - 2, how))

    def _bare(self, k):
        return self._cut(k, [], 'nothing of the cache')

    def at_stake(self, places, count):
        """Where most bytes, and where most time lie before the next event."""
        count //= 2
        return sorted(places, key=lambda k: -sum(self.entries[i].sectors for i in self.group(k)))[:count] + \
            sorted(places, key=lambda k: self.told[self.events[k]][1] - self.told[self.events[k + 1]][1])[:count]

    def bare_cuts(self, count, rng):
        """Without the cache: half where most is at stake, half over the whole length; None: everywhere."""
        places = self.places()
        if count is None:
            return [self._bare(k) for k in places]
        stakes = self.at_stake(places, count // 2)
        spread = count - len(stakes)
        return [self._bare(k) for k in sorted(stakes + [places[int((i + rng.random()) * len(places) / spread)] for i in range(spread)])]

    def partial_cuts(self, count, rng):
        """With a random subset of what is in the cache, over the whole length."""
        places = [k for k in self.places() if self.group(k)]
        cuts = []
        for i in range(count if places else 0):
            k = places[int((i + rng.random()) * len(places) / count)]
            share, group = rng.choice((0.1, 0.5, 0.9)), self.group(k)
            subset = [x for x in group if rng.random() < share]
            cuts.append(self._cut(k, subset, '%d of the %d writes in the cache' % (len(subset), len(group))))
        return cuts

    def cuts(self, count, rng, everywhere=False):
        """As many cuts, half of them without the cache, in the order of the log. 'everywhere': each without, and 'count' with a part."""
        partial = count if everywhere else count // 2
        cuts = self.bare_cuts(None if everywhere else count - partial, rng) + self.partial_cuts(partial, rng)
        return sorted(cuts, key=lambda cut: cut.after)


class Disk:
    """The volume as it is behind one event after the other: cuts have to come in the order of the log."""

    def __init__(self, log, base, path):
        self.log, self.path, self.at = log, path, 0
        with open(base, 'rb') as src, open(path, 'wb') as dst:
            os.truncate(path, os.fstat(src.fileno()).st_size)
            copy_range(src.fileno(), 0, dst.fileno(), 0, os.fstat(src.fileno()).st_size)

    def _apply(self, file, i):
        entry = self.log.entries[i]
        if entry.writes():
            file.seek(entry.sector * SECTOR)
            file.write(memoryview(self.log.bytes)[entry.data:entry.data + entry.sectors * SECTOR])

    def advance(self, k):
        end = self.log.events[k]
        if end < self.at - 1:
            raise LogError('cuts are not in order')
        with open(self.path, 'r+b') as file:
            for i in range(self.at, end + 1):
                self._apply(file, i)
        self.at = max(self.at, end + 1)

    @contextlib.contextmanager
    def with_subset(self, subset):
        """The file is closed meanwhile: wubi-disk looks at none that somebody has open for writing."""
        saved = []
        with open(self.path, 'r+b') as file:
            for entry in (self.log.entries[i] for i in subset):
                file.seek(entry.sector * SECTOR)
                saved.append((entry.sector * SECTOR, file.read(entry.sectors * SECTOR)))
            for i in subset:
                self._apply(file, i)
        yield
        with open(self.path, 'r+b') as file:
            for at, data in saved:
                file.seek(at)
                file.write(data)


def copy_range(src, src_at, dst, dst_at, length):
    """Holes stay holes."""
    end = src_at + length
    at = src_at
    while at < end:
        try:
            data = os.lseek(src, at, os.SEEK_DATA)
        except OSError:
            return
        if data >= end:
            return
        at = data
        stop = min(os.lseek(src, at, os.SEEK_HOLE), end)
        while at < stop:
            part = os.pread(src, min(stop - at, 1 << 22), at)
            if not part:
                raise LogError('the volume ends within an extent')
            os.pwrite(dst, part, dst_at + at - src_at)
            at += len(part)
