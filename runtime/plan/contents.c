/* SPDX-License-Identifier: MIT */
#include "runtime/plan/contents.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

/* The fill of an argument with all its numbers, and how many elements it is of: the same for every
 * variant, as inputs are. */
static void resolve(const struct hn_plan *plan, const struct hn_argument *argument,
                    const struct hn_value *values, struct hn_fill *fill, uint64_t *elements,
                    struct hn_error *err)
{
    char why[128];
    int64_t count = 0;
    *fill = argument->fill;
    for (int i = 0; i < 2 && !hn_failed(err); i++) {
        const char *parameter = hn_plan_parameter_used(plan, fill->expressions[i]);
        if (parameter != NULL)
            hn_fail(err, HN_ECONFIG,
                    "which uses the parameter '%s'; contents can only depend on the problem",
                    parameter);
        hn_expression_number(fill->expressions[i], values, &fill->numbers[i], err);
        fill->expressions[i] = NULL;
    }
    hn_expression_integer(argument->count, values, &count, err);
    *elements = (uint64_t)count * argument->lanes;
    if (hn_failed(err))
        return;
    if (count < 1)
        hn_fail(err, HN_EVALUE, "expected a count of at least 1");
    else if (!hn_fill_check(fill, argument->element, *elements, why, sizeof why))
        hn_fail(err, HN_EVALUE, "%s", why);
}

static void check_rows(const struct hn_recipe *recipe, struct hn_error *err)
{
    const struct hn_fill *rows = &recipe->source_fill;
    double entries = floor(rows->numbers[0] * (double)(recipe->source_count - 1));
    if (rows->kind != HN_FILL_CSR_ROWS)
        hn_fail(err, HN_EVALUE, "but '%s' has no rows; expected one with csr_rows(entries, spread)",
                recipe->fill.of);
    else if ((double)recipe->count != entries)
        hn_fail(err, HN_EVALUE,
                "with %llu elements; expected as many as the rows of '%s' have entries, %.0f",
                (unsigned long long)recipe->count, recipe->fill.of, entries);
}

static void check_turned(const struct hn_plan *plan, const struct hn_recipe *recipe,
                         struct hn_error *err)
{
    const struct hn_argument *own = &plan->arguments[recipe->argument];
    const struct hn_argument *source = &plan->arguments[recipe->source];
    enum hn_fill_kind kind = recipe->source_fill.kind;
    if (hn_fill_has_source(kind) || kind == HN_FILL_FILE)
        hn_fail(err, HN_EVALUE,
                "but '%s' comes from another input or a file itself; expected one with a fill "
                "of its own",
                recipe->fill.of);
    else if (source->element != own->element || own->lanes != 1 || source->lanes != 1 ||
             recipe->source_count != recipe->count)
        hn_fail(err, HN_EVALUE,
                "but '%s' has another type or number of elements, or vectors; expected the "
                "same of both",
                recipe->fill.of);
}

enum hn_status hn_recipe_make(const struct hn_plan *plan, size_t argument,
                              const struct hn_value *values, struct hn_recipe *recipe,
                              struct hn_error *err)
{
    hn_error_init(err);
    *recipe = (struct hn_recipe){.argument = argument};
    resolve(plan, &plan->arguments[argument], values, &recipe->fill, &recipe->count, err);
    if (hn_failed(err) || !hn_fill_has_source(recipe->fill.kind))
        return err->status;
    const struct hn_argument *source = hn_plan_find_argument(plan, recipe->fill.of);
    if (source == NULL || !hn_argument_is_filled(source))
        return hn_fail(err, HN_EVALUE, "but there is no input '%s' with contents; expected one",
                       recipe->fill.of);
    recipe->source = (size_t)(source - plan->arguments);
    resolve(plan, source, values, &recipe->source_fill, &recipe->source_count, err);
    if (!hn_failed(err) && recipe->fill.kind == HN_FILL_CSR_COLUMNS)
        check_rows(recipe, err);
    else if (!hn_failed(err))
        check_turned(plan, recipe, err);
    return err->status;
}

/* The layout is described in NumPy's manual, "numpy.lib.format": magic, version, length of the
 * header, header. */
static const char npy_magic[] = "\x93NUMPY";
enum { NPY_MAGIC_BYTES = 6, NPY_HEADER_MOST = 64 << 10 };

