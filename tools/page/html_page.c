#include "tools/page/html_page.h"

#include <string.h>

/* Puts a file into this program, between SYMBOL and SYMBOL_end. The bundles' paths are defined by
 * the build, see tools/html/CMakeLists.txt. A build without npm has ones that begin with a line
 * "missing: …". */
#define EMBED(symbol, path)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            ".globl " symbol "\n"                                                                  \
            ".hidden " symbol "\n" symbol ":\n"                                                    \
            ".incbin \"" path "\"\n"                                                               \
            ".globl " symbol "_end\n"                                                              \
            ".hidden " symbol "_end\n" symbol "_end:\n"                                            \
            ".byte 0\n"                                                                            \
            ".previous\n")

EMBED("treadle_html_page", TREADLE_HTML_PAGE);
EMBED("treadle_timeline_page", TREADLE_TIMELINE_PAGE);

extern const char treadle_html_page[];
extern const char treadle_html_page_end[];
extern const char treadle_timeline_page[];
extern const char treadle_timeline_page_end[];

static const char missing_mark[] = "missing: ";
static const char gap[] = "<!--the ledger-->";

static bool split(struct html_page *page, const char *begin, const char *end, const char **missing)
{
    const char *at = memmem(begin, (size_t)(end - begin), gap, sizeof(gap) - 1);

    if (!at) {
        bool says = strncmp(begin, missing_mark, sizeof(missing_mark) - 1) == 0;

        *missing = says ? begin + sizeof(missing_mark) - 1 : "a page without a gap";
        return false;
    }
    page->before = begin;
    page->before_bytes = (size_t)(at - begin);
    page->after = at + sizeof(gap) - 1;
    page->after_bytes = (size_t)(end - page->after);
    return true;
}

bool html_page__get(struct html_page *page, const char **missing)
{
    return split(page, treadle_html_page, treadle_html_page_end, missing);
}

bool html_page__get_timeline(struct html_page *page, const char **missing)
{
    return split(page, treadle_timeline_page, treadle_timeline_page_end, missing);
}
