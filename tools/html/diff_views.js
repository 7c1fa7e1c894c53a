// The tables of two ledgers laid over each other: A, B and what changed, the largest change first.

import { boundsOfCalls, changeText, noteOf, percentText, sideText } from "./change.js";
import { IN_A, IN_B } from "./diff_ledger.js";
import { byId, element } from "./dom.js";
import { hasCalls } from "./kinds.js";
import { callersOf, flatRows } from "./methods.js";
import { MethodsView } from "./methods_view.js";
import { printable } from "./names.js";
import { quantity } from "./quantity.js";
import { errorColumn, errorsOfMethods } from "./sample_error.js";
import { showLosses } from "./summary.js";
import { setCell } from "./table.js";
import { ThreadsView } from "./threads_view.js";
import { TreeView } from "./tree_view.js";

function boundsOfThread(thread) {
    return (thread.a_calls_at_least ? IN_A : 0) | (thread.b_calls_at_least ? IN_B : 0);
}

export class DiffThreadsView extends ThreadsView {
    metricsOf(ledger) {
        const count = {
            name: "count",
            key: "count",
            title: "threads",
            unit: "count",
            of: ({ a, b }) => Math.max(a, b),
            text: ({ a, b }) => `${a} → ${b}`,
        };
        const used = ledger.metrics.filter(({ name }) =>
            ledger.threads.some(({ values }) => values[name].a || values[name].b),
        );
        return [count, ...used.flatMap((metric) => this.columnsOf(metric))];
    }

    columnsOf({ name, title, meaning, unit }) {
        const ofCalls = name === "calls";
        const of = (key, its, values, text) => ({
            name: key,
            key,
            title: `${title} ${its}`,
            meaning,
            unit,
            of: (thread) => values(thread.values[name]),
            text: (thread) => text(thread.values[name], ofCalls ? boundsOfThread(thread) : 0),
        });
        return [
            of(`${name}_a`, "A", ({ a }) => a, ({ a }, bounds) => sideText(a, unit, bounds, IN_A)),
            of(`${name}_b`, "B", ({ b }) => b, ({ b }, bounds) => sideText(b, unit, bounds, IN_B)),
            of(name, "Δ", ({ a, b }) => Math.abs(b - a), ({ a, b }, bounds) => changeText(a, b, unit, bounds)),
        ];
    }

    word(row, key) {
        return key === "state" ? row.threads[0].state : super.word(row, key);
    }
}

export class DiffTreeView extends TreeView {
    columns(metric) {
        const { title } = metric;
        const errors = this.app.ledger.changeErrors(metric);
        return [
            { key: "name", title: "Frame", rem: 15, grow: true, className: "name frame" },
            { key: "a", title: `${title} cum A`, rem: 7 },
            { key: "b", title: `${title} cum B`, rem: 7 },
            { key: "change", title: "Δ cum", hint: "B less A", rem: 6.5 },
            ...(errors ? [errorColumn("cumError", "the change of cum")] : []),
            { key: "percent", title: "of A", hint: "the change, in per cent of A", rem: 5.5 },
            { key: "base", title: "Δ base", hint: "B less A", rem: 6.5 },
            ...(errors ? [errorColumn("baseError", "the change of base")] : []),
            { key: "calls", title: "Δ calls", hint: "B less A", rem: 6.5 },
            { key: "note", title: "", rem: 3.5, className: "word" },
            { key: "level", title: "level", rem: 4, hint: "how deep it stands; ×n: recursion" },
        ];
    }

