/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_LEARN_H
#define HONE_TUNER_FAMILY_LEARN_H

#include "base/bindings.h"
#include "cache/family/rule.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "tuner/config/config.h"

/* The measurements of a family: configurations at sizes. */

enum {
    HN_MATRIX_SIZES = 320, /* as many as a Gaussian process takes well */
    HN_MATRIX_POINTS = 160,
};

struct hn_matrix {
    struct hn_matrix_size {
        struct hn_bindings problem;
        double weight;   /* of a size that the family names; 0: it was drawn */
        bool drawn;      /* not chosen for what is known of it: as any size that may come */
        bool searched;   /* on its own */
        double tuned_us; /* the best that this search found among what may serve the family; NAN: nothing, or none was made */
    } sizes[HN_MATRIX_SIZES];
    size_t size_count;
    struct hn_matrix_point {
        struct hn_bindings values;
        double occupancy;   /* 0 to 1, as in its records; 0: not known */
        int64_t only_size;  /* the one search that found it, and no other found better; below 0: none, or several */
    } points[HN_MATRIX_POINTS]; /* the first is the default point */
    size_t point_count;
    double times[HN_MATRIX_POINTS][HN_MATRIX_SIZES]; /* microseconds; NAN: not measured; INFINITY: it failed there */
};

/* On the heap, empty. */
struct hn_matrix *hn_matrix_create(void);
void hn_matrix_destroy(struct hn_matrix *matrix);

/* The place of a size or point that is added unless it is there; SIZE_MAX: the matrix is full. */
size_t hn_matrix_add_size(struct hn_matrix *matrix, const struct hn_bindings *problem, double weight);
size_t hn_matrix_add_point(struct hn_matrix *matrix, const struct hn_bindings *point);
/* The same sizes with these points alone, the caller's to destroy. */
struct hn_matrix *hn_matrix_pick(const struct hn_matrix *matrix, const size_t *points, size_t count);
/* The least time at a size, by any point or by its own search; INFINITY: nothing was measured there. */
double hn_matrix_best(const struct hn_matrix *matrix, size_t size);

/* The problems of a family that are looked at: as hn_family_draw gives them, and, in turn with these, with sizes
 * rounded to multiples of 16, as most programs have them and what is drawn hardly ever is. A sequence by seed; *at
 * moves behind it. HN_ECONFIG: none was found. `problem` is initialised in any case; does nothing else once err has
 * failed. */
void hn_family_next(const struct hn_family *family, uint64_t seed, uint64_t *at, struct hn_bindings *problem,
                    struct hn_error *err);

/* The kernel whose launches are looked at. Borrows all. */
struct hn_family_kernel {
    const struct hn_family *family;
    const struct hn_plan *plan;
    const struct hn_device *device;
};

/* Sizes that loops within a block cut into parts, of which the last is mostly not full: COLS by THREADS * VEC. */

enum { HN_EDGES_MOST = 16 };

struct hn_family_edge {
    const char *size;           /* the family's */
    struct hn_expression *part; /* owned, of parameters */
    bool threads;               /* the part is so many times the threads of a block */
};

struct hn_family_edges {
    struct hn_family_edge items[HN_EDGES_MOST];
    size_t count;
};

/* Those that the plan's expressions name, then guesses with the threads of a block. Finish them. */
void hn_family_edges_find(struct hn_family_edges *edges, const struct hn_family_kernel *kernel);
void hn_family_edges_finish(struct hn_family_edges *edges);
/* The parts of a point; 0: it has none. */
void hn_family_edges_parts(const struct hn_family_edges *edges, const struct hn_family_kernel *kernel,
                    const struct hn_bindings *problem, const struct hn_bindings *point, int64_t parts[HN_EDGES_MOST]);

/* The features of problems that models of times see: the logarithm of each size and of the power of two that divides
 * it, a number for other values, and of each point's launch the logarithms of its blocks, of the waves in which the
 * device takes them, of the blocks that a multiprocessor gets. Beside these features it has the logarithms of the three sides of
 * its grid, and of the passes of each edge. */

enum { HN_PLACES_SIDES = 3 };

/* The last features. */
enum hn_places_of_launch {
    HN_PLACES_BLOCKS,
    HN_PLACES_WAVES,
    HN_PLACES_TURNS, /* blocks of the multiprocessor that has the most */
    HN_PLACES_OF_LAUNCH
};

struct hn_places {
    struct hn_bindings *problems; /* owned */
    size_t count;
    size_t capacity;
    size_t features; /* of a point at a problem */
    size_t points;   /* of the matrix, when it was made */
    struct hn_family_edges edges;
    size_t rows;     /* features, sides and edges */
    double *columns; /* [point][row][place], a row of `capacity` */
    bool *usable;    /* [point][place]: constraints and limits of the device allow it */
};

/* Which of them are logarithms of sizes, the first `most`; how many. */
size_t hn_places_sizes(const struct hn_family *family, size_t *features, size_t most);
/* Which of them are categories. `categories` has room for all. */
void hn_places_categories(const struct hn_family *family, bool *categories);

