/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* Loops within a block. A size is cut into parts by a product of parameters: the config's own
 * expressions name it (ceil_div(K, BK), N // TILE, N % WORD), or it is the threads of a block,
 * times such a part or times a small parameter. */

enum { MOST_ITEMS = 64 }; /* that one thread may be given */

struct finding {
    const struct hn_family_kernel *kernel;
    struct hn_family_edges *edges;
    const char *size;
    bool threads; /* each part that is found is to be multiplied by them */
};

static bool is_there(const struct hn_family_edges *edges, const struct hn_family_edge *edge)
{
    for (size_t i = 0; i < edges->count; i++) {
        const struct hn_family_edge *other = &edges->items[i];
        if (strcmp(other->size, edge->size) == 0 && other->threads == edge->threads &&
            strcmp(hn_expression_text(other->part), hn_expression_text(edge->part)) == 0)
            return true;
    }
    return false;
}

/* Adds a part that depends on parameters alone. A constant one is the threads' own. */
static void add_edge(const struct finding *finding, const char *part)
{
    const struct hn_plan *plan = finding->kernel->plan;
    const struct hn_scope scope = {(const char *const *)plan->names, plan->name_count, NULL, 0};
    struct hn_family_edge edge = {.size = finding->size, .threads = finding->threads};
    struct hn_error ignored;
    if (finding->edges->count == HN_EDGES_MOST ||
        hn_expression_parse(part, &edge.part, &ignored) != HN_OK)
        return;
    if (hn_expression_bind(edge.part, &scope, &ignored) == HN_OK &&
        hn_plan_problem_used(plan, edge.part) == NULL &&
        (finding->threads || hn_expression_slots(edge.part) > 0) &&
        !is_there(finding->edges, &edge))
        finding->edges->items[finding->edges->count++] = edge;
    else
        hn_expression_destroy(edge.part);
}

/* The operand at the start of a text: a name, a number, or what is in parentheses. */
static size_t operand_at(const char *text)
{
    size_t length = 0, depth = 0;
    if (*text != '(') {
        while (hn_is_word_char(text[length]))
            length++;
        return text[length] == '(' ? 0 : length;
    }
    do {
        depth += text[length] == '(';
        depth -= text[length] == ')';
        length++;
    } while (depth > 0 && text[length] != '\0');
    return length;
}

/* The part by which a size is cut at a place of a text behind its name; its length, or 0. */
static size_t part_behind(const char *text, bool in_ceil_div, const char **part)
{
    size_t length = 0, depth = 1;
    while (*text == ' ')
        text++;
    if (in_ceil_div && *text == ',') {
        *part = ++text;
        while (text[length] != '\0' && depth > 0) {
            depth += text[length] == '(';
            depth -= text[length] == ')';
            length++;
        }
        return length - 1;
    }
    if (*text != '%' && *text != '/')
        return 0;
    text += strspn(text, "%/ ");
    *part = text;
    return operand_at(text);
}

static void scan(void *context, struct hn_expression *expression, const struct hn_field *field,
                 size_t item)
{
    static const char ceil_div[] = "ceil_div(";
    const struct finding *finding = context;
    const char *begin = hn_expression_text(expression), *at = begin;
    size_t name = strlen(finding->size), call = sizeof ceil_div - 1;
    (void)field;
    (void)item;
    for (; (at = strstr(at, finding->size)) != NULL; at += name) {
        const char *part;
        bool whole = (at == begin || !hn_is_word_char(at[-1])) && !hn_is_word_char(at[name]);
        bool called = (size_t)(at - begin) >= call && strncmp(at - call, ceil_div, call) == 0;
        size_t length = whole ? part_behind(at + name, called, &part) : 0;
        if (length == 0)
            continue;
        struct hn_text text = {0};
        hn_text_printf(&text, "%.*s", (int)length, part);
        add_edge(finding, text.data);
        hn_text_finish(&text);
    }
}

/* Parameters that may say how much a thread does. */
static void add_items(const struct finding *finding)
{
    const struct hn_plan *plan = finding->kernel->plan;
    for (size_t i = 0; i < plan->parameter_count; i++) {
        const struct hn_value *own = hn_bindings_get(&plan->defaults, plan->parameters[i]);
        if (own != NULL && own->type == HN_INTEGER)
            add_edge(finding, plan->parameters[i]);
    }
}

void hn_family_edges_find(struct hn_family_edges *edges, const struct hn_family_kernel *kernel)
{
    const struct hn_family *family = kernel->family;
    *edges = (struct hn_family_edges){.count = 0};
    for (int threads = 0; threads < 2; threads++)
        for (size_t i = 0; i < family->value_count; i++) {
            const struct finding finding = {kernel, edges, family->values[i].name, threads > 0};
            if (family->values[i].kind != HN_FAMILY_RANGE)
                continue;
            if (threads > 0)
                add_edge(&finding, "1");
            hn_expressions_walk(&hn_plan_structure, (void *)kernel->plan, scan, (void *)&finding);
        }
    for (size_t i = 0; i < family->value_count; i++)
        if (family->values[i].kind == HN_FAMILY_RANGE)
            add_items(&(struct finding){kernel, edges, family->values[i].name, true});
}

void hn_family_edges_finish(struct hn_family_edges *edges)
{
    for (size_t i = 0; i < edges->count; i++)
        hn_expression_destroy(edges->items[i].part);
    edges->count = 0;
}

/* The threads of a block of the first step that is always launched; 0: they depend on the
 * problem. */
static int64_t threads_of(const struct hn_plan *plan, const struct hn_value *values)
{
    int64_t threads = 1;
    size_t step = 0;
    while (step + 1 < plan->step_count && plan->steps[step].condition != NULL)
        step++;
    for (size_t i = 0; i < 3; i++) {
        int64_t side = 1;
        const struct hn_expression *expression = plan->steps[step].geometry.block[i];
        if (expression != NULL && (hn_plan_problem_used(plan, expression) != NULL ||
                                   !hn_expression_integer(expression, values, &side, NULL)))
            return 0;
        threads *= side;
    }
    return threads;
}

void hn_family_edges_parts(const struct hn_family_edges *edges,
                           const struct hn_family_kernel *kernel, const struct hn_bindings *problem,
                           const struct hn_bindings *point, int64_t parts[HN_EDGES_MOST])
{
    struct hn_error ignored;
    struct hn_value *values;
    memset(parts, 0, HN_EDGES_MOST * sizeof *parts);
    if (hn_plan_values(kernel->plan, problem, point, &values, &ignored) != HN_OK)
        return;
    int64_t threads = threads_of(kernel->plan, values);
    for (size_t i = 0; i < edges->count; i++) {
        int64_t part = 0;
        const struct hn_family_edge *edge = &edges->items[i];
        if (!hn_expression_integer(edge->part, values, &part, NULL) || part < 1 ||
            (edge->threads && part > MOST_ITEMS))
            continue;
        parts[i] = edge->threads ? part * threads : part;
    }
    free(values);
}
