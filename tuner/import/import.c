/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/expression/expression.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/schema.h"
#include "base/text.h"
#include "tuner/import/import_part.h"

static const size_t size_limit = 4u << 20;

/* "sum" of "ns::sum<float, 4>". */
static char *short_name(const char *given)
{
    const char *whole = given != NULL ? given : "";
    char *name = hn_needed(strndup(whole, strcspn(whole, "<( ")));
    const char *scope = strrchr(name, ':');
    char *kernel = hn_need_copy(scope != NULL ? scope + 1 : name);
    free(name);
    if (hn_text_is_word(kernel))
        return kernel;
    free(kernel);
    return hn_need_copy("kernel");
}

enum hn_status hn_import_load(const char *path, json_t **root, char **kernel, struct hn_error *err)
{
    json_error_t place;
    char *text;
    size_t size;
    *root = NULL;
    if (hn_file_read(path, size_limit, &text, &size, err) != HN_OK)
        return err->status;
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &place);
    free(text);
    if (*root == NULL)
        return hn_fail(err, HN_EFORMAT, "%s:%d:%d: %s", path, place.line, place.column, place.text);
    const json_t *parameters =
        json_object_get(json_object_get(*root, "ConfigurationSpace"), "TuningParameters");
    const json_t *specified = json_object_get(*root, "KernelSpecification");
    if (json_array_size(parameters) > 0 && json_is_object(specified)) {
        *kernel = short_name(hn_import_text(specified, "KernelName"));
        return HN_OK;
    }
    /* Other tuners write results as JSON, too. */
    bool results =
        json_object_get(*root, "cache") != NULL || json_object_get(*root, "results") != NULL;
    hn_fail(err, HN_EFORMAT, "%s: found %s without %s; expected a tuning problem (T1 or CAFF)%s",
            path, hn_json_type_name(*root),
            json_is_object(specified) ? "TuningParameters in ConfigurationSpace"
                                      : "KernelSpecification",
            results ? "; results of a tuning are for `hone cache import`" : "");
    json_decref(*root);
    *root = NULL;
    return err->status;
}

/* The kernel's file from the config's folder: in the file's folder or the one above it. *found: it
 * is there, and where. */
static const char *find_source(const struct hn_import *import, const char **found)
{
    static const char *const places[] = {"", "../"};
    const char *file = hn_import_text(import->kernel, "KernelFile");
    *found = NULL;
    if (file == NULL || file[0] == '\0')
        return "TODO.cu";
    for (size_t i = 0; i < 2 && file[0] != '/'; i++) {
        const char *path =
            hn_need_format(import->memory, "%s/%s%s", import->place->folder, places[i], file);
        if (access(path, R_OK) != 0)
            continue;
        *found = path;
        return hn_need_format(import->memory, "%s%s%s", import->place->prefix, places[i], file);
    }
    return hn_need_format(import->memory, "%s%s", file[0] == '/' ? "" : import->place->prefix,
                          file);
}

/* Reads the source where it is there and can be read; where it cannot, nothing is known of it but
 * why. */
static void read_source(struct hn_import *import, const char *path, const char *kernel)
{
    struct hn_error why;
    if (path == NULL)
        return;
    if (hn_unit_read(path, &import->source, &why) != HN_OK) {
        hn_import_append_comment(import, "# TODO: the source was not read: ", why.message, "\n");
        hn_unit_finish(&import->source);
        return;
    }
    for (size_t i = 0; i < import->source.kernels.count && import->declared == NULL; i++)
        if (strcmp(import->source.kernels.items[i].name, kernel) == 0)
            import->declared = &import->source.kernels.items[i];
}

/* How the kernel is asked for. */
static void write_entry(struct hn_import *import, const char *kernel)
{
    const char *name = hn_import_text(import->kernel, "KernelName");
    const struct hn_kernel *declared = import->declared;
    hn_text_append(&import->text, "entry: ");
    if (name != NULL && strchr(name, '<') != NULL) {
        hn_import_append_quoted(&import->text, name, "");
    } else if (declared != NULL && declared->parameter_count > 0) {
        const char *entry = hn_need_format(import->memory, "%s%s<>", declared->scope, kernel);
        hn_import_append_quoted(&import->text, entry, "");
        hn_text_append(&import->text, "  # TODO: it is a template: which arguments?");
    } else if (declared != NULL && !declared->extern_c) {
        hn_text_printf(&import->text, "\"&%s%s\"", declared->scope, kernel);
    } else {
        hn_text_append(&import->text, kernel);
    }
    hn_text_append(&import->text, "\n");
}

