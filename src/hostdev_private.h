/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostdev_private - what the hostdev*.c files share. */
#ifndef WUBI_HOSTDEV_PRIVATE_H
#define WUBI_HOSTDEV_PRIVATE_H

#include "dmlinear.h"
#include "hostdev.h"

/*
 * Which of the attached images' partitions is meant? wanted: a partition, 0 if none was named. root: the device number of the
 * file system at /. Pure. Refuses "no-image", "several-volumes", "not-this-volume".
 */
int hostdev_choose(const struct dmlinear_active_list *active, dev_t wanted, dev_t root, dev_t *ret, struct err *e);

/* Our host device among the active ones, NULL if it is not there. */
const struct dmlinear_active *hostdev_find(const struct dmlinear_active_list *active);

/* Keeps other starts and stops out until *ret_fd is closed. Refuses "busy" when one lasts. */
int hostdev_lock(int *ret_fd, struct err *e);

#endif
