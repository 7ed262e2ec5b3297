/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tuner/config/config_parts.h"

enum { ARGUMENTS_MOST = 256 }; /* and symbols, together */

/* Whether the type of an argument is the word of a problem value; notes that it is. */
static bool read_type_name(struct hn_reader *reader, const struct hn_yaml *node,
                           struct hn_argument *argument)
{
    struct hn_config *config = reader->config;
    const struct hn_word_list *list = hn_plan_find_words(config->plan, node->text);
    if (list == NULL || hn_bindings_get(&config->problems[0], node->text) == NULL)
        return false;
    char type[HN_TYPE_SIZE];
    for (size_t i = 0; i < list->count; i++)
        if (!hn_type_of_c(list->words[i], type))
            hn_config_fail(
                reader, node,
                "'%s' is a type here, but its word '%s' is no type of an element in CUDA "
                "C++; expected words such as float, double or __half",
                node->text, list->words[i]);
    if (config->typed == NULL)
        config->typed = hn_need_block(&config->blocks, ARGUMENTS_MOST, sizeof *config->typed);
    config->typed[config->typed_count++] =
        (struct hn_config_typed){(size_t)(argument - config->plan->arguments), node->text};
    if (!hn_failed(reader->err) && hn_type_of_c(list->words[0], type))
        hn_type_parse(type, &argument->element, &argument->lanes);
    return true;
}

/* How results are compared: for all, and an argument's own way. */

static const char default_relative[] = "1.0e-5";

/* Two units in the last place of the largest element: kernel and reference round on their own. */
static const char *default_relative_bound(enum hn_element element)
{
    return element == HN_FLOAT16       ? "2.0e-3"
           : element == HN_BFLOAT16    ? "1.6e-2"
           : element == HN_FLOAT8_E4M3 ? "2.5e-1"
                                       : default_relative;
}

/* Bounds that halves cannot keep are not asked of them, where the config gives none of its own. */
static void set_compare(const struct hn_argument *argument, const char *type, json_t *json)
{
    enum hn_element element;
    unsigned lanes;
    const struct hn_compare *compare = argument->compare;
    if (!hn_argument_is_compared(argument) || !hn_type_parse(type, &element, &lanes))
        return;
    if (compare == NULL || compare->mode != HN_COMPARE_MAX_NORM || compare->relative == NULL ||
        strcmp(hn_expression_text(compare->relative), default_relative_bound(argument->element)) !=
            0)
        return;
    json_object_set_new(json_object_get(json, "compare"), "relative",
                        json_string(default_relative_bound(element)));
}

enum hn_status hn_config_make_plan(const struct hn_config *config,
                                   const struct hn_bindings *problem, struct hn_plan **plan,
                                   struct hn_error *err)
{
    *plan = NULL;
    hn_error_init(err);
    if (config->typed_count == 0)
        return HN_OK;
    json_auto_t *json = hn_needed(hn_plan_to_json(config->plan));
    json_t *arguments = json_object_get(json, "arguments");
    for (size_t i = 0; i < config->typed_count && !hn_failed(err); i++) {
        const struct hn_config_typed *typed = &config->typed[i];
        const struct hn_argument *argument = &config->plan->arguments[typed->argument];
        const struct hn_value *word = hn_bindings_get(problem, typed->name);
        json_t *own_json = json_array_get(arguments, typed->argument);
        char type[HN_TYPE_SIZE];
        struct hn_text found HN_ENDED_BY(hn_text_finish) = {0};
        if (word != NULL && word->type == HN_WORD && hn_type_of_c(word->word, type)) {
            json_object_set_new(own_json, "type", json_string(type));
            set_compare(argument, type, own_json);
            continue;
        }
        if (word != NULL)
            hn_value_append(&found, word);
        hn_fail(err, HN_ECONFIG,
                "'%s' is the type of argument '%s'; found '%s' in a problem, expected a type of an "
                "element in CUDA C++ such as float, double or __half",
                typed->name, argument->name, found.length > 0 ? found.data : "nothing");
    }
    if (!hn_failed(err))
        hn_plan_from_json(json, plan, err);
    return err->status;
}

