// What the keys do in the page of ledgers.

import { showKeys } from "./keys.js";
import { kinds } from "./kinds.js";

const KEYS = [
    ["1 2 3 …", "threads, flame graph, tree, methods, locks, latency, over time: those that there are"],
    ["/", "search; Enter goes to the heaviest match, Escape ends the search"],
    ["m", "choose the metric"],
    ["w", "of two ledgers: frames as wide as in A or as in B"],
    ["p", "threads: fold pools, or one by one"],
    ["t", "dark or light"],
    ["?", "this list"],
    ["Flame graph", ""],
    ["↑ ↓ ← →", "to the caller, the heaviest callee, the neighbours"],
    ["Enter", "zoom to the frame; a click does the same"],
    ["Backspace", "zoom out to its caller"],
    ["Home, Escape", "reset the zoom"],
    ["+ −", "wider, narrower; so does Ctrl with the wheel"],
    ["f", "root at the top or at the bottom"],
    ["c", "callers and callees of the frame's method; in the tree, too"],
    ["Tables", ""],
    ["↑ ↓ Page Home End", "move"],
    ["Enter", "threads: show the thread's call tree; tree: zoom to the frame"],
    ["Space", "threads: choose one more; tree: open or close"],
    ["← →", "tree and pools of threads: close and open"],
    ["← → Enter", "over time: choose an interval, show its flame graph"],
    ["Enter", "locks: of this lock only, or of this thread only; again: of all"],
    ["*", "tree: open the heaviest way down"],
];

const WORDS = kinds
    .slice(1)
    .map(({ name, mark, meaning }) => [mark ? `${mark} ${name}` : name, meaning]);

export function showHelp() {
    showKeys([...KEYS, ["Kinds of frames", ""], ...WORDS]);
}