    fillNumbers(cells, frame) {
        const { tree } = this;
        const { metric } = this.app;
        const a = tree.sum(metric.a);
        const b = tree.sum(metric.b);
        const [from, to] = [a.cum[frame], b.cum[frame]];
        const most = Math.max(a.cum[0], b.cum[0]);
        const calls = [tree.base("calls-a")[frame], tree.base("calls-b")[frame]];
        const errors = this.errorsOf(tree, metric)?.[frame];
        const left = [...cells].slice(1);
        const set = (...value) => setCell(left.shift(), ...value);
        set(quantity(from, metric.unit), from / most);
        set(quantity(to, metric.unit), to / most);
        set(changeText(from, to, metric.unit), Math.abs(to - from) / most);
        if (errors) set(errorText(errors.cum, metric));
        set(percentText(from, to));
        set(changeText(a.base[frame], b.base[frame], metric.unit));
        if (errors) set(errorText(errors.base, metric));
        set(hasCalls(tree.kind[frame]) ? changeText(...calls, "count", tree.bounds[frame]) : "");
        set(noteOf(tree.sides[frame]));
    }

    // By frame; worked out once for a tree and a metric.
    errorsOf(tree, metric) {
        if (this.errorsFor !== tree || this.errorsName !== metric.name) {
            this.errorsFor = tree;
            this.errorsName = metric.name;
            this.errors = tree.changeErrors(metric);
        }
        return this.errors;
    }
}

function errorText(error, metric) {
    return Math.round(error) ? quantity(Math.round(error), metric.unit) : "";
}

// Half of the window has to do for the methods.
function narrowErrors(key, what) {
    return { ...errorColumn(key, what), rem: 5 };
}

// Rows of A and of B stand in the same order: both are met on the same way through the tree.
function laidOver(tree, rowsOfA, rowsOfB) {
    return rowsOfA.map((a, i) => {
        const b = rowsOfB[i];
        return {
            method: a.method,
            kind: a.kind,
            a,
            b,
            baseA: a.base,
            baseB: b.base,
            baseChange: Math.abs(b.base - a.base),
            cumChange: Math.abs(b.cum - a.cum),
            callsChange: Math.abs(b.calls - a.calls),
            bounds: boundsOfCalls(tree.boundsOf(a.counted ?? a.method), a.calls, b.calls),
            baseError: b.baseError ?? 0,
            cumError: b.cumError ?? 0,
        };
    });
}

export class DiffMethodsView extends MethodsView {
    constructor(app) {
        super(app);
        this.order = { key: "baseChange", direction: "down" };
    }

    columnsOf(metric) {
        const { title } = metric;
        const errors = this.app.ledger.changeErrors(metric);
        return [
            { key: "name", title: "Method", rem: 6, grow: true, className: "name frame" },
            { key: "baseA", title: `${title} base A`, rem: 6 },
            { key: "baseB", title: "base B", rem: 5 },
            { key: "baseChange", title: "Δ base", hint: "B less A", rem: 5.8 },
            ...(errors ? [narrowErrors("baseError", "the change of base")] : []),
            { key: "cumChange", title: "Δ cum", hint: "B less A", rem: 5.8 },
            ...(errors ? [narrowErrors("cumError", "the change of cum")] : []),
            { key: "callsChange", title: "Δ calls", hint: "B less A", rem: 4.4 },
        ];
    }

    // Errors of a change stand in the rows of B.
    rowsOf(tree, metric) {
        this.errors = tree.changeErrors(metric);
        const ofMethods = this.errors && errorsOfMethods(tree, this.errors);
        const rowsOfB = flatRows(tree, metric.b, "calls-b").map((row) => {
            const { base, cum } = ofMethods?.get(row.method) ?? { base: 0, cum: 0 };
            return { ...row, baseError: base, cumError: cum };
        });
        return laidOver(tree, flatRows(tree, metric.a, "calls-a"), rowsOfB);
    }

    stanzaOf(tree, metric, method) {
        const a = callersOf(tree, metric.a, method, "calls-a");
        const b = callersOf(tree, metric.b, method, "calls-b", this.errors);
        return {
            parents: laidOver(tree, a.parents, b.parents),
            children: laidOver(tree, a.children, b.children),
        };
    }

