/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"

/* Arguments, textures, tensor maps and symbols: all are arguments of the plan, read by one table.
 */

enum { ARGUMENTS_MOST = 256 }; /* and symbols, together */

/* Keys that the plan's JSON has not got, or in another form. */

static void read_type(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_argument *argument = owner;
    const char *names[HN_ELEMENT_COUNT];
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR,
                               "an element type such as float32 or float32x4") ||
        hn_type_parse(node->text, &argument->element, &argument->lanes) ||
        hn_config_read_type_name(reader, node, argument))
        return;
    const char *own = hn_type_of_c(node->text);
    if (own != NULL)
        hn_config_fail(reader, node, "unknown element type '%s'; here it is called %s", node->text,
                       own);
    size_t base = strcspn(node->text, "x");
    for (int i = 0; i < HN_ELEMENT_COUNT; i++) {
        names[i] = hn_element_name((enum hn_element)i);
        if (strlen(names[i]) == base && strncmp(node->text, names[i], base) == 0)
            hn_config_fail_found(reader, node, "a vector of 2, 3, 4, 8 or 16, as float32x4");
    }
    hn_config_fail_unknown(reader, node, "element type", node->text, names, HN_ELEMENT_COUNT);
}

/* The roles of buffers; those of other arguments and of symbols themselves are not written. */
static bool is_written(enum hn_role role, bool symbol)
{
    if (symbol)
        return role == HN_ROLE_INPUT || role == HN_ROLE_INOUT || role == HN_ROLE_COUNTER;
    return role != HN_ROLE_VALUE && role != HN_ROLE_SYMBOL && role != HN_ROLE_TEXTURE &&
           role != HN_ROLE_TENSOR_MAP;
}

/* A symbol stays one: its role says whether kernels write to it, and that counters hold zeros. */
static void read_role(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_argument *argument = owner;
    const char *names[HN_ROLE_COUNT];
    enum hn_role roles[HN_ROLE_COUNT];
    size_t count = 0;
    bool symbol = argument->role == HN_ROLE_SYMBOL;
    for (enum hn_role role = 0; role < HN_ROLE_COUNT; role++) {
        if (!is_written(role, symbol))
            continue;
        names[count] = hn_role_name(role);
        roles[count++] = role;
    }
    enum hn_role role = roles[hn_config_read_choice(
        reader, node, symbol ? "role of a symbol" : "role", names, count)];
    if (!symbol)
        argument->role = role;
    argument->changes = symbol && role != HN_ROLE_INPUT;
    if (symbol && role == HN_ROLE_COUNTER)
        argument->fill.kind = HN_FILL_CONSTANT;
}

/* "device", or an expression. */
static void read_pitch(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_shape *shape = &((struct hn_argument *)owner)->shape;
    shape->device = node->kind == HN_YAML_SCALAR && strcmp(node->text, "device") == 0;
    if (!shape->device)
        hn_config_read_expression(reader, node, &shape->pitch);
}

static void read_dimension_count(struct hn_config_reader *reader, const struct hn_yaml *node,
                                 void *owner)
{
    static const char *const counts[] = {"1", "2"};
    struct hn_texture *texture = owner;
    texture->dimensions = 1 + hn_config_read_choice(reader, node, "dimensions", counts, 2);
}

/* One for both dimensions, or a list of two. */
static void read_address(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_texture *texture = owner;
    bool list = node->kind == HN_YAML_SEQUENCE && node->count == 2;
    if (!hn_config_expect(reader, list || node->kind == HN_YAML_SCALAR, node,
                          "an address mode, or a list of two: x, y"))
        return;
    const struct hn_yaml *item = list ? node->child : node;
    for (int i = 0; i < 2; i++, item = list ? item->next : node)
        texture->address[i] = (enum hn_texture_address)hn_config_read_choice(
            reader, item, "address mode", hn_texture_addresses, HN_TEXTURE_ADDRESS_COUNT);
}

static const struct hn_config_form texture_forms[] = {
    {"dimensions", read_dimension_count}, {"address", read_address}, {NULL, NULL}};
