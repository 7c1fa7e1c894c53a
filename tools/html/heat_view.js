// The heat map: what threads or methods used between one snapshot and the next. A column an interval,
// a row a thread, a pool or a method; the first row is all of them together. A cell's number says
// what its colour says.

import { byId } from "./dom.js";
import { cut } from "./names.js";
import { rowsOf } from "./pools.js";
import { quantity, share } from "./quantity.js";
import { setCell, Table } from "./table.js";

const TITLE_LENGTH = 300;
const INDENT_PIXELS = 18;
const TWIST_PIXELS = 24;

const narrow = matchMedia("(width < 45rem)");
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
const literally = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

export class HeatView {
    constructor(app) {
        this.app = app;
        this.order = { key: "name", direction: "" }; // "": by the sums of rows
        this.column = 0;
        this.rows = [];
        this.table = new Table(byId("heat-table"), {
            label: "Over time",
            columns: this.columns(),
            fill: (cells, row, element) => this.fill(cells, row, element),
            onSort: (key) => this.sortBy(key),
            onOpen: (row) => this.open(row, this.column),
            onKey: (key, row) => this.key(key, row),
        });
        this.table.onClick = (row, cell) => this.click(row, cell);
        narrow.addEventListener("change", () => {
            this.table.setColumns(this.columns());
            if (app.state.tab === "heat") this.show();
        });
    }

    columns() {
        const name = { key: "name", title: "Thread or method", rem: narrow.matches ? 9 : 18, grow: true, className: "name frame" };
        const intervals = this.app.ledger.intervals.map(({ number, label, story }) => ({
            key: `${number}`,
            title: label,
            hint: `${story}; sort`,
            rem: 8.5,
            className: "number heat",
        }));
        return [name, ...intervals];
    }

    show() {
        const { ledger, metric, state } = this.app;
        this.columnNames = ledger.intervals.map(({ number }) => `${metric.name}@${number}`);
        const rows = state.rows === "methods" ? this.methodRows() : this.threadRows();
        const all = {
            label: state.rows === "methods" ? "all methods" : "all threads",
            values: this.totals,
            level: 0,
            all: true,
        };
        this.rows = [all, ...rows];
        const cells = rows.flatMap(({ values }) => values.map((_, i) => this.heatOf(values, i)));
        this.hottest = cells.reduce((most, heat) => Math.max(most, heat), 0);
        this.rateMax = this.totals.reduce((most, _, i) => Math.max(most, this.rateOf(this.totals, i)), 0);
        this.table.showSort(this.order.direction && this.order.key, this.order.direction);
        this.table.setRows(this.rows.length);
        this.note();
    }

    // What a row has in each interval is worked out once for a metric.
    threadRows() {
        const { ledger, state } = this.app;
        const sums = this.columnNames.map((name) => ledger.sumsOfThreads(name));
        const at = new Map(ledger.threads.map((thread, i) => [thread, i]));
        const chosen = this.app.tree.threads;
        const values = (threads) =>
            sums.map((column) => threads.reduce((sum, thread) => sum + column[at.get(thread)], 0));
        const make = (threads, label, level) => ({ threads, label, level, values: values(threads) });
        this.totals = values(chosen);
        const rows = rowsOf(chosen, { ledger, state, make, sorted: (its) => this.sorted(its) });
        return rows.filter(({ level, values: its }) => level || its.some((value) => value > 0));
    }

    methodRows() {
        const { ledger, matches, tree } = this.app;
        const sums = this.columnNames.map((name) => ledger.sumsOfMethods(name, tree.threads));
        this.totals = sums.map((column) => sumOf([...column]));
        const rows = [];
        for (let method = 0; method < ledger.methods.length; method++) {
            if (matches && !matches[method]) continue;
            const values = sums.map((column) => column[method]);
            if (values.some((value) => value > 0))
                rows.push({ method, label: ledger.methods[method].label, level: 0, values });
        }
        return this.sorted(rows);
    }

    sorted(rows) {
        const { key, direction } = this.order;
        const sign = direction === "up" ? 1 : -1;
        const of =
            direction === ""
                ? ({ values }) => sumOf(values)
                : key === "name"
                  ? ({ label }) => label
                  : ({ values }) => values[key];
        return rows.sort((a, b) => (of(a) < of(b) ? -sign : of(a) > of(b) ? sign : 0));
    }

    sortBy(key) {
        const first = key === "name" ? "up" : "down";
        const other = this.order.direction === "up" ? "down" : "up";
        this.order = { key, direction: this.order.direction && this.order.key === key ? other : first };
        this.show();
    }

