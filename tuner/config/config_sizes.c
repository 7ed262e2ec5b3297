/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"

/* The sizes of a family that matter most: in the config, or in a file that a log was made into. */

enum { FILE_MOST = 1 << 28, SLOTS = 1 << 15 };
_Static_assert(SLOTS >= 2 * HN_FAMILY_SIZES_MOST, "a free slot is found soon");

struct size_list {
    struct hn_family *family;
    unsigned *slots; /* by a hash of a size: its number from 1; 0: free */
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash ^ hash >> 32;
}

/* Takes a size that was seen before as more of its weight. */
static enum hn_status keep_size(struct size_list *list, const struct hn_bindings *size,
                                double weight, struct hn_error *err)
{
    struct hn_family *family = list->family;
    char *text = hn_bindings_text(size);
    if (text == NULL)
        return hn_fail_memory(err);
    size_t slot = hash_text(text) % SLOTS;
    free(text);
    while (list->slots[slot] != 0) {
        size_t index = list->slots[slot] - 1;
        if (hn_bindings_equal(&family->sizes[index], size)) {
            family->weights[index] += weight;
            return HN_OK;
        }
        slot = (slot + 1) % SLOTS;
    }
    if (family->size_count == HN_FAMILY_SIZES_MOST)
        return hn_fail(err, HN_ECONFIG,
                       "found more than %d different sizes; keep those that matter "
                       "most",
                       HN_FAMILY_SIZES_MOST);
    enum hn_status status = hn_bindings_copy(&family->sizes[family->size_count], size, err);
    if (status == HN_OK) {
        family->weights[family->size_count++] = weight;
        list->slots[slot] = (unsigned)family->size_count;
    }
    return status;
}

static bool is_known(const struct hn_family *family, const char *name)
{
    for (size_t i = 0; i < family->value_count; i++)
        if (strcmp(family->values[i].name, name) == 0)
            return true;
    return strcmp(name, "weight") == 0;
}

/* With the values that the family leaves no choice of. */
static enum hn_status complete(const struct hn_family *family, const struct hn_bindings *given,
                               struct hn_bindings *size, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < family->value_count && status == HN_OK; i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *found = hn_bindings_get(given, value->name);
        if (found == NULL && value->kind == HN_FAMILY_LIST && value->count == 1)
            found = &value->values[0];
        if (found != NULL)
            status = hn_bindings_set(size, value->name, found, err);
    }
    return status;
}

/* A size, with `weight` among its values or 1. */
static enum hn_status add_size(struct size_list *list, const struct hn_bindings *given,
                               struct hn_error *err)
{
    const struct hn_value *weight = hn_bindings_get(given, "weight");
    double times = weight == NULL ? 1 : hn_value_number(weight);
    struct hn_bindings size;
    for (size_t i = 0; i < given->count; i++)
        if (!is_known(list->family, given->names[i]))
            return hn_fail(err, HN_ECONFIG, "the family has no '%s'; remove it from the size",
                           given->names[i]);
    if (!(times > 0) || !isfinite(times))
        return hn_fail(err, HN_ECONFIG, "found a weight of %g, expected a number above 0", times);
    hn_bindings_init(&size);
    enum hn_status status = complete(list->family, given, &size, err);
    if (status == HN_OK)
        status = hn_family_check(list->family, &size, err);
    if (status == HN_OK)
        status = keep_size(list, &size, times, err);
    hn_bindings_finish(&size);
    return status;
}

/* Takes a failure that knew nothing of the node. */
static void take_at(struct hn_config_reader *reader, const struct hn_yaml *node,
                    enum hn_status status, const struct hn_error *reason)
{
    if (status == HN_ENOMEM)
        hn_config_take(reader, hn_fail_memory(reader->err));
    else if (status != HN_OK)
        hn_config_fail(reader, node, "%.2000s", reason->message);
}

static void read_size(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct size_list *list)
{
    struct hn_bindings given;
    struct hn_error reason = {0};
    hn_bindings_init(&given);
    hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping of names to values");
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child)) {
        struct hn_value value = hn_config_read_value(reader, child);
        hn_config_take(reader, hn_bindings_set(&given, child->key->text, &value, reader->err));
    }
    if (reader->status == HN_OK)
        take_at(reader, node, add_size(list, &given, &reason), &reason);
    hn_bindings_finish(&given);
}

