/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/schema.h"

#include "tests/unit/unit.h"

enum color { RED, GREEN, BLUE };
static const char *const colors[] = {"red", "green", "blue"};
static const char *const sides[] = {"left", "right"};

struct part {
    char *name;
    double weight;
};

struct thing {
    char *text, *word, *string, chars[8], hash[33];
    size_t index;
    int count, few;
    double real, amount;
    bool flag;
    enum color color;
    bool right;
    struct part inside, *pointer, *parts;
    size_t part_count;
    double *reals;
    size_t real_count;
    int own;
};

#define AT(member) .offset = offsetof(struct thing, member)

static void read_own(struct hn_json_reader *reader, const struct hn_field *field,
                     const json_t *json, void *member)
{
    hn_field_read(reader, &(struct hn_field){.key = field->key, .kind = HN_FIELD_COUNT, .most = 9},
                  json, member);
}

static json_t *build_own(const struct hn_field *field, const void *member)
{
    (void)field;
    return json_integer(*(const int *)member);
}

static void finish_own(void *member)
{
    *(int *)member = -1;
}

static const struct hn_field_own own = {read_own, build_own, finish_own};

static const struct hn_field part_fields[] = {
    {.key = "name", .needed = true, .kind = HN_FIELD_WORD, .offset = offsetof(struct part, name)},
    {.key = "weight", .kind = HN_FIELD_REAL, .offset = offsetof(struct part, weight)},
};
static const struct hn_structure part_structure = {sizeof(struct part), part_fields, 2, NULL};
static const struct hn_field real_fields[] = {{.key = "", .kind = HN_FIELD_REAL, .needed = true}};
static const struct hn_structure real_list = {sizeof(double), real_fields, 1, NULL};

static bool is_green(const void *thing)
{
    return ((const struct thing *)thing)->color == GREEN;
}

static bool has_inside(const void *thing)
{
    return ((const struct thing *)thing)->inside.name != NULL;
}

/* One field of each kind, none of which has to be there. */
static const struct hn_field fields[] = {
    {.key = "text", .kind = HN_FIELD_TEXT, AT(text)},
    {.key = "word", .kind = HN_FIELD_WORD, AT(word)},
    {.key = "string", .kind = HN_FIELD_STRING, AT(string)},
    {.key = "chars", .kind = HN_FIELD_CHARS, .most = 7, AT(chars)},
    {.key = "hash", .kind = HN_FIELD_HASH, AT(hash)},
    {.key = "index", .kind = HN_FIELD_INDEX, AT(index)},
    {.key = "count", .kind = HN_FIELD_COUNT, AT(count)},
    {.key = "few", .kind = HN_FIELD_COUNT, .most = 3, AT(few)},
    {.key = "real", .kind = HN_FIELD_REAL, AT(real)},
    {.key = "amount", .kind = HN_FIELD_AMOUNT, AT(amount)},
    {.key = "flag", .kind = HN_FIELD_FLAG, AT(flag)},
    {.key = "color",
     .always = true,
     .kind = HN_FIELD_CHOICE,
     .of = colors,
     .choices = 3,
     AT(color)},
    {.key = "side", .kind = HN_FIELD_NAMED_FLAG, .of = sides, .choices = 2, AT(right)},
    {.key = "inside",
     .kind = HN_FIELD_STRUCT,
     .of = &part_structure,
     AT(inside),
     .told = has_inside},
    {.key = "pointer", .kind = HN_FIELD_POINTER, .of = &part_structure, AT(pointer)},
    {.key = "parts",
     .kind = HN_FIELD_LIST,
     .of = &part_structure,
     AT(parts),
     .count_offset = offsetof(struct thing, part_count)},
    {.key = "reals",
     .kind = HN_FIELD_LIST,
     .of = &real_list,
     .most = 4,
     AT(reals),
     .count_offset = offsetof(struct thing, real_count)},
    {.key = "own", .kind = HN_FIELD_OWN, .of = &own, AT(own), .when = is_green},
};
static const struct hn_structure structure = {sizeof(struct thing), fields,
                                              sizeof fields / sizeof *fields, NULL};

