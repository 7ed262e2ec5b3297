/* SPDX-License-Identifier: MIT */
#include "tuner/init/draft.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/schema.h"
#include "base/text.h"
#include "cache/record/record.h"
#include "runtime/plan/option_list.h"

static const char *const axes[] = {"X", "Y", "Z"};
static const char *const problem_names[] = {"PROBLEM_X", "PROBLEM_Y", "PROBLEM_Z"};

/* Values as other tuners list them. These are sticky (base/error.h). */

/* Each list within a text may have as many values as the whole. */
enum { MOST_BYTES = 4 << 20, MOST_VALUES = 4096, MOST_LISTS = 64 };

/* Takes what stands before a sign, outside of brackets, off a text, which is changed;
 * all where there is no such sign, and then *text is NULL. Without blanks around it. */
static char *take(char **text, const char *sign)
{
    char *begin = *text + strspn(*text, " "), *at = begin;
    for (int depth = 0; *at != '\0' && (depth != 0 || strncmp(at, sign, strlen(sign)) != 0); at++)
        depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
    *text = *at != '\0' ? at + strlen(sign) : NULL;
    while (at > begin && at[-1] == ' ')
        at--;
    *at = '\0';
    return begin;
}

/* Once where the list has a name; all are numbers, or booleans, or words. */
static void add_value(struct hn_draft *draft, struct hn_draft_name *list, struct hn_value value,
                      struct hn_error *err)
{
    const struct hn_value *first = list->values.count > 0 ? list->values.items : &value;
    HN_EACH(each, list->values)
        if (list->name != NULL && hn_value_equal(each, &value))
            return;
    if (hn_failed(err))
        return;
    if (list->values.count == MOST_VALUES)
        hn_fail(err, HN_ECONFIG, "found more than %d values", MOST_VALUES);
    else if (value.type == HN_WORD && !hn_text_is_word(value.word))
        hn_fail(err, HN_ECONFIG, "found '%.40s', expected a word of letters and digits",
                value.word);
    else if ((value.type == HN_WORD) != (first->type == HN_WORD) ||
             (value.type == HN_BOOLEAN) != (first->type == HN_BOOLEAN))
        hn_fail(err, HN_ECONFIG, "found values of several kinds");
    else
        *HN_GROW(draft->unit, list->values) = value;
}

static void read_list(struct hn_draft *draft, char *text, struct hn_draft_name *list,
                      struct hn_error *err);

/* "ELEMENT", or one for each of a list: "ELEMENT for NAME in LIST if CONDITION". */
static void read_item(struct hn_draft *draft, char *text, struct hn_draft_name *list,
                      struct hn_error *err)
{
    struct hn_draft_name over = {.name = NULL};
    struct hn_draft scope = {.unit = draft->unit, .names = {.items = &over}};
    struct hn_value value, holds = hn_boolean(true);
    char *element = take(&text, " for ");
    if (text != NULL) {
        over.name = take(&text, " in ");
        read_list(draft, text != NULL ? take(&text, " if ") : element, &over, err);
    } else {
        add_value(draft, &over, hn_integer(0), err);
    }
    scope.names.count = over.name != NULL;
    HN_EACH(i, over.values) {
        over.preset = *i;
        if (!hn_failed(err) &&
            (text == NULL || hn_draft_holds(&scope, text, HN_OF_ALL, &holds, err)) &&
            hn_value_truth(&holds) && hn_draft_holds(&scope, element, HN_OF_ALL, &value, err))
            add_value(draft, list, value, err);
    }
}

/* range(end), range(begin, end), range(begin, end, step). False: it is none. */
static bool add_range(struct hn_draft *draft, const struct hn_draft_name *given,
                      struct hn_draft_name *list, struct hn_error *err)
{
    int64_t numbers[3] = {0, 0, 1};
    size_t place = given->values.count == 1;
    HN_EACH(each, given->values) {
        if (each->type != HN_INTEGER || place == 3 || (place == 2 && each->integer == 0))
            return false;
        numbers[place++] = each->integer;
    }
    for (int64_t i = numbers[0];
         !hn_failed(err) && (numbers[2] > 0 ? i < numbers[1] : i > numbers[1]);) {
        add_value(draft, list, hn_integer(i), err);
        if (__builtin_add_overflow(i, numbers[2], &i))
            break;
    }
    return place > 1;
}

