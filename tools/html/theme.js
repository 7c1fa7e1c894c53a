// Dark or light: what the system prefers until the button says otherwise. The canvas has no style
// sheet: its colours are those that an element would have.

import { byId, element } from "./dom.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

function current() {
    return document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
}

function show() {
    byId("theme").textContent = current() === "dark" ? "Light" : "Dark";
}

export function toggleTheme(changed) {
    document.documentElement.dataset.theme = current() === "dark" ? "light" : "dark";
    show();
    changed();
}

export function watchTheme(changed) {
    show();
    dark.addEventListener("change", () => {
        show();
        changed();
    });
}

const FRAMES = ["thread", "exact", "gap", "sampled", "interpreted", "native", "kernel", "not-sampled", "folded"];

export function palette() {
    return readColours(coloursOf);
}

// What `read` makes with a function that gives the colour of a variable of the style sheet.
export function readColours(read) {
    const probe = element("i");
    document.body.append(probe);
    const colours = read((name) => {
        probe.style.color = `var(${name})`;
        return getComputedStyle(probe).color;
    });
    probe.remove();
    return colours;
}

function coloursOf(of) {
    return {
        paper: of("--paper"),
        ink: of("--frame-ink"),
        same: of("--same"),
        more: [1, 2, 3].map((step) => of(`--more-${step}`)),
        less: [1, 2, 3].map((step) => of(`--less-${step}`)),
        moreHatch: of("--hatch-more"),
        lessHatch: of("--hatch-less"),
        line: of("--accent"),
        match: of("--match"),
        narrow: of("--frame-narrow"),
        faded: of("--frame-faded"),
        fadedHatch: of("--frame-faded-hatch"),
        frames: FRAMES.map((name) => of(`--frame-${name}`)),
        hatches: FRAMES.map((name) => of(`--hatch-${name}`)),
        exacts: ["a", "b", "c", "d", "e", "f"].map((name) => of(`--frame-exact-${name}`)),
    };
}
