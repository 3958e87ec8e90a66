/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * health - is all well with a system that runs from an image? Asked in that system; reads only.
 *
 * Gathers what each of our parts knows: maps against the volume (maprefresh.h), what starts the system (espboot.h), each kernel's
 * initramfs (initrdcheck.h), and how full the volumes are. What is off is told once, whichever parts notice it, with the one
 * thing to do about it.
 */
#ifndef WUBI_HEALTH_H
#define WUBI_HEALTH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"
#include "espboot.h"
#include "initramfs.h"
#include "maprefresh.h"
#include "report.h"

struct health_params { /* borrowed */
	const char *maps; /* folder of the maps */
	const char *esp;  /* where the EFI system partition is mounted; NULL: found */
};

/* A volume that a map's image lies on. */
struct health_volume {
	char path[256];
	uint64_t free_bytes, total_bytes; /* total 0: it could not be told */
};

struct health_kernel {
	char version[INITRAMFS_VERSION_MAX];
	bool is_known;         /* false: its initramfs could not be looked at */
	struct finding lack;   /* the first that no other part tells; reason "": it has all that it takes */
};

struct health {
	struct maprefresh_plan maps;       /* an item a map, with its verdict and generation */
	uint64_t *esp_generations;         /* as many: of the copy on the EFI system partition; 0: none that can be read */
	struct health_volume *volumes;     /* each volume once */
	size_t volume_count;
	struct health_kernel *kernels;     /* the running one first */
	size_t kernel_count;
	char rebuild[64];                  /* command that builds an initramfs, less the version; "" none */
	char esp[PATH_MAX];                /* mount point of the EFI system partition; "" */
	bool esp_known;                    /* boot holds what was seen there */
	struct espboot_plan boot;
	char *pending;                     /* why a run of wubi-boot failed; NULL: none did */
	struct report findings;            /* what is off; empty: as far as it was seen, all is well */
	struct report unknown;             /* what could not be told, and why */
};

/*
 * Refusals: "no-map", "not-in-image" (nothing to ask about here), "other-map". Other errors: nothing could be told; what
 * concerns one part only is in unknown. *ret, on success only: health_free().
 *
 * Reasons of findings: those of maprefresh.h's refusals and of espboot_plan(); "verdict-NAME"; "map-due" (a map is not right any
 * more, wubi-map-refresh mends it); "map-unfinished" (the initramfs was not built with new maps); "not-attached"; "esp-map" (the
 * copy of a map); "esp-due" (another file there, or the firmware's entry); "boot-pending"; "initramfs"; "host-full".
 */
int health_look(const struct health_params *par, struct health **ret, struct err *e);
void health_free(struct health *h); /* NULL is fine */
DEFINE_AUTO(health, struct health *, health_free);

/* Fills findings and unknown from all the rest. Pure; health_look() does it. */
void health_judge(struct health *h);

/* Fewer free bytes than this on a volume, and Windows is about to get into trouble with it. Pure. */
uint64_t health_free_needed(uint64_t total_bytes);

#endif
