#include "native/activity/activity_tree.h"

#include <string.h>

/* Where the time of a state stands. */
static const uint8_t metric_of[ACTIVITY_STATES] = {
    [ACTIVITY_RUNNING] = METRIC_COUNT, [ACTIVITY_LOCK] = METRIC_PARK,
    [ACTIVITY_IO] = METRIC_IO_WAIT,    [ACTIVITY_SLEEP] = METRIC_SLEEP,
    [ACTIVITY_UNKNOWN] = METRIC_COUNT,
};

void activity_tree__init(struct activity_tree *tree, struct ledger *ledger)
{
    memset(tree, 0, sizeof(*tree));
    tree->ledger = ledger;
    tree->pool.ledger = ledger;
    tree->parameters_max = ACTIVITY_PARAMETERS_MAX;
}

static struct ledger_node *node_at(const struct activity_tree *tree, ledger_ref ref)
{
    return ledger__at(tree->ledger, ref);
}

ledger_ref activity_tree__add_root(struct activity_tree *tree)
{
    ledger_ref ref = record_pool__node(&tree->pool);

    if (ref)
        node_at(tree, ref)->kind_and_level = (uint32_t)NODE_ROOT << 24;
    return ref;
}

static uint64_t hash(uint64_t sum, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return (sum ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t key_of(const struct activity_frame *frame)
{
    uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), frame->identifier, frame->identifier_length);

    return hash(sum, frame->parameter, frame->parameter_length);
}

/* The texts as the ledger takes them: up to a NUL. */
static ledger_ref add_method(struct activity_tree *tree, uint64_t key,
                             const struct activity_frame *frame)
{
    char identifier[128], parameter[128];
    size_t first = frame->identifier_length, second = frame->parameter_length;

    first = first < sizeof(identifier) ? first : sizeof(identifier) - 1;
    second = second < sizeof(parameter) ? second : sizeof(parameter) - 1;
    memcpy(identifier, frame->identifier, first);
    identifier[first] = '\0';
    if (second)
        memcpy(parameter, frame->parameter, second);
    parameter[second] = '\0';
    struct ledger_method_names names = {
        .class_name = "", .name = identifier, .signature = parameter};
    return ledger__add_method(tree->ledger, key, &names, METHOD_LOGICAL);
}

/* The method that stands for the identifier with the parameter. A parameter for which there is no
 * room among the different ones is "(other)". */
static ledger_ref method_of(struct activity_tree *tree, const struct activity_frame *frame,
                            uint64_t *key)
{
    struct activity_frame other = *frame;
    ledger_ref found;

    *key = key_of(frame);
    found = ledger__find_method(tree->ledger, *key);
    if (found || !frame->parameter_length)
        return found ? found : add_method(tree, *key, frame);
    if (tree->parameters < tree->parameters_max) {
        tree->parameters++;
        return add_method(tree, *key, frame);
    }
    ledger__count(&tree->ledger->header->other_parameters, 1);
    other.parameter = ACTIVITY_OTHER;
    other.parameter_length = strlen(ACTIVITY_OTHER);
    *key = key_of(&other);
    found = ledger__find_method(tree->ledger, *key);
    return found ? found : add_method(tree, *key, &other);
}

ledger_ref activity_tree__method(struct activity_tree *tree, const struct activity_frame *frame)
{
    uint64_t key;

    return frame->identifier_length ? method_of(tree, frame, &key) : 0;
}

static ledger_ref find_child(const struct activity_tree *tree, ledger_ref parent, ledger_ref method)
{
    ledger_ref ref = node_at(tree, parent)->first_child;

    while (ref && node_at(tree, ref)->method != method)
        ref = node_at(tree, ref)->next_sibling;
    return ref;
}

static ledger_ref add_child(struct activity_tree *tree, ledger_ref parent, ledger_ref method,
                            uint64_t key)
{
    ledger_ref ref = record_pool__node(&tree->pool);
    struct ledger_node *node;

    if (!ref)
        return 0;
    node = node_at(tree, ref);
    node->key = key;
    node->method = method;
    node->parent = parent;
    node->next_sibling = node_at(tree, parent)->first_child;
    node->kind_and_level = (uint32_t)NODE_LOGICAL << 24;
    __atomic_store_n(&node_at(tree, parent)->first_child, ref, __ATOMIC_RELEASE);
    return ref;
}

ledger_ref activity_tree__find(struct activity_tree *tree, ledger_ref root,
                               const struct activity_frame *frames, uint32_t count)
{
    ledger_ref at = root;

    for (uint32_t i = 0; i < count; i++) {
        ledger_ref method, child = 0;
        uint64_t key;

        if (!frames[i].identifier_length)
            continue;
        method = method_of(tree, &frames[i], &key);
        if (method)
            child = find_child(tree, at, method);
        if (method && !child)
            child = add_child(tree, at, method, key);
        if (!child)
            break;
        at = child;
    }
    return at;
}

static void add_metric(struct activity_tree *tree, ledger_ref ref, unsigned metric, uint64_t ns)
{
    struct ledger_node *node = node_at(tree, ref);

    if (!ns || metric >= METRIC_COUNT)
        return;
    if (!node->side) {
        ledger_ref side = record_pool__side(&tree->pool);

        if (!side) {
            ledger__count(&tree->ledger->header->dropped_side_values, 1);
            return;
        }
        ((struct ledger_side *)ledger__at(tree->ledger, side))->node = ref;
        __atomic_store_n(&node->side, side, __ATOMIC_RELEASE);
    }
    ((struct ledger_side *)ledger__at(tree->ledger, node->side))->value[metric] += ns;
}

void activity_tree__charge(struct activity_tree *tree, ledger_ref node,
                           const struct activity_share *share)
{
    struct ledger_node *record = node_at(tree, node);

    record->samples += share->samples;
    record->cpu_ns += share->cpu_ns;
    record->wait_ns += share->wall_ns - share->cpu_ns;
    add_metric(tree, node, METRIC_RUN_QUEUE_DELAY, share->runnable_ns);
    add_metric(tree, node, metric_of[share->state], share->waited_ns);
}

uint64_t activity_tree__metrics(void)
{
    return UINT64_C(1) << METRIC_RUN_QUEUE_DELAY | UINT64_C(1) << METRIC_PARK |
           UINT64_C(1) << METRIC_IO_WAIT | UINT64_C(1) << METRIC_SLEEP;
}
