// The processors that the process kept busy, over time: a bar a slot.

import { byId, element } from "./dom.js";
import { quantity } from "./quantity.js";

const SVG = "http://www.w3.org/2000/svg";
const BAR = 10; // units of the drawing's width
const HEIGHT = 40;
const MILLION = 1e6;

const processors = (ppm) => (ppm / MILLION).toFixed(2);

function barOf(ppm, i, most, slot) {
    const bar = document.createElementNS(SVG, "rect");
    const height = (HEIGHT * ppm) / most;
    const places = { x: i * BAR, y: HEIGHT - height, width: BAR - 1, height };
    for (const [name, value] of Object.entries(places)) bar.setAttribute(name, value);
    const title = document.createElementNS(SVG, "title");
    title.textContent = `${processors(ppm)} processors from ${quantity(i * slot, "ns")} to ${quantity((i + 1) * slot, "ns")}`;
    bar.append(title);
    return bar;
}

export function showBusy({ busy }) {
    const { ppm, slot_ns: slot } = busy ?? { ppm: [] };
    const most = ppm.reduce((a, b) => Math.max(a, b), 0);
    byId("busy").hidden = ppm.length < 2 || !most;
    if (byId("busy").hidden) return;
    const chart = document.createElementNS(SVG, "svg");
    chart.setAttribute("viewBox", `0 0 ${ppm.length * BAR} ${HEIGHT}`);
    chart.setAttribute("preserveAspectRatio", "none");
    chart.append(...ppm.map((one, i) => barOf(one, i, most, slot)));
    const words =
        `Processors busy over ${quantity(ppm.length * slot, "ns")}: up to ${processors(most)} ` +
        `in ${quantity(slot, "ns")}`;
    byId("busy").replaceChildren(element("p", "", words), chart);
}
