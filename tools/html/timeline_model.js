// The blocks of a page of `treadle timeline --html`, see tools/timeline/timeline_html.h.

import { blockJson, blockOctets, Numbers } from "./blocks.js";
import { printable } from "./names.js";
import { Lane, lanesOf, Slices } from "./timeline_lanes.js";

export const WAIT = 0;
export const CALL = 1;
export const PAUSE = 2;
export const RUN = 3;

export const BEGAN_BEFORE = 1;
export const GOES_ON = 2;
export const PREEMPTED = 4;

export class TimelineModel {
    constructor() {
        const about = blockJson("about");
        this.about = about;
        this.length = Math.max(1, about.length_ns);
        this.reasons = about.reasons;
        this.labels = about.labels.map(printable);
        this.threads = about.threads.map((thread, number) => ({
            number,
            name: printable(thread.name) || "(no name)",
            kind: thread.kind,
            tid: thread.tid,
            javaId: thread.java_id,
            busy: 0, // ns on processors
            called: 0, // ns in calls that are not within others
            count: 0,
            lanes: [],
            runs: null,
        }));
        this.readSlices();
        this.readRuns();
        this.readArrows();
        this.sort();
    }

    readSlices() {
        const numbers = new Numbers(blockOctets("slices"));
        const { threads } = this;
        const total = countIn(blockOctets("slices"), threads.length);
        const slices = new Slices(total);
        let at = 0;
        for (const thread of threads) {
            const first = at;
            const last = at + numbers.next();
            for (let begin = 0; at < last; at++) {
                begin += numbers.next();
                slices.begin[at] = begin;
                slices.end[at] = begin + numbers.next();
                const what = numbers.next();
                slices.kind[at] = what & 3;
                slices.flags[at] = (what >> 2) & 7;
                slices.place[at] = what >> 5;
                slices.label[at] = numbers.next();
                slices.identity[at] = numbers.next();
                slices.owner[at] = numbers.next() - 1;
                slices.thread[at] = thread.number;
            }
            thread.count = last - first;
            thread.lanes = lanesOf(slices, first, last);
            thread.first = first;
            thread.last = last;
            const [outer] = thread.lanes;
            for (let i = 0; outer && i < outer.count; i++)
                if (slices.kind[outer.ids[i]] === CALL) thread.called += outer.end[i] - outer.begin[i];
        }
        this.slices = slices;
    }

    // Of processors, and the same by thread.
    readRuns() {
        const numbers = new Numbers(blockOctets("runs"));
        const read = [];
        const processors = [];
        while (numbers.left) {
            const processor = numbers.next();
            const count = numbers.next();
            let begin = 0;
            for (let i = 0; i < count; i++) {
                begin += numbers.next();
                read.push(begin, begin + numbers.next(), numbers.next(), numbers.next(), processor);
            }
            processors.push({ number: processor, count });
        }
        const runs = new Slices(read.length / 5);
        for (let i = 0; i < runs.count; i++) {
            [runs.begin[i], runs.end[i], runs.thread[i], runs.flags[i], runs.place[i]] =
                read.slice(5 * i, 5 * i + 5);
            runs.kind[i] = RUN;
            this.threads[runs.thread[i]].busy += runs.end[i] - runs.begin[i];
        }
        this.runs = runs;
        this.processors = processors;
        let at = 0;
        for (const processor of processors) {
            processor.first = at;
            processor.last = at += processor.count;
            processor.lanes = lanesOf(runs, processor.first, processor.last);
        }
        this.giveRunsToThreads();
    }

    giveRunsToThreads() {
        const { runs, threads } = this;
        const order = Uint32Array.from({ length: runs.count }, (_, i) => i);
        order.sort((a, b) => runs.begin[a] - runs.begin[b]);
        const lists = threads.map(() => []);
        for (const run of order) lists[runs.thread[run]].push(run);
        lists.forEach((ids, thread) => {
            if (ids.length) threads[thread].runs = new Lane(runs, ids, ids.map((id) => runs.end[id]));
        });
    }

    readArrows() {
        const numbers = new Numbers(blockOctets("arrows"));
        const read = [];
        let at = 0;
        while (numbers.left) {
            at += numbers.next();
            read.push(at, numbers.next(), numbers.next(), numbers.next());
        }
        const count = read.length / 4;
        this.arrows = {
            count,
            at: Float64Array.from({ length: count }, (_, i) => read[4 * i]),
            from: Uint32Array.from({ length: count }, (_, i) => read[4 * i + 1]),
            to: Uint32Array.from({ length: count }, (_, i) => read[4 * i + 2]),
        };
    }

    // Threads by what they did: time on processors, in calls, and how many slices they have.
    sort() {
        this.order = [...this.threads].sort(
            (a, b) =>
                b.busy - a.busy || b.called - a.called || b.count - a.count || a.number - b.number,
        );
    }

    firstArrow(ns) {
        const { at } = this.arrows;
        let low = 0;
        let high = at.length;
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (at[middle] < ns) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    // The thread that let a wait's thread go on; or -1.
    releaser(slices, id) {
        const { arrows } = this;
        if (slices.kind[id] !== WAIT) return -1;
        for (let i = this.firstArrow(slices.end[id]); arrows.at[i] === slices.end[id]; i++)
            if (arrows.to[i] === slices.thread[id]) return arrows.from[i];
        return -1;
    }
}

// How many slices the block has; each has six numbers.
function countIn(octets, threads) {
    let numbers = 0;
    for (const octet of octets) if (octet < 128) numbers++;
    return (numbers - threads) / 6;
}