static const struct hn_config_mapping tensor_map_mapping = {&hn_tensor_map_structure, NULL, NULL};
static const struct hn_config_mapping texture_mapping = {&hn_texture_structure, texture_forms,
                                                         &tensor_map_mapping};

/* The buffer; the settings of its texture or tensor map stand beside it. */
static void read_viewed(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    hn_config_read_word(reader, node, "the name of a buffer", &((struct hn_argument *)owner)->from);
}

static const struct hn_config_form argument_forms[] = {{"type", read_type},
                                                       {"role", read_role},
                                                       {"pitch", read_pitch},
                                                       {"device_pitch", NULL},
                                                       {"fill", hn_config_read_fill},
                                                       {"texture", read_viewed},
                                                       {"tensor_map", read_viewed},
                                                       {"if", NULL},
                                                       {"changes", NULL},
                                                       {"compare", hn_config_read_own_compare},
                                                       {"file", hn_config_read_file},
                                                       {NULL, NULL}};
static const struct hn_config_mapping argument_mapping = {&hn_argument_structure, argument_forms,
                                                          &texture_mapping};

/* What may stand beside what. */

/* Keys that say what an argument is, and what it may have then; all but these is for buffers. */
static const struct source {
    const char *key;
    const char *beside[12];
} sources[] = {
    {"value", {"name", "type", "value", "if"}},
    {"from", {"name", "from", "if"}},
    {"texture", {"name", "texture", "dimensions", "address", "filter", "normalized", "read"}},
    {"tensor_map",
     {"name", "tensor_map", "dims", "strides", "box", "element_strides",
#define X(identifier, key) key,
      HN_TENSOR_SETTINGS(X)
#undef X
          NULL}},
};

static const struct source *source_of(const struct hn_yaml *node)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (hn_yaml_get(node, sources[i].key) != NULL)
            return &sources[i];
    return NULL;
}

/* Which has a name: "'x' <because>, so it can not have a 'fill'". */
static void refuse(struct hn_config_reader *reader, const struct hn_yaml *node, const char *key,
                   const char *because)
{
    const struct hn_yaml *child = reader->status == HN_OK ? hn_yaml_get(node, key) : NULL;
    if (child != NULL)
        hn_config_fail(reader, child->key, "'%s' %s, so it can not have a '%s'",
                       hn_yaml_get(node, "name")->text, because, key);
}

static void refuse_others(struct hn_config_reader *reader, const struct hn_yaml *node,
                          const struct source *source)
{
    char because[32];
    snprintf(because, sizeof because, "has a '%s'", source->key);
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child)) {
        bool fits = false;
        for (size_t i = 0; source->beside[i] != NULL; i++)
            fits = fits || strcmp(child->key->text, source->beside[i]) == 0;
        if (!fits)
            refuse(reader, node, child->key->text, because);
    }
}

/* That a key is there only for some roles. */
static void check_role(struct hn_config_reader *reader, const struct hn_yaml *node, const char *key,
                       const struct hn_argument *argument, bool fits, const char *who)
{
    const struct hn_yaml *child = hn_yaml_get(node, key);
    if (child != NULL && !fits)
        hn_config_fail(reader, child->key, "found '%s' for role %s; only %s", key,
                       hn_role_name(argument->role), who);
}

static void check_buffer(struct hn_config_reader *reader, const struct hn_yaml *node,
                         const struct hn_argument *argument)
{
    static const char compared[] = "output and inout are compared";
    static const char filled[] = "input and inout are filled";
    enum hn_role role = argument->role;
    if (hn_yaml_get(node, "width") != NULL) {
        refuse(reader, node, "count", "has a 'width'");
    } else {
        refuse(reader, node, "height", "has no 'width'");
        refuse(reader, node, "pitch", "has no 'width'");
    }
    check_role(reader, node, "width", argument, role != HN_ROLE_COUNTER && role != HN_ROLE_METRIC,
               "input, output, inout and scratch have rows");
    check_role(reader, node, "zero", argument, role == HN_ROLE_COUNTER, "counter has it");
    check_role(reader, node, "compare", argument, hn_argument_is_compared(argument), compared);
    check_role(reader, node, "length", argument, hn_argument_is_compared(argument), compared);
    check_role(reader, node, "fill", argument, hn_argument_is_filled(argument), filled);
    check_role(reader, node, "file", argument, hn_argument_is_filled(argument), filled);
}

