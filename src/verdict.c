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
		[VERDICT_GROWN] = "grown",
		[VERDICT_RENAMED] = "renamed",     [VERDICT_ORPHANED] = "orphaned",   [VERDICT_UNSETTLED] = "unsettled",
		[VERDICT_EMPTIED] = "emptied",     [VERDICT_MISSING] = "missing",     [VERDICT_REPLACED] = "replaced",
		[VERDICT_FOREIGN] = "foreign",     [VERDICT_ENCRYPTED] = "encrypted", [VERDICT_AMBIGUOUS] = "ambiguous",
		[VERDICT_INVALID] = "invalid",
	};

	return names[v];
}

const char *verdict_risk(enum verdict v)
{
	static const char *const risks[] = {
		[VERDICT_UNKNOWN] = "what cannot be read cannot be proven to be Linux' own",
		[VERDICT_UNSETTLED] = "Windows may know of moves that the disk does not: each would overwrite the other's files",
		[VERDICT_EMPTIED] = "the old clusters may be given to other files at any write, by Windows too",
		[VERDICT_MISSING] = "what is written to that volume now may overwrite what is left of the image",
		[VERDICT_REPLACED] = "the old clusters belong to other files, or will",
		[VERDICT_FOREIGN] = "the image's bytes are not, or not all, where the file's runs are",
		[VERDICT_ENCRYPTED] = "all that is read is ciphertext, and a write would destroy data of both systems",
		[VERDICT_AMBIGUOUS] = "Linux would go on with the older one, or half with each",
		[VERDICT_INVALID] = "a map that is not whole leads into other files",
	};

	return (size_t)v < sizeof(risks) / sizeof(risks[0]) && risks[v] ? risks[v] : "";
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
		reason(r, "the file system's superblocks are still there: write nothing to this volume, and get the data back "
		       "from a live system: wubi-disk rescue tells how much of it is left, and copies it out");
	else
		reason(r, "write nothing to this volume before the old clusters were read out with the map (wubi-disk rescue)");
}

/* The record is the map's, but can it hold an image at all? Returns false with a reason if not. */
static bool is_plain_file(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	size_t before = r->reason_count;

	if (f->is_dir)
		reason(r, "MFT record %llu is a folder now: restore the image from a copy, then run wubi-disk map",
		       (unsigned long long)m->mft_record);
	if (f->compressed)
		reason(r, "the file is compressed: clear 'compress contents' for it in Windows");
	if (f->encrypted)
		reason(r, "the file is encrypted by Windows (EFS): decrypt it there");
	if (f->sparse)
		reason(r, "the file is sparse: copy it to a new file in Windows, then run wubi-disk map");
	if (f->reparse)
		reason(r, "the file is a reparse point (CompactOS, deduplication or a cloud file): undo that in Windows");
	if (f->resident)
		reason(r, "the file's data is resident in its MFT record: restore it from a copy, then run wubi-disk map");
	if (!f->extents)
		reason(r, "the run list cannot be used: run chkdsk /f in Windows: %s",
		       f->extents_problem && f->extents_problem[0] ? f->extents_problem : "there is none");
	if (f->data_bytes >= m->size_bytes &&
	    (f->allocated_bytes != f->data_bytes || (f->extents && extent_list_bytes(f->extents) != f->data_bytes)))
		reason(r, "%llu bytes are allocated for a file of %llu, an image fills its clusters: run chkdsk /f in Windows",
		       (unsigned long long)f->allocated_bytes, (unsigned long long)f->data_bytes);
	if (f->initialized_bytes < f->data_bytes)
		reason(r, "the initialised size is %llu of %llu bytes: Windows reads zeros behind it and may write them; "
		       "run wubi-disk map after restoring the file from a copy",
		       (unsigned long long)f->initialized_bytes, (unsigned long long)f->data_bytes);
	return r->reason_count == before;
}

