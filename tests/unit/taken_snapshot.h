/* A folder that snapshots are taken into, and what is read from them. */
#ifndef TREADLE_TEST_TAKEN_SNAPSHOT_H
#define TREADLE_TEST_TAKEN_SNAPSHOT_H

#include "native/ledger/ledger_reader.h"
#include "native/snapshot/snapshot.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static char folder[] = "/tmp/treadle-snapshot-XXXXXX";
static char target[128]; /* in the folder */

static inline int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(target, sizeof target, "%s/x.ledger", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    const struct dirent *entry = NULL;
    DIR *dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        (void)closedir(dir);
    return rmdir(folder);
}

static inline struct ledger_reader *open_snapshot(const char *path)
{
    char message[256] = "";
    struct ledger_reader *reader = ledger_reader__open(path, message, sizeof message);
    if (reader == NULL)
        fail_msg("%s", message);
    assert_int_equal(ledger_reader__life(reader), LEDGER_IS_CLOSED);
    if (ledger_reader__skipped(reader) > 0)
        fail_msg("%s", ledger_reader__skipped_where(reader));
    return reader;
}

#endif
