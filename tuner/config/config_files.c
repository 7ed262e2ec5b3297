/* SPDX-License-Identifier: MIT */
#include "tuner/config/config_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/plan/contents.h"
#include "runtime/plan/launch.h"
#include "runtime/plan/option_list.h"
#include "tuner/config/config_parts.h"

void hn_config_check_data(const struct hn_config *config, size_t problem, struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    struct hn_value *values HN_FREED = NULL;
    struct hn_plan_files files HN_ENDED_BY(hn_plan_files_finish) = {0};
    struct hn_error reason = {0};
    if (hn_failed(err) || plan->template_path == NULL)
        return;
    if (hn_plan_list_files(plan, &config->problems[problem], &files, &reason) == HN_OK)
        hn_plan_values(plan, &config->problems[problem], &plan->defaults, &values, &reason);
    for (size_t i = 0; i < files.count && !hn_failed(&reason); i++) {
        const struct hn_argument *argument = &plan->arguments[files.items[i].argument];
        int64_t count = 0;
        FILE *stream;
        if (hn_expression_integer(argument->count, values, &count, &reason) &&
            hn_data_file_open(files.items[i].path, argument->element,
                              (uint64_t)count * argument->lanes, &stream, &reason) == HN_OK)
            fclose(stream);
        else
            hn_fail(err, HN_ECONFIG, "%s: argument '%s': %.3000s", config->path, argument->name,
                    reason.message);
    }
    if (!hn_failed(err) && hn_failed(&reason))
        hn_fail(err, HN_ECONFIG, "%s: %.3000s", config->path, reason.message);
}

enum hn_status hn_config_check_files(const struct hn_config *config, struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    const char *const paths[] = {plan->template_path, plan->reference.template_path};
    hn_error_init(err);
    if (plan->template_path == NULL)
        return hn_fail(err, HN_ECONFIG,
                       "%s: there is no 'template', so there is nothing to compile; only `hone "
                       "space` works with such a config",
                       config->path);
    for (size_t i = 0; i < 2 && !hn_failed(err); i++)
        if (paths[i] != NULL && access(paths[i], R_OK) != 0)
            hn_fail(err, HN_ECONFIG, "%s: template %s cannot be read: %s", config->path, paths[i],
                    strerror(errno));
    return err->status;
}

/* A name may be pasted together by the preprocessor, stand in the string of a _Pragma, or come from
 * a folder that an option names. */
static bool may_hide_names(const struct hn_plan *plan, const struct hn_template *template)
{
    bool hides = false;
    for (size_t i = 0; i < template->file_count && !hides; i++)
        hides = strstr(template->files[i].text, "##") != NULL ||
                strstr(template->files[i].text, "_Pragma") != NULL;
    for (size_t i = 0; i < plan->option_count && !hides; i++)
        hides = hn_option_value(plan->options[i].text, "include-path") != NULL;
    return hides;
}

/* The last name before template arguments: "matmul" of "&mine::matmul<TILE>". length 0: it has
 * another form. */
static const char *name_of(const char *entry, size_t *length)
{
    const char *name = entry;
    *length = 0;
    for (const char *at = entry; *at != '\0' && *at != '<';) {
        size_t here = hn_word_length(at);
        if (here > 0) {
            name = at;
            *length = here;
        } else if (strchr("&: ", *at) == NULL) {
            *length = 0;
            return entry;
        }
        at += here > 0 ? here : 1;
    }
    return name;
}

static bool has_word(const struct hn_template *template, const char *word, size_t length)
{
    bool has = false;
    for (size_t i = 0; !has && i < template->file_count; i++)
        has = hn_text_find_word(template->files[i].text, word, length);
    return has;
}

static void check_entries(const struct hn_config *config, const struct hn_template *template,
                          const struct hn_step *steps, size_t count, struct hn_error *err)
{
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        size_t length = 0;
        const char *entry = steps[i].entry;
        const char *name = entry != NULL ? name_of(entry, &length) : "";
        if (length > 0 && !has_word(template, name, length) &&
            !may_hide_names(config->plan, template))
            hn_fail(err, HN_ECONFIG,
                    "%s: entry '%s': neither '%s' nor what it includes with quotes has the name "
                    "'%.*s'; expected the name of a kernel there",
                    config->path, entry, template->files->name, (int)length, name);
    }
}

