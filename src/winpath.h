/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * winpath - is a path on the volume one that Windows can open, too? Pure.
 *
 * Absolute, '/' between the components, valid UTF-8, no control characters, none of \ : * ? " < > |, no empty component,
 * none that ends in '.' or a space, each at most 255 UTF-16 units (what a directory entry holds), none that is a device's
 * name to Windows (CON, PRN, AUX, NUL, COM1 to COM9, LPT1 to LPT9, with or without an extension), and nothing that NTFS or
 * Windows keeps for itself: a first component that starts with '$', hiberfil.sys, pagefile.sys, swapfile.sys.
 * Rules: Microsoft, "Naming Files, Paths, and Namespaces".
 */
#ifndef WUBI_WINPATH_H
#define WUBI_WINPATH_H

#include <stdbool.h>

bool winpath_is_valid(const char *path);

#endif
