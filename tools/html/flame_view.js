// The flame graph: a canvas, what points at it and moves in it.

import { FlameChartContainer } from "flame-chart-js";
import { byId, element } from "./dom.js";
import { FramesPlugin, ROW_PIXELS } from "./flame_plugin.js";
import { ChangePaint, KindPaint } from "./frame_paint.js";
import { lineOf, tooltipContent } from "./frame_text.js";
import { ROOT } from "./kinds.js";
import { palette } from "./theme.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const WHEEL_STEP = 0.0015;
const KEY_STEP = 0.3;
const FONT = '12px "DejaVu Sans", Verdana, "Segoe UI", system-ui, sans-serif';

export class FlameView {
    // app: {state, tree, metric, matches, change(patch, {step})}
    constructor(app) {
        this.app = app;
        this.host = byId("frames");
        this.plugin = new FramesPlugin(app.ledger.isDiff ? new ChangePaint(app) : new KindPaint());
        this.plugin.focused = 0;
        this.listen();
        this.drawLegend();
    }

    // The canvas is made when it is first seen: before, it has no size.
    start() {
        const canvas = this.host.querySelector("canvas");
        canvas.width = this.host.clientWidth;
        canvas.height = this.host.clientHeight;
        this.chart = new FlameChartContainer({
            canvas,
            plugins: [this.plugin],
            settings: this.settings(),
        });
        this.engine = this.chart.renderEngine;
        this.plugin.setColours(palette());
        new ResizeObserver(() => this.resize()).observe(this.host);
    }

    settings() {
        const { paper, ink } = palette();
        const main = {
            blockHeight: ROW_PIXELS - 1,
            blockPaddingLeftRight: 5,
            backgroundColor: paper,
            font: FONT,
            fontColor: ink,
        };
        return { styles: { main } };
    }

    resize() {
        if (this.host.clientWidth === 0) return;
        this.chart.renderEngine.render(() => {
            this.engine.resize(this.host.clientWidth, this.host.clientHeight);
            this.plugin.scrollBy(0);
            this.zoomAsStated();
        });
    }

    recolour() {
        if (!this.chart) return;
        this.chart.setSettings(this.settings());
        this.plugin.setColours(palette());
        this.chart.render();
    }

    show() {
        const { tree, metric, matches, state } = this.app;
        if (!this.chart) this.start();
        const changed = this.plugin.tree !== tree || this.plugin.metric !== metric.column;
        if (this.plugin.tree !== tree) this.plugin.focused = 0;
        this.plugin.rootBelow = state.rootBelow;
        this.plugin.show(tree, metric.column, matches);
        byId("flip").textContent = state.rootBelow ? "Root at top" : "Root at bottom";
        this.host.classList.toggle("empty", this.plugin.max === 0);
        this.host.dataset.empty = `no ${metric.label} was recorded for these threads`;
        if (changed) this.engine.calcMinMax();
        this.zoomAsStated();
        this.describe();
        this.chart.render();
    }

    zoomAsStated() {
        const { tree, state, metric } = this.app;
        const { max } = this.plugin;
        if (max === 0) return;
        let [from, to] = [0, max];
        if (state.zoom && "node" in state.zoom) {
            const frame = tree.frameOfNode(state.zoom.node);
            const width = this.plugin.cum[frame];
            if (width > 0) from = tree.start(metric.column, frame);
            if (width > 0) to = from + width;
        } else if (state.zoom) {
            [from, to] = [state.zoom.from * max, state.zoom.to * max];
        }
        this.engine.setPositionX(from);
        this.setScale(this.engine.width / (to - from));
        const zoomed = `${from}-${to}`;
        if (zoomed !== this.zoomed && state.zoom && "node" in state.zoom) {
            this.plugin.focused = this.zoomedFrame();
            this.showFrame(this.plugin.focused);
        }
        this.zoomed = zoomed;
    }

    // The library's own setZoom stops at six decimals of its time grid, which is not drawn here.
    setScale(zoom) {
        this.engine.zoom = zoom;
        for (const child of this.engine.children) child.zoom = zoom;
    }

    zoomedFrame() {
        const { tree, state } = this.app;
        return state.zoom && "node" in state.zoom ? tree.frameOfNode(state.zoom.node) : 0;
    }

    // ---- zoom ----

    zoomTo(frame) {
        const node = this.app.tree.origin[frame];
        this.plugin.focused = frame;
        this.app.change({ zoom: frame > 0 && node >= 0 ? { node } : null }, { step: true });
    }

    zoomOut() {
        const frame = this.zoomedFrame();
        this.zoomTo(frame > 0 ? this.app.tree.parent[frame] : 0);
    }

    // Around a point of the canvas; factor > 1 makes frames wider.
    zoomBy(factor, x = this.engine.width / 2) {
        const { max } = this.plugin;
        const { engine } = this;
        if (max === 0) return;
        const least = engine.width / max;
        const zoom = Math.max(least, engine.zoom * factor);
        const at = engine.positionX + x / engine.zoom;
        this.setScale(zoom);
        const view = engine.width / zoom;
        engine.setPositionX(Math.max(0, Math.min(max - view, at - x / zoom)));
        this.stateRange();
        this.chart.render();
    }

    stateRange() {
        const { max } = this.plugin;
        const from = this.engine.positionX / max;
        const to = Math.min(1, from + this.engine.getRealView() / max);
        const whole = from <= 0 && to >= 1;
        this.zoomed = null;
        this.app.note({ zoom: whole ? null : { from, to } });
    }

    // ---- what points ----

