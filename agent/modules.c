#include "agent/modules.h"

#include "agent/agent.h"

static void connect_class_hooks(struct agent *agent)
{
    struct class_hooks *hooks = &agent->class_hooks;

    hooks->jvmti = agent->jvmti;
    hooks->ledger = &agent->ledger;
    hooks->time = &agent->setup.time;
    hooks->filter = &agent->options.filter;
    hooks->quotas = &agent->quotas;
    hooks->hook_class = &agent->hook_class;
    agent->quotas.hook_class = &agent->hook_class;
    hooks->generated = &agent->generated;
    hooks->own_cost = &agent->own_cost;
    hooks->max_mem = agent->options.max_mem;
    hooks->everywhere = agent->options.events == LEDGER_EVENTS_INSTRUMENT;
    hooks->hears_waits = agent->options.waits;
}

static void connect_sampler(struct agent *agent)
{
    struct sampler *sampler = &agent->sampler;

    sampler->jvmti = agent->jvmti;
    sampler->ledger = &agent->ledger;
    sampler->time = &agent->setup.time;
    sampler->scan = &agent->scan;
    sampler->kernel_threads = &agent->kernel_threads;
    sampler->own_cost = &agent->own_cost;
    sampler->hosts = &agent->java_hosts;
    sampler->generated = &agent->generated;
    sampler->jobs = &agent->jobs;
    sampler->keys_are_ids = agent->options.events == LEDGER_EVENTS_JVMTI;
    sampler->is_by_budget = agent->options.samples_by_budget;
    sampler->mode = agent->options.sample;
    sampler->interval_ns = agent->options.interval_ns;
    sampler->wanted_clock = agent->options.sample_clock;
    sampler->wanted_unwind = agent->options.unwind;
}

static void connect_threads(struct agent *agent)
{
    struct java_threads *threads = &agent->java_threads;

    threads->vm = agent->vm;
    threads->jvmti = agent->jvmti;
    threads->ledger = &agent->ledger;
    threads->setup = &agent->setup;
    threads->kernel_threads = &agent->kernel_threads;
    threads->sampler = &agent->sampler;
    threads->methods = &agent->class_hooks.methods;
    threads->quotas = &agent->quotas;
    threads->events = agent->options.events;
    threads->hears_waits = agent->options.waits;
    threads->may_hook_monitors = agent->options.waits_asked;
    atomic_store(&threads->waits_heard, true);
    atomic_store(&threads->waits_timed, true);
    atomic_store(&threads->holds_round, 1);
    threads->active = &agent->active;
    threads->epochs = &agent->epochs;
    agent->deadlocks.threads = threads;
    chain_parts__init(&agent->chain_parts, &agent->ledger);
}

static void connect_budget(struct agent *agent)
{
    struct hook_budget *budget = &agent->budget;
    struct hook_renewal *renewal = &agent->renewal;

    agent->wait_budget = (struct wait_budget){.own_cost = &agent->own_cost,
                                              .ledger = &agent->ledger,
                                              .time = &agent->setup.time,
                                              .heard = &agent->java_threads.waits_heard,
                                              .timed = &agent->java_threads.waits_timed,
                                              .lock_waits = &agent->java_threads.lock_waits_left,
                                              .lock_looks = &agent->java_threads.lock_looks_left,
                                              .holds_round = &agent->java_threads.holds_round};
    budget->quotas = renewal->quotas = &agent->quotas;
    budget->methods = &agent->class_hooks.methods;
    budget->renewal = renewal;
    budget->own_cost = &agent->own_cost;
    budget->ledger = &agent->ledger;
    budget->time = renewal->time = &agent->setup.time;
    budget->scan = &agent->scan;
    renewal->vm = agent->vm;
    renewal->hooks = &agent->class_hooks;
    renewal->sampler = &agent->sampler;
    renewal->ledger = &agent->ledger;
    renewal->profiling = &agent->profiling;
}

void modules__connect(struct agent *agent)
{
    agent->method_names = (struct method_names){
        .jvmti = agent->jvmti, .ledger = &agent->ledger, .filter = &agent->options.filter};
    own_cost__init(&agent->own_cost, &agent->ledger, &agent->setup.time, &agent->scan,
                   &agent->kernel_threads, true);
    connect_class_hooks(agent);
    connect_sampler(agent);
    connect_threads(agent);
    connect_budget(agent);
}
