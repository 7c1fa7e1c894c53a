#include "tools/views/view_blocks.h"

#include "tools/report/quantity.h"

#include <stdlib.h>

char *view_blocks__lock(struct text class_name)
{
    static const struct text unknown = {"(class not known)", 17};

    return text__printable_middle(class_name.length ? class_name : unknown, 80);
}

struct text view_blocks__path(const struct report_model *model, const struct lock_path *path)
{
    struct text_store texts = {0};
    char *joined = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&joined, &length);

    if (!out)
        abort();
    for (uint32_t i = path->path.frames; i-- > 0;) {
        struct text name = report_method__full_name(&texts, &model->methods[path->path.methods[i]]);

        fwrite(name.bytes, 1, name.length, out);
        fputs(i ? " < " : "", out);
    }
    if (path->path.frames == 0)
        fputs("(no method)", out);
    fclose(out);
    text_store__release(&texts);
    return (struct text){joined, length};
}

const char *view_blocks__need(const struct ledger_header *header)
{
    return header->jvm ? "waits=on" : "a JVM";
}

void view_blocks__none(const struct view *view)
{
    if (report_blocks__are_known(&view->model->header))
        fputs("(no waits for locks)\n", view->screen.out);
    else
        fprintf(view->screen.out, "(no waits for locks: they need %s)\n",
                view_blocks__need(&view->model->header));
}

void view_blocks__unheard(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;

    if (header->unheard_waits && report_blocks__are_known(header))
        fprintf(view->screen.out,
                "%s of all waits, for locks or not, are in none of these numbers: the budget had "
                "no room for them (overhead=); those for locks are left out last\n",
                quantity__share(header->unheard_waits, header->heard_waits + header->unheard_waits)
                    .text);
}
