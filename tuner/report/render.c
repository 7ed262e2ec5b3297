/* SPDX-License-Identifier: MIT */
#include "tuner/report/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cache/record/identity.h"
#include "cache/record/record.h"
#include "cache/record/record_json.h"
#include "tuner/report/format.h"
#include "tuner/report/table.h"

/* What the paths of a line lead through. */
struct place {
    const json_t *document;
    const json_t *item;
    size_t number;
    const char *star; /* NULL: none */
    const char *name; /* of a member */
};

json_t *hn_render_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *hn_render_names(char *const *names, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(names[i]));
    return array;
}

static const json_t *find(const struct place *place, const char *path, size_t length)
{
    const json_t *value = place->item;
    const char *end = path + length;
    if (length > 0 && *path == '/') {
        value = place->document;
        path++;
    }
    while (path < end && value != NULL) {
        size_t step = strcspn(path, ".");
        step = path + step > end ? (size_t)(end - path) : step;
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)step, path);
        bool star = place->star != NULL && strcmp(name, "*") == 0;
        value = json_object_get(value, star ? place->star : name);
        path += step + 1;
    }
    return value;
}

/* Of an array its length; NaN: it is no number. */
static double number_of(const json_t *value)
{
    double real = NAN;
    if (json_is_number(value))
        return json_number_value(value);
    if (json_is_boolean(value))
        return json_is_true(value);
    if (json_is_array(value))
        return (double)json_array_size(value);
    return json_is_object(value) && hn_real_from_json(value, &real) ? real : (double)NAN;
}

/* A number, a path, or several of both. */
static double evaluate(const struct place *place, const char *terms, size_t length)
{
    const char *end = terms + length;
    double result = 0;
    char sign = '+';
    if (length == 0)
        return number_of(place->item);
    for (bool first = true; terms < end; first = false) {
        size_t size = 1;
        while (terms + size < end && strchr("+-*/", terms[size]) == NULL)
            size++;
        double term = *terms == '#'                    ? (double)place->number
                      : *terms >= '0' && *terms <= '9' ? hn_c_strtod(terms, NULL)
                                                       : number_of(find(place, terms, size));
        /* Of a sum what is not there is nothing. */
        term = isnan(term) && !first && (sign == '+' || sign == '-') ? 0 : term;
        result = sign == '+'   ? result + term
                 : sign == '-' ? result - term
                 : sign == '*' ? result * term
                               : result / term;
        terms += size;
        sign = terms < end ? *terms++ : '\0';
    }
    return result;
}

