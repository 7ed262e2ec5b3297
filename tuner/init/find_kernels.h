/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_FIND_KERNELS_H
#define HONE_TUNER_INIT_FIND_KERNELS_H

#include "tuner/init/source_text.h"

/* The kernels of a source, as far as they can be read without a compiler. */

struct hn_kernel_argument {
    char *name;
    char *type;    /* without const, pointer and name: "float", "unsigned int" */
    bool pointer;
    bool constant; /* what it points to */
};

/* Of a template: "int TILE", "class T". */
struct hn_kernel_parameter {
    char *name;
    bool is_type;
};

struct hn_kernel {
    char *name;
    char *scope; /* "demo::" or "" */
    bool extern_c;
    struct hn_kernel_parameter *parameters; /* of its template; none: it is no template */
    size_t parameter_count;
    struct hn_kernel_argument *arguments;
    size_t argument_count;
    char *bounds; /* the first expression of __launch_bounds__, or NULL */
    size_t body;  /* from here to end in the source's code */
    size_t end;
};

struct hn_kernels {
    struct hn_kernel *items;
    size_t count;
};

/* Those that have a body. */
enum hn_status hn_kernels_find(const struct hn_source_text *source, struct hn_kernels *kernels, struct hn_error *err);
void hn_kernels_finish(struct hn_kernels *kernels);

#endif
