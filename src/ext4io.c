/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ext4io.h"

#include <errno.h>
#include <stdlib.h>

#include "num.h"

/* Zeroing can mean real writes: small enough to be interrupted, large enough to be fast. */
#define ZERO_STEP_BYTES (UINT64_C(16) * NUM_MIB)
#define FLUSH_STEP_BYTES (UINT64_C(64) * NUM_MIB)

/* An io_manager's open gets no context. Set only while ext2fs_initialize() runs. */
static _Thread_local struct ext4io *opening;

static int latch(struct ext4io *x, int code)
{
	if (code != 0 && x->code == 0)
		x->code = code;
	return x->code;
}

int ext4io_step(struct ext4io *x)
{
	uint64_t done = x->flushed_bytes;

	if (x->code != 0)
		return x->code;
	if (done > x->total_bytes) /* which is an estimate */
		done = x->total_bytes;
	return latch(x, progress_step(x->progress, EXT4IO_PHASE, done, x->total_bytes, &x->first));
}

int ext4io_flush(struct ext4io *x)
{
	if (x->code != 0)
		return x->code;
	if (latch(x, blkio_flush(x->io, &x->first)) != 0)
		return x->code;
	x->flushed_bytes = x->put_bytes;
	return 0;
}

static int zero_step(struct ext4io *x, uint64_t offset_bytes, uint64_t n)
{
	if (ext4io_step(x) != 0)
		return x->code;
	if (latch(x, blkio_zero(x->io, offset_bytes, n, &x->first)) != 0)
		return x->code;
	x->put_bytes += n;
	if (x->put_bytes - x->flushed_bytes >= FLUSH_STEP_BYTES)
		return ext4io_flush(x);
	return 0;
}

int ext4io_zero(struct ext4io *x, uint64_t offset_bytes, uint64_t n)
{
	int rc = x->code;

	while (rc == 0 && n > 0) {
		uint64_t step = n < ZERO_STEP_BYTES ? n : ZERO_STEP_BYTES;

		rc = zero_step(x, offset_bytes, step);
		offset_bytes += step;
		n -= step;
	}
	return rc;
}

/* A negative errno as the library has it: errcode_t below 256 is a positive errno. */
static errcode_t to_library(int code)
{
	return -(errcode_t)code;
}

static struct ext4io *of_channel(io_channel channel)
{
	return channel->private_data;
}

/* count is in blocks, or minus a number of bytes. */
static int channel_range(io_channel channel, unsigned long long block, int count,
			 uint64_t *ret_offset_bytes, size_t *ret_n)
{
	struct ext4io *x = of_channel(channel);
	uint64_t block_bytes = (uint64_t)channel->block_size;
	uint64_t n = count < 0 ? (uint64_t)-(int64_t)count : (uint64_t)count * block_bytes;

	if (x->code != 0)
		return x->code;
	if (num_mul(block, block_bytes, ret_offset_bytes) != 0)
		return latch(x, err_set(&x->first, -EINVAL, "'%s': no block %llu", x->io->name,
					block));
	*ret_n = (size_t)n;
	return 0;
}

static errcode_t channel_read64(io_channel channel, unsigned long long block, int count,
				void *data)
{
	struct ext4io *x = of_channel(channel);
	uint64_t offset = 0;
	size_t n = 0;

	if (channel_range(channel, block, count, &offset, &n) != 0 || ext4io_step(x) != 0)
		return to_library(x->code);
	return to_library(latch(x, blkio_read(x->io, offset, data, n, &x->first)));
}

static errcode_t put(struct ext4io *x, uint64_t offset_bytes, const void *data, size_t n)
{
	if (ext4io_step(x) != 0)
		return to_library(x->code);
	if (latch(x, blkio_write(x->io, offset_bytes, data, n, &x->first)) != 0)
		return to_library(x->code);
	x->put_bytes += n;
	x->written_bytes += n;
	return 0;
}

static errcode_t channel_write64(io_channel channel, unsigned long long block, int count,
				 const void *data)
{
	struct ext4io *x = of_channel(channel);
	uint64_t offset = 0;
	size_t n = 0;

	if (channel_range(channel, block, count, &offset, &n) != 0)
		return to_library(x->code);
	return put(x, offset, data, n);
}

static errcode_t channel_read(io_channel channel, unsigned long block, int count, void *data)
{
	return channel_read64(channel, block, count, data);
}

static errcode_t channel_write(io_channel channel, unsigned long block, int count,
			       const void *data)
{
	return channel_write64(channel, block, count, data);
}

static errcode_t channel_write_byte(io_channel channel, unsigned long offset, int count,
				    const void *data)
{
	return count < 0 ? EINVAL : put(of_channel(channel), offset, data, (size_t)count);
}

static errcode_t channel_zeroout(io_channel channel, unsigned long long block,
				 unsigned long long count)
{
	struct ext4io *x = of_channel(channel);
	uint64_t offset = 0;
	size_t block_bytes = 0;
	uint64_t n;

	if (channel_range(channel, block, 1, &offset, &block_bytes) != 0)
		return to_library(x->code);
	if (num_mul(count, block_bytes, &n) != 0)
		return EINVAL;
	return to_library(ext4io_zero(x, offset, n));
}

static errcode_t channel_flush(io_channel channel)
{
	return to_library(ext4io_flush(of_channel(channel)));
}

static errcode_t channel_set_blksize(io_channel channel, int blksize)
{
	if (blksize <= 0)
		return EINVAL;
	channel->block_size = blksize;
	return 0;
}

static errcode_t channel_close(io_channel channel)
{
	if (--channel->refcount == 0)
		free(channel);
	return 0;
}

static errcode_t channel_open(const char *name, int flags, io_channel *ret);

/* No discard: the library would trust that the device gives zeros afterwards. No statistics. */
static struct struct_io_manager manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "wubi blkio",
	.open = channel_open,
	.close = channel_close,
	.set_blksize = channel_set_blksize,
	.read_blk = channel_read,
	.write_blk = channel_write,
	.flush = channel_flush,
	.write_byte = channel_write_byte,
	.read_blk64 = channel_read64,
	.write_blk64 = channel_write64,
	.zeroout = channel_zeroout,
};

static errcode_t channel_open(const char *name, int flags, io_channel *ret)
{
	io_channel channel;

	(void)name;  /* the blkio is open already */
	(void)flags;
	if (opening == NULL)
		return EINVAL;
	channel = calloc(1, sizeof(*channel));
	if (channel == NULL)
		return EXT2_ET_NO_MEMORY;
	channel->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	channel->manager = &manager;
	channel->block_size = EXT2_MIN_BLOCK_SIZE;
	channel->refcount = 1;
	channel->private_data = opening;
	opening = NULL;
	*ret = channel;
	return 0;
}

io_manager ext4io_expose(struct ext4io *x)
{
	opening = x;
	return &manager;
}
