/* SPDX-License-Identifier: MIT */
#include "tuner/config/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"

void hn_capture_close(struct hn_capture *capture)
{
    if (capture == NULL)
        return;
    if (capture->folder.path[0] != '\0')
        hn_scratch_remove(&capture->folder);
    if (capture->stream != NULL)
        fclose(capture->stream);
    hn_fields_finish(&hn_capture_structure, &capture->head);
    free(capture);
}

enum hn_status hn_capture_open(const char *path, struct hn_capture **capture, struct hn_error *err)
{
    struct hn_capture *made = *capture = hn_need(1, sizeof *made);
    const char *reason = NULL;
    hn_error_init(err);
    made->path = path;
    made->stream = hn_file_stream(path, &reason);
    if (made->stream == NULL)
        hn_fail(err, HN_ERUN, "'%s' cannot be read: %s", path, reason);
    else
        hn_capture_read_head(made->stream, path, &made->head, err);
    return err->status;
}

/* The argument that is a parameter of the kernel, "p3" the fourth; NULL: none is. */
static struct hn_argument *find_parameter(const struct hn_step *step, struct hn_plan *plan,
                                          const char *name)
{
    char *end = NULL;
    size_t place = name[0] == 'p' ? strtoul(name + 1, &end, 10) : 0;
    if (end == NULL || *end != '\0' || place >= step->argument_count)
        return NULL;
    size_t argument = step->arguments[place];
    bool structure = plan->arguments[argument].role == HN_ROLE_VALUE;
    return &plan->arguments[structure ? hn_plan_source(plan, argument) : argument];
}

/* An argument of the plan that `fits`; NULL: the capture does not belong to the config, or has a
 * parameter that it takes nothing of. */
static struct hn_argument *find_argument(const struct hn_capture *capture, struct hn_plan *plan,
                                         const char *name,
                                         bool (*fits)(const struct hn_argument *argument),
                                         struct hn_error *err)
{
    struct hn_argument *found = capture->step != NULL
                                    ? find_parameter(capture->step, plan, name)
                                    : (struct hn_argument *)hn_plan_find_argument(plan, name);
    if (found != NULL && fits(found))
        return found;
    if (capture->step == NULL && !hn_failed(err))
        hn_fail(err, HN_ECONFIG,
                "'%s' has an argument '%s' that does not fit the config: it was captured with "
                "another one",
                capture->path, name);
    return NULL;
}

static bool is_scalar(const struct hn_argument *argument)
{
    return argument->value != NULL;
}

/* What the kernel was passed and the config says to be a value of the problem is one. */
static void set_scalars(const struct hn_capture *capture, struct hn_config *config,
                        struct hn_error *err)
{
    const struct hn_bindings *scalars = &capture->head.scalars;
    struct hn_plan *plan = config->plan;
    struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = {0};
    for (size_t i = 0; i < scalars->count && !hn_failed(err); i++) {
        struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
        struct hn_value value = scalars->values[i];
        struct hn_argument *argument =
            find_argument(capture, plan, scalars->names[i], is_scalar, err);
        if (argument == NULL)
            continue;
        const char *written = hn_expression_text(argument->value);
        if (capture->step != NULL)
            value = hn_element_value((uint64_t)value.integer, argument->element);
        if (capture->step != NULL &&
            hn_text_is_among(written, (const char *const *)plan->problem, plan->problem_count)) {
            hn_bindings_set(&problem, written, &value, err);
            continue;
        }
        hn_value_append(&text, &value);
        hn_expression_destroy(argument->value);
        argument->value = NULL;
        hn_expression_parse(hn_needed(text.data), &argument->value, err);
    }
    if (!hn_failed(err))
        hn_config_take_problem(config, &problem, err);
}

char *hn_capture_contents(const struct hn_capture *capture, const struct hn_capture_part *part,
                          struct hn_error *err)
{
    uLongf unpacked = part->bytes;
    unsigned char *packed HN_FREED = hn_need(part->packed, 1), *contents = hn_need(part->bytes, 1);
    if (fseek(capture->stream, (long)part->offset, SEEK_SET) != 0 ||
        fread(packed, 1, part->packed, capture->stream) != part->packed ||
        uncompress(contents, &unpacked, packed, part->packed) != Z_OK || unpacked != part->bytes)
        hn_fail(err, HN_EFORMAT, "'%s' is damaged", capture->path);
    return (char *)contents;
}

/* The path of a file, which the capture removes, with what the argument takes of the part: a
 * pointer reaches to the end of its allocation. The caller frees it. */