/* The text behind 'key': in a header, or NULL. */
static const char *find_value(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

/* "<f4" for float32; one byte has no order. */
static bool is_type(const char *descr, size_t length, enum hn_element element)
{
    char expected[8];
    const char *name = hn_element_name(element);
    char kind = name[0] == 'b' ? 'V' : name[0];
    size_t size = hn_element_size(element);
    if (length < 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '='))
        return false;
    snprintf(expected, sizeof expected, "%c%zu", kind, size);
    if (strlen(expected) == length - 1 && strncmp(descr + 1, expected, length - 1) == 0)
        return true;
    return (element == HN_BFLOAT16 && length == 3 && descr[2] == '2') ||
           (element == HN_FLOAT8_E4M3 && length == 3 && descr[2] == '1');
}

/* "(3, 4)" multiplied out; counts the dimensions of more than one. */
static bool read_shape(const char *shape, uint64_t *count, int *dimensions)
{
    *count = 1;
    *dimensions = 0;
    if (*shape++ != '(')
        return false;
    while (*(shape += strspn(shape, " ,")) != ')') {
        char *end = NULL;
        errno = 0;
        uintmax_t length = hn_is_digit(*shape) ? strtoumax(shape, &end, 10) : 0;
        if (end == NULL || errno != 0 || (length > 0 && *count > (UINT64_C(1) << 50) / length))
            return false;
        *count *= length;
        *dimensions += length > 1;
        shape = end;
    }
    return true;
}

/* The header of a NumPy array, without magic and lengths: "{'descr': '<f4', 'fortran_order': False,
 * 'shape': (3, 4), }". *count becomes the number of elements. */
static enum hn_status npy_check(const char *header, enum hn_element element, uint64_t *count,
                                struct hn_error *err)
{
    int dimensions = 0;
    const char *descr = find_value(header, "'descr'");
    const char *order = find_value(header, "'fortran_order'");
    const char *shape = find_value(header, "'shape'");
    if (descr == NULL || *descr != '\'')
        return hn_fail(err, HN_ECONFIG, "found no plain type in the header, expected %s",
                       hn_element_name(element));
    size_t length = strcspn(descr + 1, "'");
    if (!is_type(descr + 1, length, element))
        return hn_fail(err, HN_ECONFIG, "found elements of type '%.*s', expected %s, little endian",
                       length > 40 ? 40 : (int)length, descr + 1, hn_element_name(element));
    if (shape == NULL || !read_shape(shape, count, &dimensions))
        return hn_fail(err, HN_ECONFIG, "found no shape in the header");
    if (order == NULL || (strncmp(order, "False", 5) != 0 && dimensions > 1))
        return hn_fail(err, HN_ECONFIG,
                       "found an array that is stored column by column; save "
                       "numpy.ascontiguousarray of it");
    return HN_OK;
}

static enum hn_status fail_file(const char *path, const char *reason, struct hn_error *err)
{
    return hn_fail(err, HN_ECONFIG, "data file %s: %s", path, reason);
}

/* Reads the header behind the magic; its length has two bytes in version 1, four from there on. */
static void read_npy(const char *path, enum hn_element element, FILE *stream, uint64_t *count,
                     struct hn_error *err)
{
    unsigned char start[6] = {0};
    struct hn_error reason = {.message = ""};
    size_t length_bytes = 2;
    if (fread(start, 1, 2, stream) == 2 && start[0] > 1)
        length_bytes = 4;
    bool whole = fread(start + 2, 1, length_bytes, stream) == length_bytes;
    uint32_t length = (uint32_t)start[2] | (uint32_t)start[3] << 8 | (uint32_t)start[4] << 16 |
                      (uint32_t)start[5] << 24;
    char *header HN_FREED = length > NPY_HEADER_MOST ? NULL : calloc(length + 1, 1);
    if (length > NPY_HEADER_MOST)
        fail_file(path, "the header is longer than 64 KiB", err);
    else if (header == NULL)
        hn_fail_memory(err);
    else if (!whole || fread(header, 1, length, stream) != length)
        fail_file(path, "the header is cut off", err);
    else if (npy_check(header, element, count, &reason) != HN_OK)
        fail_file(path, reason.message, err);
}

static void check_size(const char *path, FILE *stream, enum hn_element element, uint64_t found,
                       uint64_t count, struct hn_error *err)
{
    struct stat about;
    long start = ftell(stream);
    uint64_t expected = count * hn_element_size(element);
    if (fstat(fileno(stream), &about) != 0 || start < 0) {
        fail_file(path, strerror(errno), err);
        return;
    }
    uint64_t bytes = (uint64_t)about.st_size - (uint64_t)start;
    if (found != count)
        hn_fail(err, HN_ECONFIG,
                "data file %s: found an array of %" PRIu64 " elements, expected %" PRIu64, path,
                found, count);
    else if (bytes != expected)
        hn_fail(err, HN_ECONFIG,
                "data file %s: found %" PRIu64 " bytes of data, expected %" PRIu64 " (%" PRIu64
                " elements of %s)",
                path, bytes, expected, count, hn_element_name(element));
}