/* What is passed by value, or held by a symbol, as one. */
static void check_scalar(struct hn_config_reader *reader, const struct hn_yaml *node,
                         const struct hn_argument *argument)
{
    if (argument->value != NULL && argument->lanes > 1)
        hn_config_fail(reader, hn_yaml_get(node, "type"),
                       "'%s' has a value, so its type can not be a vector", argument->name);
}

/* A fill may be one of two keys, or left out. */
static void complete_fill(struct hn_config_reader *reader, const struct hn_yaml *node,
                          struct hn_argument *argument)
{
    bool fill = hn_yaml_get(node, "fill") != NULL;
    if (fill)
        refuse(reader, node, "file", "has a 'fill'");
    else if (hn_yaml_get(node, "file") == NULL)
        hn_config_default_fill(argument);
}

/* A name, which messages use, and what the argument is: NULL for a buffer. */
static const struct source *begin(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_yaml *name = hn_config_need(reader, node, "name");
    if (!hn_config_expect_kind(reader, name, HN_YAML_SCALAR, "a name"))
        return NULL;
    const struct source *source = source_of(node);
    if (source != NULL)
        refuse_others(reader, node, source);
    if (source == NULL || strcmp(source->key, "value") == 0)
        hn_config_need(reader, node, "type");
    return source;
}

/* That no argument before the last one has its name. */
static void check_unique(struct hn_config_reader *reader, const struct hn_yaml *item)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_argument *last = &plan->arguments[plan->argument_count - 1];
    if (reader->status == HN_OK && hn_plan_find_argument(plan, last->name) != last)
        hn_config_fail(reader, hn_yaml_get(item, "name"), "%s '%s' is there twice",
                       last->role == HN_ROLE_SYMBOL ? "symbol or argument" : "argument",
                       last->name);
}

static enum hn_role role_of(const struct source *source)
{
    return source == NULL                           ? HN_ROLE_INPUT
           : strcmp(source->key, "texture") == 0    ? HN_ROLE_TEXTURE
           : strcmp(source->key, "tensor_map") == 0 ? HN_ROLE_TENSOR_MAP
                                                    : HN_ROLE_VALUE;
}

/* What a buffer is seen as, with its keys. */
static void read_view(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct hn_argument *argument)
{
    if (argument->role == HN_ROLE_TEXTURE) {
        argument->texture.address[0] = argument->texture.address[1] = HN_TEXTURE_CLAMP;
        hn_config_read_mapping(reader, node, &texture_mapping, &argument->texture);
    }
    if (argument->role != HN_ROLE_TENSOR_MAP)
        return;
    hn_config_read_mapping(reader, node, &tensor_map_mapping, &argument->tensor_map);
    const char *why = hn_tensor_map_check(&argument->tensor_map);
    if (why != NULL)
        hn_config_fail(reader, node, "tensor map '%s': %s", hn_yaml_get(node, "name")->text, why);
}

static void refuse_all(struct hn_config_reader *reader, const struct hn_yaml *node,
                       const struct hn_structure *structure, const char *because)
{
    for (size_t i = 0; i < structure->count; i++)
        refuse(reader, node, structure->fields[i].key, because);
}