static bool is_missing(const json_t *value)
{
    return value == NULL || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static void append_value(struct hn_text *text, const json_t *json);

static void append_list(struct hn_text *text, const json_t *items, const char *separator,
                        size_t most)
{
    for (size_t i = 0; i < json_array_size(items) && i < most; i++) {
        hn_text_append(text, i > 0 ? separator : "");
        append_value(text, json_array_get(items, i));
    }
}

static void append_value(struct hn_text *text, const json_t *json)
{
    struct hn_value value;
    const char *name;
    json_t *item;
    if (json_is_string(json)) {
        hn_text_append(text, json_string_value(json));
    } else if (json_is_array(json)) {
        append_list(text, json, ", ", SIZE_MAX);
    } else if (hn_value_from_json(json, &value, NULL) == HN_OK) {
        hn_value_append(text, &value);
    } else {
        const char *separator = "";
        json_object_foreach((json_t *)(uintptr_t)json, name, item)
        {
            hn_text_printf(text, "%s%s=", separator, name);
            append_value(text, item);
            separator = ",";
        }
    }
}

static bool append_counts(struct hn_text *text, const json_t *counts)
{
    bool any = false;
    for (int i = 0; i < HN_OUTCOME_COUNT; i++) {
        const char *name = hn_outcome_name((enum hn_outcome)i);
        const json_t *count = json_object_get(counts, name);
        if (count == NULL)
            continue;
        hn_text_printf(text, "%s%lld %s", any ? ", " : "", (long long)json_integer_value(count),
                       name);
        any = true;
    }
    return any;
}

static bool append_meanings(struct hn_text *text, const json_t *counts)
{
    bool any = false;
    for (int i = HN_OUTCOME_OK + 1; i < HN_OUTCOME_COUNT; i++) {
        enum hn_outcome outcome = (enum hn_outcome)i;
        if (json_object_get(counts, hn_outcome_name(outcome)) == NULL)
            continue;
        hn_text_printf(text, "%s%s: %s", any ? "; " : "", hn_outcome_name(outcome),
                       hn_outcome_meaning(outcome));
        any = true;
    }
    return any;
}

static bool append_interval(struct hn_text *text, const json_t *json, bool with_time)
{
    char shown[HN_FORMAT_SIZE];
    const struct hn_timing timing = {
        .median_us = number_of(json_object_get(json, "median_us")),
        .low_us = number_of(json_object_get(json, "low_us")),
        .high_us = number_of(json_object_get(json, "high_us")),
    };
    (with_time ? hn_format_timing : hn_format_spread)(&timing, shown);
    hn_text_append(text, shown);
    return json != NULL;
}

static bool append_timing(struct hn_text *text, const json_t *json)
{
    return append_interval(text, json, true);
}

static bool append_spread(struct hn_text *text, const json_t *json)
{
    return append_interval(text, json, false);
}

static bool append_regime(struct hn_text *text, const json_t *regime)
{
    char shown[HN_FORMAT_SIZE];
    hn_format_regime(json_string_value(regime), shown);
    hn_text_append(text, shown);
    return true;
}

static bool append_origin(struct hn_text *text, const json_t *json)
{
    struct hn_origin origin = {.imported = number_of(json_object_get(json, "imported"))};
    snprintf(origin.machine, sizeof origin.machine, "%s",
             json_string_value(json_object_get(json, "machine")));
    snprintf(origin.source, sizeof origin.source, "%s",
             json_string_value(json_object_get(json, "source")));
    hn_origin_append(text, &origin);
    return true;
}

/* The first of an array, and how many more there are. */
static bool append_few(struct hn_text *text, const json_t *values)
{
    enum { SHOWN = 12 };
    append_list(text, values, ", ", SHOWN);
    if (json_array_size(values) > SHOWN)
        hn_text_printf(text, ", ... (%zu more)", json_array_size(values) - SHOWN);
    return true;
}

static bool append_words(struct hn_text *text, const json_t *words)
{
    append_list(text, words, " ", SIZE_MAX);
    return true;
}

/* Places of an array, counted from 1. */
static bool append_places(struct hn_text *text, const json_t *places)
{
    size_t i;
    json_t *place;
    json_array_foreach(places, i, place)
    {
        hn_text_printf(text, "%s%lld", i > 0 ? ", " : "", (long long)json_integer_value(place) + 1);
    }
    return true;
}

/* Units of a GPU that do something to speak of. */
static bool append_busy(struct hn_text *text, const json_t *units)
{
    const double least = 0.05;
    const char *name, *separator = "";
    json_t *share;
    json_object_foreach((json_t *)(uintptr_t)units, name, share)
    {
        if (number_of(share) < least)
            continue;
        hn_text_printf(text, "%s%s %d%%", separator, name, hn_format_percent(number_of(share)));
        separator = ", ";
    }
    return true;
}

static void format_date(double seconds, char text[HN_FORMAT_SIZE])
{
    const time_t moment = (time_t)seconds;
    struct tm utc;
    if (gmtime_r(&moment, &utc) == NULL || strftime(text, HN_FORMAT_SIZE, "%Y-%m-%d", &utc) == 0)
        snprintf(text, HN_FORMAT_SIZE, "?");
}

static void format_ending(double count, char text[HN_FORMAT_SIZE])
{
    snprintf(text, HN_FORMAT_SIZE, "%s", count == 1 ? "" : "s");
}

static void format_percent(double share, char text[HN_FORMAT_SIZE])
{
    snprintf(text, HN_FORMAT_SIZE, "%d%%", hn_format_percent(share));
}

static void format_merit(double merit, char text[HN_FORMAT_SIZE])
{
    snprintf(text, HN_FORMAT_SIZE, "%.*f", fabs(merit) >= 100 ? 0 : 2, merit);
}

/* Operations a byte: two digits, or all of a whole number. */
static void format_intensity(double intensity, char text[HN_FORMAT_SIZE])
{
    snprintf(text, HN_FORMAT_SIZE, intensity < 10 ? "%.2g" : "%.0f", intensity);
}

static const struct {
    const char *name;
    void (*number)(double, char[HN_FORMAT_SIZE]);
    bool (*value)(struct hn_text *, const json_t *);
} formats[] = {
    {"s", format_ending, NULL},
    {"date", format_date, NULL},
    {"time", hn_format_time, NULL},
    {"duration", hn_format_duration, NULL},
    {"bytes", hn_format_bytes, NULL},
    {"energy", hn_format_energy, NULL},
    {"percent", format_percent, NULL},
    {"merit", format_merit, NULL},
    {"intensity", format_intensity, NULL},
    {"regime", NULL, append_regime},
    {"origin", NULL, append_origin},
    {"timing", NULL, append_timing},
    {"spread", NULL, append_spread},
    {"few", NULL, append_few},
    {"words", NULL, append_words},
    {"places", NULL, append_places},
    {"busy", NULL, append_busy},
    {"counts", NULL, append_counts},
    {"meanings", NULL, append_meanings},
};

/* ".1f", "+.2%" */
static void append_number(struct hn_text *text, double number, const char *format, size_t length)
{
    char own[16];
    bool share = format[length - 1] == '%';
    snprintf(own, sizeof own, "%%%.*s%s", (int)(share ? length - 1 : length), format,
             share ? "f%%" : "");
    hn_text_printf(text, own, share ? number * 100 : number);
}

/* False where the value is missing. */
static bool append_formatted(struct hn_text *text, const struct place *place, const char *path,
                             size_t length, const char *format, size_t size)
{
    char shown[HN_FORMAT_SIZE];
    size_t f = 0;
    const size_t count = sizeof formats / sizeof *formats;
    while (f < count &&
           (strlen(formats[f].name) != size || memcmp(formats[f].name, format, size) != 0))
        f++;
    if (f < count && formats[f].value != NULL) {
        const json_t *value = find(place, path, length);
        return !is_missing(value) && formats[f].value(text, value);
    }
    double number = evaluate(place, path, length);
    if (isnan(number))
        return false;
    if (f == count) {
        append_number(text, number, format, size);
        return true;
    }
    formats[f].number(number, shown);
    hn_text_append(text, shown);
    return formats[f].number != hn_format_energy || shown[0] != '\0';
}

/* "path", "path=word,word", "path>number" */
static bool holds(const struct place *place, const char *test, size_t length)
{
    bool contrary = *test == '!';
    test += contrary;
    length -= contrary;
    size_t left = strcspn(test, "=<>}");
    bool found = false;
    if (left == length) {
        const json_t *value = find(place, test, length);
        found = !is_missing(value) && number_of(value) != 0;
    } else if (test[left] == '=') {
        const char *value = json_string_value(find(place, test, left));
        const char *word = test + left + 1;
        if (value == NULL)
            return (evaluate(place, test, left) == evaluate(place, word, length - left - 1)) !=
                   contrary;
        while (!found && word < test + length) {
            size_t size = strcspn(word, ",}");
            found = strlen(value) == size && memcmp(value, word, size) == 0;
            word += size + 1;
        }
    } else {
        double number = evaluate(place, test, left);
        double other = evaluate(place, test + left + 1, length - left - 1);
        found = test[left] == '<' ? number < other : number > other;
    }
    return found != contrary;
}

static bool append_padded(struct hn_text *text, const struct place *place, const char *field,
                          size_t length, size_t width);

/* What stands between braces. */
static bool append_field(struct hn_text *text, const struct place *place, const char *field,
                         size_t length)
{
    if (*field == '?')
        return holds(place, field + 1, length - 1);
    const char *colon = memchr(field, ':', length);
    if (colon != NULL && colon[1] == '<')
        return append_padded(text, place, field, (size_t)(colon - field),
                             strtoul(colon + 2, NULL, 10));
    if (colon != NULL)
        return append_formatted(text, place, field, (size_t)(colon - field), colon + 1,
                                length - (size_t)(colon - field) - 1);
    if (*field == '#')
        hn_text_printf(text, "%zu", place->number);
    if (*field == '@')
        hn_text_append(text, place->name);
    if (*field == '#' || *field == '@')
        return true;
    const json_t *value = find(place, field, length);
    if (is_missing(value))
        return false;
    append_value(text, value);
    return true;
}

/* A format that says how wide the value is at least. */
static bool append_padded(struct hn_text *text, const struct place *place, const char *field,
                          size_t length, size_t width)
{
    size_t before = text->length;
    if (!append_field(text, place, field, length))
        return false;
    size_t shown = hn_terminal_width(text->data + before, text->length - before);
    hn_text_printf(text, "%*s", shown < width ? (int)(width - shown) : 0, "");
    return true;
}

static bool append_alternatives(struct hn_text *text, const struct place *place, const char **line);

/* Up to what ends the part. False where it is left out: then nothing was appended. */
static bool append_part(struct hn_text *text, const struct place *place, const char **line)
{
    size_t began = text->length;
    bool whole = true;
    const char *at = *line;
    while (*at != '\0' && *at != ']' && *at != '|') {
        size_t plain = strcspn(at, "{[]|");
        hn_text_append_bytes(text, at, plain);
        at += plain;
        if (*at == '{') {
            size_t length = strcspn(++at, "}");
            whole = append_field(text, place, at, length) && whole;
            at += length + 1;
        } else if (*at == '[') {
            at++;
            (void)append_alternatives(text, place, &at);
        }
    }
    *line = at;
    if (!whole && text->data != NULL)
        text->data[text->length = began] = '\0';
    return whole;
}

/* Up to the bracket that closes them. */
static bool append_alternatives(struct hn_text *text, const struct place *place, const char **line)
{
    bool chosen = false;
    while (**line != '\0' && **line != ']') {
        struct hn_text ignored = {0};
        chosen = append_part(chosen ? &ignored : text, place, line) || chosen;
        hn_text_finish(&ignored);
        *line += **line == '|';
    }
    *line += **line == ']';
    return chosen;
}

static bool append_line(struct hn_text *text, const struct place *place, const char *line)
{
    return append_part(text, place, &line);
}

bool hn_render_line(struct hn_text *text, const json_t *document, const char *line)
{
    const struct place place = {.document = document, .item = document};
    return append_line(text, &place, line);
}

static void print_line(const struct hn_view *view, const struct place *place, FILE *file)
{
    struct hn_text text = {0};
    bool breaks = view->wraps || (file == stdout && isatty(STDOUT_FILENO) != 0);
    size_t columns = breaks ? hn_terminal_columns(file) : SIZE_MAX;
    if (append_line(&text, place, view->line)) {
        char *line = hn_needed(hn_text_take(&text));
        for (char *at = line, *end; at != NULL;
             at = end != NULL && end[1] != '\0' ? end + 1 : NULL) {
            end = strchr(at, '\n');
            if (end != NULL)
                *end = '\0';
            size_t indent = breaks ? strspn(at, " ") : 0;
            if (breaks && at[indent] != '\0')
                hn_terminal_print(file, indent, columns, at + indent);
            else
                fprintf(file, "%s\n", at);
        }
        free(line);
    }
    hn_text_finish(&text);
}

/* The cells of a column; whether one of them says something. */
static bool fill_column(const struct place *place, const json_t *rows, size_t count,
                        const char *line, char **cells, size_t step)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        struct hn_text text = {0};
        const struct place row = {place->document, json_array_get(rows, i), i + 1, place->star,
                                  NULL};
        (void)append_line(&text, &row, line);
        cells[i * step] = hn_needed(hn_text_take(&text));
        any = any || cells[i * step][0] != '\0';
    }
    return any;
}

