/* SPDX-License-Identifier: MIT */
#include "tuner/config/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/text.h"

enum {
    FILE_BYTES = 16 << 20,
    DEPTH = 100,
    ALIAS_NODES = 10000, /* that all aliases of a file may stand for */
    MAPPING_KEYS = 10000,
};

struct anchor {
    char *name;
    const struct hn_yaml *node;
    struct anchor *next;
};

struct loader {
    const char *path;
    const char *text;
    yaml_parser_t parser;
    struct anchor *anchors; /* newest first, so that a name given again means the newer node */
    size_t alias_nodes;
    struct hn_error *err;
};

/* A collection that is being filled. */
struct collection {
    struct hn_yaml *node;
    struct hn_yaml **end;
    bool flow;
    int depth;
};

static enum hn_status parse_node(struct loader *loader, const struct collection *parent,
                                 yaml_event_t *event, struct hn_yaml **node);

static enum hn_status fail_at(struct loader *loader, yaml_mark_t mark, const char *what)
{
    return hn_fail(loader->err, HN_ECONFIG, "%s:%zu:%zu: %s", loader->path, mark.line + 1,
                   mark.column + 1, what);
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

static enum hn_status fail_parser(struct loader *loader)
{
    const yaml_parser_t *parser = &loader->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return hn_fail_memory(loader->err);
    if (parser->error == YAML_READER_ERROR)
        return hn_fail(loader->err, HN_ECONFIG, "%s: not YAML text: %s at byte %zu", loader->path,
                       parser->problem, parser->problem_offset);
    if (is_tab(loader->text, &parser->problem_mark))
        return fail_at(loader, parser->problem_mark,
                       "found a tab in the indentation; YAML is indented by blanks alone");
    if (parser->context == NULL)
        return fail_at(loader, parser->problem_mark, parser->problem);
    return hn_fail(loader->err, HN_ECONFIG, "%s:%zu:%zu: %s (%s from line %zu, column %zu)",
                   loader->path, parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                   parser->problem, parser->context, parser->context_mark.line + 1,
                   parser->context_mark.column + 1);
}

static enum hn_status next_event(struct loader *loader, yaml_event_t *event)
{
    if (!yaml_parser_parse(&loader->parser, event))
        return fail_parser(loader);
    return HN_OK;
}

/* Destroys a tree without recursion: children are moved in front of what is still to free. */
static void destroy_list(struct hn_yaml *list)
{
    while (list != NULL) {
        struct hn_yaml *node = list;
        list = node->next;
        if (node->key != NULL) {
            node->key->next = list;
            list = node->key;
        }
        if (node->child != NULL) {
            struct hn_yaml *last = node->child;
            while (last->next != NULL)
                last = last->next;
            last->next = list;
            list = node->child;
        }
        free(node->text);
        free(node);
    }
}

void hn_yaml_destroy(struct hn_yaml *root)
{
    destroy_list(root);
}

static struct hn_yaml *make_node(enum hn_yaml_kind kind, int line, int column, bool flow)
{
    struct hn_yaml *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->kind = kind;
    node->line = line;
    node->column = column;
    node->flow = flow;
    return node;
}

/* A deep copy for an alias; the key stays with the mapping that holds the original. */
static enum hn_status copy_node(struct loader *loader, yaml_mark_t mark, const struct hn_yaml *from,
                                struct hn_yaml **copy)
{
    if (++loader->alias_nodes > ALIAS_NODES)
        return hn_fail(loader->err, HN_ECONFIG,
                       "%s:%zu:%zu: aliases stand for more than %d nodes, which is refused",
                       loader->path, mark.line + 1, mark.column + 1, ALIAS_NODES);
    struct hn_yaml *node = make_node(from->kind, from->line, from->column, from->flow);
    if (node == NULL)
        return hn_fail_memory(loader->err);
    *copy = node;
    node->quoted = from->quoted;
    node->count = from->count;
    if (from->text != NULL && (node->text = strdup(from->text)) == NULL)
        return hn_fail_memory(loader->err);

