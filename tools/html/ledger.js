// The ledger of the page, as columns of numbers: one number a node in each. See html_ledger.h.

import { blockJson, blockOctets, blockText, hasBlock, Numbers } from "./blocks.js";
import { CallTree } from "./call_tree.js";
import { hookedMethods } from "./hooked.js";
import { ROOT } from "./kinds.js";
import { latenciesOf } from "./latency_view.js";
import { cut, printable } from "./names.js";
import { findPools } from "./pools.js";
import { quantity } from "./quantity.js";

const LABEL_LENGTH = 300; // more of a name than any frame or row shows

export class Ledger {
    constructor() {
        this.about = blockJson("about");
        this.facts = blockText("facts");
        const { process, threads, balance, budget, resolution } = blockJson("threads");
        Object.assign(this, { process, balance, budget, resolution });
        this.readThreads(threads);
        this.readMethods(blockJson("methods"));
        this.hooked = hookedMethods(blockOctets("hooked") ? blockJson("hooked") : []);
        this.latencies = latenciesOf(blockOctets("latency") ? blockJson("latency") : []);
        this.readNodes();
        this.kinds = new Set(this.kind);
        this.columns = new Map();
        this.metrics = this.metricsOfNodes();
        this.readLocks();
        this.isDiff = false;
        this.readMoments();
    }

    readThreads(threads) {
        const order = new Numbers(blockOctets("thread-order"));
        const trees = new Numbers(blockOctets("trees"));
        this.threads = threads.map((thread) => ({
            ...thread,
            number: order.next(),
            label: printable(thread.name) || "(no name)",
            first: 0,
            end: 0,
        }));
        this.pools = findPools(this.threads);
        this.byNumber = new Map(this.threads.map((thread) => [thread.number, thread]));
        this.nodeCount = 0;
        while (trees.left) {
            const thread = this.byNumber.get(trees.next());
            const count = trees.next();
            thread.first = this.nodeCount;
            this.nodeCount += count;
            thread.end = this.nodeCount;
        }
    }

    readLocks() {
        const { locks, unseen_holds: unseen } = hasBlock("locks") ? blockJson("locks") : { locks: [], unseen_holds: 0 };
        const { edges, ...cascade } = hasBlock("blockers")
            ? blockJson("blockers")
            : { edges: [], ran: [], followed: [], knots: [] };
        Object.assign(this, { locks, unseenHolds: unseen, edges, cascade });
    }

    // Intervals between snapshots: their columns are NAME@NUMBER.
    readMoments() {
        const { moments, left_out: leftOut } = blockOctets("moments")
            ? blockJson("moments")
            : { moments: [], left_out: 0 };
        this.momentsLeftOut = leftOut;
        this.intervals = moments.slice(1).map((to, number) => ({ number, from: moments[number], to }));
        for (const interval of this.intervals) {
            const { from, to } = interval;
            interval.seconds = (to.asof_ns - from.asof_ns) / 1e9;
            interval.label = `${quantity(from.wall_ns, "ns")} – ${quantity(to.wall_ns, "ns")}`;
            interval.story = `${printable(from.ledger)} → ${printable(to.ledger)}`;
        }
    }

    readMethods(rows) {
        this.methods = rows.map(([className, fullName, signature, source]) => {
            const full = printable(fullName);
            const owner = printable(className);
            const owned = owner !== "" && full.startsWith(`${owner}.`);
            const after = (length) => cut(owned ? full.slice(length) : full, LABEL_LENGTH);
            return {
                full,
                className: owner,
                label: cut(full, LABEL_LENGTH),
                short: after(owner.lastIndexOf(".") + 1), // HashMap.put
                name: after(owner.length + 1), // put
                signature: printable(signature),
                source: printable(source),
            };
        });
    }

