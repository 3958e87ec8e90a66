/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "num.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int num_add(uint64_t a, uint64_t b, uint64_t *ret)
{
	uint64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return -EOVERFLOW;
	*ret = sum;
	return 0;
}

int num_mul(uint64_t a, uint64_t b, uint64_t *ret)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return -EOVERFLOW;
	*ret = product;
	return 0;
}

int num_align_up(uint64_t value, uint64_t align, uint64_t *ret)
{
	uint64_t sum;

	if (!num_is_power_of_two(align))
		return -EINVAL;
	if (__builtin_add_overflow(value, align - 1, &sum))
		return -EOVERFLOW;
	*ret = sum & ~(align - 1);
	return 0;
}

bool num_is_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* By hand: strtoull takes signs, spaces and, in some locales, more. *ret_end is behind the last
 * digit. */
static int parse_digits(const char *text, const char **ret_end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (num_mul(value, 10, &value) < 0 ||
		    num_add(value, (uint64_t)(*p - '0'), &value) < 0)
			return -ERANGE;
	}
	if (p == text)
		return -EINVAL;
	*ret_end = p;
	*ret = value;
	return 0;
}

/* "", "G", "GiB" or "GB" to a factor; false: no such unit. */
static bool parse_unit(const char *unit, uint64_t *ret_factor)
{
	static const char letters[] = "KMGTP";
	char letter = *unit;
	const char *found;
	uint64_t base;
	uint64_t factor = 1;

	if (letter == '\0') {
		*ret_factor = 1;
		return true;
	}
	if (letter >= 'a' && letter <= 'z')
		letter = (char)(letter - 'a' + 'A');
	found = strchr(letters, letter);
	if (!found)
		return false;
	if (unit[1] == '\0' || strcmp(unit + 1, "iB") == 0)
		base = 1024;
	else if (strcmp(unit + 1, "B") == 0)
		base = 1000;
	else
		return false;
	for (const char *p = letters; p <= found; p++)
		factor *= base;
	*ret_factor = factor;
	return true;
}

int num_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *e)
{
	const char *end;
	uint64_t value;
	uint64_t factor;
	int r = parse_digits(text, &end, &value);

	if (r == 0 && !parse_unit(end, &factor))
		r = -EINVAL;
	if (r == 0 && num_mul(value, factor, &value) < 0)
		r = -ERANGE;
	if (r == -ERANGE)
		return err_set(e, r, "size '%s' is too large", text);
	if (r < 0)
		return err_set(e, r,
			       "size '%s' is not understood: write it like 30G, 30GiB, 30GB or "
			       "4096",
			       text);
	*ret_bytes = value;
	return 0;
}

int num_parse_u64(const char *text, uint64_t *ret, struct err *e)
{
	const char *end;
	uint64_t value;
	int r = parse_digits(text, &end, &value);

	if (r == -ERANGE)
		return err_set(e, r, "number '%s' is too large", text);
	if (r < 0 || *end != '\0' || (text[0] == '0' && text[1] != '\0'))
		return err_set(e, -EINVAL, "'%s' is not a plain decimal number", text);
	*ret = value;
	return 0;
}

const char *num_format_bytes(uint64_t bytes, char buf[NUM_BYTES_TEXT])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;
	unsigned shift = 10;
	unsigned whole;
	unsigned tenths;

	if (bytes < 1024) {
		(void)snprintf(buf, NUM_BYTES_TEXT, "%" PRIu64 " B", bytes);
		return buf;
	}
	while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes >> shift >= 1024) {
		unit++;
		shift += 10;
	}
	whole = (unsigned)(bytes >> shift);
	tenths = (unsigned)(((bytes & ((UINT64_C(1) << shift) - 1)) * 10 +
			     (UINT64_C(1) << (shift - 1))) >>
			    shift);
	if (tenths == 10) {
		whole++;
		tenths = 0;
	}
	if (whole == 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		whole = 1; /* 1023.96 MiB is rounded to 1.0 GiB, not to 1024.0 MiB */
		unit++;
	}
	(void)snprintf(buf, NUM_BYTES_TEXT, "%u.%u %s", whole, tenths, units[unit]);
	return buf;
}
