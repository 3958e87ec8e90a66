/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is the medium, or the file, whole? */
#include "livesource_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "auto.h"
#include "checksum.h"
#include "mediumsum.h"
#include "textfile.h"

#define HEX "0123456789abcdefABCDEF"

/* FILE.sha256: the sum, and perhaps the name. */
static int check_beside(const char *file, const struct progress *p, bool *ret_checked, struct err *e)
{
	const struct checksum_progress cp = { .progress = p, .phase = "checking the medium" };
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX], sum[CHECKSUM_TEXT];
	struct err why = ERR_INIT;
	uint64_t bytes;
	int code;

	if (snprintf(path, sizeof(path), "%s.sha256", file) >= (int)sizeof(path))
		return 0;
	code = textfile_read(path, &text, &why);
	if (code == -ENOENT || (!code && strspn(text, HEX) != CHECKSUM_TEXT - 1))
		return 0;
	if (!code)
		code = checksum_file(file, CHECKSUM_SHA256, &cp, sum, &bytes, &why);
	if (code == -EIO)
		return err_refuse(e, "bad-medium", "%s: download it again", why.text);
	if (code)
		return err_set(e, code, "%s", why.text);
	if (strncasecmp(sum, text, CHECKSUM_TEXT - 1) != 0)
		return err_refuse(e, "bad-medium", "'%s': its SHA-256 is %s, and not what '%s' has: download it again", file, sum,
				  path);
	*ret_checked = true;
	return 0;
}

static int check_medium(const struct livesource *s, const struct progress *p, bool *ret_checked, struct err *e)
{
	const char *wanted[LIVESOURCE_LAYERS_MAX], *kernel = s->kernel + strlen(s->medium) + 1;
	size_t n = 0;
	int code;

	for (size_t i = 0; i < s->layer_count; i++)
		wanted[i] = s->layers[i] + strlen(s->medium) + 1;
	code = mediumsum_check(s->medium, wanted, s->layer_count, p, &n, e);
	if (code)
		return code;
	*ret_checked = n == s->layer_count;
	return s->kernel[0] ? mediumsum_check(s->medium, &kernel, 1, p, &n, e) : 0;
}

/* By the sha256sum.txt of its folder, in which a whole live/ was copied, or by FILE.sha256. */
static int check_squashfs(const struct livesource *s, const struct progress *p, bool *ret_checked, struct err *e)
{
	const char *file = s->layers[0], *name = strrchr(file, '/') + 1;
	char folder[PATH_MAX];
	size_t n = 0;
	int code;

	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(name - file), file);
	code = mediumsum_check(folder, &name, 1, p, &n, e);
	if (code || n) {
		*ret_checked = !code;
		return code;
	}
	return check_beside(file, p, ret_checked, e);
}

int livesource_check(const struct livesource *s, const struct progress *p, bool *ret_checked, struct err *e)
{
	bool is_listed = false;
	int code = 0;

	*ret_checked = false;
	if (!s->medium[0])
		return check_squashfs(s, p, ret_checked, e);
	if (s->is_iso)
		code = mediumsum_check_iso(s->name, p, &is_listed, e);
	if (code || is_listed) {
		*ret_checked = !code;
		return code;
	}
	return check_medium(s, p, ret_checked, e);
}