/* Arguments, textures, tensor maps and symbols are arguments of the plan, read by one table. */

static const char expected_fill[] =
    "uniform(low, high), normal(mean, deviation), iota(start, step), constant(value), "
    "permutation(), skewed(n, share), zipf(n, exponent), sorted(low, high), arange, "
    "csr_rows(entries, "
    "spread), csr_columns(rows, columns) or transposed(input, rows)";

/* A number that is written out is one; all else is an expression. */
static void read_number(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                        struct hn_fill *fill, int index)
{
    char *end = NULL;
    text += strspn(text, " ");
    fill->numbers[index] = hn_c_strtod(text, &end);
    bool blank = end == text;
    while (hn_is_space(*end))
        end++;
    if (blank || *end != '\0' || !isfinite(fill->numbers[index])) {
        fill->numbers[index] = 0;
        hn_config_parse(reader, node, text, &fill->expressions[index]);
    }
}

/* Splits "(a, b)" in place at the commas that are its own; -1: it is none, or has more than `most`
 * parts. */
static int split(char *text, int most, char **parts)
{
    int count = 0, open = 0;
    bool closed = false;
    for (char *at = text; *at != '\0'; at++) {
        bool own = open == 1 && (*at == ',' || *at == ')');
        open += *at == '(' || *at == '[' ? 1 : *at == ')' || *at == ']' ? -1 : 0;
        if (at == text ? *at != '(' : open == 0 && at[1] != '\0')
            return -1;
        closed = own && open == 0;
        if (at != text && !own)
            continue;
        *at = '\0';
        if (open > 0 && count == most)
            return -1;
        if (open > 0)
            parts[count++] = at + 1;
    }
    return closed ? count : -1;
}

static void set_default_fill(struct hn_argument *argument)
{
    bool real = hn_element_is_real(argument->element);
    argument->fill =
        (struct hn_fill){.kind = HN_FILL_UNIFORM, .numbers = {real ? -1 : 0, real ? 1 : 100}};
}

/* "name(a, b)". A number that the kind does not take stays what it is by default, as hashes have
 * it. */
static void read_fill(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_fill *fill = &((struct hn_argument *)owner)->fill;
    char name[16];
    set_default_fill(owner);
    if (!hn_config_check_cut(reader, node) ||
        !hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected_fill))
        return;
    size_t length = strcspn(node->text, "( ");
    snprintf(name, sizeof name, "%.*s", (int)length, node->text);
    if (strcmp(node->text, "arange") == 0) {
        *fill = (struct hn_fill){.kind = HN_FILL_IOTA, .numbers = {0, 1}};
        return;
    }
    size_t kind =
        length < sizeof name ? hn_text_place(name, hn_fill_names, HN_FILL_COUNT) : HN_FILL_COUNT;
    if (!hn_config_expect(reader, kind < HN_FILL_COUNT && kind != HN_FILL_FILE, node,
                          expected_fill))
        return;
    fill->kind = (enum hn_fill_kind)kind;
    int numbers = hn_fill_numbers[kind];
    bool sourced = hn_fill_has_source(fill->kind);
    char *parts[3] = {NULL}, *copy HN_FREED = hn_need_copy(node->text);
    char *at = copy + length + strspn(copy + length, " ");
    int count = *at == '\0' ? 0 : split(at, 3, parts);
    if (count == 1 && numbers == 0 && parts[0][strspn(parts[0], " ")] == '\0')
        count = 0;
    const char *source = sourced && count > 0 ? parts[0] + strspn(parts[0], " ") : "";
    size_t size = strcspn(source, " ,()");
    bool named = size > 0 && source[size + strspn(source + size, " ")] == '\0';
    bool fits = count == numbers + sourced && named == sourced;
    if (hn_config_expect(reader, fits, node, expected_fill)) {
        if (sourced)
            fill->of = hn_needed(strndup(source, size));
        for (int i = 0; i < numbers && !hn_failed(reader->err); i++)
            read_number(reader, node, parts[i + sourced], fill, i);
    }
}