static void write_head(struct hn_import *import, const char *kernel, const char *template,
                       bool found)
{
    const char *language = hn_import_text(import->kernel, "Language");
    hn_import_append_comment(import, "# Written by `hone init ", import->place->path,
                             "`. Lines marked TODO are what the file does not say.\n"
                             "# Every key is described in docs/config.md, other tuners' terms in "
                             "docs/from-kernel-tuner.md.\n");
    hn_text_printf(&import->text, "hone: 1\nkernel: %s\n", kernel);
    if (language != NULL && !hn_same_letters(language, "CUDA", SIZE_MAX))
        hn_import_append_comment(
            import, "# TODO: the kernel has to be CUDA. The file says: ", language, "\n");
    hn_text_append(&import->text, "template: ");
    hn_import_append(&import->text, template);
    hn_text_append(&import->text, found ? "\n" : "  # TODO: it is not there\n");
    write_entry(import, kernel);
    if (found && import->source.path != NULL && import->declared == NULL)
        hn_text_append(&import->text, "# TODO: the source has no kernel of this name\n");
    else if (import->declared != NULL && import->declared->argument_count == 0)
        hn_text_append(&import->text, "# TODO: the kernel has no arguments\n");
}

static void write_problem(struct hn_import *import)
{
    const char *separator = "\nproblem: {";
    for (size_t i = 0; i < import->problem.count; i++) {
        hn_text_printf(&import->text, "%s%s: ", separator, import->problem.names[i]);
        hn_value_append(&import->text, &import->problem.values[i]);
        separator = ", ";
    }
    if (import->problem.count > 0)
        hn_text_append(&import->text,
                       "}\n# TODO: what of the numbers below are these sizes? Written so, "
                       "other sizes can be tuned.\n");
}

/* Lists of values, as Python has them. */

/* A part of the text. */
struct part {
    const char *begin;
    const char *end;
};

/* The name that a comprehension counts with, and its value; NULL: none. */
struct counter {
    const char *name;
    struct hn_value value;
};

static const int deepest = 16;
/* A comprehension's text is read again for each of its values. */
static const ptrdiff_t longest_comprehension = 1024;

/* These are sticky (base/error.h). */
static void fail_part(struct hn_error *err, struct part part, const char *expected)
{
    int length = part.end - part.begin < 60 ? (int)(part.end - part.begin) : 60;
    if (!hn_failed(err))
        hn_fail(err, HN_ECONFIG, "found '%.*s', expected %s", length, part.begin, expected);
}

static void add(struct hn_value_list *list, struct hn_value value, struct hn_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (hn_value_equal(&list->values[i], &value))
            return;
    if (hn_failed(err))
        return;
    if (list->count == HN_VALUE_LIST_MOST) {
        hn_fail(err, HN_ECONFIG, "found more than %d values", HN_VALUE_LIST_MOST);
        return;
    }
    /* Doubled at powers of two. */
    if ((list->count & (list->count - 1)) == 0)
        list->values = hn_need_more(list->values, list->count == 0 ? 1 : 2 * list->count,
                                    sizeof *list->values);
    if (value.type == HN_WORD)
        value.word = hn_need_copy(value.word);
    list->values[list->count++] = value;
}

static struct part trim(struct part part)
{
    while (part.begin < part.end && hn_is_space(*part.begin))
        part.begin++;
    while (part.end > part.begin && hn_is_space(part.end[-1]))
        part.end--;
    return part;
}

/* Goes over one character, or a string in quotes; counts brackets. */
static const char *step(const char *at, const char *end, int *depth)
{
    if (*at == '\'' || *at == '"') {
        const char *quote = memchr(at + 1, *at, (size_t)(end - at - 1));
        return quote != NULL ? quote + 1 : end;
    }
    *depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
    return at + 1;
}