    note() {
        const { ledger, metric, state } = this.app;
        const parts = [
            `${metric.title} of ${state.rows} between snapshots, by the time since the process began.`,
            state.cells === "share"
                ? "A cell is its share of the interval's sum, which the first row has."
                : "A cell is the amount a second.",
            "A click on one shows its flame graph.",
        ];
        if (ledger.momentsLeftOut)
            parts.push(
                `Left out: ${quantity(ledger.momentsLeftOut, "count")} threads of earlier snapshots ` +
                    "that the last one does not have.",
            );
        byId("heat-note").textContent = parts.join(" ");
    }

    rateOf(values, i) {
        return values[i] / (this.app.ledger.intervals[i].seconds || 1);
    }

    heatOf(values, i) {
        if (this.app.state.cells === "rate") return this.rateOf(values, i);
        return this.totals[i] ? values[i] / this.totals[i] : 0;
    }

    // Of CPU and other times "a second" is how many processors, or threads, that keeps busy.
    rateText(values, i) {
        const { unit } = this.app.metric;
        const rate = this.rateOf(values, i);
        return unit === "ns" ? share(rate / 1e9, 1) : quantity(rate, unit);
    }

    text({ values, all }, i) {
        const { state, metric } = this.app;
        if (!values[i]) return all ? "0" : "";
        if (state.cells === "rate") return this.rateText(values, i);
        return all ? quantity(values[i], metric.unit) : share(values[i], this.totals[i]);
    }

    fill(cells, index, element) {
        const row = this.rows[index];
        this.fillName(cells[0], row, element);
        row.values.forEach((value, i) => {
            const cell = cells[i + 1];
            const hottest = row.all ? this.rateMax : this.hottest;
            const heat = row.all ? this.rateOf(row.values, i) : this.heatOf(row.values, i);
            setCell(cell, this.text(row, i));
            // What is small is still to be told from nothing.
            cell.style.setProperty("--heat", `${hottest ? 100 * Math.sqrt(heat / hottest) : 0}%`);
            cell.classList.toggle("total", Boolean(row.all));
            cell.classList.toggle("chosen-cell", index === this.table.current && i === this.column);
            cell.title = this.story(row, i);
        });
    }

    fillName(cell, row, element) {
        const { state, ledger } = this.app;
        const pool = row.threads?.length > 1;
        const open = pool && state.opened.includes(row.threads[0].pool);
        const indented = Boolean(row.threads) && state.fold && ledger.hasPools;
        cell.title = cut(row.method === undefined ? row.label : ledger.methods[row.method].full, TITLE_LENGTH);
        cell.dataset.twist = pool ? (open ? "▾" : "▸") : "";
        cell.style.paddingLeft = row.level ? `${8 + INDENT_PIXELS * row.level}px` : "";
        if (pool) element.setAttribute("aria-expanded", open);
        else element.removeAttribute("aria-expanded");
        const taken = (indented ? TWIST_PIXELS : 0) + row.level * INDENT_PIXELS;
        const label =
            row.method === undefined ? row.label : ledger.methodWithin(row.method, this.table.room[0]);
        setCell(cell, this.table.cutName(label, 0, taken));
    }

    story({ label, values }, i) {
        const { ledger, metric } = this.app;
        const { label: when, story } = ledger.intervals[i];
        return [
            cut(label, TITLE_LENGTH),
            `${when}: ${story}`,
            `${metric.title} ${quantity(values[i], metric.unit)}, ${share(values[i], this.totals[i]) || "0 %"} of the interval's`,
            `${this.rateText(values, i)} ${metric.unit === "ns" ? "of one processor's time" : "a second"}`,
        ].join("\n");
    }

    // The interval's flame graph: of the row's threads, or with the row's method marked.
    open(index, interval) {
        const row = this.rows[index];
        const patch = { tab: "flame", interval, zoom: null };
        if (row.threads) patch.threads = row.threads.map(({ number }) => number);
        if (row.method !== undefined) patch.search = `/^${literally(this.app.ledger.methods[row.method].full)}$/`;
        this.app.change(patch, { step: true });
        byId("frames").focus();
    }

    toggle(index) {
        const opened = new Set(this.app.state.opened);
        const { pool } = this.rows[index].threads[0];
        if (!opened.delete(pool)) opened.add(pool);
        this.app.change({ opened: [...opened] });
    }

    key(key, index) {
        const last = this.app.ledger.intervals.length - 1;
        if (key === "ArrowLeft") this.column = Math.max(0, this.column - 1);
        else if (key === "ArrowRight") this.column = Math.min(last, this.column + 1);
        else if (key === " " && this.rows[index].threads?.length > 1) this.toggle(index);
        else return false;
        this.table.draw();
        return true;
    }

    click(index, cell) {
        if (cell > 0) this.open(index, cell - 1);
        else if (this.rows[index].threads?.length > 1) this.toggle(index);
        else return false;
        return true;
    }
}
