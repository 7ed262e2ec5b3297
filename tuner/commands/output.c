/* SPDX-License-Identifier: MIT */
#include "tuner/commands/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const char not_written[] = "cannot write to standard output";
static int first_errno; /* of a write to it that failed, for who asks at the end; 0: none has */

/* A stream that text goes through. */
struct filter {
    int fd;
    bool has_c2; /* the first byte of a character from U+0080 to U+00BF came, and waits for the
                    second */
};

/* Appends the text that is shown for a byte: 8 bytes at most. Control bytes are those of ASCII but
 * for newline and tab, and U+0080 to U+009F. */
static size_t append_shown(struct filter *filter, unsigned char byte, char *to)
{
    size_t length = 0;
    bool second = filter->has_c2 && byte >= 0x80 && byte < 0xa0;
    if (second)
        length = (size_t)sprintf(to, "\\xc2");
    else if (filter->has_c2)
        to[length++] = (char)0xc2;
    filter->has_c2 = byte == 0xc2;
    if (filter->has_c2)
        return length;
    if (second || (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
        return length + (size_t)sprintf(to + length, "\\x%02x", byte);
    to[length++] = (char)byte;
    return length;
}

/* As fopencookie wants it: 0 is an error. */
static ssize_t write_text(void *cookie, const char *text, size_t size)
{
    enum { ROOM = 16 };
    char shown[1024];
    size_t length = 0;
    struct filter *filter = cookie;
    for (size_t i = 0; i < size; i++) {
        length += append_shown(filter, (unsigned char)text[i], shown + length);
        if (length + ROOM <= sizeof shown && i + 1 < size)
            continue;
        if (!hn_file_write_all(filter->fd, shown, length)) {
            if (filter->fd == STDOUT_FILENO && first_errno == 0)
                first_errno = errno;
            return 0;
        }
        length = 0;
    }
    return (ssize_t)size;
}

/* Without memory for it the stream stays as it was. */
static void put_filter(FILE **stream, struct filter *filter, int mode)
{
    FILE *filtered = fopencookie(filter, "w", (cookie_io_functions_t){.write = write_text});
    if (filtered == NULL)
        return;
    setvbuf(filtered, NULL, mode, BUFSIZ);
    *stream = filtered;
}

static const char *reason(void)
{
    int error = first_errno != 0 ? first_errno : errno;
    return error == EBADF ? "it is closed" : strerror(error);
}

/* NULL: no document is promised, or one was begun. */
static const char *promised;

void hn_output_data(const void *bytes, size_t size, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    promised = NULL;
    if (fflush(stdout) != 0 || !hn_file_write_all(STDOUT_FILENO, bytes, size))
        hn_fail(err, HN_ERUN, "%s: %s", not_written, reason());
}

/* Indented, with a newline at the end. document may be NULL: what jansson could not make of the
 * results. */
static void print_json(const json_t *document, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    char *text HN_FREED = json_dumps(document, JSON_INDENT(1));
    if (text == NULL) {
        hn_fail(err, HN_ERUN,
                "the results cannot be said in JSON: a name is not UTF-8, a number is not "
                "finite, or there is not enough memory");
        return;
    }
    hn_output_data(text, strlen(text), err);
    hn_output_data("\n", 1, err);
}

/* --help and wrong usage end a program within argp. */
static void check_output(int status, void *unused)
{
    (void)unused;
    if (status != EXIT_SUCCESS && promised != NULL) {
        const char *message = promised[0] != '\0' ? promised : "wrong usage; see standard error";
        json_auto_t *error =
            json_pack("{s:{s:i, s:s}}", "error", "code", status, "message", message);
        struct hn_error ignored = {.status = HN_OK};
        print_json(error, &ignored);
    }
    if (status != EXIT_SUCCESS || (fflush(stdout) == 0 && !ferror(stdout)))
        return;
    fprintf(stderr, "hone: %s: %s\n", not_written, reason());
    _exit(EXIT_FAILURE);
}

void hn_output_init(const char *json_message)
{
    static struct filter filters[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
    promised = json_message;
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    put_filter(&stdout, &filters[0], isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    put_filter(&stderr, &filters[1], _IONBF);
    on_exit(check_output, NULL);
}

bool hn_output_write(const struct hn_options *options, const struct hn_text *text,
                     const char *not_shown, struct hn_error *err)
{
    if (hn_failed(err))
        return false;
    if (options->output != NULL && strcmp(options->output, "-") != 0)
        return hn_file_write(options->output, text->data, text->length, err) == HN_OK &&
               !options->quiet;
    if (not_shown != NULL && isatty(STDOUT_FILENO))
        hn_fail(err, HN_EUSAGE, "%s: name a file with -o", not_shown);
    hn_output_data(text->data, text->length, err);
    return false;
}

void hn_show(struct hn_given *given, json_t *document, const struct hn_view *views)
{
    if (!given->options->json)
        hn_render(hn_needed(document), views, stdout);
    fflush(stdout);
    json_array_append_new(given->results, hn_needed(document));
}

void hn_show_results(const struct hn_given *given, struct hn_error *err)
{
    if (given->options->json)
        print_json(given->results, err);
}

void hn_show_alone(const struct hn_given *given, json_t *document, const struct hn_view *views,
                   struct hn_error *err)
{
    if (given->options->json)
        print_json(document, err);
    else if (views != NULL)
        hn_render(hn_needed(document), views, stdout);
    json_decref(document);
}
