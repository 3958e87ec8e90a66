#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs one guest script in user-mode Linux and ends with the script's exit status.
#
#   run.sh [-d IMAGE]... [-e NAME=VALUE]... [-m MEM] [-t SECONDS] [-w DIR] [-b DIR] [-v] SCRIPT [ARGUMENT...]
#
#   -d  a disk of the guest: the first is /dev/ubda, then /dev/ubdb ... ("ro:IMAGE" is a read-only one)
#   -e  an environment variable of the script
#   -m  memory of the guest (512M)
#   -t  hard limit by the wall clock (120 s); over it the status is 124
#   -w  work directory, $WUBI_WORK in the guest, which sees it under the same path and may write there;
#       without -w one is made with mktemp and removed at the end
#   -b  the build directory, $WUBI_BUILD in the guest (BUILD of the environment, or build/ beside tests/)
#   -v  print the console also when the script succeeds
#
# The guest's root is this machine's root, read-only: nothing but the work directory can change.
# 125: the guest ended without telling the script's status (a panic, out of memory, no user-mode Linux). 77: no linux.uml.
# The status travels in a file and not on the console, where kernel messages fall into the middle of lines.

set -u

prog=${0##*/}
here=$(cd "$(dirname "$0")" && pwd) || exit 125
top=$(cd "$here/../.." && pwd) || exit 125
disks=() variables=() mem=512M seconds=120 work='' build=${BUILD:-$top/build} verbose=''

die() {
	echo "$prog: $1" >&2
	exit "${2:-125}"
}

while getopts d:e:m:t:w:b:v option; do
	case $option in
	d) disks+=("$OPTARG") ;;
	e) variables+=("$OPTARG") ;;
	m) mem=$OPTARG ;;
	t) seconds=$OPTARG ;;
	w) work=$OPTARG ;;
	b) build=$OPTARG ;;
	v) verbose=1 ;;
	*) die "see the head of $0 for its options" 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die 'no guest script given' 2
script=$(realpath -e -- "$1") || die "no script '$1'" 2
shift

uml=$(command -v linux.uml) || die "linux.uml not found: install user-mode-linux" 77

made=''
trap '[ -z "$made" ] || rm -rf -- "$made"' EXIT
trap 'exit 130' INT TERM HUP
if [ -z "$work" ]; then
	made=$(mktemp -d "${TMPDIR:-/tmp}/wubi-vm.XXXXXX") || die 'cannot make a work directory'
	work=$made
fi
work=$(realpath -e -- "$work") || die "no work directory '$work'"
build=$(realpath -m -- "$build")
case $work in *[[:space:],]*) die "white space or a comma in the work directory '$work'" ;; esac

arguments=("mem=$mem" rootfstype=hostfs hostfs=/ ro "init=$here/init.sh" con=null 'con0=null,fd:1' ssl=null
	quiet loglevel=4 panic=1 "WUBI_WORK=$work" "umid=wubi-vm-$$")
number=0
for disk in ${disks[@]+"${disks[@]}"}; do
	flags=''
	case $disk in ro:*) flags=r disk=${disk#ro:} ;; esac
	disk=$(realpath -e -- "$disk") || die "no disk image '$disk'"
	case $disk in *[[:space:],:]*) die "white space, a comma or a colon in the image's path '$disk'" ;; esac
	arguments+=("ubd$number$flags=$disk")
	number=$((number + 1))
done

# The command line is too short for arguments of any length: they go by a file, quoted for the guest's shell.
{
	printf 'export WUBI_WORK=%q WUBI_TOP=%q WUBI_BUILD=%q\n' "$work" "$top" "$build"
	for variable in ${variables[@]+"${variables[@]}"}; do
		printf 'export %s=%q\n' "${variable%%=*}" "${variable#*=}"
	done
	printf 'set -- %q' "$script"
	[ $# -eq 0 ] || printf ' %q' "$@"
	printf '\n'
} >"$work/.job" || die "cannot write to the work directory '$work'"
rm -f -- "$work/.status"
log=$work/console.log

# timeout puts the kernel into a process group of its own and kills the whole group: the guest's processes are in it.
# HOME keeps the management socket (umid) out of the user's home directory.
HOME=$work timeout -k 2 "$seconds" "$uml" "${arguments[@]}" </dev/null >"$log.raw" 2>&1
ended=$?
tr -d '\r' <"$log.raw" >"$log"
rm -rf -- "$log.raw" "$work/.uml"

status=''
[ ! -f "$work/.status" ] || read -r status <"$work/.status"
case $status in
'' | *[!0-9]*)
	status=125
	case $ended in 124 | 137) status=124 ;; esac
	;;
esac
if [ "$status" -ne 0 ] || [ -n "$verbose" ]; then
	cat -- "$log"
fi
case $status in
124) echo "$prog: '$script' did not end within $seconds s" >&2 ;;
125) echo "$prog: the guest ended without the status of '$script' (linux.uml: $ended)" >&2 ;;
esac
exit "$status"