/* Where a character stands outside of brackets; the end when it does not. */
static const char *find_mark(struct part part, char mark)
{
    int depth = 0;
    for (const char *at = part.begin; at < part.end; at = step(at, part.end, &depth))
        if (depth == 0 && *at == mark)
            return at;
    return part.end;
}

/* The same of a word. */
static const char *find_word(struct part part, const char *word)
{
    size_t length = strlen(word);
    int depth = 0;
    for (const char *at = part.begin; at < part.end; at = step(at, part.end, &depth)) {
        if (depth != 0 || (size_t)(part.end - at) < length || strncmp(at, word, length) != 0)
            continue;
        bool begins = at == part.begin || !hn_is_word_char(at[-1]);
        bool ends = at + length == part.end || !hn_is_word_char(at[length]);
        if (begins && ends)
            return at;
    }
    return part.end;
}

/* The expression is to be destroyed: words are borrowed from it. */
static struct hn_value evaluate(struct part part, const struct counter *counter,
                                struct hn_expression **expression, struct hn_error *err)
{
    const char *names[] = {counter->name};
    struct hn_scope scope = {.names = names, .name_count = counter->name != NULL};
    struct hn_value value = hn_integer(0);
    *expression = NULL;
    if (hn_failed(err))
        return value;
    char *text = hn_needed(strndup(part.begin, (size_t)(part.end - part.begin)));
    if (hn_expression_parse(text, expression, err) == HN_OK &&
        hn_expression_bind(*expression, &scope, err) == HN_OK)
        hn_expression_evaluate(*expression, &counter->value, &value, err);
    free(text);
    return value;
}

static void add_element(struct part part, const struct counter *counter, struct hn_value_list *list,
                        struct hn_error *err)
{
    struct hn_expression *expression;
    add(list, evaluate(part, counter, &expression, err), err);
    hn_expression_destroy(expression);
}

static void add_sum(struct part part, const struct counter *counter, int depth,
                    struct hn_value_list *list, struct hn_error *err);

/* "expression for name in list if condition" */
static void add_comprehension(struct part part, const char *keyword, int depth,
                              struct hn_value_list *list, struct hn_error *err)
{
    struct part rest = {keyword + strlen("for"), part.end};
    const char *in = find_word(rest, "in");
    struct part name = trim((struct part){rest.begin, in});
    if (part.end - part.begin > longest_comprehension)
        fail_part(err, part, "a shorter expression");
    if (in == rest.end || name.begin == name.end)
        fail_part(err, part, "'VALUE for NAME in LIST'");
    if (hn_failed(err))
        return;
    struct part over = {in + strlen("in"), part.end};
    const char *filter = find_word(over, "if");
    bool filtered = filter < over.end;
    struct part condition = filtered ? trim((struct part){filter + strlen("if"), part.end}) : over;
    over.end = filter;
    struct hn_value_list counted = {.count = 0};
    char *word = hn_needed(strndup(name.begin, (size_t)(name.end - name.begin)));
    struct counter counter = {.name = word};
    if (!hn_text_is_word(word))
        fail_part(err, name, "a name to count with");
    add_sum(over, &(struct counter){.name = NULL}, depth + 1, &counted, err);
    for (size_t i = 0; !hn_failed(err) && i < counted.count; i++) {
        struct hn_expression *expression = NULL;
        counter.value = counted.values[i];
        struct hn_value holds =
            filtered ? evaluate(condition, &counter, &expression, err) : hn_boolean(true);
        if (!hn_failed(err) && hn_value_truth(&holds))
            add_element((struct part){part.begin, keyword}, &counter, list, err);
        hn_expression_destroy(expression);
    }
    hn_value_list_finish(&counted);
    free(word);
}

/* Adds the elements between brackets. */
static void add_elements(struct part part, const struct counter *counter, int depth,
                         struct hn_value_list *list, struct hn_error *err)
{
    const char *keyword = find_word(part, "for");
    if (keyword < part.end) {
        add_comprehension(part, keyword, depth, list, err);
        return;
    }
    while (!hn_failed(err)) {
        const char *comma = find_mark(part, ',');
        struct part element = trim((struct part){part.begin, comma});
        if (element.begin < element.end || comma < part.end)
            add_element(element, counter, list, err);
        if (comma == part.end)
            break;
        part.begin = comma + 1;
    }
}

