# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk as a power cut leaves it in the middle of an installation, from QEMU's log of its writes and flushes.

The format is that of dm-log-writes, and so is the rule (tests/power/writelog.py): a cut leaves all that was flushed, and any part of
what was written since. QEMU logs a write when it has completed, and no marks: so a cut is named by its place in the log.
"""
import mmap
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'power'))
sys.path.insert(0, HERE)
import writelog  # noqa: E402
from disk import ESP_MIB, ESP_START, MIB, VOLUME_START, extents_of  # noqa: E402


class DiskLog(writelog.Log):
    """events: the indexes of flushes and FUA writes, and the end."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, count, unit = struct.unpack_from('<QQQI', self.bytes, 0)
        if magic != writelog.MAGIC or version != 1:
            raise writelog.LogError('no log of this format')
        self.entries = list(self._entries(count, unit))
        self.events = [-1] + [i for i, e in enumerate(self.entries) if e.flags & (writelog.FLUSH | writelog.FUA)]
        self.events.append(len(self.entries) - 1)


class Cut:
    """All up to the event 'after', and of the writes behind it those of 'subset' (indexes of entries)."""

    def __init__(self, log, after, random_part):
        self.after, self.total = after, len(log.events)
        group = log.group(after)
        rng = random.Random(after)
        self.subset = [i for i in group if rng.random() < 0.5] if random_part else []
        self.text = 'cut behind event %d of %d, with %d of the %d writes in the cache' % (after, self.total, len(self.subset), len(group))


def kind_of_write(entry, extents):
    at = entry.sector * 512
    if ESP_START <= at < ESP_START + ESP_MIB * MIB:
        return 'esp'
    return 'image' if any(VOLUME_START + start <= at < VOLUME_START + start + length for _, start, length in extents) else 'ntfs'


def kind_of(log, event, extents):
    """Where the next event's writes go: 'esp', 'ntfs' (outside the images), 'image'; '' if there are none."""
    entries = log.entries[log.events[event] + 1:log.events[event + 1] + 1]
    kinds = {kind_of_write(entry, extents) for entry in entries if entry.writes()}
    return next((kind for kind in ('esp', 'ntfs', 'image') if kind in kinds), '')


def last_write(log, kind, extents):
    """The index of the last entry that writes there."""
    return max(i for i, entry in enumerate(log.entries) if entry.writes() and kind_of_write(entry, extents) == kind)


def choose(log, map_file, count):
    """As many cuts, in the order of the log: a third each where NTFS itself, the EFI system partition and the image are written, over
    the whole length; every other one with a part of the cache."""
    extents = extents_of(map_file)
    places = {'esp': [], 'ntfs': [], 'image': []}
    for event in range(len(log.events) - 1):
        kind = kind_of(log, event, extents)
        if kind:
            places[kind].append(event)
    chosen = set()
    for number, kind in enumerate(('ntfs', 'esp', 'image')):
        share = (count - len(chosen)) // (3 - number)
        events = places[kind]
        chosen.update(events[i * len(events) // share] for i in range(min(share, len(events))))
    return [Cut(log, event, number % 2 == 1) for number, event in enumerate(sorted(chosen))]


def rebuild(log, base, cut, path):
    """Writes the disk to path."""
    disk = writelog.Disk(log, base, path)
    disk.advance(cut.after)
    with open(path, 'r+b') as file:
        for i in cut.subset:
            disk._apply(file, i)  # pylint: disable=protected-access
