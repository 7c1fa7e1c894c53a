#include "tools/export/sqlite_writer.h"

#include <stdlib.h>
#include <string.h>

void sqlite_writer__note(struct sqlite_writer *writer, int result)
{
    if (writer->result == SQLITE_OK && result != SQLITE_DONE)
        writer->result = result;
}

void sqlite_writer__begin_table(struct sqlite_writer *writer, enum schema_table_id table)
{
    sqlite3_finalize(writer->row);
    writer->row = NULL;
    writer->place = 0;
    if (writer->result == SQLITE_OK)
        sqlite_writer__note(writer,
                            sqlite_schema__prepare_insert(writer->database, table, &writer->row));
}

void sqlite_writer__put_signed(struct sqlite_writer *writer, int64_t value)
{
    if (writer->result == SQLITE_OK)
        sqlite_writer__note(writer, sqlite3_bind_int64(writer->row, ++writer->place, value));
}

void sqlite_writer__put(struct sqlite_writer *writer, uint64_t value)
{
    sqlite_writer__put_signed(writer, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void sqlite_writer__put_null(struct sqlite_writer *writer)
{
    if (writer->result == SQLITE_OK)
        sqlite_writer__note(writer, sqlite3_bind_null(writer->row, ++writer->place));
}

void sqlite_writer__put_index(struct sqlite_writer *writer, uint32_t index)
{
    if (index == REPORT_NONE)
        sqlite_writer__put_null(writer);
    else
        sqlite_writer__put(writer, index);
}

void sqlite_writer__put_text(struct sqlite_writer *writer, struct text text)
{
    char *shown = NULL;
    size_t length = 0;

    if (writer->result != SQLITE_OK)
        return;
    if (!text.bytes)
        text = (struct text){"", 0};
    if (!memchr(text.bytes, '\0', text.length)) {
        sqlite_writer__note(writer, sqlite3_bind_text64(writer->row, ++writer->place, text.bytes,
                                                        text.length, SQLITE_STATIC, SQLITE_UTF8));
        return;
    }
    FILE *out = open_memstream(&shown, &length);
    for (size_t i = 0; out && i < text.length; i++)
        if (text.bytes[i])
            fputc(text.bytes[i], out);
        else
            fputs("\xe2\x90\x80", out);
    bool whole = out && fclose(out) == 0;
    sqlite_writer__note(writer, whole ? sqlite3_bind_text64(writer->row, ++writer->place, shown,
                                                            length, SQLITE_TRANSIENT, SQLITE_UTF8)
                                      : SQLITE_NOMEM);
    free(shown);
}

void sqlite_writer__put_word(struct sqlite_writer *writer, const char *word)
{
    sqlite_writer__put_text(writer, (struct text){word, strlen(word)});
}

void sqlite_writer__end_row(struct sqlite_writer *writer)
{
    writer->place = 0;
    if (writer->result != SQLITE_OK)
        return;
    sqlite_writer__note(writer, sqlite3_step(writer->row));
    sqlite_writer__note(writer, sqlite3_reset(writer->row));
}
