/* SPDX-License-Identifier: MIT */
#include "tests/unit/store_fixture.h"

#include <dlfcn.h>

#include "tuner/server/server_internal.h"

EACH_TEST(set_up, tear_down)

TEST(no_name_has_a_password)
{
    static const struct {
        const char *uri, *name;
    } cases[] = {
        {"postgresql://host/site", "postgresql://host/site"},
        {"postgres://ada:secret@host:5433/site", "postgresql://ada@host:5433/site"},
        {"postgresql://ada:secret@a:1,b:2/site", "postgresql://ada@/site?host=a,b&port=1,2"},
        {"postgresql://ada:se?cret@[::1]:5433/site", "postgresql://ada@/site?host=::1&port=5433"},
        {"postgresql://ada:se%40c%2Fret@", "postgresql://ada@/"},
        {"postgresql:///site?host=/run&password=secret", "postgresql:///site?host=/run"},
        {"postgresql:///site?host=/run&pass%77ord=secret", "postgresql:///site?host=/run"},
        {"postgresql://h?password=secret&sslmode=require", "postgresql://h/"},
        {"postgresql://h/site?sslpassword=secret&user=ada", "postgresql://ada@h/site"},
        {"postgresql://", "postgresql:///"},
        /* libpq takes these otherwise than they were meant, or not at all. */
        {"postgresql://ada:se@cret@a,b/site", HN_SERVER_HIDDEN},
        {"postgresql://ada:se/cret@host/site", HN_SERVER_HIDDEN},
        {"postgresql://ada:5/ecret@host/site", HN_SERVER_HIDDEN},
        {"postgresql://ada:secret", HN_SERVER_HIDDEN},
        {"postgresql://ada:se%cret@host/site", HN_SERVER_HIDDEN},
        {"postgresql://host/site?secret", HN_SERVER_HIDDEN},
        {"postgresql:///site?dbname=postgresql://ada:secret@host", HN_SERVER_HIDDEN},
    };
    void *libpq = dlopen("libpq.so.5", RTLD_NOW);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name FREED = hn_server_name(cases[i].uri);
        assert_true(hn_store_is_server(cases[i].uri));
        assert_string_equal(name, libpq != NULL ? cases[i].name : HN_SERVER_HIDDEN);
    }
    if (libpq != NULL)
        dlclose(libpq);
    assert_false(hn_store_is_server("postgresql.db"));
    assert_false(hn_store_is_server("/postgresql://"));
}

/* The head of a session of the cache as a document. */
static json_t *document_of(void)
{
    struct hn_store_head head ENDED_BY(hn_store_head_finish);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin_at(store, &version_1, 4096, false, 1700000000.125);
    assert_ok(hn_store_get_head(store, session, &head, &said));
    json_t *json = hn_fields_to_json(&hn_store_head_structure, &head);
    assert_non_null(json);
    drop(store);
    return json;
}

static enum hn_status read_head(const json_t *json, struct hn_store_head *head,
                                struct hn_error *err)
{
    char *text FREED = json_dumps(json, 0);
    return hn_store_head_from_json(text, head, err);
}

TEST(a_head_reads_as_it_was_written)
{
    struct hn_store_head head ENDED_BY(hn_store_head_finish);
    json_auto_t *json = document_of();
    json_object_set_new(json, "origin", json_string("1234"));
    assert_ok(read_head(json, &head, &said));
    struct hn_identity *identity = identity_of(4096);
    assert_true(hn_identity_equal(&head.identity, identity));
    assert_true(hn_version_equal(&head.version, &version_1));
    assert_string_equal(head.origin, "1234");
    assert_string_equal(head.subject.problem, "M=4096");
    assert_true(head.started > 1700000000 && head.started < 1700000001);
    assert_null(head.plan);
}

TEST(a_head_that_is_none_is_refused)
{
    static const char *const keys[] = {"origin",  "task",   "version",   "started", "command",
                                       "machine", "source", "simulated", "imported"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (int missing = 0; missing < 2; missing++) {
            struct hn_store_head head;
            json_auto_t *json = document_of();
            json_object_set_new(json, keys[i], missing ? json_null() : json_string("\x1b"));
            assert_int_equal(read_head(json, &head, &said), HN_EFORMAT);
            assert_int_not_equal(said.message[0], 0);
        }
}

/* A session and its lines go over to another cache, and what is no line is refused there. */
TEST(documents_are_taken_over)
{
    static const char *const bad[] = {
        "", "{}", "{\"point\": {}}",
        "{\"point\": {\"TILE\": 1}, \"outcome\": \"ok\", \"time\": 9e9}"};
    const char *other = in_folder("other.db");
    struct hn_store_head head ENDED_BY(hn_store_head_finish);
    struct hn_store *from = open_store(other, HN_STORE_WRITE);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin_at(from, &version_1, 4096, false, 0);
    put(from, session, 16, 7);
    put(from, session, 32, 8);
    commit(from);
    assert_ok(hn_store_get_head(from, session, &head, &said));
    assert_int_equal(hn_store_extend(store, head.origin, 0, NULL, 0, &said), HN_ENOTFOUND);
    for (int i = 0; i < 2; i++)
        assert_ok(hn_store_add(store, &head, &said));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hn_store_extend(store, head.origin, 0, &bad[i], 1, &said), HN_EFORMAT);
        assert_int_not_equal(said.message[0], 0);
        assert_int_equal(hn_store_extend(store, head.origin, -1, &bad[i], 1, &said), HN_EFORMAT);
    }
    hn_error_init(&said);
    json_t *lines = keep(hn_store_get_lines(from, session, 0, 10, &said), json_decref);
    assert_int_equal(json_array_size(lines), 2);
    for (size_t i = 0; i < 4; i++) {
        const char *line = json_string_value(json_array_get(lines, i % 2));
        assert_ok(hn_store_extend(store, head.origin, (int64_t)(i % 2), &line, 1, &said));
    }
    assert_int_equal(count_of(store, &version_1, false), 2);
    drop(store);
    drop(from);
}
