// How long calls of the methods of latency= took: a row a method with its distribution in small, and
// that of the current row large. Both axes of time are logarithmic and the same for all rows.

import { byId } from "./dom.js";
import { hookedText } from "./hooked.js";
import { quantity, share } from "./quantity.js";
import { setCell, Table } from "./table.js";

const SVG = "http://www.w3.org/2000/svg";
const BARS_A_POWER = 4; // of two
const SMALL = { width: 150, height: 20 };
const LARGE = { width: 640, height: 110 };
const WORDS = 110; // pixels of words beside a mark
const MARKS = [
    ["P50", "p50_ns"],
    ["P99", "p99_ns"],
    ["P99.9", "p999_ns"],
    ["longest", "max_ns"],
];
const COLUMNS = [
    ["count", "calls", 6],
    ["p50_ns", "P50", 6],
    ["p90_ns", "P90", 6],
    ["p99_ns", "P99", 6],
    ["p999_ns", "P99.9", 6],
    ["max_ns", "longest", 6],
    ["jitter_ns", "jitter", 6],
    ["cpu", "CPU P99", 6],
];

const barOf = (ns) => Math.floor(Math.log2(Math.max(ns, 1)) * BARS_A_POWER);

// Calls by bar; a bucket that is wider than a bar has its calls in the bar of its middle.
function barsOf(histogram) {
    const bars = new Map();
    for (const [from, to, calls] of histogram) {
        const bar = barOf((from + to) / 2);
        bars.set(bar, (bars.get(bar) ?? 0) + calls);
    }
    return bars;
}

function shape(tag, attributes) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
}

export class LatencyView {
    constructor(app) {
        this.app = app;
        this.order = { key: "p99_ns", direction: "down" };
        this.rows = app.ledger.latencies ?? [];
        const bars = this.rows.flatMap((row) => [...row.bars.keys(), ...row.cpuBars.keys()]);
        this.first = bars.reduce((least, bar) => Math.min(least, bar), Infinity);
        this.last = bars.reduce((most, bar) => Math.max(most, bar), 0);
        this.table = new Table(byId("latency-table"), {
            label: "Latency",
            columns: [
                { key: "name", title: "Method", rem: 12, grow: true, className: "name frame" },
                { key: "bars", title: "distribution", rem: 11, fixed: true },
                ...COLUMNS.map(([key, title, rem]) => ({ key, title, rem })),
            ],
            fill: (cells, row) => this.fill(cells, row),
            onSort: (key) => this.sortBy(key),
        });
    }

    show() {
        const { key, direction } = this.order;
        const sign = direction === "up" ? 1 : -1;
        const of = (row) => (key === "name" ? this.nameOf(row) : key === "cpu" ? row.cpu.p99_ns : row[key]);
        this.rows.sort((a, b) => (of(a) < of(b) ? -sign : of(a) > of(b) ? sign : a.method - b.method));
        this.table.showSort(key, direction);
        this.table.setRows(this.rows.length);
    }

    sortBy(key) {
        const first = key === "name" ? "up" : "down";
        const other = this.order.direction === "up" ? "down" : "up";
        this.order = { key, direction: this.order.key === key ? other : first };
        this.show();
    }

    nameOf({ method }) {
        return this.app.ledger.methods[method].label;
    }

    fill(cells, index) {
        const row = this.rows[index];
        const { ledger } = this.app;
        setCell(cells[0], ledger.methodWithin(row.method, this.table.room[0]));
        cells[0].title = [ledger.methods[row.method].full, hookedText(ledger, row.method)].filter(Boolean).join("\n");
        cells[1].lastChild.replaceChildren(this.draw(row.bars, SMALL));
        cells[1].lastChild.firstChild.setAttribute("preserveAspectRatio", "none");
        COLUMNS.forEach(([key], i) => {
            const value = key === "cpu" ? row.cpu.p99_ns : row[key];
            setCell(cells[i + 2], quantity(value, key === "count" ? "count" : "ns"));
        });
        if (index === this.table.current) this.showOne(row);
    }

    // A bar is as high as the root of its calls, so that the rare ones are seen.
    draw(bars, { width, height }, below = 0) {
        const drawing = shape("svg", { viewBox: `0 0 ${width} ${height + below}`, class: "distribution" });
        const most = Math.max(...bars.values());
        const step = width / (this.last - this.first + 1);
        for (const [bar, calls] of bars) {
            const high = Math.max(1, Math.sqrt(calls / most) * height);
            const x = (bar - this.first) * step;
            drawing.append(shape("rect", { x, y: height - high, width: Math.max(1, step - 0.5), height: high }));
        }
        return drawing;
    }

    placeOf(ns) {
        const at = Math.log2(Math.max(ns, 1)) * BARS_A_POWER;
        return (Math.max(0, at - this.first) * LARGE.width) / (this.last - this.first + 1);
    }

    // Powers of ten below the bars, percentiles above them.
    drawLarge(bars, numbers) {
        const drawing = this.draw(bars, LARGE, 18);
        const text = (x, y, words, className) => {
            const before = x > LARGE.width - WORDS;
            const made = shape("text", { x: before ? x - 3 : x + 3, y, class: className });
            if (before) made.setAttribute("text-anchor", "end");
            made.textContent = words;
            drawing.append(made);
        };
        for (let ns = 1; ns < 2 ** ((this.last + 1) / BARS_A_POWER); ns *= 10) {
            if (barOf(ns) < this.first) continue;
            const x = this.placeOf(ns);
            drawing.append(shape("line", { x1: x, x2: x, y1: LARGE.height, y2: LARGE.height + 6, class: "tick" }));
            text(x, LARGE.height + 14, quantity(ns, "ns"), "tick");
        }
        MARKS.forEach(([title, key], i) => {
            const x = this.placeOf(numbers[key]);
            drawing.append(shape("line", { x1: x, x2: x, y1: 0, y2: LARGE.height, class: "mark" }));
            text(x, 12 + 14 * i, `${title} ${quantity(numbers[key], "ns")}`, "mark");
        });
        return drawing;
    }

    showOne(row) {
        const { ledger } = this.app;
        if (this.shown === row) return;
        this.shown = row;
        byId("latency-name").textContent = this.nameOf(row);
        const missing = row.calls - row.count;
        byId("latency-note").textContent = [
            `${quantity(row.count, "count")} call${row.count === 1 ? "" : "s"}, mean ${quantity(row.mean_ns, "ns")}, jitter from call to call ${quantity(row.jitter_ns, "ns")}`,
            missing > 0 ? `${quantity(missing, "count")} more (${share(missing, row.calls)}) have no end here` : "",
            hookedText(ledger, row.method),
        ]
            .filter(Boolean)
            .join(" · ");
        byId("latency-elapsed").replaceChildren(this.drawLarge(row.bars, row));
        byId("latency-cpu").replaceChildren(this.drawLarge(row.cpuBars, row.cpu));
    }
}

// The rows of the block `latency`, with their bars.
export function latenciesOf(rows) {
    return rows.map((row) => ({ ...row, bars: barsOf(row.histogram), cpuBars: barsOf(row.cpu.histogram) }));
}
