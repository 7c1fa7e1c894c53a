// The page of `treadle html`: what is looked at (view_state.js) decides what the views show.

import { blockJson, readFirstBlocks } from "./blocks.js";
import { DiffLedger } from "./diff_ledger.js";
import { DiffMethodsView, DiffThreadsView, DiffTreeView, showDiffSummary } from "./diff_views.js";
import { byId, element } from "./dom.js";
import { FlameView } from "./flame_view.js";
import { HeatView } from "./heat_view.js";
import { showHelp } from "./help.js";
import { LatencyView } from "./latency_view.js";
import { Ledger } from "./ledger.js";
import { LocksView } from "./locks_view.js";
import { MethodsView } from "./methods_view.js";
import { sizeOf } from "./pools.js";
import { quantity, share } from "./quantity.js";
import { findMethods, measure } from "./search.js";
import { showSummary } from "./summary.js";
import { toggleTheme, watchTheme } from "./theme.js";
import { ThreadsView } from "./threads_view.js";
import { hideTooltip } from "./tooltip.js";
import { TreeView } from "./tree_view.js";
import { fitApart, readState, TABS, tabsOf, writeState } from "./view_state.js";

const TREES_KEPT = 3;
const NAMES_MAX = 50;

class App {
    constructor() {
        const isDiff = Boolean(blockJson("about").diff);
        this.ledger = isDiff ? new DiffLedger() : new Ledger();
        this.trees = new Map();
        this.state = readState(location.hash, this.ledger);
        this.views = {
            threads: new (isDiff ? DiffThreadsView : ThreadsView)(this),
            flame: new FlameView(this),
            tree: new (isDiff ? DiffTreeView : TreeView)(this),
            methods: new (isDiff ? DiffMethodsView : MethodsView)(this),
            locks: new LocksView(this),
            latency: new LatencyView(this),
            heat: new HeatView(this),
        };
        this.tabs = tabsOf(this.ledger);
        (isDiff ? showDiffSummary : showSummary)(this.ledger);
        byId("side-label").hidden = !isDiff;
        this.listMetrics();
        this.listIntervals();
    }

    // ---- what is shown ----

    get metric() {
        return this.ledger.shown(this.state);
    }

    get tree() {
        const { threads, apart, fold } = this.state;
        const key = `${apart}:${fold}:${threads ?? "all"}`;
        let tree = this.trees.get(key);
        if (!tree) {
            const chosen = threads ? new Set(threads) : null;
            const rows = this.ledger.threads.filter(({ number }) => !chosen || chosen.has(number));
            tree = this.ledger.treeOf(rows, { apart, fold });
            if (this.trees.size === TREES_KEPT) this.trees.delete(this.trees.keys().next().value);
            this.trees.set(key, tree);
        }
        return tree;
    }

    // By method, or null.
    get matches() {
        if (this.searched !== this.state.search) {
            this.searched = this.state.search;
            this.found = findMethods(this.ledger, this.state.search);
        }
        return this.found;
    }

    // ---- changes ----

    // step: the browser's back button undoes it.
    change(patch, { step = false } = {}) {
        Object.assign(this.state, patch);
        this.address(step);
        this.show();
    }

    // The same for what a view has shown already.
    note(patch) {
        Object.assign(this.state, patch);
        clearTimeout(this.noting);
        this.noting = setTimeout(() => this.address(false), 150);
    }

    address(step) {
        clearTimeout(this.noting);
        const hash = writeState(this.state);
        if (hash === location.hash) return;
        if (step) history.pushState(null, "", hash);
        else history.replaceState(null, "", hash);
    }

    follow() {
        this.state = readState(location.hash, this.ledger);
        this.show();
    }

    showThreads(threads) {
        const numbers = threads.map(({ number }) => number);
        this.change({ threads: numbers, zoom: null, tab: "flame" }, { step: true });
        byId("frames").focus();
    }

    showMethod(method) {
        this.change({ method, tab: "methods" }, { step: true });
        byId("method-table").focus();
    }