static void read_argument(struct hn_config_reader *reader, const struct hn_yaml *node,
                          struct hn_argument *argument)
{
    hn_config_check_mapping(reader, node, &argument_mapping);
    const struct source *source = begin(reader, node);
    argument->role = role_of(source);
    hn_config_read_mapping(reader, node, &argument_mapping, argument);
    check_scalar(reader, node, argument);
    read_view(reader, node, argument);
    if (source != NULL || reader->status != HN_OK)
        return;
    refuse_all(reader, node, &hn_texture_structure, "is no texture");
    refuse_all(reader, node, &hn_tensor_map_structure, "is no tensor map");
    check_buffer(reader, node, argument);
    if (hn_argument_is_filled(argument))
        complete_fill(reader, node, argument);
    if (argument->shape.width != NULL && reader->status == HN_OK)
        hn_config_take(reader, hn_argument_set_count(argument, reader->err));
    else if (argument->count == NULL)
        hn_config_fail(reader, node,
                       "argument '%s' has neither 'count' (a buffer), 'width' (its rows), 'value' "
                       "(a scalar), 'from' (the contents of an input, by value), 'texture' nor "
                       "'tensor_map'",
                       argument->name);
}

/* What others of the config are named. */

static void check_length(struct hn_config_reader *reader, const struct hn_yaml *item,
                         const struct hn_argument *argument)
{
    if (argument->length == NULL)
        return;
    const struct hn_argument *length =
        hn_plan_find_argument(reader->config->plan, argument->length);
    hn_config_expect(reader,
                     length != NULL && length != argument && hn_argument_is_compared(length) &&
                         length->length == NULL && !hn_element_is_real(length->element),
                     hn_yaml_get(item, "length"),
                     "the name of another argument of integers with role output or inout");
}

static void find_texture(struct hn_config_reader *reader, const struct hn_yaml *item,
                         struct hn_argument *argument)
{
    const struct hn_argument *buffer = hn_plan_find_argument(reader->config->plan, argument->from);
    if (!hn_config_expect(reader, buffer != NULL && buffer->count != NULL,
                          hn_yaml_get(item, "texture"), "the name of an argument that is a buffer"))
        return;
    argument->element = buffer->element;
    argument->lanes = buffer->lanes;
    if (argument->texture.dimensions == 0)
        argument->texture.dimensions = buffer->shape.width == NULL ? 1 : 2;
    const char *why = hn_texture_check(&argument->texture, buffer);
    if (why != NULL)
        hn_config_fail(reader, item, "texture '%s' over '%s': %s", argument->name, argument->from,
                       why);
}

static void find_mapped(struct hn_config_reader *reader, const struct hn_yaml *item,
                        struct hn_argument *argument)
{
    const struct hn_argument *buffer = hn_plan_find_argument(reader->config->plan, argument->from);
    if (!hn_config_expect(reader, buffer != NULL && hn_argument_is_buffer(buffer),
                          hn_yaml_get(item, "tensor_map"),
                          "the name of an argument that is a buffer"))
        return;
    argument->element = buffer->element;
    argument->lanes = 1;
}

/* What `from`, `texture` or `tensor_map` names, whose type it has. */
static void find_source(struct hn_config_reader *reader, const struct hn_yaml *item,
                        struct hn_argument *argument)
{
    if (reader->status != HN_OK || argument->from == NULL)
        return;
    if (argument->role == HN_ROLE_TEXTURE) {
        find_texture(reader, item, argument);
        return;
    }
    if (argument->role == HN_ROLE_TENSOR_MAP) {
        find_mapped(reader, item, argument);
        return;
    }
    const struct hn_argument *input = hn_plan_find_argument(reader->config->plan, argument->from);
    if (!hn_config_expect(reader, input != NULL && input->role == HN_ROLE_INPUT,
                          hn_yaml_get(item, "from"), "the name of an argument with role input"))
        return;
    argument->element = input->element;
    argument->lanes = input->lanes;
}

/* The kernel is judged by what it writes. */
static void check_results(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_compared(&plan->arguments[i]))
            return;
    hn_config_fail(reader, node,
                   "no argument has role output or inout, so nothing could be verified");
}

static void name_pitches(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_error reason = {0};
    if (reader->status != HN_OK)
        return;
    enum hn_status status = hn_plan_name_pitches(reader->config->plan, &reason);
    if (status == HN_ENOMEM)
        hn_config_take(reader, hn_fail_memory(reader->err));
    else if (status != HN_OK)
        hn_config_fail(reader, node, "%s", reason.message);
}

