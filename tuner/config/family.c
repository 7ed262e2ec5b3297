/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "tuner/config/config.h"
#include "tuner/config/config_parts.h"

enum { TRIES_MOST = 100000, MIDDLE_STEPS = 64 };

static bool allows(const struct hn_family_value *value, const struct hn_value *given)
{
    if (value->kind == HN_FAMILY_RANGE)
        return given->type == HN_INTEGER && given->integer >= value->low &&
               given->integer <= value->high && given->integer % value->multiple_of == 0;
    return hn_config_find_value(value->values, value->count, given) != NULL;
}

bool hn_family_is_size(const struct hn_family_value *value)
{
    bool are_sizes = value->count > 2;
    for (size_t i = 0; i < value->count; i++)
        are_sizes =
            are_sizes && value->values[i].type == HN_INTEGER && value->values[i].integer > 0;
    return are_sizes || value->kind == HN_FAMILY_RANGE;
}

/* The first condition that does not hold, or has no value, which `reason` tells; NULL: all hold. */
static const struct hn_config_constraint *
find_broken(const struct hn_family *family, const struct hn_value *values, struct hn_error *reason)
{
    for (size_t i = 0; i < family->where_count; i++)
        if (!hn_expression_holds(family->where[i].expression, values, reason))
            return &family->where[i];
    return NULL;
}

static bool is_of_family(const struct hn_family *family, const struct hn_value *values)
{
    bool allowed = true;
    for (size_t i = 0; i < family->value_count; i++)
        allowed = allowed && allows(&family->values[i], &values[i]);
    return allowed && find_broken(family, values, NULL) == NULL;
}

static void fail_value(const struct hn_family_value *value, const struct hn_value *given,
                       struct hn_error *err)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&text, "found %s=", value->name);
    hn_value_append(&text, given);
    if (value->kind == HN_FAMILY_RANGE)
        hn_text_printf(&text, ", expected a whole number from %lld to %lld", (long long)value->low,
                       (long long)value->high);
    if (value->kind == HN_FAMILY_RANGE && value->multiple_of > 1)
        hn_text_printf(&text, " that is a multiple of %lld", (long long)value->multiple_of);
    hn_text_append(&text, value->count > 0 ? ", expected one of " : "");
    hn_values_append(&text, value->values, value->count);
    hn_fail(err, HN_ECONFIG, "%s, as the family says; widen that, or leave it out",
            (const char *)hn_needed(text.data));
}

bool hn_family_has(const struct hn_family *family, const struct hn_bindings *problem,
                   struct hn_error *err)
{
    struct hn_error own, reason = {0};
    struct hn_value values[family->value_count + 1];
    err = hn_error_begin(err, &own);
    for (size_t i = 0; i < family->value_count && !hn_failed(err); i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *given = hn_bindings_get(problem, value->name);
        if (given == NULL)
            hn_fail(err, HN_ECONFIG, "the problem has no '%s', of which the family has several",
                    value->name);
        else if (!allows(value, given))
            fail_value(value, given, err);
        else
            values[i] = *given;
    }
    const struct hn_config_constraint *broken =
        hn_failed(err) ? NULL : find_broken(family, values, &reason);
    if (broken != NULL)
        hn_fail(err, HN_ECONFIG, "the family's '%s' (%s) does not hold%s%s", broken->text,
                broken->where, reason.message[0] == '\0' ? "" : ": ", reason.message);
    return !hn_failed(err);
}

/* Steps of multiple_of, so that each allowed value of a range has its share. */
static struct hn_value value_at(const struct hn_family_value *value, double unit)
{
    size_t index = (size_t)(unit * (double)value->count);
    if (value->kind != HN_FAMILY_RANGE)
        return value->values[index < value->count ? index : value->count - 1];
    double step = (double)value->multiple_of;
    double low = (double)value->low / step, high = (double)value->high / step + 1;
    double found = floor(value->log ? exp(log(low) + unit * (log(high) - log(low)))
                                    : low + unit * (high - low));
    /* It may be rounded upwards. */
    if (found >= high - 1)
        return hn_integer(value->high);
    return hn_integer(found <= low ? value->low : (int64_t)found * value->multiple_of);
}

