/* SPDX-License-Identifier: MIT */
#include "runtime/compile/kernel_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/cubin_kernels.h"

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

static enum hn_status read_choice(const struct hn_image *image, struct choice *choice,
                                  struct hn_error *err)
{
    *choice = (struct choice){.kernels = NULL};
    enum hn_status status = hn_cubin_read_kernels(image->cubin, image->size, &choice->names, err);
    if (status != HN_OK)
        return status;
    choice->kernels = calloc(choice->names.count + 1, sizeof *choice->kernels);
    for (size_t i = 0; choice->kernels != NULL && i < choice->names.count; i++)
        read_kernel(choice->names.names[i], &choice->kernels[i]);
    return choice->kernels != NULL ? HN_OK : hn_fail_memory(err);
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
        count += hn_kernel_templates_append(request->include_texts[i], name, list);
    return count;
}

static enum hn_status refuse(struct hn_image *image, const char *format, const char *name,
                             struct hn_text *list, struct hn_error *err)
{
    char *message = NULL;
    if (list->failed || asprintf(&message, format, name, list->data) < 0)
        message = NULL;
    image->message = message;
    image->outcome = HN_OUTCOME_COMPILE_ERROR;
    return message != NULL ? HN_OK : hn_fail_memory(err);
}

static enum hn_status refuse_missing(const struct hn_compile_request *request,
                                     const struct choice *choice, const char *name,
                                     struct hn_image *image, struct hn_error *err)
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
    enum hn_status status = refuse(image, format, name, &list, err);
    hn_text_finish(&list);
    return status;
}

static enum hn_status refuse_several(const struct choice *choice, const char *name,
                                     struct hn_image *image, struct hn_error *err)
{
    struct hn_text list;
    hn_text_init(&list);
    for (size_t i = 0; i < choice->names.count; i++) {
        if (strcmp(choice->kernels[i].name, name) == 0)
            append_kernel(choice, &choice->kernels[i], &list);
    }
    enum hn_status status = refuse(
        image, "several kernels are called '%s'; as entry, expected one of %s", name, &list, err);
    hn_text_finish(&list);
    return status;
}

static enum hn_status choose(const struct hn_compile_request *request, const struct choice *choice,
                             char **entry, struct hn_image *image, struct hn_error *err)
{
    const char *name = *entry;
    size_t found = 0;
    size_t count = 0;
    for (size_t i = 0; i < choice->names.count; i++) {
        if (strcmp(choice->kernels[i].mangled, name) == 0)
            return HN_OK;
        if (strcmp(choice->kernels[i].name, name) != 0)
            continue;
        found = i;
        count++;
    }
    if (count == 0)
        return refuse_missing(request, choice, name, image, err);
    if (count > 1)
        return refuse_several(choice, name, image, err);
    char *mangled = strdup(choice->kernels[found].mangled);
    if (mangled == NULL)
        return hn_fail_memory(err);
    free(*entry);
    *entry = mangled;
    return HN_OK;
}

enum hn_status hn_kernel_choose(const struct hn_compile_request *request, struct hn_image *image,
                                struct hn_error *err)
{
    struct choice choice;
    enum hn_status status = read_choice(image, &choice, err);
    for (size_t i = 0; status == HN_OK && image->message == NULL && i < request->entry_count; i++) {
        if (hn_text_is_word(request->entries[i]))
            status = choose(request, &choice, &image->entries[i], image, err);
    }
    free(choice.kernels);
    hn_kernel_names_finish(&choice.names);
    return status;
}
