/* SPDX-License-Identifier: MIT */
#include "mutate.h"

#include <float.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_TEXT = 64 << 10, DEEP = 2100 };

size_t fuzz_below(struct fuzz_random *random, size_t count)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % count);
}

/* A member of an object, or of an array, where key is NULL. */
struct place {
    json_t *parent;
    const char *key;
    size_t index;
};

static size_t child_count(const json_t *json)
{
    return json_is_object(json) ? json_object_size(json) : json_array_size(json);
}

static json_t *get(const struct place *place)
{
    return place->key != NULL ? json_object_get(place->parent, place->key)
                              : json_array_get(place->parent, place->index);
}

/* Takes the value over. */
static void set(const struct place *place, json_t *value)
{
    if (place->key != NULL)
        (void)json_object_set_new(place->parent, place->key, value);
    else
        (void)json_array_set_new(place->parent, place->index, value);
}

static struct place child(json_t *parent, size_t index)
{
    struct place place = {.parent = parent, .index = index};
    if (json_is_object(parent)) {
        void *at = json_object_iter(parent);
        for (; index > 0; index--)
            at = json_object_iter_next(parent, at);
        place.key = json_object_iter_key(at);
    }
    return place;
}

/* Goes down from the root, so that what stands near it is found as often as what a hundred rows
 * have. The root has a child. */
static struct place find_place(json_t *root, struct fuzz_random *random)
{
    struct place place;
    for (json_t *at = root;; at = get(&place)) {
        place = child(at, fuzz_below(random, child_count(at)));
        if (child_count(get(&place)) == 0 || fuzz_below(random, 6) == 0)
            return place;
    }
}

static json_t *make_long(struct fuzz_random *random)
{
    size_t size = fuzz_below(random, 2) == 0 ? 256 : LONG_TEXT;
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    memset(text, 'a', size);
    json_t *json = json_stringn(text, size);
    free(text);
    return json;
}

static json_t *make_nested(json_t *inner, size_t depth, bool objects)
{
    for (size_t i = 0; i < depth; i++)
        inner = objects ? json_pack("{so}", "a", inner) : json_pack("[o]", inner);
    return inner;
}

static json_t *make_number(struct fuzz_random *random)
{
    static const json_int_t integers[] = {
        0, -1, 1, 2, 3, 1024, 65536, INT_MAX, INT_MIN, UINT_MAX, LLONG_MAX, LLONG_MIN, 1763697600};
    static const double reals[] = {0.0,     -0.0,    -1.0,         0.5,
                                   1e308,   -1e308,  1e-9,         1e-320,
                                   DBL_MIN, 1.5e-45, 3976000000.0, 9007199254740993.0};
    enum { INTEGERS = sizeof integers / sizeof *integers, REALS = sizeof reals / sizeof *reals };
    size_t pick = fuzz_below(random, INTEGERS + REALS);
    return pick < INTEGERS ? json_integer(integers[pick]) : json_real(reals[pick - INTEGERS]);
}

static json_t *make_text(struct fuzz_random *random)
{
    static const char *const texts[] = {
        "",
        "NaN",
        "Infinity",
        "-1",
        "1e308",
        "ok",
        "slower",
        "verified",
        "cold",
        "unknown",
        "time",
        "a\nb",
        "\033[2J",
        "\x7f",
        "\xc2\x9b[J",
        "\r",
        "k */ #error",
        "</script>",
        "=1+1",
        "%s%n",
        "../../x",
        "/dev/zero",
        "n * n * n * n",
        "1 / 0",
        "-DN=2",
        "--pch",
        "float64",
        "scratch",
        "-9223372036854775808",
    };
    size_t pick = fuzz_below(random, sizeof texts / sizeof *texts);
    return json_string(texts[pick]);
}

static json_t *make_value(struct fuzz_random *random)
{
    switch (fuzz_below(random, 8)) {
    case 0:
    case 1:
    case 2:
        return make_number(random);
    case 3:
    case 4:
        return make_text(random);
    case 5:
        return fuzz_below(random, 8) == 0 ? make_long(random) : json_boolean(fuzz_below(random, 2));
    case 6:
        return make_nested(json_array(), fuzz_below(random, 16) == 0 ? DEEP : fuzz_below(random, 4),
                           fuzz_below(random, 2) == 0);
    default:
        return fuzz_below(random, 2) == 0 ? json_null() : json_object();
    }
}