/* range(end), range(begin, end), range(begin, end, step) */
static void add_range(struct part part, const struct counter *counter, struct hn_value_list *list,
                      struct hn_error *err)
{
    int64_t numbers[3] = {0, 0, 1};
    struct part rest = part;
    size_t count = 0;
    for (; !hn_failed(err) && count < 3 && rest.begin < rest.end; count++) {
        struct hn_expression *expression;
        const char *comma = find_mark(rest, ',');
        struct part one = trim((struct part){rest.begin, comma});
        struct hn_value value = evaluate(one, counter, &expression, err);
        if (value.type != HN_INTEGER)
            fail_part(err, one, "a whole number");
        numbers[count] = value.integer;
        hn_expression_destroy(expression);
        rest.begin = comma < rest.end ? comma + 1 : rest.end;
    }
    if (count == 0 || rest.begin < rest.end || numbers[2] == 0)
        fail_part(err, part, "range(BEGIN, END, STEP)");
    int64_t first = count > 1 ? numbers[0] : 0;
    int64_t end = count > 1 ? numbers[1] : numbers[0];
    for (int64_t i = first; !hn_failed(err) && (numbers[2] > 0 ? i < end : i > end);) {
        add(list, hn_integer(i), err);
        if (__builtin_add_overflow(i, numbers[2], &i))
            break;
    }
}

/* One term of a sum: "[...]", "(...)", "list(...)", "range(...)". */
static void add_term(struct part part, const struct counter *counter, int depth,
                     struct hn_value_list *list, struct hn_error *err)
{
    part = trim(part);
    const char *open = part.begin;
    while (open < part.end && hn_is_word_char(*open))
        open++;
    struct part name = {part.begin, open};
    struct part inside = {open, open};
    size_t length = (size_t)(name.end - name.begin);
    bool brackets = open < part.end - 1 && ((*open == '[' && part.end[-1] == ']' && length == 0) ||
                                            (*open == '(' && part.end[-1] == ')'));
    if (brackets)
        inside = trim((struct part){open + 1, part.end - 1});
    if (!brackets || depth > deepest)
        fail_part(err, part, "a list: [1, 2, 4], range(1, 9) or [2**i for i in range(6)]");
    else if (length == 5 && strncmp(name.begin, "range", 5) == 0)
        add_range(inside, counter, list, err);
    else if (length == 4 && strncmp(name.begin, "list", 4) == 0)
        add_sum(inside, counter, depth + 1, list, err);
    else if (length > 0)
        fail_part(err, part, "a list, list() or range()");
    else
        add_elements(inside, counter, depth, list, err);
}

static void add_sum(struct part part, const struct counter *counter, int depth,
                    struct hn_value_list *list, struct hn_error *err)
{
    while (!hn_failed(err)) {
        const char *plus = find_mark(part, '+');
        add_term((struct part){part.begin, plus}, counter, depth, list, err);
        if (plus == part.end)
            break;
        part.begin = plus + 1;
    }
}

static enum hn_status complete(struct hn_value_list *list, struct hn_error *err)
{
    if (!hn_failed(err) && list->count == 0)
        hn_fail(err, HN_ECONFIG, "found no value, expected at least one");
    if (hn_failed(err))
        hn_value_list_finish(list);
    return err->status;
}

enum hn_status hn_value_list_parse(const char *text, struct hn_value_list *list,
                                   struct hn_error *err)
{
    struct hn_error own;
    *list = (struct hn_value_list){.values = NULL};
    err = hn_error_begin(err, &own);
    add_sum((struct part){text, text + strlen(text)}, &(struct counter){.name = NULL}, 0, list,
            err);
    return complete(list, err);
}

static bool read_value(const json_t *json, struct hn_value *value)
{
    *value = json_is_integer(json)   ? hn_integer(json_integer_value(json))
             : json_is_real(json)    ? hn_real(json_real_value(json))
             : json_is_boolean(json) ? hn_boolean(json_is_true(json))
                                     : hn_word(json_string_value(json));
    return json_is_number(json) || json_is_boolean(json) || json_is_string(json);
}