/* Behind "#ifndef NAME", "#define NAME" and their like, with which a template gives a default and
 * does nothing else; the same place where there is none. */
static const char *skip_default(const char *at)
{
    static const char *const words[] = {"ifndef", "define", "ifdef", "undef"};
    for (size_t i = 0; *at == '#' && i < sizeof words / sizeof *words; i++) {
        const char *name = hn_code_directive(at, at + strcspn(at, "\n"), words[i]);
        if (name != NULL)
            return name + hn_word_length(name);
    }
    return at;
}

/* A token `name`, or name_word, as the prelude has it. code: not in comments and strings. */
static bool occurs(const char *text, const char *name, bool code)
{
    size_t length = strlen(name);
    for (const char *behind; *text != '\0'; text = behind) {
        enum hn_code kind = HN_CODE_WORD;
        size_t token = hn_word_length(text);
        behind = code ? skip_default(text) : text;
        if (behind == text)
            behind = code ? hn_code_behind(text, &kind) : text + (token > 0 ? token : 1);
        if (kind == HN_CODE_WORD && token >= length && strncmp(text, name, length) == 0 &&
            (token == length || text[length] == '_'))
            return true;
    }
    return false;
}

char *hn_config_find_unused(const struct hn_config *config)
{
    static const char *const without_effect[] = {
        "kernel", "template",    "parameters", "problem",   "freeze",  "words", "defaults",
        "config", "constraints", "override",   "objective", "metrics", NULL};
    struct hn_template template HN_ENDED_BY(hn_template_finish) = {0};
    struct hn_text names = {0};
    if (config->plan->template_path == NULL || config->run != NULL ||
        hn_template_load(config->plan->template_path, &template, config->plan, NULL) != HN_OK)
        return NULL;
    hn_text_append(&names, "");
    json_t *json = hn_needed(hn_plan_to_json(config->plan));
    bool judges = strcmp(config->plan->objective, "time") != 0 && !hn_plan_weighs(config->plan);
    for (const char *const *key = without_effect; *key != NULL; key++)
        if (!judges || strcmp(*key, "metrics") != 0)
            json_object_del(json, *key);
    char *launch HN_FREED = hn_needed(hn_json_text(json, JSON_COMPACT));
    bool hidden = may_hide_names(config->plan, &template);
    for (size_t i = 0; !hidden && i < config->parameter_count; i++) {
        const struct hn_config_parameter *parameter = &config->parameters[i];
        bool used = parameter->count <= 1 || occurs(launch, parameter->name, false);
        for (size_t t = 0; t < template.file_count && !used; t++)
            used = occurs(template.files[t].text, parameter->name, true);
        if (!used)
            hn_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", parameter->name);
    }
    return hn_needed(hn_text_take(&names));
}

/* The hash of all files that arguments are filled from and compared with, after the plan's. */
static void add_data_hash(const struct hn_plan *plan, const struct hn_bindings *problem,
                          struct hn_hash *hash, struct hn_error *err)
{
    struct hn_hash own;
    struct hn_plan_files files HN_ENDED_BY(hn_plan_files_finish) = {0};
    hn_plan_list_files(plan, problem, &files, err);
    for (size_t i = 0; i < files.count && !hn_failed(err); i++)
        if (hn_data_file_hash(files.items[i].path, &own, err) == HN_OK)
            *hash = hn_hash_join(hash, &own);
}

/* A program that reads the numbers of words, and none of them by its name, is another one where the
 * list is another. */
