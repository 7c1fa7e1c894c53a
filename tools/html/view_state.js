// What is looked at, and the same as the address behind '#', so that a link shows the same view.
//
//   tab=flame&metric=wall&threads=0,3-7&by=method&zoom=n120|r0.1-0.25&search=…&find=…&method=12
//   &root=bottom&sort=cpu-down&side=a&pools=open&opened=2,5&interval=3&rows=methods&cells=rate
//
// Threads and nodes are numbers of this very ledger; what does not exist in it is left out.

export const TABS = ["threads", "flame", "tree", "methods", "locks", "latency", "heat"];

// Locks stand only where threads waited for any, latencies where latency= named methods, the heat map
// where there are several moments.
export function tabsOf(ledger) {
    const has = { locks: ledger.locks.length, latency: ledger.latencies?.length, heat: ledger.intervals.length };
    return TABS.filter((tab) => !(tab in has) || has[tab]);
}

const APART_MAX = 100; // frames
const THREADS_FEW = 8;
const NODES_MANY = 200e3;

const START = {
    tab: "threads",
    metric: "cpu",
    side: "b", // whose values frames are as wide as, of two ledgers
    threads: null, // all
    fold: true, // pools are one row, and one frame
    opened: [], // pools whose threads are shown all the same
    apart: true, // a frame a thread, or all of them as one: of many, none would be wide enough
    zoom: null, // {node} or {from, to}: parts of the whole
    search: "",
    find: "",
    method: -1,
    rootBelow: false,
    sort: "cpu-down",
    interval: -1, // between which snapshots; the first is 0, in the address 1; -1: the whole run
    rows: "threads", // of the heat map, or "methods"
    cells: "share", // or "rate"
};

function rangesOf(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b);
    const parts = [];
    for (let i = 0; i < sorted.length; ) {
        let j = i;
        while (sorted[j + 1] === sorted[j] + 1) j++;
        parts.push(j > i ? `${sorted[i]}-${sorted[j]}` : `${sorted[i]}`);
        i = j + 1;
    }
    return parts.join(",");
}

// The numbers of those of the rows that the text names, or null.
function rangedNumbers(text, rows) {
    const numbers = [];
    for (const part of text.split(",")) {
        const range = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
        if (!range) continue;
        const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])];
        for (const { number } of rows)
            if (number >= from && number <= to) numbers.push(number);
    }
    return numbers.length ? [...new Set(numbers)] : null;
}

function zoomOf(text, ledger) {
    const node = /^n(\d{1,9})$/.exec(text);
    if (node) return Number(node[1]) < ledger.nodeCount ? { node: Number(node[1]) } : null;
    const range = /^r(0?\.\d+|0|1)-(0?\.\d+|1)$/.exec(text);
    if (!range || Number(range[1]) >= Number(range[2])) return null;
    return { from: Number(range[1]), to: Number(range[2]) };
}

// Few threads are as legible one by one; if their trees are very large, merging them takes a while.
function foldsAtFirst(ledger) {
    const { hasPools, threads, nodeCount } = ledger;
    return hasPools && (threads.length > THREADS_FEW || nodeCount < NODES_MANY);
}

// Whether a frame for each thread, or pool, is likely to be wide enough to see.
export function fitApart(fold, ledger) {
    return (fold ? ledger.pools : ledger.threads).length <= APART_MAX;
}

export function readState(hash, ledger) {
    const given = new URLSearchParams(hash.replace(/^#/, ""));
    const text = (name) => given.get(name) ?? "";
    const state = { ...START, metric: ledger.about.metric ?? START.metric };
    state.sort = `${state.metric}-down`;
    if (ledger.intervals.length) state.tab = "heat";
    if (tabsOf(ledger).includes(text("tab"))) state.tab = text("tab");
    if (ledger.metric(text("metric"))) state.metric = text("metric");
    if (/^[1-9]\d{0,5}$/.test(text("interval")) && Number(text("interval")) <= ledger.intervals.length)
        state.interval = Number(text("interval")) - 1;
    if (text("rows") === "methods") state.rows = "methods";
    if (text("cells") === "rate") state.cells = "rate";
    if (ledger.isDiff && text("side") === "a") state.side = "a";
    state.threads = rangedNumbers(text("threads"), ledger.threads);
    state.foldAtFirst = foldsAtFirst(ledger);
    state.fold = text("pools") ? text("pools") !== "open" && ledger.hasPools : state.foldAtFirst;
    state.opened = (rangedNumbers(text("opened"), ledger.pools) ?? []).slice();
    state.apart = text("by") ? text("by") === "thread" : fitApart(state.fold, ledger);
    state.zoom = zoomOf(text("zoom"), ledger);
    state.search = text("search");
    state.find = text("find");
    if (/^\d{1,9}$/.test(text("method")) && Number(text("method")) < ledger.methods.length)
        state.method = Number(text("method"));
    state.rootBelow = text("root") === "bottom";
    if (/^[a-z_]+-(up|down)$/.test(text("sort"))) state.sort = text("sort");
    return state;
}

export function writeState(state) {
    const hash = new URLSearchParams();
    hash.set("tab", state.tab);
    hash.set("metric", state.metric);
    if (state.side !== START.side) hash.set("side", state.side);
    if (state.threads) hash.set("threads", rangesOf(state.threads));
    hash.set("by", state.apart ? "thread" : "method");
    if (state.fold !== state.foldAtFirst) hash.set("pools", state.fold ? "folded" : "open");
    if (state.opened.length) hash.set("opened", rangesOf(state.opened));
    if (state.zoom && "node" in state.zoom) hash.set("zoom", `n${state.zoom.node}`);
    else if (state.zoom)
        hash.set("zoom", `r${state.zoom.from.toFixed(9)}-${state.zoom.to.toFixed(9)}`);
    if (state.search) hash.set("search", state.search);
    if (state.find) hash.set("find", state.find);
    if (state.method >= 0) hash.set("method", state.method);
    if (state.rootBelow) hash.set("root", "bottom");
    if (state.interval >= 0) hash.set("interval", state.interval + 1);
    if (state.rows !== START.rows) hash.set("rows", state.rows);
    if (state.cells !== START.cells) hash.set("cells", state.cells);
    if (state.sort !== START.sort) hash.set("sort", state.sort);
    return `#${hash}`;
}