    struct hn_yaml **end = &node->child;
    enum hn_status status = HN_OK;
    for (const struct hn_yaml *child = from->child; child != NULL && status == HN_OK;
         child = child->next) {
        status = copy_node(loader, mark, child, end);
        if (status == HN_OK && child->key != NULL)
            status = copy_node(loader, mark, child->key, &(*end)->key);
        if (*end != NULL)
            end = &(*end)->next;
    }
    return status;
}

static enum hn_status expand_alias(struct loader *loader, const yaml_event_t *event,
                                   struct hn_yaml **node)
{
    const char *name = (const char *)event->data.alias.anchor;
    for (const struct anchor *anchor = loader->anchors; anchor != NULL; anchor = anchor->next)
        if (strcmp(anchor->name, name) == 0)
            return copy_node(loader, event->start_mark, anchor->node, node);
    return hn_fail(loader->err, HN_ECONFIG,
                   "%s:%zu:%zu: alias '*%s' names no anchor that was completed before it",
                   loader->path, event->start_mark.line + 1, event->start_mark.column + 1, name);
}

static enum hn_status remember_anchor(struct loader *loader, const char *name,
                                      const struct hn_yaml *node)
{
    struct anchor *anchor = malloc(sizeof *anchor);
    if (anchor == NULL)
        return hn_fail_memory(loader->err);
    *anchor = (struct anchor){strdup(name), node, loader->anchors};
    if (anchor->name == NULL) {
        free(anchor);
        return hn_fail_memory(loader->err);
    }
    loader->anchors = anchor;
    return HN_OK;
}

static void forget_anchors(struct loader *loader)
{
    while (loader->anchors != NULL) {
        struct anchor *anchor = loader->anchors;
        loader->anchors = anchor->next;
        free(anchor->name);
        free(anchor);
    }
}

static enum hn_status parse_scalar(struct loader *loader, const yaml_event_t *event,
                                   struct hn_yaml *node)
{
    size_t length = event->data.scalar.length;
    if (memchr(event->data.scalar.value, '\0', length) != NULL)
        return fail_at(loader, event->start_mark, "found a NUL character, expected text");
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->text = strdup((const char *)event->data.scalar.value);
    return node->text == NULL ? hn_fail_memory(loader->err) : HN_OK;
}

static enum hn_status append(struct loader *loader, struct collection *collection,
                             yaml_event_t *event)
{
    struct hn_yaml **slot = collection->end;
    enum hn_status status = parse_node(loader, collection, event, slot);
    if (*slot != NULL) {
        collection->end = &(*slot)->next;
        collection->node->count++;
    }
    return status;
}

static enum hn_status check_key(struct loader *loader, const struct hn_yaml *mapping,
                                const struct hn_yaml *key)
{
    if (key->kind != HN_YAML_SCALAR)
        return hn_fail(loader->err, HN_ECONFIG, "%s:%d:%d: found %s as a key, expected a name",
                       loader->path, key->line, key->column, hn_yaml_kind_name(key->kind));
    if (mapping->count >= MAPPING_KEYS)
        return hn_fail(loader->err, HN_ECONFIG, "%s:%d:%d: more than %d keys in a mapping",
                       loader->path, key->line, key->column, MAPPING_KEYS);
    const struct hn_yaml *earlier = hn_yaml_get(mapping, key->text);
    if (earlier != NULL)
        return hn_fail(loader->err, HN_ECONFIG,
                       "%s:%d:%d: key '%s' is given twice, first on line %d", loader->path,
                       key->line, key->column, key->text, earlier->key->line);
    return HN_OK;
}

static enum hn_status append_pair(struct loader *loader, struct collection *collection,
                                  yaml_event_t *key_event)
{
    struct hn_yaml *key = NULL;
    struct hn_yaml **slot = collection->end;
    yaml_event_t event;
    enum hn_status status = parse_node(loader, collection, key_event, &key);
    if (status == HN_OK)
        status = check_key(loader, collection->node, key);
    if (status == HN_OK)
        status = next_event(loader, &event);
    if (status == HN_OK) {
        status = append(loader, collection, &event);
        yaml_event_delete(&event);
    }
    if (*slot != NULL)
        (*slot)->key = key;
    else
        hn_yaml_destroy(key);
    return status;
}

static enum hn_status fill_collection(struct loader *loader, struct collection *collection)
{
    for (;;) {
        yaml_event_t event;
        enum hn_status status = next_event(loader, &event);
        if (status != HN_OK)
            return status;
        bool end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        if (!end && collection->node->kind == HN_YAML_MAPPING)
            status = append_pair(loader, collection, &event);
        else if (!end)
            status = append(loader, collection, &event);
        yaml_event_delete(&event);
        if (end || status != HN_OK)
            return status;
    }
}

static enum hn_status parse_collection(struct loader *loader, const struct collection *parent,
                                       const yaml_event_t *event, struct hn_yaml *node)
{
    bool flow = event->type == YAML_SEQUENCE_START_EVENT
                    ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                    : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    struct collection collection = {node, &node->child, flow || parent->flow, parent->depth + 1};
    if (collection.depth > DEPTH)
        return hn_fail(loader->err, HN_ECONFIG, "%s:%d:%d: nested deeper than %d levels",
                       loader->path, node->line, node->column, DEPTH);
    return fill_collection(loader, &collection);
}

struct traits {
    enum hn_yaml_kind kind;
    const yaml_char_t *anchor;
    const yaml_char_t *tag;
};

static struct traits event_traits(const yaml_event_t *event)
{
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return (struct traits){HN_YAML_SEQUENCE, event->data.sequence_start.anchor,
                               event->data.sequence_start.tag};
    if (event->type == YAML_MAPPING_START_EVENT)
        return (struct traits){HN_YAML_MAPPING, event->data.mapping_start.anchor,
                               event->data.mapping_start.tag};
    return (struct traits){HN_YAML_SCALAR, event->data.scalar.anchor, event->data.scalar.tag};
}

/* On failure *node, when not NULL, holds what there is so far. */
static enum hn_status parse_node(struct loader *loader, const struct collection *parent,
                                 yaml_event_t *event, struct hn_yaml **node)
{
    if (event->type == YAML_ALIAS_EVENT)
        return expand_alias(loader, event, node);

    struct traits traits = event_traits(event);
    if (traits.tag != NULL)
        return hn_fail(loader->err, HN_ECONFIG,
                       "%s:%zu:%zu: found tag '%s'; tags are not used here", loader->path,
                       event->start_mark.line + 1, event->start_mark.column + 1,
                       (const char *)traits.tag);
    *node = make_node(traits.kind, (int)event->start_mark.line + 1,
                      (int)event->start_mark.column + 1, parent->flow);
    if (*node == NULL)
        return hn_fail_memory(loader->err);
    enum hn_status status = traits.kind == HN_YAML_SCALAR
                                ? parse_scalar(loader, event, *node)
                                : parse_collection(loader, parent, event, *node);
    if (status == HN_OK && traits.anchor != NULL)
        status = remember_anchor(loader, (const char *)traits.anchor, *node);
    return status;
}

/* One document: its root, and nothing but the end of the stream after it. */
static enum hn_status parse_stream(struct loader *loader, struct hn_yaml **root)
{
    const struct collection outside = {.depth = 0};
    for (;;) {
        yaml_event_t event;
        enum hn_status status = next_event(loader, &event);
        if (status != HN_OK)
            return status;
        bool end = event.type == YAML_STREAM_END_EVENT;
        bool structure =
            end || event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && *root != NULL)
            status = fail_at(loader, event.start_mark,
                             "found a second document, expected the end of the file");
        else if (!structure && event.type != YAML_DOCUMENT_START_EVENT)
            status = parse_node(loader, &outside, &event, root);
        yaml_event_delete(&event);
        if (end || status != HN_OK)
            return status;
    }
}