/* Appends what Python's text lists, of which nothing runs: lists, tuples, range(), list(),
 * comprehensions over one of them with an optional condition, and sums of these; elements are
 * expressions as configs have them. Words live as long as the memory. HN_ECONFIG: something else,
 * or too much. */
static void read_list(struct hn_draft *draft, char *text, struct hn_draft_name *list,
                      struct hn_error *err)
{
    while (text != NULL && !hn_failed(err)) {
        char *term = take(&text, "+"), *item;
        struct hn_draft_name ends = {.name = NULL};
        bool range = strncmp(term, "range(", 6) == 0, copy = strncmp(term, "list(", 5) == 0;
        char *rest = term + (range ? 5 : copy ? 4 : 0);
        size_t length = strlen(rest);
        bool listed = length > 1 && strchr("([", *rest) != NULL &&
                      rest[length - 1] == (*rest == '(' ? ')' : ']') && draft->lists++ < MOST_LISTS;
        if (listed) {
            rest = hn_need_kept(&draft->unit->memory, hn_needed(strndup(rest + 1, length - 2)));
            if (copy)
                read_list(draft, rest, list, err);
            while (!copy && rest != NULL && !hn_failed(err)) {
                item = take(&rest, ",");
                if (*item != '\0' || rest != NULL) /* a comma may end it */
                    read_item(draft, item, range ? &ends : list, err);
            }
            listed = !range || add_range(draft, &ends, list, err);
        }
        if (!listed && !hn_failed(err))
            hn_fail(err, HN_ECONFIG,
                    "found '%.60s', expected a list: [1, 2, 4], range(1, 9) or [2**i for i in "
                    "range(6)]",
                    term);
    }
}

/* A member that is a text; NULL: it is none. */
static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Whether that member is the word. */
static bool has(const json_t *object, const char *key, const char *word)
{
    const char *found = text_of(object, key);
    return found != NULL && hn_same_letters(found, word, SIZE_MAX);
}

enum hn_status hn_import_load(struct hn_draft *draft, struct hn_error *err)
{
    json_error_t place;
    const char *path = draft->origin;
    char *text HN_FREED = NULL;
    size_t size;
    if (hn_file_read(path, MOST_BYTES, &text, &size, err) != HN_OK)
        return err->status;
    json_t *root = draft->problem = json_loadb(text, size, JSON_REJECT_DUPLICATES, &place);
    if (root == NULL)
        return hn_fail(err, HN_EFORMAT, "%s:%d:%d: %s", path, place.line, place.column, place.text);
    const json_t *parameters =
        json_object_get(json_object_get(root, "ConfigurationSpace"), "TuningParameters");
    const json_t *specified = json_object_get(root, "KernelSpecification");
    const char *given = text_of(specified, "KernelName"), *name = given != NULL ? given : "";
    if (json_array_size(parameters) > 0 && json_is_object(specified)) {
        /* "sum" of "ns::sum<float, 4>". */
        const char *end = name + strcspn(name, "<( "), *last = end;
        while (last > name && hn_is_word_char(last[-1]))
            last--;
        bool word = last < end && !hn_is_digit(*last);
        draft->name = word ? HN_DRAFT_TEXT(draft, "%.*s", (int)(end - last), last) : "kernel";
        return HN_OK;
    }
    return hn_fail(
        err, HN_EFORMAT,
        "%s: found %s without %s; expected a T1 or CAFF problem (results: `hone cache import`)",
        path, hn_json_type_name(root),
        json_is_object(specified) ? "TuningParameters in ConfigurationSpace"
                                  : "KernelSpecification");
}

/* The source: in the file's folder or the one above it. Where it cannot be read, nothing is known
 * of it but why. */