static void read_file(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_fill *fill = &((struct hn_argument *)owner)->fill;
    fill->kind = HN_FILL_FILE;
    hn_config_read_path(reader, node, "the path of a data file", &fill->file);
}

/* Keys that the plan's JSON has not got, or in another form. */

static void read_type(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_argument *argument = owner;
    const char *names[HN_ELEMENT_COUNT];
    if (argument->structure != NULL ||
        !hn_config_expect_kind(reader, node, HN_YAML_SCALAR,
                               "an element type such as float32 or float32x4") ||
        hn_type_parse(node->text, &argument->element, &argument->lanes) ||
        read_type_name(reader, node, argument))
        return;
    char own[HN_TYPE_SIZE];
    if (hn_type_of_c(node->text, own))
        hn_config_fail(reader, node, "unknown element type '%s'; here it is called %s", node->text,
                       own);
    size_t base = strcspn(node->text, "x");
    for (int i = 0; i < HN_ELEMENT_COUNT; i++) {
        names[i] = hn_element_name((enum hn_element)i);
        if (strlen(names[i]) == base && strncmp(node->text, names[i], base) == 0)
            hn_config_expect(reader, false, node, "a vector of 2, 3, 4, 8 or 16, as float32x4");
    }
    hn_config_expect_known(reader, node, "element type", node->text, names, HN_ELEMENT_COUNT);
}

/* A symbol stays one: its role says whether kernels write to it, and that counters hold zeros. */
static void read_role(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    static const char *const of_symbols[] = {"input", "inout", "counter"};
    enum { BUFFERS = HN_ROLE_METRIC - HN_ROLE_INPUT + 1 };
    struct hn_argument *argument = owner;
    if (argument->role != HN_ROLE_SYMBOL) {
        argument->role = HN_ROLE_INPUT + (enum hn_role)hn_config_read_choice(
                                             reader, node, hn_role_names + HN_ROLE_INPUT, BUFFERS);
        return;
    }
    int role = hn_config_read_choice(reader, node, of_symbols, 3);
    argument->changes = role > 0;
    if (role == 2)
        argument->fill.kind = HN_FILL_CONSTANT;
}

/* "device", or an expression. */
static void read_pitch(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_shape *shape = &((struct hn_argument *)owner)->shape;
    shape->device = node->kind == HN_YAML_SCALAR && strcmp(node->text, "device") == 0;
    if (!shape->device)
        hn_config_read_expression(reader, node, &shape->pitch);
}

static void read_dimension_count(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    static const char *const counts[] = {"1", "2"};
    struct hn_texture *texture = owner;
    texture->dimensions = 1 + hn_config_read_choice(reader, node, counts, 2);
}

/* One for both dimensions, or a list of two. */
static void read_address(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_texture *texture = owner;
    bool list = node->kind == HN_YAML_SEQUENCE && node->count == 2;
    if (!hn_config_expect(reader, list || node->kind == HN_YAML_SCALAR, node,
                          "an address mode, or a list of two: x, y"))
        return;
    const struct hn_yaml *item = list ? node->child : node;
    for (int i = 0; i < 2; i++, item = list ? item->next : node)
        texture->address[i] = (enum hn_texture_address)hn_config_read_choice(
            reader, item, hn_texture_addresses, HN_TEXTURE_ADDRESS_COUNT);
}

static const struct hn_config_form texture_forms[] = {
    {"dimensions", read_dimension_count}, {"address", read_address}, {NULL, NULL}};
static const struct hn_config_mapping tensor_map_mapping = {&hn_tensor_map_structure, NULL, NULL,
                                                            "tensor_map"};
static const struct hn_config_mapping texture_mapping = {&hn_texture_structure, texture_forms,
                                                         &tensor_map_mapping, "texture"};

/* The buffer; the settings of its texture or tensor map stand beside it. */
static void read_viewed(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_argument *argument = owner;
    argument->texture.address[0] = argument->texture.address[1] = HN_TEXTURE_CLAMP;
    hn_config_read_word(reader, node, "the name of a buffer", &argument->from);
}

static void set_default(struct hn_reader *reader, enum hn_element element,
                        struct hn_compare *compare)
{
    if (!hn_failed(reader->err))
        hn_expression_parse(default_relative_bound(element), &compare->relative, reader->err);
}