static void add_words_hash(const struct hn_plan *plan, const struct hn_template *template,
                           struct hn_hash *hash)
{
    HN_EACH_OF(list, plan->word_lists, plan->word_list_count) {
        const size_t length = strlen(list->name);
        bool by_number = plan->program == NULL && has_word(template, list->name, length);
        struct hn_text names HN_ENDED_BY(hn_text_finish) = {0};
        for (size_t i = 0; i < plan->step_count && !by_number; i++)
            by_number = plan->steps[i].entry != NULL &&
                        hn_text_find_word(plan->steps[i].entry, list->name, length);
        for (size_t i = 0; i < list->count && by_number; i++) {
            size_t before = names.length;
            hn_text_printf(&names, "%s_%s ", list->name, list->words[i]);
            by_number = !list->types && !names.failed &&
                        !has_word(template, names.data + before, names.length - before - 1);
        }
        struct hn_hash own = hn_hash_string(by_number ? names.data : "");
        *hash = by_number ? hn_hash_join(hash, &own) : *hash;
    }
}

static void make_version(const struct hn_plan *plan, const struct hn_bindings *problem,
                         const struct hn_template *template, const struct hn_template *reference,
                         struct hn_version *version, struct hn_error *err)
{
    struct hn_hash plan_hash = hn_plan_hash(plan);
    if (reference->files != NULL)
        plan_hash = hn_hash_join(&plan_hash, &reference->hash);
    add_words_hash(plan, template, &plan_hash);
    add_data_hash(plan, problem, &plan_hash, err);
    struct hn_hash options = hn_plan_options_hash(plan);
    memcpy(version->template_hash, template->hash.hex, sizeof options.hex);
    memcpy(version->options_hash, options.hex, sizeof options.hex);
    memcpy(version->plan_hash, plan_hash.hex, sizeof options.hex);
    version->protocol = HN_MEASURING_PROTOCOL;
}

void hn_config_load_templates(const struct hn_config *config, const struct hn_plan *plan,
                              const struct hn_bindings *problem, struct hn_template *template,
                              struct hn_template *reference, struct hn_version *version,
                              struct hn_error *err)
{
    if (!hn_failed(err) && hn_config_check_files(config, err) == HN_OK &&
        hn_template_load(plan->template_path, template, plan, err) == HN_OK &&
        plan->reference.kind == HN_REFERENCE_TEMPLATE)
        hn_template_load(plan->reference.template_path, reference, plan, err);
    if (!hn_failed(err) && version != NULL)
        make_version(plan, problem, template, reference, version, err);
}

enum hn_status hn_config_check_sources(const struct hn_config *config, struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    struct hn_template template HN_ENDED_BY(hn_template_finish) = {.files = NULL};
    struct hn_template reference HN_ENDED_BY(hn_template_finish) = {.files = NULL};
    hn_error_init(err);
    if (plan->template_path == NULL)
        return HN_OK;
    hn_config_load_templates(config, plan, NULL, &template, &reference, NULL, err);
    check_entries(config, &template, plan->steps, plan->step_count, err);
    check_entries(config, &reference, &plan->reference.step, reference.files != NULL, err);
    for (size_t i = 0; i < config->problem_count; i++)
        hn_config_check_data(config, i, err);
    return err->status;
}

enum hn_status hn_config_keep(const struct hn_config *config, const struct hn_bindings *problem,
                              struct hn_config_kept *kept, struct hn_error *err)
{
    struct hn_plan *own = NULL;
    struct hn_template template HN_ENDED_BY(hn_template_finish) = {.files = NULL};
    struct hn_template reference HN_ENDED_BY(hn_template_finish) = {.files = NULL};
    *kept = (struct hn_config_kept){.plan.json = NULL};
    const struct hn_bindings *first = &config->problems[0];
    bool is_of_config = problem->count == first->count;
    for (size_t i = 0; i < first->count && is_of_config; i++) {
        const struct hn_value *value = hn_bindings_get(problem, first->names[i]);
        is_of_config =
            value != NULL && (value->type == HN_WORD) == (first->values[i].type == HN_WORD);
    }
    problem = is_of_config ? problem : first;
    hn_config_make_plan(config, problem, &own, err);
    const struct hn_plan *plan = own != NULL ? own : config->plan;
    hn_config_load_templates(config, plan, problem, &template, &reference, &kept->version, err);
    if (!hn_failed(err)) {
        kept->plan = (struct hn_stored_plan){hn_needed(hn_plan_to_json(plan)), template.files,
                                             template.file_count};
        template.files = NULL;
        template.file_count = 0;
    }
    hn_plan_destroy(own);
    return err->status;
}

