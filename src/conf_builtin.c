/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf.h"

/* sysctl/wubi.conf without its comments: tests/unit/test_conf.c compares the two. */
const char *conf_builtin_text(void)
{
	return "profile \"safe\" {\n"
	       "	about      = \"every call that writes is on the disk when it returns, for daily use where the power may "
	       "go\"\n"
	       "	mount      = \"sync\"\n"
	       "	dirty      = \"64MiB\"\n"
	       "	background = \"16MiB\"\n"
	       "	expire     = \"5s\"\n"
	       "	writeback  = \"1s\"\n"
	       "	loss       = \"0s\"\n"
	       "}\n"
	       "profile \"balanced\" {\n"
	       "	about      = \"only the last seconds are at risk, for daily use with a battery, or where safe is too "
	       "slow\"\n"
	       "	mount      = \"async,commit=1\"\n"
	       "	dirty      = \"1s\"\n"
	       "	background = \"250ms\"\n"
	       "	expire     = \"2s\"\n"
	       "	writeback  = \"1s\"\n"
	       "	loss       = \"10s\"\n"
	       "}\n"
	       "profile \"fast\" {\n"
	       "	about      = \"for work that is started again when it fails, such as copying an installation\"\n"
	       "	mount      = \"async,commit=5\"\n"
	       "	dirty      = \"4s\"\n"
	       "	background = \"1s\"\n"
	       "	expire     = \"15s\"\n"
	       "	writeback  = \"5s\"\n"
	       "	loss       = \"45s\"\n"
	       "}\n"
	       "phase \"normal\"   { profile = \"safe\" }\n"
	       "phase \"iso-copy\" { profile = \"fast\" }\n";
}