static void print_table(const struct hn_view *view, const json_t *document, FILE *file)
{
    const struct place place = {.document = document, .item = document};
    const json_t *rows = find(&place, view->at, strlen(view->at));
    const json_t *stars = json_object_get(document, "parameters");
    size_t count = json_array_size(rows), room = json_array_size(stars), used = 0;
    count = view->most > 0 && count > view->most ? view->most : count;
    for (const struct hn_column *column = view->columns; column->heading != NULL; column++)
        room++;
    struct hn_table *table = hn_table_create((const char *const[]){NULL});
    char **cells = hn_need(count * room, sizeof *cells);
    for (const struct hn_column *column = view->columns; column->heading != NULL; column++) {
        bool star = strcmp(column->heading, "=*") == 0, may_go = column->heading[0] == '?';
        for (size_t s = 0; s < (star ? json_array_size(stars) : 1); s++) {
            struct place at = place;
            struct hn_text heading = {0};
            at.star = star ? json_string_value(json_array_get(stars, s)) : NULL;
            if (!fill_column(&at, rows, count, column->cell, cells + used, room) && may_go) {
                for (size_t i = 0; i < count; i++)
                    free(cells[i * room + used]);
                continue;
            }
            (void)append_line(&heading, &place, star ? at.star : column->heading + may_go);
            hn_table_column(table, star ? "=" : "", heading.data != NULL ? heading.data : "");
            hn_text_finish(&heading);
            used++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < used; c++) {
            hn_table_cell(table, "%s", cells[i * room + c]);
            free(cells[i * room + c]);
        }
    }
    if (view->tied != NULL)
        hn_table_highlight(table, (size_t)evaluate(&place, view->tied, strlen(view->tied)));
    if (count > 0)
        hn_table_print(table, file, view->indent);
    hn_table_destroy(table);
    free(cells);
}

/* Of each item of an array, or member of an object. */
static void print_items(const struct hn_view *view, const json_t *document, FILE *file)
{
    struct place place = {.document = document, .item = document};
    size_t length = strcspn(view->at, "*"), i;
    const json_t *items = find(&place, view->at, length - (view->at[length] == '*'));
    json_t *item;
    if (view->at[length] == '*') {
        json_object_foreach((json_t *)(uintptr_t)items, place.name, place.item)
        {
            print_line(view, &place, file);
        }
    } else if (json_is_object(items)) {
        place.item = items;
        print_line(view, &place, file);
    }
    json_array_foreach(items, i, item)
    {
        if (view->most > 0 && i == view->most)
            break;
        place.item = item;
        place.number = i + 1;
        print_line(view, &place, file);
    }
}

void hn_render(const json_t *document, const struct hn_view *views, FILE *file)
{
    const struct place place = {.document = document, .item = document};
    for (; views->line != NULL || views->columns != NULL; views++) {
        if (views->columns != NULL)
            print_table(views, document, file);
        else if (views->at != NULL)
            print_items(views, document, file);
        else
            print_line(views, &place, file);
    }
}