/* "10", an expression of the problem and the parameters, or a share: "0.1%". */
static void read_mismatches(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    static const char expected[] =
        "a number of elements, or a share of them from 0% to less than 100%, as 0.1%";
    struct hn_compare *compare = owner;
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected))
        return;
    size_t length = strlen(node->text);
    if (length == 0 || node->text[length - 1] != '%') {
        hn_config_read_expression(reader, node, &compare->mismatches);
        return;
    }
    char *end = NULL;
    double percent = hn_c_strtod(node->text, &end);
    bool fits =
        end == node->text + length - 1 && end != node->text && percent >= 0 && percent < 100;
    if (hn_config_expect(reader, fits, node, expected))
        compare->mismatch_share = percent / 100;
}

static const struct hn_config_form compare_forms[] = {
    {"mismatches", read_mismatches}, {"mismatch_share", NULL}, {NULL, NULL}};

/* A mode, or a mapping of it and its bounds; no node: what counts without one. */
static void read_comparison(struct hn_reader *reader, const struct hn_yaml *node,
                            struct hn_compare *compare)
{
    static const struct hn_config_mapping mapping = {&hn_compare_structure, compare_forms, NULL,
                                                     NULL};
    if (node == NULL || node->kind == HN_YAML_SCALAR) {
        int mode =
            hn_config_read_choice(reader, node, hn_compare_mode_names, HN_COMPARE_MODE_COUNT);
        compare->mode = (enum hn_compare_mode)mode;
        return;
    }
    hn_config_read_mapping(reader, node, &mapping, compare);
}

/* `compare` of an argument, a form. */
static void read_own_compare(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_argument *argument = owner;
    struct hn_compare *compare = argument->compare = hn_need(1, sizeof *compare);
    read_comparison(reader, node, compare);
    if (compare->mode == HN_COMPARE_MAX_NORM && compare->relative == NULL &&
        compare->absolute == NULL)
        set_default(reader, argument->element, compare);
}

/* Where the config gives no bounds, what halves cannot keep to is not asked of them. */
static void set_defaults(struct hn_reader *reader)
{
    set_default(reader, HN_FLOAT32, &reader->plan->compare);
    for (size_t i = 0; i < reader->plan->argument_count && !hn_failed(reader->err); i++) {
        struct hn_argument *argument = &reader->plan->arguments[i];
        bool own = default_relative_bound(argument->element) != default_relative;
        for (size_t t = 0; t < reader->config->typed_count; t++)
            own = own || reader->config->typed[t].argument == i;
        if (!hn_argument_is_compared(argument) || argument->compare != NULL || !own)
            continue;
        argument->compare = hn_need(1, sizeof *argument->compare);
        argument->compare->partial = reader->plan->compare.partial;
        argument->compare->mismatch_share = reader->plan->compare.mismatch_share;
        if (reader->plan->compare.mismatches != NULL)
            hn_expression_copy(reader->plan->compare.mismatches, &argument->compare->mismatches,
                               reader->err);
        set_default(reader, argument->element, argument->compare);
    }
}

void hn_config_read_compare(struct hn_reader *reader)
{
    struct hn_compare *compare = &reader->plan->compare;
    read_comparison(reader, hn_yaml_get(reader->root, "compare"), compare);
    if (compare->mode == HN_COMPARE_MAX_NORM && compare->relative == NULL &&
        compare->absolute == NULL)
        set_defaults(reader);
}

static void expect_members(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_argument *argument = owner;
    hn_config_expect(reader, node->kind == HN_YAML_MAPPING && node->count > 0, node,
                     "fields of a structure, as {x: {buffer: NAME}, n: N}");
    argument->members = hn_need(node->count, sizeof *argument->members);
}

static const struct hn_config_form argument_forms[] = {
    {"type", read_type},           {"role", read_role}, {"pitch", read_pitch},
    {"device_pitch", NULL},        {"fill", read_fill}, {"texture", read_viewed},
    {"tensor_map", read_viewed},   {"if", NULL},        {"changes", NULL},
    {"compare", read_own_compare}, {"file", read_file}, {"fields", expect_members},
    {"structure", NULL},           {"held", NULL},      {NULL, NULL}};
