// The tables of two ledgers laid over each other: A, B and what changed, the largest change first.

import { changeText, noteOf, percentText } from "./change.js";
import { byId, element } from "./dom.js";
import { hasCalls } from "./kinds.js";
import { callersOf, flatRows } from "./methods.js";
import { MethodsView } from "./methods_view.js";
import { printable } from "./names.js";
import { quantity } from "./quantity.js";
import { showLosses } from "./summary.js";
import { setCell } from "./table.js";
import { ThreadsView } from "./threads_view.js";
import { TreeView } from "./tree_view.js";

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
        const of = (key, its, values, text) => ({
            name: key,
            key,
            title: `${title} ${its}`,
            meaning,
            unit,
            of: (thread) => values(thread.values[name]),
            text: text && ((thread) => text(thread.values[name])),
        });
        return [
            of(`${name}_a`, "A", ({ a }) => a),
            of(`${name}_b`, "B", ({ b }) => b),
            of(name, "±", ({ a, b }) => Math.abs(b - a), ({ a, b }) => changeText(a, b, unit)),
        ];
    }

    word(row, key) {
        return key === "state" ? row.threads[0].state : super.word(row, key);
    }
}

export class DiffTreeView extends TreeView {
    columns({ title }) {
        return [
            { key: "name", title: "Frame", rem: 15, grow: true, className: "name frame" },
            { key: "a", title: `${title} cum A`, rem: 7 },
            { key: "b", title: `${title} cum B`, rem: 7 },
            { key: "change", title: "± cum", hint: "B less A", rem: 6.5 },
            { key: "percent", title: "of A", hint: "the change, in per cent of A", rem: 5.5 },
            { key: "base", title: "± base", hint: "B less A", rem: 6.5 },
            { key: "calls", title: "± calls", hint: "B less A", rem: 6.5 },
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
        setCell(cells[1], quantity(from, metric.unit), from / most);
        setCell(cells[2], quantity(to, metric.unit), to / most);
        setCell(cells[3], changeText(from, to, metric.unit), Math.abs(to - from) / most);
        setCell(cells[4], percentText(from, to));
        setCell(cells[5], changeText(a.base[frame], b.base[frame], metric.unit));
        setCell(cells[6], hasCalls(tree.kind[frame]) ? changeText(...calls, "count") : "");
        setCell(cells[7], noteOf(tree.sides[frame]));
    }
}

// Rows of A and of B stand in the same order: both are met on the same way through the tree.
function laidOver(rowsOfA, rowsOfB) {
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
        };
    });
}

export class DiffMethodsView extends MethodsView {
    constructor(app) {
        super(app);
        this.order = { key: "baseChange", direction: "down" };
    }

    columns({ title }) {
        return [
            { key: "name", title: "Method", rem: 9, grow: true, className: "name frame" },
            { key: "baseA", title: `${title} base A`, rem: 6 },
            { key: "baseB", title: "base B", rem: 5.5 },
            { key: "baseChange", title: "± base", hint: "B less A", rem: 5.5 },
            { key: "cumChange", title: "± cum", hint: "B less A", rem: 6 },
            { key: "callsChange", title: "± calls", hint: "B less A", rem: 6 },
        ];
    }

    rowsOf(tree, metric) {
        return laidOver(flatRows(tree, metric.a, "calls-a"), flatRows(tree, metric.b, "calls-b"));
    }

    stanzaOf(tree, metric, method) {
        const a = callersOf(tree, metric.a, method, "calls-a");
        const b = callersOf(tree, metric.b, method, "calls-b");
        return {
            parents: laidOver(a.parents, b.parents),
            children: laidOver(a.children, b.children),
        };
    }

    numbersOf({ a, b }) {
        const { metric } = this.app;
        const one = (what, from, to, unit) => {
            const percent = percentText(from, to);
            return (
                `${what} ${quantity(from, unit)} → ${quantity(to, unit)}: ` +
                `${changeText(from, to, unit)}${percent ? ` (${percent})` : ""}`
            );
        };
        const parts = [
            one(`${metric.title} base`, a.base, b.base, metric.unit),
            one("cum", a.cum, b.cum, metric.unit),
        ];
        if (a.calls || b.calls) parts.push(one("calls", a.calls, b.calls, "count"));
        return parts.join(" · ");
    }

    fillNumbers(cells, { a, b, baseChange }) {
        const { metric, tree } = this.app;
        const most = Math.max(tree.cum(metric.a)[0], tree.cum(metric.b)[0]);
        setCell(cells[1], quantity(a.base, metric.unit), a.base / most);
        setCell(cells[2], quantity(b.base, metric.unit), b.base / most);
        setCell(cells[3], changeText(a.base, b.base, metric.unit), baseChange / most);
        setCell(cells[4], changeText(a.cum, b.cum, metric.unit));
        setCell(cells[5], changeText(a.calls, b.calls, "count"));
    }
}

function figure(label, [a, b], unit) {
    const item = element("div", "figure");
    const percent = percentText(a, b);
    const change = `${changeText(a, b, unit)}${percent && a !== b ? ` (${percent})` : ""}`;
    item.append(
        element("strong", "", change),
        element("span", "", `${label}: ${quantity(a, unit)} → ${quantity(b, unit)}`),
    );
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
    byId("summary").replaceChildren(
        figure("CPU of the process", both(({ balance }) => balance.kernel_cpu_ns), "ns"),
        figure("wall time of the process", both(({ wall_ns }) => wall_ns), "ns"),
        ...shown
            .map((name) => ledger.metric(name))
            .filter(Boolean)
            .map(({ name, title, unit }) => figure(`${title} of the threads shown`, totals(name), unit)),
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
