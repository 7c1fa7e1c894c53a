// A change from A to B, as text and in steps that tell more from less and much from little.

import { IN_A, IN_B } from "./diff_ledger.js";
import { hasCalls } from "./kinds.js";
import { quantity, share } from "./quantity.js";

const STEP_LEAST = [0.005, 0.1, 0.5]; // of the larger one of A and B
const FACTOR_FROM = 101; // from here on a factor says more than per cent

export const STEPS = STEP_LEAST.length;

// -3 … 3: how much less or more; 0: about the same.
export function stepOf(a, b) {
    const part = Math.abs(b - a) / Math.max(a, b, 1e-9);
    const step = STEP_LEAST.filter((least) => part >= least).length;
    return b < a ? -step : step;
}

const sign = (a, b) => (b > a ? "+" : b < a ? "\u2212" : "");

// bounds: IN_A, IN_B or both, where the number of that side is a lower bound. More calls of B make a
// change larger, more calls of A make it smaller.
const MARKS = { 0: "", [IN_A]: "≤", [IN_B]: "≥", [IN_A | IN_B]: "?" };

export function changeText(a, b, unit, bounds = 0) {
    return MARKS[bounds] + sign(a, b) + quantity(Math.abs(b - a), unit);
}

// Of A; "" if A has none.
export function percentText(a, b, bounds = 0) {
    if (!a) return "";
    if (b >= FACTOR_FROM * a) return `${MARKS[bounds]}×\u202f${Number((b / a).toPrecision(3))}`;
    return MARKS[bounds] + sign(a, b) + share(Math.abs(b - a), a);
}

// "≥64" of a lower bound.
export function sideText(value, unit, bounds, side) {
    return (bounds & side ? "≥" : "") + quantity(value, unit);
}

// Without calls there is nothing that could be more.
export function boundsOfCalls(bounds, a, b) {
    return bounds & ((a ? IN_A : 0) | (b ? IN_B : 0));
}

export function noteOf(sides) {
    return sides === IN_A ? "gone" : sides === IN_B ? "new" : "";
}

// What stands before a frame's name: "+", "−" or nothing.
export function changeMark(a, b) {
    return stepOf(a, b) === 0 ? "" : sign(a, b);
}

// [what, A, B, change, percent] of a frame: cum, base and calls.
export function changesOf(tree, metric, frame) {
    const a = tree.sum(metric.a);
    const b = tree.sum(metric.b);
    const row = (what, [from, to], unit, bounds = 0) => [
        what,
        sideText(from, unit, bounds, IN_A),
        sideText(to, unit, bounds, IN_B),
        changeText(from, to, unit, bounds),
        percentText(from, to, bounds),
    ];
    const calls = [tree.base("calls-a")[frame], tree.base("calls-b")[frame]];
    const bounds = hasCalls(tree.kind[frame]) ? tree.bounds[frame] : 0;
    const rows = [
        row(`${metric.title} cum`, [a.cum[frame], b.cum[frame]], metric.unit),
        row(`${metric.title} base`, [a.base[frame], b.base[frame]], metric.unit),
    ];
    if (metric.name !== "calls" && (calls[0] || calls[1])) rows.push(row("calls", calls, "count", bounds));
    return rows;
}
