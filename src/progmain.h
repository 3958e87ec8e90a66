/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progmain - what main() of every program does. */
#ifndef WUBI_PROGMAIN_H
#define WUBI_PROGMAIN_H

#include "optrows.h"

/*
 * Sets up the standard streams, parses argv into *options (the program's struct, p->options_bytes big), and does what was
 * asked: --help, --version, the hidden actions, or p->run(). Tells a usage error. Returns the exit status, stdout flushed.
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct options o;
 *
 *		return progmain(&program, argc, argv, &o);
 *	}
 */
int progmain(const struct optrows_program *p, int argc, char **argv, void *options);

#endif
