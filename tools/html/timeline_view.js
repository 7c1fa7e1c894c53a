// The canvas of a timeline: a row a processor and a row a thread, with its runs as a strip above its
// slices. However many slices there are, a frame draws no more than a few for each pixel of a lane:
// those narrower than a column of two pixels are drawn as one, the stronger the more of it they fill.

import { byId } from "./dom.js";
import { cut, cutMiddle, cutToFit } from "./names.js";
import { quantity } from "./quantity.js";
import { paintOf, TimelinePaint } from "./timeline_paint.js";
import { momentText, titleOf } from "./timeline_text.js";

export const SPAN_LEAST = 1000; // ns: a microsecond
const AXIS = 26;
const LANE = 16;
const STRIP = 6;
const PADDING = 3;
const LABELS_MOST = 230;
const TEXT_LEAST = 30; // pixels that a slice with text has
const COLUMN = 2; // pixels; narrower slices are merged
const HATCH_LEAST = 8;
const TICKS_APART = 110;
const ARROWS_A_PIXEL = 2;
const LEVELS = 4;
const NEAR = 3; // pixels
const FONT = '11px system-ui, "Segoe UI", "DejaVu Sans", Verdana, sans-serif';

export class TimelineView {
    constructor(model) {
        this.model = model;
        this.from = 0;
        this.span = model.length;
        this.filter = "";
        this.arrows = true;
        this.chosen = null; // { slices, id, row, part }
        this.draws = 0; // of the last frame
        this.frames = 0;
        this.canvas = byId("chart");
        this.box = byId("lanes");
        this.context = this.canvas.getContext("2d");
        this.paint = new TimelinePaint();
        this.layOut();
        this.box.addEventListener("scroll", () => this.redraw());
        new ResizeObserver(() => this.resize()).observe(this.box);
        this.recolour();
        this.resize();
    }

    recolour() {
        this.paint.recolour(this.context);
        byId("legend").replaceChildren(...this.paint.legend());
        this.redraw();
    }

    // ---- rows ----

    layOut() {
        const { model } = this;
        const words = this.filter.toLowerCase();
        this.rows = model.processors.map(({ number, lanes }) => ({
            name: `processor ${number}`,
            busy: lanes.reduce((sum, lane) => sum + lane.before[lane.count], 0),
            thread: -1,
            parts: lanes.map((lane) => ({ lane, height: LANE })),
        }));
        for (const thread of model.order) {
            if (words && !thread.name.toLowerCase().includes(words)) continue;
            const parts = thread.lanes.map((lane) => ({ lane, height: LANE }));
            if (thread.runs) parts.unshift({ lane: thread.runs, height: STRIP });
            this.rows.push({ name: thread.name, busy: thread.busy, thread: thread.number, parts });
        }
        this.rowOf = new Map();
        let top = AXIS;
        for (const row of this.rows) {
            row.top = top;
            let y = top + PADDING;
            for (const part of row.parts) {
                part.y = y;
                y += part.height + 1;
            }
            row.height = Math.max(LANE, y - top - PADDING) + 2 * PADDING;
            top += row.height;
            if (row.thread >= 0) this.rowOf.set(row.thread, row);
        }
        this.total = top;
        byId("extent").style.height = `${top}px`;
    }

    show(filter) {
        this.filter = filter;
        this.layOut();
        if (this.chosen && !this.rows.includes(this.chosen.row)) this.findChosenAgain();
        this.redraw();
    }

    // Rows are made anew with the filter; the chosen slice stays if its row does.
    findChosenAgain() {
        const { slices, id } = this.chosen;
        this.choose(null);
        for (const row of this.rows)
            for (const part of row.parts) {
                const { lane } = part;
                const index = lane.firstAfter(slices.begin[id]);
                if (lane.slices === slices && lane.ids[index] === id)
                    return this.choose({ slices, id, index, row, part });
            }
    }

