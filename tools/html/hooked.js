// Methods whose calls were not recorded all of the time: theirs are so many at least.

import { hasCalls } from "./kinds.js";
import { quantity, share } from "./quantity.js";

const MILLION = 1e6;

// rows: [method, part recorded in millionths, from and until on the ledger's clock, 0: none, calls that
// were counted and are in no tree, whether all calls are known].
export function hookedMethods(rows) {
    return new Map(
        rows.map(([method, ppm, from, until, counted, known]) => [
            method,
            { ppm, from, until, counted: counted ?? 0, known: Boolean(known) },
        ]),
    );
}

export function callsText(calls, atLeast) {
    return `${atLeast ? "≥" : ""}${quantity(calls, "count")}`;
}

// Whether a frame's calls are so many at least.
export function isAtLeast(ledger, method, kind) {
    return hasCalls(kind) && Boolean(ledger.hooked?.has(method));
}

// "calls recorded 5.56 % of the time, from 1.00 s to 1.50 s", or nothing of a method that always was.
export function hookedText(ledger, method) {
    const hooked = ledger.hooked?.get(method);
    if (!hooked) return "";
    const { ppm, from, until } = hooked;
    if (!from) return "calls not recorded: the plan gave it no hooks";
    const time = (ns) => quantity(ns, "ns");
    const part = ppm ? share(ppm, MILLION) : "<0.01 %";
    return (
        `calls recorded ${part} of the time since ${time(from)}` +
        (until ? `, silent since ${time(until)}` : "") +
        (hooked.counted ? `, ${quantity(hooked.counted, "count")} only counted` : "")
    );
}
