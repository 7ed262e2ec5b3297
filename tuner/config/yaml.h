/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_YAML_H
#define HONE_TUNER_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"

/* A YAML document as a tree of nodes with their positions. The only user of yaml.h. Aliases are refused beyond a bound
 * on the expanded size ("alias bomb"), as are duplicate keys, other documents, tags and depth beyond 100. */
enum hn_yaml_kind { HN_YAML_SCALAR, HN_YAML_SEQUENCE, HN_YAML_MAPPING };

struct hn_yaml {
    enum hn_yaml_kind kind;
    int line;   /* from 1 */
    int column; /* from 1 */
    char *text; /* of a scalar */
    bool quoted; /* or a block scalar */
    bool flow;   /* inside [] or {}: a comma ends a plain scalar there */
    struct hn_yaml *key;   /* in a mapping: this child's key, else NULL */
    struct hn_yaml *child; /* first of a sequence or mapping */
    struct hn_yaml *next;  /* sibling */
    size_t count;          /* of children */
};

/* HN_ECONFIG: "path:line:column: what". blocks: empty; the tree lies in them. */
enum hn_status hn_yaml_load(const char *path, struct hn_blocks *blocks, struct hn_yaml **root, struct hn_error *err);
/* The child under that key of a mapping, or NULL; also of no node and of none that is a mapping. */
const struct hn_yaml *hn_yaml_get(const struct hn_yaml *mapping, const char *key);
extern const char *const hn_yaml_kind_names[];

#endif
