/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ntfsvol_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bootsect.h"

/* libntfs-3g has one log handler for the process: the adapter's only mutable global. */
static char log_first[256];

static int log_capture(const char *function, const char *file, int line, u32 level, void *data, const char *format,
		       va_list args) __attribute__((format(printf, 6, 0)));

static int log_capture(const char *function, const char *file, int line, u32 level, void *data, const char *format,
		       va_list args)
{
	int saved = errno; /* its callers read errno after logging */
	size_t n;

	(void)function, (void)file, (void)line, (void)level, (void)data;
	if (!log_first[0]) {
		(void)vsnprintf(log_first, sizeof(log_first), format, args); /* a cut text is still a text */
		n = strcspn(log_first, "\n");
		while (n > 0 && (log_first[n - 1] == '.' || log_first[n - 1] == ' '))
			n--;
		log_first[n] = '\0';
	}
	errno = saved;
	return 0;
}

void ntfsvol_log_start(void)
{
	ntfs_log_set_handler(log_capture);
	ntfs_log_set_levels(NTFS_LOG_LEVEL_ERROR | NTFS_LOG_LEVEL_PERROR | NTFS_LOG_LEVEL_CRITICAL);
	log_first[0] = '\0';
}

const char *ntfsvol_log_text(void)
{
	return log_first;
}

int (ntfsvol_fail)(struct ntfsvol *v, struct err *e, const char *fmt, ...)
{
	int code = errno ? -errno : -EIO;
	char what[400];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args); /* a cut text is still a text */
	va_end(args);
	if (v->dev.first.code)
		return err_set(e, v->dev.first.code, "%s: %s", what, v->dev.first.text);
	if (code == -ENOMEM)
		return err_set(e, -ENOMEM, "%s: out of memory", what);
	return err_set(e, code, "%s: %s (%s)", what, strerror(-code),
		       log_first[0] ? log_first : "libntfs-3g gave no reason");
}

/* Opens $LogFile and asks libntfs-3g what its restart pages say. A page of version 2 is Windows 8's Fast Startup. */
static int read_journal(struct ntfsvol *v, struct ntfsvol_state *state, struct err *e)
{
	RESTART_PAGE_HEADER *page = NULL;
	ntfs_inode *ni = NULL;
	ntfs_attr *na;
	int code = ntfsvol_inode(v, FILE_LogFile, &ni, e);

	if (code)
		return code;
	na = ntfs_attr_open(ni, AT_DATA, AT_UNNAMED, 0);
	if (!na) {
		code = ntfsvol_fail(v, e, "open $LogFile");
		(void)ntfs_inode_close(ni); /* the first error counts */
		return code;
	}
	state->journal_clean = ntfs_check_logfile(na, &page) && ntfs_is_logfile_clean(na, page);
	state->fast_startup = page && le16_to_cpu(page->major_ver) >= 2;
	free(page);
	ntfs_attr_close(na);
	(void)ntfs_inode_close(ni); /* read only: nothing to lose */
	if (v->dev.first.code)
		return err_set(e, v->dev.first.code, "read $LogFile: %s", v->dev.first.text);
	return 0;
}

/*
 * hiberfil.sys: 'hibr' (or 'HIBR', Windows 8 and later) is a session on disk; 'wake' and zeros are none. One too short for
 * a header cannot be judged, and what is not known is not reported as good.
 */
static int read_hiberfile(struct ntfsvol *v, struct ntfsvol_state *state, struct err *e)
{
	struct ntfsvol_entry entry;
	ntfs_inode *ni = NULL;
	ntfs_attr *na;
	char head[4096];
	s64 got;
	struct err why = ERR_INIT;
	int code = ntfsvol_find(v, "/hiberfil.sys", &entry, &why);

	state->hibernated = false;
	if (code == -ENOENT)
		return 0;
	if (code)
		return err_set(e, code, "look for hiberfil.sys: %s", why.text);
	code = ntfsvol_inode(v, entry.ref.record, &ni, e);
	if (code)
		return code;
	na = entry.is_dir ? NULL : ntfs_attr_open(ni, AT_DATA, AT_UNNAMED, 0);
	got = na ? ntfs_attr_pread(na, 0, sizeof(head), head) : -1;
	state->hibernated = got < (s64)sizeof(head) || !memcmp(head, "hibr", 4) || !memcmp(head, "HIBR", 4);
	if (na)
		ntfs_attr_close(na);
	(void)ntfs_inode_close(ni); /* read only: nothing to lose */
	if (v->dev.first.code)
		return err_set(e, v->dev.first.code, "read hiberfil.sys: %s", v->dev.first.text);
	return 0;
}