static void read_source(struct hn_draft *draft, const json_t *specified)
{
    static const char *const places[] = {"", "../"};
    const char *given = text_of(specified, "KernelFile"), *at = "";
    const char *file = given != NULL && given[0] != '\0' ? given : "TODO.cu";
    const char *name = text_of(specified, "KernelName");
    bool relative = file[0] != '/', found = false;
    struct hn_error why = {.status = HN_OK};
    for (size_t i = 0; i < 2 && relative && !found; i++) {
        int folder = (int)(basename(draft->origin) - draft->origin);
        const char *path = HN_DRAFT_TEXT(draft, "%.*s%s%s", folder, draft->origin, places[i], file);
        found = access(path, R_OK) == 0;
        at = found ? places[i] : "";
        if (found && hn_unit_read(path, draft->unit, &why) != HN_OK)
            HN_DRAFT_NOTE(draft, "head", "# TODO: the source was not read: %s", why.message);
    }
    draft->template = HN_DRAFT_TEXT(draft, "%s%s%s", relative ? draft->prefix : "", at, file);
    hn_draft_note(draft, "template_todo", found ? "" : "it is not there");
    HN_EACH(kernel, draft->unit->kernels)
        if (draft->kernel == NULL && strcmp(kernel->name, draft->name) == 0)
            draft->kernel = kernel;
    if (found && !hn_failed(&why))
        hn_draft_choose_compiler(draft);
    const char *own = draft->kernel != NULL ? hn_draft_entry(draft) : draft->name;
    bool instance = name != NULL && strchr(name, '<') != NULL;
    hn_draft_note_scalar(draft, "entry", instance ? name : own != NULL ? own : draft->name);
    if (!instance && own == NULL)
        hn_draft_note(draft, "entry_todo", "it is a template: which arguments?");
}

/* Parameters, conditions and the default point. */

static void read_values(struct hn_draft *draft, const json_t *values,
                        struct hn_draft_name *parameter, struct hn_error *err)
{
    size_t i;
    struct hn_value value;
    const json_t *item;
    json_array_foreach(values, i, item)
    {
        if (!hn_failed(err) && hn_value_from_json(item, &value, err) == HN_OK)
            add_value(draft, parameter, value, err);
    }
    if (json_is_string(values)) {
        char *text = hn_need_kept(&draft->unit->memory, hn_need_copy(json_string_value(values)));
        for (char *c = text; *c != '\0'; c++)
            *c = hn_is_space(*c) ? ' ' : *c;
        draft->lists = 0;
        read_list(draft, text, parameter, err);
    }
    if (!hn_failed(err) && parameter->values.count == 0)
        hn_fail(err, HN_ECONFIG, "found no value, expected a list of values");
}

/* One that cannot be is a line of what is left to do. */
static void add_parameter(struct hn_draft *draft, const json_t *json)
{
    const char *name = text_of(json, "Name"), *values = text_of(json, "Values");
    const char *given = text_of(json, "Default");
    struct hn_draft_name parameter = {.name = name, .own = name};
    struct hn_error err = {.status = HN_OK};
    struct hn_value preset = hn_word(""); /* none of them */
    hn_value_from_json(json_object_get(json, "Default"), &preset, NULL);
    if (name == NULL || !hn_text_is_word(name) || hn_draft_find(draft, name) != NULL)
        hn_fail(&err, HN_ECONFIG, "found a name that is no word, or is there already");
    read_values(draft, json_object_get(json, "Values"), &parameter, &err);
    if (hn_failed(&err)) {
        HN_DRAFT_NOTE(draft, "odd_parameters", "# TODO: %.60s: %s%s%s",
                      name != NULL ? name : "a parameter without a name", err.message,
                      values != NULL ? "; its values: " : "", values != NULL ? values : "");
        return;
    }
    if (given != NULL && parameter.values.items->type != HN_WORD)
        hn_value_parse(given, &preset, NULL); /* "1" */
    HN_EACH(each, parameter.values)
        parameter.has_preset |= hn_value_equal(each, &preset);
    parameter.preset = parameter.has_preset ? preset : parameter.values.items[0];
    parameter.has_preset |= parameter.values.count == 1;
    if (parameter.preset.type == HN_WORD)
        parameter.comment = "TODO: the source gets a number for a word (docs/config.md, template)";
    *HN_GROW(draft->unit, draft->names) = parameter;
}

/* What the file's defaults lack or break is written before them. */
static void add_conditions(struct hn_draft *draft, const json_t *conditions)
{
    const json_t *json;
    struct hn_value holds;
    struct hn_error why = {"found no text", HN_OK};
    size_t i;
    HN_EACH(each, draft->names)
        hn_draft_note(draft, "odd_defaults", each->has_preset ? "" : each->name);
    json_array_foreach(conditions, i, json)
    {
        const char *condition = text_of(json, "Expression");
        if (!hn_draft_holds(draft, condition, HN_OF_ALL, NULL, &why)) {
            HN_DRAFT_NOTE(draft, "odd_constraints", "# TODO: %.160s  (%s)",
                          condition != NULL ? condition : "a condition", why.message);
            continue;
        }
        *HN_GROW(draft->unit, draft->constraints) = condition;
        bool kept =
            hn_draft_holds(draft, condition, HN_OF_ALL, &holds, NULL) && hn_value_truth(&holds);
        hn_draft_note(draft, "odd_defaults", kept ? "" : condition);
    }
}

