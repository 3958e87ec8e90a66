#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An independent reader of a whole NTFS volume: ntfscheck.py IMAGE prints one JSON value, exit 1 when it found errors.

Looks at every MFT record, run list, directory index and at both bitmaps, and hashes every file that a directory leads to.
"""
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fixtures'))
import ntfslib as nt  # noqa: E402
from ntfslib import u16, u32, u64  # noqa: E402

SYSTEM_RECORDS = 16
EXTEND = 11 # $Extend: its children have indexes, no data


class Report:
    def __init__(self):
        self.dirty = False
        self.mirror = []      # records 0..3 that differ from $MFTMirr
        self.errors = []      # what may never be, whatever the dirty mark says
        self.loose = []       # what chkdsk mends on a marked volume; path or record named
        self.leaks = 0        # clusters in use that nobody owns
        self.files = {}       # path -> (record, sequence, size, sha256)
        self.owner_unset = {} # record -> clusters of it that are marked free
        self.runs = {}        # record -> [(lcn, n)] of the unnamed data


def _records(v, r):
    """All in-use base records -> list of attributes; notes unreadable ones."""
    out = {}
    for n in range(v.record_count()):
        raw = v.raw_record(n)
        if raw[:4] != b'FILE':
            if raw[:4] not in (b'\0\0\0\0',):
                r.loose.append('record %d: magic %r' % (n, raw[:4]))
            continue
        if not u16(raw, 22) & 1:
            continue
        try:
            rec = v.record(n)
        except nt.Corrupt as e:
            r.errors.append('record %d: %s' % (n, e))
            continue
        if u64(rec, 32) & nt.REF_MASK:
            out[n] = None  # an extent record: counted in use, its attributes belong to the base
            continue
        try:
            out[n] = v.attrs(n)
        except nt.Corrupt as e:
            r.errors.append('record %d: %s' % (n, e))
    return out


def _ownership(v, r, records):
    """Run lists against each other and against $Bitmap."""
    owned = []
    for n, attrs in records.items():
        for a in attrs or ():
            if not a.nonres:
                continue
            try:
                runs = a.runs()
            except nt.Corrupt as e:
                r.errors.append('record %d attribute 0x%x: %s' % (n, a.type, e))
                continue
            for _, lcn, c in runs:
                if lcn is None:
                    continue
                if lcn < 0 or lcn + c > v.clusters:
                    # the backup boot sector's cluster is $Boot's on no volume that mkntfs makes
                    r.errors.append('record %d: run %d+%d beyond the volume' % (n, lcn, c))
                    continue
                owned.append((lcn, c, n))
                if a.type == nt.DATA and not a.name:
                    r.runs.setdefault(n, []).append((lcn, c))
    owned.sort()
    bits = v.bitmap()
    end, holder = 0, None
    want = bytearray(len(bits))
    for lcn, c, n in owned:
        if lcn < end:
            r.errors.append('clusters %d..%d belong to record %d and to record %d' % (lcn, min(end, lcn + c), holder, n))
        if lcn + c > end:
            end, holder = lcn + c, n
        v.set_bits(want, lcn, c)
    if len(bits) * 8 < v.clusters:
        r.errors.append('$Bitmap is shorter than the volume')
        return
    for lcn, c, n in owned:
        first, last = lcn // 8, (lcn + c + 7) // 8
        mask = bytearray(last - first)
        v.set_bits(mask, lcn - 8 * first, c)
        m = int.from_bytes(mask, 'little')
        missing = m & ~int.from_bytes(bits[first:last], 'little')
        if missing:
            r.owner_unset[n] = r.owner_unset.get(n, 0) + bin(missing).count('1')
    inside = (1 << v.clusters) - 1
    extra = int.from_bytes(bits, 'little') & ~int.from_bytes(want, 'little') & inside
    r.leaks = bin(extra).count('1')


def _mft_bitmap(v, r, records):
    bits = v.stream(0, nt.BITMAP)
    for n in range(v.record_count()):
        marked = n >> 3 < len(bits) and bits[n >> 3] >> (n & 7) & 1
        if marked and n not in records and n >= 24:
            r.loose.append('record %d: marked in use, but free' % n)
        if not marked and n in records:
            r.loose.append('record %d: in use, but marked free' % n)


def _content(v, n):
    a = v.attr(n, nt.DATA)
    _, data, init = a.sizes()
    h = hashlib.sha256()
    if not a.nonres:
        h.update(a.value())
        return data, h.hexdigest()
    if data > 1 << 34:
        raise nt.Corrupt('a size of %d bytes, in a test' % data)
    init = min(init, data)
    zero = bytes(1 << 20)
    for p, take in v.pieces(v.stream_runs(n, nt.DATA), 0, init):
        if p is None:
            for k in range(0, take, len(zero)):
                h.update(zero[:min(len(zero), take - k)])
        else:
            h.update(v.b[p:p + take])
    for k in range(0, data - init, len(zero)):
        h.update(zero[:min(len(zero), data - init - k)])
    return data, h.hexdigest()


def _tree(v, r, records, contents, skip):
    """Every directory, as a lookup sees it and as readdir sees it."""
    seen, todo = {nt.FILE_ROOT}, [(nt.FILE_ROOT, '')]
    while todo:
        d, path = todo.pop()
        try:
            names = set()
            entries = v.walk_index(d, names)
            listed = v.readdir(d)
        except nt.Corrupt as e:
            r.errors.append('folder %r: %s' % (path or '/', e))
            continue
        keys = [nt.collation(e[0]) for e in entries]
        if any(a >= b for a, b in zip(keys, keys[1:])):
            # in the middle of a split an entry is in the old block and in the new one: each name is still found
            r.loose.append('%s/: index out of order' % path)
        entries = list({e[0]: e for e in entries if e[0] in names}.values())
        for name in listed ^ names:
            r.loose.append('%s/%s: seen by %s only' % (path, name, 'readdir' if name in listed else 'lookup'))
        for name, namespace, ref, key, _ in entries:
            n, seq = ref & nt.REF_MASK, ref >> 48
            where = path + '/' + name
            if n not in records or records[n] is None or u16(v.record(n), 16) != seq:
                r.loose.append('%s: leads to a record that is not its own' % where)
                continue
            if name == '.' or namespace == 2 or n < SYSTEM_RECORDS and n != EXTEND:
                continue
            if d == EXTEND:
                seen.add(n)
                continue
            if u64(key, 0) & nt.REF_MASK != d:
                r.loose.append('%s: names another parent' % where)
            if u16(v.record(n), 22) & 2:
                if n in seen:
                    r.errors.append('%s: a folder in two places' % where)
                    continue
                seen.add(n)
                r.files[where + '/'] = (n, seq, 0, 'folder')
                todo.append((n, where))
                continue
            seen.add(n)
            if not contents or where.lower() in skip:
                r.files[where] = (n, seq, 0, '')
            else:
                try:
                    r.files[where] = (n, seq) + _content(v, n)
                except nt.Corrupt as e:
                    r.errors.append('%s: %s' % (where, e))
                    continue
            alloc, data, _ = v.attr(n, nt.DATA).sizes()
            if v.attr(n, nt.DATA).nonres and (u64(key, 40), u64(key, 48)) != (alloc, data):
                r.loose.append('%s: index entry says %d/%d, the file %d/%d' % (where, u64(key, 40), u64(key, 48), alloc, data))
    for n, attrs in records.items():
        if attrs is not None and n >= 24 and n not in seen:
            r.loose.append('record %d: in use, but no folder leads to it' % n)


def check(buf, contents=True, skip=()):
    """Everything about a volume in a buffer. Corrupt is raised only when not even the $MFT can be read."""
    v = nt.Volume(buf)
    r = Report()
    r.dirty = bool(u16(v.attr(nt.FILE_VOLUME, nt.VOLUME_INFORMATION).value(), 10) & 1)
    r.mirror = v.mirror_differs()
    records = _records(v, r)
    _ownership(v, r, records)
    _mft_bitmap(v, r, records)
    _tree(v, r, records, contents, skip)
    return r


def sound(r):
    """No finding of any kind: what must hold when the volume is not marked dirty."""
    return not (r.errors or r.loose or r.owner_unset or r.leaks)


def main():
    v = nt.Volume.open(sys.argv[1])
    r = check(v.b, contents='--no-content' not in sys.argv)
    json.dump({'dirty': r.dirty, 'mirror': r.mirror, 'errors': r.errors, 'loose': r.loose, 'leaks': r.leaks,
               'unset': r.owner_unset, 'files': {k: list(x) for k, x in sorted(r.files.items())}}, sys.stdout, indent=1)
    print()
    sys.exit(0 if sound(r) else 1)


if __name__ == '__main__':
    main()
