/* Options that are refused: one line of complaint, with what was probably meant. */
#include "agent/options.h"

#include <errno.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* One line, with the word that is wrong and the one that was probably meant. */
static void check_refused(const char *text, const char *wrong, const char *meant)
{
    struct agent_options options;
    char message[1024] = "";
    if (agent_options__parse(&options, text, message, sizeof message) != -EINVAL)
        fail_msg("'%s' was taken", text);
    agent_options__free(&options);
    if (strstr(message, wrong) == NULL || strstr(message, meant) == NULL)
        fail_msg("'%s' gives: %s", text, message);
    if (strchr(message, '\n') != NULL || strstr(message, "(null)") != NULL)
        fail_msg("'%s' gives: %s", text, message);
}

static void bad_options_name_the_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wrong;
        const char *meant;
    } cases[] = {
        {"flie=x", "'flie'", "did you mean file?"},
        {"metric=cpu", "'metric'", "did you mean metrics?"},
        {"maxmem=1M", "'maxmem'", "did you mean max-mem?"},
        {"max_mem=1M", "'max_mem'", "did you mean max-mem?"},
        {"event=jvmti", "'event'", "did you mean events?"},
        {"sampleclock=perf", "'sampleclock'", "did you mean sample-clock?"},
        {"stric", "'stric'", "did you mean strict?"},
        {"Strict", "'Strict'", "did you mean strict?"},
        {"dumb", "'dumb'", "did you mean dump?"},
        {"livedir=/tmp", "'livedir'", "did you mean live-dir?"},
        {"clok:plain", "'clok'", "did you mean clock?"},
        {" file=x", "' file'", "did you mean file?"},
        {"=x", "''", "did you mean "},
        {"file=x,resue=new", "'resue'", "did you mean reuse?"},
        /* A bare word is a metric only behind metrics=. */
        {"faults", "'faults'", "did you mean "},
        {"metrics=cpu,log=info,faults", "'faults'", "did you mean "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refused(cases[i].text, cases[i].wrong, cases[i].meant);
}

static void bad_values_name_the_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wrong;
        const char *meant;
    } cases[] = {
        {"events=jvmt", "option events: bad value 'jvmt'", "jvmti"},
        {"events=nnoe", "'nnoe'", "none"},
        {"events=", "''", "none"},
        {"events", "events", "none"},
        {"reuse=previos", "'previos'", "previous"},
        {"reuse=now", "'now'", "new"},
        {"log=warning", "'warning'", "warn"},
        {"log=DEBUG", "'DEBUG'", "debug"},
        {"log:inf", "'inf'", "info"},
        {"clock=prf", "'prf'", "perf"},
        {"clock=tsc", "'tsc'", "rseq"},
        {"metrics=falts", "'falts'", "faults"},
        {"metrics=cpu+falts", "falts", "faults"},
        {"metrics=cpu++io", "'cpu++io'", "io"},
        {"metrics=+", "'+'", "cpu"},
        {"interval=", "''", "100us to 1s"},
        {"interval=99us", "'99us'", "100us to 1s"},
        {"interval=2s", "'2s'", "100us to 1s"},
        {"interval=1001ms", "'1001ms'", "100us to 1s"},
        {"interval=10", "'10'", "100us to 1s"},
        {"interval=-1ms", "'-1ms'", "100us to 1s"},
        {"interval=1 ms", "'1 ms'", "100us to 1s"},
        {"interval=ms", "'ms'", "100us to 1s"},
        {"interval=1ms ", "'1ms '", "100us to 1s"},
        {"interval=+1ms", "'+1ms'", "100us to 1s"},
        {"interval= 1ms", "' 1ms'", "100us to 1s"},
        {"interval=1.5ms", "'1.5ms'", "100us to 1s"},
        {"interval=0s", "'0s'", "100us to 1s"},
        {"interval=0x1ms", "'0x1ms'", "100us to 1s"},
        {"interval=1m", "'1m'", "100us to 1s"},
        {"interval=1S", "'1S'", "100us to 1s"},
        {"interval=1000001us", "'1000001us'", "100us to 1s"},
        {"interval=99999999999999999999s", "'99999999999999999999s'", "100us to 1s"},
        {"interval=18446744073709552ms", "'18446744073709552ms'", "100us to 1s"},
        {"sample=cpus", "'cpus'", "cpu"},
        {"sample=", "''", "cpu"},
        {"sample=wal", "'wal'", "wall"},
        {"sample-clock=", "''", "auto"},
        {"sample-clock=timers", "'timers'", "timer"},
        {"unwind=", "''", "tables"},
        {"unwind=table", "'table'", "tables"},
        {"unwind=libunwin", "'libunwin'", "libunwind"},
        {"unwnd=tables", "'unwnd'", "unwind"},
        {"sample-clock=prf", "'prf'", "perf"},
        {"sample-clock=wall", "'wall'", "auto"},
        {"overhead=", "''", "any"},
        {"overhead=2", "'2'", "2%"},
        {"overhead=an", "'an'", "any"},
        {"overhead=0%", "'0%'", "100%"},
        {"overhead=101%", "'101%'", "100%"},
        {"overhead=2.5.1%", "'2.5.1%'", "100%"},
        {"overhead=-1%", "'-1%'", "100%"},
        {"plan=", "''", "a ledger's path"},
        {"max-mem=", "''", "1M to 16G"},
        {"max-mem=x", "'x'", "1M to 16G"},
        {"max-mem=1023K", "'1023K'", "1M to 16G"},
        {"max-mem=1048575", "'1048575'", "1M to 16G"},
        {"max-mem=17G", "'17G'", "1M to 16G"},
        {"max-mem=17179869185", "'17179869185'", "1M to 16G"},
        {"max-mem=17179869184G", "'17179869184G'", "1M to 16G"},
        {"max-mem=99999999999999999999", "'99999999999999999999'", "1M to 16G"},
        {"max-mem=-1M", "'-1M'", "1M to 16G"},
        {"max-mem=1T", "'1T'", "1M to 16G"},
        {"max-mem=1MB", "'1MB'", "1M to 16G"},
        {"max-mem=1.5M", "'1.5M'", "1M to 16G"},
        {"max-mem=0x10M", "'0x10M'", "1M to 16G"},
        {"max-mem=1 ", "'1 '", "1M to 16G"},
        {"max-mem=64 M", "'64 M'", "1M to 16G"},
        {"file=", "option file: bad value ''", "%p"},
        {"file", "file", "%p"},
        {"file=x-%q", "'x-%q'", "%p"},
        {"file=x%", "'x%'", "%p"},
        {"live-dir=", "''", "folder"},
        {"include=", "''", "pkg.Class.method"},
        {"exclude=", "''", "pkg.Class.method"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refused(cases[i].text, cases[i].wrong, cases[i].meant);
}

/* What is proposed is the neighbour of what was written, in the option's own words. */
static void bad_values_name_the_real_neighbours(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"interval=2s", "option interval: bad value '2s'; did you mean 1s? (100us to 1s)"},
        {"overhead=200%",
         "option overhead: bad value '200%'; did you mean 100%? (0.0001% to 100%, or "
         "any)"},
        {"overhead=200",
         "option overhead: bad value '200'; did you mean 100%? (0.0001% to 100%, or any)"},
        {"overhead=2.5",
         "option overhead: bad value '2.5'; did you mean 2.5%? (0.0001% to 100%, or any)"},
        {"overhead=5 %",
         "option overhead: bad value '5 %'; did you mean 5%? (0.0001% to 100%, or any)"},
        {"interval=99us", "option interval: bad value '99us'; did you mean 100us? (100us to 1s)"},
        {"interval=10", "option interval: bad value '10'; did you mean 10ms? (100us to 1s)"},
        {"interval=10 MS", "option interval: bad value '10 MS'; did you mean 10ms? (100us to 1s)"},
        {"interval=1.5ms",
         "option interval: bad value '1.5ms'; did you mean 1500us? (100us to 1s)"},
        {"interval=fast", "option interval: bad value 'fast'; did you mean 100us to 1s?"},
        {"max-mem=100G", "option max-mem: bad value '100G'; did you mean 16G? (1M to 16G)"},
        {"max-mem=12", "option max-mem: bad value '12'; did you mean 1M? (1M to 16G)"},
        {"max-mem=64MB", "option max-mem: bad value '64MB'; did you mean 64M? (1M to 16G)"},
        {"max-mem=1.5G", "option max-mem: bad value '1.5G'; did you mean 1536M? (1M to 16G)"},
        {"events=foo", "option events: bad value 'foo'; did you mean none, jvmti or instrument?"},
        {"events=jmvti",
         "option events: bad value 'jmvti'; did you mean jvmti? (none, jvmti or instrument)"},
        {"sample=yes", "option sample: bad value 'yes'; did you mean none, cpu or wall?"},
        {"fold=on", "option fold: bad value 'on'; did you mean auto or none?"},
        {"recursion=0", "option recursion: bad value '0'; did you mean 1? (1 to 16, or all)"},
        {"recursion=99", "option recursion: bad value '99'; did you mean 16? (1 to 16, or all)"},
        {"recursion=ALL", "option recursion: bad value 'ALL'; did you mean all? (1 to 16, or all)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        char message[1024] = "";
        assert_int_equal(agent_options__parse(&options, cases[i].text, message, sizeof message),
                         -EINVAL);
        agent_options__free(&options);
        assert_string_equal(message, cases[i].message);
    }
}