/* The problem: whole numbers that are passed by value, and those of ProblemSize. */

static void add_size(struct hn_draft *draft, const char *name, const json_t *number)
{
    if (json_is_integer(number) && name != NULL && hn_text_is_word(name) &&
        !hn_is_like(name, "reserved") && hn_draft_find(draft, name) == NULL)
        hn_draft_add(draft, name, name, true)->preset = hn_integer(json_integer_value(number));
}

/* Arguments. */

/* A text, or a number as text. NULL: it is neither. */
static const char *number_of(const struct hn_draft *draft, const json_t *json)
{
    struct hn_value value;
    bool number = json_is_number(json) && hn_value_from_json(json, &value, NULL) == HN_OK;
    return number ? hn_draft_value(draft, &value) : json_string_value(json);
}

/* The type of an element: "int32", "double4"; NULL: no config's. */
static const char *type_of(const struct hn_draft *draft, const json_t *argument)
{
    const char *given = text_of(argument, "Type");
    char name[24], type[HN_TYPE_SIZE] = "";
    snprintf(name, sizeof name - 2, "%.16s", given != NULL ? given : "");
    for (char *c = name; *c != '\0'; c++)
        *c = hn_lower(*c);
    bool known = hn_type_of_c(name, type) || hn_type_of_c(strcat(name, "_t"), type);
    return known ? HN_DRAFT_TEXT(draft, "%s", type) : NULL;
}

/* A number of elements, an expression of the problem, in which "ProblemSize[1]" may stand; NULL
 * where the file has none. */
static const char *count_of(const struct hn_draft *draft, const json_t *argument)
{
    const char *count = number_of(draft, json_object_get(argument, "Size"));
    if (count == NULL || strlen(count) > 400)
        return NULL;
    for (int axis = 0; axis < 3; axis++)
        if (hn_draft_find(draft, problem_names[axis]) != NULL)
            count = hn_draft_replace(draft, count, HN_DRAFT_TEXT(draft, "ProblemSize[%d]", axis),
                                     problem_names[axis]);
    return HN_DRAFT_IS(draft, count, HN_OF_SIZES) ? count : NULL;
}

/* Sets it; returns whether the file says it. */
static bool set_fill(struct hn_draft *draft, const json_t *json, struct hn_draft_argument *argument)
{
    const char *source = text_of(json, "DataSource");
    const char *value = number_of(draft, json_object_get(json, "FillValue"));
    bool random = has(json, "FillType", "Random"), constant = has(json, "FillType", "Constant");
    if (HN_DRAFT_IS(draft, value, HN_OF_SIZES))
        argument->fill = random     ? HN_DRAFT_TEXT(draft, "uniform(0, %s)", value)
                         : constant ? HN_DRAFT_TEXT(draft, "constant(%s)", value)
                                    : NULL;
    if (source != NULL && has(json, "FillType", "BinaryRaw"))
        argument->file =
            HN_DRAFT_TEXT(draft, "%s%s", source[0] == '/' ? "" : draft->prefix, source);
    return random || argument->fill != NULL || argument->file != NULL;
}

/* What the file does not say so that it is known; the last question is the one that is left. */
static void ask(struct hn_draft *draft, const json_t *json, bool known, const char *question,
                const char *key, struct hn_draft_argument *argument)
{
    const char *said = number_of(draft, json_object_get(json, key));
    if (!known)
        argument->todo =
            HN_DRAFT_LINE(draft, "%s%s%s", question, said != NULL ? " The file says: " : "",
                          said != NULL ? said : "");
}

