/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/plan/launch.h"

/* Loops within a block cut a size into parts, by a product of parameters: the config's own
 * expressions name it (ceil_div(K, BK), N // TILE, N % WORD), or it is a side of the block or all
 * of it, times such a part or times a small parameter. */

enum { MOST_ITEMS = 64 /* that one thread may be given */ };

struct finding {
    struct hn_sight *sight;
    const char *size;
    enum hn_edge_of of;
};

static bool is_there(const struct hn_sight *sight, const struct hn_family_edge *edge)
{
    for (size_t i = 0; i < sight->edge_count; i++) {
        const struct hn_family_edge *other = &sight->edges[i];
        if (strcmp(other->size, edge->size) == 0 && other->of == edge->of &&
            strcmp(hn_expression_text(other->part), hn_expression_text(edge->part)) == 0)
            return true;
    }
    return false;
}

/* Adds a part that depends on parameters alone. A constant one tells no points apart. */
static void add_edge(const struct finding *finding, const char *part)
{
    const struct hn_plan *plan = finding->sight->kernel->plan;
    const struct hn_scope scope = {(const char *const *)plan->names, plan->name_count, NULL, 0};
    struct hn_family_edge edge = {.size = finding->size, .of = finding->of};
    struct hn_error ignored;
    if (finding->sight->edge_count == HN_EDGES_MOST ||
        hn_expression_parse(part, &edge.part, &ignored) != HN_OK)
        return;
    if (hn_expression_bind(edge.part, &scope, &ignored) == HN_OK &&
        hn_plan_problem_used(plan, edge.part) == NULL &&
        (finding->of != HN_EDGE_OF_ONE || hn_expression_slots(edge.part) > 0) &&
        !is_there(finding->sight, &edge))
        finding->sight->edges[finding->sight->edge_count++] = edge;
    else
        hn_expression_destroy(edge.part);
}

/* The length of the operand that a text begins with: a name, a number, or what is in parentheses;
 * of the rest of a call where `depth` is 1. */
static size_t operand_length(const char *text, size_t depth)
{
    size_t length = 0;
    if (depth == 0 && *text != '(') {
        while (hn_is_word_char(text[length]))
            length++;
        return text[length] == '(' ? 0 : length;
    }
    for (; text[length] != '\0'; length++) {
        depth += text[length] == '(';
        depth -= text[length] == ')';
        if (depth == 0)
            return length + (*text == '(');
    }
    return 0;
}

/* Finds what divides the size in an expression. */
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
        bool called = (size_t)(at - begin) >= call && strncmp(at - call, ceil_div, call) == 0;
        const char *part = at + name + strspn(at + name, " ");
        if ((at > begin && hn_is_word_char(at[-1])) || hn_is_word_char(at[name]) ||
            !(*part == '%' || *part == '/' || (called && *part == ',')))
            continue;
        size_t depth = *part == ',' ? 1 : 0;
        part += strspn(part, "%/, ");
        struct hn_text text = {0};
        hn_text_printf(&text, "%.*s", (int)operand_length(part, depth), part);
        add_edge(finding, text.data);
        hn_text_finish(&text);
    }
}

/* Parameters that may say how much a thread does. */
static void add_items(const struct finding *finding)
{
    const struct hn_plan *plan = finding->sight->kernel->plan;
    for (size_t i = 0; i < plan->parameter_count; i++) {
        const struct hn_value *own = hn_bindings_get(&plan->defaults, plan->parameters[i]);
        if (own != NULL && own->type == HN_INTEGER)
            add_edge(finding, plan->parameters[i]);
    }
}

static void find_edges(struct hn_sight *sight)
{
    const struct hn_family *family = sight->kernel->family;
    for (int pass = 0; pass < 2; pass++)
        for (int of = 0; of < HN_EDGE_KINDS; of++)
            for (size_t i = 0; i < family->value_count; i++) {
                struct finding finding = {sight, family->values[i].name, (enum hn_edge_of)of};
                if (family->values[i].kind != HN_FAMILY_RANGE)
                    continue;
                if (pass == 0 && of != HN_EDGE_OF_ONE)
                    add_edge(&finding, "1");
                if (pass == 0)
                    hn_expressions_walk(&hn_plan_structure, (void *)sight->kernel->plan, scan,
                                        &finding);
                else if (of != HN_EDGE_OF_ONE)
                    add_items(&finding);
            }
}

