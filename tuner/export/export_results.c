/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/store/lookup.h"
#include "tuner/export/export_family_part.h"
#include "tuner/export/export_parts.h"

static bool problem_matches(const struct hn_bindings *problem, const struct hn_bindings *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct hn_value *value = hn_bindings_get(problem, wanted->names[i]);
        if (value == NULL || !hn_value_equal(value, &wanted->values[i]))
            return false;
    }
    return true;
}

/* Of several results for one device and problem the preferred one. */
static void add_result(struct hn_export *export, const struct hn_tuned *tuned)
{
    for (size_t i = 0; i < export->result_count; i++) {
        if (!hn_lookup_same_task(&export->results[i]->identity, &tuned->identity))
            continue;
        if (hn_lookup_order(tuned, export->results[i]) < 0)
            export->results[i] = tuned;
        return;
    }
    export->results[export->result_count++] = tuned;
}

enum hn_status hn_export_collect(struct hn_export *export, const struct hn_export_request *request,
                                 struct hn_error *err)
{
    export->results = calloc(export->all.count, sizeof *export->results);
    if (export->results == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->all.count; i++) {
        const struct hn_tuned *tuned = &export->all.items[i];
        if (tuned->best.outcome != HN_OUTCOME_OK ||
            !problem_matches(&tuned->identity.problem, request->problem))
            continue;
        if (request->regime != NULL && strcmp(request->regime, tuned->identity.regime) != 0)
            continue;
        add_result(export, tuned);
    }
    if (export->result_count > 0)
        return HN_OK;

    struct hn_text problems = {0};
    for (size_t i = 0; i < export->all.count; i++) {
        hn_text_append(&problems, i > 0 ? "; " : "");
        hn_bindings_append(&problems, &export->all.items[i].identity.problem);
        hn_text_printf(&problems, " (%s)", export->all.items[i].identity.regime);
    }
    hn_fail(err, HN_ENOTFOUND, "'%s' was not tuned for that problem; cached are: %s",
            request->kernel, problems.failed ? "" : problems.data);
    hn_text_finish(&problems);
    return HN_ENOTFOUND;
}

void hn_export_order(struct hn_export *export, size_t chosen)
{
    const struct hn_tuned *first = export->results[chosen];
    memmove(&export->results[1], &export->results[0], chosen * sizeof *export->results);
    export->results[0] = first;
    size_t end = 1;
    for (size_t i = 1; i < export->result_count; i++) {
        const struct hn_tuned *result = export->results[i];
        if (!hn_device_identity_equal(&result->identity.device, &first->identity.device))
            continue;
        memmove(&export->results[end + 1], &export->results[end],
                (i - end) * sizeof *export->results);
        export->results[end++] = result;
    }
}

static bool same_names(const struct hn_bindings *a, const struct hn_bindings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->names[i], b->names[i]) != 0)
            return false;
    }
    return true;
}

/* A problem can have been tuned for a word that the chosen one's config did not list (-p
 * LAYOUT=column): it gets the next number. *known: a name with words here has words in the plan
 * too. */
