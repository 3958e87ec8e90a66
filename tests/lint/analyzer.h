/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analyzer - included before each file that clang-tidy looks at (but err.c): tells its analyzer, which sees one file at a
 * time, that the functions of err.h never return 0, so that 'return err_set(...)' ends the path with an error.
 */
#ifndef WUBI_LINT_ANALYZER_H
#define WUBI_LINT_ANALYZER_H

#include "err.h"

#define err_set(e, code, ...) (err_set((e), (code), __VA_ARGS__), (code))
#define err_wrap(e, code, ...) (err_wrap((e), (code), __VA_ARGS__), (code))
#define err_refuse(e, reason, ...) (err_refuse((e), (reason), __VA_ARGS__), -1)
#define err_errno(e, ...) (err_errno((e), __VA_ARGS__), -1)

#endif