void hn_config_read_arguments(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_config_need(reader, reader->root, "arguments");
    if (!hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of arguments"))
        return;
    if (node->count > ARGUMENTS_MOST)
        hn_config_fail(reader, node, "found %zu arguments, expected at most %d", node->count,
                       ARGUMENTS_MOST);
    plan->arguments = hn_config_allocate(reader, node->count, sizeof *plan->arguments);
    const struct hn_yaml *item;
    for (item = hn_config_first(reader, node); item != NULL; item = hn_config_next(reader, item)) {
        read_argument(reader, item, &plan->arguments[plan->argument_count++]);
        check_unique(reader, item);
    }
    struct hn_argument *argument = plan->arguments;
    for (item = hn_config_first(reader, node); item != NULL; item = hn_config_next(reader, item)) {
        check_length(reader, item, argument);
        find_source(reader, item, argument++);
    }
    check_results(reader, node);
    name_pitches(reader, node);
}

size_t hn_config_find_argument(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, "the name of an argument"))
        return 0;
    const struct hn_argument *found = hn_plan_find_argument(plan, node->text);
    if (found != NULL && hn_argument_is_passed(found))
        return (size_t)(found - plan->arguments);
    if (found != NULL)
        hn_config_fail(reader, node,
                       "'%s' is a symbol, which kernels find by its name; expected arguments",
                       node->text);
    const char **names = hn_config_allocate(reader, plan->argument_count, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names != NULL && i < plan->argument_count; i++)
        if (hn_argument_is_passed(&plan->arguments[i]))
            names[count++] = plan->arguments[i].name;
    if (names != NULL)
        hn_config_fail_unknown(reader, node, "argument", node->text, names, count);
    free(names);
    return 0;
}

/* Symbols are kept behind the arguments. */

static const struct hn_config_form symbol_forms[] = {{"type", read_type},
                                                     {"role", read_role},
                                                     {"fill", hn_config_read_fill},
                                                     {"file", hn_config_read_file},
                                                     {NULL, NULL}};
static const struct hn_config_mapping symbol_mapping = {&hn_argument_structure, symbol_forms, NULL};

static void read_symbol(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_argument *symbol)
{
    static const char *const keys[] = {"name", "type", "count", "value", "from",
                                       "fill", "file", "role",  "if"};
    hn_config_check_keys(reader, node, keys, sizeof keys / sizeof keys[0]);
    const struct source *source = begin(reader, node);
    symbol->role = HN_ROLE_SYMBOL;
    hn_config_read_mapping(reader, node, &symbol_mapping, symbol);
    check_scalar(reader, node, symbol);
    find_source(reader, node, symbol);
    if (source != NULL || reader->status != HN_OK)
        return;
    if (symbol->count == NULL)
        hn_config_fail(reader, node,
                       "symbol '%s' has neither 'count' (a buffer), 'value' (one element) nor "
                       "'from' (the contents of an input)",
                       symbol->name);
    const struct hn_yaml *role = hn_yaml_get(node, "role");
    if (role == NULL || strcmp(role->text, "counter") != 0) {
        complete_fill(reader, node, symbol);
        return;
    }
    refuse(reader, node, "fill", "is zero before every launch");
    refuse(reader, node, "file", "is zero before every launch");
}

void hn_config_read_symbols(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "symbols");
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of symbols"))
        return;
    size_t count = plan->argument_count + node->count;
    if (count > ARGUMENTS_MOST)
        hn_config_fail(reader, node,
                       "found %zu symbols and %zu arguments, expected at most %d in all",
                       node->count, plan->argument_count, ARGUMENTS_MOST);
    struct hn_argument *grown = hn_config_allocate(reader, count, sizeof *grown);
    if (grown == NULL)
        return;
    memcpy(grown, plan->arguments, plan->argument_count * sizeof *grown);
    free(plan->arguments);
    plan->arguments = grown;
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item)) {
        read_symbol(reader, item, &plan->arguments[plan->argument_count++]);
        check_unique(reader, item);
    }
}
