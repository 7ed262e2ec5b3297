/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_LEARN_H
#define HONE_TUNER_FAMILY_LEARN_H

#include "base/bindings.h"
#include "base/hash.h"
#include "cache/family/rule.h"
#include "runtime/device/device.h"
#include "tuner/config/config.h"
#include "tuner/family/choice_tree.h"

/* The measurements of a family: configurations at sizes. */

enum {
    HN_MATRIX_SIZES = 512,
    HN_MATRIX_POINTS = 4096,
};

struct hn_matrix {
    struct hn_matrix_size {
        struct hn_bindings problem;
        bool drawn;      /* or named by the family: not chosen for what is known of it, as any size that may come */
        bool searched;   /* on its own */
        double tuned_us; /* the best that it found among what may serve the family; not finite: nothing, or none was made */
    } sizes[HN_MATRIX_SIZES];
    size_t size_count;
    struct hn_matrix_point {
        struct hn_bindings values;
        double occupancy;   /* 0 to 1, the most of its records, or before there is one a guess; 0: not known */
        bool loaded;        /* there is a record */
        bool wrong;         /* at one size, at least: it serves none */
        struct hn_hash program; /* the same where no more than the launch differs; empty: not known */
    } points[HN_MATRIX_POINTS]; /* the first is the default point */
    size_t point_count;
    double times[HN_MATRIX_POINTS][HN_MATRIX_SIZES]; /* microseconds; NAN: not measured; INFINITY: it failed there */
};

/* On the heap, empty. */
struct hn_matrix *hn_matrix_create(void);
void hn_matrix_destroy(struct hn_matrix *matrix);

/* SIZE_MAX: it is not there. */
size_t hn_matrix_find_size(const struct hn_matrix *matrix, const struct hn_bindings *problem);
/* The place of a size or point that is added unless it is there; SIZE_MAX: the matrix is full. */
size_t hn_matrix_add_size(struct hn_matrix *matrix, const struct hn_bindings *problem, bool drawn);
size_t hn_matrix_add_point(struct hn_matrix *matrix, const struct hn_bindings *point);
/* What a record of it says beside its time. */
void hn_matrix_tell(struct hn_matrix_point *point, const struct hn_record *record);
/* The least time at a size, by any point, and by its own search, too; INFINITY: nothing was measured there. */
double hn_matrix_least(const struct hn_matrix *matrix, size_t size);
double hn_matrix_best(const struct hn_matrix *matrix, size_t size);

/* The kernel whose launches are looked at. Borrows all. */
struct hn_family_kernel {
    const struct hn_config *config;
    const struct hn_device *device;
};

/* Sizes that loops within a block cut into parts, of which the last is mostly not full: COLS by THREADS * VEC. */

enum { HN_EDGES_MOST = 24, HN_EDGE_PARAMETERS = 3 };

/* The part is a product of parameters, or so many times that as a block has along a side, or in all. */
enum { HN_EDGE_OF_ONE, HN_EDGE_OF_FIRST, HN_EDGE_OF_SECOND, HN_EDGE_OF_ALL, HN_EDGE_KINDS };

/* What a model sees of a point at a problem: sizes and the powers of two in them, other values, parameters, blocks
 * and waves of the launch, and at last, of each edge, the passes, how full the last one is, and the passes of all
 * waves; where the config has a `prior`, what it says, in logarithms. */
struct hn_sight {
    struct hn_family_kernel kernel;
    struct hn_family_edge {
        const char *size, *parameters[HN_EDGE_PARAMETERS]; /* names of the plan; NULL: no more */
        size_t of;
    } edges[HN_EDGES_MOST];
    size_t edge_count;
    size_t features;
};

/* The product of its parameters at a point. */
int64_t hn_edge_part(const struct hn_family_edge *edge, const struct hn_bindings *point);

void hn_sight_init(struct hn_sight *sight, const struct hn_family_kernel *kernel);
/* False: it cannot be launched. `seen` has room for the features. */
bool hn_sight_see(const struct hn_sight *sight, const struct hn_bindings *problem,
                  const struct hn_matrix_point *point, float *seen);

/* How long a point takes, in logarithms but for a number that is the same for all points of a problem, by a model of all
 * that was measured: also of points and at sizes that were not. */
struct hn_model;

/* Borrows the kernel. */
struct hn_model *hn_model_make(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix, size_t trees,
                               uint64_t seed);
void hn_model_destroy(struct hn_model *model); /* NULL is fine */
/* losses[point * count + problem] and their deviations; INFINITY: it cannot be launched there. Of a point only the values
 * and the occupancy count. `places`: which points; NULL: the first ones. `unseen`: the problems are the sizes of the matrix in
 * their order, of which those parts of the model tell that have not seen the size. */
void hn_model_ask(const struct hn_model *model, const struct hn_matrix_point *points, const size_t *places,
                  size_t point_count, const struct hn_bindings *problems, size_t count, bool unseen, double *losses,
                  double *deviations);

/* From a matrix to a rule: models of times, the configurations that together lose least, and a tree that says which. */

/* A choice is sure where it loses less than this, in logarithms; of choices that are called sure, no larger share may not be. */
#define HN_SURE_LOSS 0.0953
#define HN_SURE_WRONG 0.05

struct hn_learn_options {
    uint64_t seed;  /* of the problems that predictions are made for */
    size_t samples; /* so many of them */
    size_t trees;   /* of a model: fewer are quicker and know less */
    size_t wanted;  /* sizes that are to be measured next */
};

struct hn_learnt {
    struct hn_rule rule;               /* complete, with its predicted loss */
    size_t picked[HN_RULE_CONFIGURATIONS_MOST]; /* points of the matrix, by configuration of the rule */
    size_t programs; /* of them */
    struct hn_bindings *wanted;        /* where choices are least sure */
    size_t wanted_count;
    double sure; /* the share of sizes for which its choice is sure */
    struct hn_model *model;
};

/* HN_ECONFIG: the family has no problems, or they have different names. To be finished in any case. */
enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt, struct hn_error *err);
void hn_learnt_finish(struct hn_learnt *learnt);

#endif
