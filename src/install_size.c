/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How large an image has to be. The rule's numbers are ext4fmt.c's: inodes of 256 bytes, one for each 16 KiB; 5 per cent for
 * root. */
#include "install.h"

#include "num.h"

#define BYTES_PER_INODE 16384
#define INODE_BYTES 256
#define KERNEL_BYTES (160 * NUM_MIB)  /* an initramfs with all modules, and what makes it */
#define RESERVE_BYTES (768 * NUM_MIB) /* an update with a second kernel, logs, and a user's first files */
#define STEP_BYTES (64 * NUM_MIB)

/* ext2fs_default_journal_size(), for blocks of 4 KiB. */
static uint64_t journal_bytes(uint64_t bytes)
{
	static const struct {
		uint64_t below, journal;
	} sizes[] = {
		{ 128 * NUM_MIB, 4 * NUM_MIB },  { 1 * NUM_GIB, 16 * NUM_MIB },    { 2 * NUM_GIB, 32 * NUM_MIB },
		{ 16 * NUM_GIB, 64 * NUM_MIB },  { 32 * NUM_GIB, 128 * NUM_MIB },  { 64 * NUM_GIB, 256 * NUM_MIB },
		{ 128 * NUM_GIB, 512 * NUM_MIB },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (bytes < sizes[i].below)
			return sizes[i].journal;
	return NUM_GIB;
}

/* What users can fill of an ext4 of that size; group descriptors and bitmaps are less than a thousandth. */
static uint64_t usable_bytes(uint64_t bytes)
{
	uint64_t lost = bytes / BYTES_PER_INODE * INODE_BYTES + bytes / 20 + bytes / 1000 + journal_bytes(bytes);

	return bytes > lost ? bytes - lost : 0;
}

uint64_t install_size_needed(uint64_t content_bytes, uint64_t inodes, unsigned kernels)
{
	uint64_t wanted = content_bytes + content_bytes / 20 + kernels * KERNEL_BYTES + RESERVE_BYTES;
	uint64_t bytes = wanted / STEP_BYTES * STEP_BYTES + STEP_BYTES;

	while (usable_bytes(bytes) < wanted || bytes / BYTES_PER_INODE < inodes + inodes / 5)
		bytes += STEP_BYTES;
	return bytes;
}
