/* SPDX-License-Identifier: MIT */
#include "tuner/config/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/memory.h"

enum {
    FILE_BYTES = 16 << 20,
    DEPTH = 100,
    ALIAS_NODES = 10000, /* that all aliases of a file may stand for */
    MAPPING_KEYS = 10000,
};

struct anchor {
    const char *name;
    const struct hn_yaml *node;
    struct anchor *next;
};

struct loader {
    const char *path, *text;
    yaml_parser_t parser;
    struct anchor *anchors; /* newest first, so that a name given again means the newer node */
    struct hn_blocks *blocks;
    size_t alias_nodes;
    struct hn_error *err;
};

/* A collection that is being filled. */
struct collection {
    struct hn_yaml *node, **end;
    bool flow;
    int depth;
};

static struct hn_yaml *parse_node(struct loader *loader, const struct collection *parent,
                                  yaml_event_t *event);

__attribute__((format(printf, 4, 5))) static void fail_at(struct loader *loader, size_t line,
                                                          size_t column, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    if (hn_failed(loader->err))
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    hn_fail(loader->err, HN_ECONFIG, "%s:%zu:%zu: %s", loader->path, line, column, message);
}

/* Whether the line where the parser gave up is indented with a tab. */
static bool is_tab(const char *text, const yaml_mark_t *mark)
{
    for (size_t line = 0; line < mark->line && text != NULL; line++) {
        text = strchr(text, '\n');
        if (text != NULL)
            text++;
    }
    return text != NULL && text[strspn(text, " ")] == '\t';
}

static void fail_parser(struct loader *loader)
{
    const yaml_parser_t *parser = &loader->parser;
    const yaml_mark_t *mark = &parser->problem_mark;
    if (parser->error == YAML_MEMORY_ERROR)
        hn_needed(NULL);
    if (parser->error == YAML_READER_ERROR)
        hn_fail(loader->err, HN_ECONFIG, "%s: not YAML text: %s at byte %zu", loader->path,
                parser->problem, parser->problem_offset);
    else if (is_tab(loader->text, mark))
        fail_at(loader, mark->line + 1, mark->column + 1,
                "found a tab in the indentation; YAML is indented by blanks alone");
    else if (parser->context == NULL)
        fail_at(loader, mark->line + 1, mark->column + 1, "%s", parser->problem);
    else
        fail_at(loader, mark->line + 1, mark->column + 1, "%s (%s from line %zu, column %zu)%s",
                parser->problem, parser->context, parser->context_mark.line + 1,
                parser->context_mark.column + 1,
                strstr(parser->problem, "',' or") != NULL
                    ? "; a bracket is left open, or a text with brackets or commas is not quoted"
                : strstr(parser->problem, "expected key") != NULL
                    ? "; keys of one mapping begin in one column"
                    : "");
}

/* False once something has failed: then there is no event to be deleted. */
static bool next_event(struct loader *loader, yaml_event_t *event)
{
    if (!hn_failed(loader->err) && !yaml_parser_parse(&loader->parser, event))
        fail_parser(loader);
    return !hn_failed(loader->err);
}

static char *keep(struct loader *loader, const yaml_char_t *text)
{
    return hn_need_kept(loader->blocks, hn_need_copy((const char *)text));
}

/* A copy for an alias, of all but texts; the key stays with the mapping that holds the original. */
static struct hn_yaml *copy_node(struct loader *loader, yaml_mark_t mark,
                                 const struct hn_yaml *from)
{
    struct hn_yaml *node = hn_need_block(loader->blocks, 1, sizeof *node);
    *node = *from;
    node->key = node->child = node->next = NULL;
    if (++loader->alias_nodes > ALIAS_NODES)
        fail_at(loader, mark.line + 1, mark.column + 1,
                "aliases stand for more than %d nodes, which is refused", ALIAS_NODES);
    struct hn_yaml **end = &node->child;
    for (const struct hn_yaml *child = from->child; child != NULL && !hn_failed(loader->err);
         child = child->next) {
        *end = copy_node(loader, mark, child);
        if (child->key != NULL)
            (*end)->key = copy_node(loader, mark, child->key);
        end = &(*end)->next;
    }
    return node;
}

static void append(struct collection *collection, struct hn_yaml *node)
{
    *collection->end = node;
    if (node == NULL)
        return;
    collection->end = &node->next;
    collection->node->count++;
}

static void check_key(struct loader *loader, const struct hn_yaml *mapping,
                      const struct hn_yaml *key)
{
    if (hn_failed(loader->err))
        return;
    size_t line = (size_t)key->line, column = (size_t)key->column;
    const struct hn_yaml *earlier =
        key->kind == HN_YAML_SCALAR ? hn_yaml_get(mapping, key->text) : NULL;
    if (key->kind != HN_YAML_SCALAR)
        fail_at(loader, line, column, "found a %s as a key, expected a name",
                hn_yaml_kind_names[key->kind]);
    else if (mapping->count >= MAPPING_KEYS)
        fail_at(loader, line, column, "more than %d keys in a mapping", MAPPING_KEYS);
    else if (strcmp(key->text, "<<") == 0)
        fail_at(loader, line, column, "found '<<': mappings are not merged here; write its keys");
    else if (earlier != NULL)
        fail_at(loader, line, column, "key '%s' is given twice, first on line %d", key->text,
                earlier->key->line);
}