static enum hn_status read_list(const json_t *array, struct hn_value_list *list,
                                struct hn_error *err)
{
    const json_t *item;
    size_t i;
    *list = (struct hn_value_list){.values = NULL};
    hn_error_init(err);
    json_array_foreach(array, i, item)
    {
        struct hn_value value;
        if (read_value(item, &value))
            add(list, value, err);
        else if (!hn_failed(err))
            hn_fail(err, HN_ECONFIG, "found a value that is no number, boolean or text");
    }
    return complete(list, err);
}

void hn_value_list_finish(struct hn_value_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->values[i].type == HN_WORD)
            free((char *)list->values[i].word);
    free(list->values);
    *list = (struct hn_value_list){.values = NULL};
}

/* Parameters, conditions and the default point. */

const struct hn_import_parameter *hn_import_find(const struct hn_import *import, const char *name)
{
    for (size_t i = 0; i < import->parameter_count; i++)
        if (strcmp(import->parameters[i].name, name) == 0)
            return &import->parameters[i];
    return NULL;
}

static const json_t *parameters_of(const struct hn_import *import)
{
    return json_object_get(import->space, "TuningParameters");
}

static enum hn_status read_values(const json_t *json, struct hn_value_list *list,
                                  struct hn_error *err)
{
    const json_t *values = json_object_get(json, "Values");
    if (json_is_array(values))
        return read_list(values, list, err);
    *list = (struct hn_value_list){.values = NULL};
    return json_is_string(values)
               ? hn_value_list_parse(json_string_value(values), list, err)
               : hn_fail(err, HN_ECONFIG, "found no 'Values', expected a list of values");
}

/* All numbers, all booleans or all words. */
static enum hn_status check_values(const struct hn_value_list *list, struct hn_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct hn_value *value = &list->values[i];
        bool word = value->type == HN_WORD;
        if (word && !hn_text_is_word(value->word))
            return hn_fail(err, HN_ECONFIG, "found '%.40s', expected a word of letters and digits",
                           value->word);
        if (word != (list->values[0].type == HN_WORD) ||
            (value->type == HN_BOOLEAN) != (list->values[0].type == HN_BOOLEAN))
            return hn_fail(err, HN_ECONFIG, "found values of several kinds");
    }
    return HN_OK;
}

/* "Default": one of the values. */
static void read_preset(const json_t *json, struct hn_import_parameter *parameter)
{
    const json_t *preset = json_object_get(json, "Default");
    struct hn_value value;
    if (!read_value(preset, &value))
        return;
    for (size_t i = 0; i < parameter->list.count; i++)
        if (hn_value_equal(&parameter->list.values[i], &value)) {
            parameter->preset = parameter->list.values[i];
            parameter->has_preset = true;
        }
}

/* HN_ECONFIG: as the file has it, it cannot be one. */
static enum hn_status read_parameter(const struct hn_import *import, const json_t *json,
                                     struct hn_import_parameter *parameter, struct hn_error *err)
{
    const char *name = hn_import_text(json, "Name");
    *parameter = (struct hn_import_parameter){.name = name};
    if (name == NULL || !hn_text_is_word(name))
        return hn_fail(err, HN_ECONFIG, "found a name that is no word");
    if (hn_import_find(import, name) != NULL)
        return hn_fail(err, HN_ECONFIG, "found the name twice");
    enum hn_status status = read_values(json, &parameter->list, err);
    if (status == HN_OK)
        status = check_values(&parameter->list, err);
    if (status != HN_OK) {
        hn_value_list_finish(&parameter->list);
        return status;
    }
    if (parameter->list.count == 1) {
        parameter->preset = parameter->list.values[0];
        parameter->has_preset = true;
    }
    read_preset(json, parameter);
    return HN_OK;
}

static void read_parameters(struct hn_import *import)
{
    const json_t *json;
    size_t i;
    import->parameters =
        hn_need(json_array_size(parameters_of(import)), sizeof *import->parameters);
    json_array_foreach(parameters_of(import), i, json)
    {
        struct hn_error ignored;
        import->parameter_count +=
            read_parameter(import, json, &import->parameters[import->parameter_count], &ignored) ==
            HN_OK;
    }
}