static enum hn_status add_words(const struct hn_export *export, const struct hn_bindings *bindings,
                                bool *known, struct hn_error *err)
{
    for (size_t i = 0; i < bindings->count; i++) {
        struct hn_word_list *list =
            (struct hn_word_list *)hn_export_words(export, bindings->names[i]);
        bool is_word = bindings->values[i].type == HN_WORD;
        *known = *known && is_word == (list != NULL);
        enum hn_status status =
            is_word && list != NULL ? hn_word_list_add(list, bindings->values[i].word, err) : HN_OK;
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static bool has_names(const struct hn_bindings *bindings, char *const *names, size_t count)
{
    bool all = bindings->count == count;
    for (size_t i = 0; i < count && all; i++)
        all = hn_bindings_get(bindings, names[i]) != NULL;
    return all;
}

enum hn_status hn_export_is_compatible(const struct hn_export *export,
                                       const struct hn_tuned *result, bool *fits,
                                       struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    const struct hn_tuned *first = export->results[0];
    const struct hn_bindings *point = &result->best.point;
    const struct hn_bindings *problem = &result->identity.problem;
    if (plan == NULL) {
        *fits =
            same_names(point, &first->best.point) && same_names(problem, &first->identity.problem);
        return HN_OK;
    }
    *fits = has_names(point, plan->parameters, plan->parameter_count) &&
            has_names(problem, plan->problem, plan->problem_count);
    enum hn_status status = *fits ? add_words(export, point, fits, err) : HN_OK;
    return status == HN_OK && *fits ? add_words(export, problem, fits, err) : status;
}

static enum hn_status none_is_compatible(const struct hn_export *export, struct hn_error *err)
{
    struct hn_text found = {0};
    hn_bindings_append(&found, &export->results[0]->identity.problem);
    hn_text_append(&found, ": ");
    hn_bindings_append(&found, &export->results[0]->best.point);
    hn_fail(err, HN_ENOTFOUND,
            "nothing of '%s' was tuned with the parameters and problem values of its config; found "
            "%s",
            export->kernel, found.failed ? "" : found.data);
    hn_text_finish(&found);
    return HN_ENOTFOUND;
}

enum hn_status hn_export_drop_incompatible(struct hn_export *export, struct hn_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < export->result_count; i++) {
        const struct hn_tuned *result = export->results[i];
        bool fits = false;
        enum hn_status status = hn_export_is_compatible(export, result, &fits, err);
        if (status != HN_OK)
            return status;
        if (fits)
            export->results[kept++] = result;
        else
            export->left_out++;
    }
    if (kept == 0)
        return none_is_compatible(export, err);
    export->result_count = kept;
    return HN_OK;
}

/* What makes the code of a result: its point, the problem values that the template sees as
 * constants, and the compile options. */
static enum hn_status make_key(const struct hn_export *export, const struct hn_tuned *tuned,
                               char **key_text, struct hn_error *err)
{
    struct hn_text key = {0};
    struct hn_source source = {0};
    enum hn_status status = hn_export_make_source(export, tuned, &source, err);
    if (status != HN_OK)
        return status;
    hn_bindings_append(&key, &tuned->best.point);
    for (size_t i = 0; i < tuned->identity.problem.count; i++) {
        const char *name = tuned->identity.problem.names[i];
        const struct hn_value *value = &tuned->identity.problem.values[i];
        if (!hn_plan_is_frozen(export->plan, &tuned->best.point, name, value))
            continue;
        hn_text_printf(&key, " %s=", name);
        hn_value_append(&key, value);
    }
    for (size_t i = 0; i < source.option_count; i++)
        hn_text_printf(&key, " %s", source.options[i]);
    hn_source_finish(&source);
    *key_text = hn_text_take(&key);
    return *key_text == NULL ? hn_fail_memory(err) : HN_OK;
}

/* The configuration with that key; a new one takes it over. */
static size_t find_configuration(struct hn_export *export, char **keys, char *key,
                                 const struct hn_tuned *tuned)
{
    for (size_t i = 0; i < export->count; i++) {
        if (strcmp(keys[i], key) != 0)
            continue;
        free(key);
        return i;
    }
    keys[export->count] = key;
    export->configs[export->count] = tuned;
    return export->count++;
}

static enum hn_status add_fallback(struct hn_export *export, struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    export->body_count = export->count;
    if (plan == NULL || !has_names(&plan->defaults, plan->parameters, plan->parameter_count))
        return HN_OK;
    export->fallback = calloc(1, sizeof *export->fallback);
    if (export->fallback == NULL)
        return hn_fail_memory(err);
    *export->fallback = *export->configs[0];
    export->fallback->best.point = plan->defaults;
    export->configs[export->body_count++] = export->fallback;
    return HN_OK;
}

static enum hn_status number_one(struct hn_export *export, char **keys,
                                 const struct hn_tuned *tuned, size_t *config, struct hn_error *err)
{
    char *key = NULL;
    enum hn_status status = make_key(export, tuned, &key, err);
    if (status == HN_OK)
        *config = find_configuration(export, keys, key, tuned);
    return status;
}

enum hn_status hn_export_number(struct hn_export *export, struct hn_error *err)
{
    struct hn_export_family *family = export->family;
    size_t most = export->result_count + (family == NULL ? 0 : family->row_count);
    char **keys = calloc(most, sizeof *keys);
    enum hn_status status = HN_OK;
    export->configs = calloc(most + 1, sizeof *export->configs);
    export->config_of = calloc(export->result_count, sizeof *export->config_of);
    if (keys == NULL || export->configs == NULL || export->config_of == NULL)
        status = hn_fail_memory(err);
    for (size_t i = 0; i < export->result_count && status == HN_OK; i++) {
        const struct hn_tuned *tuned = export->results[i];
        if (export->plan != NULL) {
            status = number_one(export, keys, tuned, &export->config_of[i], err);
            continue;
        }
        export->config_of[i] = export->count;
        export->configs[export->count++] = tuned;
    }
    for (size_t i = 0; family != NULL && i < family->row_count && status == HN_OK; i++)
        status = number_one(export, keys, &family->rows[i], &family->config_of[i], err);
    for (size_t i = 0; keys != NULL && i < export->count; i++)
        free(keys[i]);
    free(keys);
    return status == HN_OK ? add_fallback(export, err) : status;
}
