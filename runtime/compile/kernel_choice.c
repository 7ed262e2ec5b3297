/* SPDX-License-Identifier: MIT */
#include "runtime/compile/kernel_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/cubin_kernels.h"
#include "runtime/compile/demangle.h"
#include "runtime/compile/kernel_templates.h"

/* Of the names of kernels in a message. */
enum { LISTED_BYTES = 2000 };

/* The kernels of a cubin; a name is NULL where it is extern "C", or can not be taken apart. */
struct choice {
    struct hn_kernel_names kernels;
    struct hn_demangled *demangled;
};

static enum hn_status read_choice(const struct hn_image *image, struct choice *choice,
                                  struct hn_error *err)
{
    *choice = (struct choice){.demangled = NULL};
    enum hn_status status = hn_cubin_read_kernels(image->cubin, image->size, &choice->kernels, err);
    if (status != HN_OK)
        return status;
    choice->demangled = calloc(choice->kernels.count + 1, sizeof *choice->demangled);
    for (size_t i = 0; choice->demangled != NULL && i < choice->kernels.count; i++)
        hn_demangle(choice->kernels.names[i], &choice->demangled[i]);
    return choice->demangled != NULL ? HN_OK : hn_fail_memory(err);
}

static void finish_choice(struct choice *choice)
{
    for (size_t i = 0; choice->demangled != NULL && i < choice->kernels.count; i++)
        hn_demangled_finish(&choice->demangled[i]);
    free(choice->demangled);
    hn_kernel_names_finish(&choice->kernels);
}

static bool is_called(const struct choice *choice, size_t kernel, const char *name)
{
    const struct hn_demangled *demangled = &choice->demangled[kernel];
    return demangled->name != NULL && strcmp(demangled->name, name) == 0;
}

static bool is_overloaded(const struct choice *choice, size_t kernel)
{
    const struct hn_demangled *own = &choice->demangled[kernel];
    for (size_t i = 0; i < choice->kernels.count; i++) {
        const struct hn_demangled *other = &choice->demangled[i];
        if (i != kernel && is_called(choice, i, own->name) && strcmp(own->scope, other->scope) == 0)
            return true;
    }
    return false;
}

/* As `entry` names it. */
static void append_kernel(const struct choice *choice, size_t kernel, struct hn_text *list)
{
    const struct hn_demangled *own = &choice->demangled[kernel];
    if (list->length > LISTED_BYTES)
        return;
    hn_text_append(list, list->length > 0 ? ", " : "");
    bool overloaded = own->name != NULL && *own->arguments == '\0' && is_overloaded(choice, kernel);
    if (own->name == NULL || (overloaded && own->parameters == NULL))
        hn_text_append(list, choice->kernels.names[kernel]);
    else if (*own->arguments != '\0')
        hn_text_printf(list, "\"%s%s%s\"", own->scope, own->name, own->arguments);
    else if (overloaded)
        hn_text_printf(list, "\"(void (*)(%s))&%s%s\"", own->parameters, own->scope, own->name);
    else
        hn_text_printf(list, "\"&%s%s\"", own->scope, own->name);
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
        for (size_t i = 0; i < choice->kernels.count; i++)
            append_kernel(choice, i, &list);
        if (choice->kernels.count == 0)
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
    for (size_t i = 0; i < choice->kernels.count; i++) {
        if (is_called(choice, i, name))
            append_kernel(choice, i, &list);
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
    for (size_t i = 0; i < choice->kernels.count; i++) {
        if (strcmp(choice->kernels.names[i], name) == 0)
            return HN_OK;
        if (!is_called(choice, i, name))
            continue;
        found = i;
        count++;
    }
    if (count == 0)
        return refuse_missing(request, choice, name, image, err);
    if (count > 1)
        return refuse_several(choice, name, image, err);
    char *mangled = strdup(choice->kernels.names[found]);
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
    finish_choice(&choice);
    return status;
}