static const struct hn_config_mapping argument_mapping = {&hn_argument_structure, argument_forms,
                                                          &texture_mapping, NULL};
static const struct hn_config_form symbol_forms[] = {{"type", read_type},
                                                     {"role", read_role},
                                                     {"fill", read_fill},
                                                     {"file", read_file},
                                                     {NULL, NULL}};
static const struct hn_config_mapping symbol_mapping = {&hn_argument_structure, symbol_forms, NULL,
                                                        NULL};

/* Keys that say what an argument is, and what it may have then; all but these is for buffers. */
static const struct source {
    const char *key;
    enum hn_role role;
    const char *beside; /* of the keys of an argument; others are looked at when they are read */
} sources[] = {
    {"value", HN_ROLE_VALUE, "name type value if"},
    {"fields", HN_ROLE_VALUE, "name type fields"},
    {"from", HN_ROLE_VALUE, "name from if"},
    {"texture", HN_ROLE_TEXTURE, "name texture"},
    {"tensor_map", HN_ROLE_TENSOR_MAP, "name tensor_map"},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static void refuse(struct hn_reader *reader, const struct hn_yaml *node, const char *key,
                   const char *because)
{
    hn_config_fail(reader, hn_yaml_get(node, key)->key, "'%s' %s, so it cannot have a '%s'",
                   hn_yaml_get(node, "name")->text, because, key);
}

/* A fill may be one of two keys, or left out; a counter has none. */
static void complete_fill(struct hn_reader *reader, const struct hn_yaml *node,
                          struct hn_argument *argument)
{
    bool fill = hn_yaml_get(node, "fill") != NULL, file = hn_yaml_get(node, "file") != NULL;
    const struct hn_yaml *role = hn_yaml_get(node, "role");
    bool counter = role != NULL && strcmp(role->text, "counter") == 0;
    if (counter && (fill || file))
        refuse(reader, node, fill ? "fill" : "file", "is zero before every launch");
    else if (fill && file)
        refuse(reader, node, "file", "has a 'fill'");
    else if (!fill && !file && !counter)
        set_default_fill(argument);
}

/* A name, which messages use, and what the argument is: NULL for a buffer. */
static const struct source *begin(struct hn_reader *reader, const struct hn_yaml *node)
{
    if (!hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping"))
        return NULL;
    const struct hn_yaml *name = hn_config_need(reader, node, "name");
    if (!hn_config_expect_kind(reader, name, HN_YAML_SCALAR, "a name"))
        return NULL;
    const struct source *source = NULL;
    char because[32];
    for (size_t i = 0; source == NULL && i < SOURCES; i++)
        source = hn_yaml_get(node, sources[i].key) != NULL ? &sources[i] : NULL;
    const struct hn_yaml *child = source == NULL ? NULL : node->child;
    for (; child != NULL; child = child->next) {
        const char *key = child->key->text;
        bool fits =
            hn_text_find_word(source->beside, key, strlen(key)) ||
            (hn_config_find_field(&hn_argument_structure, key) == NULL && strcmp(key, "file") != 0);
        snprintf(because, sizeof because, "has a '%s'", source->key);
        if (!fits)
            refuse(reader, node, key, because);
    }
    if (source == NULL || hn_text_find_word(source->beside, "type", strlen("type")))
        hn_config_need(reader, node, "type");
    return source;
}

/* That no argument before the last one has its name. */
static void check_unique(struct hn_reader *reader, const struct hn_yaml *item)
{
    const struct hn_argument *last = &reader->plan->arguments[reader->plan->argument_count - 1];
    if (!hn_failed(reader->err) && hn_plan_find_argument(reader->plan, last->name) != last)
        hn_config_fail(reader, hn_yaml_get(item, "name"), "%s '%s' is there twice",
                       last->role == HN_ROLE_SYMBOL ? "symbol or argument" : "argument",
                       last->name);
}

/* A symbol has fewer keys. */
static void read_argument(struct hn_reader *reader, const struct hn_yaml *node, bool symbol,
                          struct hn_argument *argument)
{
    if (symbol)
        hn_config_check_keys(reader, node, "name type count value from fill file role if");
    else /* before a key that is missing: it may be misspelt */
        hn_config_check_mapping(reader, node, &argument_mapping);
    const struct source *source = begin(reader, node);
    argument->role = symbol ? HN_ROLE_SYMBOL : source == NULL ? HN_ROLE_INPUT : source->role;
    if (source != NULL && strcmp(source->key, "fields") == 0)
        hn_config_read_text(reader, hn_yaml_get(node, "type"), "the name of a structure in C++",
                            &argument->structure);
    hn_config_read_mapping(reader, node, symbol ? &symbol_mapping : &argument_mapping, argument);
    /* No vector is passed by value, or held by a symbol as one element. */
    if (argument->value != NULL && argument->lanes > 1)
        hn_config_fail(reader, hn_yaml_get(node, "type"),
                       "'%s' has a value, so its type cannot be a vector", argument->name);
    const char *why =
        argument->role == HN_ROLE_TENSOR_MAP ? hn_tensor_map_check(&argument->tensor_map) : NULL;
    if (why != NULL)
        hn_config_fail(reader, node, "tensor map '%s': %s", argument->name, why);
    if (source != NULL || hn_failed(reader->err))
        return;
    if (hn_argument_is_filled(argument))
        complete_fill(reader, node, argument);
    else if (!symbol && hn_yaml_get(node, "file") != NULL)
        hn_config_fail(reader, hn_yaml_get(node, "file")->key,
                       "'file' cannot stand here: only input and inout are filled");
    if (argument->shape.width != NULL && !hn_failed(reader->err))
        hn_argument_set_count(argument, reader->err);
    else if (argument->count == NULL)
        hn_config_fail(reader, node, "%s '%s' has neither 'count' (a buffer), %s",
                       symbol ? "symbol" : "argument", argument->name,
                       symbol ? "'value' (one element) nor 'from' (the contents of an input)"
                              : "'width' (its rows), 'value' (a scalar), 'from' (the contents of "
                                "an input, by value), 'texture' nor 'tensor_map'");
}

/* Finds the argument that `from`, `texture` or `tensor_map` names, whose type it has. */
static void find_source(struct hn_reader *reader, const struct hn_yaml *item,
                        struct hn_argument *argument)
{
    if (hn_failed(reader->err) || argument->from == NULL)
        return;
    const struct hn_argument *source = hn_plan_find_argument(reader->plan, argument->from);
    bool texture = argument->role == HN_ROLE_TEXTURE, map = argument->role == HN_ROLE_TENSOR_MAP;
    const char *expected = hn_plan_wrong_source(reader->plan, argument);
    const char *key = texture || map ? hn_role_names[argument->role] : "from";
    if (!hn_config_expect(reader, expected == NULL, hn_yaml_get(item, key), expected))
        return;
    argument->element = source->element;
    argument->lanes = map ? 1 : source->lanes;
    if (!texture)
        return;
    if (argument->texture.dimensions == 0)
        argument->texture.dimensions = source->shape.width == NULL ? 1 : 2;
    const char *why = hn_texture_check(&argument->texture, source);
    if (why != NULL)
        hn_config_fail(reader, item, "texture '%s' over '%s': %s", argument->name, argument->from,
                       why);
}

size_t hn_config_find_among(struct hn_reader *reader, const struct hn_yaml *node, const char *what,
                            bool (*fits)(const struct hn_argument *argument), const char *why_not)
{
    const struct hn_plan *plan = reader->plan;
    char expected[64];
    snprintf(expected, sizeof expected, "the name of a%s %s", what[0] == 'a' ? "n" : "", what);
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected))
        return 0;
    const struct hn_argument *found = hn_plan_find_argument(plan, node->text);
    if (found != NULL && fits(found))
        return (size_t)(found - plan->arguments);
    if (found != NULL)
        hn_config_fail(reader, node, "'%s' is %s", node->text, why_not);
    const char *names[reader->plan->argument_count + 1];
    size_t count = 0;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (fits(&plan->arguments[i]))
            names[count++] = plan->arguments[i].name;
    hn_config_expect_known(reader, node, what, node->text, names, count);
    return 0;
}

