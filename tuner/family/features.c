/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "runtime/plan/launch.h"

/* Loops within a block cut a size into parts: by a product of parameters that an expression divides
 * it by (ceil_div(K, BK), N // TILE, N % WORD), by a side of the block or all of it, or by both. */

enum { MOST_ITEMS = 64 /* that one thread may be given */ };

static void add_edge(struct hn_sight *sight, const struct hn_family_edge *edge)
{
    bool is_new = sight->edge_count < HN_EDGES_MOST;
    for (size_t i = 0; i < sight->edge_count && is_new; i++)
        is_new = memcmp(&sight->edges[i], edge, sizeof *edge) != 0;
    if (is_new)
        sight->edges[sight->edge_count++] = *edge;
}

/* The name of a parameter that is an integer; NULL: a text does not begin with one. */
static const char *find_parameter(const struct hn_plan *plan, const char *text, size_t length)
{
    for (size_t i = 0; i < plan->parameter_count; i++) {
        const char *name = plan->parameters[i];
        const struct hn_value *own = hn_bindings_get(&plan->defaults, name);
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return own != NULL && own->type == HN_INTEGER ? name : NULL;
    }
    return NULL;
}

/* "(BM * CLUSTER_M)". False: it is no product of parameters. */
static bool read_part(const struct hn_plan *plan, const char *text, const char **parameters)
{
    size_t count = 0, length = 0;
    do {
        text += length + strspn(text + length, " (*");
        length = hn_word_length(text);
        if (count == HN_EDGE_PARAMETERS ||
            (parameters[count++] = find_parameter(plan, text, length)) == NULL)
            return false;
        length += strspn(text + length, " ");
    } while (text[length] == '*');
    return true;
}

struct finding {
    struct hn_sight *sight;
    struct hn_family_edge edge; /* its size and kind */
};

/* Finds what divides the size in an expression. */
static void scan(void *context, struct hn_expression *expression, const struct hn_field *field)
{
    static const char call[] = "ceil_div(";
    const struct finding *finding = context;
    const char *begin = hn_expression_text(expression), *at = begin, *size = finding->edge.size;
    (void)field;
    for (; (at = strstr(at, size)) != NULL; at += strlen(size)) {
        size_t before = (size_t)(at - begin);
        const char *part = at + strlen(size) + strspn(at + strlen(size), " ");
        bool called = before >= strlen(call) && memcmp(at - strlen(call), call, strlen(call)) == 0;
        struct hn_family_edge edge = finding->edge;
        if ((before == 0 || !hn_is_word_char(at[-1])) &&
            (*part == '%' || *part == '/' || (called && *part == ',')) &&
            read_part(finding->sight->kernel.config->plan, part + strspn(part, "%/,"),
                      edge.parameters))
            add_edge(finding->sight, &edge);
    }
}

/* Memory is read in words of 16 bytes at most, of 1 byte at least. */
static const int64_t most_aligned = 16;

/* Appends what is seen of the problem alone; returns the logarithm of the product of its sizes. */
static double see_problem(const struct hn_family *family, const struct hn_bindings *problem,
                          float **to)
{
    double all = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *own = hn_bindings_get(problem, value->name);
        size_t place = 0;
        if (!hn_family_is_size(value)) {
            while (place + 1 < value->count && !hn_value_equal(&value->values[place], own))
                place++;
            *(*to)++ = (float)place;
            continue;
        }
        double size = log(fmax(1, hn_value_number(own)));
        int64_t power = 1;
        while (power < most_aligned && own->integer % (power * 2) == 0)
            power *= 2;
        *(*to)++ = (float)size;
        *(*to)++ = (float)power;
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
        if (own != NULL && own->type == HN_WORD && words != NULL)
            *(*to)++ =
                (float)hn_text_place(own->word, (const char *const *)words->words, words->count);
        else
            *(*to)++ = own != NULL ? (float)hn_value_number(own) : 0;
    }
}

static double product(const int64_t sides[3])
{
    return (double)sides[0] * (double)sides[1] * (double)sides[2];
}

enum { OF_LAUNCH = 15, OF_EDGE = 3 };

