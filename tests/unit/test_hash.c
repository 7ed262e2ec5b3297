/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include "tests/unit/unit.h"

/* The value that the xxHash specification gives for empty input with seed 0. A changed hash would
 * orphan caches. */
TEST(empty_input_has_the_published_value)
{
    struct hn_hash hash = hn_hash_string("");
    assert_string_equal(hash.hex, "99aa06d3014798d86001c324468d497f");
}

TEST(string_and_bytes_agree)
{
    struct hn_hash a = hn_hash_string("extern \"C\"");
    struct hn_hash b = hn_hash_bytes("extern \"C\"", 10);
    struct hn_hash c = hn_hash_bytes("extern \"C\"", 9);
    assert_string_equal(a.hex, b.hex);
    assert_string_not_equal(a.hex, c.hex);
}

TEST(join_depends_on_the_order)
{
    struct hn_hash a = hn_hash_string("a");
    struct hn_hash b = hn_hash_string("b");
    struct hn_hash ab = hn_hash_join(&a, &b);
    struct hn_hash ba = hn_hash_join(&b, &a);
    assert_string_not_equal(ab.hex, ba.hex);
    struct hn_hash again = hn_hash_join(&a, &b);
    assert_string_equal(ab.hex, again.hex);
}