/* The one above 1 with x^(n+1) = x + 1, by Newton's method from above, without a function that
 * another machine rounds otherwise. */
static double generalised_golden_ratio(size_t n)
{
    double x = 2;
    for (int step = 0; step < 64; step++) {
        double power = 1;
        for (size_t i = 0; i < n; i++)
            power *= x;
        x -= (power * x - x - 1) / ((double)(n + 1) * power - 1);
    }
    return x;
}

static bool is_fixed(const struct hn_family_value *value)
{
    return value->kind == HN_FAMILY_RANGE ? value->low == value->high : value->count == 1;
}

/* Element `index` of the sequence, in units of 2^-64: shares of a turn, which wrap around. */
static void place_values(const struct hn_family *family, uint64_t seed, uint64_t index,
                         struct hn_value *values)
{
    struct hn_random random = hn_random_seeded(seed);
    size_t free_count = 0;
    for (size_t i = 0; i < family->value_count; i++)
        free_count += !is_fixed(&family->values[i]);
    double ratio = generalised_golden_ratio(free_count > 0 ? free_count : 1);
    double step = 1;
    for (size_t i = 0; i < family->value_count; i++) {
        uint64_t turn = 0;
        if (!is_fixed(&family->values[i])) {
            step /= ratio;
            turn = hn_random_next(&random) + (index + 1) * (uint64_t)(step * 0x1p64);
        }
        values[i] = value_at(&family->values[i], (double)(turn >> 11) * 0x1p-53);
    }
}

static void give(const struct hn_family *family, const struct hn_value *values,
                 struct hn_bindings *problem, struct hn_error *err)
{
    for (size_t i = 0; i < family->value_count && !hn_failed(err); i++)
        hn_bindings_set(problem, family->values[i].name, &values[i], err);
}

/* Conditions that only round numbers meet, as powers of two, hold for few of those that are drawn,
 * and hardly any large ones. Then values lose their last bits, but for those that may keep them.
 * The conditions have to hold for twice as much, too: a bound is not met by all beyond it. */
static bool round_until_they_hold(const struct hn_family *family, struct hn_value *values)
{
    struct hn_value fewer[family->value_count + 1], twice[family->value_count + 1];
    bool holds = false;
    for (int bits = 32; bits > 0 && !holds; bits--) {
        for (size_t i = 0; i < family->value_count; i++) {
            int64_t number = family->values[i].kind == HN_FAMILY_RANGE ? values[i].integer : 0;
            int last = number > 0 ? 64 - __builtin_clzll((uint64_t)number) - bits : 0;
            fewer[i] = twice[i] = values[i];
            if (last > 0) {
                fewer[i].integer = number >> last << last;
                twice[i].integer = 2 * fewer[i].integer;
            }
        }
        holds = is_of_family(family, fewer) && find_broken(family, twice, NULL) == NULL;
    }
    for (size_t i = 0; i < family->value_count && holds; i++) {
        twice[i] = fewer[i];
        fewer[i] = values[i];
        if (!is_of_family(family, fewer))
            fewer[i] = twice[i];
    }
    if (holds)
        memcpy(values, fewer, family->value_count * sizeof *values);
    return holds;
}

/* Fills in `values`, which has room for those of the family. */
static void draw(const struct hn_family *family, uint64_t seed, uint64_t *at,
                 struct hn_value *values, struct hn_error *err)
{
    const struct hn_config_constraint *broken = NULL;
    struct hn_error reason = {0};
    for (int tries = 0; tries < TRIES_MOST; tries++) {
        place_values(family, seed, (*at)++, values);
        broken = find_broken(family, values, NULL);
        if (broken == NULL || round_until_they_hold(family, values))
            return;
    }
    find_broken(family, values, &reason);
    hn_fail(err, HN_ECONFIG,
            "%s: none of %d problems of the family satisfies its conditions; of the last "
            "one '%s' does not hold%s%s; loosen them or change the ranges",
            broken->where, TRIES_MOST, broken->text, reason.message[0] == '\0' ? "" : ": ",
            reason.message);
}

