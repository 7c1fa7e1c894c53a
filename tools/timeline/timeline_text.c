#include "tools/timeline/timeline_text.h"

#include "tools/report/quantity.h"

#include <inttypes.h>

void timeline_text__write_contents(const struct timeline_model *model, FILE *out)
{
    const struct timeline_store *store = model->store;

    fprintf(out, "timeline of %d, %s: %s, %s\n", (int)store->pid,
            quantity__ns(store->ended_ns - store->began_ns).text,
            quantity__counted(model->track_count, "thread").text,
            quantity__counted(model->counts[SLICE_WAIT] + model->counts[SLICE_CALL] +
                                  model->counts[SLICE_PAUSE] + model->counts[SLICE_RUN],
                              "slice")
                .text);
    fprintf(out,
            "  %" PRIu64 " switches, %" PRIu64 " waits, %zu arrows, %" PRIu64
            " pauses of the collector, %" PRIu64 " calls of %s or longer\n",
            model->switches, model->counts[SLICE_WAIT], model->arrow_count,
            model->counts[SLICE_PAUSE], model->counts[SLICE_CALL],
            quantity__ns(store->calls_above_ns).text);
}

uint64_t timeline_text__lost_switches(const struct timeline_model *model)
{
    return model->lost_switches + timeline_ring__overwritten(&model->store->switches);
}

uint64_t timeline_text__lost_events(const struct timeline_model *model)
{
    return model->store->lost_events + timeline_ring__overwritten(&model->store->events);
}

void timeline_text__write_losses(const struct timeline_model *model, FILE *out)
{
    const struct timeline_store *store = model->store;

    if (!store->has_switches)
        fprintf(out, "  no switches: %s\n", store->no_switches);
    if (!store->has_waits)
        fprintf(out, "  no waits: the agent was loaded with waits=off\n");
    if (!store->has_calls)
        fprintf(out, "  no calls: they need events=instrument\n");
    fprintf(out,
            "  did not fit: %" PRIu64 " records of switches, %" PRIu64 " events of the agent\n",
            timeline_text__lost_switches(model), timeline_text__lost_events(model));
    if (store->unheard_waits)
        fprintf(out, "  %" PRIu64 " waits have no reason: the budget had no room for them\n",
                store->unheard_waits);
    if (store->unseen_calls)
        fprintf(out, "  %" PRIu64 " returns in threads beyond the first 1024 were not timed\n",
                store->unseen_calls);
    if (model->unmatched)
        fprintf(out,
                "  %" PRIu64 " waits or runs are left out: only one end of them was recorded\n",
                model->unmatched);
}

void timeline_text__write(const struct timeline_model *model, FILE *out)
{
    timeline_text__write_contents(model, out);
    timeline_text__write_losses(model, out);
}