static void remove_place(const struct place *place)
{
    if (place->key != NULL)
        (void)json_object_del(place->parent, place->key);
    else
        (void)json_array_remove(place->parent, place->index);
}

/* Two members of one parent change places, or one is a copy of what stands anywhere. */
static void exchange(json_t *root, const struct place *place, struct fuzz_random *random)
{
    bool copy = fuzz_below(random, 2) == 0;
    struct place other = copy
                             ? find_place(root, random)
                             : child(place->parent, fuzz_below(random, child_count(place->parent)));
    json_t *here = json_deep_copy(get(place));
    json_t *there = json_deep_copy(get(&other));
    set(place, there);
    if (copy)
        json_decref(here);
    else
        set(&other, here);
}

/* Under another name, or once more. */
static void repeat(const struct place *place, struct fuzz_random *random)
{
    json_t *copy = json_deep_copy(get(place));
    json_auto_t *name = make_text(random);
    if (place->key == NULL)
        (void)json_array_append_new(place->parent, copy);
    else
        (void)json_object_set_new(place->parent, json_string_value(name), copy);
    if (fuzz_below(random, 2) == 0)
        remove_place(place);
}

static void scale(const struct place *place, struct fuzz_random *random)
{
    static const double factors[] = {-1, 0.001, 0.5, 1.0000001, 2, 1000, 1e300};
    double factor = factors[fuzz_below(random, sizeof factors / sizeof *factors)];
    const json_t *json = get(place);
    double scaled = json_number_value(json) * factor;
    if (json_is_integer(json))
        set(place, json_integer((json_int_t)((uint64_t)json_integer_value(json) +
                                             fuzz_below(random, 5) - 2)));
    else if (json_is_real(json) && scaled - scaled == 0)
        set(place, json_real(scaled));
    else
        set(place, make_number(random));
}

/* A byte of the text is another, or the text ends there. */
static void alter_text(const struct place *place, struct fuzz_random *random)
{
    static const char bytes[] = "\0 \n\033\x7f\"\\/*+-.,=<{}()0a";
    size_t length = json_string_length(get(place));
    if (length == 0) {
        set(place, make_text(random));
        return;
    }
    char *text = malloc(length);
    if (text == NULL)
        return;
    memcpy(text, json_string_value(get(place)), length);
    size_t at = fuzz_below(random, length);
    text[at] = bytes[fuzz_below(random, sizeof bytes - 1)];
    bool cut = text[at] == '\0' && fuzz_below(random, 4) != 0;
    set(place, json_stringn(text, cut ? at : length));
    free(text);
}

static void change(json_t *root, struct fuzz_random *random)
{
    struct place place = find_place(root, random);
    const json_t *value = get(&place);
    switch (fuzz_below(random, 8)) {
    case 0:
        remove_place(&place);
        return;
    case 1:
        exchange(root, &place, random);
        return;
    case 2:
        repeat(&place, random);
        return;
    case 3:
        set(&place, make_nested(json_deep_copy(value), 1, fuzz_below(random, 2) == 0));
        return;
    case 4:
    case 5:
        set(&place, make_value(random));
        return;
    default:
        if (json_is_number(value))
            scale(&place, random);
        else if (json_is_string(value))
            alter_text(&place, random);
        else
            set(&place, make_value(random));
    }
}

/* As a writer leaves it that stops half way, that knows numbers which JSON does not, or no UTF-8.
 */
static void damage(char *text, struct fuzz_random *random)
{
    char *at = text + fuzz_below(random, strlen(text));
    switch (fuzz_below(random, 3)) {
    case 0:
        *at = '\0';
        return;
    case 1:
        *at = '\xff';
        return;
    default:
        at += strcspn(at, "0123456789");
        if (strspn(at, "0123456789.") >= 3)
            memcpy(at, "NaN", 3);
    }
}

char *fuzz_mutate_json(const char *text, size_t size, struct fuzz_random *random)
{
    json_t *root = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
    if (root == NULL)
        return NULL;
    size_t changes = 1 + (fuzz_below(random, 4) == 0 ? fuzz_below(random, 3) : 0);
    for (; changes > 0 && child_count(root) > 0; changes--)
        change(root, random);
    char *mutated = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(root);
    if (mutated != NULL && fuzz_below(random, 32) == 0)
        damage(mutated, random);
    return mutated;
}
