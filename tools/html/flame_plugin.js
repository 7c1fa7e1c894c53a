// The frames, as a plugin of flame-chart-js: the library scales, moves, queues and draws; what is to
// be drawn is found here, from columns of numbers. Only frames in sight and wide enough are
// looked at: children stand with the heaviest first, so behind the first one that is too narrow
// all are.

import { UIPlugin } from "flame-chart-js";
import { ROOT } from "./kinds.js";
import { cut, cutMiddle, cutToFit } from "./names.js";

export const ROW_PIXELS = 20;
const FRAME_PIXELS = ROW_PIXELS - 1;
const NARROW_PIXELS = 2; // frames below it are drawn as one
const TEXT_PIXELS = 26;
const LABEL_LEAST = 3; // characters of a name that say anything
const LABEL_FRAMES = 1; // priorities of what is drawn
const OUTLINES = 2;

export class FramesPlugin extends UIPlugin {
    // paint: see frame_paint.js
    constructor(paint) {
        super("frames");
        this.paint = paint;
        this.height = "flexible";
        this.min = 0;
        this.max = 0;
        this.scroll = 0; // pixels between the root's row and the edge that it stands at
        this.drawn = 0;
    }

    init(renderEngine, interactionsEngine) {
        super.init(renderEngine, interactionsEngine);
        interactionsEngine.on("change-position", ({ deltaX, deltaY }) => {
            this.moved = true;
            renderEngine.tryToChangePosition(deltaX);
            this.scrollBy(this.rootBelow ? -deltaY : deltaY);
            renderEngine.parent.render();
        });
    }

    // A call tree, by a metric; matches: by method, or null.
    show(tree, metric, matches) {
        this.tree = tree;
        this.metric = metric;
        this.matches = matches;
        this.cum = tree.cum(metric);
        this.starts = tree.layout(metric).start;
        this.max = this.cum[0];
        this.rows = tree.depths && tree.deepest + 1;
        this.scrollBy(0);
    }

    setColours(palette) {
        this.palette = palette;
        this.paint.setColours(palette, this.renderEngine);
    }

    get scrollMax() {
        return Math.max(0, this.rows * ROW_PIXELS - this.renderEngine.height + 8);
    }

    scrollBy(pixels) {
        this.scroll = Math.max(0, Math.min(this.scrollMax, this.scroll + pixels));
    }

    top(depth) {
        const offset = depth * ROW_PIXELS - this.scroll;
        return this.rootBelow ? this.renderEngine.height - offset - ROW_PIXELS : offset;
    }

    render() {
        const engine = this.renderEngine;
        if (this.tree && this.max > 0) {
            this.drawFrames();
            this.drawOutline(this.hovered, 1);
            this.drawOutline(this.focused, 2);
        }
        engine.resolveQueue();
        return true;
    }

    drawFrames() {
        const engine = this.renderEngine;
        const view = { from: engine.positionX, to: engine.positionX + engine.getRealView() };
        const first = Math.floor(this.scroll / ROW_PIXELS);
        const last = Math.ceil((this.scroll + engine.height) / ROW_PIXELS);
        const waiting = [0, 0]; // frames and their depths
        this.drawn = 0;
        while (waiting.length) {
            const depth = waiting.pop();
            const frame = waiting.pop();
            if (depth >= first) this.drawFrame(frame, depth);
            if (depth < last) this.visitChildren(frame, depth + 1, view, waiting);
        }
    }

    visitChildren(frame, depth, view, waiting) {
        const { cum, starts } = this;
        const children = this.tree.children(this.metric, frame);
        const narrow = NARROW_PIXELS / this.renderEngine.zoom;
        for (let i = this.firstInView(children, view.from); i < children.length; i++) {
            const child = children[i];
            if (starts[child] >= view.to || cum[child] === 0) return;
            if (cum[child] < narrow) {
                const last = children[children.length - 1];
                this.drawNarrow(starts[child], starts[last] + cum[last], depth);
                return;
            }
            waiting.push(child, depth);
        }
    }

