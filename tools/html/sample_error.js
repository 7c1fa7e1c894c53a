// How far a sampled frame's time may be off (95 %): the farther end of Wilson's interval of its part
// of all samples below the same exact frame (report_errors.h).

import { isSampled } from "./kinds.js";

const Z = 1.96;

function errorOfPart(amount, part, whole) {
    const p = part / whole;
    const widening = 1 + (Z * Z) / whole;
    const centre = (p + (Z * Z) / (2 * whole)) / widening;
    const half = (Z / widening) * Math.sqrt((p * (1 - p)) / whole + (Z * Z) / (4 * whole * whole));
    return amount * Math.max(centre + half - p, p - centre + half);
}

// In the metric's unit; 0: it has none.
export function errorOf(tree, metric, frame) {
    const { ledger } = tree;
    const timed = metric.column === "cpu" || metric.column === "wall";
    if (!timed || ledger.isDiff || !ledger.metric("samples") || !isSampled(tree.kind[frame])) return 0;
    const samples = tree.sum("samples");
    const time = tree.sum(metric.column);
    let exact = frame;
    while (isSampled(tree.kind[exact])) exact = tree.parent[exact];
    let met = 0;
    let spent = 0;
    for (let i = tree.firstChild[exact]; i >= 0; i = tree.nextSibling[i]) {
        if (!isSampled(tree.kind[i])) continue;
        met += samples.cum[i];
        spent += time.cum[i];
    }
    if (!met) return 0;
    const whole = met + samples.base[exact];
    return errorOfPart((spent / met) * whole, samples.cum[frame], whole);
}
