// The ledger of the page, as columns of numbers: one number a node in each. See html_ledger.h.

import { blockJson, blockOctets, blockText, Numbers } from "./blocks.js";
import { CallTree } from "./call_tree.js";
import { ROOT } from "./kinds.js";
import { cut, printable } from "./names.js";
import { findPools } from "./pools.js";

const LABEL_LENGTH = 300; // more of a name than any frame or row shows

export class Ledger {
    constructor() {
        this.about = blockJson("about");
        this.facts = blockText("facts");
        const { process, threads, balance } = blockJson("threads");
        this.process = process;
        this.balance = balance;
        this.readThreads(threads);
        this.readMethods(blockJson("methods"));
        this.readNodes();
        this.kinds = new Set(this.kind);
        this.columns = new Map();
        this.metrics = this.metricsOfNodes();
        this.isDiff = false;
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
    shown({ metric: name }) {
        const metric = this.metric(name) ?? this.metrics[0];
        return { ...metric, column: metric.name, order: metric.name, label: metric.title };
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
            this.columns.set(name, name === "waiting" ? this.waiting() : this.readColumn(name));
        return this.columns.get(name);
    }

    readColumn(name) {
        const numbers = new Numbers(blockOctets(`column-${name}`));
        const values = new Float64Array(this.nodeCount);
        for (let node = 0; numbers.left; node++) {
            node += numbers.next();
            values[node] = numbers.next();
        }
        return values;
    }

    waiting() {
        const cpu = this.column("cpu");
        const delay = this.metric("run_queue_delay") ? this.column("run_queue_delay") : null;
        const values = this.column("wall").slice();
        for (let i = 0; i < values.length; i++)
            values[i] = Math.max(0, values[i] - cpu[i] - (delay ? delay[i] : 0));
        return values;
    }
}
