// The call tree of some threads: equal calling contexts are one frame. Frames are numbered, a
// frame after its parent; frame 0 is the root, which stands for all the threads together.

import { mergedKind, ROOT } from "./kinds.js";
import { labelOf, sizeOf } from "./pools.js";
import { quantity } from "./quantity.js";

const NONE = -1;

export class CallTree {
    // threads: rows of the ledger. apart: each of them has a frame of its own below the root, or each
    // pool if they are folded.
    constructor(ledger, threads, { apart, fold }) {
        this.ledger = ledger;
        this.threads = threads;
        this.fold = Boolean(fold);
        this.apart = apart && threads.length > 1 && !(fold && this.isOnePool(threads));
        this.groups = new Map(); // threads by the frame of a root
        this.sums = new Map(); // by metric: base and cum
        this.layouts = new Map();
        const nodes = threads.reduce((sum, thread) => sum + thread.end - thread.first, 0);
        this.makeRoom(1 + nodes);
        this.add(NONE, 0, ROOT, NONE);
        this.merge(nodes);
    }

    makeRoom(frames) {
        this.count = 0;
        this.parent = new Int32Array(frames);
        this.firstChild = new Int32Array(frames).fill(NONE);
        this.lastChild = new Int32Array(frames).fill(NONE);
        this.nextSibling = new Int32Array(frames).fill(NONE);
        this.method = new Uint32Array(frames);
        this.kind = new Uint8Array(frames);
        this.origin = new Int32Array(frames); // the first node of the ledger that became this frame
    }

    add(parent, method, kind, origin) {
        const frame = this.count++;
        this.parent[frame] = parent;
        this.method[frame] = method;
        this.kind[frame] = kind;
        this.origin[frame] = origin;
        if (parent === NONE) return frame;
        if (this.firstChild[parent] === NONE) this.firstChild[parent] = frame;
        else this.nextSibling[this.lastChild[parent]] = frame;
        this.lastChild[parent] = frame;
        return frame;
    }

    // frameOf: by node of the ledger. Frames are found by (parent, method, kind) in a hash table
    // with open addressing, which holds 1 + the frame; where threads do not meet, nothing is to be
    // found.
    merge(nodes) {
        const { ledger } = this;
        let size = 1024;
        while (size < 2 * nodes) size *= 2;
        const meet = (!this.apart || this.fold) && this.threads.length > 1;
        const table = meet ? new Int32Array(size) : null;
        const roots = new Map();
        this.frameOf = new Int32Array(ledger.nodeCount).fill(NONE);
        for (const thread of this.threads)
            for (let node = thread.first; node < thread.end; node++)
                this.frameOf[node] =
                    ledger.parent[node] < 0 ? this.rootOf(thread, node, roots) : this.find(node, table);
    }

    // roots: frames by what has one of its own.
    rootOf(thread, node, roots) {
        if (!this.apart) return 0;
        const key = this.fold ? thread.pool : thread;
        if (!roots.has(key)) {
            roots.set(key, this.add(0, this.ledger.method[node], ROOT, node));
            this.groups.set(roots.get(key), []);
        }
        this.groups.get(roots.get(key)).push(thread);
        return roots.get(key);
    }

    find(node, table) {
        const { ledger, parent, method, kind } = this;
        const above = this.frameOf[ledger.parent[node]];
        const its = ledger.method[node];
        if (!table) return this.add(above, its, ledger.kind[node], node);
        const family = mergedKind(ledger.kind[node]);
        const mask = table.length - 1;
        let slot = (Math.imul(above, 0x9e3779b1) ^ Math.imul(8 * its + family, 0x85ebca6b)) >>> 0;
        slot = (slot ^ (slot >>> 15)) & mask;
        for (; table[slot]; slot = (slot + 1) & mask) {
            const frame = table[slot] - 1;
            if (parent[frame] === above && method[frame] === its && mergedKind(kind[frame]) === family)
                return frame;
        }
        const frame = this.add(above, its, ledger.kind[node], node);
        table[slot] = frame + 1;
        return frame;
    }

    sum(metric) {
        if (this.sums.has(metric)) return this.sums.get(metric);
        const { frameOf, parent } = this;
        const values = this.ledger.column(metric);
        const base = new Float64Array(this.count);
        for (const { first, end } of this.threads)
            for (let node = first; node < end; node++) base[frameOf[node]] += values[node];
        const cum = base.slice();
        for (let frame = this.count - 1; frame > 0; frame--) cum[parent[frame]] += cum[frame];
        this.sums.set(metric, { base, cum });
        return this.sums.get(metric);
    }

    // By frame: of several nodes the root of the sum of the squares.
    get unseenErrors() {
        if (!this.unseen) {
            const values = this.ledger.unseenErrors;
            const squares = new Float64Array(this.count);
            for (const { first, end } of this.threads)
                for (let node = first; node < end; node++)
                    if (values[node]) squares[this.frameOf[node]] += values[node] ** 2;
            this.unseen = squares.map(Math.sqrt);
        }
        return this.unseen;
    }

