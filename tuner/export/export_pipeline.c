/* SPDX-License-Identifier: MIT */
#include "runtime/plan/flow.h"
#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* A plan with a pipeline: the header says how it was tuned and has the template's macros, and
 * leaves copies, streams and launches to the program. */

static enum hn_status make_launch(const struct hn_export *export, struct hn_launch *launch,
                                  struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    return hn_launch_make(export->plan, &tuned->identity.problem, &tuned->best.point, launch, err);
}

static void append_arguments(const struct hn_plan *plan, const size_t *arguments, size_t count,
                             struct hn_text *text)
{
    for (size_t i = 0; i < count; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "" : ", ", plan->arguments[arguments[i]].name);
}

/* "    upload: x, y, table (whole)" */
static void append_list(const struct hn_plan *plan, const char *title, unsigned char part,
                        unsigned char without, struct hn_text *text)
{
    const char *separator = "";
    for (size_t i = 0; i < plan->argument_count; i++) {
        unsigned char parts = plan->pipeline->parts[i];
        if ((parts & part) == 0 || (parts & without) != 0)
            continue;
        if (separator[0] == '\0')
            hn_text_printf(text, "    %s: ", title);
        hn_text_printf(text, "%s%s%s", separator, plan->arguments[i].name,
                       (parts & HN_PART_CUT) != 0 ? "" : " (whole)");
        separator = ", ";
    }
    hn_text_append(text, separator[0] == '\0' ? "" : "\n");
}

static void append_dimensions(struct hn_expression *const *dimensions, struct hn_text *text)
{
    for (size_t i = 0; i < 3 && dimensions[i] != NULL; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "" : ", ", hn_expression_text(dimensions[i]));
}

static void append_copies(const struct hn_plan *plan, const struct hn_flow *flow, size_t before,
                          struct hn_text *text)
{
    for (size_t i = 0; i < plan->pipeline->copy_count; i++) {
        const struct hn_copy_step *copy = &plan->pipeline->copies[i];
        if (copy->before != before || !flow->copies[i])
            continue;
        hn_text_printf(text, "    copy %s: ", copy->to_host ? "to host" : "to device");
        append_arguments(plan, copy->arguments, copy->argument_count, text);
        hn_text_append(text, "\n");
    }
}

/* "    gather, grid ceil_div(chunk_count, 128), block 128: x, sums, radius" */
static void append_steps(const struct hn_plan *plan, const struct hn_launch *launch,
                         struct hn_text *text)
{
    size_t place = 0;
    for (size_t s = 0; s < launch->step_count; s++) {
        const struct hn_step *step = launch->steps[s].step;
        for (; place <= (size_t)(step - plan->steps); place++)
            append_copies(plan, launch->flow, place, text);
        hn_text_printf(text, "    %s, grid ", step->entry);
        append_dimensions(step->geometry.grid, text);
        hn_text_append(text, ", block ");
        append_dimensions(step->geometry.block, text);
        if (step->geometry.shared_bytes != NULL)
            hn_text_printf(text, ", %s bytes of dynamic shared memory",
                           hn_expression_text(step->geometry.shared_bytes));
        hn_text_append(text, ": ");
        append_arguments(plan, step->arguments, step->argument_count, text);
        hn_text_append(text, "\n");
    }
    for (; place <= plan->step_count; place++)
        append_copies(plan, launch->flow, place, text);
}

void hn_export_describe_pipeline(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    struct hn_text *text = writer->text;
    struct hn_launch launch;
    char cut[128];
    hn_export_note(writer, make_launch(writer->export, &launch, writer->err));
    if (writer->status != HN_OK)
        return;
    hn_flow_describe(launch.flow, cut, sizeof cut);
    hn_text_printf(text,
                   "The plan is a pipeline from host memory to host memory, which this file "
                   "does not launch:\n\n    %s\n",
                   cut);
    for (size_t i = 0; i <= HN_PIPELINE_PADDING; i++)
        if (plan->pipeline->fields[i] != NULL)
            hn_text_printf(text, "    %s: %s\n", hn_pipeline_keys[i],
                           hn_expression_text(plan->pipeline->fields[i]));
    append_list(plan, "upload", HN_PART_UPLOAD, 0, text);
    append_list(plan, "padded", HN_PART_PADDED, 0, text);
    append_list(plan, "download", HN_PART_DOWNLOAD, 0, text);
    append_list(plan, "cut, on the device", HN_PART_CUT, HN_PART_UPLOAD | HN_PART_DOWNLOAD, text);
    hn_text_append(text, "\nFor each chunk, with chunk_begin, chunk_count and chunk_index in units "
                         "of what is cut, behind its upload:\n\n");
    append_steps(plan, &launch, text);
    hn_launch_finish(&launch);
}

void hn_export_append_pipeline(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    struct hn_text *text = writer->text;
    struct hn_launch launch;
    if (export->plan->pipeline == NULL)
        return;
    hn_export_note(writer, make_launch(export, &launch, writer->err));
    if (writer->status != HN_OK)
        return;
    const struct hn_flow *flow = launch.flow;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"OVER", flow->over},
        {"HALO", flow->halo},
        {"PADDING", flow->padding},
        {"CHUNKS", (int64_t)flow->chunk_count},
        {"STREAMS", (int64_t)flow->streams},
        {"PIECES", flow->pieces},
        {"BREADTH_FIRST", flow->order == HN_BREADTH_FIRST},
    };
    hn_text_printf(text, "/* The pipeline as it was tuned for the problem of %s_CONFIG. */\n",
                   export->upper);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hn_text_printf(text, "#define %s_PIPELINE_%s %lld\n", export->upper, numbers[i].name,
                       (long long)numbers[i].value);
    hn_text_printf(text, "#define %s_PIPELINE_HOST_MEMORY \"%s\"\n\n", export->upper,
                   hn_host_memory_names[flow->host_memory]);
    hn_launch_finish(&launch);
}

enum hn_status hn_export_refuse_pipeline(const struct hn_export *export, struct hn_error *err)
{
    enum hn_status status = hn_export_need_plan(export, err);
    if (status == HN_OK && export->plan->pipeline != NULL)
        return hn_fail(
            err, HN_ECONFIG,
            "the pipeline of '%s' spans host and device, which a header does not launch; "
            "export the header alone, source or cubin",
            export->kernel);
    return status;
}