    // The first child that ends behind `from`.
    firstInView(children, from) {
        let low = 0;
        let high = children.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            const child = children[middle];
            if (this.starts[child] + this.cum[child] > from) high = middle;
            else low = middle + 1;
        }
        return low;
    }

    drawFrame(frame, depth) {
        const engine = this.renderEngine;
        const x = engine.timeToPosition(this.starts[frame]);
        const width = this.cum[frame] * engine.zoom;
        const y = this.top(depth);
        const faded = this.matches && !this.matches[this.tree.method[frame]];
        const w = width > 4 ? width - 1 : width;
        engine.addRect({
            color: faded ? this.palette.faded : this.paint.colour(this.tree, frame),
            pattern: this.paint.pattern(this.tree, frame, faded),
            x,
            y,
            w,
            h: FRAME_PIXELS,
        });
        this.drawn++;
        if (this.matches && !faded && width > 4) this.outline(this.palette.match, x, y, w, 1);
        if (width > TEXT_PIXELS) this.drawLabel(frame, x, y, w);
    }

    drawLabel(frame, x, y, w) {
        const engine = this.renderEngine;
        const left = Math.max(x, 0);
        const inSight = Math.min(x + w, engine.width) - left;
        const room = inSight - 2 * engine.blockPaddingLeftRight;
        const characters = Math.floor(room / engine.avgCharWidth);
        const its = this.paint.mark(this.tree, frame, characters);
        const mark = its ? `${its} ` : "";
        const length = characters - mark.length;
        const cutName = this.tree.kind[frame] === ROOT ? cutMiddle : cut;
        const name = length < LABEL_LEAST ? "" : cutName(this.tree.labelWithin(frame, length), length);
        const width = (its) => engine.ctx.measureText(its).width;
        const text = cutToFit(mark + name, room, width, cutName);
        engine.addText({ text, x: left, y, w: inSight }, LABEL_FRAMES);
    }

    drawNarrow(from, to, depth) {
        const engine = this.renderEngine;
        const x = engine.timeToPosition(from);
        const w = Math.max(1, (to - from) * engine.zoom);
        if (depth * ROW_PIXELS + ROW_PIXELS < this.scroll) return;
        engine.addRect({ color: this.palette.narrow, x, y: this.top(depth) + 6, w, h: FRAME_PIXELS - 12 });
    }

    outline(color, x, y, w, line) {
        const engine = this.renderEngine;
        const left = Math.max(x, -4);
        const right = Math.min(x + w, engine.width + 4);
        for (let i = 0; i < line; i++)
            engine.addStroke(
                {
                    color,
                    x: left + i + 0.5,
                    y: y + i + 0.5,
                    w: Math.max(1, right - left - 2 * i - 1),
                    h: FRAME_PIXELS - 2 * i - 1,
                },
                OUTLINES,
            );
    }

    drawOutline(frame, line) {
        if (frame === undefined || frame < 0 || this.cum[frame] === 0) return;
        const engine = this.renderEngine;
        const start = this.tree.start(this.metric, frame);
        const w = Math.max(3, this.cum[frame] * engine.zoom - 1);
        const y = this.top(this.tree.depths[frame]);
        this.outline(this.palette.line, engine.timeToPosition(start), y, w, line);
    }

    // The frame at a point of the canvas, or -1.
    frameAt(x, y) {
        const engine = this.renderEngine;
        const offset = this.rootBelow ? engine.height - y : y;
        const depth = Math.floor((offset + this.scroll) / ROW_PIXELS);
        const at = engine.positionX + engine.pixelToTime(x);
        let frame = 0;
        if (!this.tree || this.max === 0 || depth < 0) return -1;
        for (let row = 0; row < depth; row++) {
            const children = this.tree.children(this.metric, frame);
            const child = children[this.firstInView(children, at)];
            if (child === undefined || this.starts[child] > at || this.cum[child] === 0) return -1;
            frame = child;
        }
        return frame;
    }
}