static const int64_t round_to = 16;

/* As far as that is of the family. */
static void round_sizes(const struct hn_family *family, struct hn_value *values)
{
    struct hn_value rounded[family->value_count + 1];
    for (size_t i = 0; i < family->value_count; i++) {
        rounded[i] = values[i];
        if (family->values[i].kind == HN_FAMILY_RANGE && values[i].integer >= round_to)
            rounded[i].integer -= values[i].integer % round_to;
    }
    if (is_of_family(family, rounded))
        memcpy(values, rounded, family->value_count * sizeof *values);
}

struct hn_bindings hn_family_draw(const struct hn_family *family, const struct hn_bindings *whole,
                                  uint64_t seed, uint64_t *at, struct hn_error *err)
{
    struct hn_value values[family->value_count + 1];
    struct hn_bindings problem = hn_need_bindings(whole, NULL);
    bool rounds = *at % 2 == 1;
    if (!hn_failed(err))
        draw(family, seed, at, values, err);
    if (rounds && !hn_failed(err))
        round_sizes(family, values);
    give(family, values, &problem, err);
    return problem;
}

/* Half way of the ranges first, then ever nearer to their lower ends, then to the upper ones. */
static bool find_middle(const struct hn_family *family, struct hn_value *values)
{
    for (int step = 0; step < 2 * MIDDLE_STEPS; step++) {
        double way = step < MIDDLE_STEPS ? -step : step - MIDDLE_STEPS + 1;
        for (size_t i = 0; i < family->value_count; i++) {
            const struct hn_family_value *value = &family->values[i];
            bool numbers = value->kind == HN_FAMILY_RANGE || value->values[0].type == HN_INTEGER ||
                           value->values[0].type == HN_REAL;
            values[i] = value->kind == HN_FAMILY_LIST
                            ? value->values[numbers ? (value->count - 1) / 2 : 0]
                            : value_at(value, 0.5 + way / (2 * MIDDLE_STEPS));
        }
        if (find_broken(family, values, NULL) == NULL)
            return true;
    }
    return false;
}

enum hn_status hn_family_middle(const struct hn_family *family, struct hn_bindings *problem,
                                struct hn_error *err)
{
    uint64_t at = 0;
    struct hn_value values[family->value_count + 1];
    hn_error_init(err);
    *problem = (struct hn_bindings){0};
    if (family->size_count > 0)
        return hn_bindings_copy(problem, &family->sizes[0], err);
    if (!find_middle(family, values))
        draw(family, 0, &at, values, err);
    give(family, values, problem, err);
    return err->status;
}

/* `family`: values by their names, and beside them what is asked of them all. */

/* To the multiples that lie between the bounds. */
static void tighten(struct hn_reader *reader, const struct hn_yaml *node,
                    struct hn_family_value *value)
{
    int64_t step = value->multiple_of;
    int64_t below = value->low % step, above = value->high % step;
    value->low += below > 0 ? step - below : -below;
    value->high -= above < 0 ? step + above : above;
    if (value->low > value->high)
        hn_config_fail(reader, node, "no multiple of %lld lies in the range; widen it",
                       (long long)step);
}

static void read_range(struct hn_reader *reader, const struct hn_yaml *node,
                       struct hn_family_value *value)
{
    static const int64_t most = INT64_C(1) << 53; /* of a rule */
    static const char expected[] = "a whole number within 2^53";
    static const char *const scales[] = {"log", "linear"};
    const struct hn_yaml *bounds = hn_yaml_get(node, "range");
    hn_config_check_keys(reader, node, "range scale multiple_of");
    value->kind = HN_FAMILY_RANGE;
    value->multiple_of = 1;
    value->log = hn_config_read_choice(reader, hn_yaml_get(node, "scale"), scales, 2) == 0;
    hn_config_read_whole(reader, hn_yaml_get(node, "multiple_of"), 1, most,
                         "a whole number from 1 to 2^53", &value->multiple_of);
    if (!hn_config_expect(reader, bounds->kind == HN_YAML_SEQUENCE && bounds->count == 2, bounds,
                          "[low, high]"))
        return;
    hn_config_read_whole(reader, bounds->child, -most, most, expected, &value->low);
    hn_config_read_whole(reader, bounds->child->next, -most, most, expected, &value->high);
    if (value->low > value->high)
        hn_config_fail(reader, bounds, "found [%s, %s], expected the lower bound first",
                       bounds->child->text, bounds->child->next->text);
    if (value->log && value->low < 1)
        hn_config_fail(reader, bounds->child,
                       "found '%s', expected at least 1, since there is no logarithm of less; "
                       "`scale: linear` may begin anywhere",
                       bounds->child->text);
    if (!hn_failed(reader->err))
        tighten(reader, bounds, value);
}