/* Writes a parameter that could not be read, and why. */
static void write_unreadable(struct hn_import *import, const json_t *json)
{
    struct hn_import none = {.parameter_count = 0};
    struct hn_import_parameter parameter;
    struct hn_error reason = {"found the name twice", HN_ECONFIG};
    const char *name = hn_import_text(json, "Name");
    const char *values = hn_import_text(json, "Values");
    if (read_parameter(&none, json, &parameter, &reason) == HN_OK)
        hn_value_list_finish(&parameter.list);
    hn_import_append_comment(
        import, "  # TODO: ", name != NULL ? name : "a parameter without a name", ": ");
    hn_import_append_comment(import, "", reason.message, "");
    if (values != NULL)
        hn_import_append_comment(import, "; its values: ", values, "");
    hn_text_append(&import->text, "\n");
}

/* The step between integers that rise evenly, 0 where they do not. */
static int64_t even_step(const struct hn_value_list *list)
{
    int64_t step = 0;
    for (size_t i = 0; i + 1 < list->count; i++) {
        int64_t gap;
        if (list->values[i].type != HN_INTEGER || list->values[i + 1].type != HN_INTEGER ||
            __builtin_sub_overflow(list->values[i + 1].integer, list->values[i].integer, &gap) ||
            gap <= 0 || (i > 0 && gap != step))
            return 0;
        step = gap;
    }
    return step;
}

/* Five and more that rise evenly as a range. */
static void append_list(struct hn_text *text, const struct hn_value_list *list)
{
    int64_t step = list->count > 4 ? even_step(list) : 0;
    const struct hn_value *last = &list->values[list->count - 1];
    if (step != 0) {
        hn_text_printf(text, "{range: [%lld, %lld]", (long long)list->values[0].integer,
                       (long long)last->integer);
        if (step != 1)
            hn_text_printf(text, ", step: %lld", (long long)step);
        hn_text_append(text, "}");
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        hn_text_append(text, i == 0 ? "[" : ", ");
        hn_value_append(text, &list->values[i]);
    }
    hn_text_append(text, "]");
}

static bool has_zero(const struct hn_value_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->values[i].type == HN_INTEGER && list->values[i].integer == 0)
            return true;
    return false;
}

static void write_parameter(struct hn_import *import, const struct hn_import_parameter *parameter)
{
    hn_text_printf(&import->text, "  %s: ", parameter->name);
    append_list(&import->text, &parameter->list);
    if (parameter->list.values[0].type == HN_WORD)
        hn_text_append(&import->text,
                       "  # TODO: the source gets a number for a word (docs/config.md, template)");
    else if (strncmp(parameter->name, "loop_unroll_factor", 18) == 0 && has_zero(&parameter->list))
        hn_text_append(&import->text,
                       "  # TODO: at 0 Kernel Tuner takes the pragma out of the source");
    hn_text_append(&import->text, "\n");
}

/* Evaluates a condition at the default point: the names in their order. */
static bool fails_at_default(const struct hn_import *import, const char *condition)
{
    struct hn_expression *parsed = NULL;
    struct hn_value result = hn_boolean(true);
    struct hn_scope scope = {.names = import->names, .name_count = import->name_count};
    struct hn_value *values = hn_need(import->name_count, sizeof *values);
    for (size_t i = 0; i < import->name_count; i++)
        values[i] = i < import->parameter_count
                        ? import->parameters[i].preset
                        : *hn_bindings_get(&import->problem, import->names[i]);
    bool fails = hn_expression_parse(condition, &parsed, NULL) != HN_OK ||
                 hn_expression_bind(parsed, &scope, NULL) != HN_OK ||
                 hn_expression_evaluate(parsed, values, &result, NULL) != HN_OK ||
                 !hn_value_truth(&result);
    hn_expression_destroy(parsed);
    free(values);
    return fails;
}

