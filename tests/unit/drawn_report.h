/*
 * What the tests of the report share. Include cmocka.h first.
 */
#ifndef TREADLE_TESTS_DRAWN_REPORT_H
#define TREADLE_TESTS_DRAWN_REPORT_H

#include "tests/ledger_drawing.h"
#include "tools/report/report_model.h"

/* The whole of a ledger, read as a snapshot. */
static inline struct report_model *drawn__load(struct drawing *drawing)
{
    char message[512] = "";
    drawing->ledger.header->state = LEDGER_CLOSED;
    struct ledger_reader *reader =
        ledger_reader__open_fd(drawing->ledger.fd, "drawing", message, sizeof(message));
    assert_string_equal(message, "");
    struct report_model *model = report_model__load(reader, ~UINT64_C(0));
    ledger_reader__close(reader);
    return model;
}

static inline ledger_ref drawn__method(struct drawing *drawing, const char *name)
{
    return drawing__method(drawing, "T", name, "()V");
}

static inline uint32_t drawn__index_of(const struct report_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->method_count; i++)
        if (strcmp(model->methods[i].name.bytes, name) == 0)
            return i;
    fail_msg("no method %s", name);
    return 0;
}

/*
 *            calls base cum
 * t (thread)         1  151
 *   a            1  10  150
 *     b          2  20  140
 *       a        3  30   70
 *         b      4  40   40
 *       c        5  50   50
 */
static inline void drawn__mutual_recursion(struct drawing *drawing)
{
    drawing__begin(drawing, 1u << 20);
    ledger_ref a = drawn__method(drawing, "a");
    ledger_ref b = drawn__method(drawing, "b");
    ledger_ref c = drawn__method(drawing, "c");
    ledger_ref thread = drawing__thread(drawing, "t", THREAD_PLATFORM, 1);
    ledger_ref a1 = drawing__call(drawing, drawing__root(drawing, thread), a, 1, 10);
    ledger_ref b1 = drawing__call(drawing, a1, b, 2, 20);
    ledger_ref a2 = drawing__call(drawing, b1, a, 3, 30);
    drawing__call(drawing, a2, b, 4, 40);
    drawing__call(drawing, b1, c, 5, 50);
}

#endif