static void read_family_value(struct hn_reader *reader, const struct hn_yaml *node,
                              struct hn_family_value *value)
{
    hn_config_check_name(reader, node->key);
    value->name = node->key->text;
    value->kind = HN_FAMILY_LIST;
    if (node->kind != HN_YAML_MAPPING || hn_yaml_get(node, "powers_of_two") != NULL)
        hn_config_read_values(reader, node, true, &value->values, &value->count);
    else if (hn_yaml_get(node, "range") != NULL)
        read_range(reader, node, value);
    else
        hn_config_expect(reader, false, node,
                         "a value, a list of values, {range: [low, high], scale: log or "
                         "linear, multiple_of: m} or {powers_of_two: [low, high]}");
}

/* The names that `where` may use: the family's values, and their words. */
static struct hn_scope make_scope(struct hn_blocks *blocks, const struct hn_family *family)
{
    size_t most = 0;
    for (size_t i = 0; i < family->value_count; i++)
        most += family->values[i].count;
    const char **names = hn_need_block(blocks, family->value_count, sizeof *names);
    const char **words = hn_need_block(blocks, most, sizeof *words);
    struct hn_scope scope = {names, 0, words, 0};
    HN_EACH_OF(value, family->values, family->value_count) {
        names[scope.name_count++] = value->name;
        for (size_t v = 0; v < value->count; v++)
            if (value->values[v].type == HN_WORD)
                words[scope.word_count++] = value->values[v].word;
    }
    return scope;
}

/* 0.03, or 3%. */
static void read_loss(struct hn_reader *reader, const struct hn_yaml *node,
                      struct hn_family *family)
{
    static const char expected[] = "a share of the best time, as 3% or 0.03";
    family->loss = HN_FAMILY_LOSS;
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected))
        return;
    char *end = node->text;
    double loss = hn_c_strtod(node->text, &end);
    bool percent = *end == '%' && end[1] == '\0';
    bool fits = end != node->text && (percent || (*end == '\0' && loss < 1)) && loss >= 0;
    if (hn_config_expect(reader, fits && isfinite(loss), node, expected))
        family->loss = percent ? loss / 100 : loss;
}

/* The sizes of a family that matter most: in the config, or in a file that a log was made into. */

enum { FILE_MOST = 1 << 28 };

struct size_list {
    struct hn_family *family;
    struct hn_keys seen; /* hashes of the sizes */
};

/* Takes a size that was seen before as more of its weight. */
static void keep_size(struct size_list *list, const struct hn_bindings *size, double weight,
                      struct hn_error *err)
{
    struct hn_family *family = list->family;
    char *text HN_FREED = hn_needed(hn_bindings_text(size));
    struct hn_hash hash = hn_hash_string(text);
    uint32_t number = hn_keys_find(&list->seen, hash.hex);
    if (number != HN_NO_KEY) {
        family->weights[number] += weight;
    } else if (family->size_count == HN_FAMILY_SIZES_MOST) {
        hn_fail(err, HN_ECONFIG, "found more than %d different sizes; keep those that matter most",
                HN_FAMILY_SIZES_MOST);
    } else {
        hn_keys_add(&list->seen, hash.hex);
        family->sizes[family->size_count] = hn_need_bindings(size, NULL);
        family->weights[family->size_count++] = weight;
    }
}

