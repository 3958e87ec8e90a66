# SPDX-License-Identifier: GPL-2.0-or-later
"""The firmware's variables in the file that is its flash memory: the layout of EDK2's authenticated variable store."""
import struct
import sys
import uuid

GLOBAL = uuid.UUID('8be4df61-93ca-11d2-aa0d-00e098032b8c')
STORE = uuid.UUID('aaf32c78-947b-439a-a180-2e144ec37792').bytes_le
HEADER = struct.Struct('<HBxIQ16sIII16s')
ADDED = 0x3f, 0x3e  # the second: its successor is being written


class Entry:
    """A boot entry. path: the file in it, '' when there is none."""

    def __init__(self, number, data):
        self.number = number
        self.active = bool(struct.unpack_from('<I', data)[0] & 1)
        length = struct.unpack_from('<H', data, 4)[0]
        end = next(i for i in range(6, len(data), 2) if data[i:i + 2] == b'\0\0')
        self.label = data[6:end].decode('utf-16-le')
        self.nodes = self._nodes(data[end + 2:end + 2 + length])

    @staticmethod
    def _nodes(data):
        nodes, at = [], 0
        while at + 4 <= len(data) and data[at] != 0x7f:
            kind, sub, length = struct.unpack_from('<BBH', data, at)
            nodes.append((kind, sub, data[at + 4:at + length]))
            at += length
        return nodes

    @property
    def path(self):
        return ''.join(body.decode('utf-16-le').rstrip('\0') for kind, sub, body in self.nodes if (kind, sub) == (4, 4))

    @property
    def partition(self):
        """The GUID of the partition, or None."""
        found = [uuid.UUID(bytes_le=body[20:36]) for kind, sub, body in self.nodes if (kind, sub) == (4, 1)]
        return str(found[0]) if found else None


class Variables:
    def __init__(self, path):
        with open(path, 'rb') as file:
            data = file.read()
        at = data.index(STORE)
        size = struct.unpack_from('<I', data, at + 16)[0]
        self.all = dict(self._read(data, at + 28, at + size))

    @staticmethod
    def _read(data, at, end):
        while at + HEADER.size <= end:
            start, state, _, _, _, _, name_size, data_size, guid = HEADER.unpack_from(data, at)
            if start != 0x55aa:
                return
            at += HEADER.size
            if state in ADDED:
                name = data[at:at + name_size].decode('utf-16-le').rstrip('\0')
                yield (uuid.UUID(bytes_le=guid), name), data[at + name_size:at + name_size + data_size]
            at = (at + name_size + data_size + 3) // 4 * 4

    def number(self, name):
        """BootNext, or None."""
        data = self.all.get((GLOBAL, name))
        return struct.unpack('<H', data)[0] if data else None

    def order(self):
        data = self.all.get((GLOBAL, 'BootOrder'), b'')
        return list(struct.unpack('<%dH' % (len(data) // 2), data))

    def entries(self):
        """{number: Entry}"""
        return {int(name[4:], 16): Entry(int(name[4:], 16), data) for (guid, name), data in self.all.items()
                if guid == GLOBAL and len(name) == 8 and name.startswith('Boot') and all(c in '0123456789ABCDEF' for c in name[4:])}

    def text(self):
        lines = ['BootNext %s, BootOrder %s' % (self.number('BootNext'), ' '.join('%04X' % n for n in self.order()))]
        lines += ['Boot%04X %s %s %s' % (e.number, e.label, e.partition or '', e.path) for e in self.entries().values()]
        return '\n'.join(lines)


if __name__ == '__main__':
    print(Variables(sys.argv[1]).text())
