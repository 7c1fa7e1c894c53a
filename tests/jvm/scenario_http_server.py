"""A server whose requests each have a thread of their own (virtual where the JDK has them), under load from
several clients and with a dump in the middle: every answer is right, and each method's calls are exactly what
the number of requests says."""

import http.client
import threading

import harness
from running import running

CLIENTS = 8
REQUESTS = 500  # of each
DUMPS = 3  # a busy machine lets the one who reads the clocks wait in the middle of one or another
READING_NS = 1_000_000
WHILE_READING_NS = 50_000_000  # the threads work on while their clocks are read
NUMBERS = 20  # that the server adds up for each
CALLS = {"handle": 1, "parse": 1, "compute": 1, "digits": NUMBERS, "render": 1, "send": 1}


def http_server(test):
    agent = test.agent_option(events="instrument", include="Server.*", fold="auto")
    middles = [test.scratch / f"middle-{number}.ledger" for number in range(DUMPS)]
    middle = middles[0]
    with running(test, "Server", agent=agent) as program:
        clients = [Client(int(program.printed()[0]), number) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        test.wait_until(lambda: sum(c.done for c in clients) >= CLIENTS * REQUESTS // 3, "no requests")
        for ledger in middles:
            program.done("dump", "-o", ledger)
        for client in clients:
            client.join()
            test.check(not client.wrong, f"wrong answers: {client.wrong[:3]}")
        ended = program.end()
    total = sum(client.done for client in clients)
    test.check(total == CLIENTS * REQUESTS, f"{total} requests were answered")
    test.check(ended.status == 0 and ended.out.splitlines()[1:] == [str(total)], f"the server: {ended}")

    calls = calls_in(test, test.ledger)
    wanted = {method: n * total for method, n in CALLS.items()}
    test.check(calls == wanted, f"calls are {calls}, not {wanted}")
    before = calls_in(test, middle)
    test.check(all(total // 3 * n <= before[method] <= total * n for method, n in CALLS.items()),
               f"the dump in the middle has {before}")
    apart = [charged_too_much(test, ledger) for ledger in middles]
    test.check(any(-WHILE_READING_NS < ns < READING_NS for ns in apart), f"the dumps: {apart} ns too much charged")
    for ledger in (middle, test.ledger):
        told = test.text_report(ledger, "--view", "threads", "--fold")
        test.check(told.status == 0 and not told.err and "\nBalance\n" in told.out, f"{ledger.name}: {told}")
    name = "VirtualThread[#]" if test.major >= 21 else "pool-#-thread-#"
    test.check(f"\n{name} ×" in told.out, f"no row of {name} in\n{told.out}")


def charged_too_much(test, ledger):
    balance = test.report("threads", ledger)["balance"]
    return balance["charged_cpu_ns"] - balance["kernel_cpu_ns"]


class Client(threading.Thread):
    """Requests one after the other on one connection."""

    def __init__(self, port, number):
        super().__init__()
        self.port = port
        self.number = number
        self.done = 0
        self.wrong = []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.LIMIT_S)
        for i in range(REQUESTS):
            n = self.number * REQUESTS + i
            connection.request("GET", f"/?n={n}")
            response = connection.getresponse()
            answer = response.status, response.read().decode()
            if answer == (200, f"{n} {digits_added_up(n)}"):
                self.done += 1
            else:
                self.wrong.append((n, answer))
        connection.close()


def digits_added_up(n):
    return sum(int(digit) for i in range(NUMBERS) for digit in str(n + i))


def calls_in(test, ledger):
    methods = test.checked_report(ledger)["flat"]["methods"]
    return {method: sum(m["calls"] for m in methods if m["method"] == method) for method in CALLS}


if __name__ == "__main__":
    harness.main(http_server)
