// Below the balance: what the profiler was to cost and cost, and how short the recorded calls are that
// the Java threads' CPU lies in. Both are strips, as the balance is.

import { byId, element } from "./dom.js";
import { quantity, share } from "./quantity.js";

const MILLION = 1e6;

// [class, label, part of the strip's whole, what the legend says of it, more for the pointer]
function strip(name, parts, whole) {
    const line = element("div", `strip ${name}`);
    const legend = element("ul", "legend");
    for (const [kind, label, part, text, more = ""] of parts) {
        if (part <= 0) continue;
        const piece = element("span", kind);
        piece.style.width = `${(100 * part) / whole}%`;
        piece.title = `${label}: ${text}${more}`;
        line.append(piece);
        if (kind === "left") continue;
        const item = element("li");
        item.append(element("span", `sample ${kind}`), element("span", "", `${label} ${text}`));
        legend.append(item);
    }
    return [line, legend];
}

function methodsText(budget) {
    const count = (number) => quantity(number, "count");
    const parts = [];
    if (budget.silent_methods)
        parts.push(`${count(budget.silent_methods)} of ${count(budget.methods)} methods silent`);
    const which = [];
    if (budget.counted_methods) which.push(`${count(budget.counted_methods)} counted`);
    if (budget.muted_methods) which.push(`${count(budget.muted_methods)} for now`);
    if (which.length) parts[0] += ` (${which.join(", ")})`;
    if (budget.heard_again_methods) parts.push(`${count(budget.heard_again_methods)} recorded again`);
    if (budget.planned_methods) parts.push(`${count(budget.planned_methods)} left out by the plan`);
    if (budget.postponed_methods) parts.push(`${count(budget.postponed_methods)} not hooked yet`);
    return parts.length ? `; ${parts.join(", ")}` : "";
}

// The strip is as long as what was asked for, or as what was used if that is more: a line then marks
// what was asked for.
export function budgetView(budget, cpuNs) {
    const { asked_ppm: asked, used_ppm: used } = budget;
    const parts = [
        ["hooks", "hooks", budget.hooks_ns],
        ["samples", "samples", budget.samples_ns],
        ["own-threads", "threads", budget.threads_ns],
        ["classes", "class changes", budget.classes_ns],
        ["jvm", "JVM", budget.jvm_ns],
        ["wait-reasons", "waits", budget.waits_ns],
    ].map(([kind, label, ns]) => [
        kind,
        label,
        cpuNs ? (ns / cpuNs) * MILLION : 0,
        quantity(ns, "ns"),
        `, ${share(ns, cpuNs)} of the process's CPU`,
    ]);
    const whole = Math.max(asked, used) || 1;
    if (asked > used)
        parts.push(["left", "not used", asked - used, share(asked - used, MILLION)]);
    const [line, legend] = strip("budget", parts, whole);
    const over = asked > 0 && used > asked;
    if (over) {
        const mark = element("i", "asked");
        mark.style.left = `${(100 * asked) / whole}%`;
        mark.title = `asked for: ${share(asked, MILLION)}`;
        line.append(mark);
    }
    const text =
        `Budget: ${asked ? `${share(asked, MILLION)} asked` : "any"}, ${share(used, MILLION)} used` +
        methodsText(budget);
    return [line, element("p", over ? "verdict large" : "verdict", text), legend];
}

// Steps are sums: each has those before it. What is in no recorded call is the rest.
export function resolutionView(resolution) {
    const parts = [];
    let before = 0;
    let bound = 0;
    resolution.forEach(({ below_ns: below, cpu_ppm: ppm }, i) => {
        const to = below === null ? "" : quantity(below, "ns");
        const label = below === null ? "longer" : bound ? `${quantity(bound, "ns")} – ${to}` : `below ${to}`;
        parts.push([`step-${i}`, label, ppm - before, share(ppm - before, MILLION)]);
        before = ppm;
        bound = below;
    });
    parts.push(["outside", "in none", MILLION - before, share(MILLION - before, MILLION)]);
    const [line, legend] = strip("resolution", parts, MILLION);
    const text = "Resolution: the Java threads' CPU by the length of the recorded call around it";
    return [line, element("p", "verdict", text), legend];
}

// Either may have nothing to show.
export function showBudget({ budget, resolution, process }) {
    const known = budget && (budget.asked_ppm || budget.used_ppm);
    const inAny = resolution?.length && resolution[resolution.length - 1].cpu_ppm;
    byId("budget").hidden = !known;
    byId("resolution").hidden = !inAny;
    if (known) byId("budget").replaceChildren(...budgetView(budget, process.cpu_ns));
    if (inAny) byId("resolution").replaceChildren(...resolutionView(resolution));
}