/* Why the file's defaults can be none; NULL: they can. */
static const char *find_flaw(const struct hn_import *import)
{
    const json_t *conditions = json_object_get(import->space, "Conditions");
    for (size_t i = 0; i < import->parameter_count; i++)
        if (!import->parameters[i].has_preset)
            return import->parameters[i].name;
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const char *condition = hn_import_text(json_array_get(conditions, i), "Expression");
        if (condition != NULL && hn_import_holds(import, condition, true, NULL) &&
            fails_at_default(import, condition))
            return condition;
    }
    return NULL;
}

static void write_defaults(struct hn_import *import)
{
    const char *flaw = find_flaw(import);
    const char *separator = "defaults: {";
    if (flaw != NULL)
        hn_import_append_comment(
            import, "# TODO: which point to begin with? The file's defaults lack or break ", flaw,
            "\n");
    for (size_t i = 0; i < import->parameter_count; i++) {
        const struct hn_import_parameter *parameter = &import->parameters[i];
        if (!parameter->has_preset || parameter->list.count == 1)
            continue;
        hn_text_printf(&import->text, "%s%s%s: ", flaw != NULL && separator[0] == 'd' ? "# " : "",
                       separator, parameter->name);
        hn_value_append(&import->text, &parameter->preset);
        separator = ", ";
    }
    hn_text_append(&import->text, separator[0] == ',' ? "}\n" : "");
}

static void write_condition(struct hn_import *import, const char *condition)
{
    struct hn_error reason = {0};
    if (!hn_import_holds(import, condition, true, &reason)) {
        hn_import_append_comment(import, "  # TODO: ", condition, "");
        hn_import_append_comment(import, "  (", reason.message, ")\n");
        return;
    }
    hn_text_append(&import->text, "  - ");
    hn_import_append(&import->text, condition);
    hn_text_append(&import->text, "\n");
}

/* "(BX*BY)<=1024" without blanks and brackets, up to the comparison. */
static bool bounds_product(const char *condition, const char *product)
{
    for (; *condition != '\0' && *product != '\0'; condition++) {
        if (strchr(" ()", *condition) != NULL)
            continue;
        product += strspn(product, " ");
        if (*condition != *product++)
            return false;
    }
    condition += strspn(condition, " )");
    return *product == '\0' && *condition == '<';
}

/* The parameters that are the block's sizes, "BX * BY"; NULL where they cannot be too many
 * threads: Kernel Tuner leaves out what is more than a block may have, and a file says so or does
 * not. Free it. */
static char *find_missing_bound(const struct hn_import *import)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    const json_t *sizes = json_object_get(import->kernel, "LocalSize");
    const json_t *item;
    struct hn_text text = {0};
    double threads = 1;
    size_t i;
    for (size_t axis = 0; axis < 3; axis++) {
        const char *name = hn_import_text(sizes, axes[axis]);
        const struct hn_import_parameter *parameter =
            name != NULL ? hn_import_find(import, name) : NULL;
        if (parameter == NULL)
            continue;
        threads *= hn_value_number(&parameter->list.values[parameter->list.count - 1]);
        hn_text_printf(&text, "%s%s", text.length > 0 ? " * " : "", name);
    }
    bool missing = threads > 1024;
    json_array_foreach(json_object_get(import->space, "Conditions"), i, item)
    {
        const char *condition = hn_import_text(item, "Expression");
        missing = missing && (condition == NULL || !bounds_product(condition, text.data));
    }
    if (missing)
        return hn_needed(hn_text_take(&text));
    hn_text_finish(&text);
    return NULL;
}

static void write_conditions(struct hn_import *import)
{
    const json_t *conditions = json_object_get(import->space, "Conditions");
    char *bound = find_missing_bound(import);
    bool any = bound != NULL;
    for (size_t i = 0; i < json_array_size(conditions) && !any; i++) {
        const char *condition = hn_import_text(json_array_get(conditions, i), "Expression");
        any = condition != NULL && hn_import_holds(import, condition, true, NULL);
    }
    /* A key without a list is none. */
    if (any)
        hn_text_append(&import->text, "constraints:\n");
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const char *condition = hn_import_text(json_array_get(conditions, i), "Expression");
        if (condition != NULL)
            write_condition(import, condition);
        else
            hn_text_append(&import->text, "  # TODO: a condition without an expression\n");
    }
    if (bound != NULL)
        hn_text_printf(&import->text, "  - %s <= 1024  # threads of a block\n", bound);
    free(bound);
}

