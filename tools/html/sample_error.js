// How far times that samples tell may be off (95 %): the farther end of Wilson's interval of a part
// of all samples of the same exact frame, of its own and of those below it (report_errors.h).

import { isSampled } from "./kinds.js";

const Z = 1.96;
const NONE = { base: 0, cum: 0 };

function errorOfPart(amount, part, whole) {
    const p = part / whole;
    const widening = 1 + (Z * Z) / whole;
    const centre = (p + (Z * Z) / (2 * whole)) / widening;
    const half = (Z / widening) * Math.sqrt((p * (1 - p)) / whole + (Z * Z) / (4 * whole * whole));
    return amount * Math.max(centre + half - p, p - centre + half);
}

// Where samples of CPU and of wall time are apart, those of the metric.
function samplesOf(ledger, column) {
    return ledger.metric(`${column}_samples`) ? `${column}_samples` : "samples";
}

// Of a frame's base and cum, in the metric's unit; 0: it has none. An exact frame's cum was measured,
// but samples tell what of it is its own.
export function errorsOf(tree, metric, frame) {
    const { ledger } = tree;
    const timed = metric.column === "cpu" || metric.column === "wall";
    if (!timed || ledger.isDiff || !ledger.metric("samples")) return NONE;
    const samples = tree.sum(samplesOf(ledger, metric.column));
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
    if (!met) return NONE;
    const whole = met + samples.base[exact];
    const amount = (spent / met) * whole;
    return {
        base: errorOfPart(amount, samples.base[frame], whole),
        cum: isSampled(tree.kind[frame]) ? errorOfPart(amount, samples.cum[frame], whole) : 0,
    };
}