    zoomTo(frame) {
        const node = this.tree.origin[frame];
        const zoom = node >= 0 ? { node } : null;
        this.change({ tab: "flame", zoom, ...this.sideOf(frame) }, { step: true });
        byId("frames").focus();
    }

    // Where a frame has no width the other side's widths show it.
    sideOf(frame) {
        const { ledger, tree, metric, state } = this;
        if (!ledger.isDiff || tree.cum(metric.column)[frame] > 0) return {};
        return { side: state.side === "a" ? "b" : "a" };
    }

    // ---- drawing ----

    show() {
        hideTooltip();
        const { state } = this;
        for (const tab of TABS) {
            const chosen = tab === state.tab;
            byId(tab).hidden = !chosen;
            const button = byId(`tab-${tab}`);
            button.setAttribute("aria-selected", chosen);
            button.tabIndex = chosen ? 0 : -1;
            button.hidden = !this.tabs.includes(tab);
        }
        // Those views show what they show whatever is chosen.
        const hasTools = !["threads", "locks", "latency"].includes(state.tab);
        byId("tools").hidden = !hasTools;
        this.views[state.tab].show();
        if (hasTools) this.showTools();
        this.showInterval();
    }

    showTools() {
        const { state, ledger, metric } = this;
        byId("metric").value = metric.name;
        byId("side").value = state.side;
        const { threads } = this.tree;
        const names = threads.slice(0, NAMES_MAX).map(({ label }) => label);
        const chosen = byId("chosen");
        chosen.textContent = this.chosenText(threads);
        chosen.title = state.threads ? names.join(", ").slice(0, 2000) : "";
        byId("all-threads").hidden = !state.threads;
        byId("apart").checked = state.apart;
        byId("search-label").hidden = false;
        byId("apart-label").hidden = threads.length < 2;
        byId("fold-frames").checked = state.fold;
        byId("fold-frames-label").hidden = !ledger.hasPools || !state.apart || threads.length < 2;
        if (byId("search").value !== state.search) byId("search").value = state.search;
        this.showMatches();
    }

    // The heat map shows all intervals, and of the tools those that mean something to it.
    showInterval() {
        const { ledger, state } = this;
        const heat = state.tab === "heat";
        byId("interval-label").hidden = !ledger.intervals.length || heat;
        byId("interval").value = state.interval;
        for (const id of ["rows-label", "cells-label"]) byId(id).hidden = !heat;
        byId("rows").value = state.rows;
        byId("cells").value = state.cells;
        if (!heat) return;
        byId("apart-label").hidden = true;
        byId("fold-frames-label").hidden = !ledger.hasPools || state.rows !== "threads";
        byId("search-label").hidden = state.rows !== "methods";
        byId("matches").textContent = "";
    }

    chosenText(threads) {
        const { ledger, tree, state } = this;
        const label = tree.labelOfThreads(threads);
        if (threads.length === 1) return `Thread ${label}`;
        if (!state.threads) return `All ${label}`;
        return label.endsWith(" threads")
            ? `${quantity(sizeOf(threads), "count")} of ${quantity(sizeOf(ledger.threads), "count")} threads`
            : `Pool ${label}`;
    }

    showMatches() {
        const { matches, tree, metric } = this;
        const output = byId("matches");
        this.measured = matches && measure(tree, metric.column, matches);
        if (!matches) {
            output.textContent = "";
            return;
        }
        const { frames, sum } = this.measured;
        const whole = tree.cum(metric.column)[0];
        output.textContent = frames
            ? `${share(sum, whole) || "0 %"} of ${metric.label} (${quantity(sum, metric.unit)}) in ` +
              `${quantity(frames, "count")} frame${frames === 1 ? "" : "s"}`
            : "no match";
    }

    listMetrics() {
        byId("metric").replaceChildren(
            ...this.ledger.metrics.map(({ name, title, meaning }) => {
                const option = element("option", "", title);
                option.value = name;
                option.title = meaning;
                return option;
            }),
        );
    }

