/* SPDX-License-Identifier: MIT */
#include "tuner/report/edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cache/record/record_json.h"
#include "runtime/plan/launch.h"

static const double least_difference = 1.02;

struct edge {
    const char *parameter;
    bool highest; /* else the least */
    struct hn_value value;
    struct hn_value behind; /* the next one inwards */
    double ratio;         /* of its time to the best's; at least that where it was stopped early */
    struct hn_value next; /* what would follow */
    bool compiles;        /* it was tried; else nobody knows whether the kernel can have it */
};

struct view {
    const struct hn_task *task;
    const struct hn_device *device;
    const struct hn_record *best;
    hn_edge_lookup *lookup;
    void *context;
    const struct hn_edge_compiler *compiler;
};

bool hn_edge_continue(const struct hn_value *edge, const struct hn_value *behind,
                      const struct hn_value *third, struct hn_value *next)
{
    double a = hn_value_number(edge);
    double b = hn_value_number(behind);
    double c = hn_value_number(third);
    bool whole = edge->type == HN_INTEGER;
    bool geometric = c != 0 && b != 0 && fabs(a / b - b / c) < 1e-9 && a / b > 0;
    double value = geometric ? a * a / b : a + (a - b);
    if (a < b && a >= 0 && (a <= 1 || value <= 0))
        return false;
    if (whole && (value != floor(value) || fabs(value) > 9e15))
        return false;
    *next = whole ? hn_integer((int64_t)value) : hn_real(value);
    return true;
}

void hn_edge_time_of(const struct hn_record *record, struct hn_edge_time *time)
{
    const struct hn_timing *timing = &record->timing;
    bool bounded = record->outcome == HN_OUTCOME_SLOWER;
    *time = (struct hn_edge_time){
        .median_us = timing->median_us,
        .low_us = bounded ? timing->median_us : timing->low_us,
        .high_us = bounded ? (double)INFINITY : timing->high_us,
    };
}

static struct hn_bindings change(const struct view *view, const char *name,
                                 const struct hn_value *value)
{
    struct hn_bindings point = hn_need_bindings(&view->best->point, NULL);
    (void)hn_bindings_set(&point, name, value, NULL);
    return point;
}

static bool look_up(const struct view *view, const char *name, const struct hn_value *value,
                    struct hn_edge_time *time)
{
    struct hn_bindings point = change(view, name, value);
    bool found = view->lookup(view->context, &point, time);
    hn_bindings_finish(&point);
    return found;
}

/* Constraints and the device's limits, as far as they are known before compiling. */
static bool is_possible(const struct view *view, const char *name, const struct hn_value *value)
{
    struct hn_bindings point = change(view, name, value);
    struct hn_launch launch;
    struct hn_record record = {0};
    bool allows = false;
    const struct hn_plan *plan = view->task->plan;
    bool possible = hn_plan_allows(plan, view->task->problem, &point, &allows, NULL) == HN_OK &&
                    allows &&
                    hn_launch_make(plan, view->task->problem, &point, &launch, NULL) == HN_OK;
    if (possible) {
        possible = view->device == NULL || hn_launch_check(&launch, view->device, &record);
        hn_launch_finish(&launch);
    }
    hn_record_finish(&record);
    hn_bindings_finish(&point);
    return possible;
}

/* The point with the value is compiled, where that can be done. */
static bool does_compile(const struct view *view, struct edge *edge)
{
    if (view->compiler == NULL || view->compiler->compile == NULL)
        return true;
    struct hn_bindings point = change(view, edge->parameter, &edge->next);
    enum hn_compiles compiles =
        view->compiler->compile(view->compiler->context, view->task, &point);
    hn_bindings_finish(&point);
    edge->compiles = compiles == HN_COMPILES;
    return compiles != HN_COMPILES_NOT;
}

/* From the edge inwards: the next is worse beyond doubt, and the one behind it no better than that.
 */
static bool gets_worse(const struct view *view, const char *name, const struct hn_value *behind,
                       const struct hn_value *third, double *ratio)
{
    struct hn_edge_time best, next, far;
    hn_edge_time_of(view->best, &best);
    if (!look_up(view, name, behind, &next))
        return false;
    *ratio = next.median_us / best.median_us;
    return next.low_us > best.high_us && *ratio > least_difference &&
           (!look_up(view, name, third, &far) || far.high_us >= next.low_us);
}

static bool judge(const struct view *view, size_t parameter, const uint16_t *order, bool highest,
                  struct edge *edge)
{
    const struct hn_space *space = view->task->space;
    const char *name = hn_space_parameter_name(space, parameter);
    size_t last = hn_space_value_count(space, parameter) - 1;
    const struct hn_value *values[3];
    for (size_t i = 0; i < 3; i++)
        values[i] = hn_space_value(space, parameter, order[highest ? last - i : i]);
    const struct hn_value *now = hn_bindings_get(&view->best->point, name);
    if (now == NULL || !hn_value_equal(now, values[0]))
        return false;
    *edge = (struct edge){
        .parameter = name, .highest = highest, .value = *values[0], .behind = *values[1]};
    return hn_edge_continue(values[0], values[1], values[2], &edge->next) &&
           gets_worse(view, name, values[1], values[2], &edge->ratio) &&
           is_possible(view, name, &edge->next) && does_compile(view, edge);
}

/* At one of its ends. */
static bool find_edge(const struct view *view, size_t parameter, struct edge *edge)
{
    const struct hn_space *space = view->task->space;
    size_t count = hn_space_value_count(space, parameter);
    if (count < 3 || !hn_space_is_numeric(space, parameter))
        return false;
    uint16_t *order = hn_need(count, sizeof *order);
    hn_space_order_values(space, parameter, order);
    bool found =
        judge(view, parameter, order, true, edge) || judge(view, parameter, order, false, edge);
    free(order);
    return found;
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->ratio < y->ratio) - (x->ratio > y->ratio);
}

static json_t *edge_to_json(const struct edge *edge)
{
    struct hn_text text = {0};
    hn_text_printf(&text, "%s=", edge->parameter);
    hn_value_append(&text, &edge->value);
    hn_text_printf(&text, " is the %s of its values, and ", edge->highest ? "greatest" : "least");
    hn_value_append(&text, &edge->behind);
    hn_text_printf(&text, " takes %.*f%% longer: ", edge->ratio < 1.1 ? 1 : 0,
                   (edge->ratio - 1) * 100);
    hn_text_append(&text,
                   edge->compiles ? "try " : "try what lies beyond, if the kernel takes more");
    if (edge->compiles)
        hn_value_append(&text, &edge->next);
    json_t *json = json_pack(
        "{ss so so sf so sb ss*}", "name", edge->parameter, "value", hn_value_to_json(&edge->value),
        "behind", hn_value_to_json(&edge->behind), "ratio", edge->ratio, "next",
        hn_value_to_json(&edge->next), "compiles", edge->compiles, "text", text.data);
    hn_text_finish(&text);
    return json;
}

json_t *hn_edges_find(const struct hn_task *task, const struct hn_device *device,
                      const struct hn_record *best, hn_edge_lookup *lookup, void *context,
                      const struct hn_edge_compiler *compiler)
{
    const struct view view = {task, device, best, lookup, context, compiler};
    size_t parameters = hn_space_parameter_count(task->space), count = 0;
    struct edge *edges = hn_need(parameters, sizeof *edges);
    json_t *array = json_array();
    for (size_t p = 0; p < parameters && strcmp(task->plan->objective, "time") == 0; p++)
        count += find_edge(&view, p, &edges[count]);
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, edge_to_json(&edges[i]));
    free(edges);
    return array;
}
