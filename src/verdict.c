/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void __attribute__((format(printf, 2, 3))) reason(struct verdict_result *r, const char *fmt, ...)
{
	va_list args;

	if (r->reason_count == VERDICT_REASONS_MAX)
		return;
	va_start(args, fmt);
	(void)vsnprintf(r->reasons[r->reason_count++], VERDICT_REASON_TEXT, fmt, args); /* a cut text is still a text */
	va_end(args);
}

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = {
		[VERDICT_UNKNOWN] = "unknown",     [VERDICT_MATCH] = "match",         [VERDICT_MOVED] = "moved",
		[VERDICT_RENAMED] = "renamed",     [VERDICT_ORPHANED] = "orphaned",   [VERDICT_UNSETTLED] = "unsettled",
		[VERDICT_EMPTIED] = "emptied",     [VERDICT_MISSING] = "missing",     [VERDICT_REPLACED] = "replaced",
		[VERDICT_FOREIGN] = "foreign",     [VERDICT_ENCRYPTED] = "encrypted", [VERDICT_AMBIGUOUS] = "ambiguous",
		[VERDICT_INVALID] = "invalid",
	};

	return names[v];
}

static uint64_t clusters_of(const struct map *m)
{
	return m->size_bytes / m->host.cluster_bytes;
}

static void say_old_clusters(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	uint64_t all = clusters_of(m), free_now = f->map_free_clusters;

	reason(r, "of the %llu clusters that the map names, %llu are free and %llu belong to some file now",
	       (unsigned long long)all, (unsigned long long)free_now, (unsigned long long)(all - free_now));
	if (f->canary_known && f->canary_ok)
		reason(r, "the file system's superblocks are still there: write nothing to this volume, and rescue the data "
		       "through a read-only device made of the map (wubi-disk table)");
	else
		reason(r, "write nothing to this volume before the old clusters were read out with the map");
}

/* The record is the map's, but can it hold an image at all? Returns false with a reason if not. */
static bool is_plain_file(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	size_t before = r->reason_count;

	if (f->is_dir)
		reason(r, "MFT record %llu is a folder now", (unsigned long long)m->mft_record);
	if (f->compressed)
		reason(r, "the file is compressed: clear 'compress contents' for it in Windows");
	if (f->encrypted)
		reason(r, "the file is encrypted by Windows (EFS): decrypt it there");
	if (f->sparse)
		reason(r, "the file is sparse: copy it to a new file in Windows, then run wubi-disk map");
	if (f->reparse)
		reason(r, "the file is a reparse point (CompactOS, deduplication or a cloud file): undo that in Windows");
	if (f->resident)
		reason(r, "the file's data is resident in its MFT record");
	if (!f->extents)
		reason(r, "the run list cannot be used: %s",
		       f->extents_problem && f->extents_problem[0] ? f->extents_problem : "there is none");
	if (f->data_bytes > m->size_bytes)
		reason(r, "the file has %llu bytes, the map says %llu", (unsigned long long)f->data_bytes,
		       (unsigned long long)m->size_bytes);
	if (f->data_bytes == m->size_bytes &&
	    (f->allocated_bytes != f->data_bytes || (f->extents && extent_list_bytes(f->extents) != m->size_bytes)))
		reason(r, "%llu bytes are allocated for a file of %llu: an image fills its clusters",
		       (unsigned long long)f->allocated_bytes, (unsigned long long)f->data_bytes);
	if (f->initialized_bytes < f->data_bytes)
		reason(r, "the initialised size is %llu of %llu bytes: Windows reads zeros behind it and may write them; "
		       "run wubi-disk map after restoring the file from a copy",
		       (unsigned long long)f->initialized_bytes, (unsigned long long)f->data_bytes);
	return r->reason_count == before;
}

static bool is_emptied(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (f->is_dir || f->data_bytes > m->size_bytes)
		return false;
	if (f->data_bytes < m->size_bytes || f->allocated_bytes == 0) {
		reason(r, "the file '%s' has %llu bytes where the map says %llu", m->image,
		       (unsigned long long)f->data_bytes, (unsigned long long)m->size_bytes);
		return true;
	}
	if (f->free_clusters) {
		reason(r, "%llu clusters of the file '%s' are marked free in $Bitmap: Windows may give them to other files",
		       (unsigned long long)f->free_clusters, m->image);
		return true;
	}
	return false;
}

static enum verdict decide_moved(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (f->canary_known && !f->canary_ok) {
		reason(r, "the file's runs changed, and what is there is not the map's file system: %s", f->canary_reason);
		reason(r, "run chkdsk in Windows and restore the file from a copy");
		return VERDICT_FOREIGN;
	}
	reason(r, "the file lies in %zu other extents now (Windows or a partition tool moved it)", f->extents->count);
	if (f->canary_known)
		reason(r, "its file system is right there: refresh the map with wubi-disk map");
	else
		reason(r, "nothing in a file of type '%s' proves that it is whole: check it, then run wubi-disk map",
		       m->fs_type);
	return VERDICT_MOVED;
}

