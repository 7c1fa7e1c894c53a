// How slices are painted. Nobody has to tell colours apart: each kind of wait has a hatching of its
// own, and lightness differs, too.

import { element } from "./dom.js";
import { readColours } from "./theme.js";
import { CALL, PAUSE, PREEMPTED, RUN, WAIT } from "./timeline_model.js";

// hatch: lines from, to in a tile of 8 by 8 pixels. The first five are waits, by their reasons.
export const PAINTS = [
    { name: "monitor", hatch: [[0, 8, 8, 0]], meaning: "waits for a monitor that another thread has" },
    { name: "object wait", hatch: [[0, 0, 8, 8]], meaning: "in Object.wait" },
    { name: "park", hatch: [[0, 4, 8, 4]], meaning: "parked: java.util.concurrent's locks and queues, native locks" },
    { name: "sleep", hatch: [[4, 0, 4, 2]], meaning: "in Thread.sleep" },
    { name: "io", hatch: [[4, 0, 4, 8]], meaning: "waits for input or output" },
    { name: "call", hatch: null, meaning: "a call as long as the threshold or longer" },
    { name: "pause", hatch: [[0, 0, 8, 8], [0, 8, 8, 0]], meaning: "a pause of the collector" },
    { name: "running", hatch: null, meaning: "has a processor" },
    { name: "preempted", hatch: [[0, 0, 8, 8]], meaning: "had a processor, and lost it although it could run" },
];
const FIRST = { [WAIT]: 0, [CALL]: 5, [PAUSE]: 6, [RUN]: 7 };

export function paintOf(slices, id) {
    const kind = slices.kind[id];
    if (kind === WAIT) return slices.place[id];
    return FIRST[kind] + (kind === RUN && slices.flags[id] & PREEMPTED ? 1 : 0);
}

const variable = (name) => name.replace(" ", "-");

export class TimelinePaint {
    recolour(context) {
        this.colours = readColours((of) => ({
            paper: of("--paper"),
            stripe: of("--stripe"),
            ink: of("--ink"),
            quiet: of("--quiet"),
            rule: of("--rule"),
            accent: of("--accent"),
            arrow: of("--time-arrow"),
            text: of("--frame-ink"),
            kinds: PAINTS.map(({ name }) => of(`--time-${variable(name)}`)),
            hatches: PAINTS.map(({ name }) => of(`--time-hatch-${variable(name)}`)),
        }));
        this.patterns = PAINTS.map(({ hatch }, i) => hatch && this.pattern(context, hatch, i));
    }

    pattern(context, hatch, i) {
        const tile = element("canvas");
        tile.width = tile.height = 8;
        const brush = tile.getContext("2d");
        brush.fillStyle = this.colours.kinds[i];
        brush.fillRect(0, 0, 8, 8);
        brush.strokeStyle = this.colours.hatches[i];
        brush.lineWidth = 1.5;
        brush.beginPath();
        // A line's ends would be cut at the tile's corners: its neighbours draw the rest.
        for (const [x, y, toX, toY] of hatch)
            for (const [right, down] of [[0, 0], [8, 0], [-8, 0], [0, 8], [0, -8]]) {
                brush.moveTo(x + right, y + down);
                brush.lineTo(toX + right, toY + down);
            }
        brush.stroke();
        return context.createPattern(tile, "repeat");
    }

    legend() {
        return PAINTS.map((paint, i) => {
            const item = element("li");
            const sample = element("canvas", "sample");
            sample.width = 20;
            sample.height = 14;
            const brush = sample.getContext("2d");
            brush.fillStyle = this.patterns[i] ?? this.colours.kinds[i];
            brush.fillRect(0, 0, 20, 14);
            item.title = paint.meaning;
            item.append(sample, paint.name);
            return item;
        });
    }
}
