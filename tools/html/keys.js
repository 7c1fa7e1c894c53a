// The dialog that tells what keys do.

import { byId, element } from "./dom.js";

// entries: [keys, meaning]; without a meaning it is a heading.
export function showKeys(entries) {
    const list = byId("help").querySelector("dl");
    list.replaceChildren(
        ...entries.flatMap(([keys, meaning]) => [
            element("dt", meaning ? "" : "part", keys),
            element("dd", "", meaning),
        ]),
    );
    byId("help").showModal();
}
