// One box that follows the pointer.

import { byId } from "./dom.js";

const AWAY_PIXELS = 14;

export function showTooltip(content, x, y) {
    const box = byId("tooltip");
    box.replaceChildren(...content);
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = x + AWAY_PIXELS + width > innerWidth ? x - AWAY_PIXELS - width : x + AWAY_PIXELS;
    const top = y + AWAY_PIXELS + height > innerHeight ? y - AWAY_PIXELS - height : y + AWAY_PIXELS;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, top)}px`;
}

export function hideTooltip() {
    byId("tooltip").hidden = true;
}