static char *unpack(struct hn_capture *capture, const struct hn_config *config,
                    const struct hn_capture_part *part, const struct hn_argument *argument,
                    struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    struct hn_value *values HN_FREED = NULL;
    uint64_t wanted = part->bytes;
    if (capture->step != NULL &&
        hn_plan_values(plan, &config->problems[0], &plan->defaults, &values, err) == HN_OK)
        hn_argument_buffer_bytes(argument, values, &wanted, err);
    char *file = NULL;
    char *contents HN_FREED = hn_failed(err) ? NULL : hn_capture_contents(capture, part, err);
    if (asprintf(&file, "%s/%zu", capture->folder.path, part->offset) < 0)
        hn_needed(NULL);
    if (!hn_failed(err))
        hn_file_write(file, contents, wanted < part->bytes ? wanted : part->bytes, err);
    return file;
}

static void set_inputs(struct hn_capture *capture, const struct hn_config *config,
                       struct hn_error *err)
{
    for (size_t i = 0; i < capture->head.input_count && !hn_failed(err); i++) {
        const struct hn_capture_part *part = &capture->head.inputs[i];
        struct hn_argument *argument =
            find_argument(capture, config->plan, part->name, hn_argument_is_filled, err);
        if (argument == NULL)
            continue;
        hn_fields_finish(&hn_fill_structure, &argument->fill);
        argument->fill = (struct hn_fill){.kind = HN_FILL_FILE,
                                          .file = unpack(capture, config, part, argument, err)};
    }
}

/* In place of the config's own, one of all that is compared. */
static void set_reference(struct hn_capture *capture, const struct hn_config *config,
                          struct hn_error *err)
{
    struct hn_plan *plan = config->plan;
    size_t compared = 0;
    if ((capture->head.expected_count == 0 && capture->step == NULL) || hn_failed(err))
        return;
    hn_reference_finish(&plan->reference);
    for (size_t i = 0; i < capture->head.expected_count && !hn_failed(err); i++) {
        const struct hn_capture_part *part = &capture->head.expected[i];
        const struct hn_argument *argument =
            find_argument(capture, plan, part->name, hn_argument_is_compared, err);
        if (argument == NULL)
            continue;
        char *file HN_FREED = unpack(capture, config, part, argument, err);
        hn_reference_add_file(&plan->reference, (size_t)(argument - plan->arguments), file, err);
    }
    for (size_t i = 0; i < plan->argument_count; i++)
        compared += hn_argument_is_compared(&plan->arguments[i]);
    if (!hn_failed(err) && plan->reference.file_count != compared)
        hn_fail(err, HN_ECONFIG,
                "'%s' has %zu of the %zu results that the config compares: it was captured "
                "with another one, or they lie behind pointers in structures",
                capture->path, plan->reference.file_count, compared);
}

enum hn_status hn_capture_apply(struct hn_capture *capture, const struct hn_bindings *given,
                                struct hn_config *config, struct hn_error *err)
{
    struct hn_plan *plan = config->plan;
    const char *kernel = capture->head.kernel;
    hn_error_init(err);
    plan->given = true;
    for (size_t i = 0; capture->head.positional && i < plan->step_count; i++)
        if (capture->step == NULL && hn_capture_is_of(kernel, plan->steps[i].entry))
            capture->step = &plan->steps[i];
    if (capture->head.positional ? capture->step == NULL : strcmp(kernel, plan->kernel) != 0)
        hn_fail(err, HN_ECONFIG, "'%s' is of kernel '%s', and %s is of '%s'", capture->path, kernel,
                config->path, plan->kernel);
    if (!hn_failed(err))
        hn_config_take_problem(config, &capture->head.problem, err);
    set_scalars(capture, config, err);
    char *captured HN_FREED = hn_needed(hn_bindings_text(&config->problems[0]));
    if (!hn_failed(err))
        hn_config_take_problem(config, given, err);
    char *asked HN_FREED = hn_needed(hn_bindings_text(&config->problems[0]));
    if (!hn_failed(err) && strcmp(asked, captured) != 0)
        hn_fail(err, HN_EUSAGE, "-p: '%s' was captured with %s", capture->path, captured);
    if (!hn_failed(err) && hn_scratch_make(&capture->folder, err) != HN_OK)
        capture->folder.path[0] = '\0';
    set_inputs(capture, config, err);
    set_reference(capture, config, err);
    return hn_failed(err) ? err->status : hn_plan_bind(plan, NULL, err);
}