/* A size, with `weight` among its values or 1, and the values that the family has fixed. */
static void add_size(struct size_list *list, const struct hn_bindings *given, struct hn_error *err)
{
    const struct hn_family *family = list->family;
    const struct hn_value *weight = hn_bindings_get(given, "weight");
    double times = weight == NULL ? 1 : hn_value_number(weight);
    struct hn_bindings size HN_ENDED_BY(hn_bindings_finish) = {0};
    for (size_t i = 0; i < given->count && !hn_failed(err); i++) {
        bool known = strcmp(given->names[i], "weight") == 0;
        for (size_t v = 0; v < family->value_count && !known; v++)
            known = strcmp(family->values[v].name, given->names[i]) == 0;
        if (!known)
            hn_fail(err, HN_ECONFIG, "the family has no '%s'; remove it from the size",
                    given->names[i]);
    }
    if (!hn_failed(err) && (!(times > 0) || !isfinite(times)))
        hn_fail(err, HN_ECONFIG, "found a weight of %g, expected a number above 0", times);
    for (size_t i = 0; i < family->value_count && !hn_failed(err); i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *found = hn_bindings_get(given, value->name);
        if (found == NULL && value->kind == HN_FAMILY_LIST && value->count == 1)
            found = &value->values[0];
        if (found != NULL)
            hn_bindings_set(&size, value->name, found, err);
    }
    if (!hn_failed(err) && hn_family_has(family, &size, err))
        keep_size(list, &size, times, err);
}

static void read_size(struct hn_reader *reader, const struct hn_yaml *node, struct size_list *list)
{
    struct hn_bindings given HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_error reason = {0};
    const struct hn_yaml *child = hn_config_pairs(reader, node, "a mapping of names to values");
    for (; child != NULL && !hn_failed(reader->err); child = child->next) {
        struct hn_value value = hn_config_read_value(reader, child);
        if (!hn_failed(reader->err))
            hn_bindings_set(&given, child->key->text, &value, reader->err);
    }
    if (!hn_failed(reader->err))
        add_size(list, &given, &reason);
    hn_config_take(reader, node, NULL, &reason);
}

/* "M=16,N=4096" of the words of a line: as they are, or values below the names of a header. */
static void join_words(char *line, char *header, struct hn_text *joined, struct hn_error *err)
{
    static const char between[] = " \t\r,;";
    char *word;
    while ((word = strtok_r(NULL, between, &line)) != NULL) {
        char *name = header == NULL ? NULL : strtok_r(NULL, between, &header);
        if (header != NULL && name == NULL) {
            hn_fail(err, HN_ECONFIG, "found more values than the first line has names");
            return;
        }
        hn_text_printf(joined, "%s%s%s%s", joined->length > 0 ? "," : "", name == NULL ? "" : name,
                       name == NULL ? "" : "=", word);
    }
    if (header != NULL && strtok_r(NULL, between, &header) != NULL)
        hn_fail(err, HN_ECONFIG, "found fewer values than the first line has names");
}

static void add_line(struct size_list *list, char *line, const char *header, struct hn_error *err)
{
    struct hn_bindings given HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_text joined HN_ENDED_BY(hn_text_finish) = {0};
    char *names HN_FREED = hn_need_copy(header);
    join_words(line, names, &joined, err);
    if (!hn_failed(err) && joined.length > 0 &&
        hn_bindings_parse(joined.data, &given, err) == HN_OK)
        add_size(list, &given, err);
}

/* A first line without '=' is the header of a table. */
static void read_lines(struct hn_reader *reader, const struct hn_yaml *node, char *text,
                       struct size_list *list)
{
    const char *header = NULL;
    bool first = true;
    for (size_t number = 1; text != NULL && !hn_failed(reader->err); number++) {
        char *line = strsep(&text, "\n");
        struct hn_error reason = {0};
        line[strcspn(line, "#")] = '\0';
        bool blank = line[strspn(line, " \t\r")] == '\0';
        if (!blank && first && strchr(line, '=') == NULL)
            header = line;
        else if (!blank)
            add_line(list, line, header, &reason);
        first = first && blank;
        if (hn_failed(&reason))
            hn_config_fail(reader, node, "%s, line %zu: %.2000s", node->text, number,
                           reason.message);
    }
}

