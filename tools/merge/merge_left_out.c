/* Methods that the last include= and exclude= of a process left out. Its header says when that
 * was, and its classes say which methods these are. A merged ledger of several processes can keep
 * neither, so each of these methods gets a record of its own. */
#include "tools/merge/merge_parts.h"
#include "tools/report/memory.h"
#include "tools/report/report_model.h"

#include <stdlib.h>

static void add_record(struct ledger_merge *merge, const struct merge_input *input,
                       const struct report_hooking *hooking, ledger_ref method)
{
    ledger_ref ref = merge__take(merge, LEDGER_HOOKINGS, sizeof(struct ledger_hooking));

    if (!ref)
        return;
    *(struct ledger_hooking *)ledger__at(&merge->ledger, ref) = (struct ledger_hooking){
        .method = method,
        .state = HOOKING_OFF,
        .from_ns = hooking->from_ns ? hooking->from_ns + input->shift_ns : 0,
        .since_ns = hooking->since_ns + input->shift_ns,
        .heard_ns = hooking->heard_ns,
        .mutes = hooking->mutes,
        .rate = hooking->rate,
        .rate_max = hooking->rate_max,
        .heard_calls = (uint32_t)(hooking->calls < UINT32_MAX ? hooking->calls : UINT32_MAX),
        .end_ns = input->asof_ns + input->shift_ns,
        .left_out = 1,
    };
}

bool *merge_left_out__add(struct ledger_merge *merge, struct merge_input *input)
{
    if (merge->input_count == 1 || !input->header->filter_since_ns)
        return NULL;
    bool *left_out = memory__zeroed(input->refs, sizeof(*left_out));
    struct report_model *model = report_model__load(input->reader, 0);
    bool *is_told = memory__zeroed(model->method_count, sizeof(*is_told));
    for (uint32_t i = 0; i < model->method_record_count; i++) {
        const struct report_method_record *record = &model->method_records[i];
        const struct report_hooking *hooking = report_hooking__of(model, record->method);
        ledger_ref method = merge__method(input, record->ref);

        if (!hooking || !hooking->is_left_out || hooking->state != HOOKING_OFF || !method)
            continue;
        left_out[record->ref] = true;
        if (!is_told[record->method])
            add_record(merge, input, hooking, method);
        is_told[record->method] = true;
    }
    free(is_told);
    report_model__free(model);
    return left_out;
}