static enum hn_status read_thing(const struct hn_structure *of, const char *text,
                                 struct thing *thing, struct hn_error *err)
{
    struct hn_error ignored;
    err = hn_error_begin(err, &ignored);
    json_auto_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    *thing = (struct thing){0};
    hn_fields_read("thing", of, json, thing, err);
    return err->status;
}

static void assert_written(const struct hn_structure *of, const struct thing *thing,
                           const char *expected)
{
    json_auto_t *json = hn_fields_to_json(of, thing);
    char *text FREED = json_dumps(json, 0);
    assert_non_null(text);
    assert_string_equal(text, expected);
}

#define HASH "0123456789abcdef0123456789abcdef"

TEST(each_kind_reads_what_it_writes)
{
    static const char text[] =
        "{\"text\": \"a b\", \"word\": \"a_b\", \"string\": \"\", \"chars\": \"seven b\", "
        "\"hash\": \"" HASH "\", \"index\": 4294967296, \"count\": 2147483647, \"few\": 3, "
        "\"real\": -0.10000000000000001, \"amount\": 1e-300, \"flag\": true, \"color\": \"green\", "
        "\"side\": \"right\", \"inside\": {\"name\": \"a\"}, "
        "\"pointer\": {\"name\": \"b\", \"weight\": 0.5}, "
        "\"parts\": [{\"name\": \"c\"}, {\"name\": \"d\", \"weight\": {\"real\": \"nan\"}}], "
        "\"reals\": [1.5, {\"real\": \"inf\"}, {\"real\": \"-inf\"}], \"own\": 9}";
    struct thing thing;
    assert_ok(read_thing(&structure, text, &thing, NULL));
    assert_string_equal(thing.text, "a b");
    assert_string_equal(thing.word, "a_b");
    assert_string_equal(thing.string, "");
    assert_string_equal(thing.chars, "seven b");
    assert_string_equal(thing.hash, HASH);
    assert_true(thing.index == (size_t)1 << 32 && thing.count == INT32_MAX && thing.few == 3);
    assert_true(thing.real == -0.1 && thing.amount == 1e-300 && thing.flag && thing.right);
    assert_int_equal(thing.color, GREEN);
    assert_string_equal(thing.inside.name, "a");
    assert_string_equal(thing.pointer->name, "b");
    assert_true(thing.part_count == 2 && isnan(thing.parts[1].weight));
    assert_true(thing.real_count == 3 && thing.reals[0] == 1.5);
    assert_true(thing.reals[1] == INFINITY && thing.reals[2] == -INFINITY);
    assert_int_equal(thing.own, 9);
    assert_written(&structure, &thing, text);
    hn_fields_finish(&structure, &thing);
    assert_int_equal(thing.own, -1);
}

TEST(what_says_nothing_is_left_out)
{
    struct thing thing;
    assert_ok(read_thing(&structure, "{}", &thing, NULL));
    assert_written(&structure, &thing, "{\"color\": \"red\"}");
    hn_fields_finish(&structure, &thing);
    assert_ok(
        read_thing(&structure, "{\"string\": null, \"parts\": [], \"reals\": []}", &thing, NULL));
    assert_true(thing.string == NULL && thing.parts == NULL && thing.reals == NULL);
    hn_fields_finish(&structure, &thing);
}

/* Optional to read, and written whatever it is. */
TEST(always_is_written_and_needed_is_demanded)
{
    struct hn_field both[2] = {{0}};
    const struct hn_structure changed = {sizeof(struct thing), both, 1, NULL};
    static const char *const empty[] = {
        NULL, NULL, "\"\"", "\"\"", "\"\"", "0", "0", "0", "0.0", "0.0", "false",
    };
    for (size_t i = 2; i < sizeof empty / sizeof *empty; i++) {
        struct thing thing;
        char expected[64];
        both[0] = fields[i];
        both[0].always = true;
        assert_ok(read_thing(&changed, "{}", &thing, NULL));
        snprintf(expected, sizeof expected, "{\"%s\": %s}", fields[i].key, empty[i]);
        assert_written(&changed, &thing, expected);
        both[0].always = false;
        both[0].needed = true;
        assert_written(&changed, &thing, expected);
        assert_int_equal(read_thing(&changed, "{}", &thing, &said), HN_EFORMAT);
        snprintf(expected, sizeof expected, "thing: '%s' is not ", fields[i].key);
        assert_memory_equal(said.message, expected, strlen(expected));
    }
}