static bool is_emptied(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (f->is_dir)
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

/* Content that is not the map's file system. A whole one with another UUID was made by a user, who must not lose it for that. */
static enum verdict decide_content(const struct verdict_facts *f, const char *where, struct verdict_result *r)
{
	reason(r, "%s, and what is there is not the map's file system: %s", where, f->canary_reason);
	if (f->canary_other_uuid)
		reason(r, "if you gave it another UUID (tune2fs -U, mkswap), it is whole: take it over with wubi-disk map, from "
		       "a live system");
	else
		reason(r, "run chkdsk in Windows; if the file system is lost, restore the file from a copy, then run "
		       "wubi-disk map");
	return VERDICT_FOREIGN;
}

static enum verdict decide_moved(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (f->canary_known && !f->canary_ok)
		return decide_content(f, "the file's runs changed", r);
	reason(r, "the file lies in %zu other extents now (%s)", f->extents->count,
	       f->data_bytes > m->size_bytes ? "it was moved, and has grown" : "Windows or a partition tool moved it");
	if (f->canary_known)
		reason(r, "its file system is right there: refresh the map with wubi-disk map");
	else
		reason(r, "nothing in a file of type '%s' proves that it is whole: check it, then run wubi-disk map",
		       m->fs_type);
	return VERDICT_MOVED;
}

/* What of 'wubi-disk grow' comes after its commit did not happen. Where the map's bytes are is as sure as with a match. */
static enum verdict decide_grown(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (f->canary_known && !f->canary_ok)
		return decide_content(f, "the file has grown", r);
	reason(r, "the file has grown from %llu to %llu bytes and begins where the map says",
	       (unsigned long long)m->size_bytes, (unsigned long long)f->data_bytes);
	if (!f->at_map_path)
		reason(r, "the file is not at '%.200s' any more: move it back in Windows", m->image);
	reason(r, "refresh the map: run wubi-disk grow once more, or wubi-disk map");
	return VERDICT_GROWN;
}

static enum verdict decide_in_use(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (is_emptied(m, f, r)) {
		say_old_clusters(m, f, r);
		return VERDICT_EMPTIED;
	}
	if (!is_plain_file(m, f, r))
		return VERDICT_FOREIGN;
	if (f->data_bytes > m->size_bytes && extent_list_begins_with(f->extents, &m->extents))
		return decide_grown(m, f, r);
	if (!extent_list_equal(f->extents, &m->extents))
		return decide_moved(m, f, r);
	if (f->canary_known && !f->canary_ok)
		return decide_content(f, "the file is where the map says", r);
	if (f->at_map_path) {
		reason(r, "the run list equals the map");
		return VERDICT_MATCH;
	}
	if (f->indexed) {
		reason(r, "the file is at '%.200s' now, its data is whole", f->path);
		reason(r, "move it back to '%.150s' in Windows, do not reinstall", m->image);
		return VERDICT_RENAMED;
	}
	reason(r, "no folder leads to the file any more, its record and data are whole: run chkdsk in Windows and keep the map");
	return VERDICT_ORPHANED;
}

static enum verdict decide_settled(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	if (!f->ntfs) {
		reason(r, "there is no NTFS on this volume: it was formatted anew, or its start is damaged");
		reason(r, "write nothing to it; restore the partition, or the image from a copy");
		return VERDICT_MISSING;
	}
	if (f->serial != m->host.serial && !(f->partuuid[0] && !strcasecmp(f->partuuid, m->host.partuuid))) {
		reason(r, "the volume's serial number is %016llx, the map's %016llx: this is another volume",
		       (unsigned long long)f->serial, (unsigned long long)m->host.serial);
		reason(r, "name the volume that the map is of, or derive a new map with wubi-disk map");
		return VERDICT_MISSING;
	}
	if (f->cluster_bytes != m->host.cluster_bytes || f->sector_bytes != m->host.sector_bytes) {
		reason(r, "the volume has clusters of %u bytes, the map says %u: it was formatted anew", f->cluster_bytes,
		       m->host.cluster_bytes);
		reason(r, "restore the image from a copy, then run wubi-disk map");
		return VERDICT_MISSING;
	}
	if (f->record_in_use)
		return decide_in_use(m, f, r);
	if (f->path_taken && f->path_same_fs) {
		reason(r, "another file is at '%.150s' now, with the same file system: a copy that was put back", m->image);
		reason(r, "to take it over, from a live system: wubi-disk map VOLUME --image '%.150s'", m->image);
	} else if (f->path_taken) {
		reason(r, "another file is at '%s' now", m->image);
	} else {
		reason(r, "there is no file '%s', and its MFT record is not in use or another file's", m->image);
	}
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

/* What is odd, and no reason for the verdict. In a refusal the last reason stays the last one: it says what to do. */
static void add_notes(const struct map *m, const struct verdict_facts *f, struct verdict_result *r)
{
	size_t before = r->reason_count;
	char advice[VERDICT_REASON_TEXT];

	if (f->path_problem && f->path_problem[0])
		reason(r, "%s", f->path_problem);
	if (m->host.partuuid[0] && f->partuuid[0] && strcasecmp(m->host.partuuid, f->partuuid) != 0)
		reason(r, "the partition's PARTUUID is %s, the map's %s", f->partuuid, m->host.partuuid);
	if (r->attachable || r->reason_count == before)
		return;
	if (before < 2) { /* the first is the most important one */
		r->reason_count = before;
		return;
	}
	memcpy(advice, r->reasons[before - 1], sizeof(advice));
	memmove(r->reasons[before - 1], r->reasons[before], (r->reason_count - before) * sizeof(advice));
	memcpy(r->reasons[r->reason_count - 1], advice, sizeof(advice));
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
	if (unsettled && ret->settled == VERDICT_MATCH)
		ret->reason_count--; /* that the runs are right is no advice */
	ret->attachable = ret->verdict == VERDICT_MATCH || ret->verdict == VERDICT_RENAMED ||
			  ret->verdict == VERDICT_ORPHANED || ret->verdict == VERDICT_GROWN ||
			  (ret->verdict == VERDICT_MOVED && f->canary_known);
	add_notes(m, f, ret);
}
