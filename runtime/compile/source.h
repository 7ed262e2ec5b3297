/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_SOURCE_H
#define HONE_RUNTIME_COMPILE_SOURCE_H

#include "base/hash.h"
#include "runtime/compile/template.h"
#include "runtime/plan/plan.h"

#define HN_TEMPLATE_START "#line 1\n"

/* A program to compile: the prelude of #defines, HN_TEMPLATE_START, the template's text. Owns all but the template, which it
 * borrows (for its path and includes). */
struct hn_source {
    const struct hn_template *template;
    enum hn_compiler compiler;
    bool arch_specific; /* it is compiled for what only that architecture has: hn_architecture_name */
    char *text;
    char **entries; /* per step that is launched: name, or name expression with values in place of parameter names */
    size_t entry_count;
    char **options; /* of the config, expanded */
    size_t option_count;
};

/* Instantiates the plan's template for a point. HN_ECONFIG, HN_EVALUE. */
enum hn_status hn_source_make(const struct hn_plan *plan, const struct hn_template *template,
                              const struct hn_bindings *problem, const struct hn_bindings *point,
                              struct hn_source *source, struct hn_error *err);
/* Instantiates the reference's template: frozen values and what it depends on. */
enum hn_status hn_source_make_reference(const struct hn_plan *plan, const struct hn_template *template,
                                        const struct hn_bindings *problem, const struct hn_bindings *point,
                                        struct hn_source *source, struct hn_error *err);
void hn_source_finish(struct hn_source *source);
/* Whether its files include others than each other and Hone's headers of the host. */
bool hn_source_includes_others(const struct hn_source *source);

/* The prelude alone ("#define TILE_WIDTH 16\n…"), which `export --format source` and the header also print. hidden, which may be
 * NULL: values that it leaves out, since they are parameters of the template's C++ templates, for those who name the values
 * without compiling the template. Sticky. */
void hn_source_append_macros(const struct hn_plan *plan, const struct hn_bindings *problem, const struct hn_bindings *point,
                             struct hn_text *prelude, struct hn_text *hidden, struct hn_error *err);

extern const char hn_fields_program[]; /* fields.cuh */

/* The text of the plan's template with the point's values in place of those that it declares (plan->overrides), line by
 * line. The caller frees it. Sticky. HN_ECONFIG: a parameter that is not declared there, or at several places. */
char *hn_source_body(const struct hn_plan *plan, const char *text, const struct hn_bindings *point,
                     struct hn_error *err);

/* Sources of one key are one program: they differ at most in macros of the prelude that nothing of it reads, as those of
 * parameters that only the launch knows. A macro is read where its name is a word of the template or a file that it includes,
 * outside of comments, of entries, options or values. Where words may not tell all (headers of the toolkit or of a folder of the options,
 * which are not looked into, names that ## puts together, names that begin with an underscore, texts that compilers may
 * read in different ways) a macro counts as read. */
struct hn_source_key {
    struct hn_hash hash;
    bool leaves_out; /* a parameter is not read: other points have this key, too */
};

enum hn_status hn_source_key(const struct hn_source *source, const char *architecture, struct hn_source_key *key,
                             struct hn_error *err);

#endif
