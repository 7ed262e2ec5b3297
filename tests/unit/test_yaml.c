/* SPDX-License-Identifier: MIT */
#include "tuner/config/yaml.h"

#include "base/file.h"
#include "base/text.h"
#include "tests/unit/unit.h"

static const char file[] = "t.yaml";

static int set_up(void **state)
{
    static char folder[] = "/tmp/hone-test-yaml-XXXXXX";
    *state = mkdtemp(folder);
    return *state == NULL ? -1 : chdir(folder);
}

static int tear_down(void **state)
{
    unlink(file);
    return chdir("/") | rmdir(*state);
}

ALL_TESTS(set_up, tear_down)

static struct hn_yaml *load(const char *text)
{
    struct hn_yaml *root = NULL;
    struct hn_blocks *blocks = keep_new(struct hn_blocks, hn_blocks_finish);
    assert_ok(hn_file_write(file, text, strlen(text), NULL));
    assert_ok(hn_yaml_load(file, blocks, &root, &said));
    return root;
}

static void refuse(const char *text, size_t size, const char *message)
{
    struct hn_yaml *root = NULL;
    struct hn_blocks blocks = {0};
    assert_ok(hn_file_write(file, text, size, NULL));
    assert_error(hn_yaml_load(file, &blocks, &root, &said), HN_ECONFIG, message);
    assert_null(root);
}

static void assert_place(const struct hn_yaml *node, int line, int column)
{
    assert_int_equal(node->line, line);
    assert_int_equal(node->column, column);
}

TEST(a_mapping_keeps_order_and_places)
{
    struct hn_yaml *root = load("# a comment\nkernel: matmul\nTILE: [16,\n       32]\n");
    assert_int_equal(root->kind, HN_YAML_MAPPING);
    assert_int_equal(root->count, 2);
    assert_place(root, 2, 1);

    const struct hn_yaml *kernel = root->child;
    assert_string_equal(kernel->key->text, "kernel");
    assert_place(kernel->key, 2, 1);
    assert_string_equal(kernel->text, "matmul");
    assert_place(kernel, 2, 9);

    const struct hn_yaml *tile = hn_yaml_get(root, "TILE");
    assert_ptr_equal(tile, kernel->next);
    assert_int_equal(tile->kind, HN_YAML_SEQUENCE);
    assert_int_equal(tile->count, 2);
    assert_null(tile->child->key);
    assert_string_equal(tile->child->next->text, "32");
    assert_place(tile->child->next, 4, 8);
    assert_null(hn_yaml_get(root, "PAD"));
}

TEST(quotes_and_flow_are_told)
{
    struct hn_yaml *root = load("a: plain\nb: 'single'\nc: \"dou\\\"ble\"\nd: |\n  block\n"
                                "e: {f: [g]}\nh:\n");
    assert_false(hn_yaml_get(root, "a")->quoted);
    assert_false(hn_yaml_get(root, "a")->flow);
    assert_true(hn_yaml_get(root, "b")->quoted);
    assert_true(hn_yaml_get(root, "c")->quoted);
    assert_string_equal(hn_yaml_get(root, "c")->text, "dou\"ble");
    assert_true(hn_yaml_get(root, "d")->quoted);
    assert_string_equal(hn_yaml_get(root, "d")->text, "block\n");
    const struct hn_yaml *e = hn_yaml_get(root, "e");
    assert_false(e->flow);
    assert_true(hn_yaml_get(e, "f")->flow);
    assert_true(hn_yaml_get(e, "f")->child->flow);
    assert_string_equal(hn_yaml_get(root, "h")->text, "");
}

TEST(an_alias_is_a_copy)
{
    struct hn_yaml *root = load("a: &x {p: [1, 2]}\nb: *x\nc: &x 3\nd: *x\n");
    const struct hn_yaml *a = hn_yaml_get(root, "a");
    const struct hn_yaml *b = hn_yaml_get(root, "b");
    assert_ptr_not_equal(a, b);
    assert_string_equal(b->key->text, "b");
    assert_int_equal(b->count, 1);
    assert_string_equal(hn_yaml_get(b, "p")->child->next->text, "2");
    assert_place(hn_yaml_get(b, "p"), 1, 11);
    assert_string_equal(hn_yaml_get(root, "d")->text, "3");
}

static void refuse_text(const char *text, const char *message)
{
    refuse(text, strlen(text), message);
}

/* Beside tests/data/config/bad/configs.txt, which is text and has no tags of its own. */
TEST(what_is_no_plain_tree_is_refused)
{
    refuse_text("a: &a {b: 1}\nc: {<<: *a}\n",
                "t.yaml:2:5: found '<<': mappings are not merged here; write its keys");
    refuse_text("a: !shape 1\n", "t.yaml:1:4: found tag '!shape'; tags are not used here");
    refuse_text("a: \"x\\0y\"\n", "t.yaml:1:4: found a NUL character, expected text");
    refuse("a: \xff\n", 5, "t.yaml: not YAML text: invalid leading UTF-8 octet at byte 3");
}

TEST(depth_is_bounded)
{
    char text[256];
    memset(text, '[', 100);
    memset(text + 100, ']', 100);
    text[200] = '\0';
    load(text);
    memset(text, '[', 101);
    memset(text + 101, ']', 101);
    text[202] = '\0';
    refuse_text(text, "t.yaml:1:101: nested deeper than 100 levels");
}

TEST(aliases_are_bounded)
{
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    hn_text_append(&text, "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\nb:\n");
    for (int i = 0; i < 1000; i++)
        hn_text_append(&text, "- *a\n");
    load(text.data);
    hn_text_append(&text, "- *a\n");
    refuse_text(text.data,
                "t.yaml:1003:3: aliases stand for more than 10000 nodes, which is refused");
}

TEST(a_missing_file_is_named)
{
    struct hn_yaml *root = NULL;
    struct hn_blocks blocks = {0};
    assert_mentions(hn_yaml_load("missing.yaml", &blocks, &root, &said), HN_ECONFIG,
                    "missing.yaml");
    assert_null(root);
}
