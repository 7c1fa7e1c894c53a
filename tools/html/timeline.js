// The page of `treadle timeline --html`.

import { readFirstBlocks } from "./blocks.js";
import { byId, element } from "./dom.js";
import { showKeys } from "./keys.js";
import { printable } from "./names.js";
import { quantity } from "./quantity.js";
import { toggleTheme, watchTheme } from "./theme.js";
import { TimelineInput } from "./timeline_input.js";
import { TimelineModel } from "./timeline_model.js";
import { lineOf, momentText } from "./timeline_text.js";
import { TimelineView } from "./timeline_view.js";

const KEYS = [
    ["wheel", "zoom at the pointer, to a microsecond; with Shift, or over the names: scroll"],
    ["+ −, w s", "zoom at the middle"],
    ["← →, a d; drag", "move in time"],
    ["Home", "the whole timeline"],
    ["↑ ↓", "to the lane above or below"],
    [", .", "to the slice before or behind"],
    ["click, Enter", "choose a slice; zoom to the chosen one"],
    ["Escape", "choose none"],
    ["Page up, Page down", "scroll the rows"],
    ["/", "find threads"],
    ["r", "show arrows or not"],
    ["t", "dark or light"],
    ["?", "this list"],
];

const RANGE_STEPS = 100; // the range is told so much finer than the axis

const HINT = "Click a slice, or press ↓, to keep what it is in this line.";

class App {
    constructor() {
        this.model = new TimelineModel();
        this.view = new TimelineView(this.model);
        this.view.changed = () => this.showRange();
        this.input = new TimelineInput(this.view);
        this.showAbout();
        this.show();
        this.showRange();
    }

    showAbout() {
        const { contents, losses, lost } = this.model.about;
        const lines = (text) => text.split("\n").filter(Boolean).map(printable);
        const [first, ...rest] = lines(contents);
        byId("command").textContent = first;
        byId("contents").textContent = rest.map((line) => line.trim()).join("; ");
        const list = byId("lacks");
        list.replaceChildren(...lines(losses).map((line) => element("li", "", line.trim())));
        list.classList.toggle("lost", lost);
        byId("arrows-label").hidden = this.model.arrows.count === 0;
    }

    show() {
        const { model, view } = this;
        view.show(byId("find-thread").value.trim());
        const shown = view.rowOf.size;
        const all = quantity(model.threads.length, "count");
        byId("thread-count").textContent =
            shown === model.threads.length ? `${all} threads` : `${quantity(shown, "count")} of ${all} threads`;
    }

    showRange() {
        const { view, model } = this;
        const step = Math.max(1, view.step / RANGE_STEPS);
        const ends = [view.from, view.to].map((ns) => momentText(ns, step, view.to));
        byId("range").textContent = `${ends.join(" to ")}: ${quantity(view.span, "ns")}`;
        const { chosen } = view;
        if (chosen?.slices === this.said?.slices && chosen?.id === this.said?.id && this.hasSaid) return;
        this.said = chosen;
        this.hasSaid = true;
        byId("slice").textContent = chosen ? lineOf(model, chosen) : HINT;
    }

    listen() {
        const { view } = this;
        byId("find-thread").addEventListener("input", () => this.show());
        byId("find-thread").addEventListener("keydown", (event) => {
            if (event.key !== "Escape") return;
            event.target.value = "";
            this.show();
        });
        byId("arrows").addEventListener("change", (event) => this.showArrows(event.target.checked));
        byId("zoom-in").addEventListener("click", () => view.zoom(0.5));
        byId("zoom-out").addEventListener("click", () => view.zoom(2));
        byId("whole").addEventListener("click", () => view.whole());
        byId("theme").addEventListener("click", () => toggleTheme(() => view.recolour()));
        byId("help-button").addEventListener("click", () => showKeys(KEYS));
        addEventListener("keydown", (event) => this.key(event));
        watchTheme(() => view.recolour());
    }

    showArrows(shown) {
        byId("arrows").checked = this.view.arrows = shown;
        this.view.redraw();
    }

    key(event) {
        if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
        if (event.target.closest("input:not([type=checkbox]), select, dialog")) return;
        if (event.key === "/") byId("find-thread").select();
        else if (event.key === "r") this.showArrows(!this.view.arrows);
        else if (event.key === "t") toggleTheme(() => this.view.recolour());
        else if (event.key === "?") showKeys(KEYS);
        else if (event.target === document.body) return this.input.key(event);
        else return;
        event.preventDefault();
    }
}

async function start() {
    await readFirstBlocks();
    const app = new App();
    app.listen();
    globalThis.treadle = app; // for the console
}

start();