static void a_list_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct agent_options options;
    char message[1024] = "";
    assert_int_equal(
        agent_options__parse(&options, "include=@/nowhere,strict", message, sizeof message),
        -ENOENT);
    assert_true(options.strict);
    agent_options__free(&options);
    assert_string_equal(message,
                        "option include: /nowhere: cannot be read: No such file or directory");
    check_refused("exclude=@", "'@'", "@FILE");
}

/* A word behind metrics= that is nearly a metric: metrics are what was meant. */
static void a_bad_metric_in_a_list_names_metrics(void **state)
{
    (void)state;
    check_refused("metrics=cpu,falts", "'falts'", "faults");
    check_refused("metrics=cpu,faults+falts", "falts", "faults");
}

static void a_flag_has_no_value(void **state)
{
    (void)state;
    struct agent_options options;
    char message[1024] = "";
    assert_int_equal(agent_options__parse(&options, "strict=yes", message, sizeof message),
                     -EINVAL);
    agent_options__free(&options);
    assert_non_null(strstr(message, "strict"));
    /* That would be no help. */
    assert_string_not_equal(message, "unknown option 'strict'; did you mean strict?");
}

/* Somebody forgot include= before a glob of more than 63 characters. */
static void a_long_word_has_a_nearest_one_too(void **state)
{
    (void)state;
    check_refused("com.example.application.orders.internal.OrderProcessingService.process*",
                  "'com.example.", "did you mean ");
    check_refused("log=com.example.application.orders.internal.OrderProcessingService.process",
                  "'com.example.", "did you mean error, warn");
}