    numbersOf({ a, b, bounds: ofCalls }) {
        const { metric } = this.app;
        const one = (what, from, to, unit, bounds = 0) => {
            const percent = percentText(from, to, bounds);
            const values = [sideText(from, unit, bounds, IN_A), sideText(to, unit, bounds, IN_B)];
            return (
                `${what} ${values.join(" → ")}: ` +
                `${changeText(from, to, unit, bounds)}${percent ? ` (${percent})` : ""}`
            );
        };
        const parts = [
            one(`${metric.title} base`, a.base, b.base, metric.unit),
            one("cum", a.cum, b.cum, metric.unit),
        ];
        if (a.calls || b.calls) parts.push(one("calls", a.calls, b.calls, "count", ofCalls));
        return parts.join(" · ");
    }

    fillNumbers(cells, { a, b, baseChange, baseError, cumError, bounds }) {
        const { metric, tree } = this.app;
        const most = Math.max(tree.cum(metric.a)[0], tree.cum(metric.b)[0]);
        const left = [...cells].slice(1);
        const set = (...value) => setCell(left.shift(), ...value);
        set(quantity(a.base, metric.unit), a.base / most);
        set(quantity(b.base, metric.unit), b.base / most);
        set(changeText(a.base, b.base, metric.unit), baseChange / most);
        if (this.errors) set(errorText(baseError, metric));
        set(changeText(a.cum, b.cum, metric.unit));
        if (this.errors) set(errorText(cumError, metric));
        set(changeText(a.calls, b.calls, "count", bounds));
    }
}

function figure(label, [a, b], unit, bounds = 0) {
    const item = element("div", "figure");
    const percent = percentText(a, b, bounds);
    const change = `${changeText(a, b, unit, bounds)}${percent && a !== b ? ` (${percent})` : ""}`;
    const values = [sideText(a, unit, bounds, IN_A), sideText(b, unit, bounds, IN_B)];
    item.append(element("strong", "", change), element("span", "", `${label}: ${values.join(" → ")}`));
    return item;
}

// The processes' own time, as the kernel and the clock have it, and of the threads what no process
// has: their sums of wall time would say nothing.
function showHeadline(ledger) {
    const { metric, diff } = ledger.about;
    const both = (of) => [of(diff.a), of(diff.b)];
    const totals = (name) =>
        ["a", "b"].map((side) => ledger.threads.reduce((sum, { values }) => sum + values[name][side], 0));
    const shown = [...new Set(["calls", metric])].filter((name) => !["cpu", "wall"].includes(name));
    const bounds = ledger.threads.reduce((sum, thread) => sum | boundsOfThread(thread), 0);
    byId("summary").replaceChildren(
        figure("CPU of the process", both(({ balance }) => balance.kernel_cpu_ns), "ns"),
        figure("wall time of the process", both(({ wall_ns }) => wall_ns), "ns"),
        ...shown
            .map((name) => ledger.metric(name))
            .filter(Boolean)
            .map(({ name, title, unit }) =>
                figure(`${title} of the threads shown`, totals(name), unit, name === "calls" ? bounds : 0),
            ),
    );
}

// The top of the page: which is A, which is B, and what all their threads have together.
export function showDiffSummary(ledger) {
    const { ledgers, diff } = ledger.about;
    const names = ledgers.map(printable);
    const story = (letter, name, { command }) => `${letter}: ${name} (${printable(command)})`;
    document.title = `${names[0]} → ${names[1]} – Treadle`;
    byId("command").textContent =
        `${story("A", names[0], diff.a)} → ${story("B", names[1], diff.b)}` +
        (diff.normalized ? "; A's values are scaled to B's totals" : "");
    byId("command").title = byId("command").textContent;
    showHeadline(ledger);
    showLosses(
        ledger.about.losses.flatMap((texts, side) => texts.map((text) => `${"AB"[side]}: ${text}`)),
    );
    byId("facts").querySelector("pre").textContent = ledger.facts
        .split("\n")
        .map(printable)
        .join("\n")
        .trim();
    byId("facts").querySelector("summary").textContent = "Totals and balances in full";
    byId("balance").hidden = true;
    byId("costs").hidden = true;
}
