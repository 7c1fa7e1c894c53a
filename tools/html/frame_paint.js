// How frames are painted: by what they are, or by what changed. Nobody has to tell colours apart:
// each class of frames that means something has a hatching and a mark before its name.
//
// A paint has setColours(palette, engine), colour(tree, frame), pattern(tree, frame, faded): a
// pattern's name or a false value, mark(tree, frame, length): what stands before a name where there
// is room for so many characters, and legend(ledger): [{samples: [{sample, mark}], name, meaning}].

import { changeMark, percentText, STEPS, stepOf } from "./change.js";
import { EXACT, kinds, legendOf } from "./kinds.js";

const NUMBER_LEAST = 24; // characters that a frame has room for when its mark is a number

export class KindPaint {
    setColours(palette, engine) {
        this.palette = palette;
        kinds.forEach(({ hatch }, kind) => {
            if (!hatch) return;
            const { type, ...shape } = hatch;
            const pattern = (name, background, color) =>
                engine.createDefaultPattern({ name, type, config: { ...shape, background, color } });
            pattern(`kind${kind}`, palette.frames[kind], palette.hatches[kind]);
            pattern(`faded${kind}`, palette.faded, palette.fadedHatch);
        });
    }

    // Frames of one class have one colour, those of exact frames' palette.
    colour(tree, frame) {
        const kind = tree.kind[frame];
        if (kind !== EXACT) return this.palette.frames[kind];
        const { className } = tree.ledger.methods[tree.method[frame]];
        const { exacts } = this.palette;
        let hash = 7;
        for (let i = 0; i < className.length && i < 80; i++)
            hash = (Math.imul(hash, 31) + className.charCodeAt(i)) | 0;
        return exacts[(hash >>> 4) % exacts.length];
    }

    pattern(tree, frame, faded) {
        const kind = tree.kind[frame];
        return kinds[kind].hatch && `${faded ? "faded" : "kind"}${kind}`;
    }

    mark(tree, frame) {
        return kinds[tree.kind[frame]].mark;
    }

    legend(ledger) {
        return legendOf(ledger.kinds);
    }
}

// More is hatched upwards, less downwards, the denser the larger the share of what changed.
export class ChangePaint {
    constructor(app) {
        this.app = app;
    }

    setColours(palette, engine) {
        this.palette = palette;
        for (let step = 1; step <= STEPS; step++)
            for (const [name, angle] of [["more", 135], ["less", 45]]) {
                const config = {
                    angle,
                    spacing: 17 - 3 * step,
                    lineWidth: 1 + step / 2,
                    background: palette[name][step - 1],
                    color: palette[`${name}Hatch`],
                };
                engine.createDefaultPattern({ name: `${name}${step}`, type: "stripes", config });
            }
    }

    values(tree, frame) {
        const { metric } = this.app;
        return [tree.cum(metric.a)[frame], tree.cum(metric.b)[frame]];
    }

    colour(tree, frame) {
        const step = stepOf(...this.values(tree, frame));
        if (step === 0) return this.palette.same;
        return this.palette[step > 0 ? "more" : "less"][Math.abs(step) - 1];
    }

    pattern(tree, frame, faded) {
        const step = stepOf(...this.values(tree, frame));
        return step !== 0 && !faded && `${step > 0 ? "more" : "less"}${Math.abs(step)}`;
    }

    mark(tree, frame, length) {
        const [a, b] = this.values(tree, frame);
        const sign = changeMark(a, b);
        const number = sign && a === 0 ? "+ new" : sign && b === 0 ? "\u2212 gone" : percentText(a, b);
        const change = sign && length >= NUMBER_LEAST ? number : sign;
        const kind = kinds[tree.kind[frame]].mark;
        return change && kind ? `${change} ${kind}` : change || kind;
    }

    legend(ledger) {
        const words = ["far ", "", "a little "];
        const shares = ["half or more", "a tenth or more", "less than a tenth"];
        const item = (name, mark, i) => ({
            samples: [{ sample: `${name}-${STEPS - i}`, mark }],
            name: words[i] + name,
            meaning: `cum is ${name} by ${shares[i]} of the larger one of A and B`,
        });
        const steps = words.map((_, i) => i);
        return [
            ...steps.map((i) => item("less", "\u2212", i)),
            {
                samples: [{ sample: "same", mark: "" }],
                name: "same",
                meaning: "cum changed by less than half a per cent",
            },
            ...steps.map((i) => item("more", "+", i)).reverse(),
            ...legendOf(ledger.kinds)
                .filter(({ samples }) => samples[0].mark)
                .map(({ name, meaning, samples }) => ({
                    name,
                    meaning,
                    samples: samples.map(({ mark }) => ({ sample: "letter", mark })),
                })),
        ];
    }
}
