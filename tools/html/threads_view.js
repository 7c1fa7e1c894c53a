// The threads: a table to sort and search, and to choose whose call trees are shown. Its rows are
// {threads, label, level}: a pool with all its threads, or one thread, which stands below its pool
// if that is open.

import { byId } from "./dom.js";
import { cut, printable } from "./names.js";
import { rowsOf, sizeOf, stateOf } from "./pools.js";
import { quantity } from "./quantity.js";
import { matcher } from "./search.js";
import { setCell, Table } from "./table.js";

const OWN = [
    { key: "chosen", title: "✓", hint: "shown in the other views (Space)", rem: 2.5, className: "mark", fixed: true },
    { key: "name", title: "Thread", rem: 20, grow: true, className: "name frame" },
    { key: "kind", title: "Kind", rem: 5.5, className: "word" },
    { key: "state", title: "State", rem: 5.5, className: "word" },
];
const OWN_NARROW = 2; // of them, in narrow windows
const NAME_REM_NARROW = 9;
const TWIST_PIXELS = 24;
const INDENT_FIRST = 8;
const INDENT_PIXELS = 18;
const narrow = matchMedia("(width < 45rem)");
const STORY_LENGTH = 1000;
const STORY_NAMES = 12;
const STORY_NAME_LENGTH = 120;
const WAITING = { name: "waiting", key: "waiting_ns", title: "waiting", unit: "ns" };
const VIRTUAL = [
    { name: "mounts", key: "mounts", title: "mounts", unit: "count" },
    { name: "parked", key: "parked_ns", title: "parked", unit: "ns" },
];

export class ThreadsView {
    constructor(app) {
        this.app = app;
        const { ledger } = app;
        this.metrics = this.metricsOf(ledger);
        this.table = new Table(byId("thread-table"), {
            label: "Threads",
            columns: this.columns(),
            fill: (cells, row, element) => this.fill(cells, row, element),
            onSort: (key) => this.sortBy(key),
            onOpen: (row) => app.showThreads(this.rows[row].threads),
            onKey: (key, row) => this.key(key, row),
        });
        this.table.onClick = (row, cell, event) => this.click(row, cell, event);
        narrow.addEventListener("change", () => {
            this.table.setColumns(this.columns());
            if (app.state.tab === "threads") this.show();
        });
        byId("find-thread").addEventListener("input", (event) => app.change({ find: event.target.value }));
        byId("show-chosen").addEventListener("click", () => app.change({ tab: "flame" }, { step: true }));
    }

    columns() {
        const metrics = this.metrics.map(({ key, title, meaning, unit }) => ({
            key,
            title,
            hint: meaning,
            rem: unit === "count" ? 6.5 : 7,
        }));
        const [mark, name, ...words] = OWN;
        this.own = narrow.matches ? [mark, { ...name, rem: NAME_REM_NARROW }] : [mark, name, ...words];
        return [...this.own, ...metrics];
    }

    // Columns that have a value at all, and CPU, wall and calls.
    metricsOf(ledger) {
        const metrics = ledger.about.columns.map((column) => ({
            ...column,
            of: (thread) => thread[column.key] ?? thread.metrics[column.name] ?? 0,
        }));
        const wall = metrics.findIndex(({ name }) => name === "wall");
        const more = (column) => ({ ...column, of: (thread) => thread[column.key] ?? 0 });
        metrics.splice(wall + 1, 0, more(WAITING));
        if (ledger.threads.some(({ kind }) => kind === "virtual")) metrics.push(...VIRTUAL.map(more));
        return metrics.filter(
            (metric, i) => i < 4 || ledger.threads.some((thread) => metric.of(thread) > 0),
        );
    }

    show() {
        const { state, ledger } = this.app;
        const find = byId("find-thread");
        if (find.value !== state.find) find.value = state.find;
        byId("fold").checked = state.fold;
        byId("fold-label").hidden = !ledger.hasPools;
        this.chosen = new Set(state.threads ?? []);
        const matches = matcher(state.find);
        const found = ledger.threads.filter((thread) => !matches || this.isFound(thread, matches));
        this.list(found);
        this.showCounts(found, Boolean(matches));
        byId("show-chosen").textContent = state.threads
            ? `Show call tree of ${state.threads.length === 1 ? "the one" : `these ${state.threads.length}`}`
            : "Show call tree of all";
        this.table.setRows(this.rows.length);
    }

    isFound(thread, matches) {
        return matches(thread.label) || matches(this.app.ledger.pools[thread.pool].label);
    }

    showCounts(found, searched) {
        const { state, ledger } = this.app;
        const count = (threads) => quantity(sizeOf(threads), "count");
        const parts = state.threads ? [`${state.threads.length} chosen`] : [];
        parts.push(
            searched
                ? `${count(found)} of ${count(ledger.threads)} threads`
                : `${count(ledger.threads)} threads`,
        );
        const pools = this.rows.filter(({ threads }) => threads.length > 1).length;
        if (pools) parts.push(`${pools} pool${pools === 1 ? "" : "s"} folded`);
        byId("thread-count").textContent = parts.join(", ");
    }

    // The rows: pools, or threads; below a pool that is open its threads, in the same order.
    list(found) {
        const { state, ledger } = this.app;
        const make = (threads, label, level) => this.row(threads, label, level);
        this.rows = rowsOf(found, { ledger, state, make, sorted: (rows) => this.sorted(rows) });
        this.most = this.metrics.map((_, i) =>
            this.rows.reduce((most, { values }) => Math.max(most, values[i]), 0),
        );
    }