static void append_pair(struct loader *loader, struct collection *collection,
                        yaml_event_t *key_event)
{
    yaml_event_t event;
    struct hn_yaml *value = NULL;
    struct hn_yaml *key = parse_node(loader, collection, key_event);
    check_key(loader, collection->node, key);
    if (next_event(loader, &event)) {
        value = parse_node(loader, collection, &event);
        yaml_event_delete(&event);
    }
    if (value != NULL)
        value->key = key;
    append(collection, value);
}

static void parse_collection(struct loader *loader, const struct collection *parent,
                             const yaml_event_t *started, struct hn_yaml *node)
{
    bool flow = started->type == YAML_SEQUENCE_START_EVENT
                    ? started->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                    : started->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    struct collection collection = {node, &node->child, flow || parent->flow, parent->depth + 1};
    if (collection.depth > DEPTH)
        fail_at(loader, (size_t)node->line, (size_t)node->column, "nested deeper than %d levels",
                DEPTH);
    yaml_event_t event;
    for (bool end = false; !end && next_event(loader, &event); yaml_event_delete(&event)) {
        end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        if (!end && node->kind == HN_YAML_MAPPING)
            append_pair(loader, &collection, &event);
        else if (!end)
            append(&collection, parse_node(loader, &collection, &event));
    }
}

/* Maybe NULL where it fails. */
static struct hn_yaml *parse_node(struct loader *loader, const struct collection *parent,
                                  yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1, column = event->start_mark.column + 1;
    if (event->type == YAML_ALIAS_EVENT) {
        const char *name = (const char *)event->data.alias.anchor;
        for (const struct anchor *known = loader->anchors; known != NULL; known = known->next)
            if (strcmp(known->name, name) == 0)
                return copy_node(loader, event->start_mark, known->node);
        fail_at(loader, line, column, "alias '*%s' names no anchor that was completed before it",
                name);
        return NULL;
    }
    /* Scalars, lists and mappings begin with the same members. */
    const yaml_char_t *anchor = event->data.scalar.anchor, *tag = event->data.scalar.tag;
    if (tag != NULL) {
        fail_at(loader, line, column, "found tag '%s'; tags are not used here", (const char *)tag);
        return NULL;
    }
    struct hn_yaml *node = hn_need_block(loader->blocks, 1, sizeof *node);
    node->kind = event->type == YAML_SEQUENCE_START_EVENT  ? HN_YAML_SEQUENCE
                 : event->type == YAML_MAPPING_START_EVENT ? HN_YAML_MAPPING
                                                           : HN_YAML_SCALAR;
    node->line = (int)line;
    node->column = (int)column;
    node->flow = parent->flow;
    if (node->kind != HN_YAML_SCALAR) {
        parse_collection(loader, parent, event, node);
    } else {
        if (memchr(event->data.scalar.value, '\0', event->data.scalar.length) != NULL)
            fail_at(loader, line, column, "found a NUL character, expected text");
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node->text = keep(loader, event->data.scalar.value);
    }
    if (anchor != NULL) {
        struct anchor *newest = hn_need_block(loader->blocks, 1, sizeof *newest);
        *newest = (struct anchor){keep(loader, anchor), node, loader->anchors};
        loader->anchors = newest;
    }
    return node;
}

/* One document: its root, and nothing but the end of the stream after it. */
static struct hn_yaml *parse_stream(struct loader *loader)
{
    const struct collection outside = {.depth = 0};
    struct hn_yaml *root = NULL;
    yaml_event_t event;
    for (bool end = false; !end && next_event(loader, &event); yaml_event_delete(&event)) {
        end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && root != NULL)
            fail_at(loader, event.start_mark.line + 1, event.start_mark.column + 1,
                    "found a second document, expected the end of the file");
        else if (!end && event.type != YAML_STREAM_START_EVENT &&
                 event.type != YAML_DOCUMENT_START_EVENT && event.type != YAML_DOCUMENT_END_EVENT)
            root = parse_node(loader, &outside, &event);
    }
    return root;
}

enum hn_status hn_yaml_load(const char *path, struct hn_blocks *blocks, struct hn_yaml **root,
                            struct hn_error *err)
{
    char *data HN_FREED = NULL;
    size_t size = 0;
    struct loader loader = {.path = path, .blocks = blocks, .err = err};
    if (hn_file_read(path, FILE_BYTES, &data, &size, err) != HN_OK)
        return err->status = HN_ECONFIG;
    hn_error_init(err);
    loader.text = data;
    if (!yaml_parser_initialize(&loader.parser))
        hn_needed(NULL);
    yaml_parser_set_input_string(&loader.parser, (const unsigned char *)data, size);
    yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
    struct hn_yaml *tree = parse_stream(&loader);
    if (tree == NULL && !hn_failed(err))
        hn_fail(err, HN_ECONFIG, "%s:1:1: the file is empty", path);
    yaml_parser_delete(&loader.parser);
    if (!hn_failed(err))
        *root = tree;
    else
        hn_blocks_finish(blocks);
    return err->status;
}

const struct hn_yaml *hn_yaml_get(const struct hn_yaml *mapping, const char *key)
{
    const struct hn_yaml *first = mapping == NULL ? NULL : mapping->child;
    for (const struct hn_yaml *child = first; child != NULL; child = child->next)
        if (child->key != NULL && strcmp(child->key->text, key) == 0)
            return child;
    return NULL;
}

const char *const hn_yaml_kind_names[] = {"scalar", "list", "mapping"};