/* One, the first side of a block, the second, all threads, of the first step that is always
 * launched; 0: it depends on the problem. */
static void find_block(const struct hn_plan *plan, const struct hn_value *values,
                       int64_t block[HN_EDGE_KINDS])
{
    size_t step = 0;
    while (step + 1 < plan->step_count && plan->steps[step].condition != NULL)
        step++;
    block[HN_EDGE_OF_ONE] = block[HN_EDGE_OF_ALL] = 1;
    for (size_t i = 0; i < 3; i++) {
        int64_t side = 1;
        const struct hn_expression *expression =
            plan->step_count > 0 ? plan->steps[step].geometry.block[i] : NULL;
        if (expression != NULL && (hn_plan_problem_used(plan, expression) != NULL ||
                                   !hn_expression_integer(expression, values, &side, NULL)))
            side = 0;
        if (i < 2)
            block[i == 0 ? HN_EDGE_OF_FIRST : HN_EDGE_OF_SECOND] = side;
        block[HN_EDGE_OF_ALL] *= side;
    }
}

void hn_sight_know(const struct hn_sight *sight, const struct hn_bindings *problem,
                   const struct hn_matrix_point *point, struct hn_sight_point *known)
{
    const struct hn_plan *plan = sight->kernel->plan;
    struct hn_error ignored;
    struct hn_value *values;
    int64_t block[HN_EDGE_KINDS];
    *known = (struct hn_sight_point){.occupancy = point->occupancy};
    if (hn_plan_values(plan, problem, &point->values, &values, &ignored) != HN_OK)
        return;
    find_block(plan, values, block);
    for (size_t i = 0; i < sight->edge_count; i++) {
        int64_t part = 0;
        const struct hn_family_edge *edge = &sight->edges[i];
        if (hn_expression_integer(edge->part, values, &part, NULL) && part > 0 &&
            (edge->of == HN_EDGE_OF_ONE || part <= MOST_ITEMS))
            known->parts[i] = part * block[edge->of];
    }
    free(values);
}

/* Memory is read in words of 16 bytes at most, of 1 byte at least. */
static const int64_t most_aligned = 16;

static int64_t power_of_two_in(int64_t size)
{
    int64_t power = 1;
    while (power < most_aligned && size % (power * 2) == 0)
        power *= 2;
    return power;
}

static bool is_size(const struct hn_family_value *value)
{
    return value->kind == HN_FAMILY_RANGE;
}

/* The place of a value in its list. */
static size_t place_of(const struct hn_family_value *value, const struct hn_value *own)
{
    size_t place = 0;
    while (place + 1 < value->count && !hn_value_equal(&value->values[place], own))
        place++;
    return place;
}

/* Appends what is seen of the problem alone; returns the logarithm of the product of its sizes. */
static double see_problem(const struct hn_family *family, const struct hn_bindings *problem,
                          float **to)
{
    double all = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *own = hn_bindings_get(problem, value->name);
        if (!is_size(value)) {
            *(*to)++ = (float)place_of(value, own);
            continue;
        }
        double size = log(fmax(1, hn_value_number(own)));
        *(*to)++ = (float)size;
        *(*to)++ = (float)power_of_two_in(own->integer);
        all += size;
    }
    *(*to)++ = (float)all;
    return all;
}

/* Appends the values of parameters, of words their places. */
static void see_point(const struct hn_plan *plan, const struct hn_bindings *point, float **to)
{
    for (size_t i = 0; i < plan->parameter_count; i++) {
        const struct hn_value *own = hn_bindings_get(point, plan->parameters[i]);
        const struct hn_word_list *words = hn_plan_find_words(plan, plan->parameters[i]);
        size_t place = 0;
        while (own != NULL && own->type == HN_WORD && words != NULL && place + 1 < words->count &&
               strcmp(words->words[place], own->word) != 0)
            place++;
        *(*to)++ = own == NULL            ? 0
                   : own->type == HN_WORD ? (float)place
                                          : (float)hn_value_number(own);
    }
}

