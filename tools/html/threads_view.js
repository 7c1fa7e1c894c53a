// The threads: a table to sort and search, and to choose whose call trees are shown.

import { byId } from "./dom.js";
import { cut, printable } from "./names.js";
import { quantity } from "./quantity.js";
import { matcher } from "./search.js";
import { setCell, Table } from "./table.js";

const OWN = [
    { key: "chosen", title: "✓", hint: "shown in the other views (Space)", rem: 2.5, className: "mark", fixed: true },
    { key: "name", title: "Thread", rem: 11, grow: true, className: "name" },
    { key: "kind", title: "Kind", rem: 5.5, className: "word" },
    { key: "state", title: "State", rem: 5.5, className: "word" },
];
const OWN_NARROW = 2; // of them, in narrow windows
const narrow = matchMedia("(width < 45rem)");
const STORY_LENGTH = 1000;
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
        this.most = this.metrics.map((metric) =>
            ledger.threads.reduce((most, thread) => Math.max(most, metric.of(thread)), 0),
        );
        this.table = new Table(byId("thread-table"), {
            label: "Threads",
            columns: this.columns(),
            fill: (cells, row, element) => this.fill(cells, row, element),
            onSort: (key) => this.sortBy(key),
            onOpen: (row) => app.showThread(this.rows[row]),
            onKey: (key, row) => key === " " && this.choose(row),
        });
        this.table.onClick = (row, cell) =>
            cell === 0 ? this.choose(row) : cell === 1 && app.showThread(this.rows[row]);
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
        this.own = narrow.matches ? OWN.slice(0, OWN_NARROW) : OWN;
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
        const matches = matcher(state.find);
        this.rows = ledger.threads.filter((thread) => !matches || matches(thread.label));
        this.sort();
        const chosen = state.threads ? `${state.threads.length} chosen, ` : "";
        byId("thread-count").textContent = matches
            ? `${chosen}${this.rows.length} of ${ledger.threads.length} threads`
            : `${chosen}${ledger.threads.length} threads`;
        byId("show-chosen").textContent = state.threads
            ? `Show call tree of ${state.threads.length === 1 ? "the one" : `these ${state.threads.length}`}`
            : "Show call tree of all";
        this.table.setRows(this.rows.length);
    }

    sort() {
        const [key, direction] = this.app.state.sort.split("-");
        const metric = this.metrics.find(({ name, key: its }) => name === key || its === key);
        const of = metric ? metric.of : (thread) => this.word(thread, key).toLowerCase();
        const sign = direction === "up" ? 1 : -1;
        const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
        this.rows.sort((a, b) => sign * compare(of(a), of(b)) || a.number - b.number);
        this.table.showSort(metric?.key ?? key, direction);
    }

    sortBy(key) {
        const metric = this.metrics.find((one) => one.key === key);
        const name = metric?.name ?? key;
        const [before, direction] = this.app.state.sort.split("-");
        const first = metric ? "down" : "up";
        const other = direction === "up" ? "down" : "up";
        this.app.change({ sort: `${name}-${before === name ? other : first}` });
    }

    word(thread, key) {
        if (key === "kind") return thread.kind;
        if (key === "state") return thread.terminated ? "ended" : "alive";
        return thread.label;
    }

    fill(cells, row, element) {
        const thread = this.rows[row];
        const { state } = this.app;
        const chosen = state.threads?.includes(thread.number) ?? false;
        setCell(cells[0], chosen ? "✓" : "");
        element.setAttribute("aria-selected", chosen);
        cells[1].title = this.story(thread);
        setCell(cells[1], thread.label);
        this.own.slice(OWN_NARROW).forEach(({ key }, i) => {
            setCell(cells[OWN_NARROW + i], this.word(thread, key));
        });
        this.metrics.forEach((metric, i) => {
            const value = metric.of(thread);
            const text = metric.text ? metric.text(thread) : quantity(value, metric.unit);
            setCell(cells[this.own.length + i], text, value / (this.most[i] || 1));
        });
    }

    story(thread) {
        const lines = [cut(thread.label, STORY_LENGTH)];
        const later = (thread.renames ?? []).map(printable).join(", ");
        if (later) lines.push(`later called ${cut(later, STORY_LENGTH)}`);
        if (thread.parent) lines.push(`started by ${cut(printable(thread.parent), STORY_LENGTH)}`);
        if (thread.tids?.length) lines.push(`kernel thread ${thread.tids.join(", ")}`);
        return lines.join("\n");
    }

    // One more or one less of those whose trees are shown; none chosen means all.
    choose(row) {
        const { number } = this.rows[row];
        const chosen = new Set(this.app.state.threads ?? []);
        if (!chosen.delete(number)) chosen.add(number);
        this.app.change({ threads: chosen.size ? [...chosen] : null, zoom: null });
        return true;
    }
}
