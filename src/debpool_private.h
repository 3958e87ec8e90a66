/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debpool_private - what the files of debpool share. */
#ifndef WUBI_DEBPOOL_PRIVATE_H
#define WUBI_DEBPOOL_PRIVATE_H

#include "auto.h"
#include "checksum.h"
#include "debpool.h"

#define DEBPOOL_DEBS_MAX 20000
#define DEBPOOL_ORIGIN "wubi-pool" /* what apt calls the pools */

/* A .deb file of the pools. */
struct debpool_deb {
	char *path;    /* whole, without links */
	char *control; /* its control file; NULL: not read, or broken */
	uint64_t bytes;
	char sha256[CHECKSUM_TEXT]; /* "": not known. A whole pool is too much to be read, and there is nothing to compare with */
	bool is_broken;
};

struct debpool_index { /* zero-initialised is empty; debpool_index_clear() */
	struct debpool_deb *debs; /* in the order of their paths */
	size_t count, capacity;
};

/*
 * All .deb files in the folders, looked into: one that is cut short or is none is broken. -E2BIG: more than DEBPOOL_DEBS_MAX;
 * -ECANCELED.
 */
int debpool_index_read(const struct debpool_params *par, struct debpool_index *ret, struct err *e);

/* WORK/pool: Packages, with those that are not broken, as NNNNN.deb, which are links; and Release. */
int debpool_index_write(const struct debpool_index *index, const char *work, struct err *e);

/* The one that NNNNN.deb of a URI is; NULL: none. */
struct debpool_deb *debpool_index_find(const struct debpool_index *index, const char *name);
void debpool_index_clear(struct debpool_index *index);

static inline void auto_debpool_index(struct debpool_index *index)
{
	debpool_index_clear(index);
}

/* Reads all of a package, as dpkg would: *ret_is_whole. -ECANCELED, and errors of running programs. */
int debpool_deb_check(const struct debpool_params *par, const char *path, bool *ret_is_whole, struct err *e);

/* Its control file; NULL: it has none that can be read. free(). -ECANCELED, and errors of running programs. */
int debpool_deb_control(const struct debpool_params *par, const char *path, char **ret, struct err *e);

/* The value of a field of a control file. False: it is not there; then ret is "". */
bool debpool_field(const char *control, const char *name, char *ret, size_t size);

/* Whom apt may ask. */
enum debpool_round { DEBPOOL_POOLS, DEBPOOL_PREFER_POOLS, DEBPOOL_NEWEST, DEBPOOL_ROUNDS };

struct debpool_apt {
	const struct debpool_params *par;
	char work[PATH_MAX], tree[PATH_MAX]; /* whole, without links */
	char conf[PATH_MAX];
	char program[PATH_MAX];
};

/* Folders and the path of apt-get. -ENOENT: there is no apt-get; -EINVAL: a path that apt cannot be told. */
int debpool_apt_open(const struct debpool_params *par, struct debpool_apt *ret, struct err *e);

/* Its files for this round; what it knows of the pools is forgotten. */
int debpool_apt_configure(const struct debpool_apt *apt, enum debpool_round round, struct err *e);

/*
 * apt-get VERB PACKAGES, and what it says, both outputs in one: free(), set on -EIO as well, which is its own failure. verb:
 * words of their own, NULL ends. packages may be NULL. -ECANCELED.
 */
int debpool_apt_run(const struct debpool_apt *apt, const char *const *verb, const char *const *packages, char **ret,
		    struct err *e);

/* 'apt-get update' of the pools alone, or of all sources of the round. -EIO is its own failure, ret as above. */
int debpool_apt_update(const struct debpool_apt *apt, bool pools_alone, char **ret, struct err *e);

/* Takes away "%20" and the like. */
void debpool_decode(char *uri);

/* What apt could not find: texts for a refusal, and names to ask about further. */
#define DEBPOOL_LACKS_MAX 16
struct debpool_lack {
	char name[128];   /* of a package; "" for a complaint of another kind */
	char text[300];
};
struct debpool_lacks {
	struct debpool_lack lacks[DEBPOOL_LACKS_MAX];
	size_t count;
};

/* Asks apt again and again until it names what is not there, and not only what needs it. output: of the first try. */
int debpool_explain(const struct debpool_apt *apt, const char *output, struct debpool_lacks *ret, struct err *e);

#endif
