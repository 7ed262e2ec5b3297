/* SPDX-License-Identifier: MIT */
#include "tests/unit/store_fixture.h"

#include "tuner/server/server.h"
#include "tuner/server/session_row.h"

EACH_TEST(set_up, tear_down)

TEST(no_name_has_a_password)
{
    static const struct {
        const char *uri;
        const char *name;
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
    struct hn_libpq pq;
    const bool has_libpq = hn_libpq_open(&pq, NULL) == HN_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name = hn_server_name(cases[i].uri);
        assert_true(hn_store_is_server(cases[i].uri));
        assert_string_equal(name, has_libpq ? cases[i].name : HN_SERVER_HIDDEN);
        free(name);
    }
    hn_libpq_close(&pq);
    assert_false(hn_store_is_server("postgresql.db"));
    assert_false(hn_store_is_server("/postgresql://"));
}

/* A session of the cache as a row, and back. */
static json_t *row_of(struct fixture *fixture)
{
    struct hn_store_head head;
    struct hn_session_row row;
    struct hn_store *store = open_store(fixture->path, HN_STORE_WRITE);
    int64_t session = begin_at(store, &version_1, 4096, false, 1700000000.125);
    assert_int_equal(hn_store_get_head(store, session, &head, NULL), HN_OK);
    assert_int_equal(hn_session_row_make("1234", &head, NULL, &row, NULL), HN_OK);
    json_t *json = hn_session_row_to_json(&row);
    assert_non_null(json);
    hn_session_row_finish(&row);
    hn_store_close(store);
    return json;
}

TEST(a_row_reads_as_it_was_written)
{
    struct hn_session_row row;
    struct hn_identity identity;
    struct hn_error err = {0};
    json_t *json = row_of(*state);
    assert_int_equal(hn_session_row_read(json, &row, &err), HN_OK);
    make_identity(&identity, 4096);
    assert_true(hn_identity_equal(&row.head.identity, &identity));
    assert_true(hn_version_equal(&row.head.version, &version_1));
    assert_string_equal(row.origin, "1234");
    assert_string_equal(row.problem, "M=4096");
    assert_true(row.head.started > 1700000000 && row.head.started < 1700000001);
    assert_null(row.plan);
    hn_identity_finish(&identity);
    hn_session_row_finish(&row);
    json_decref(json);
}

TEST(a_changed_row_is_refused)
{
    static const char *const texts[] = {"kernel",  "problem", "device",   "driver", "origin",
                                        "command", "machine", "checksum", "subject"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int missing = 0; missing < 2; missing++) {
            struct hn_session_row row;
            struct hn_error err = {0};
            json_t *json = row_of(*state);
            json_object_set_new(json, texts[i], missing ? json_null() : json_string("K=1"));
            assert_int_equal(hn_session_row_read(json, &row, &err), HN_EFORMAT);
            assert_int_not_equal(err.message[0], 0);
            hn_session_row_finish(&row);
            json_decref(json);
        }
}
