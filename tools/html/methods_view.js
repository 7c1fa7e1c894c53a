// Methods, whoever called them; and of the chosen one its callers and what it calls.

import { byId } from "./dom.js";
import { perCall } from "./frame_text.js";
import { callsText, hookedText } from "./hooked.js";
import { hasCalls, kinds } from "./kinds.js";
import { callersOf, flatRows } from "./methods.js";
import { quantity, share } from "./quantity.js";
import { errorColumn, errorsOfFrames, errorsOfMethods, hasErrors } from "./sample_error.js";
import { setCell, Table } from "./table.js";

// With the calls that were counted and are in no tree: nothing says which thread made them.
function withCounted(rows, { ledger, state }) {
    if (state.threads || !ledger.hooked) return rows;
    return rows.map((row) => {
        const hooked = ledger.hooked.get(row.method);
        return hooked ? { ...row, calls: row.calls + hooked.counted, knowsCalls: hooked.known } : row;
    });
}

export class MethodsView {
    constructor(app) {
        this.app = app;
        this.order = { key: "base", direction: "down" };
        const table = (id, label, rows) => {
            const made = new Table(byId(id), {
                label,
                columns: this.columnsOf(app.metric),
                fill: (cells, row) => this.fill(cells, this[rows][row], made.room[0]),
                onSort: (key) => this.sortBy(key),
                onOpen: (row) => app.change({ method: this[rows][row].method }, { step: true }),
            });
            made.onClick = (row) => made.onOpen(row);
            return made;
        };
        this.rows = [];
        this.parents = [];
        this.children = [];
        this.tables = [
            [table("method-table", "Methods", "rows"), "rows"],
            [table("parent-table", "Callers", "parents"), "parents"],
            [table("child-table", "Callees", "children"), "children"],
        ];
    }

    // How far times may be off stands behind them.
    columnsOf(metric) {
        const columns = this.columns(metric);
        if (!hasErrors(this.app.ledger, metric)) return columns;
        const [name, calls, base, cum] = columns;
        return [
            { ...name, rem: 8 },
            { ...calls, rem: 5 },
            base,
            errorColumn("baseError", "base"),
            cum,
            errorColumn("cumError", "cum"),
        ];
    }

    columns({ title }) {
        return [
            { key: "name", title: "Method", rem: 11, grow: true, className: "name frame" },
            { key: "calls", title: "calls", rem: 6 },
            { key: "base", title: `${title} base`, rem: 6.5 },
            { key: "cum", title: `${title} cum`, rem: 6.5 },
        ];
    }

    rowsOf(tree, metric) {
        const rows = withCounted(flatRows(tree, metric.column, metric.calls), this.app);
        this.errors = hasErrors(this.app.ledger, metric) ? errorsOfFrames(tree, metric) : null;
        if (!this.errors) return rows;
        const errors = errorsOfMethods(tree, this.errors);
        return rows.map((row) => {
            const { base, cum } = errors.get(row.method) ?? { base: 0, cum: 0 };
            return { ...row, baseError: Math.round(base), cumError: Math.round(cum) };
        });
    }

    stanzaOf(tree, metric, method) {
        return callersOf(tree, metric.column, method, metric.calls, this.errors);
    }

    show() {
        const { tree, metric, matches, state } = this.app;
        if (this.tree !== tree || this.metric !== metric.order) {
            this.tree = tree;
            this.metric = metric.order;
            this.all = this.rowsOf(tree, metric);
            for (const [table] of this.tables) table.setColumns(this.columnsOf(metric));
        }
        this.rows = matches ? this.all.filter(({ method }) => matches[method]) : [...this.all];
        this.sort(this.rows);
        const chosen = this.all.some(({ method }) => method === state.method)
            ? state.method
            : (this.rows[0]?.method ?? -1);
        this.showStanza(chosen);
        const current = this.rows.findIndex(({ method }) => method === chosen);
        for (const [table, rows] of this.tables) {
            table.showSort(this.order.key, this.order.direction);
            table.setRows(this[rows].length);
        }
        if (current >= 0) this.tables[0][0].moveTo(current);
    }

    showStanza(method) {
        const { metric } = this.app;
        const row = this.all.find((one) => one.method === method);
        Object.assign(this, row ? this.stanzaOf(this.tree, metric, method) : { parents: [], children: [] });
        this.sort(this.parents);
        this.sort(this.children);
        byId("self").textContent = row ? this.nameOf(method) : "No method";
        byId("self-numbers").textContent = row ? this.numbersOf(row) : "";
    }

    numbersOf(row) {
        const { metric, tree } = this.app;
        const whole = tree.cum(metric.column)[0];
        const amount = (value, error) =>
            `${quantity(value, metric.unit)}${error ? ` ± ${quantity(error, metric.unit)}` : ""} (${share(value, whole)})`;
        const parts = [
            `${metric.title} base ${amount(row.base, row.baseError)}`,
            `cum ${amount(row.cum, row.cumError)}`,
        ];
        const hooked = hookedText(this.app.ledger, row.method);
        if (row.calls) {
            parts.push(`calls ${callsText(row.calls, hooked && !row.knowsCalls)}`);
            if (metric.name !== "calls" && !hooked)
                parts.push(
                    `a call: base ${perCall(row.base, row.calls, metric.unit)}, ` +
                        `cum ${perCall(row.cum, row.calls, metric.unit)}`,
                );
        }
        return parts.concat(hooked || []).join(" · ");
    }

    nameOf(method) {
        return this.app.ledger.methods[method].label;
    }

    sort(rows) {
        const { key, direction } = this.order;
        const sign = direction === "up" ? 1 : -1;
        const of = key === "name" ? (row) => this.nameOf(row.method) : (row) => row[key];
        rows.sort((a, b) => (of(a) < of(b) ? -sign : of(a) > of(b) ? sign : a.method - b.method));
    }

    sortBy(key) {
        const again = this.order.key === key;
        const first = key === "name" ? "up" : "down";
        const other = this.order.direction === "up" ? "down" : "up";
        this.order = { key, direction: again ? other : first };
        this.show();
    }

    fill(cells, row, room) {
        const name = cells[0];
        const hooked = hookedText(this.app.ledger, row.method);
        name.title = this.nameOf(row.method) + (hooked ? `\n${hooked}` : "");
        name.lastChild.dataset.mark = kinds[row.kind].mark;
        setCell(name, this.app.ledger.methodWithin(row.method, room));
        this.fillNumbers(cells, row);
    }

    fillNumbers(cells, row) {
        const { metric, tree } = this.app;
        const whole = tree.cum(metric.column)[0];
        const its = row.counted ?? row.method; // whose calls they are
        const atLeast = row.calls && !row.knowsCalls && this.app.ledger.hooked?.has(its);
        setCell(cells[1], hasCalls(row.kind) || row.calls ? callsText(row.calls, atLeast) : "");
        const numbers = [...cells].slice(2);
        for (const [value, error] of [
            [row.base, row.baseError],
            [row.cum, row.cumError],
        ]) {
            setCell(numbers.shift(), quantity(value, metric.unit), value / whole);
            if (error !== undefined) setCell(numbers.shift(), error ? quantity(error, metric.unit) : "");
        }
    }
}