static void strict_counts_wherever_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool strict;
    } cases[] = {
        {"bogus", false},
        {"strict,bogus", true},
        {"bogus,strict", true},
        {"max-mem=x,file=y,strict", true},
        {"max-mem=x,strict,file=y", true},
        {"max-mem=x,file=strict", false},
        {"max-mem=x,stricter", false},
        {"max-mem=x,dump", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct agent_options options;
        char message[1024] = "";
        assert_int_equal(agent_options__parse(&options, cases[i].text, message, sizeof message),
                         -EINVAL);
        assert_int_equal(options.strict, cases[i].strict);
        assert_false(options.dump);
        agent_options__free(&options);
    }
}

/* The first complaint is the one that is told; what stands behind it is not read. */
static void the_first_error_is_told(void **state)
{
    (void)state;
    struct agent_options options;
    char message[1024] = "";
    assert_int_equal(agent_options__parse(&options, "file=a,log=loud,clock=bogus,file=b", message,
                                          sizeof message),
                     -EINVAL);
    assert_non_null(strstr(message, "'loud'"));
    assert_null(strstr(message, "bogus"));
    assert_string_equal(options.file, "a");
    agent_options__free(&options);
}

static void a_message_is_cut_not_overrun(void **state)
{
    (void)state;
    struct agent_options options;
    char message[16];
    memset(message, '#', sizeof message);
    assert_int_equal(agent_options__parse(&options, "bogus=1", message, 8), -EINVAL);
    assert_string_equal(message, "unknown");
    assert_int_equal(message[8], '#');
    agent_options__free(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_name_the_nearest),
        cmocka_unit_test(bad_values_name_the_nearest),
        cmocka_unit_test(bad_values_name_the_real_neighbours),
        cmocka_unit_test(a_list_that_cannot_be_read_is_named),
        cmocka_unit_test(a_bad_metric_in_a_list_names_metrics),
        cmocka_unit_test(a_flag_has_no_value),
        cmocka_unit_test(a_long_word_has_a_nearest_one_too),
        cmocka_unit_test(strict_counts_wherever_it_stands),
        cmocka_unit_test(the_first_error_is_told),
        cmocka_unit_test(a_message_is_cut_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
