// Slices in lanes. A lane's slices follow one another and do not overlap, so that a search by halves
// finds those at a moment, and sums of their lengths tell how much of a pixel they fill.

// Slices side by side in arrays of numbers; what only some kinds have is 0 in the others.
export class Slices {
    constructor(count) {
        this.count = count;
        this.begin = new Float64Array(count); // ns since the timeline's begin
        this.end = new Float64Array(count);
        this.kind = new Uint8Array(count);
        this.flags = new Uint8Array(count);
        this.place = new Uint16Array(count); // of a wait: its reason; of a run: its processor
        this.label = new Uint32Array(count);
        this.thread = new Uint32Array(count);
        this.identity = new Uint32Array(count);
        this.owner = new Int32Array(count).fill(-1); // a thread
    }
}

export class Lane {
    // ids: which of the slices; ends: where each is drawn to end.
    constructor(slices, ids, ends) {
        const count = ids.length;
        this.slices = slices;
        this.count = count;
        this.ids = Uint32Array.from(ids);
        this.begin = new Float64Array(count);
        this.end = Float64Array.from(ends);
        this.before = new Float64Array(count + 1); // ns in all slices before
        for (let i = 0; i < count; i++) {
            this.begin[i] = slices.begin[ids[i]];
            this.before[i + 1] = this.before[i] + this.end[i] - this.begin[i];
        }
    }

    // The first slice from `low` on that ends after a moment.
    firstAfter(ns, low = 0) {
        // Near ones first: the next pixel's slices are most often close by.
        let step = 1;
        while (low + step < this.count && this.end[low + step] <= ns) {
            low += step;
            step *= 2;
        }
        let high = Math.min(this.count, low + step + 1);
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (this.end[middle] <= ns) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    // How many ns of that time the slices from first to before last fill.
    filled(first, last, from, to) {
        if (first >= last) return 0;
        const over = Math.max(0, this.end[last - 1] - to);
        const under = Math.max(0, from - this.begin[first]);
        return this.before[last] - this.before[first] - over - under;
    }
}

// Lanes by how many slices are open when one begins. An inner slice is drawn to end no later than
// the one around it: the clocks of a call and of a wait may differ by some ns.
export function lanesOf(slices, first, last) {
    const ids = [];
    const ends = [];
    const open = [];
    for (let i = first; i < last; i++) {
        while (open.length && open[open.length - 1] <= slices.begin[i]) open.pop();
        const most = open.length ? open[open.length - 1] : Infinity;
        const end = Math.min(slices.end[i], most);
        const depth = open.length;
        (ids[depth] ??= []).push(i);
        (ends[depth] ??= []).push(end);
        open.push(end);
    }
    return ids.map((list, depth) => new Lane(slices, list, ends[depth]));
}