/* An argument, a variable of the source that is a copy of it, or such a variable alone. */
static void add_argument(struct hn_draft *draft, const json_t *specified, const json_t *json)
{
    const char *name = text_of(json, "Name"), *said;
    bool scalar = has(json, "MemoryType", "Scalar"), symbol = has(json, "MemoryType", "Symbol");
    struct hn_draft_argument argument = {.name = name, .type = type_of(draft, json)};
    bool typed = argument.type != NULL;
    bool writes = has(json, "AccessType", "WriteOnly"), both = has(json, "AccessType", "ReadWrite");
    /* The file's name, or none that means anything: also where a variable of the source has it. */
    bool word = name != NULL && hn_text_is_word(name), constant = has(json, "MemType", "Constant");
    /* Of more arguments than the kernel has, those in constant memory are none of it. */
    symbol |=
        constant && !scalar && draft->kernel != NULL &&
        draft->kernel->arguments.count < json_array_size(json_object_get(specified, "Arguments"));
    if (has(json, "MemoryType", "Local") || (symbol && !word))
        return;
    bool usable = word && !constant;
    HN_EACH(each, draft->arguments)
        usable = usable && strcmp(each->name, name) != 0;
    if (!symbol && !usable)
        argument.name = HN_DRAFT_TEXT(draft, "argument_%zu", draft->arguments.count + 1);
    argument.type = typed ? argument.type : scalar ? "int32" : "uint8";
    if (scalar) {
        said = number_of(draft, json_object_get(json, "FillValue"));
        bool valued = HN_DRAFT_IS(draft, said, HN_OF_ALL);
        argument.value = name != NULL && hn_draft_find(draft, name) != NULL ? name
                         : valued                                           ? said
                                                                            : "1";
        ask(draft, json, typed, "which type?", "Type", &argument);
        ask(draft, json, valued, "which value?", "FillValue", &argument);
    } else {
        const char *count = count_of(draft, json);
        argument.count = count != NULL ? count : "1";
        if (!symbol && (writes || both))
            argument.role = both ? HN_DRAFT_INOUT : HN_DRAFT_OUTPUT;
        ask(draft, json, symbol || writes || both || has(json, "AccessType", "ReadOnly"),
            "input, output or inout?", "AccessType", &argument);
        ask(draft, json, argument.role == HN_DRAFT_OUTPUT || set_fill(draft, json, &argument),
            "which fill?", "DataSource", &argument);
        ask(draft, json, typed, "which type?", "Type", &argument);
        ask(draft, json, count != NULL, "how many elements?", "Size", &argument);
    }
    if (!symbol)
        *HN_GROW(draft->unit, draft->arguments) = argument;
    if (!symbol && word && constant)
        argument = (struct hn_draft_argument){.name = name, .from = argument.name};
    if (symbol || (word && constant))
        hn_draft_note_argument(draft, "symbols", &argument);
}

/* The launch. */

/* "LocalSize": {"X": "block_size_x"}; what means nothing here is NULL and left to do. */
static const char *size_of(struct hn_draft *draft, const char *key, const json_t *size,
                           const char *axis)
{
    const char *text = number_of(draft, size);
    struct hn_error why = {"found no text", HN_OK};
    if (hn_draft_holds(draft, text, HN_OF_ALL, NULL, &why))
        return text;
    if (size != NULL)
        HN_DRAFT_NOTE(draft, "how_launched", "# TODO: %s.%s: %s; the file says: %s", key, axis,
                      why.message, text != NULL ? text : "something else");
    return NULL;
}

/* Blocks along an axis: ProblemSize over GridDivX, or where that is missing over the block's size,
 * as Kernel Tuner has it; without a ProblemSize it is GlobalSize, which may count threads, as
 * OpenCL does. */
static const char *grid_of(struct hn_draft *draft, const json_t *kernel, int axis,
                           const char *block)
{
    const char *divided_by = HN_DRAFT_TEXT(draft, "GridDiv%s", axes[axis]), *divisor = "1", *part;
    const json_t *divisors = json_object_get(kernel, divided_by);
    bool problem = json_array_size(json_object_get(kernel, "ProblemSize")) > 0;
    const char *key = problem ? "ProblemSize" : "GlobalSize";
    const json_t *sizes = json_object_get(kernel, key);
    const json_t *size =
        problem ? json_array_get(sizes, (size_t)axis) : json_object_get(sizes, axes[axis]);
    const char *extent = problem && hn_draft_find(draft, problem_names[axis]) != NULL
                             ? problem_names[axis]
                             : size_of(draft, key, size, axes[axis]);
    if (extent == NULL || strcmp(extent, "1") == 0)
        return "1";
    bool typed = text_of(kernel, "GlobalSizeType") != NULL;
    if (problem ? json_array_size(divisors) == 0
                : has(kernel, typed ? "GlobalSizeType" : "Language", "OpenCL"))
        divisor = block;
    for (size_t i = 0; problem && i < json_array_size(divisors); i++) {
        part = size_of(draft, divided_by, json_array_get(divisors, i), "");
        divisor = part != NULL ? hn_times(draft->unit, divisor, part) : divisor;
    }
    return strcmp(divisor, "1") == 0 ? extent
                                     : HN_DRAFT_TEXT(draft, "ceil_div(%s, %s)", extent, divisor);
}

