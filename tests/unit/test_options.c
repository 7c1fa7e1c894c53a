/* The agent's options: text in, settings out. What is refused: test_options_refused.c. */
#include "agent/options.h"

#include <stdio.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB     (UINT64_C(1) << 20)
#define CPU     UINT64_C(0x3)
#define FAULTS  UINT64_C(0x30)
#define IO      UINT64_C(0xf00)
#define DELAY   UINT64_C(0x3000)
#define ALL     UINT64_C(0x1fffff)
#define DEFAULT UINT64_C(0xff) /* cpu, switches, faults, blocks: what one getrusage gives */

static void parse(struct agent_options *options, const char *text)
{
    char message[1024] = "";
    if (agent_options__parse(options, text, message, sizeof message) != 0)
        fail_msg("'%s': %s", text, message);
}

static void nothing_gives_the_defaults(void **state)
{
    (void)state;
    static const char *const texts[] = {NULL, "", ",", ",,,"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct agent_options options;
        parse(&options, texts[i]);
        assert_string_equal(options.file, "treadle-%p.ledger");
        assert_false(agent_options__has(&options, "file"));
        assert_null(options.live_dir);
        assert_null(options.filter.include);
        assert_null(options.filter.exclude);
        assert_int_equal(options.events, LEDGER_EVENTS_INSTRUMENT);
        assert_int_equal(options.metrics, DEFAULT);
        assert_false(options.reuse_new);
        assert_int_equal(options.max_mem, 64 * MIB);
        assert_int_equal(options.recursion, 1);
        assert_true(options.waits);
        assert_int_equal(options.log, LOG_WARN);
        assert_int_equal(options.clock, 0);
        assert_false(options.strict);
        assert_false(options.dump);
        assert_int_equal(options.interval_ns, 10000000);
        assert_int_equal(options.sample_clock, LEDGER_SAMPLE_CLOCK_NONE);
        assert_int_equal(options.unwind, LEDGER_UNWIND_UNKNOWN);
        agent_options__free(&options);
    }
}

/* On where a budget bounds what they cost. */
static void waits_on_or_off(void **state)
{
    (void)state;
    static const char *const unbounded[] = {"overhead=any", "events=none", "events=jvmti"};
    struct agent_options options;
    for (size_t i = 0; i < sizeof(unbounded) / sizeof(*unbounded); i++) {
        parse(&options, unbounded[i]);
        assert_false(options.waits);
        agent_options__free(&options);
    }
    parse(&options, "events=none,waits=on");
    assert_true(options.waits);
    agent_options__free(&options);
    parse(&options, "waits=on,waits=off");
    assert_false(options.waits);
    agent_options__free(&options);
    parse(&options, "waits=off,waits:on");
    assert_true(options.waits);
    agent_options__free(&options);
}

static void levels_of_recursion(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t levels;
    } cases[] = {{"recursion=1", 1}, {"recursion:16", 16}, {"recursion=all", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        assert_int_equal(options.recursion, cases[i].levels);
        agent_options__free(&options);
    }
}

/* With a budget what has no hooks is sampled; without one, or without hooks, only if asked for. */
static void samples_come_with_the_budget(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t overhead_ppm;
        enum ledger_sample_mode sample;
    } cases[] = {
        {"", 20000, LEDGER_SAMPLE_CPU},
        {"overhead=0.5%", 5000, LEDGER_SAMPLE_CPU},
        {"overhead=100%", 1000000, LEDGER_SAMPLE_CPU},
        {"overhead=any", 0, LEDGER_SAMPLE_NONE},
        {"sample=none", 20000, LEDGER_SAMPLE_NONE},
        {"sample=wall", 20000, LEDGER_SAMPLE_WALL},
        {"overhead=any,sample=cpu", 0, LEDGER_SAMPLE_CPU},
        {"events=none", 0, LEDGER_SAMPLE_NONE},
        {"events=jvmti,overhead=3%", 0, LEDGER_SAMPLE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        assert_int_equal(options.overhead_ppm, cases[i].overhead_ppm);
        assert_int_equal(options.sample, cases[i].sample);
        agent_options__free(&options);
    }
}

