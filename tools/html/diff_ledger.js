// Two ledgers laid over each other, see html_diff.h: every node has values of A and of B.

import { blockOctets, Numbers } from "./blocks.js";
import { CallTree } from "./call_tree.js";
import { Ledger } from "./ledger.js";

export const IN_A = 1;
export const IN_B = 2;

export class DiffLedger extends Ledger {
    constructor() {
        super();
        this.isDiff = true;
        this.sides = new Uint8Array(blockOctets("sides"));
        for (const { name } of this.metrics) this.readThreadValues(name);
    }

    readThreadValues(name) {
        const a = new Numbers(blockOctets(`threads-${name}-a`));
        const b = new Numbers(blockOctets(`threads-${name}-b`));
        for (const thread of this.threads) {
            thread.values ??= {};
            thread.values[name] = { a: a.next(), b: b.next() };
        }
    }

    metricsOfNodes() {
        return this.about.columns;
    }

    shown({ metric: name, side }) {
        const metric = this.metric(name) ?? this.metrics[0];
        const [a, b] = [`${metric.name}-a`, `${metric.name}-b`];
        return {
            ...metric,
            a,
            b,
            column: side === "a" ? a : b,
            order: `${metric.name}-change`,
            label: `${metric.title} of ${side.toUpperCase()}`,
        };
    }

    treeOf(threads, how) {
        return new DiffTree(this, threads, how);
    }
}

// Besides NAME-a and NAME-b it has the column NAME-change: how large the changes are, whether more
// or less.
class DiffTree extends CallTree {
    sum(column) {
        const change = /^(.+)-change$/.exec(column);
        if (!change || this.sums.has(column)) return super.sum(column);
        const a = this.sum(`${change[1]}-a`);
        const b = this.sum(`${change[1]}-b`);
        const sizes = (of) => a[of].map((value, frame) => Math.abs(b[of][frame] - value));
        this.sums.set(column, { base: sizes("base"), cum: sizes("cum") });
        return this.sums.get(column);
    }

    // By frame: IN_A, IN_B or both.
    get sides() {
        if (!this.allSides) {
            this.allSides = new Uint8Array(this.count);
            for (const { first, end } of this.threads)
                for (let node = first; node < end; node++)
                    this.allSides[this.frameOf[node]] |= this.ledger.sides[node];
        }
        return this.allSides;
    }
}