void hn_places_init(struct hn_places *places, const struct hn_family_kernel *kernel, size_t points, size_t capacity);
void hn_places_finish(struct hn_places *places);
/* Adds a problem, which hn_places_see has to look at. There is room. */
void hn_places_add(struct hn_places *places, const struct hn_bindings *problem);
/* Looks at each of the points at all problems that were added. */
void hn_places_see(struct hn_places *places, const struct hn_family_kernel *kernel, const struct hn_matrix *matrix);

/* Whether the point can be launched for the problem: constraints and limits of the device allow it. */
bool hn_family_allows(const struct hn_family_kernel *kernel, const struct hn_bindings *problem,
                      const struct hn_bindings *point);

static inline double *hn_places_column(const struct hn_places *places, size_t point, size_t feature)
{
    return places->columns + (point * places->rows + feature) * places->capacity;
}

/* How alike two problems are, by their values alone: 1 for the same, 0.37 where a size is seven times the other. */
double hn_places_likeness(const struct hn_places *places, size_t place, const struct hn_places *others, size_t other);

static inline bool hn_places_usable(const struct hn_places *places, size_t point, size_t place)
{
    return places->usable[point * places->capacity + place];
}

/* Decision trees that cost least: as a regression tree (Breiman et al., "Classification and Regression Trees", 1984),
 * but what a leaf costs is what its one choice costs all samples in it. */

struct hn_choice_tree_data {
    size_t samples, choices, features;
    const int64_t *values; /* [feature][sample] */
    const double *costs;   /* [choice][sample], not below 0 */
    const double *weights; /* [sample] */
};

/* Grows leaf by leaf, the one first whose split saves most, up to `leaves`, as long as a split saves `gain` of a
 * sample of mean weight. A leaf has at least `least` samples. The nodes are in the order of hn_rule, all leaves sure;
 * free them. The same data give the same tree. */
struct hn_rule_node *hn_choice_tree_grow(const struct hn_choice_tree_data *data, size_t leaves, size_t least,
                                         double gain, size_t *node_count);
/* The leaf of a sample. */
size_t hn_choice_tree_leaf(const struct hn_rule_node *nodes, const struct hn_choice_tree_data *data, size_t sample);

/* The costs of several choices at many samples: costs[choice * samples + sample], INFINITY where it cannot be used. */
struct hn_costs_table {
    size_t choices, samples;
    const double *costs;
    const double *weights; /* of the samples */
};

/* The choices that together lose least: choice 0 and up to `most` - 1 others, added one by one while each saves `gain`
 * of a sample of mean weight, then exchanged while that saves something. `picked` has room for `most`. How many. */
size_t hn_pick(const struct hn_costs_table *table, size_t most, double gain, size_t *picked);

/* Predicted times. For each point a time is a sum of terms that are not negative (of a launch, of bytes, of waves of
 * blocks), times the exponential of a Gaussian process (Rasmussen and Williams, 2006, section 2.7), fitted to where it
 * was measured. */
struct hn_models;

/* `like` has the lengths of the process; NULL: they are fitted. `use` (NULL: all) says at which sizes of the matrix
 * measurements count; sizes has their features, in the matrix' order. */
struct hn_models *hn_models_make(const struct hn_family *family, const struct hn_matrix *matrix,
                                 const struct hn_places *sizes, const bool *use, const struct hn_models *like);
void hn_models_destroy(struct hn_models *models); /* NULL is fine */

/* Whether there is a prediction for the point: it was measured at least somewhere. */
bool hn_models_know(const struct hn_models *models, size_t point);
/* Whether times hang on the passes of that edge. */
bool hn_models_have_edge(const struct hn_models *models, size_t edge);
/* The logarithm of the time of a known point at all places, and (NULL: not asked) its standard deviation. */
void hn_models_predict(const struct hn_models *models, size_t point, const struct hn_places *places,
                       double *logarithms, double *deviations);

/* From a matrix to a rule: models of times, the configurations that together lose least, and a tree that says which. */

enum { HN_LEARN_WANTED = 16 };

struct hn_learn_options {
    uint64_t seed;  /* of the problems that predictions are made for */
    size_t samples; /* so many of them */
    size_t wanted;  /* sizes that are to be measured next, HN_LEARN_WANTED at most */
};

struct hn_learnt {
    struct hn_rule rule;               /* complete, with its predicted loss */
    size_t picked[HN_MATRIX_POINTS];   /* points of the matrix, by configuration of the rule */
    struct hn_bindings *wanted;        /* where times are least sure */
    size_t wanted_count;
    double sure; /* the share of sizes for which its choice is sure */
    bool has_search;
    struct hn_bindings search; /* where a search of its own may find most */
};

/* HN_ECONFIG: the family has no problems, or they have different names. */
enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt, struct hn_error *err);
void hn_learnt_finish(struct hn_learnt *learnt);

#endif