static void read_file(struct hn_reader *reader, const struct hn_yaml *node, struct size_list *list)
{
    struct hn_error reason = {0};
    char *path HN_FREED = NULL, *text HN_FREED = NULL;
    hn_config_read_path(reader, node, "the path of a file, one size a line", &path);
    if (path != NULL)
        hn_file_read(path, FILE_MOST, &text, NULL, &reason);
    hn_config_take(reader, node, NULL, &reason);
    read_lines(reader, node, text, list);
    if (list->family->size_count == 0)
        hn_config_fail(reader, node, "%s has no size, expected lines as \"M=16 N=4096\"",
                       node->text);
}

static void read_sizes(struct hn_reader *reader, const struct hn_yaml *node,
                       struct hn_family *family)
{
    struct size_list list = {.family = family, .seen.stride = sizeof(struct hn_hash)};
    if (node == NULL || hn_failed(reader->err))
        return;
    family->sizes = hn_need(HN_FAMILY_SIZES_MOST, sizeof *family->sizes);
    family->weights = hn_need(HN_FAMILY_SIZES_MOST, sizeof *family->weights);
    const struct hn_yaml *item = node->kind == HN_YAML_SEQUENCE ? node->child : NULL;
    for (; item != NULL && !hn_failed(reader->err); item = item->next)
        read_size(reader, item, &list);
    if (node->kind != HN_YAML_SEQUENCE)
        read_file(reader, node, &list);
    hn_keys_finish(&list.seen);
}

void hn_config_read_family(struct hn_reader *reader)
{
    static const char *const goals[] = {"mean", "worst"};
    static const char *const own_keys[] = {"where",          "sizes", "goal", "defaults", "ladder",
                                           "configurations", "bytes", "loss", "weight"};
    const struct hn_yaml *node = hn_yaml_get(reader->root, "family");
    if (node == NULL ||
        !hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping of problem values"))
        return;
    struct hn_blocks *blocks = &reader->config->blocks;
    struct hn_family *family = hn_need_block(blocks, 1, sizeof *family);
    reader->config->family = family;
    const struct hn_yaml *weight = hn_yaml_get(node, "weight");
    if (weight != NULL)
        hn_config_fail(reader, weight->key, "'weight' is no name of a value: sizes have weights");
    family->values = hn_need_block(blocks, node->count, sizeof *family->values);
    for (const struct hn_yaml *child = node->child; child != NULL && !hn_failed(reader->err);
         child = child->next)
        if (!hn_text_is_among(child->key->text, own_keys, sizeof own_keys / sizeof *own_keys))
            read_family_value(reader, child, &family->values[family->value_count++]);
    if (family->value_count == 0)
        hn_config_fail(reader, node,
                       "found no problem values, expected at least one, as M: {range: [1, 4096]}");
    const struct hn_yaml *where = hn_yaml_get(node, "where");
    const struct hn_yaml *item = hn_config_list(reader, where, "a list of expressions");
    struct hn_scope scope = make_scope(blocks, family);
    family->where = hn_need_block(blocks, hn_config_count(where), sizeof *family->where);
    for (; item != NULL && hn_config_expect_kind(reader, item, HN_YAML_SCALAR, "an expression");
         item = item->next)
        hn_config_read_condition(reader, item, NULL, &scope, &family->where[family->where_count++]);
    family->worst = hn_config_read_choice(reader, hn_yaml_get(node, "goal"), goals, 2) == 1;
    _Static_assert(HN_FAMILY_CONFIGURATIONS_MOST == 255, "as the message says");
    family->configurations = HN_FAMILY_CONFIGURATIONS;
    hn_config_read_whole(reader, hn_yaml_get(node, "configurations"), 1,
                         HN_FAMILY_CONFIGURATIONS_MOST, "a whole number from 1 to 255",
                         &family->configurations);
    hn_config_read_whole(reader, hn_yaml_get(node, "bytes"), 1, INT64_MAX,
                         "a whole number of at least 1", &family->bytes);
    read_loss(reader, hn_yaml_get(node, "loss"), family);
    read_sizes(reader, hn_yaml_get(node, "sizes"), family);
}
