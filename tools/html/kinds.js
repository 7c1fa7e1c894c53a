// What a frame is. The index is its number in the block `nodes` (enum html_frame, html_content.h).
// Nobody has to tell colours apart: all but exact frames are hatched and have a letter.

export const ROOT = 0;
export const EXACT = 1;
export const GAP = 2;
export const SAMPLED = 3;
export const INTERPRETED = 4;
export const NATIVE = 5;
export const KERNEL = 6;
export const UNSEEN = 7;
export const FOLDED = 8;

const stripes = (angle, spacing, lineWidth) => ({ type: "stripes", angle, spacing, lineWidth });
const dots = (size, spacing) => ({ type: "dots", size, spacing });

export const kinds = [
    { name: "thread", sample: "thread", mark: "", meaning: "a Java thread, or several" },
    { name: "exact", sample: "exact", mark: "", meaning: "every call was counted and measured" },
    {
        name: "between threads",
        sample: "gap",
        mark: "",
        meaning: "the kernel thread's time between two Java threads that it ran",
        hatch: stripes(0, 6, 1),
    },
    {
        name: "sampled",
        sample: "sampled",
        mark: "J",
        meaning: "a Java method without hooks that samples met",
        hatch: stripes(45, 8, 2),
    },
    {
        name: "sampled",
        sample: "sampled-interpreted",
        mark: "I",
        meaning: "a Java method without hooks that samples met in the interpreter",
        hatch: stripes(135, 8, 2),
    },
    { name: "native", sample: "native", mark: "N", meaning: "native code that samples met", hatch: dots(2, 4) },
    {
        name: "kernel",
        sample: "kernel",
        mark: "K",
        meaning: "the kernel at work for the frame above it",
        hatch: stripes(90, 5, 2),
    },
    {
        name: "not sampled",
        sample: "not-sampled",
        mark: "",
        meaning: "time of the frame above it that no sample saw: before samples began, or where they were lost",
        hatch: dots(1, 6),
    },
    {
        name: "folded",
        sample: "folded",
        mark: "F",
        meaning: "calls whose calling contexts have no frames of their own: below it there is one frame a method",
        hatch: stripes(60, 10, 3),
    },
];

// In the legend's order.
const WORDS = ["exact", "sampled", "native", "kernel", "not sampled", "folded", "between threads"];

// The legend of those kinds: [{name, meaning, samples: [{sample, mark}]}], one for each word.
export function legendOf(shown) {
    return WORDS.map((word) => {
        const its = kinds.filter(({ name }, kind) => name === word && shown.has(kind));
        return {
            name: word,
            meaning: its.map(({ mark, meaning }) => (mark ? `${mark}: ${meaning}` : meaning)).join("\n"),
            samples: its,
        };
    }).filter(({ samples }) => samples.length);
}

// Sampled frames of one method are one frame, however the method was run.
export function mergedKind(kind) {
    return kind === INTERPRETED ? SAMPLED : kind;
}

export function isSampled(kind) {
    return kind >= SAMPLED && kind <= KERNEL;
}

export function hasCalls(kind) {
    return kind === EXACT;
}
