// Pools: threads of one kind whose names differ in digits only, as in `treadle report --fold`.

import { printable } from "./names.js";

const DIGITS = /#?[0-9]+/g; // a run of them is "#", but not behind another "#"

function poolName({ group, name }) {
    return printable(group || name.replace(DIGITS, "#")) || "(no name)";
}

// Gives each thread its `pool`, a number; returns the pools: {number, label, threads}.
export function findPools(threads) {
    const found = new Map();
    for (const thread of threads) {
        const label = poolName(thread);
        const key = `${thread.kind} ${label}`;
        if (!found.has(key)) found.set(key, { number: found.size, label, threads: [] });
        const pool = found.get(key);
        thread.pool = pool.number;
        pool.threads.push(thread);
    }
    return [...found.values()];
}

// Threads that a row of the ledger stands for: more than one if the agent folded those that ended.
const members = ({ count = 1 }) => count;

export function sizeOf(threads) {
    return threads.reduce((sum, thread) => sum + members(thread), 0);
}

// "worker-# ×12"; of a single thread its own name.
export function labelOf(pool, threads) {
    if (threads.length > 1) return `${pool.label} ×${sizeOf(threads)}`;
    const [{ label, count = 1 }] = threads;
    return count > 1 ? `${label} ×${count}` : label;
}

// Rows of threads: pools if they are folded, and below one that is open its threads. make(threads,
// label, level): a row; sorted(rows): the same in order.
export function rowsOf(found, { ledger, state, make, sorted }) {
    if (!state.fold) return sorted(found.map((thread) => make([thread], thread.label, 0)));
    const open = new Set(state.opened);
    const pools = new Map();
    for (const thread of found) {
        if (!pools.has(thread.pool)) pools.set(thread.pool, []);
        pools.get(thread.pool).push(thread);
    }
    const folded = [...pools].map(([number, threads]) =>
        make(threads, labelOf(ledger.pools[number], threads), 0),
    );
    return sorted(folded).flatMap((row) =>
        row.threads.length > 1 && open.has(row.threads[0].pool)
            ? [row, ...sorted(row.threads.map((thread) => make([thread], thread.label, 1)))]
            : [row],
    );
}

// "alive", "ended", or how many are still alive.
export function stateOf(threads) {
    const alive = threads.reduce(
        (sum, thread) => sum + (thread.running ?? (thread.terminated ? 0 : 1)),
        0,
    );
    return alive === sizeOf(threads) ? "alive" : alive ? `${alive} alive` : "ended";
}
