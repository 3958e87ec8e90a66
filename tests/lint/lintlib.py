# SPDX-License-Identifier: GPL-2.0-or-later
"""What the checks share. A check prints a line a finding and ends with status 1 if there was one."""
import glob
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('BUILD', os.path.join(TOP, 'build'))
PROGRAM_FOLDERS = ('installer', 'initramfs-hook', 'sysctl')
os.chdir(TOP)

findings = 0


def finding(where, text):
    global findings
    findings += 1
    print('%s: %s' % (where, text))


def finish():
    sys.exit(1 if findings else 0)


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def c_files(*folders):
    """Sources and headers below the folders; all of ours without an argument."""
    found = []
    for folder in folders or ('src', *PROGRAM_FOLDERS, 'tests'):
        found += glob.glob(folder + '/**/*.[ch]', recursive=True)
    return sorted(found)


def tracked():
    """Every file of the project: what git knows, or would add."""
    out = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], capture_output=True, text=True)
    if out.returncode == 0:
        return sorted(f for f in out.stdout.splitlines() if os.path.isfile(f))
    return sorted(os.path.relpath(os.path.join(d, f)) for d, _, fs in os.walk('.') for f in fs
                  if not os.path.relpath(d).startswith(('build', '.git')))


def scripts():
    """(path, first line) of each script."""
    found = []
    for path in tracked():
        if path.startswith('tests/fuzz/corpus/'):
            continue
        with open(path, 'rb') as f:
            head = f.readline(200)
        if head.startswith(b'#!') or path.endswith(('.sh', '.bats')):
            found.append((path, head.decode('utf-8', 'replace').strip()))
    return found


def layer_modules(layer):
    """Names of the modules of a layer, from layers.tsv."""
    rows = [line.split('\t') for line in read('tests/lint/layers.tsv').splitlines() if line and not line.startswith('#')]
    return {row[1] for row in rows if row[0] == layer}


def programs():
    """Names of the programs that are built: each from FOLDER/NAME.c, wubi-disk from all of installer/, wubi-profile of sysctl/."""
    sources = glob.glob('initramfs-hook/wubi-*.c')
    return ['wubi-disk', 'wubi-profile'] + sorted(os.path.basename(s)[:-2] for s in sources)


class Program:
    """A program of ours that is built."""

    def __init__(self, name):
        self.name, self.path = name, os.path.join(BUILD, name)

    def output(self, *args):
        """Its stdout; an exit status other than 0 is a finding."""
        out = subprocess.run([self.path, *args], capture_output=True, text=True)
        if out.returncode != 0:
            finding(self.name + ' ' + ' '.join(args), 'exit status %d: %s' % (out.returncode, out.stderr.strip()))
        return out.stdout

    def option_rows(self):
        """(verb, long, short or None, argument or None) of each row; verb '' of a program without verbs."""
        rows = []
        for line in self.output('--list-options').splitlines():
            verb, long_name, letter, argument = ['' if word == '-' else word for word in line.split(' ', 3)]
            rows.append((verb, long_name, letter or None, argument or None))
        return rows
