// Waits for locks: a table of the locks, and who waited for whom, as a graph and as a table. On the
// left of the graph are threads that waited, on the right those that held the lock; a line is as wide
// as the waits are long. A click on a thread leaves what concerns it, so a chain can be followed:
// whom the thread waited for, for which lock, and whom that one waited for. Where all chains end is in
// who_ran.js.

import { byId, element } from "./dom.js";
import { cutMiddle, printable } from "./names.js";
import { quantity, share } from "./quantity.js";
import { setCell, Table } from "./table.js";
import { WhoRan } from "./who_ran.js";

const SVG = "http://www.w3.org/2000/svg";
const DIGITS = /#?[0-9]+/g;
const EDGES_DRAWN = 40;
const ROW_PIXELS = 26;
const WIDTH_MAX = 16;
const NAME_MAX = 32; // characters
const NAME_PIXELS = 260;
const PATH_MAX = 300;
const NOBODY = "(owner unknown)";

const LOCK_COLUMNS = [
    { key: "lock", title: "Lock", rem: 18, grow: true, className: "name frame" },
    { key: "kind", title: "Kind", rem: 5.5, className: "word" },
    { key: "contentions", title: "Waits", rem: 6 },
    { key: "wait_ns", title: "Wait", rem: 6.5 },
    { key: "wait_p99_ns", title: "P99", hint: "99 of 100 waits were no longer", rem: 6.5 },
    { key: "wait_max_ns", title: "Max", hint: "the longest wait", rem: 6.5 },
    { key: "blocked_ns", title: "Blocked", hint: "the time in which anybody waited for the lock", rem: 6.5 },
    { key: "holds", title: "Holds", hint: "that somebody had to wait for, as far as they were seen whole", rem: 6 },
    { key: "hold_ns", title: "Hold", hint: "how long these holds were, together", rem: 6.5 },
    { key: "hold_max_ns", title: "Longest", hint: "the longest of these holds", rem: 6.5 },
    {
        key: "acquisitions",
        title: "Acquired",
        hint: "how often, nested acquisitions not counted, since hooks tell so; -: not known",
        rem: 6.5,
    },
    {
        key: "recursion_max",
        title: "Recursion",
        hint: "how deeply the owner had the lock nested when a wait began, at most; -: not known",
        rem: 7,
    },
    { key: "owner_unknown", title: "Owner unknown", hint: "waits of which nobody knows who held the lock", rem: 9 },
];
const EDGE_COLUMNS = [
    { key: "waiter", title: "Waiter", rem: 9, grow: true, className: "name frame" },
    { key: "blocker", title: "Blocker", hint: "held the lock when the wait began", rem: 9, className: "word" },
    { key: "lock", title: "Lock", rem: 9, className: "word" },
    { key: "count", title: "Waits", rem: 5 },
    { key: "wait_ns", title: "Wait", rem: 5.5 },
];
const PATH_COLUMNS = [
    { key: "path", title: "Path", rem: 14, grow: true, className: "name frame", fixed: true },
    { key: "what", title: "", rem: 5, className: "word", fixed: true },
    { key: "ns", title: "Time", rem: 6.5, fixed: true },
];

const shorter = (name) => name.slice(name.lastIndexOf(".") + 1);
const lockName = ({ class: name, identity }) =>
    `${printable(name ?? "(class not known)")}@${identity ?? "*"}`;

function shape(name, attributes, title = "") {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (title) {
        const hint = document.createElementNS(SVG, "title");
        hint.textContent = title;
        made.append(hint);
    }
    return made;
}

export class LocksView {
    constructor(app) {
        this.app = app;
        this.orders = { locks: { key: "wait_ns", direction: "down" }, edges: { key: "wait_ns", direction: "down" } };
        this.fold = true; // names that differ in digits only are one
        this.lock = null; // chosen
        this.thread = null;
        this.locks = app.ledger.locks;
        this.lockTable = this.makeTable("lock-table", "Locks", LOCK_COLUMNS, "locks");
        this.lockTable.onOpen = (row) => this.chooseLock(this.locks[row]);
        this.edgeTable = this.makeTable("edge-table", "Who waited for whom", EDGE_COLUMNS, "edges");
        this.edgeTable.onOpen = (row) => this.chooseThread(this.edges[row].blocker ?? this.edges[row].waiter);
        this.pathTable = new Table(byId("lock-path-table"), {
            label: "Where threads waited and held",
            columns: PATH_COLUMNS,
            fill: (cells, row) => this.fillPath(cells, this.paths[row]),
        });
        this.whoRan = new WhoRan(this);
        this.showMissing();
        this.lockTable.onClick = (row) => this.chooseLock(this.locks[row]);
        this.edgeTable.onClick = (row, cell) =>
            this.chooseThread(cell === 0 ? this.edges[row].waiter : this.edges[row].blocker);
        byId("all-blocks").addEventListener("click", () => {
            this.lock = null;
            this.thread = null;
            this.show();
        });
        byId("fold-blocks").addEventListener("change", (event) => this.foldNames(event.target.checked));
        new ResizeObserver(() => this.draw()).observe(byId("blockers"));
    }

