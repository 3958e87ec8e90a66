/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "udevwatch.h"

#include <errno.h>
#include <libudev.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

struct udevwatch {
	struct udev *udev;
	struct udev_monitor *monitor;
	struct udev_queue *queue;
};

int udevwatch_open(struct udevwatch **ret, struct err *e)
{
	AUTO(udevwatch) struct udevwatch *w = calloc(1, sizeof(*w));
	int code;

	if (!w)
		return err_set(e, -ENOMEM, "listen for block devices: out of memory");
	w->udev = udev_new();
	w->monitor = w->udev ? udev_monitor_new_from_netlink(w->udev, "kernel") : NULL;
	w->queue = w->udev ? udev_queue_new(w->udev) : NULL;
	if (!w->monitor || !w->queue)
		return err_set(e, -ENOMEM, "listen for block devices: libudev cannot start");
	code = udev_monitor_filter_add_match_subsystem_devtype(w->monitor, "block", NULL);
	if (code >= 0)
		code = udev_monitor_enable_receiving(w->monitor);
	if (code < 0)
		return err_set(e, code, "listen for block devices: no events from the kernel");
	*ret = TAKE(w);
	return 0;
}

static bool take_events(struct udev_monitor *m)
{
	struct udev_device *d;
	bool any = false;

	while ((d = udev_monitor_receive_device(m))) {
		any = true;
		(void)udev_device_unref(d);
	}
	return any;
}

bool udevwatch_wait(struct udevwatch *w, unsigned timeout_ms)
{
	struct pollfd p = { .fd = udev_monitor_get_fd(w->monitor), .events = POLLIN };

	/* interrupted, or events were lost: the caller looks again in any case, at the latest when the time is over */
	if (poll(&p, 1, (int)timeout_ms) <= 0)
		return false;
	return take_events(w->monitor);
}

bool udevwatch_is_busy(const struct udevwatch *w)
{
	return udev_queue_get_udev_is_active(w->queue) && !udev_queue_get_queue_is_empty(w->queue);
}

void udevwatch_free(struct udevwatch *w)
{
	if (!w)
		return;
	(void)udev_queue_unref(w->queue); /* all three take NULL */
	(void)udev_monitor_unref(w->monitor);
	(void)udev_unref(w->udev);
	free(w);
}

uint64_t udevwatch_now_ms(void)
{
	struct timespec t = { 0, 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &t); /* cannot fail on Linux */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