/* Every option, with = and with : */
static void every_option_is_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "file=/tmp/%p-%n.ledger,live-dir=/dev/shm,include=a.*;b.*,exclude=c.*,events=none,"
        "metrics=faults,reuse=new,max-mem=64M,log=debug,clock=plain,sample=cpu,sample-clock=perf,"
        "unwind=libunwind,overhead=0.5%,plan=/tmp/a.ledger,strict,dump",
        "file:/tmp/%p-%n.ledger,live-dir:/dev/shm,include:a.*;b.*,exclude:c.*,events:none,"
        "metrics:faults,reuse:new,max-mem:64M,log:debug,clock:plain,sample:cpu,sample-clock:perf,"
        "unwind:libunwind,overhead:0.5%,plan:/tmp/a.ledger,strict,dump",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct agent_options options;
        parse(&options, texts[i]);
        assert_string_equal(options.file, "/tmp/%p-%n.ledger");
        assert_true(agent_options__has(&options, "file"));
        assert_string_equal(options.live_dir, "/dev/shm");
        assert_true(method_filter__admits(&options.filter, "b.C", "m"));
        assert_false(method_filter__admits(&options.filter, "c.C", "m"));
        assert_int_equal(options.events, LEDGER_EVENTS_NONE);
        assert_int_equal(options.metrics, FAULTS);
        assert_true(options.reuse_new);
        assert_int_equal(options.max_mem, 64 * MIB);
        assert_int_equal(options.log, LOG_DEBUG);
        assert_int_equal(options.clock, LEDGER_CLOCK_PLAIN);
        assert_int_equal(options.sample, LEDGER_SAMPLE_CPU);
        assert_int_equal(options.sample_clock, LEDGER_SAMPLE_CLOCK_PERF);
        assert_int_equal(options.unwind, LEDGER_UNWIND_LIBUNWIND);
        assert_true(options.strict);
        assert_true(options.dump);
        agent_options__free(&options);
    }
}

/* The first = or : ends the key, all others are the value's. */
static void values_may_have_separators(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *file;
    } cases[] = {
        {"file=a=b", "a=b"},       {"file:a=b", "a=b"}, {"file=a:b", "a:b"},
        {"file:a:b", "a:b"},       {"file==", "="},     {"file= x ", " x "},
        {"file=%%p", "%%p"},       {"file=a;b", "a;b"}, {"file=a,,file=b,", "b"},
        {"file=strict", "strict"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        assert_string_equal(options.file, cases[i].file);
        assert_false(options.strict);
        agent_options__free(&options);
    }
}

static void metrics_are_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t metrics;
    } cases[] = {
        {"metrics=cpu", CPU},
        {"metrics=wall", 0},
        {"metrics=cpu,wall", CPU},
        {"metrics=cpu,wall,faults", CPU | FAULTS},
        {"metrics=cpu+wall+faults", CPU | FAULTS},
        {"metrics:cpu+io,delay", CPU | IO | DELAY},
        {"metrics=all", ALL},
        {"metrics=io,all,cpu", ALL},
        {"metrics=minor_faults", 0x10},
        {"metrics=minor_faults,major_faults", FAULTS},
        /* Other options may stand between; a second metrics= begins again. */
        {"metrics=cpu,strict,faults", CPU | FAULTS},
        {"metrics=cpu,metrics=io", IO},
        {"log=info,metrics=delay,max-mem=1M", DELAY},
        {"metrics=delay,file=faults", DELAY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        if (options.metrics != cases[i].metrics)
            fail_msg("'%s' gives 0x%jx", cases[i].text, (uintmax_t)options.metrics);
        agent_options__free(&options);
    }
}

static void sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"max-mem=1M", MIB},          {"max-mem=1m", MIB},
        {"max-mem=1024K", MIB},       {"max-mem=1024k", MIB},
        {"max-mem=1048576", MIB},     {"max-mem=1048577", MIB + 1},
        {"max-mem=2G", 2048 * MIB},   {"max-mem=16G", 16384 * MIB},
        {"max-mem=16g", 16384 * MIB}, {"max-mem=16384M", 16384 * MIB},
        {"max-mem:300M", 300 * MIB},  {"max-mem=007M", 7 * MIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        assert_int_equal(options.max_mem, cases[i].bytes);
        agent_options__free(&options);
    }
}