    makeTable(id, label, columns, which) {
        return new Table(byId(id), {
            label,
            columns,
            fill: (cells, row, room) => this.fillRow(cells, columns, this[which][row], room),
            onSort: (key) => this.sortBy(which, key),
        });
    }

    // What is in none of these numbers.
    showMissing() {
        const { budget, unseenHolds } = this.app.ledger;
        const lines = [];
        if (budget?.unheard_waits) {
            const part = share(budget.unheard_waits, budget.heard_waits + budget.unheard_waits);
            lines.push(
                `${part} of all waits, for locks or not, are in none of these numbers: the budget had no room for them ` +
                    "(overhead=); those for locks are left out last",
            );
        }
        if (unseenHolds)
            lines.push(
                `at least ${quantity(unseenHolds, "count")} hold${unseenHolds === 1 ? "" : "s"} that somebody had to wait for, ` +
                    "not in Holds: no hook told of the begin or of the end; what the budget had no room for is not counted",
            );
        byId("locks-missing").replaceChildren(...lines.map((line) => element("li", "", line)));
        byId("locks-missing").hidden = lines.length === 0;
    }

    // ---- what is shown ----

    chooseLock(lock) {
        this.lock = this.lock === lock ? null : lock;
        this.show();
        return true;
    }

    chooseThread(thread) {
        if (thread === null) return false;
        this.thread = this.thread === thread ? null : thread;
        this.show();
        return true;
    }

    foldNames(fold) {
        this.fold = fold;
        this.thread = null;
        this.show();
    }

    nameOf(thread) {
        const shown = printable(thread) || "(no name)";
        return this.fold ? shown.replace(DIGITS, "#") : shown;
    }

    // Edges between the shown names, of the chosen lock and thread.
    edgesShown() {
        const found = new Map();
        for (const edge of this.app.ledger.edges) {
            const waiter = this.nameOf(edge.waiter);
            const blocker = edge.blocker === null ? null : this.nameOf(edge.blocker);
            if (this.lock && edge.lock !== this.lock.class) continue;
            if (this.thread !== null && waiter !== this.thread && blocker !== this.thread) continue;
            const lock = printable(edge.lock ?? "(class not known)");
            const key = JSON.stringify([waiter, blocker, lock]);
            const sum = found.get(key) ?? { waiter, blocker, lock, count: 0, wait_ns: 0 };
            sum.count += edge.count;
            sum.wait_ns += edge.wait_ns;
            found.set(key, sum);
        }
        return [...found.values()];
    }

    pathsShown() {
        const of = (lock) => [
            ...lock.waiters.map(({ path, wait_ns: ns }) => ({ path, what: "waits", ns })),
            ...lock.blockers.map(({ path, blocked_ns: ns }) => ({ path, what: "blocks", ns })),
            ...lock.holders.map(({ path, hold_ns: ns }) => ({ path, what: "held", ns })),
        ];
        const found = new Map();
        for (const { path, what, ns } of (this.lock ? [this.lock] : this.app.ledger.locks).flatMap(of)) {
            const label = path.map(printable).reverse().join(" < ") || "(not known)";
            const key = JSON.stringify([what, label]);
            const sum = found.get(key) ?? { label, what, ns: 0 };
            sum.ns += ns;
            found.set(key, sum);
        }
        return [...found.values()].filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
    }

    show() {
        byId("fold-blocks").checked = this.fold;
        this.locks = [...this.app.ledger.locks];
        this.edges = this.edgesShown();
        this.paths = this.pathsShown();
        this.sort("locks", (row, key) => (key === "lock" ? lockName(row) : row[key]));
        this.sort("edges", (row, key) => row[key] ?? "");
        this.lockTable.setRows(this.locks.length);
        this.edgeTable.setRows(this.edges.length);
        this.pathTable.setRows(this.paths.length);
        const parts = [this.lock && `for ${shorter(lockName(this.lock))}`, this.thread !== null && `of ${this.thread}`];
        byId("blocks-chosen").textContent = ["Who waited for whom", ...parts.filter(Boolean)].join(" ");
        this.whoRan.show(
            [this.lock && `in waits for ${shorter(lockName(this.lock))}`, this.thread !== null && `in chains with ${this.thread}`].filter(Boolean),
        );
        byId("all-blocks").hidden = !this.lock && this.thread === null;
        this.draw();
    }

