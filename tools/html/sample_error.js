// How far times that samples tell may be off (95 %): the farther end of Wilson's interval of a part
// of all samples of the same exact frame, of its own and of those below it. A row of several such
// parts has the root of the sum of their squares (report_errors.h).

import { isSampled, UNSEEN } from "./kinds.js";

const Z = 1.96;
const NONE = { base: 0, cum: 0 };

function errorOfPart(amount, part, whole) {
    const p = part / whole;
    const widening = 1 + (Z * Z) / whole;
    const centre = (p + (Z * Z) / (2 * whole)) / widening;
    const half = (Z / widening) * Math.sqrt((p * (1 - p)) / whole + (Z * Z) / (4 * whole * whole));
    return amount * Math.max(centre + half - p, p - centre + half);
}

// Whether times of a metric can have errors.
export function hasErrors(ledger, metric) {
    const timed = metric.column === "cpu" || metric.column === "wall";
    return timed && !ledger.isDiff && Boolean(ledger.metric("samples"));
}

// Where samples of CPU and of wall time are apart, those of the metric.
function samplesOf(tree, column) {
    const own = `${column}_samples`;
    return tree.sum(tree.ledger.metric(own) ? own : "samples");
}

// What the sampled frames below an exact one share with it, and how many samples say so; null: there
// are none below.
function sharedOf(tree, column, exact) {
    const samples = samplesOf(tree, column);
    const time = tree.sum(column);
    let met = 0;
    let spent = 0;
    for (let i = tree.firstChild[exact]; i >= 0; i = tree.nextSibling[i]) {
        if (!isSampled(tree.kind[i])) continue;
        met += samples.cum[i];
        spent += time.cum[i];
    }
    if (!met) return null;
    const whole = met + samples.base[exact];
    return { whole, amount: (spent / met) * whole };
}

// An exact frame's cum was measured, but samples tell what of it is its own.
function errorsWithin(shared, tree, column, frame) {
    const samples = samplesOf(tree, column);
    const of = (part) => errorOfPart(shared.amount, part, shared.whole);
    return { base: of(samples.base[frame]), cum: isSampled(tree.kind[frame]) ? of(samples.cum[frame]) : 0 };
}

// What no sample saw: the ledger tells how far that may be off.
function errorsUnseen(tree, frame) {
    const error = tree.unseenErrors[frame];
    return { base: error, cum: error };
}

// The column of a table with them.
export function errorColumn(key, what) {
    return { key, title: "±", hint: `how far ${what} may be off (95 %)`, rem: 5.2 };
}

// Of a frame's base and cum, in the metric's unit; 0: it has none.
export function errorsOf(tree, metric, frame) {
    if (!hasErrors(tree.ledger, metric)) return NONE;
    if (tree.kind[frame] === UNSEEN) return errorsUnseen(tree, frame);
    let exact = frame;
    while (isSampled(tree.kind[exact])) exact = tree.parent[exact];
    const shared = sharedOf(tree, metric.column, exact);
    return shared ? errorsWithin(shared, tree, metric.column, frame) : NONE;
}

// The same of all frames.
export function errorsOfFrames(tree, { column }) {
    const shared = new Array(tree.count); // by frame: its exact frame's
    const errors = new Array(tree.count);
    for (let frame = 0; frame < tree.count; frame++) {
        const inside = isSampled(tree.kind[frame]);
        shared[frame] = inside ? shared[tree.parent[frame]] : sharedOf(tree, column, frame);
        if (tree.kind[frame] === UNSEEN) errors[frame] = errorsUnseen(tree, frame);
        else errors[frame] = shared[frame] ? errorsWithin(shared[frame], tree, column, frame) : NONE;
    }
    return errors;
}

// The same of methods, by method; a nested frame's cum is in its outer frame's.
export function errorsOfMethods(tree, errors) {
    const { outer } = tree;
    const squares = new Map();
    for (let frame = 0; frame < tree.count; frame++) {
        const sum = squares.get(tree.method[frame]) ?? { base: 0, cum: 0 };
        sum.base += errors[frame].base ** 2;
        if (outer[frame] < 0) sum.cum += errors[frame].cum ** 2;
        squares.set(tree.method[frame], sum);
    }
    for (const sum of squares.values()) {
        sum.base = Math.sqrt(sum.base);
        sum.cum = Math.sqrt(sum.cum);
    }
    return squares;
}