enum hn_status hn_data_file_open(const char *path, enum hn_element element, uint64_t count,
                                 FILE **stream, struct hn_error *err)
{
    char magic[NPY_MAGIC_BYTES];
    uint64_t found = count;
    const char *reason = NULL;
    hn_error_init(err);
    *stream = hn_file_stream(path, &reason);
    if (*stream == NULL)
        return fail_file(path, reason, err);
    if (fread(magic, 1, sizeof magic, *stream) == sizeof magic &&
        memcmp(magic, npy_magic, sizeof magic) == 0)
        read_npy(path, element, *stream, &found, err);
    else
        rewind(*stream);
    if (!hn_failed(err))
        check_size(path, *stream, element, found, count, err);
    if (!hn_failed(err))
        return HN_OK;
    fclose(*stream);
    *stream = NULL;
    return err->status;
}

enum hn_status hn_data_file_read(FILE *stream, void *bytes, size_t size, struct hn_error *err)
{
    if (fread(bytes, 1, size, stream) == size)
        return HN_OK;
    return hn_fail(err, HN_ECONFIG, "a data file became shorter while it was read");
}

enum hn_status hn_data_file_hash(const char *path, struct hn_hash *hash, struct hn_error *err)
{
    const char *reason = NULL;
    return hn_hash_file(path, hash, &reason) ? HN_OK : fail_file(path, reason, err);
}

/* The data files of a plan, of which each problem may have its own. */

static const struct hn_value *find_problem_value(const struct hn_plan *plan, const char *name,
                                                 size_t length, const struct hn_value *values)
{
    for (size_t i = 0; i < plan->name_count; i++)
        if (strlen(plan->names[i]) == length && strncmp(plan->names[i], name, length) == 0 &&
            hn_text_is_among(plan->names[i], (const char *const *)plan->problem,
                             plan->problem_count))
            return &values[i];
    return NULL;
}

enum hn_status hn_plan_data_path(const struct hn_plan *plan, const char *file,
                                 const struct hn_value *values, char **path, struct hn_error *err)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    const char *slash = strrchr(file, '/');
    const char *at = slash == NULL ? file : slash;
    hn_error_init(err);
    *path = NULL;
    hn_text_append_bytes(&text, file, (size_t)(at - file));
    while (!hn_failed(err) && *at != '\0') {
        size_t before = strcspn(at, "{");
        hn_text_append_bytes(&text, at, before);
        at += before;
        if (*at == '\0')
            break;
        size_t length = strcspn(at + 1, "}");
        const struct hn_value *value = find_problem_value(plan, at + 1, length, values);
        if (at[1 + length] == '\0' || value == NULL)
            hn_fail(err, HN_ECONFIG,
                    "data file %s: found '%.*s', expected the name of a problem value in {}", file,
                    (int)(length < 60 ? length + 2 : 60), at);
        else
            hn_value_append(&text, value);
        at += length + 2;
    }
    if (!hn_failed(err))
        *path = hn_made(hn_text_take(&text), err);
    return err->status;
}

static void add_file(const struct hn_plan *plan, size_t argument, char **name,
                     const struct hn_value *values, struct hn_plan_files *files,
                     struct hn_error *err)
{
    if (hn_failed(err) || *name == NULL)
        return;
    struct hn_plan_file *file = &files->items[files->count++];
    file->name = name;
    file->argument = argument;
    hn_plan_data_path(plan, *name, values, &file->path, err);
}

enum hn_status hn_plan_list_files(const struct hn_plan *plan, const struct hn_bindings *problem,
                                  struct hn_plan_files *files, struct hn_error *err)
{
    const struct hn_reference *reference = &plan->reference;
    struct hn_value *values HN_FREED = NULL;
    hn_error_init(err);
    *files = (struct hn_plan_files){0};
    if (hn_plan_values(plan, problem, &plan->defaults, &values, err) == HN_OK)
        files->items =
            hn_allocate(plan->argument_count + reference->file_count, sizeof *files->items, err);
    for (size_t i = 0; i < plan->argument_count; i++)
        add_file(plan, i, &plan->arguments[i].fill.file, values, files, err);
    for (size_t i = 0; i < reference->file_count; i++)
        add_file(plan, reference->files[i].argument, &reference->files[i].file, values, files, err);
    if (hn_failed(err))
        hn_plan_files_finish(files);
    return err->status;
}

void hn_plan_files_finish(struct hn_plan_files *files)
{
    HN_FREE_EACH(file, files->items, files->count, free(file->path));
    *files = (struct hn_plan_files){NULL, 0};
}