static void set_launch(struct hn_draft *draft, const json_t *kernel)
{
    const json_t *local = json_object_get(kernel, "LocalSize");
    const json_t *shared = json_object_get(kernel, "SharedMemory");
    draft->dimensions = 1;
    for (int axis = 0; axis < 3; axis++) {
        const json_t *size = json_object_get(local, axes[axis]);
        const char *block = size_of(draft, "LocalSize", size, axes[axis]);
        draft->block[axis] = block != NULL ? block : "1";
        draft->grid[axis] = grid_of(draft, kernel, axis, draft->block[axis]);
        if (strcmp(draft->block[axis], "1") != 0 || strcmp(draft->grid[axis], "1") != 0)
            draft->dimensions = axis + 1;
    }
    hn_draft_bound_threads(draft);
    /* It is of the launch: of an array that is extern. */
    if (draft->kernel == NULL || HN_HAS(draft->unit, draft->kernel->body, "extern"))
        draft->shared_bytes = size_of(draft, "SharedMemory", shared, "bytes");
}

/* Those of the file, and macros that Kernel Tuner defines in every source. */
static void add_options(struct hn_draft *draft, const json_t *specified)
{
    const json_t *json;
    size_t i;
    json_array_foreach(json_object_get(specified, "CompilerOptions"), i, json)
    {
        const char *option = json_is_string(json) ? json_string_value(json) : "that is no text";
        const char *folder = hn_option_value(option, "include-path");
        if (hn_option_check(option, NULL) != HN_OK ||
            hn_option_value(option, "gpu-architecture") != NULL || strpbrk(option, "{}") != NULL)
            HN_DRAFT_NOTE(draft, "odd_options",
                          "# TODO: the file's compiler option %s (docs/config.md, compile)",
                          option);
        else
            hn_draft_note_scalar(draft, "options",
                                 folder == NULL || folder[0] == '/'
                                     ? option
                                     : HN_DRAFT_TEXT(draft, "%.*s%s%s", (int)(folder - option),
                                                     option, draft->prefix, folder));
    }
    if (HN_HAS(draft->unit, HN_EVERYWHERE, "kernel_tuner"))
        hn_draft_note_scalar(draft, "options", "-Dkernel_tuner=1");
    for (int axis = 0; axis < 3; axis++) {
        const char *name = HN_DRAFT_TEXT(draft, "block_size_%c", 'x' + axis);
        if (hn_draft_find(draft, name) == NULL && HN_HAS(draft->unit, HN_EVERYWHERE, name) &&
            !hn_unit_meaning(draft->unit, name, 0)->macro)
            hn_draft_note_scalar(draft, "options",
                                 HN_DRAFT_TEXT(draft, "-D%s={%s}", name, draft->block[axis]));
    }
}

void hn_import_make(struct hn_draft *draft)
{
    const json_t *space = json_object_get(draft->problem, "ConfigurationSpace"), *json;
    const json_t *kernel = json_object_get(draft->problem, "KernelSpecification");
    const json_t *arguments = json_object_get(kernel, "Arguments");
    size_t i;
    HN_DRAFT_FLAG(draft, "tuner", true);
    read_source(draft, kernel);
    json_array_foreach(json_object_get(space, "TuningParameters"), i, json)
        add_parameter(draft, json);
    json_array_foreach(json_object_get(kernel, "ProblemSize"), i, json)
        add_size(draft, i < 3 ? problem_names[i] : NULL, json);
    json_array_foreach(arguments, i, json) if (has(json, "MemoryType", "Scalar"))
        add_size(draft, text_of(json, "Name"), json_object_get(json, "FillValue"));
    add_conditions(draft, json_object_get(space, "Conditions"));
    json_array_foreach(arguments, i, json) add_argument(draft, kernel, json);
    set_launch(draft, kernel);
    add_options(draft, kernel);
    /* Results that the file has are not read: what is right is a kernel's to say, or a file's,
     * where the inputs are what they were. */
    json_object_set(draft->document, "language", json_object_get(kernel, "Language"));
    json_object_set(draft->document, "reference", json_object_get(kernel, "ReferenceArguments"));
}