/* A value needs no key. The buffers are those of all arguments. */
static void read_members(struct hn_reader *reader, const struct hn_yaml *fields,
                         struct hn_argument *argument)
{
    const struct hn_yaml *field = fields == NULL ? NULL : fields->child;
    for (; field != NULL && !hn_failed(reader->err); field = field->next) {
        struct hn_member *member = &argument->members[argument->member_count++];
        const struct hn_yaml *buffer = hn_yaml_get(field, "buffer");
        const struct hn_yaml *value =
            field->kind == HN_YAML_SCALAR ? field : hn_yaml_get(field, "value");
        member->name = hn_need_copy(field->key->text);
        hn_config_expect(reader, (buffer == NULL) != (value == NULL) && hn_config_count(field) <= 1,
                         field, "a number, {value: EXPRESSION} or {buffer: NAME}");
        hn_config_read_expression(reader, value, &member->value);
        if (buffer == NULL)
            continue;
        member->buffer = hn_config_find_among(reader, buffer, "buffer", hn_argument_is_buffer,
                                              "no buffer, whose address a field can hold");
        reader->plan->arguments[member->buffer].held = true;
    }
}

static bool is_passed(const struct hn_argument *argument)
{
    return argument->role != HN_ROLE_SYMBOL;
}

size_t hn_config_find_argument(struct hn_reader *reader, const struct hn_yaml *node)
{
    return hn_config_find_among(reader, node, "argument", is_passed,
                                "a symbol, which kernels find by its name; expected arguments");
}