/* The next word of a line, which ends at a space or comma; NULL: there is none. */
static char *next_word(char **rest)
{
    static const char between[] = " \t\r,;";
    char *word = *rest + strspn(*rest, between);
    if (*word == '\0')
        return NULL;
    *rest = word + strcspn(word, between);
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return word;
}

/* "M=16,N=4096" of the words of a line: as they are, or values below the names of a header. */
static enum hn_status join_words(char *line, char *header, struct hn_text *joined,
                                 struct hn_error *err)
{
    for (char *word = next_word(&line); word != NULL; word = next_word(&line)) {
        char *name = header == NULL ? NULL : next_word(&header);
        if (header != NULL && name == NULL)
            return hn_fail(err, HN_ECONFIG, "found more values than the first line has names");
        hn_text_printf(joined, "%s%s%s%s", joined->length > 0 ? "," : "", name == NULL ? "" : name,
                       name == NULL ? "" : "=", word);
    }
    if (header != NULL && next_word(&header) != NULL)
        return hn_fail(err, HN_ECONFIG, "found fewer values than the first line has names");
    return joined->failed ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status add_line(struct size_list *list, char *line, const char *header,
                               struct hn_error *err)
{
    struct hn_bindings given;
    struct hn_text joined;
    hn_text_init(&joined);
    hn_bindings_init(&given);
    char *names = header == NULL ? NULL : strdup(header);
    enum hn_status status = header != NULL && names == NULL ? hn_fail_memory(err)
                                                            : join_words(line, names, &joined, err);
    if (status == HN_OK && joined.length > 0) {
        status = hn_bindings_parse(joined.data, &given, err);
        if (status == HN_OK)
            status = add_size(list, &given, err);
    }
    hn_bindings_finish(&given);
    free(names);
    hn_text_finish(&joined);
    return status;
}

/* A first line without '=' is the header of a table. */
static void read_lines(struct hn_config_reader *reader, const struct hn_yaml *node, char *text,
                       struct size_list *list)
{
    const char *header = NULL;
    size_t number = 1;
    bool first = true;
    for (char *line = text; line != NULL && reader->status == HN_OK; number++) {
        char *end = strchr(line, '\n');
        struct hn_error reason = {0};
        if (end != NULL)
            *end++ = '\0';
        line[strcspn(line, "#")] = '\0';
        bool blank = line[strspn(line, " \t\r")] == '\0';
        enum hn_status status = HN_OK;
        if (!blank && first && strchr(line, '=') == NULL)
            header = line;
        else if (!blank)
            status = add_line(list, line, header, &reason);
        first = first && blank;
        if (status == HN_ENOMEM)
            hn_config_take(reader, hn_fail_memory(reader->err));
        else if (status != HN_OK)
            hn_config_fail(reader, node, "%s, line %zu: %.2000s", node->text, number,
                           reason.message);
        line = end;
    }
}

static void read_file(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct size_list *list)
{
    struct hn_error reason = {0};
    char *path = NULL;
    char *text = NULL;
    hn_config_read_path(reader, node, "the path of a file, one size a line", &path);
    if (reader->status == HN_OK)
        take_at(reader, node, hn_text_read_file(path, FILE_MOST, &text, NULL, &reason), &reason);
    if (reader->status == HN_OK)
        read_lines(reader, node, text, list);
    if (reader->status == HN_OK && list->family->size_count == 0)
        hn_config_fail(reader, node, "%s has no size, expected lines as \"M=16 N=4096\"",
                       node->text);
    free(text);
    free(path);
}

void hn_config_read_sizes(struct hn_config_reader *reader, const struct hn_yaml *node,
                          struct hn_family *family)
{
    struct size_list list = {.family = family};
    if (node == NULL || reader->status != HN_OK)
        return;
    family->sizes = hn_config_allocate(reader, HN_FAMILY_SIZES_MOST, sizeof *family->sizes);
    family->weights = hn_config_allocate(reader, HN_FAMILY_SIZES_MOST, sizeof *family->weights);
    list.slots = hn_config_allocate(reader, SLOTS, sizeof *list.slots);
    if (node->kind == HN_YAML_SEQUENCE)
        for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
             item = hn_config_next(reader, item))
            read_size(reader, item, &list);
    else
        read_file(reader, node, &list);
    free(list.slots);
}
