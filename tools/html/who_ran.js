// Waits for locks, followed to who really ran: the blockers view's chains, summed by the thread that a
// chain ends at and what it did. With a chosen lock these are the chains that begin with a wait for it,
// with a chosen thread those that go through it. Threads that waited for one another stand below.

import { byId, element } from "./dom.js";
import { cutMiddle, printable } from "./names.js";
import { quantity } from "./quantity.js";
import { setCell, Table } from "./table.js";

const NAME_MAX = 40; // characters, of a thread in a chain
const KNOTS_SHOWN = 20;
const NAMES_SHOWN = 20;
const CHAIN_CELL = 4;

const COLUMNS = [
    { key: "thread", title: "Who ran", hint: "the last thread of the chain", rem: 7, grow: true, className: "name frame" },
    { key: "does", title: "Does", hint: "what it did meanwhile", rem: 8, className: "word" },
    { key: "wait_ns", title: "Explains", hint: "the waits that end at that thread doing that", rem: 6.5 },
    { key: "direct_ns", title: "Direct", hint: "what of it is of threads that waited for that thread itself", rem: 5 },
    { key: "chain", title: "Chain", hint: "the heaviest one, from who waited first", rem: 10, grow: true, className: "word" },
];
const DOES = { cpu: "CPU", io: "I/O" };

const doing = (does) => DOES[does] ?? does.replaceAll("_", " ");
const lockOf = (name) => (name === null ? "(class not known)" : printable(name));
const descending = (a, b) => b.wait_ns - a.wait_ns;

// The lock that the chain's first thread waited for.
const firstLock = ({ locks, last_lock: last }) => (locks.length ? locks[0] : last);

// "first waits for middle over app.Queue", a line a thread.
function storyOf({ names, locks, last_lock: last, does }) {
    const whom = { cycle: "a thread of this chain", owner_unknown: "nobody knows whom" };
    const lines = locks.map((lock, i) => `${names[i]} waits for ${names[i + 1]} over ${lockOf(lock)}`);
    const end = names.at(-1);
    lines.push(whom[does] ? `${end} waits for ${whom[does]} over ${lockOf(last)}` : `${end}: ${doing(does)}`);
    return lines.join("\n");
}

export class WhoRan {
    // view: the view of locks, which knows what is chosen and what threads are called.
    constructor(view) {
        const { ran, followed, knots } = view.app.ledger.cascade;
        Object.assign(this, { view, followed, knots });
        this.order = { key: "wait_ns", direction: "down" };
        this.places = new Map(ran.map((end) => [JSON.stringify([end.thread || null, end.does]), end.path]));
        this.table = new Table(byId("ran-table"), {
            label: "Who really ran",
            columns: COLUMNS,
            fill: (cells, row, room) => this.fill(cells, this.ends[row], room),
            onSort: (key) => this.sortBy(key),
            onOpen: (row) => view.chooseThread(this.ends[row].thread),
        });
        this.table.onClick = (row, cell) => {
            const { thread, heaviest } = this.ends[row];
            return view.chooseThread(cell === CHAIN_CELL ? heaviest.names[0] : thread);
        };
    }

    // The chosen chains by the names that are shown, the heaviest first.
    chainsShown() {
        const { lock, thread } = this.view;
        const found = new Map();
        for (const chain of this.followed) {
            const names = chain.threads.map((name) => this.view.nameOf(name ?? ""));
            if (lock && firstLock(chain) !== lock.class) continue;
            if (thread !== null && !names.includes(thread)) continue;
            const key = JSON.stringify([names, chain.locks, chain.last_lock, chain.does]);
            const sum = found.get(key) ?? { ...chain, names, wait_ns: 0 };
            sum.wait_ns += chain.wait_ns;
            found.set(key, sum);
        }
        return [...found.values()].sort(descending);
    }

    endsShown() {
        const found = new Map();
        for (const chain of this.chainsShown()) {
            const thread = chain.names.at(-1);
            const key = JSON.stringify([thread, chain.does]);
            const end = found.get(key) ?? {
                thread,
                does: chain.does,
                wait_ns: 0,
                direct_ns: 0,
                heaviest: chain,
                chain: chain.names.map((name) => cutMiddle(name, NAME_MAX)).join(" > "),
            };
            end.wait_ns += chain.wait_ns;
            if (chain.names.length <= 2) end.direct_ns += chain.wait_ns;
            found.set(key, end);
        }
        return [...found.values()];
    }

    show(chosen) {
        const { key, direction } = this.order;
        const sign = direction === "up" ? 1 : -1;
        const compare = (x, y) => (x < y ? -1 : x > y ? 1 : 0);
        this.ends = this.endsShown().sort(
            (a, b) => sign * compare(a[key], b[key]) || descending(a, b) || compare(a.thread, b.thread),
        );
        byId("ran-chosen").textContent = ["Who really ran", ...chosen].join(" ");
        this.table.showSort(key, direction);
        this.table.setRows(this.ends.length);
        this.showKnots();
    }

    sortBy(key) {
        const { key: before, direction } = this.order;
        const first = key.endsWith("_ns") ? "down" : "up";
        this.order = { key, direction: before !== key ? first : direction === "up" ? "down" : "up" };
        this.view.show();
    }

    fill(cells, end, room) {
        const { thread, does, heaviest } = end;
        const path = this.places.get(JSON.stringify([heaviest.threads.at(-1), does])) ?? [];
        const place = path.map(printable).reverse().join(" < ");
        setCell(cells[0], this.table.cutName(thread, 0));
        cells[0].title = place ? `${thread}, in ${place}` : thread;
        setCell(cells[1], doing(does));
        setCell(cells[2], quantity(end.wait_ns, "ns"));
        setCell(cells[3], quantity(end.direct_ns, "ns"));
        setCell(cells[CHAIN_CELL], end.chain);
        cells[CHAIN_CELL].title = storyOf(heaviest);
        room.setAttribute("aria-selected", thread === this.view.thread);
    }

    // ---- threads that waited for one another ----

    isShown({ threads }) {
        const { lock, thread } = this.view;
        const inside = new Set(threads.map((name) => name ?? ""));
        const isOfLock = (edge) => edge.lock === lock.class && inside.has(edge.waiter) && inside.has(edge.blocker);
        if (thread !== null && !threads.some((name) => this.view.nameOf(name ?? "") === thread)) return false;
        return !lock || this.view.app.ledger.edges.some(isOfLock);
    }

    // Names in whole: of which threads of a pool the knot is would not be seen otherwise.
    knotItem({ kind, threads, wait_ns: ns }) {
        const item = element("li", "", `${kind}, ${quantity(ns, "ns")} of waits for one another: `);
        threads.slice(0, NAMES_SHOWN).forEach((name, i) => {
            const shown = printable(name ?? "") || "(no name)";
            const button = element("button", "thread", cutMiddle(shown, NAME_MAX));
            button.type = "button";
            button.title = shown;
            button.addEventListener("click", () => this.view.chooseThread(this.view.nameOf(name ?? "")));
            item.append(i ? ", " : "", button);
        });
        const more = threads.length - NAMES_SHOWN;
        if (more > 0) item.append(`, and ${quantity(more, "count")} more`);
        return item;
    }

    showKnots() {
        const knots = this.knots.filter((knot) => this.isShown(knot));
        const items = knots.slice(0, KNOTS_SHOWN).map((knot) => this.knotItem(knot));
        const more = knots.length - items.length;
        if (more > 0) items.push(element("li", "", `${quantity(more, "count")} more, not shown`));
        byId("knots").replaceChildren(...items);
        byId("knots").hidden = items.length === 0;
    }
}