TEST(what_does_not_apply_is_neither_read_nor_written)
{
    struct thing thing;
    assert_ok(read_thing(&structure, "{\"color\": \"blue\", \"own\": \"none\"}", &thing, NULL));
    thing.own = 5;
    thing.inside.weight = 5;
    assert_written(&structure, &thing, "{\"color\": \"blue\"}");
    thing.color = GREEN;
    assert_written(&structure, &thing, "{\"color\": \"green\", \"own\": 5}");
    hn_fields_finish(&structure, &thing);
}

TEST(nonsense_is_refused_and_what_was_read_can_be_freed)
{
    static const char *const cases[][2] = {
        {"[]", "thing: found an array, expected an object"},
        {"{\"text\": \"\"}", "thing: 'text' is not a string"},
        {"{\"word\": \"a b\"}", "thing: 'word' is not a name"},
        {"{\"string\": 1}", "thing: 'string' is not a string"},
        {"{\"chars\": \"eight by\"}", "thing: 'chars' is not a string of at most 7 bytes"},
        {"{\"hash\": \"0123\"}", "thing: 'hash' is not a hash of 32 hexadecimal digits"},
        {"{\"hash\": \"../../etc/../../etc/../../etc/..\"}",
         "thing: 'hash' is not a hash of 32 hexadecimal digits"},
        {"{\"index\": -1}", "thing: 'index' is not a number from 0 on"},
        {"{\"count\": 2147483648}", "thing: 'count' is not an integer of 0 to 2147483647"},
        {"{\"count\": -1}", "thing: 'count' is not an integer of 0 to 2147483647"},
        {"{\"few\": 4}", "thing: 'few' is not an integer of 0 to 3"},
        {"{\"few\": 1.0}", "thing: 'few' is not an integer of 0 to 3"},
        {"{\"real\": \"1\"}", "thing: 'real' is not a number"},
        {"{\"real\": {\"real\": \"many\"}}", "thing: 'real' is not a number"},
        {"{\"real\": {\"real\": \"nan\", \"more\": 1}}", "thing: 'real' is not a number"},
        {"{\"amount\": -0.5}", "thing: 'amount' is not a number from 0 on"},
        {"{\"amount\": {\"real\": \"inf\"}}", "thing: 'amount' is not a number from 0 on"},
        {"{\"flag\": 1}", "thing: 'flag' is not true or false"},
        {"{\"color\": \"pink\"}", "thing: 'color' is not one of red, green, blue"},
        {"{\"side\": true}", "thing: 'side' is not one of left, right"},
        {"{\"inside\": 1}", "thing: 'inside' is not an object"},
        {"{\"pointer\": {}}", "thing: 'name' is not a name"},
        {"{\"parts\": {}}", "thing: 'parts' is not a list"},
        {"{\"parts\": [{\"name\": \"a\"}, null]}", "thing: 'parts' is not an object"},
        {"{\"reals\": [1, 2, 3, 4, 5]}", "thing: 'reals' is not a list of at most 4"},
        {"{\"reals\": [1, \"2\"]}", "thing: 'reals' is not a number"},
        {"{\"color\": \"green\", \"own\": 10}", "thing: 'own' is not an integer of 0 to 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct thing thing;
        assert_error(read_thing(&structure, cases[i][0], &thing, &said), HN_EFORMAT, cases[i][1]);
        hn_fields_finish(&structure, &thing);
    }
}

TEST(strings_that_are_no_utf8_are_kept_readable)
{
    struct thing thing = {.string = (char[]){"a\xff"}, .chars = "b\xc3"};
    assert_written(&structure, &thing,
                   "{\"string\": \"a?\", \"chars\": \"b?\", \"color\": \"red\"}");
}
