// The pointer and the keys on the canvas of a timeline.

import { contentOf } from "./timeline_text.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const CLICK_PIXELS = 4; // a drag is longer
const PAN = 1 / 4; // of the width
const WHEEL_HALF = 200; // pixels of the wheel that halve what is shown
const LINE_PIXELS = 16;

export class TimelineInput {
    constructor(view) {
        this.view = view;
        this.canvas = view.canvas;
        this.drag = null;
        this.listen();
    }

    listen() {
        const { canvas } = this;
        canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
        canvas.addEventListener("pointerdown", (event) => this.down(event));
        canvas.addEventListener("pointermove", (event) => this.move(event));
        canvas.addEventListener("pointerup", (event) => this.up(event));
        canvas.addEventListener("pointercancel", () => (this.drag = null));
        canvas.addEventListener("pointerleave", hideTooltip);
        canvas.addEventListener("blur", hideTooltip);
        canvas.addEventListener("keydown", (event) => this.key(event));
    }

    // ---- the pointer ----

    // Over the names, and with Shift, the wheel scrolls the rows.
    wheel(event) {
        const { view } = this;
        const unit = event.deltaMode ? LINE_PIXELS : 1;
        if (event.offsetX < view.labels) return;
        event.preventDefault();
        hideTooltip();
        if (event.shiftKey) view.box.scrollTop += unit * (event.deltaY || event.deltaX);
        else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan((unit * event.deltaX) / view.room);
        else {
            const factor = 2 ** ((unit * event.deltaY) / WHEEL_HALF);
            view.zoom(factor, (event.offsetX - view.labels) / view.room);
        }
    }

    down(event) {
        if (event.button !== 0) return;
        const { view } = this;
        this.canvas.setPointerCapture(event.pointerId);
        this.drag = { x: event.offsetX, y: event.offsetY, from: view.from, top: view.box.scrollTop, moved: false };
    }

    move(event) {
        const { view, drag } = this;
        if (!drag) return this.point(event);
        const x = event.offsetX - drag.x;
        const y = event.offsetY - drag.y;
        if (Math.hypot(x, y) >= CLICK_PIXELS) drag.moved = true;
        if (!drag.moved) return;
        hideTooltip();
        view.setRange(drag.from - (x / view.room) * view.span, view.span);
        view.box.scrollTop = drag.top - y;
    }

    up(event) {
        const { drag, view } = this;
        this.drag = null;
        if (drag && !drag.moved) view.choose(view.hit(event.offsetX, event.offsetY));
    }

    point(event) {
        const hit = this.view.hit(event.offsetX, event.offsetY);
        if (hit) showTooltip(contentOf(this.view.model, hit, hit.others), event.clientX, event.clientY);
        else hideTooltip();
    }

    // ---- keys ----

    key(event) {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const { view } = this;
        const { key } = event;
        const page = view.height / 2;
        if (key === "ArrowLeft" || key === "a") view.pan(-PAN);
        else if (key === "ArrowRight" || key === "d") view.pan(PAN);
        else if (key === "+" || key === "=" || key === "w") view.zoom(0.5);
        else if (key === "-" || key === "s") view.zoom(2);
        else if (key === "Home") view.whole();
        else if (key === "PageDown") view.box.scrollTop += page;
        else if (key === "PageUp") view.box.scrollTop -= page;
        else if (key === "ArrowDown") this.stepRow(1);
        else if (key === "ArrowUp") this.stepRow(-1);
        else if (key === "." || key === "n") this.stepSlice(1);
        else if (key === "," || key === "p") this.stepSlice(-1);
        else if (key === "Enter") this.zoomToChosen();
        else if (key === "Escape") {
            view.choose(null);
            hideTooltip();
        } else return;
        event.preventDefault();
    }

    // The next slice of the lane.
    stepSlice(step) {
        const { chosen } = this.view;
        if (!chosen) return this.stepRow(1);
        const { lane } = chosen.part;
        const index = chosen.index + step;
        if (index >= 0 && index < lane.count) this.goTo(chosen.row, chosen.part, index);
    }

    // Lanes from the top to the bottom; in each the slice next to the chosen one or, at first, to
    // the middle of what is shown.
    stepRow(step) {
        const { view } = this;
        const { chosen } = view;
        const places = view.rows.flatMap((row) => row.parts.map((part) => ({ row, part })));
        const at = chosen ? places.findIndex(({ part }) => part === chosen.part) + step : 0;
        if (at < 0 || at >= places.length) return;
        const { row, part } = places[at];
        const ns = chosen ? chosen.slices.begin[chosen.id] : view.from + view.span / 2;
        this.goTo(row, part, Math.min(part.lane.firstAfter(ns), part.lane.count - 1));
    }

    goTo(row, part, index) {
        const { view } = this;
        const { lane } = part;
        const hit = { slices: lane.slices, id: lane.ids[index], index, row, part };
        view.choose(hit);
        view.reveal(hit);
        const { left, top } = this.canvas.getBoundingClientRect();
        const x = Math.min(Math.max(view.xOf(lane.begin[index]), view.labels), view.width);
        showTooltip(contentOf(view.model, hit, 0), left + x, top + part.y + part.height - view.box.scrollTop);
    }

    zoomToChosen() {
        const { chosen } = this.view;
        if (!chosen) return;
        const begin = chosen.slices.begin[chosen.id];
        const length = chosen.slices.end[chosen.id] - begin;
        this.view.setRange(begin - length / 2, 2 * length);
        hideTooltip();
    }
}