enum hn_status hn_yaml_load(const char *path, struct hn_yaml **root, struct hn_error *err)
{
    char *data = NULL;
    size_t size = 0;
    enum hn_status status = hn_text_read_file(path, FILE_BYTES, &data, &size, err);
    if (status != HN_OK)
        return status == HN_ENOMEM ? status : HN_ECONFIG;

    struct loader loader = {.path = path, .text = data, .err = err};
    struct hn_yaml *tree = NULL;
    if (!yaml_parser_initialize(&loader.parser)) {
        free(data);
        return hn_fail_memory(err);
    }
    yaml_parser_set_input_string(&loader.parser, (const unsigned char *)data, size);
    yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
    status = parse_stream(&loader, &tree);
    if (status == HN_OK && tree == NULL)
        status = hn_fail(err, HN_ECONFIG, "%s:1:1: the file is empty", path);
    forget_anchors(&loader);
    yaml_parser_delete(&loader.parser);
    free(data);
    if (status == HN_OK)
        *root = tree;
    else
        hn_yaml_destroy(tree);
    return status;
}

const struct hn_yaml *hn_yaml_get(const struct hn_yaml *mapping, const char *key)
{
    for (const struct hn_yaml *child = mapping->child; child != NULL; child = child->next)
        if (child->key != NULL && strcmp(child->key->text, key) == 0)
            return child;
    return NULL;
}

const char *hn_yaml_kind_name(enum hn_yaml_kind kind)
{
    switch (kind) {
    case HN_YAML_SCALAR:
        return "a scalar";
    case HN_YAML_SEQUENCE:
        return "a list";
    case HN_YAML_MAPPING:
        return "a mapping";
    }
    return "nothing";
}