    // The last row that begins at or above that height.
    rowAt(y) {
        let low = 0;
        let high = this.rows.length;
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (this.rows[middle].top <= y) low = middle + 1;
            else high = middle;
        }
        return low - 1;
    }

    // ---- the range ----

    get labels() {
        return Math.min(LABELS_MOST, Math.floor(this.width / 3));
    }

    get room() {
        return Math.max(1, this.width - this.labels);
    }

    get to() {
        return this.from + this.span;
    }

    setRange(from, span) {
        const { length } = this.model;
        this.span = Math.min(length, Math.max(Math.min(SPAN_LEAST, length), span));
        this.from = Math.min(length - this.span, Math.max(0, from));
        this.redraw();
    }

    // The moment at that part of the width stays where it is.
    zoom(factor, part = 0.5) {
        const { length } = this.model;
        const span = Math.min(length, Math.max(Math.min(SPAN_LEAST, length), this.span * factor));
        this.setRange(this.from + part * (this.span - span), span);
    }

    pan(part) {
        this.setRange(this.from + part * this.span, this.span);
    }

    whole() {
        this.setRange(0, this.model.length);
    }

    xOf(ns) {
        return this.labels + ((ns - this.from) / this.span) * this.room;
    }

    nsOf(x) {
        return this.from + ((x - this.labels) / this.room) * this.span;
    }

    // ---- what is where ----

    // The slice at that point of the canvas, and how many more are drawn as one with it; or null.
    hit(x, y) {
        if (x < this.labels || y < AXIS) return null;
        const height = y + this.box.scrollTop;
        const row = this.rows[this.rowAt(height)];
        const part = row?.parts.find((one) => height >= one.y && height < one.y + one.height + 1);
        if (!part) return null;
        const { lane } = part;
        const ns = this.nsOf(x);
        const away = (NEAR * this.span) / this.room;
        const first = lane.firstAfter(ns - away);
        let best = -1;
        let others = -1;
        for (let i = first; i < lane.count && lane.begin[i] < ns + away; i++) {
            others++;
            if (lane.begin[i] <= ns && ns < lane.end[i]) {
                best = i;
                break;
            }
            if (best < 0 || lane.end[i] - lane.begin[i] > lane.end[best] - lane.begin[best]) best = i;
            if (others > 10000) break;
        }
        if (best < 0) return null;
        const isWide = lane.end[best] - lane.begin[best] >= away;
        return { slices: lane.slices, id: lane.ids[best], index: best, row, part, others: isWide ? 0 : others };
    }

    choose(hit) {
        this.chosen = hit;
        this.redraw();
    }

    // Brings a slice into sight.
    reveal({ slices, id, part }) {
        const begin = slices.begin[id];
        const end = slices.end[id];
        if (begin < this.from || begin >= this.to)
            this.setRange((begin + Math.min(end, begin + this.span)) / 2 - this.span / 2, this.span);
        const { box } = this;
        if (part.y - AXIS < box.scrollTop) box.scrollTop = part.y - AXIS - PADDING;
        else if (part.y + part.height > box.scrollTop + this.height)
            box.scrollTop = part.y + part.height + PADDING - this.height;
        this.redraw();
    }

    // ---- frames ----

    resize() {
        const { clientWidth, clientHeight } = this.box;
        const ratio = devicePixelRatio || 1;
        this.width = Math.max(1, clientWidth);
        this.height = Math.max(1, clientHeight);
        this.canvas.width = Math.round(this.width * ratio);
        this.canvas.height = Math.round(this.height * ratio);
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.draw();
    }

    redraw() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            this.draw();
        });
    }

    draw() {
        const { context, paint, box } = this;
        const { colours } = paint;
        this.draws = 0;
        this.frames++;
        this.style = null;
        context.font = FONT;
        context.textBaseline = "middle";
        this.rect(0, 0, this.width, this.height, colours.paper);
        context.save();
        context.beginPath();
        context.rect(0, AXIS, this.width, this.height - AXIS);
        context.clip();
        context.translate(0, -box.scrollTop);
        const first = Math.max(0, this.rowAt(box.scrollTop + AXIS));
        const bottom = box.scrollTop + this.height;
        for (let i = first; i < this.rows.length && this.rows[i].top < bottom; i++) this.drawRow(i);
        if (this.arrows) this.drawArrows(box.scrollTop, bottom);
        this.drawChosen();
        context.restore();
        this.style = null;
        this.drawAxis();
        this.changed?.();
    }

    rect(x, y, width, height, style) {
        if (style !== this.style) this.context.fillStyle = this.style = style;
        this.context.fillRect(x, y, width, height);
        this.draws++;
    }

    text(text, x, y, style, most) {
        if (style !== this.style) this.context.fillStyle = this.style = style;
        this.context.fillText(text, x, y, most);
        this.draws++;
    }

    drawRow(i) {
        const row = this.rows[i];
        const { context, labels } = this;
        const { colours } = this.paint;
        if (i % 2) this.rect(0, row.top, this.width, row.height, colours.stripe);
        context.save();
        context.beginPath();
        context.rect(labels, row.top, this.room, row.height);
        context.clip();
        this.style = null;
        for (const { lane, y, height } of row.parts) this.drawLane(lane, y, height);
        context.restore();
        this.style = null;
        this.drawLabel(row);
    }

    drawLabel(row) {
        const { context, labels } = this;
        const { colours } = this.paint;
        const y = row.top + PADDING + LANE / 2;
        const busy = row.busy ? quantity(row.busy, "ns") : "";
        const right = busy ? context.measureText(busy).width + 10 : 0;
        if (row.fitted !== labels) {
            const width = (text) => context.measureText(text).width;
            row.fitted = labels;
            row.label = cutToFit(cutMiddle(row.name, 200), labels - right - 14, width, cutMiddle);
        }
        this.text(row.label, 8, y, colours.ink);
        if (busy) this.text(busy, labels - right, y, colours.quiet);
    }

    // Slices that are narrower than a column are one with those behind them in the same column, and
    // such columns, if they look the same, are one rectangle.
    drawLane(lane, y, height) {
        const { from, to } = this;
        const width = (COLUMN * this.span) / this.room;
        let merged = null;
        let i = lane.firstAfter(from);
        while (i < lane.count && lane.begin[i] < to) {
            const paint = paintOf(lane.slices, lane.ids[i]);
            if (lane.end[i] - lane.begin[i] >= width) {
                merged = this.drawMerged(merged, y, height);
                this.drawSlice(lane, i, y, height, paint);
                i++;
                continue;
            }
            const column = Math.max(0, Math.floor((lane.begin[i] - from) / width));
            const left = from + column * width;
            const next = Math.max(i + 1, lane.firstAfter(left + width, i));
            const filled = lane.filled(i, next, left, left + width) / width;
            const level = Math.min(LEVELS, Math.max(1, Math.ceil(filled * LEVELS)));
            if (merged && merged.end >= column && merged.paint === paint && merged.level === level)
                merged.end = column + 1;
            else {
                this.drawMerged(merged, y, height);
                merged = { begin: column, end: column + 1, paint, level };
            }
            i = next;
        }
        this.drawMerged(merged, y, height);
    }

    drawMerged(merged, y, height) {
        if (!merged) return null;
        const { begin, end, paint, level } = merged;
        this.context.globalAlpha = (level + 1) / (LEVELS + 1);
        const x = this.labels + COLUMN * begin;
        this.rect(x, y, COLUMN * (end - begin), height, this.paint.colours.kinds[paint]);
        this.context.globalAlpha = 1;
        return null;
    }

    drawSlice(lane, i, y, height, paint) {
        const left = Math.max(this.xOf(lane.begin[i]), this.labels - 1);
        const right = Math.min(this.xOf(lane.end[i]), this.width + 1);
        const width = right - left;
        const { colours, patterns } = this.paint;
        const style = (width >= HATCH_LEAST && patterns[paint]) || colours.kinds[paint];
        this.rect(left, y, width > 3 ? width - 0.5 : Math.max(1, width), height, style);
        if (height < LANE || width < TEXT_LEAST) return;
        const title = titleOf(this.model, { slices: lane.slices, id: lane.ids[i] });
        const at = Math.max(left, this.labels) + 4;
        const most = right - at - 3;
        const text = cut(title, Math.max(1, Math.floor(most / 6)));
        this.text(text, at, y + height / 2, colours.text, most);
    }

    // All in one path. Of those that share a pixel a few are drawn: they would be one line.
    drawArrows(top, bottom) {
        const { context, model, labels } = this;
        const { arrows } = model;
        const pixel = this.span / this.room;
        const heads = [];
        let inPixel = 0;
        let column = -1;
        context.beginPath();
        for (let i = model.firstArrow(this.from); i < arrows.count && arrows.at[i] <= this.to; i++) {
            const from = this.rowOf.get(arrows.from[i]);
            const to = this.rowOf.get(arrows.to[i]);
            if (!from || !to) continue;
            const up = from.top > to.top;
            const foot = from.top + from.height / 2;
            const head = up ? to.top + to.height - PADDING : to.top + PADDING;
            if (Math.max(foot, head) < top || Math.min(foot, head) > bottom) continue;
            const its = Math.floor((arrows.at[i] - this.from) / pixel);
            if (its !== column) inPixel = 0;
            column = its;
            if (++inPixel > ARROWS_A_PIXEL) {
                i = model.firstArrow(this.from + (column + 1) * pixel) - 1;
                continue;
            }
            const x = this.xOf(arrows.at[i]);
            if (x < labels) continue;
            context.moveTo(x, foot);
            context.lineTo(x, head);
            heads.push([x, foot, head, up ? 6 : -6]);
            this.draws++;
        }
        const { arrow } = this.paint.colours;
        context.globalAlpha = heads.length > 400 ? 0.4 : 0.9;
        context.strokeStyle = arrow;
        context.lineWidth = 1.5;
        context.stroke();
        this.drawHeads(heads, arrow);
        context.globalAlpha = 1;
    }

    // With dots at the feet.
    drawHeads(heads, colour) {
        const { context } = this;
        context.beginPath();
        for (const [x, foot, head, back] of heads) {
            context.moveTo(x, head);
            context.lineTo(x - 4, head + back);
            context.lineTo(x + 4, head + back);
            context.closePath();
            context.rect(x - 2, foot - 2, 4, 4);
        }
        context.fillStyle = this.style = colour;
        context.fill();
    }

    drawChosen() {
        const { chosen, context } = this;
        if (!chosen) return;
        const { slices, id, part } = chosen;
        const left = Math.max(this.xOf(slices.begin[id]), this.labels);
        const right = Math.min(this.xOf(slices.end[id]), this.width);
        if (right < this.labels || left > this.width) return;
        context.strokeStyle = this.paint.colours.ink;
        context.lineWidth = 2;
        context.strokeRect(left - 1, part.y - 1, Math.max(2, right - left) + 1, part.height + 2);
        this.draws++;
    }

    // The steps between ticks are 1, 2 or 5 of a power of ten of a nanosecond.
    get step() {
        const least = (TICKS_APART * this.span) / this.room;
        const power = 10 ** Math.floor(Math.log10(least));
        return Math.max(1, power * [1, 2, 5, 10].find((factor) => factor * power >= least));
    }

    drawAxis() {
        const { colours } = this.paint;
        const { step, labels } = this;
        this.rect(0, AXIS - 1, this.width, 1, colours.rule);
        this.rect(labels, 0, 1, this.height, colours.rule);
        for (let tick = Math.ceil(this.from / step); tick * step <= this.to; tick++) {
            const x = this.xOf(tick * step);
            this.rect(x, AXIS - 7, 1, 6, colours.quiet);
            const text = momentText(tick * step, step, this.to);
            if (x + 60 < this.width) this.text(text, x + 4, AXIS / 2 - 2, colours.quiet);
        }
    }
}
