#include "tools/views/view.h"

#include "tools/report/quantity.h"

#include <stdlib.h>
#include <string.h>

static const char *const thread_keys[] = {"cpu",    "name",   "waiting", "start",
                                          "mounts", "pinned", "parked",  NULL};
static const char *const wait_keys[] = {"waiting", "name", "start", NULL};
static const char *const lock_keys[] = {"wait", "hold", "blocked", "count", "max", "class", NULL};
static const char *const edge_keys[] = {"wait", "count", "waiter", "blocker", "lock", NULL};
static const char *const latency_keys[] = {LATENCY_KEYS, NULL};
static const char *const hazard_keys[] = {"kind", NULL};
static const char *const tree_keys[] = {"cum", "base", "calls", "name", NULL};
static const char *const flat_keys[] = {"base", "cum", "calls", "name", NULL};
static const char *const activity_keys[] = {"cum", NULL};
static const char *const chain_keys[] = {CHAIN_KEYS, NULL};
static const char *const sample_keys[] = {"samples", "base", "name", NULL};

const struct view_kind view_kinds[] = {
    {"threads", thread_keys, true, true, false, false, false, false, view_threads__text,
     view_threads__json, view_threads__csv},
    {"waits", wait_keys, true, true, false, false, false, false, view_waits__text, view_waits__json,
     view_waits__csv},
    {"locks", lock_keys, false, true, false, false, false, false, view_locks__text,
     view_locks__json, view_locks__csv},
    {"blockers", edge_keys, false, true, false, false, true, false, view_blockers__text,
     view_blockers__json, view_blockers__csv},
    {"hazards", hazard_keys, false, true, false, false, false, false, view_hazards__text,
     view_hazards__json, view_hazards__csv},
    {"latency", latency_keys, false, false, false, false, false, false, view_latency__text,
     view_latency__json, view_latency__csv},
    {"spawn", tree_keys, false, true, false, false, false, false, view_spawn__text,
     view_spawn__json, view_spawn__csv},
    {"tree", tree_keys, false, false, false, true, false, false, view_tree__text, view_tree__json,
     view_tree__csv},
    {"flat", flat_keys, false, false, false, true, false, false, view_flat__text, view_flat__json,
     view_flat__csv},
    {"callers", tree_keys, false, false, false, false, false, false, view_callers__text,
     view_callers__json, view_callers__csv},
    {"images", sample_keys, false, false, true, false, false, false, view_images__text,
     view_images__json, view_images__csv},
    {"procedures", sample_keys, false, false, true, false, false, false, view_procedures__text,
     view_procedures__json, view_procedures__csv},
    {"activity", activity_keys, false, false, false, false, true, false, view_activity__text,
     view_activity__json, view_activity__csv},
    {"chains", chain_keys, false, true, false, false, true, true, view_chains__text,
     view_chains__json, view_chains__csv},
};
const size_t view_kind_count = sizeof(view_kinds) / sizeof(view_kinds[0]);

size_t view__sort_index(const struct view *view, const char *const *keys)
{
    for (size_t i = 0; view->sort && keys[i]; i++)
        if (strcmp(view->sort, keys[i]) == 0)
            return i;
    return 0;
}

uint64_t view__whole(const struct report_model *model, const bool *selected,
                     enum report_column column)
{
    uint64_t whole = 0;

    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];

        if (selected[i] && thread->first_node < thread->end_node && model->cum[column])
            whole += model->cum[column][thread->first_node];
    }
    return whole;
}

void view__no_threads(const struct screen *screen)
{
    fputs("(no threads)\n", screen->out);
}

void view__metric_title(const struct view *view, char title[METRIC_TITLE_BYTES])
{
    snprintf(title, METRIC_TITLE_BYTES, "%s", report_column__title(view->column));
    for (char *c = title; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
}

struct quantity view__quantity(const struct view *view, uint64_t value)
{
    return quantity__of(value, report_column__unit(view->column));
}