static int add_system_runs(struct ntfsvol *v, ntfs_attr *na, struct err *e)
{
	uint64_t cluster = v->info.cluster_bytes;
	int code = 0;

	if (!NAttrNonResident(na))
		return 0;
	if (ntfs_attr_map_whole_runlist(na))
		return ntfsvol_fail(v, e, "read the run list of MFT record %llu", (unsigned long long)na->ni->mft_no);
	for (const runlist_element *rl = na->rl; !code && rl && rl->length; rl++)
		if (rl->lcn >= 0)
			code = extent_list_append(&v->system, (uint64_t)rl->lcn * cluster,
						  (uint64_t)rl->length * cluster, e);
	return code;
}

static int add_system_file(struct ntfsvol *v, uint64_t record, struct err *e)
{
	ntfs_inode *ni = NULL;
	ntfs_attr *na;
	int code = ntfsvol_inode(v, record, &ni, e);

	if (code)
		return code;
	na = ntfs_attr_open(ni, AT_DATA, AT_UNNAMED, 0);
	if (na) {
		code = add_system_runs(v, na, e);
		ntfs_attr_close(na);
	}
	(void)ntfs_inode_close(ni); /* read only: nothing to lose */
	return code;
}

/* Where NTFS keeps its own files: a run list that leads there is damaged, whatever else it says. */
static int read_system(struct ntfsvol *v, struct err *e)
{
	static const uint64_t records[] = { FILE_LogFile, FILE_AttrDef, FILE_Boot, FILE_UpCase };
	int code = add_system_runs(v, v->vol->mft_na, e);

	if (!code)
		code = add_system_runs(v, v->vol->mftbmp_na, e);
	if (!code)
		code = add_system_runs(v, v->vol->mftmirr_na, e);
	if (!code)
		code = add_system_runs(v, v->vol->lcnbmp_na, e);
	for (size_t i = 0; !code && i < sizeof(records) / sizeof(records[0]); i++)
		code = add_system_file(v, records[i], e);
	return code;
}

static int read_info(struct ntfsvol *v, const struct bootsect *boot, struct err *e)
{
	struct ntfsvol_info *info = &v->info;
	const ntfs_volume *vol = v->vol;
	int code;

	(void)snprintf(info->label, sizeof(info->label), "%s", vol->vol_name ? vol->vol_name : "");
	info->serial = boot->serial;
	info->sector_bytes = vol->sector_size;
	info->cluster_bytes = vol->cluster_size;
	info->mft_record_bytes = vol->mft_record_size;
	info->total_clusters = (uint64_t)vol->nr_clusters;
	info->total_bytes = info->total_clusters * info->cluster_bytes;
	info->mft_zone.lcn = (uint64_t)vol->mft_zone_start;
	info->mft_zone.clusters = (uint64_t)(vol->mft_zone_end - vol->mft_zone_start);
	/* a chkdsk that was cut off is no better than one that is due */
	info->state.dirty = (vol->flags & (VOLUME_IS_DIRTY | VOLUME_CHKDSK_UNDERWAY)) != const_cpu_to_le16(0);
	code = read_system(v, e);
	if (!code)
		code = read_journal(v, &info->state, e);
	if (!code)
		code = read_hiberfile(v, &info->state, e);
	return code;
}

static int refuse_mount(struct ntfsvol *v, struct err *e)
{
	int saved = errno;
	const char *said = ntfsvol_log_text();

	if (v->dev.first.code)
		return err_set(e, v->dev.first.code, "volume '%s': %s", v->base->name, v->dev.first.text);
	if (saved == ENOMEM)
		return err_set(e, -ENOMEM, "volume '%s': out of memory", v->base->name);
	if (strstr(said, "$MFTMirr does not match"))
		return err_refuse(e, "mft-mirror", "volume '%s': $MFT and $MFTMirr differ: run chkdsk /f in Windows, "
				  "then retry", v->base->name);
	return err_refuse(e, "corrupt", "volume '%s': damaged NTFS (%s): run chkdsk /f in Windows, then retry",
			  v->base->name, said[0] ? said : strerror(saved));
}

