/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka_all - cmocka.h and what it wants to see first. */
#ifndef WUBI_TEST_CMOCKA_ALL_H
#define WUBI_TEST_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The text of an error holds a word: what a message must name, not how it is worded. */
#define assert_text_has(text, word)                                          \
	do {                                                                 \
		if (!strstr((text), (word)))                                 \
			fail_msg("'%s' does not have '%s'", (text), (word)); \
	} while (0)

#endif
