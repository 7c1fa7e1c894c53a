#include "tools/page/html_page.h"

#include <string.h>

/* TREADLE_HTML_PAGE is the bundle's path, see tools/html/CMakeLists.txt. A build without npm has
 * one that begins with a line "missing: …". */
__asm__(".section .rodata\n"
        ".globl treadle_html_page\n"
        ".hidden treadle_html_page\n"
        "treadle_html_page:\n"
        ".incbin \"" TREADLE_HTML_PAGE "\"\n"
        ".globl treadle_html_page_end\n"
        ".hidden treadle_html_page_end\n"
        "treadle_html_page_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char treadle_html_page[];
extern const char treadle_html_page_end[];

static const char missing_mark[] = "missing: ";
static const char gap[] = "<!--the ledger-->";

bool html_page__get(struct html_page *page, const char **missing)
{
    size_t bytes = (size_t)(treadle_html_page_end - treadle_html_page);
    const char *at = memmem(treadle_html_page, bytes, gap, sizeof(gap) - 1);

    if (!at) {
        bool says = strncmp(treadle_html_page, missing_mark, sizeof(missing_mark) - 1) == 0;

        *missing = says ? treadle_html_page + sizeof(missing_mark) - 1 : "a page without a gap";
        return false;
    }
    page->before = treadle_html_page;
    page->before_bytes = (size_t)(at - treadle_html_page);
    page->after = at + sizeof(gap) - 1;
    page->after_bytes = (size_t)(treadle_html_page_end - page->after);
    return true;
}
