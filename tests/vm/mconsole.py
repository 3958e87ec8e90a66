# SPDX-License-Identifier: GPL-2.0-or-later
"""Plugs disks into a running guest, by the management socket of its kernel: mconsole.py [SECONDS]

Started in the background by a vm-setup line, in the work directory. The guest asks by a file 'plug' there, with lines
'SECONDS COMMAND', as '5 config ubdb=/path'; what the kernel said goes to 'plugged'. Ends with the guest.
"""
import glob
import os
import socket
import struct
import sys
import time

MAGIC, VERSION, DATA_BYTES = 0xcafebabe, 2, 512


def send(command):
    path = os.path.abspath(glob.glob('.uml/*/mconsole')[0])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind('')  # an abstract name of its own, for the answer
        s.settimeout(10)
        data = command.encode()
        s.sendto(struct.pack('<III%ds' % DATA_BYTES, MAGIC, VERSION, len(data), data), path)
        return s.recv(4096)[12:].rstrip(b'\0').decode(errors='replace')


def serve(lines):
    for line in lines:
        seconds, command = line.split(None, 1)
        time.sleep(float(seconds))  # the disk is to be late
        answer = send(command.strip())
        with open('plugged', 'a', encoding='utf-8') as f:
            f.write('%s: %s\n' % (command.strip(), answer or 'done'))


def main():
    end = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 300)
    while time.monotonic() < end and os.path.isdir(os.getcwd()):
        if os.path.exists('plug'):
            with open('plug', encoding='utf-8') as f:
                lines = f.read().splitlines()
            os.unlink('plug')
            serve(lines)
        time.sleep(0.1)  # between two looks for a request


if __name__ == '__main__':
    try:
        main()
    except FileNotFoundError:
        pass  # the work directory has gone
