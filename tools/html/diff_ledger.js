// Two ledgers laid over each other, see html_diff.h: every node has values of A and of B.

import { blockOctets, hasBlock, Numbers } from "./blocks.js";
import { CallTree } from "./call_tree.js";
import { Ledger } from "./ledger.js";

export const IN_A = 1;
export const IN_B = 2;
const BOUNDS = 2; // the same two bits, this far to the left: calls of the side are so many at least

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

    // By node: how far a change of the metric may be off, as the samples of both sides tell; null:
    // nothing of the metric is sampled.
    changeErrors({ name }) {
        const [base, cum] = [`base-errors-${name}`, `cum-errors-${name}`];
        return hasBlock(base) ? { base: this.column(base), cum: this.column(cum) } : null;
    }

    readColumn(name) {
        return /^(base|cum)-errors-/.test(name) ? this.readSparse(name) : super.readColumn(name);
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

    // By frame: {base, cum}, how far its change may be off; of several nodes the root of the sum of
    // the squares. null: nothing of the metric is sampled.
    changeErrors(metric) {
        const ofNodes = this.ledger.changeErrors(metric);
        if (!ofNodes) return null;
        const squares = Array.from({ length: this.count }, () => ({ base: 0, cum: 0 }));
        for (const { first, end } of this.threads)
            for (let node = first; node < end; node++) {
                const sum = squares[this.frameOf[node]];
                sum.base += ofNodes.base[node] ** 2;
                sum.cum += ofNodes.cum[node] ** 2;
            }
        return squares.map(({ base, cum }) => ({ base: Math.sqrt(base), cum: Math.sqrt(cum) }));
    }

    // By frame: IN_A, IN_B or both.
    get sides() {
        this.allSides ??= this.bitsOfNodes().map((bits) => bits & (IN_A | IN_B));
        return this.allSides;
    }

    // By frame: IN_A, IN_B or both, where its calls on that side are so many at least.
    get bounds() {
        this.allBounds ??= this.bitsOfNodes().map((bits) => bits >> BOUNDS);
        return this.allBounds;
    }

    // The same by method.
    boundsOf(method) {
        if (!this.boundsOfMethods) {
            this.boundsOfMethods = new Map();
            this.bounds.forEach((bounds, frame) => {
                const its = this.method[frame];
                if (bounds) this.boundsOfMethods.set(its, bounds | (this.boundsOfMethods.get(its) ?? 0));
            });
        }
        return this.boundsOfMethods.get(method) ?? 0;
    }

    bitsOfNodes() {
        const bits = new Uint8Array(this.count);
        for (const { first, end } of this.threads)
            for (let node = first; node < end; node++) bits[this.frameOf[node]] |= this.ledger.sides[node];
        return bits;
    }
}