bool hn_config_is_plan(json_t *own, const json_t *kept, const char *const *keys)
{
    struct hn_plan *plan = NULL, *other = NULL;
    size_t i;
    json_t *argument;
    json_array_foreach(json_object_get(own, "arguments"), i, argument)
    {
        const json_t *given = json_array_get(json_object_get(kept, "arguments"), i);
        for (const char *const *key = keys; *key != NULL; key++)
            json_object_set(argument, *key, json_object_get(given, *key));
    }
    json_object_set(own, "reference", json_object_get(kept, "reference"));
    bool same = hn_plan_from_json(own, &plan, NULL) == HN_OK &&
                hn_plan_from_json(kept, &other, NULL) == HN_OK &&
                strcmp(hn_plan_hash(plan).hex, hn_plan_hash(other).hex) == 0;
    hn_plan_destroy(plan);
    hn_plan_destroy(other);
    return same;
}

bool hn_config_has_changed(const struct hn_config *config, struct hn_store *store,
                           const struct hn_identity *identity, const struct hn_version *version)
{
    struct hn_config_kept kept;
    struct hn_stored_plan plan HN_ENDED_BY(hn_stored_plan_free) = {0};
    struct hn_error ignored;
    if (strcmp(config->plan->kernel, identity->kernel) != 0 ||
        !hn_version_knows_template(version) ||
        hn_config_keep(config, &identity->problem, &kept, &ignored) != HN_OK)
        return false;
    if (store != NULL && !hn_version_same_source(&kept.version, version) &&
        hn_store_get_plan(store, identity->kernel, version, &plan, &ignored) == HN_OK &&
        json_is_true(json_object_get(plan.json, "given")) &&
        hn_config_is_plan(kept.plan.json, plan.json, (const char *const[]){"fill", "value", NULL}))
        memcpy(kept.version.plan_hash, version->plan_hash, sizeof version->plan_hash);
    bool changed = !hn_version_same_source(&kept.version, version);
    hn_stored_plan_free(&kept.plan);
    return changed;
}

/* Whether lists of values or constraints exclude a point. Lists that depend on the problem are
 * those of the config's own problems, and tell nothing of others. */
static bool excludes(const struct hn_config *config, const struct hn_bindings *problem,
                     const struct hn_bindings *point)
{
    struct hn_value *values HN_FREED = NULL;
    bool out = hn_plan_values(config->plan, problem, point, &values, NULL) == HN_OK &&
               !hn_plan_allows_values(config->plan, values);
    HN_EACH_OF(parameter, config->parameters, config->parameter_count) {
        const struct hn_value *value = hn_bindings_get(point, parameter->name);
        out |= value != NULL && parameter->recipe == NULL &&
               hn_config_find_value(parameter->values, parameter->count, value) == NULL;
    }
    return out;
}

void hn_config_mark_tuned(const struct hn_config *config, struct hn_store *store,
                          struct hn_tuned *tuned)
{
    const struct hn_identity *identity = &tuned->identity;
    tuned->stale |= hn_config_has_changed(config, store, identity, &tuned->version) ||
                    (strcmp(config->plan->kernel, identity->kernel) == 0 &&
                     excludes(config, &identity->problem, &tuned->best.point));
}

void hn_config_mark_changed(struct hn_store *store, struct hn_tuned_list *list)
{
    struct hn_config *config = NULL; /* that of the last one, mostly that of the next */
    HN_EACH(tuned, *list) {
        struct hn_stored_plan plan HN_ENDED_BY(hn_stored_plan_free) = {0};
        if (hn_store_get_plan(store, tuned->identity.kernel, &tuned->version, &plan, NULL) != HN_OK)
            continue;
        const char *path = json_string_value(json_object_get(plan.json, "config"));
        if (config != NULL && (path == NULL || strcmp(config->path, path) != 0)) {
            hn_config_destroy(config);
            config = NULL;
        }
        if (config != NULL || (path != NULL && hn_config_load(path, NULL, &config, NULL) == HN_OK))
            hn_config_mark_tuned(config, store, tuned);
    }
    hn_config_destroy(config);
}
