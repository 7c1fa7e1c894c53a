// What the keys do.

import { byId, element } from "./dom.js";

const KEYS = [
    ["1 2 3 4", "threads, flame graph, tree, methods"],
    ["/", "search; Enter goes to the heaviest match, Escape ends the search"],
    ["m", "choose the metric"],
    ["w", "of two ledgers: frames as wide as in A or as in B"],
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
    ["← →", "tree: close and open"],
    ["*", "tree: open the heaviest way down"],
];

export function showHelp() {
    const list = byId("help").querySelector("dl");
    list.replaceChildren(
        ...KEYS.flatMap(([keys, meaning]) => [
            element("dt", meaning ? "" : "part", keys),
            element("dd", "", meaning),
        ]),
    );
    byId("help").showModal();
}
