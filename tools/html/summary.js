// The top of the page: the process in a few numbers, and the balance as a strip: what the kernel
// says the process used, and who it was charged to.

import { showBudget } from "./budget.js";
import { showBusy } from "./busy.js";
import { byId, element } from "./dom.js";
import { printable } from "./names.js";
import { sizeOf } from "./pools.js";
import { quantity, share } from "./quantity.js";

const LARGE_PPM = 10000;

function number(label, value, hint = "") {
    const item = element("div", "figure");
    item.append(element("strong", "", value), element("span", "", label));
    item.title = hint;
    return item;
}

// What was lost is seen before any number that lacks it. texts: [sentence].
export function showLosses(texts) {
    byId("losses").hidden = texts.length === 0;
    byId("losses").replaceChildren(
        ...texts.map((text) => element("li", "", printable(text))),
    );
}

export function showSummary(ledger) {
    const { process, balance, threads } = ledger;
    const state = { closed: "snapshot", live: "alive", orphan: "orphan: ended without closing it" };
    byId("command").textContent = printable(process.command);
    document.title = `${printable(ledger.about.ledger)} – Treadle`;
    const busy = process.wall_ns ? (process.cpu_ns / process.wall_ns).toFixed(2) : "0";
    byId("summary").replaceChildren(
        number("CPU", quantity(process.cpu_ns, "ns"), "the process's CPU time, as the kernel says"),
        number("wall", quantity(process.wall_ns, "ns"), "how long it was profiled"),
        number("processors busy", busy),
        number(sizeOf(threads) === 1 ? "thread" : "threads", quantity(sizeOf(threads), "count")),
        number("contexts", quantity(ledger.nodeCount, "count"), "calling contexts in all call trees"),
        number("process", process.pid ? String(process.pid) : "merged", state[process.ledger]),
        number("clock", balance.clock),
    );
    const lines = ledger.facts.split("\n").map(printable);
    byId("facts").querySelector("pre").textContent = lines.join("\n").trim();
    showBusy(process);
    showBalance(balance);
    showBudget(ledger);
    showLosses(ledger.about.losses);
}

function showBalance(balance) {
    const whole = Math.max(balance.kernel_cpu_ns, balance.charged_cpu_ns);
    const parts = [
        ["java", "Java threads", balance.charged_java_ns],
        ["vm", "VM threads", balance.charged_vm_ns],
        ["native", "native threads", balance.charged_native_ns],
        ["last", "after a thread's last look", balance.last_moments_ns],
    ];
    const missing = balance.kernel_cpu_ns - balance.charged_cpu_ns;
    if (missing > 0) parts.push(["missing", "charged to nobody", missing]);
    const strip = element("div", "strip");
    const legend = element("ul", "legend");
    for (const [name, label, ns] of parts) {
        if (ns <= 0) continue;
        const part = element("span", name);
        part.style.width = `${(100 * ns) / whole}%`;
        part.title = `${label}: ${quantity(ns, "ns")}`;
        strip.append(part);
        const item = element("li");
        item.append(
            element("span", `sample ${name}`),
            element("span", "", `${label} ${quantity(ns, "ns")} (${share(ns, whole)})`),
        );
        legend.append(item);
    }
    byId("balance").replaceChildren(strip, verdict(balance), legend);
}

function verdict(balance) {
    const ppm = balance.difference_ppm;
    if (!balance.kernel_cpu_ns)
        return element("p", "verdict", "Balance: the kernel's total of this process was not read yet");
    const large = Math.abs(ppm) > LARGE_PPM;
    const difference = quantity(balance.kernel_cpu_ns - balance.charged_cpu_ns, "ns");
    return element(
        "p",
        large ? "verdict large" : "verdict",
        `Balance: kernel ${quantity(balance.kernel_cpu_ns, "ns")}, charged ` +
            `${quantity(balance.charged_cpu_ns, "ns")}, difference ${difference} = ${ppm} ppm` +
            (large ? " (large)" : ""),
    );
}
