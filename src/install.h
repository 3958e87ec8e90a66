/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * install - from a live system to one that boots from an image on the Windows volume: the steps and their order. And the ways
 * back and around: remove, repair.
 *
 * The image's label says whether it is a system yet: INSTALL_LABEL_INCOMPLETE from the first block on until everything in it is
 * done, checked, unmounted and so on the disk. The firmware's boot entry, and the menu that it reads, come after that. So
 * whatever a power cut leaves: a volume without an image, one with an image that says that it is incomplete, which the next run
 * removes and begins anew, or a complete one, whose boot entry the next run makes.
 */
#ifndef WUBI_INSTALL_H
#define WUBI_INSTALL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "conf_install.h"
#include "debpool.h"
#include "err.h"
#include "image.h"
#include "livesource.h"
#include "progress.h"
#include "report.h"
#include "treecopy.h"
#include "volumes.h"

#define INSTALL_WORK "/run/wubi-install"                 /* mount points, apt's state; gone afterwards */
#define INSTALL_POOL "/usr/share/wubi-installer"         /* our own package wubi-tools lies there */
#define INSTALL_LABEL_INCOMPLETE "wubi-incomplete"       /* at most EXT4FMT_LABEL_MAX bytes */
#define INSTALL_LABEL_PREFIX "wubi-"
#define INSTALL_LABEL INSTALL_LABEL_PREFIX "root"
#define INSTALL_ROOT_IMAGE "/ubuntu/disks/root.disk"

/* How the caller is told, and tells. */
struct install_host {
	const struct progress *progress;
	void (*tell)(void *ctx, const char *text);  /* a line: what begins now */
	bool (*interrupted)(void *ctx);
	void *ctx;
};

struct install_params {
	struct conf_install conf;      /* options and configuration, merged and checked */
	const char *const *disks;      /* NULL: all of the machine */
	const char *root;              /* repair: a partition that a system was exported to (export.h); NULL: it is in an image */
	bool is_existing;              /* remove, repair: without conf.volume, the only one that holds an image */
	bool check_only;               /* --dry-run */
};

/* The images of a system, in the order in which they are made. */
enum install_image { INSTALL_ROOT, INSTALL_HOME, INSTALL_SWAP, INSTALL_IMAGES };

enum install_state {
	INSTALL_NONE,        /* no image of that name */
	INSTALL_INCOMPLETE,  /* an interrupted installation: it is begun anew */
	INSTALL_NO_ENTRY,    /* complete, but the firmware does not start it: only that is done */
	INSTALL_COMPLETE,
	INSTALL_FOREIGN,     /* an image that no installation of ours made */
};

struct install_plan {
	struct volumes volumes;
	const struct volumes_row *volume, *esp;   /* NULL: not chosen, the report says why */
	enum install_state state;
	struct livesource source;
	bool source_is_checked;                   /* against the medium's own list */
	struct treecopy_totals totals;            /* of the source */
	struct debpool debs;
	uint64_t needed_bytes;                    /* what root takes at least */
	uint64_t sizes[INSTALL_IMAGES];           /* 0: no such image */
	struct image_plan image;                  /* root's */
	bool image_is_planned;
	uint64_t esp_free_bytes;
	bool copies_fit;                          /* on the EFI system partition, as far as it can be told now */
	bool secure_boot;
	struct report report;                     /* empty: it can go on */
	struct report notes;                      /* what the user should know */
	char profiles[PROFILE_PHASES][PROFILE_NAME_MAX]; /* of each phase: conf's choice, or what wubi.conf has */
	int lock_fd;
};

/*
 * Looks at everything; writes nothing but below INSTALL_WORK (and unmounts the volume, if conf.unmount says so and not
 * check_only). The source is checked and mounted: the plan holds that until install_plan_free(). Refusals are in the report,
 * all of them; failures, and "running" (another run), are returned. -ECANCELED.
 */
int install_plan_make(const struct install_params *par, const struct install_host *h, struct install_plan **ret, struct err *e);

/*
 * The second half: sizes, user and settings, which may have been asked for meanwhile, against what was seen. Once. Its refusals
 * are in the report, too.
 */
int install_plan_settle(const struct install_params *par, struct install_plan *p, const struct install_host *h, struct err *e);

/* Is there something to copy, so that a user and a size are needed? */
bool install_plan_copies(const struct install_plan *p);
void install_plan_free(struct install_plan *p);
DEFINE_AUTO(install_plan, struct install_plan *, install_plan_free);

/*
 * Does it. On a failure or interruption before the system is complete all that was made is removed, or the text says what is
 * left; after that the text says that 'wubi-install --repair' does the rest. ret_number: of the firmware's entry.
 */
int install_run(const struct install_params *par, struct install_plan *p, const struct install_host *h, uint16_t *ret_number,
		struct err *e);

/* What --remove takes away, or has taken. */
struct install_removed {
	char images[INSTALL_IMAGES][64];  /* "" none */
	uint64_t freed_bytes;
	char esp[256];                    /* its partition; "": nothing of this system there */
	size_t esp_files;
	bool entry;                       /* a firmware entry */
};

/*
 * Takes away the firmware's entry, what is on the EFI system partition, the images root, home and swap and the maps beside
 * them; nothing else. check_only: says what there is. conf: volume, esp, unmount. What is on the EFI system partition stays
 * when its map is another volume's. Refusal "no-image": there is nothing of all that.
 */
int install_remove(const struct install_params *par, const struct install_host *h, struct install_removed *ret, struct err *e);

struct install_repaired {
	uint64_t generations[INSTALL_IMAGES]; /* of the new maps; 0: there is no such image */
	uint16_t number;                      /* of the firmware's entry */
	struct report notes;
};

/*
 * For a system that is there: maps derived from the MFT and written to all their places, lines in fstab for images that were
 * added (note "empty-home": not for a home without files), an initramfs with them for each kernel, what is on the EFI system
 * partition, the firmware's entry. conf: volume, esp, unmount, default. Refusals: "no-image"; "incomplete" (an interrupted
 * installation: run it again); those of image_map() and attach.
 *
 * par->root: for the copy of such a system in a partition. Its fstab and maps say so, an initramfs for each kernel, GRUB's menu,
 * and what the EFI system partition starts is the partition from now on. conf: esp, unmount, default. Refusals: those of
 * volumes_choose(); "not-exported"; "incomplete" (of an export); "mounted"; "other-system".
 */
int install_repair(const struct install_params *par, const struct install_host *h, struct install_repaired *ret, struct err *e);

/*
 * What an ext4 has to have for a system: content_bytes of blocks and inodes of them, with inode tables, journal, the 5 per cent
 * for root, and room to live: an update with a second kernel. Pure; install_size.c has the rule.
 */
uint64_t install_size_needed(uint64_t content_bytes, uint64_t inodes, unsigned kernels);

#endif