    readNodes() {
        const numbers = new Numbers(blockOctets("nodes"));
        this.parent = new Int32Array(this.nodeCount);
        this.method = new Uint32Array(this.nodeCount);
        this.kind = new Uint8Array(this.nodeCount);
        let before = -1;
        for (let i = 0; i < this.nodeCount; i++) {
            this.kind[i] = numbers.next();
            let parent = before;
            for (let up = numbers.next(); up > 0; up--) parent = this.parent[parent];
            this.parent[i] = this.kind[i] === ROOT ? -1 : parent;
            this.method[i] = numbers.next();
            before = i;
        }
    }

    // The longest of a method's names that has at most so many characters, or the shortest.
    methodWithin(method, length) {
        const { label, short, name } = this.methods[method];
        return label.length <= length ? label : short.length <= length ? short : name;
    }

    // What frames can be as wide as.
    metricsOfNodes() {
        const metrics = this.about.columns.filter((column) => column.of_nodes);
        const waiting = {
            name: "waiting",
            key: "waiting_ns",
            title: "waiting",
            meaning: "wall time less CPU time and the wait for a processor",
            unit: "ns",
            of_nodes: true,
        };
        const wall = metrics.findIndex((column) => column.name === "wall");
        if (wall >= 0) metrics.splice(wall + 1, 0, waiting);
        return metrics;
    }

    metric(name) {
        return this.metrics.find((metric) => metric.name === name);
    }

    // A metric as the views show it: `column` is what frames are as wide as, `order` what tables are
    // sorted by, `label` what it is called in a sentence.
    shown({ metric: name, interval = -1 }) {
        const metric = this.metric(name) ?? this.metrics[0];
        const of = (column) => (interval < 0 ? column : `${column}@${interval}`);
        const column = of(metric.name);
        const label = interval < 0 ? metric.title : `${metric.title} of ${this.intervals[interval].label}`;
        return { ...metric, column, order: column, calls: of("calls"), label };
    }

    // A column's sums by thread, as its place in `threads`.
    sumsOfThreads(name) {
        const values = this.column(name);
        return this.threads.map(({ first, end }) => {
            let sum = 0;
            for (let node = first; node < end; node++) sum += values[node];
            return sum;
        });
    }

    // By method, of those threads; what stands for no method is among them.
    sumsOfMethods(name, threads) {
        const values = this.column(name);
        const sums = new Float64Array(this.methods.length);
        for (const { first, end } of threads)
            for (let node = first; node < end; node++) sums[this.method[node]] += values[node];
        return sums;
    }

    get hasPools() {
        return this.pools.length < this.threads.length;
    }

    treeOf(threads, how) {
        return new CallTree(this, threads, how);
    }

    // A column's base values, by node; read when first asked for.
    column(name) {
        if (!this.columns.has(name))
            this.columns.set(name, /^waiting(@|$)/.test(name) ? this.waiting(name) : this.readColumn(name));
        return this.columns.get(name);
    }

    // By node: the highest level of recursion that it stands for, if that is not its own; else 0.
    get deepestLevels() {
        this.levels ??= this.readSparse("levels");
        return this.levels;
    }

    // By node: how far what no sample saw may be off; else 0.
    get unseenErrors() {
        this.unseen ??= this.readSparse("unseen-errors");
        return this.unseen;
    }

    readColumn(name) {
        const [metric, interval] = name.split("@");
        return this.readSparse(interval === undefined ? `column-${metric}` : `moment-${interval}-${metric}`);
    }

    readSparse(block) {
        const numbers = new Numbers(blockOctets(block));
        const values = new Float64Array(this.nodeCount);
        for (let node = 0; numbers.left; node++) {
            node += numbers.next();
            values[node] = numbers.next();
        }
        return values;
    }

    waiting(name) {
        const suffix = name.slice("waiting".length);
        const cpu = this.column(`cpu${suffix}`);
        const delay = this.metric("run_queue_delay") ? this.column(`run_queue_delay${suffix}`) : null;
        const values = this.column(`wall${suffix}`).slice();
        for (let i = 0; i < values.length; i++)
            values[i] = Math.max(0, values[i] - cpu[i] - (delay ? delay[i] : 0));
        return values;
    }
}