    row(threads, label, level) {
        const values = this.metrics.map(({ of }) =>
            threads.reduce((sum, thread) => sum + of(thread), 0),
        );
        return { threads, label, level, values, number: threads[0].number };
    }

    sorted(rows) {
        const [key, direction] = this.app.state.sort.split("-");
        const index = this.metrics.findIndex(({ name, key: its }) => name === key || its === key);
        const of = index >= 0 ? (row) => row.values[index] : (row) => this.word(row, key).toLowerCase();
        const sign = direction === "up" ? 1 : -1;
        const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
        rows.sort((a, b) => sign * compare(of(a), of(b)) || a.number - b.number);
        this.table.showSort(this.metrics[index]?.key ?? key, direction);
        return rows;
    }

    sortBy(key) {
        const metric = this.metrics.find((one) => one.key === key);
        const name = metric?.name ?? key;
        const [before, direction] = this.app.state.sort.split("-");
        const first = metric ? "down" : "up";
        const other = direction === "up" ? "down" : "up";
        this.app.change({ sort: `${name}-${before === name ? other : first}` });
    }

    word({ threads, label }, key) {
        if (key === "kind") return threads[0].kind;
        if (key === "state") return stateOf(threads);
        return label;
    }

    fill(cells, index, element) {
        const row = this.rows[index];
        const chosen = row.threads.every(({ number }) => this.chosen.has(number));
        setCell(cells[0], chosen ? "✓" : "");
        element.setAttribute("aria-selected", chosen);
        this.fillName(cells[1], row, element);
        this.own.slice(OWN_NARROW).forEach(({ key }, i) => {
            setCell(cells[OWN_NARROW + i], this.word(row, key));
        });
        this.metrics.forEach((metric, i) => {
            const value = row.values[i];
            const atLeast = metric.name === "calls" && row.threads.some((thread) => thread.calls_at_least);
            const text = metric.text
                ? metric.text(row.threads[0])
                : `${atLeast ? "≥" : ""}${quantity(value, metric.unit)}`;
            setCell(cells[this.own.length + i], text, value / (this.most[i] || 1));
        });
    }

    fillName(cell, row, element) {
        const { state, ledger } = this.app;
        const pool = row.threads.length > 1;
        const open = pool && state.opened.includes(row.threads[0].pool);
        const indented = state.fold && ledger.hasPools;
        cell.title = this.story(row);
        cell.dataset.twist = pool ? (open ? "▾" : "▸") : "";
        cell.classList.toggle("frame", indented);
        cell.style.paddingLeft = row.level ? `${INDENT_FIRST + INDENT_PIXELS * row.level}px` : "";
        if (pool) element.setAttribute("aria-expanded", open);
        else element.removeAttribute("aria-expanded");
        const taken = (indented ? TWIST_PIXELS : 0) + row.level * INDENT_PIXELS;
        setCell(cell, this.table.cutName(row.label, 1, taken));
    }

    key(key, index) {
        const { threads, level } = this.rows[index];
        const open = threads.length > 1 && this.app.state.opened.includes(threads[0].pool);
        if (key === " ") return this.choose(index);
        if (key === "ArrowRight" && threads.length > 1 && !open) this.toggle(index);
        else if (key === "ArrowRight" && open) this.table.moveTo(index + 1);
        else if (key === "ArrowLeft" && open) this.toggle(index);
        else if (key === "ArrowLeft" && level)
            this.table.moveTo(this.rows.findLastIndex((row, i) => i < index && row.level < level));
        else return false;
        return true;
    }

    click(index, cell, event) {
        if (cell === 0) return this.choose(index);
        if (cell !== 1) return false;
        const box = event.target.closest(".name").getBoundingClientRect();
        if (this.rows[index].threads.length > 1 && event.clientX - box.left < TWIST_PIXELS)
            this.toggle(index);
        else this.app.showThreads(this.rows[index].threads);
        return true;
    }

    toggle(index) {
        const opened = new Set(this.app.state.opened);
        const { pool } = this.rows[index].threads[0];
        if (!opened.delete(pool)) opened.add(pool);
        this.app.change({ opened: [...opened] });
    }

    story({ threads, label }) {
        const lines = [cut(label, STORY_LENGTH)];
        if (threads.length > 1) {
            const names = threads.slice(0, STORY_NAMES).map((thread) => cut(thread.label, STORY_NAME_LENGTH));
            return [...lines, ...names, ...(threads.length > STORY_NAMES ? ["…"] : [])].join("\n");
        }
        const [thread] = threads;
        const later = (thread.renames ?? []).map(printable).join(", ");
        if (later) lines.push(`later called ${cut(later, STORY_LENGTH)}`);
        if (thread.parent) lines.push(`started by ${cut(printable(thread.parent), STORY_LENGTH)}`);
        if (thread.tids?.length) lines.push(`kernel thread ${thread.tids.join(", ")}`);
        return lines.join("\n");
    }

    // One row more or less of those whose trees are shown; none chosen means all.
    choose(index) {
        const chosen = new Set(this.app.state.threads ?? []);
        const numbers = this.rows[index].threads.map(({ number }) => number);
        if (numbers.every((number) => chosen.has(number))) numbers.forEach((number) => chosen.delete(number));
        else numbers.forEach((number) => chosen.add(number));
        this.app.change({ threads: chosen.size ? [...chosen] : null, zoom: null });
        return true;
    }
}
