# SPDX-License-Identifier: GPL-2.0-or-later
"""What the checks share. A check prints a line a finding and ends with status 1 if there was one."""
import glob
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('BUILD', os.path.join(TOP, 'build'))
DISK = os.path.join(BUILD, 'wubi-disk')
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
    for folder in folders or ('src', 'installer', 'tests'):
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


def disk(*args):
    """stdout of wubi-disk; an exit status other than 0 is a finding."""
    out = subprocess.run([DISK, *args], capture_output=True, text=True)
    if out.returncode != 0:
        finding('wubi-disk ' + ' '.join(args), 'exit status %d: %s' % (out.returncode, out.stderr.strip()))
    return out.stdout


def option_rows():
    """(verb, long, short or None, argument or None) of each row."""
    rows = []
    for line in disk('--list-options').splitlines():
        verb, long_name, letter, argument = line.split()
        rows.append((verb, long_name, None if letter == '-' else letter, None if argument == '-' else argument))
    return rows