    listen() {
        const canvas = this.host.querySelector("canvas");
        this.host.addEventListener("wheel", (event) => this.wheel(event), { capture: true, passive: false });
        canvas.addEventListener("mousemove", (event) => this.point(event));
        canvas.addEventListener("mouseleave", () => this.unpoint());
        canvas.addEventListener("mousedown", () => {
            this.plugin.moved = false;
        });
        canvas.addEventListener("mouseup", () => {
            if (this.plugin.moved) this.stateRange();
        });
        canvas.addEventListener("click", (event) => this.click(event));
        this.host.addEventListener("keydown", (event) => this.key(event));
        byId("zoom-reset").addEventListener("click", () => this.zoomTo(0));
        byId("zoom-out").addEventListener("click", () => this.zoomOut());
        byId("flip").addEventListener("click", () => this.flip());
        byId("callers").addEventListener("click", () => this.showCallers());
    }

    flip() {
        this.plugin.scroll = 0;
        this.app.change({ rootBelow: !this.app.state.rootBelow });
    }

    // With Ctrl (a pinch is that, too) it zooms, else it scrolls what does not fit.
    wheel(event) {
        event.stopPropagation();
        if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            this.zoomBy(Math.exp(-event.deltaY * WHEEL_STEP), event.offsetX);
            return;
        }
        const before = this.plugin.scroll;
        this.plugin.scrollBy(this.app.state.rootBelow ? -event.deltaY : event.deltaY);
        if (event.deltaX) {
            this.engine.tryToChangePosition(event.deltaX / this.engine.zoom);
            this.stateRange();
        }
        if (this.plugin.scroll !== before || event.deltaX) {
            event.preventDefault();
            this.chart.render();
        }
    }

    point(event) {
        if (event.buttons) {
            hideTooltip();
            return;
        }
        const frame = this.plugin.frameAt(event.offsetX, event.offsetY);
        if (frame < 0) {
            this.unpoint();
            return;
        }
        const { tree, metric } = this.app;
        if (frame !== this.plugin.hovered) {
            this.plugin.hovered = frame;
            this.chart.render();
        }
        showTooltip(tooltipContent(tree, metric, frame), event.clientX, event.clientY);
    }

    unpoint() {
        hideTooltip();
        if (this.plugin.hovered === -1) return;
        this.plugin.hovered = -1;
        this.chart?.render();
    }

    click(event) {
        const frame = this.plugin.frameAt(event.offsetX, event.offsetY);
        if (frame < 0 || this.plugin.moved) return;
        this.host.focus();
        this.zoomTo(frame === this.zoomedFrame() && frame > 0 ? this.app.tree.parent[frame] : frame);
    }

    // ---- keys ----

    key(event) {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const { tree } = this.app;
        const at = this.plugin.focused;
        const up = this.app.state.rootBelow ? "ArrowDown" : "ArrowUp";
        const down = this.app.state.rootBelow ? "ArrowUp" : "ArrowDown";
        const actions = {
            [up]: () => this.focus(tree.parent[at]),
            [down]: () => this.focus(this.wide(at)[0]),
            ArrowLeft: () => this.focus(this.sibling(-1)),
            ArrowRight: () => this.focus(this.sibling(1)),
            Enter: () => this.zoomTo(at),
            Backspace: () => this.zoomOut(),
            Home: () => this.zoomTo(0),
            Escape: () => this.zoomTo(0),
            "+": () => this.zoomBy(1 + KEY_STEP),
            "=": () => this.zoomBy(1 + KEY_STEP),
            "-": () => this.zoomBy(1 / (1 + KEY_STEP)),
            f: () => this.flip(),
            c: () => this.showCallers(),
        };
        if (!actions[event.key]) return;
        event.preventDefault();
        event.stopPropagation();
        actions[event.key]();
    }

    showCallers() {
        const { tree } = this.app;
        const { focused } = this.plugin;
        if (tree.kind[focused] !== ROOT) this.app.showMethod(tree.method[focused]);
    }

    // Its children that have a width.
    wide(frame) {
        const { cum, metric } = this.plugin;
        return this.app.tree.children(metric, frame).filter((child) => cum[child] > 0);
    }

    sibling(step) {
        const parent = this.app.tree.parent[this.plugin.focused];
        if (parent < 0) return undefined;
        const siblings = this.wide(parent);
        return siblings[siblings.indexOf(this.plugin.focused) + step];
    }

    focus(frame) {
        if (frame === undefined || frame < 0) return;
        this.plugin.focused = frame;
        this.showFrame(frame);
        this.describe();
        this.chart.render();
    }

    // Scrolls and, if it must, moves sideways until the frame is in sight.
    showFrame(frame) {
        const { plugin, engine } = this;
        const row = this.app.tree.depths[frame] * ROW_PIXELS;
        if (row < plugin.scroll) plugin.scroll = row;
        if (row + ROW_PIXELS > plugin.scroll + engine.height)
            plugin.scroll = row + ROW_PIXELS - engine.height;
        const start = this.app.tree.start(plugin.metric, frame);
        const end = start + plugin.cum[frame];
        const view = engine.getRealView();
        if (end <= engine.positionX || start >= engine.positionX + view) {
            engine.setPositionX(Math.max(0, Math.min(plugin.max - view, (start + end - view) / 2)));
            this.stateRange();
        }
    }

    describe() {
        const { tree, metric } = this.app;
        byId("frame").textContent = lineOf(tree, metric, this.plugin.focused);
        byId("callers").disabled = tree.kind[this.plugin.focused] === ROOT;
    }

    drawLegend() {
        byId("legend").replaceChildren(
            ...this.plugin.paint.legend(this.app.ledger).map(({ samples, name, meaning }) => {
                const item = element("li");
                item.title = meaning;
                for (const { sample, mark } of samples)
                    item.append(element("span", `sample ${sample}`, mark || " "));
                item.append(element("span", "", name));
                return item;
            }),
        );
    }
}
