/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/cubin_internal.h"

/* Of the names of kernels in a message. */
enum { LISTED_BYTES = 2000 };

/* What a mangled name of the Itanium C++ ABI begins with. */
struct kernel {
    const char *mangled;
    char scope[256]; /* "app::detail::", or "" */
    char name[256];  /* "" where it is extern "C", or not understood */
    bool is_template;
};

struct choice {
    struct hn_kernel_names names; /* the kernels' names point into it */
    struct kernel *kernels;
};

/* "1kPf" and "N3app1kILi3EE…": words with their lengths, the last of which is the kernel's. */
static void read_kernel(const char *mangled, struct kernel *kernel)
{
    *kernel = (struct kernel){.mangled = mangled};
    bool nested = strncmp(mangled, "_ZN", 3) == 0;
    const char *at = strncmp(mangled, "_Z", 2) == 0 ? mangled + 2 + nested : "";
    size_t scope = 0;
    do {
        at += *at == 'L'; /* it is of this file alone */
        char *word = NULL;
        size_t length = hn_is_digit(*at) ? strtoul(at, &word, 10) : 0;
        size_t around = strlen(kernel->name);
        if (length == 0 || length >= sizeof kernel->name || strnlen(word, length) < length ||
            scope + around + 3 > sizeof kernel->scope) {
            kernel->name[0] = '\0';
            return;
        }
        if (around > 0 && strncmp(kernel->name, "_GLOBAL__N_", 11) != 0) {
            memcpy(kernel->scope + scope, kernel->name, around);
            memcpy(kernel->scope + scope + around, "::", 3);
            scope += around + 2;
        }
        memcpy(kernel->name, word, length);
        kernel->name[length] = '\0';
        at = word + length;
    } while (nested && (hn_is_digit(*at) || *at == 'L'));
    kernel->is_template = *at == 'I';
}

/* Its own name tells it from the others. */
static bool is_alone(const struct choice *choice, const struct kernel *own)
{
    for (size_t i = 0; i < choice->names.count; i++) {
        const struct kernel *other = &choice->kernels[i];
        if (other != own && strcmp(own->name, other->name) == 0 &&
            strcmp(own->scope, other->scope) == 0)
            return false;
    }
    return *own->name != '\0' && !own->is_template;
}

/* As `entry` names it: one of a template, or of several of a name, by its mangled name. */
static void append_kernel(const struct choice *choice, const struct kernel *own,
                          struct hn_text *list)
{
    if (list->length > LISTED_BYTES)
        return;
    hn_text_append(list, list->length > 0 ? ", " : "");
    if (is_alone(choice, own))
        hn_text_printf(list, "\"&%s%s\"", own->scope, own->name);
    else
        hn_text_append(list, own->mangled);
}

static size_t append_templates(const struct hn_compile_request *request, const char *name,
                               struct hn_text *list)
{
    size_t count = hn_kernel_templates_append(request->text, name, list);
    for (size_t i = 0; i < request->include_count; i++)
        count += hn_kernel_templates_append(request->includes[i].text, name, list);
    return count;
}

/* The list is finished. */
static void refuse(struct hn_image *image, const char *format, const char *name,
                   struct hn_text *list, struct hn_error *err)
{
    if (list->failed || asprintf(&image->message, format, name, list->data) < 0) {
        image->message = NULL;
        hn_fail_memory(err);
    }
    image->outcome = HN_OUTCOME_COMPILE_ERROR;
    hn_text_finish(list);
}

static void refuse_missing(const struct hn_compile_request *request, const struct choice *choice,
                           const char *name, struct hn_image *image, struct hn_error *err)
{
    struct hn_text list;
    hn_text_init(&list);
    const char *format =
        "kernel '%s' is a template: as entry, expected a name expression with values or "
        "types in place of the parameters of %s";
    if (append_templates(request, name, &list) == 0) {
        format = "no kernel '%s' in the program; there is %s";
        for (size_t i = 0; i < choice->names.count; i++)
            append_kernel(choice, &choice->kernels[i], &list);
        if (choice->names.count == 0)
            hn_text_append(&list, "none at all");
    }
    refuse(image, format, name, &list, err);
}

static void choose(const struct hn_compile_request *request, const struct choice *choice,
                   char **entry, struct hn_image *image, struct hn_error *err)
{
    const char *name = *entry;
    size_t found = 0;
    size_t count = 0;
    struct hn_text list;
    hn_text_init(&list);
    for (size_t i = 0; i < choice->names.count; i++) {
        if (strcmp(choice->kernels[i].mangled, name) == 0) {
            hn_text_finish(&list);
            return;
        }
        if (strcmp(choice->kernels[i].name, name) != 0)
            continue;
        append_kernel(choice, &choice->kernels[i], &list);
        found = i;
        count++;
    }
    if (count > 1) {
        refuse(image, "several kernels are called '%s'; as entry, expected one of %s", name, &list,
               err);
        return;
    }
    hn_text_finish(&list);
    if (count == 0) {
        refuse_missing(request, choice, name, image, err);
        return;
    }
    char *mangled = strdup(choice->kernels[found].mangled);
    if (mangled == NULL) {
        hn_fail_memory(err);
        return;
    }
    free(*entry);
    *entry = mangled;
}

void hn_kernel_choose(const struct hn_compile_request *request, struct hn_image *image,
                      struct hn_error *err)
{
    struct choice choice = {.kernels = NULL};
    if (hn_failed(err) ||
        hn_cubin_read_kernels(image->cubin, image->size, &choice.names, err) != HN_OK)
        return;
    choice.kernels = calloc(choice.names.count + 1, sizeof *choice.kernels);
    if (choice.kernels == NULL)
        hn_fail_memory(err);
    for (size_t i = 0; !hn_failed(err) && i < choice.names.count; i++)
        read_kernel(choice.names.names[i], &choice.kernels[i]);
    for (size_t i = 0; i < request->entry_count; i++) {
        if (!hn_failed(err) && image->message == NULL && hn_text_is_word(request->entries[i]))
            choose(request, &choice, &image->entries[i], image, err);
    }
    free(choice.kernels);
    hn_kernel_names_finish(&choice.names);
}
