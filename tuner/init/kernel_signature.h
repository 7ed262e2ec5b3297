/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_KERNEL_SIGNATURE_H
#define HONE_TUNER_INIT_KERNEL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tuner/init/source_text.h"

struct hn_kernel_argument {
    char *name;
    char *type;    /* without const, pointer and name: "float", "unsigned int" */
    char *spelled; /* with them: "const float *" */
    bool pointer;
    bool constant; /* what it points to */
};

/* Of a template: "int TILE = 16", "bool Checked", "class T". */
struct hn_kernel_parameter {
    char *name;
    bool is_type;
    bool is_boolean;
    char *other_type; /* of an enumeration or a class; NULL: it is a number or a type */
    char *preset; /* what it is without being given, as written; NULL: it has to be given */
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
    bool overloaded; /* the source has several of this name */
    size_t head;  /* where its list of arguments begins */
    size_t body;  /* from here to end in the source's code */
    size_t end;
};

/* The lists between brackets, from begin to end: of a kernel's arguments, and of its template's parameters. */
enum hn_status hn_kernel_read_arguments(const char *code, size_t begin, size_t end, struct hn_kernel *kernel,
                                        struct hn_error *err);
enum hn_status hn_kernel_read_parameters(const char *code, size_t begin, size_t end, struct hn_kernel *kernel,
                                         struct hn_error *err);
void hn_kernel_finish(struct hn_kernel *kernel);

#endif