static void intervals_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {
        {"interval=100us", 100000},
        {"interval=1ms", 1000000},
        {"interval=10ms", 10000000},
        {"interval=1s", 1000000000},
        {"interval:250us", 250000},
        {"interval=1000ms", 1000000000},
        {"interval=007ms", 7000000},
        {"interval=1000000us", 1000000000},
        {"interval=1s,interval=2ms", 2000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        assert_int_equal(options.interval_ns, cases[i].ns);
        agent_options__free(&options);
    }
}

static void samples_are_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum ledger_sample_mode mode;
    } cases[] = {
        {"sample=none", LEDGER_SAMPLE_NONE},           {"sample=cpu", LEDGER_SAMPLE_CPU},
        {"sample=wall", LEDGER_SAMPLE_WALL},           {"sample:wall", LEDGER_SAMPLE_WALL},
        {"sample=wall,sample=cpu", LEDGER_SAMPLE_CPU},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        assert_int_equal(options.sample, cases[i].mode);
        agent_options__free(&options);
    }
}

static void every_value_of_a_choice_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum log_level log;
        enum ledger_clock_kind clock;
        bool reuse_new;
        enum ledger_event_mode events;
    } cases[] = {
        {"log=error", LOG_ERROR, 0, false, LEDGER_EVENTS_INSTRUMENT},
        {"log=warn", LOG_WARN, 0, false, LEDGER_EVENTS_INSTRUMENT},
        {"log=info", LOG_INFO, 0, false, LEDGER_EVENTS_INSTRUMENT},
        {"log=debug", LOG_DEBUG, 0, false, LEDGER_EVENTS_INSTRUMENT},
        {"clock=rseq", LOG_WARN, LEDGER_CLOCK_RSEQ, false, LEDGER_EVENTS_INSTRUMENT},
        {"clock=perf", LOG_WARN, LEDGER_CLOCK_PERF, false, LEDGER_EVENTS_INSTRUMENT},
        {"clock=plain", LOG_WARN, LEDGER_CLOCK_PLAIN, false, LEDGER_EVENTS_INSTRUMENT},
        {"reuse=new", LOG_WARN, 0, true, LEDGER_EVENTS_INSTRUMENT},
        {"reuse=new,reuse=previous", LOG_WARN, 0, false, LEDGER_EVENTS_INSTRUMENT},
        {"events=none", LOG_WARN, 0, false, LEDGER_EVENTS_NONE},
        {"events=none,events=jvmti", LOG_WARN, 0, false, LEDGER_EVENTS_JVMTI},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        parse(&options, cases[i].text);
        assert_int_equal(options.log, cases[i].log);
        assert_int_equal(options.clock, cases[i].clock);
        assert_int_equal(options.reuse_new, cases[i].reuse_new);
        assert_int_equal(options.events, cases[i].events);
        agent_options__free(&options);
    }
}

/* A list of 6000 bytes is taken whole. */
static void a_long_list_is_not_cut(void **state)
{
    (void)state;
    static char text[6100];
    struct agent_options options;
    for (size_t used = 0; used < 6000; used = strlen(text))
        (void)snprintf(text + used, sizeof text - used, "%s",
                       used == 0 ? "include=" : "com.example.Class.method;");
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "com.example.Last.method");
    parse(&options, text);
    assert_true(method_filter__admits(&options.filter, "com.example.Last", "method"));
    assert_false(method_filter__admits(&options.filter, "com.example.Last", "metho"));
    agent_options__free(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_on_or_off),
        cmocka_unit_test(levels_of_recursion),
        cmocka_unit_test(nothing_gives_the_defaults),
        cmocka_unit_test(every_option_is_read),
        cmocka_unit_test(samples_come_with_the_budget),
        cmocka_unit_test(values_may_have_separators),
        cmocka_unit_test(metrics_are_lists),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(intervals_have_units),
        cmocka_unit_test(samples_are_chosen),
        cmocka_unit_test(every_value_of_a_choice_is_read),
        cmocka_unit_test(a_long_list_is_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