    sort(which, valueOf) {
        const { key, direction } = this.orders[which];
        const sign = direction === "up" ? 1 : -1;
        this[which].sort((a, b) => {
            const [x, y] = [valueOf(a, key), valueOf(b, key)];
            return x < y ? -sign : x > y ? sign : b.wait_ns - a.wait_ns;
        });
        (which === "locks" ? this.lockTable : this.edgeTable).showSort(key, direction);
    }

    sortBy(which, key) {
        const { key: before, direction } = this.orders[which];
        const first = ["lock", "kind", "waiter", "blocker"].includes(key) ? "up" : "down";
        const other = direction === "up" ? "down" : "up";
        this.orders[which] = { key, direction: before === key ? other : first };
        this.show();
    }

    // ---- tables ----

    fillRow(cells, columns, row, room) {
        columns.forEach(({ key, className }, i) => {
            const value = key === "lock" && row.class !== undefined ? lockName(row) : row[key];
            if (key.endsWith("_ns")) setCell(cells[i], quantity(value, "ns"));
            else if (!className) setCell(cells[i], value === null ? "-" : quantity(value, "count"));
            else setCell(cells[i], cutMiddle(value ?? NOBODY, 120));
            cells[i].title = className ? (value ?? NOBODY) : "";
        });
        room?.setAttribute("aria-selected", row === this.lock);
    }

    fillPath(cells, { label, what, ns }) {
        setCell(cells[0], cutMiddle(label, PATH_MAX));
        cells[0].title = label;
        setCell(cells[1], what);
        setCell(cells[2], quantity(ns, "ns"));
    }

    // ---- the graph ----

    // The names of one side in the order of their waits, each with its place.
    placesOf(edges, side) {
        const sums = new Map();
        for (const edge of edges) {
            const name = edge[side] ?? NOBODY;
            sums.set(name, (sums.get(name) ?? 0) + edge.wait_ns);
        }
        const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
        return new Map(names.map((name, i) => [name, (i + 0.5) * ROW_PIXELS]));
    }

    draw() {
        const host = byId("blockers");
        if (!this.edges || host.clientWidth === 0) return;
        const edges = [...this.edges].sort((a, b) => b.wait_ns - a.wait_ns).slice(0, EDGES_DRAWN);
        const left = this.placesOf(edges, "waiter");
        const right = this.placesOf(edges, "blocker");
        const width = Math.max(host.clientWidth, 420);
        const names = Math.min(NAME_PIXELS, width * 0.32);
        const height = Math.max(left.size, right.size, 1) * ROW_PIXELS;
        const graph = shape("svg", { width, height, role: "img", "aria-label": "Who waited for whom" });
        const most = edges[0]?.wait_ns ?? 0;
        for (const edge of edges) {
            const [from, to] = [left.get(edge.waiter), right.get(edge.blocker ?? NOBODY)];
            const [x, end, middle] = [names, width - names, width / 2];
            const line = Math.max(1, (WIDTH_MAX * edge.wait_ns) / (most || 1));
            const story =
                `${edge.waiter} waited for ${edge.blocker ?? NOBODY}\n${edge.lock}\n` +
                `${quantity(edge.count, "count")} waits, ${quantity(edge.wait_ns, "ns")}`;
            graph.append(
                shape(
                    "path",
                    {
                        d: `M${x},${from} C${middle},${from} ${middle},${to} ${end},${to}`,
                        class: "wait",
                        "stroke-width": line.toFixed(1),
                    },
                    story,
                ),
            );
        }
        this.label(graph, left, names - 8, "end", "waiter");
        this.label(graph, right, width - names + 8, "start", "blocker");
        const more = this.edges.length - edges.length;
        host.replaceChildren(graph);
        if (!edges.length) host.replaceChildren(element("p", "", "no waits for locks"));
        if (more > 0) host.append(element("p", "", `${quantity(more, "count")} more are in the table only`));
    }

    label(graph, places, x, anchor, side) {
        for (const [name, y] of places) {
            const known = name !== NOBODY || side === "waiter";
            const chosen = known && name === this.thread;
            const text = shape("text", { x, y: y + 4, "text-anchor": anchor, class: chosen ? "chosen" : "" }, name);
            text.append(cutMiddle(name, NAME_MAX));
            if (known) {
                text.classList.add("thread");
                text.addEventListener("click", () => this.chooseThread(name));
            }
            graph.append(text);
        }
    }
}