static void write_parameters(struct hn_import *import)
{
    const json_t *list = parameters_of(import);
    size_t next = 0;
    hn_text_append(&import->text, "\nparameters:\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        const char *name = hn_import_text(json, "Name");
        if (next < import->parameter_count && name == import->parameters[next].name)
            write_parameter(import, &import->parameters[next++]);
        else
            write_unreadable(import, json);
    }
    write_defaults(import);
    write_conditions(import);
}

char *hn_import_write(const json_t *root, const struct hn_import_place *place)
{
    struct hn_blocks memory = {0};
    struct hn_import import = {.space = json_object_get(root, "ConfigurationSpace"),
                               .kernel = json_object_get(root, "KernelSpecification"),
                               .place = place,
                               .memory = &memory};
    const char *source;
    const char *template = find_source(&import, &source);
    read_source(&import, source, place->kernel);
    read_parameters(&import);
    hn_import_read_problem(&import);
    import.names = hn_need(import.parameter_count + import.problem.count, sizeof *import.names);
    for (size_t i = 0; i < import.parameter_count; i++)
        import.names[import.name_count++] = import.parameters[i].name;
    for (size_t i = 0; i < import.problem.count; i++)
        import.names[import.name_count++] = import.problem.names[i];
    write_head(&import, place->kernel, template, source != NULL);
    write_problem(&import);
    write_parameters(&import);
    hn_import_write_kernel(&import);
    for (size_t i = 0; i < import.parameter_count; i++)
        hn_value_list_finish(&import.parameters[i].list);
    free(import.parameters);
    free(import.names);
    hn_blocks_finish(&memory);
    hn_bindings_finish(&import.problem);
    hn_unit_finish(&import.source);
    return hn_needed(hn_text_take(&import.text));
}

/* Texts of the file, in YAML. */

const char *hn_import_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool hn_import_holds(const struct hn_import *import, const char *expression, bool with_parameters,
                     struct hn_error *err)
{
    struct hn_expression *parsed = NULL;
    size_t hidden = with_parameters ? 0 : import->parameter_count;
    struct hn_scope scope = {.names = import->names + hidden,
                             .name_count = import->name_count - hidden};
    bool holds = hn_expression_parse(expression, &parsed, err) == HN_OK &&
                 hn_expression_bind(parsed, &scope, err) == HN_OK;
    hn_expression_destroy(parsed);
    return holds;
}

/* YAML takes it for a text as it stands, within brackets too; what looks like a key, a comment or a
 * list does not. */
static bool is_plain(const char *string)
{
    if (!hn_is_letter_or_digit(string[0]) && string[0] != '(' && string[0] != '_')
        return false;
    for (const char *c = string; *c != '\0'; c++)
        if (!hn_is_letter_or_digit(*c) && strchr("_ +-*/%()<>=!.", *c) == NULL)
            return false;
    return string[strlen(string) - 1] != ' ';
}

static void append_escaped(struct hn_text *text, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            hn_text_printf(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            hn_text_printf(text, "\\x%02x", (unsigned char)*c);
        else
            hn_text_append_bytes(text, c, 1);
    }
}

void hn_import_append_quoted(struct hn_text *text, const char *string, const char *rest)
{
    hn_text_append(text, "\"");
    append_escaped(text, string);
    append_escaped(text, rest);
    hn_text_append(text, "\"");
}

void hn_import_append(struct hn_text *text, const char *expression)
{
    if (is_plain(expression))
        hn_text_append(text, expression);
    else
        hn_import_append_quoted(text, expression, "");
}

void hn_import_append_comment(struct hn_import *import, const char *before, const char *found,
                              const char *behind)
{
    size_t length = 0;
    hn_text_append(&import->text, before);
    for (; found[length] != '\0' && length < 160; length++) {
        unsigned char c = (unsigned char)found[length];
        hn_text_printf(&import->text, "%c", c < 0x20 || c > 0x7e ? ' ' : c);
    }
    hn_text_append(&import->text, found[length] != '\0' ? "..." : "");
    hn_text_append(&import->text, behind);
}
