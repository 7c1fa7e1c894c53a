// The call tree as a table: callers above, what they call below, the heaviest first.

import { byId } from "./dom.js";
import { perCall } from "./frame_text.js";
import { callsText, hookedText, isAtLeast } from "./hooked.js";
import { EXACT, hasCalls, kinds, ROOT } from "./kinds.js";
import { quantity, share } from "./quantity.js";
import { errorColumn, errorsOf, hasErrors } from "./sample_error.js";
import { setCell, Table } from "./table.js";

const INDENT_REM = 0.9;
const INDENT_LEVELS = 40; // deeper frames stand no further right; their level is in a column
const HEAVY = 0.3; // opened at once: what has at least so much of the root

export class TreeView {
    constructor(app) {
        this.app = app;
        this.table = new Table(byId("tree-table"), {
            label: "Call tree",
            role: "treegrid",
            columns: this.columns(app.metric),
            fill: (cells, row, element) => this.fill(cells, row, element),
            onOpen: (row) => app.zoomTo(this.rows[row]),
            onKey: (key, row) => this.key(key, row),
        });
        this.table.onClick = (row, cell, event) => this.click(row, cell, event);
    }

    // How far times may be off stands behind them.
    columns(metric) {
        const { title } = metric;
        const errors = hasErrors(this.app.ledger, metric);
        return [
            { key: "name", title: "Frame", rem: 15, grow: true, className: "name frame" },
            { key: "cum", title: `${title} cum`, rem: 7.5 },
            ...(errors ? [errorColumn("cumError", "cum")] : []),
            { key: "part", title: "of all", rem: 5 },
            { key: "base", title: `${title} base`, rem: 7.5 },
            ...(errors ? [errorColumn("baseError", "base")] : []),
            { key: "calls", title: "calls", rem: 6.5 },
            { key: "each", title: "cum a call", rem: 6.5 },
            { key: "level", title: "level", rem: 4, hint: "how deep it stands; ×n: recursion" },
        ];
    }

    show() {
        const { tree, metric } = this.app;
        if (this.tree !== tree || this.metric !== metric.order) {
            this.tree = tree;
            this.metric = metric.order;
            this.open = new Set();
            this.openHeavy();
            this.table.setColumns(this.columns(metric));
            this.table.current = 0;
        }
        this.openZoomed();
        this.list();
    }

    openHeavy() {
        const cum = this.tree.cum(this.metric);
        let frame = 0;
        while (frame !== undefined && cum[frame] >= HEAVY * cum[0]) {
            this.open.add(frame);
            frame = this.tree.children(this.metric, frame)[0];
        }
    }

    // A zoomed frame is opened to, and is the current row.
    openZoomed() {
        const { zoom } = this.app.state;
        this.wanted = zoom && "node" in zoom ? this.tree.frameOfNode(zoom.node) : 0;
        for (const above of this.wanted > 0 ? this.tree.path(this.wanted) : []) this.open.add(above);
        if (this.wanted > 0 && this.opened !== this.wanted) this.select = this.wanted;
        this.opened = this.wanted;
    }

    // The rows: frames whose callers are all open, in tree order.
    list() {
        this.rows = [];
        this.levels = [];
        const waiting = [[0, 0]];
        while (waiting.length) {
            const [frame, level] = waiting.pop();
            this.rows.push(frame);
            this.levels.push(level);
            if (!this.open.has(frame)) continue;
            const children = this.tree.children(this.metric, frame);
            for (let i = children.length - 1; i >= 0; i--) waiting.push([children[i], level + 1]);
        }
        this.table.setRows(this.rows.length);
        if (this.select !== undefined) this.table.moveTo(this.rows.indexOf(this.select));
        this.select = undefined;
    }

    fill(cells, row, element) {
        const { tree, app } = this;
        const frame = this.rows[row];
        const kind = tree.kind[frame];
        const leaf = tree.firstChild[frame] < 0;
        const open = this.open.has(frame);
        const level = this.levels[row];
        const name = cells[0];
        name.style.paddingLeft = `${0.4 + Math.min(level, INDENT_LEVELS) * INDENT_REM}rem`;
        name.dataset.twist = leaf ? "" : open ? "▾" : "▸";
        name.lastChild.dataset.mark = kinds[kind].mark;
        name.classList.toggle("match", Boolean(app.matches?.[tree.method[frame]]) && kind !== ROOT);
        const hooked = kind === ROOT ? "" : hookedText(tree.ledger, tree.method[frame]);
        name.title = [tree.label(frame), kinds[kind].name, hooked].filter(Boolean).join("\n");
        if (leaf) element.removeAttribute("aria-expanded");
        else element.setAttribute("aria-expanded", open);
        element.setAttribute("aria-level", level + 1);
        const room = this.table.room[0] - 2 * Math.min(level, INDENT_LEVELS) - 4;
        setCell(name, tree.labelWithin(frame, room));
        this.fillNumbers(cells, frame);
        const recursion = tree.level(frame);
        const most = tree.levelMax(frame);
        const times = most > recursion ? `${recursion + 1}–${most + 1}` : `${recursion + 1}`;
        setCell(cells[cells.length - 1], most ? `${level} ×${times}` : `${level}`);
    }

    fillNumbers(cells, frame) {
        const { tree, app } = this;
        const { metric } = app;
        const { base, cum } = tree.sum(metric.column);
        const calls = tree.base(metric.calls)[frame];
        const counted = hasCalls(tree.kind[frame]);
        const errors = hasErrors(tree.ledger, metric) ? errorsOf(tree, metric, frame) : null;
        const left = [...cells].slice(1);
        const set = (...value) => setCell(left.shift(), ...value);
        const setError = (error) => set(Math.round(error) ? quantity(Math.round(error), metric.unit) : "");
        set(quantity(cum[frame], metric.unit), cum[frame] / cum[0]);
        if (errors) setError(errors.cum);
        set(share(cum[frame], cum[0]));
        set(quantity(base[frame], metric.unit), base[frame] / cum[0]);
        if (errors) setError(errors.base);
        set(counted ? callsText(calls, isAtLeast(tree.ledger, tree.method[frame], EXACT)) : "");
        set(counted && metric.name !== "calls" ? perCall(cum[frame], calls, metric.unit) : "");
    }

    toggle(row) {
        const frame = this.rows[row];
        if (this.tree.firstChild[frame] < 0) return;
        if (!this.open.delete(frame)) this.open.add(frame);
        this.list();
    }

    click(row, cell, event) {
        if (cell !== 0) return false;
        this.toggle(row);
        if (event.detail === 2) this.app.zoomTo(this.rows[row]);
        return false;
    }

    key(key, row) {
        const frame = this.rows[row];
        const open = this.open.has(frame);
        const leaf = this.tree.firstChild[frame] < 0;
        if (key === "ArrowRight" && !open) this.toggle(row);
        else if (key === "ArrowRight" && !leaf) this.table.moveTo(row + 1);
        else if (key === "ArrowLeft" && open) this.toggle(row);
        else if (key === "ArrowLeft") this.table.moveTo(this.rows.indexOf(this.tree.parent[frame]));
        else if (key === " ") this.toggle(row);
        else if (key === "*") this.openBelow(row);
        else if (key === "c" && this.tree.kind[frame] !== ROOT)
            this.app.showMethod(this.tree.method[frame]);
        else return false;
        return true;
    }

    // The heaviest way down from a row.
    openBelow(row) {
        for (let frame = this.rows[row]; frame !== undefined; )  {
            this.open.add(frame);
            frame = this.tree.children(this.metric, frame)[0];
        }
        this.list();
    }
}