/* The step that does the work. One that only some points launch clears or copies for the others. */
static const struct hn_launch_step *main_step(const struct hn_launch *launch)
{
    const struct hn_launch_step *main = &launch->steps[0];
    for (size_t i = 1; i < launch->step_count; i++) {
        const struct hn_launch_step *step = &launch->steps[i];
        bool always = step->step->condition == NULL;
        if (always == (main->step->condition == NULL) ? product(step->grid) > product(main->grid)
                                                      : always)
            main = step;
    }
    return main;
}

/* Appends what is seen of the launch; returns the logarithm of its waves. */
static double see_launch(const struct hn_launch *launch, const struct hn_device *device,
                         double occupancy, double all, float **to)
{
    const struct hn_launch_step *main = main_step(launch);
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

int64_t hn_edge_part(const struct hn_family_edge *edge, const struct hn_bindings *point)
{
    int64_t part = 1;
    for (size_t i = 0; i < HN_EDGE_PARAMETERS && edge->parameters[i] != NULL; i++)
        part *= hn_bindings_get(point, edge->parameters[i])->integer;
    return part;
}

/* Appends a block's passes through its loops, how full the last is, and all waves' passes. */
static void see_edges(const struct hn_sight *sight, const struct hn_bindings *problem,
                      const struct hn_bindings *point, const struct hn_launch_step *step,
                      double waves, float **to)
{
    const double sides[HN_EDGE_KINDS] = {1, (double)step->block[0], (double)step->block[1],
                                         product(step->block)};
    for (size_t i = 0; i < sight->edge_count; i++) {
        const struct hn_family_edge *edge = &sight->edges[i];
        double size = hn_value_number(hn_bindings_get(problem, edge->size));
        double part = (double)hn_edge_part(edge, point);
        bool is_part = part > 0 && (edge->of == HN_EDGE_OF_ONE || part <= MOST_ITEMS);
        part *= sides[edge->of];
        double passes = is_part ? fmax(1, ceil(size / part)) : 1;
        *(*to)++ = (float)log(passes);
        *(*to)++ = (float)(is_part ? size / (passes * part) : 1);
        *(*to)++ = (float)(log(passes) + waves);
    }
}

bool hn_sight_see(const struct hn_sight *sight, const struct hn_bindings *problem,
                  const struct hn_matrix_point *point, float *seen)
{
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    const struct hn_family_kernel *kernel = &sight->kernel;
    if (!hn_launch_try(kernel->config->plan, kernel->device, problem, &point->values, &launch,
                       NULL))
        return false;
    double all = see_problem(kernel->config->family, problem, &seen);
    see_point(kernel->config->plan, &point->values, &seen);
    double waves = see_launch(&launch, kernel->device, point->occupancy, all, &seen);
    see_edges(sight, problem, &point->values, main_step(&launch), waves, &seen);
    if (kernel->config->prior != NULL) {
        double own = hn_config_estimate(kernel->config, problem, &point->values, NULL);
        *seen = own > 0 ? (float)log(own) : 0;
    }
    return true;
}

void hn_sight_init(struct hn_sight *sight, const struct hn_family_kernel *kernel)
{
    const struct hn_family *family = kernel->config->family;
    *sight = (struct hn_sight){.kernel = *kernel};
    for (size_t of = 0; of < HN_EDGE_KINDS; of++)
        for (size_t i = 0; i < family->value_count; i++) {
            struct finding finding = {sight, {.size = family->values[i].name, .of = of}};
            if (!hn_family_is_size(&family->values[i]))
                continue;
            if (of != HN_EDGE_OF_ONE)
                add_edge(sight, &finding.edge);
            hn_expressions_walk(&hn_plan_structure, kernel->config->plan, scan, &finding);
        }
    sight->features = 1 + kernel->config->plan->parameter_count + OF_LAUNCH +
                      OF_EDGE * sight->edge_count + (kernel->config->prior != NULL ? 1 : 0);
    for (size_t i = 0; i < family->value_count; i++)
        sight->features += hn_family_is_size(&family->values[i]) ? 2 : 1;
}
