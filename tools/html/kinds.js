// What a frame is. The index is its number in the block `nodes` (enum html_frame, html_content.h).
// Nobody has to tell colours apart: all but exact frames are hatched and have a letter.

export const ROOT = 0;
export const EXACT = 1;
export const GAP = 2;
export const SAMPLED = 3;
export const INTERPRETED = 4;
export const NATIVE = 5;
export const KERNEL = 6;

const stripes = (angle, spacing, lineWidth) => ({ type: "stripes", angle, spacing, lineWidth });
const dots = (size, spacing) => ({ type: "dots", size, spacing });

export const kinds = [
    { name: "thread", mark: "", meaning: "a Java thread, or several" },
    { name: "exact", mark: "", meaning: "every call was counted and measured" },
    { name: "gap", mark: "", meaning: "between Java threads", hatch: stripes(0, 6, 1) },
    { name: "sampled", mark: "J", meaning: "a Java method that samples met", hatch: stripes(45, 8, 2) },
    {
        name: "sampled, interpreted",
        mark: "I",
        meaning: "a Java method that samples met in the interpreter",
        hatch: stripes(135, 8, 2),
    },
    { name: "native", mark: "N", meaning: "native code that samples met", hatch: dots(2, 4) },
    { name: "kernel", mark: "K", meaning: "the kernel's side, as samples met it", hatch: stripes(90, 5, 2) },
];

// Sampled frames of one method are one frame, however the method was run.
export function mergedKind(kind) {
    return kind === INTERPRETED ? SAMPLED : kind;
}

export function hasCalls(kind) {
    return kind === EXACT;
}
