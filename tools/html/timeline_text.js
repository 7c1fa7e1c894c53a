// What is said of a slice, and of moments.

import { element } from "./dom.js";
import { quantity } from "./quantity.js";
import { BEGAN_BEFORE, CALL, GOES_ON, PAUSE, PREEMPTED, RUN } from "./timeline_model.js";

const UNITS = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
];

// A moment as an offset from the timeline's begin, exact to the step; the unit fits the largest
// moment that is shown.
export function momentText(ns, step = 1, largest = ns) {
    if (ns === 0) return "0";
    const [size, unit] = UNITS.find(([least]) => Math.abs(largest) >= least) ?? UNITS[3];
    const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / step) - 1e-9)));
    const text = (ns / size).toFixed(decimals);
    return `${step === 1 && decimals ? text.replace(/\.?0+$/, "") : text} ${unit}`;
}

const WORDS = { [CALL]: "call", [PAUSE]: "pause" };

export function titleOf(model, { slices, id }) {
    if (slices.kind[id] === RUN) return model.threads[slices.thread[id]].name;
    return model.labels[slices.label[id]];
}

function notesOf(slices, id) {
    const flags = slices.flags[id];
    return [
        flags & BEGAN_BEFORE ? "began before the timeline" : "",
        flags & GOES_ON ? "goes on behind its end" : "",
        flags & PREEMPTED ? "preempted: the thread could have run on" : "",
    ].filter(Boolean);
}

// [[what, value]] of a slice.
export function factsOf(model, { slices, id }) {
    const kind = slices.kind[id];
    const begin = slices.begin[id];
    const end = slices.end[id];
    const owner = slices.owner[id];
    const releaser = model.releaser(slices, id);
    const facts = [["thread", model.threads[slices.thread[id]].name]];
    if (kind === RUN) facts.push(["processor", String(slices.place[id])]);
    else facts.push(["what", WORDS[kind] ?? `wait: ${model.reasons[slices.place[id]]}`]);
    if (slices.identity[id])
        facts.push(["lock", `${lockOf(model, slices, id)}@${slices.identity[id].toString(16)}`]);
    if (owner >= 0) facts.push(["owner at the begin", model.threads[owner].name]);
    if (releaser >= 0) facts.push(["released by", model.threads[releaser].name]);
    facts.push(["begin", momentText(begin)], ["length", quantity(end - begin, "ns")]);
    facts.push(["end", momentText(end)]);
    for (const note of notesOf(slices, id)) facts.push(["note", note]);
    return facts;
}

// A wait's label is its reason and the lock's class.
function lockOf(model, slices, id) {
    return model.labels[slices.label[id]].slice(model.reasons[slices.place[id]].length + 1);
}

export function contentOf(model, slice, others) {
    const list = element("dl", "slice");
    for (const [what, value] of factsOf(model, slice))
        list.append(element("dt", "", what), element("dd", "", value));
    const title = slice.slices.kind[slice.id] === RUN ? "running" : titleOf(model, slice);
    const content = [element("strong", "", title), list];
    if (others > 0)
        content.push(element("p", "", `and ${quantity(others, "count")} more here: zoom in to see them`));
    return content;
}

// The same in one line.
export function lineOf(model, slice) {
    const title = slice.slices.kind[slice.id] === RUN ? "running" : titleOf(model, slice);
    return [title, ...factsOf(model, slice).map(([what, value]) => `${what} ${value}`)].join(" · ");
}