    base(metric) {
        return this.sum(metric).base;
    }

    cum(metric) {
        return this.sum(metric).cum;
    }

    // Frames below a frame, the heaviest first; each frame's start, on a line as long as the root's
    // cum, is known once its parent's children were asked for.
    layout(metric) {
        if (!this.layouts.has(metric))
            this.layouts.set(metric, { start: new Float64Array(this.count), children: new Map() });
        return this.layouts.get(metric);
    }

    children(metric, frame) {
        const { start, children } = this.layout(metric);
        if (children.has(frame)) return children.get(frame);
        const cum = this.cum(metric);
        const found = [];
        for (let child = this.firstChild[frame]; child !== NONE; child = this.nextSibling[child])
            found.push(child);
        if (found.length > 1) found.sort((a, b) => cum[b] - cum[a] || a - b);
        let at = start[frame];
        for (const child of found) {
            start[child] = at;
            at += cum[child];
        }
        children.set(frame, found);
        return found;
    }

    // Its start, also if nobody looked at its ancestors yet.
    start(metric, frame) {
        for (const above of this.path(frame)) this.children(metric, above);
        return this.layout(metric).start[frame];
    }

    // From the root down to the frame's parent.
    path(frame) {
        const path = [];
        for (let at = this.parent[frame]; at !== NONE; at = this.parent[at]) path.push(at);
        return path.reverse();
    }

    depth(frame) {
        let depth = 0;
        for (let at = this.parent[frame]; at !== NONE; at = this.parent[at]) depth++;
        return depth;
    }

    // By frame, counted when first asked for.
    get depths() {
        if (!this.allDepths) {
            this.allDepths = new Uint32Array(this.count);
            this.deepest = 0;
            for (let frame = 1; frame < this.count; frame++) {
                const depth = this.allDepths[this.parent[frame]] + 1;
                this.allDepths[frame] = depth;
                if (depth > this.deepest) this.deepest = depth;
            }
        }
        return this.allDepths;
    }

    // How often the same method stands above it.
    level(frame) {
        let level = 0;
        for (let at = this.parent[frame]; at !== NONE; at = this.parent[at])
            if (this.method[at] === this.method[frame] && this.kind[at] !== ROOT) level++;
        return level;
    }

    // The highest level that it stands for, where deeper recursion was folded into it.
    levelMax(frame) {
        if (!this.allLevels) {
            const levels = this.ledger.deepestLevels;
            this.allLevels = new Uint32Array(this.count);
            for (let node = 0; levels && node < this.frameOf.length; node++) {
                const of = this.frameOf[node];
                if (of !== NONE && levels[node] > this.allLevels[of]) this.allLevels[of] = levels[node];
            }
        }
        return Math.max(this.level(frame), this.allLevels[frame]);
    }

    // The nearest frame above it with the same method, or -1.
    get outer() {
        if (!this.allOuter) {
            this.allOuter = new Int32Array(this.count).fill(NONE);
            const innermost = new Int32Array(this.ledger.methods.length).fill(NONE);
            for (let frame = 0; frame !== NONE; ) {
                this.allOuter[frame] = innermost[this.method[frame]];
                innermost[this.method[frame]] = frame;
                frame = this.walkOn(frame, innermost);
            }
        }
        return this.allOuter;
    }

    // The frame after this one in tree order; those that are left are not innermost any more.
    walkOn(frame, innermost) {
        if (this.firstChild[frame] !== NONE) return this.firstChild[frame];
        while (frame !== NONE) {
            innermost[this.method[frame]] = this.allOuter[frame];
            if (this.nextSibling[frame] !== NONE) return this.nextSibling[frame];
            frame = this.parent[frame];
        }
        return NONE;
    }

    label(frame) {
        const { ledger, threads } = this;
        if (frame === 0) return this.labelOfThreads(threads);
        if (this.kind[frame] === ROOT) return this.labelOfThreads(this.groups.get(frame));
        return ledger.methods[this.method[frame]].label;
    }

    isOnePool(threads) {
        return threads.length > 0 && threads.every(({ pool }) => pool === threads[0].pool);
    }

    // "worker-7", "worker-# ×12", "12 345 threads"
    labelOfThreads(threads) {
        if (this.isOnePool(threads) && (this.fold || threads.length === 1))
            return labelOf(this.ledger.pools[threads[0].pool], threads);
        return `${quantity(sizeOf(threads), "count")} threads`;
    }

    // The longest of its names that has at most so many characters, or the shortest.
    labelWithin(frame, length) {
        return this.kind[frame] === ROOT
            ? this.label(frame)
            : this.ledger.methodWithin(this.method[frame], length);
    }

    // The frame of a node of the ledger, or the root.
    frameOfNode(node) {
        return node >= 0 && node < this.frameOf.length && this.frameOf[node] !== NONE
            ? this.frameOf[node]
            : 0;
    }
}
