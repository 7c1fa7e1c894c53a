// What there is to say of a frame: the lines of its tooltip, and one line for the reader below the
// flame graph.

import { changesOf, noteOf } from "./change.js";
import { element } from "./dom.js";
import { callsText, hookedText, isAtLeast } from "./hooked.js";
import { hasCalls, kinds, ROOT } from "./kinds.js";
import { cut } from "./names.js";
import { quantity, share } from "./quantity.js";
import { errorsOf } from "./sample_error.js";

const NAME_LENGTH = 600;

function fullName(tree, frame) {
    return tree.kind[frame] === ROOT
        ? tree.label(frame)
        : tree.ledger.methods[tree.method[frame]].full;
}

export function perCall(value, calls, unit) {
    return calls ? quantity(value / calls, unit) : "";
}

function kindText(tree, frame) {
    const { name, mark, meaning } = kinds[tree.kind[frame]];
    return mark ? `${mark}: ${name}: ${meaning}` : `${name}: ${meaning}`;
}

// [what, value, more]
export function factsOf(tree, metric, frame) {
    const { base, cum } = tree.sum(metric.column);
    const calls = tree.base(metric.calls)[frame];
    const amount = (value) => quantity(value, metric.unit);
    const facts = [
        [`${metric.title} cum`, amount(cum[frame]), `${share(cum[frame], cum[0])} of all`],
        [`${metric.title} base`, amount(base[frame]), `${share(base[frame], cum[0])} of all`],
    ];
    if (frame > 0) {
        const above = cum[tree.parent[frame]];
        facts[0][2] += `, ${share(cum[frame], above)} of its caller`;
    }
    const errors = errorsOf(tree, metric, frame);
    if (errors.cum) facts[0][1] += ` ± ${amount(Math.round(errors.cum))}`;
    if (errors.base) facts[1][1] += ` ± ${amount(Math.round(errors.base))}`;
    if (hasCalls(tree.kind[frame])) {
        const atLeast = isAtLeast(tree.ledger, tree.method[frame], tree.kind[frame]);
        facts.push(["calls", callsText(calls, atLeast), ""]);
        if (calls && metric.name !== "calls") {
            facts.push(["cum a call", perCall(cum[frame], calls, metric.unit), ""]);
            facts.push(["base a call", perCall(base[frame], calls, metric.unit), ""]);
        }
    }
    const hooked = tree.kind[frame] === ROOT ? "" : hookedText(tree.ledger, tree.method[frame]);
    if (hooked) facts.push(["hooks", hooked, ""]);
    const level = tree.level(frame);
    const levelMax = tree.levelMax(frame);
    if (levelMax > level) facts.push(["recursion", `levels ${level}–${levelMax}`, "folded into this frame"]);
    else if (level) facts.push(["recursion", `${level} above`, ""]);
    const source = tree.kind[frame] === ROOT ? "" : tree.ledger.methods[tree.method[frame]].source;
    if (source) facts.push(["source", cut(source, 100), ""]);
    return facts;
}

function factList(tree, metric, frame) {
    const list = element("dl");
    for (const [what, value, more] of factsOf(tree, metric, frame)) {
        list.append(element("dt", "", what), element("dd", "", value), element("dd", "more", more));
    }
    return list;
}

function changeList(tree, metric, frame) {
    const list = element("dl", "changes");
    for (const head of ["", "A", "B", "change", "of A"]) list.append(element("dt", "side", head));
    for (const [what, ...values] of changesOf(tree, metric, frame))
        list.append(element("dt", "", what), ...values.map((value) => element("dd", "", value)));
    return list;
}

export function tooltipContent(tree, metric, frame) {
    const { isDiff } = tree.ledger;
    const note = isDiff ? noteOf(tree.sides[frame]) : "";
    const notes = { new: "new: only B has it. ", gone: "gone: only A has it. " };
    return [
        element("strong", "", cut(fullName(tree, frame), NAME_LENGTH)),
        element("p", "", (notes[note] ?? "") + kindText(tree, frame)),
        (isDiff ? changeList : factList)(tree, metric, frame),
    ];
}

function factLine(tree, metric, frame) {
    return factsOf(tree, metric, frame)
        .map(([what, value, more]) => `${what} ${value}${more ? ` (${more})` : ""}`)
        .join(" · ");
}

function changeLine(tree, metric, frame) {
    const note = noteOf(tree.sides[frame]);
    return changesOf(tree, metric, frame)
        .map(([what, a, b, change, percent]) => `${what} ${a} → ${b}: ${change}${percent ? ` (${percent})` : ""}`)
        .concat(note || [])
        .join(" · ");
}

export function lineOf(tree, metric, frame) {
    const facts = (tree.ledger.isDiff ? changeLine : factLine)(tree, metric, frame);
    const { mark } = kinds[tree.kind[frame]];
    return `${mark ? `${mark} ` : ""}${cut(fullName(tree, frame), NAME_LENGTH)} — ${facts}`;
}
