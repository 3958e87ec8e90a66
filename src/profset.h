/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profset - all that a profile changes on a running system, as one value: the kernel's knobs and the mount options of the
 * file systems in our images. Read, put all or nothing, as JSON and back.
 */
#ifndef WUBI_PROFSET_H
#define WUBI_PROFSET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "jsonin.h"
#include "jsonout.h"
#include "mountopts.h"
#include "profile.h"

#define PROFSET_MOUNTS_MAX 16

/* A mounted ext4 in an image of ours: its device-mapper UUID is (dmnames.h), and not wubi-host's. */
struct profset_mount {
	char name[32];            /* the image's: "root" */
	char uuid[129];           /* of the dm device: what it is known again by */
	char target[PATH_MAX];
	char options[512];        /* as mountinfo shows them */
	bool is_root;             /* it is '/' */
};

struct profset {
	struct profile_knobs knobs;
	struct profset_mount mounts[PROFSET_MOUNTS_MAX];
	size_t mount_count;
};

/* What is in force now. */
int profset_read(struct profset *ret, struct err *e);

/* What a profile asks of a system that is as 'now' says: its knobs, and for each mount the options to change. */
struct profset_change {
	struct profile_knobs knobs;
	struct {
		char target[PATH_MAX];
		char options[MOUNTOPTS_TEXT];   /* for mountfs_reconfigure(); "": nothing to change */
	} mounts[PROFSET_MOUNTS_MAX];
	size_t mount_count;
};

/*
 * base: what was in force before the first profile, or NULL. Options of an earlier profile that this one does not name go
 * back to it, so that one profile after another is the same as the last one alone.
 */
int profset_plan(const struct profile *p, const struct profile_machine *m, const struct profset *base, const struct profset *now,
		 struct profset_change *ret, struct err *e);

/*
 * What leads back from 'now' to 'saved'; of the mount options only those that a profile may have are touched
 * (mountopts_back()). A mount of saved that is not there any more is left out, one that is new stays as it is.
 */
int profset_plan_back(const struct profset *saved, const struct profset *now, struct profset_change *ret, struct err *e);

/*
 * Options of '/' that only its first mount takes, as they are after a reboot and not now: what 'wanted' has of them (a
 * profile's mount; "": nothing), and for the others what saved (or NULL) says. "" if a reboot changes nothing.
 */
int profset_after_reboot(const char *wanted, const struct profset *saved, const struct profset *now, char ret[MOUNTOPTS_TEXT],
			 struct err *e);

/* Is anything of it other than it is now? */
bool profset_is_changing(const struct profset_change *c, const struct profset *now);

/* Could each be changed? Knobs writable, an empty reconfigure of each mount. Changes nothing. */
int profset_check(const struct profset_change *c, struct err *e);

/*
 * All or nothing. First profset_check(); then changes, reads all back; at the first failure goes back to 'now', and says in
 * the text when that failed, too. Signals are the caller's matter: it has no point at which it stops.
 */
int profset_apply(const struct profset_change *c, const struct profset *now, struct err *e);

/*
 * Plans the way back to saved and takes it as far as it goes: what cannot be put back is the error, and the rest is put back
 * all the same. *ret_changed: something was not as in saved.
 */
int profset_restore(const struct profset *saved, bool *ret_changed, struct err *e);

/* Is all as s says, as far as profset_restore() would go back to it? False also when that cannot be told. */
bool profset_is_in_force(const struct profset *s);

/* "knobs": {"dirty_bytes": 0, ...} */
void profset_knobs_to_json(const struct profile_knobs *k, struct jsonout *object);
void profset_to_json(const struct profset *s, struct jsonout *object);
int profset_from_json(const struct jsonin *object, struct profset *ret, struct err *e); /* -EINVAL: not what to_json writes */

#endif
