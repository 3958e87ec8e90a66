/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request to device-mapper: the library's global state, its messages, udev's part. */
#include "dmlinear_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UDEV_CONTROL "/run/udev/control"
#define UDEV_POLL_NS (5 * 1000 * 1000L)
#define LOG_LEVEL_MASK 0x0f /* above are flags; libdevmapper's dm-logging.h is not public */
#define LOG_LEVEL_ERROR 3   /* 2 is fatal, 4 a warning */

/* libdevmapper's first complaint: later ones only say that something failed. */
static _Thread_local char log_text[256];

__attribute__((format(printf, 5, 6))) static void log_hook(int level, const char *file, int line,
							     int dm_errno, const char *fmt, ...)
{
	va_list args;

	(void)file; /* the library's own source position tells a user nothing */
	(void)line;
	(void)dm_errno;
	if ((level & LOG_LEVEL_MASK) > LOG_LEVEL_ERROR || log_text[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(log_text, sizeof(log_text), fmt, args); /* cut off is fine */
	va_end(args);
}

void dmlinear_pause_ns(long ns)
{
	const struct timespec t = { 0, ns };

	(void)nanosleep(&t, NULL); /* cut short by a signal is fine: the callers have limits */
}

static uint64_t clock_ms(void)
{
	struct timespec t = { 0, 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail on Linux */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

const char *dmlinear_why(int code)
{
	return log_text[0] ? log_text : strerror(-code);
}

bool dmlinear_kernel_has_dm(void)
{
	FILE *f = fopen("/proc/misc", "re");
	char line[128];
	bool found = false;

	if (!f)
		return true;
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, " device-mapper\n") != NULL;
	(void)fclose(f); /* read only */
	return found;
}

struct dm_task *dmlinear_task_new(int type, const char *name, struct err *e)
{
	struct dm_task *t = dm_task_create(type);

	if (!t || (name && !dm_task_set_name(t, name))) {
		err_set(e, -ENOMEM, "device-mapper: cannot make a request: %s", dmlinear_why(-ENOMEM));
		dmlinear_task_free(t);
		return NULL;
	}
	return t;
}

int dmlinear_task_error(struct dm_task *t)
{
	int code = dm_task_get_errno(t);

	return code > 0 ? -code : -EIO; /* 0: the library failed before it asked the kernel */
}

int dmlinear_task_fail(struct dm_task *t, const char *what, const char *name, struct err *e)
{
	int code = dmlinear_task_error(t);

	return err_set(e, code, "%s '%s': %s", what, name, dmlinear_why(code));
}

int dmlinear_no_device_mapper(struct err *e)
{
	return err_set(e, -ENODEV, "the kernel has no device-mapper: load dm_mod ('modprobe "
				   "dm_mod'), then retry");
}

static int begin_error(struct err *e)
{
	if (geteuid() != 0)
		return err_set(e, -EACCES, "device-mapper: permission denied: run this as root");
	if (!dmlinear_kernel_has_dm())
		return dmlinear_no_device_mapper(e);
	return err_set(e, -EIO, "device-mapper: %s", dmlinear_why(-EIO));
}

int dmlinear_session_begin(struct err *e)
{
	AUTO(dm_task) struct dm_task *t = NULL;

	dm_log_with_errno_init(log_hook);
	log_text[0] = '\0';
	dm_hold_control_dev(0);
	/* What the map calls a device is what /dev/mapper shows. */
	(void)dm_set_name_mangling_mode(DM_STRING_MANGLING_NONE);
	dm_udev_set_sync_support(access(UDEV_CONTROL, F_OK) == 0);
	/*
	 * Opens the control node, at which the kernel loads dm_mod where modprobe is there. Without a
	 * driver already the making of the task fails.
	 */
	t = dmlinear_task_new(DM_DEVICE_VERSION, NULL, NULL);
	if (!t || !dm_task_run(t))
		return begin_error(e);
	log_text[0] = '\0';
	return 0;
}

/*
 * udev may be there and yet never answer (no dm rules in an initramfs, a stopped queue), and
 * dm_udev_wait() would wait for ever. Signalling in udev's place frees the semaphore; a late signal
 * of udev finds none, which is harmless.
 */
static void cookie_wait(uint32_t cookie, unsigned timeout_ms)
{
	const uint64_t deadline = clock_ms() + timeout_ms;
	int ready = 0;

	if (cookie == 0)
		return;
	while (dm_udev_wait_immediate(cookie, &ready)) {
		if (ready)
			return;
		if (clock_ms() >= deadline)
			break;
		dmlinear_pause_ns(UDEV_POLL_NS);
	}
	/* The results do not matter: the semaphore is gone already if udev answered just now. */
	(void)dm_udev_complete(cookie);
	(void)dm_udev_wait_immediate(cookie, &ready);
}

int dmlinear_task_run_synced(int type, const char *name, uint16_t udev_flags, unsigned timeout_ms, struct err *e)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(type, name, e);
	uint32_t cookie = 0;
	int r = 0;

	if (!t)
		return -ENOMEM;
	if (!dm_task_set_cookie(t, &cookie, udev_flags)) {
		/* No semaphore to be had: without one udev still acts, only nobody knows when. */
		dm_udev_set_sync_support(0);
		cookie = 0;
		(void)dm_task_set_cookie(t, &cookie, udev_flags);
		log_text[0] = '\0';
	}
	if (!dm_task_run(t))
		r = dmlinear_task_fail(t, "change the state of device", name, e);
	cookie_wait(cookie, timeout_ms);
	dm_task_update_nodes(); /* what udev should have done and did not */
	return r;
}

/* The library has taken the answer from the kernel, whose own limits are the sizes. */
static void copy_text(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from ? from : "");
}

int dmlinear_device_query(const char *name, const char *uuid, struct dmlinear_device *ret,
			  struct err *e)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(DM_DEVICE_INFO, name, e);
	struct dm_info info = { 0 };

	if (!t)
		return -ENOMEM;
	if (uuid && !dm_task_set_uuid(t, uuid))
		return err_set(e, -ENOMEM, "device-mapper: cannot ask for the uuid '%s'", uuid);
	if (!dm_task_run(t) || !dm_task_get_info(t, &info))
		return dmlinear_task_fail(t, "query device", name ? name : uuid, e);
	*ret = (struct dmlinear_device){
		.exists = info.exists,
		.live = info.live_table,
		.inactive = info.inactive_table,
		.suspended = info.suspended,
		.readonly = info.read_only,
		.major = info.major,
		.minor = info.minor,
	};
	if (!info.exists)
		return 0;
	copy_text(ret->name, sizeof(ret->name), dm_task_get_name(t));
	copy_text(ret->uuid, sizeof(ret->uuid), dm_task_get_uuid(t));
	return 0;
}