static enum verdict decide_in_use(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (is_emptied(m, f, r)) {
		say_old_clusters(m, f, r);
		return VERDICT_EMPTIED;
	}
	if (!is_plain_file(m, f, r))
		return VERDICT_FOREIGN;
	if (!extent_list_equal(f->extents, &m->extents))
		return decide_moved(m, f, r);
	if (f->canary_known && !f->canary_ok) {
		reason(r, "the file is where the map says, but its content is not the map's file system: %s",
		       f->canary_reason);
		reason(r, "restore the file from a copy, then run wubi-disk map");
		return VERDICT_FOREIGN;
	}
	if (f->at_map_path) {
		reason(r, "the run list equals the map");
		return VERDICT_MATCH;
	}
	if (f->indexed) {
		reason(r, "the file is at '%s' now, its data is whole: move it back to '%s' in Windows, do not reinstall",
		       f->path, m->image);
		return VERDICT_RENAMED;
	}
	reason(r, "no folder leads to the file any more, its record and data are whole: run chkdsk in Windows and keep the map");
	return VERDICT_ORPHANED;
}

static enum verdict decide_settled(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (!f->ntfs) {
		reason(r, "there is no NTFS on this volume");
		return VERDICT_MISSING;
	}
	if (f->serial != m->host.serial && !(f->partuuid[0] && !strcasecmp(f->partuuid, m->host.partuuid))) {
		reason(r, "the volume's serial number is %016llx, the map's %016llx: this is another volume",
		       (unsigned long long)f->serial, (unsigned long long)m->host.serial);
		return VERDICT_MISSING;
	}
	if (f->cluster_bytes != m->host.cluster_bytes || f->sector_bytes != m->host.sector_bytes) {
		reason(r, "the volume has clusters of %u bytes, the map says %u: it was formatted anew", f->cluster_bytes,
		       m->host.cluster_bytes);
		return VERDICT_MISSING;
	}
	if (f->record_in_use)
		return decide_in_use(m, f, r);
	if (f->path_taken)
		reason(r, "another file is at '%s' now%s", m->image,
		       f->path_same_fs ? ": a copy with the same file system; take it over with wubi-disk map" : "");
	else
		reason(r, "there is no file '%s', and its MFT record is not in use or another file's", m->image);
	if (!f->path_same_fs)
		say_old_clusters(m, f, r);
	return f->path_taken ? VERDICT_REPLACED : VERDICT_MISSING;
}

static bool say_state(const struct verdict_facts *f, struct verdict_result *r)
{
	size_t before = r->reason_count;

	if (f->hibernated)
		reason(r, "Windows is hibernated: start it and shut it down (shutdown /s /t 0), or run 'powercfg /h off'");
	if (f->fast_startup)
		reason(r, "Windows keeps metadata in its cache (Fast Startup): hold Shift while choosing 'Shut down', or "
		       "run 'powercfg /h off'");
	else if (!f->journal_clean)
		reason(r, "the journal ($LogFile) is not clean: start Windows and shut it down");
	if (f->dirty)
		reason(r, "the volume is marked dirty: run chkdsk /f in Windows");
	return r->reason_count != before;
}

void verdict_decide(const struct map *m, const struct verdict_facts *f, struct verdict_result *ret)
{
	bool unsettled;

	memset(ret, 0, sizeof(*ret));
	if (f->bitlocker) {
		reason(ret, "the partition is encrypted by BitLocker now: decrypt it in Windows");
		ret->verdict = ret->settled = VERDICT_ENCRYPTED;
		return;
	}
	unsettled = f->ntfs && say_state(f, ret);
	ret->settled = decide_settled(m, f, ret);
	if (ret->settled == VERDICT_MISSING && f->serial != m->host.serial)
		unsettled = false; /* another volume: its state is no news about this map */
	ret->verdict = unsettled ? VERDICT_UNSETTLED : ret->settled;
	if (f->path_problem && f->path_problem[0])
		reason(ret, "%s", f->path_problem);
	if (m->host.partuuid[0] && f->partuuid[0] && strcasecmp(m->host.partuuid, f->partuuid) != 0)
		reason(ret, "the partition's PARTUUID is %s, the map's %s", f->partuuid, m->host.partuuid);
	ret->attachable = ret->verdict == VERDICT_MATCH || ret->verdict == VERDICT_RENAMED ||
			  ret->verdict == VERDICT_ORPHANED || (ret->verdict == VERDICT_MOVED && f->canary_known);
}
