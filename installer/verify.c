/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "mapfile.h"
#include "output.h"
#include "verbs.h"
#include "verify.h"

static int status_of(enum verdict v)
{
	switch (v) {
	case VERDICT_MATCH:
		return PROGOUT_DONE;
	case VERDICT_UNKNOWN:
		return PROGOUT_FAILED;
	default:
		return PROGOUT_REFUSED;
	}
}

static int print_json(const struct options *o, const struct verify_result *result)
{
	const struct verdict_result *v = &result->verdict;
	struct jsonout *root = jsonout_object();
	struct jsonout *reasons;

	jsonout_add_string(root, "verdict", verdict_name(v->verdict));
	reasons = jsonout_add_array(root, "reasons");
	for (size_t i = 0; i < v->reason_count; i++)
		jsonout_add_string(reasons, NULL, v->reasons[i]);
	if (o->base.operand_count > 1)
		jsonout_add_string(root, "volume", *result->volume ? result->volume : NULL);
	return progout_json(root);
}

static int print_result(const struct options *o, const struct verify_result *result)
{
	const struct verdict_result *v = &result->verdict;
	int status = status_of(v->verdict);

	if (o->base.json)
		return print_json(o, result) == PROGOUT_DONE ? status : PROGOUT_FAILED;
	if (o->base.quiet)
		return status;
	progout_print(stdout, "%s\n", verdict_name(v->verdict));
	for (size_t i = 0; i < v->reason_count; i++)
		progout_print(stdout, "  %s\n", v->reasons[i]);
	if (o->base.operand_count > 1 && *result->volume)
		progout_print(stdout, "  volume %s\n", result->volume);
	return status;
}

static int print_invalid(const struct options *o, const struct err *e)
{
	struct verify_result result;
	struct verdict_result *v = &result.verdict;

	memset(&result, 0, sizeof(result));
	v->verdict = VERDICT_INVALID;
	v->settled = VERDICT_INVALID;
	v->reason_count = 1;
	(void)snprintf(v->reasons[0], sizeof(v->reasons[0]), "%.*s", VERDICT_REASON_TEXT - 1, e->text);
	return print_result(o, &result);
}

int verb_verify(const struct options *o)
{
	AUTO(verify_result) struct verify_result result;
	AUTO(map) struct map *m = NULL;
	struct err e = ERR_INIT;

	memset(&result, 0, sizeof(result));
	if (mapfile_read(o->maps.items[0], &m, &e))
		return err_is_refusal(&e) ? print_invalid(o, &e) : progout_fail(&o->base, &e, NULL);
	if (verify_candidates(o->base.operands, o->base.operand_count, m, &result, &e))
		return progout_fail(&o->base, &e, NULL);
	return print_result(o, &result);
}
