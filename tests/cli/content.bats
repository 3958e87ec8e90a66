#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What is put into the image: ext4 that GRUB and old e2fsck read, swap, nothing; and what stays of old data.

load ../lib.sh

# What e2fsprogs 1.45 knows (lib/e2p/feature.c of that release).
KNOWN_TO_145=' dir_prealloc imagic_inodes has_journal ext_attr dir_index resize_inode lazy_bg snapshot_bitmap sparse_super2
 fast_commit stable_inodes sparse_super large_file huge_file uninit_bg uninit_groups dir_nlink extra_isize quota bigalloc
 metadata_csum replica read-only project verity compression filetype needs_recovery journal_dev extent meta_bg 64bit mmp
 flex_bg ea_inode dirdata large_dir inline_data encrypt casefold '
# What GRUB 2.06's ext2 module reads (EXT2_DRIVER_SUPPORTED_INCOMPAT and the ignored ones).
INCOMPAT_OF_GRUB=' filetype extent flex_bg 64bit meta_bg mmp encrypt needs_recovery '

features() { dumpe2fs -h "$1" 2>/dev/null | sed -n 's/^Filesystem features: *//p'; }

@test "B10 the feature list is in the code, whatever mke2fs.conf says" {
	mkvol 128M
	create 32M
	mapped "$M" "$V" "$T/a.img"
	mkvol 128M
	printf '[defaults]\nbase_features = metadata_csum_seed,orphan_file,bigalloc,inline_data,casefold\n%s\n' \
		'[fs_types]
	ext4 = { features = metadata_csum_seed,orphan_file }' >"$T/mke2fs.conf"
	MKE2FS_CONFIG=$T/mke2fs.conf create 32M
	mapped "$M" "$V" "$T/b.img"
	eq "$(features "$T/b.img")" "$(features "$T/a.img")"
	for f in metadata_csum_seed orphan_file large_dir casefold inline_data bigalloc ea_inode encrypt; do
		lacks " $(features "$T/b.img") " " $f "
	done
}

@test "B10 GRUB 2.06 reads it, alone and as a loopback inside the volume" {
	mkvol 128M
	create 32M
	mapped "$M" "$V" "$T/a.img"
	head -c 300000 /dev/zero | tr '\0' k >"$T/kernel"
	debugfs -w -R "write $T/kernel vmlinuz" "$T/a.img" 2>/dev/null
	grub-fstest "$T/a.img" ls '(loop0)/' >"$T/ls"
	has "$(cat "$T/ls")" 'vmlinuz'
	grub-fstest "$T/a.img" cmp '(loop0)/vmlinuz' "$T/kernel"
	for f in $(features "$T/a.img"); do
		case " filetype extent flex_bg 64bit meta_bg needs_recovery has_journal ext_attr resize_inode dir_index \
sparse_super sparse_super2 large_file huge_file dir_nlink extra_isize metadata_csum uninit_bg " in
		*" $f "*) ;;
		*) fail "feature $f: is it one that GRUB reads ($INCOMPAT_OF_GRUB)?" ;;
		esac
	done
}

@test "B11 e2fsck 1.45 knows every feature" {
	# no e2fsck 1.45 is at hand here: what it would refuse is a feature that is not in its list
	mkvol 128M
	create 32M
	mapped "$M" "$V" "$T/a.img"
	for f in $(features "$T/a.img"); do
		[[ ${KNOWN_TO_145//$'\n'/} == *" $f "* ]] || fail "e2fsck 1.45 does not know $f"
	done
	e2fsck -fn "$T/a.img" >"$T/fsck" 2>&1 || fail "$(cat "$T/fsck")"
}

@test "B13 formatted over old data: e2fsck finds nothing, sizes from 8 MiB to 1 GiB" {
	for size in 8M 9M 16M 33M; do
		mkvol 128M
		fx scribble "$V"
		create "$size"
		mapped "$M" "$V" "$T/a.img"
		e2fsck -fn "$T/a.img" >"$T/fsck" 2>&1 || fail "$size: $(cat "$T/fsck")"
		lacks "$(cat "$T/fsck")" 'fix|error|wrong'
		rm "$M"
	done
	mkvol 3G
	create 1G
	mapped "$M" "$V" "$T/a.img"
	e2fsck -fn "$T/a.img" >"$T/fsck" 2>&1 || fail "1G: $(cat "$T/fsck")"
}

@test "B13 --zero leaves no old byte, without it they stay in free blocks" {
	mkvol 64M
	fx scribble "$V"
	cp "$V" "$T/kept.img"
	old=$("$PY" -c "
import random
r = random.Random(1)
print(bytes(r.randrange(1, 256) for _ in range(65536))[4096:4160].hex())")
	holds_old() { "$PY" -c "
import sys
sys.exit(bytes.fromhex(sys.argv[2]) not in open(sys.argv[1], 'rb').read())" "$T/a.img" "$old"; }
	create 16M
	mapped "$M" "$V" "$T/a.img"
	holds_old || fail "without --zero nothing is left: the test shows nothing"
	cp "$T/kept.img" "$V"
	create 16M --zero
	mapped "$M" "$V" "$T/a.img"
	holds_old && fail "old data after --zero"
	e2fsck -fn "$T/a.img" >"$T/fsck" 2>&1 || fail "$(cat "$T/fsck")"
}

@test "label, UUID and owner of the file system" {
	mkvol 64M
	ok create "$V" --size 16M --map "$M" --label wubi-root --json
	uuid=$(json .fs.uuid)
	eq "$(json .fs.type)" ext4
	mapped "$M" "$V" "$T/a.img"
	eq "$(blkid -p -s LABEL -o value "$T/a.img")" wubi-root
	eq "$(blkid -p -s UUID -o value "$T/a.img")" "$uuid"
	has "$(debugfs -R 'stat /' "$T/a.img" 2>/dev/null)" 'User: +0 +Group: +0'
}

@test "swap: mkswap's header, and swap's canary in verify" {
	mkvol 64M
	ok create "$V" --size 16M --map "$M" --name swap --fs swap --label wubi-swap --json
	uuid=$(json .fs.uuid)
	mapped "$M" "$V" "$T/a.img"
	eq "$(blkid -p -s TYPE -o value "$T/a.img")" swap
	eq "$(blkid -p -s UUID -o value "$T/a.img")" "$uuid"
	eq "$(blkid -p -s LABEL -o value "$T/a.img")" wubi-swap
	verdict_is match
}

@test "none: only metadata is written, and the map has no UUID" {
	mkvol 64M
	fx scribble "$V"
	fx runs "$V" '/$LogFile' >/dev/null
	create 16M --fs none
	read -r lcn n <<<"$(fx runs "$V" "$IMG")"
	eq "$n" 4096
	grep -qx 'fs_uuid -' "$M"
	grep -qx 'fs_type none' "$M"
	verdict_is match
	lacks "$(dd if="$V" bs=4096 skip="$lcn" count=1 status=none | tr -d '\0' | wc -c)" '^0$'
}