static int mount_volume(struct ntfsvol *v, struct err *e)
{
	/* FORENSIC: libntfs-3g changes nothing while it mounts, and leaves the state checks to us. */
	ntfs_mount_flags flags = NTFS_MNT_FORENSIC | (v->dev.writable ? 0 : NTFS_MNT_RDONLY);
	struct ntfs_device *dev;

	if (ntfs_set_char_encoding("utf8")) /* under the C locale libntfs-3g would refuse names beyond ASCII */
		return err_errno(e, "set the encoding of libntfs-3g");
	ntfsvol_log_start();
	errno = 0;
	dev = ntfs_device_alloc(v->base->name, 0, &ntfsvol_device_ops, &v->dev);
	if (!dev)
		return err_errno(e, "volume '%s'", v->base->name);
	v->vol = ntfs_device_mount(dev, flags);
	if (!v->vol) {
		int code = refuse_mount(v, e);

		(void)ntfs_device_free(dev); /* a failed mount leaves it to us */
		return code;
	}
	ntfsvol_forbid_compression(v->vol); /* whatever the parent folder says, nothing of ours is compressed */
	return 0;
}

static int check_boot(const struct blkio *io, struct bootsect *ret, struct err *e)
{
	unsigned char head[2048] = { 0 };
	size_t n = io->size_bytes < sizeof(head) ? (size_t)io->size_bytes : sizeof(head);
	struct err why = ERR_INIT;
	int code;

	if (n < BOOTSECT_BYTES)
		return err_refuse(e, "not-ntfs", "volume '%s': %zu bytes are too few for NTFS", io->name, n);
	code = blkio_read(io, 0, head, n, e);
	if (code)
		return code;
	if (bootsect_parse(head, n, io->size_bytes, ret, &why))
		return err_refuse(e, "corrupt", "volume '%s': %s: run chkdsk /f in Windows, then retry", io->name,
				  why.text);
	if (ret->kind == BOOTSECT_BITLOCKER)
		return err_refuse(e, "bitlocker", "volume '%s' is encrypted by BitLocker: what is on it cannot be "
				  "read or checked; turn BitLocker off for it in Windows, then retry", io->name);
	if (ret->kind == BOOTSECT_OTHER)
		return err_refuse(e, "not-ntfs", "volume '%s' is not NTFS (%s): name an NTFS volume", io->name,
				  ret->other);
	return 0;
}

int ntfsvol_open(const struct blkio *io, bool writable, struct ntfsvol **ret, struct err *e)
{
	AUTO(ntfsvol) struct ntfsvol *v = NULL;
	struct bootsect boot;
	struct err why = ERR_INIT;
	int code = check_boot(io, &boot, e);

	if (code)
		return code;
	v = calloc(1, sizeof(*v));
	if (!v)
		return err_set(e, -ENOMEM, "volume '%s': out of memory", io->name);
	v->base = io;
	v->dev.io = io;
	v->dev.writable = writable;
	if (writable) {
		code = stage_new(io, &v->stage, e);
		if (code)
			return code;
		v->dev.io = v->stage;
	}
	code = mount_volume(v, e);
	if (code)
		return code;
	code = read_info(v, &boot, &why);
	if (code == -ENOMEM || v->dev.first.code)
		return err_set(e, code, "volume '%s': %s", io->name, why.text);
	if (code && err_is_refusal(&why))
		return err_refuse(e, why.reason, "volume '%s': %s", io->name, why.text);
	if (code)
		return err_refuse(e, "corrupt", "volume '%s': %s: run chkdsk /f in Windows, then retry", io->name,
				  why.text);
	*ret = TAKE(v);
	return 0;
}

int ntfsvol_io_error(const struct ntfsvol *v, struct err *e)
{
	if (!v->dev.first.code)
		return 0;
	return err_set(e, v->dev.first.code, "volume '%s': %s", v->base->name, v->dev.first.text);
}

const struct ntfsvol_info *ntfsvol_info(const struct ntfsvol *v)
{
	return &v->info;
}

void ntfsvol_free(struct ntfsvol *v)
{
	if (!v)
		return;
	v->dev.closed = true; /* what libntfs-3g still holds is dropped, not written */
	if (v->vol)
		(void)ntfs_umount(v->vol, FALSE); /* nothing can be lost: see above */
	blkio_free(v->stage);
	extent_list_clear(&v->system);
	free(v->unused_index.items);
	free(v);
}