    listIntervals() {
        const option = (value, text, story) => {
            const made = element("option", "", text);
            made.value = value;
            made.title = story;
            return made;
        };
        byId("interval").replaceChildren(
            option(-1, "the whole run", ""),
            ...this.ledger.intervals.map(({ number, label, story }) => option(number, label, story)),
        );
    }

    // ---- what people do ----

    listen() {
        byId("metric").addEventListener("change", (event) => this.change({ metric: event.target.value }));
        byId("side").addEventListener("change", (event) => this.change({ side: event.target.value }));
        byId("interval").addEventListener("change", (event) =>
            this.change({ interval: Number(event.target.value), zoom: null }),
        );
        for (const id of ["rows", "cells"])
            byId(id).addEventListener("change", (event) => this.change({ [id]: event.target.value }));
        byId("apart").addEventListener("change", (event) =>
            this.change({ apart: event.target.checked, zoom: null }),
        );
        for (const id of ["fold", "fold-frames"])
            byId(id).addEventListener("change", (event) => this.fold(event.target.checked));
        byId("all-threads").addEventListener("click", () => this.change({ threads: null, zoom: null }));
        byId("search").addEventListener("input", (event) => this.change({ search: event.target.value }));
        byId("search").addEventListener("keydown", (event) => this.searchKey(event));
        for (const tab of TABS) {
            byId(`tab-${tab}`).addEventListener("click", () => this.change({ tab }, { step: true }));
            byId(`tab-${tab}`).addEventListener("keydown", (event) => this.tabKey(event, tab));
        }
        byId("theme").addEventListener("click", () => this.toggleTheme());
        byId("help-button").addEventListener("click", showHelp);
        addEventListener("popstate", () => this.follow());
        addEventListener("hashchange", () => this.follow());
        addEventListener("keydown", (event) => this.key(event));
        watchTheme(() => this.views.flame.recolour());
    }

    fold(fold) {
        const { ledger, state } = this;
        const its = fold && ledger.hasPools;
        const apart = state.tab === "threads" ? fitApart(its, ledger) : state.apart;
        this.change({ fold: its, apart, opened: [], zoom: null });
    }

    toggleTheme() {
        toggleTheme(() => this.views.flame.recolour());
    }

    searchKey(event) {
        if (event.key === "Escape" && this.state.search) this.change({ search: "" });
        else if (event.key === "Enter" && this.measured?.heaviest >= 0) {
            if (this.state.tab === "methods") byId("method-table").focus();
            else this.zoomTo(this.measured.heaviest);
        } else return;
        event.preventDefault();
    }

    tabKey(event, tab) {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        const { tabs } = this;
        const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
        this.change({ tab: next }, { step: true });
        byId(`tab-${next}`).focus();
        event.preventDefault();
    }

    key(event) {
        if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
        if (event.target.closest("input:not([type=checkbox]), select, dialog")) return;
        const focus = {
            threads: "thread-table",
            flame: "frames",
            tree: "tree-table",
            methods: "method-table",
            locks: "lock-table",
            latency: "latency-table",
            heat: "heat-table",
        };
        const tab = /^[1-7]$/.test(event.key) && this.tabs[event.key - 1];
        if (tab) {
            this.change({ tab }, { step: true });
            byId(focus[tab]).focus();
        } else if (event.key === "/") {
            byId(this.state.tab === "threads" ? "find-thread" : "search").select();
        } else if (event.key === "m" && !byId("tools").hidden) byId("metric").focus();
        else if (event.key === "w" && this.ledger.isDiff)
            this.change({ side: this.state.side === "a" ? "b" : "a" });
        else if (event.key === "p" && this.state.tab === "locks")
            this.views.locks.foldNames(!this.views.locks.fold);
        else if (event.key === "p") this.fold(!this.state.fold);
        else if (event.key === "t") this.toggleTheme();
        else if (event.key === "?") showHelp();
        else return;
        event.preventDefault();
    }
}

async function start() {
    await readFirstBlocks();
    const app = new App();
    app.listen();
    app.show();
    globalThis.treadle = app; // for the console
}

start();