static double product(const int64_t sides[3])
{
    return (double)sides[0] * (double)sides[1] * (double)sides[2];
}

/* A step that only some points launch clears or copies for the others. */
static bool is_rather(const struct hn_launch_step *step, const struct hn_launch_step *than)
{
    bool always = step->step->condition == NULL;
    return always == (than->step->condition == NULL) ? product(step->grid) > product(than->grid)
                                                     : always;
}

enum { OF_LAUNCH = 15, OF_EDGE = 3 };

/* Appends what is seen of the step that does the work; returns the logarithm of its waves. */
static double see_launch(const struct hn_launch *launch, const struct hn_device *device,
                         double occupancy, double all, float **to)
{
    const struct hn_launch_step *main = &launch->steps[0];
    for (size_t i = 1; i < launch->step_count; i++)
        if (is_rather(&launch->steps[i], main))
            main = &launch->steps[i];
    double threads = product(main->block), blocks = product(main->grid);
    /* Of a point that was never loaded nobody knows. */
    occupancy = occupancy > 0 ? occupancy : 0.5;
    double resident = floor(occupancy * device->max_threads_per_sm / threads + 1e-6);
    double shared = (double)(main->shared_bytes + device->shared_reserved_per_block);
    if (shared > 0 && device->shared_per_sm > 0)
        resident = fmin(resident, floor(device->shared_per_sm / shared));
    resident = fmax(1, resident);
    double waves = blocks / (resident * device->identity.sm_count), sms = device->identity.sm_count;
    const double seen[OF_LAUNCH] = {
        log(blocks),
        log(waves),
        log(ceil(waves)),
        waves / ceil(waves),
        log(ceil(blocks / sms)),
        resident,
        threads,
        log(blocks * threads),
        all - log(blocks),
        all - log(blocks * threads),
        (double)main->shared_bytes,
        (double)launch->step_count,
        log((double)main->grid[0]),
        log((double)main->grid[1]),
        log((double)main->grid[2]),
    };
    for (size_t i = 0; i < OF_LAUNCH; i++)
        *(*to)++ = (float)seen[i];
    return log(ceil(waves));
}

/* Appends how often a block goes through its loops, how full the last pass is, and how often all
 * waves do. */
static void see_edges(const struct hn_sight *sight, const struct hn_bindings *problem,
                      const int64_t *parts, double waves, float **to)
{
    for (size_t i = 0; i < sight->edge_count; i++) {
        double size = hn_value_number(hn_bindings_get(problem, sight->edges[i].size));
        double passes = parts[i] > 0 ? fmax(1, ceil(size / (double)parts[i])) : 1;
        *(*to)++ = (float)log(passes);
        *(*to)++ = (float)(parts[i] > 0 ? size / (passes * (double)parts[i]) : 1);
        *(*to)++ = (float)(log(passes) + waves);
    }
}

bool hn_sight_see(const struct hn_sight *sight, const struct hn_bindings *problem,
                  const struct hn_bindings *point, const struct hn_sight_point *known, float *seen)
{
    struct hn_launch launch;
    const struct hn_family_kernel *kernel = sight->kernel;
    if (!hn_launch_try(kernel->plan, kernel->device, problem, point, &launch, NULL))
        return false;
    double all = see_problem(kernel->family, problem, &seen);
    see_point(kernel->plan, point, &seen);
    double waves = see_launch(&launch, kernel->device, known->occupancy, all, &seen);
    see_edges(sight, problem, known->parts, waves, &seen);
    hn_launch_finish(&launch);
    return true;
}

void hn_sight_init(struct hn_sight *sight, const struct hn_family_kernel *kernel)
{
    *sight = (struct hn_sight){.kernel = kernel};
    find_edges(sight);
    sight->features = 1 + kernel->plan->parameter_count + OF_LAUNCH + OF_EDGE * sight->edge_count;
    for (size_t i = 0; i < kernel->family->value_count; i++)
        sight->features += is_size(&kernel->family->values[i]) ? 2 : 1;
}