/* Symbols stand behind the arguments. */
void hn_config_read_arguments(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    struct hn_error reason = {0};
    const struct hn_yaml *node = hn_config_need(reader, reader->root, "arguments");
    const struct hn_yaml *symbols = hn_yaml_get(reader->root, "symbols");
    const struct hn_yaml *first = hn_config_list(reader, node, "a list of arguments");
    if (hn_config_count(node) > ARGUMENTS_MOST)
        hn_config_fail(reader, node, "found %zu arguments, expected at most %d", node->count,
                       ARGUMENTS_MOST);
    if (hn_failed(reader->err))
        return;
    plan->arguments = hn_need(node->count + hn_config_count(symbols), sizeof *plan->arguments);
    const struct hn_yaml *item = first;
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        read_argument(reader, item, false, &plan->arguments[plan->argument_count++]);
        check_unique(reader, item);
    }
    item = first;
    for (size_t i = 0; i < plan->argument_count; i++, item = item->next) {
        if (plan->arguments[i].length != NULL)
            hn_config_expect(reader, hn_plan_is_length(plan, &plan->arguments[i]),
                             hn_yaml_get(item, "length"),
                             "the name of another argument of integers with role output or inout");
        find_source(reader, item, &plan->arguments[i]);
        read_members(reader, hn_yaml_get(item, "fields"), &plan->arguments[i]);
    }
    /* The kernel is judged by what it writes. */
    if (!hn_plan_has_role(plan, HN_ROLE_OUTPUT) && !hn_plan_has_role(plan, HN_ROLE_INOUT))
        hn_config_fail(reader, node,
                       "no argument has role output or inout, so nothing could be verified");
    if (!hn_failed(reader->err))
        hn_plan_name_pitches(plan, &reason);
    hn_config_take(reader, node, NULL, &reason);
    if (plan->argument_count + hn_config_count(symbols) > ARGUMENTS_MOST)
        hn_config_fail(reader, symbols,
                       "found %zu symbols and %zu arguments, expected at most %d in all",
                       symbols->count, plan->argument_count, ARGUMENTS_MOST);
    for (item = hn_config_list(reader, symbols, "a list of symbols");
         item != NULL && !hn_failed(reader->err); item = item->next) {
        read_argument(reader, item, true, &plan->arguments[plan->argument_count++]);
        find_source(reader, item, &plan->arguments[plan->argument_count - 1]);
        check_unique(reader, item);
    }
}
