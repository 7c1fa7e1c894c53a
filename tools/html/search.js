// Which methods match a search, and what part of a call tree stands in them and below.

export function matcher(text) {
    if (!text) return null;
    const expression = /^\/(.+)\/$/.exec(text);
    if (expression) {
        try {
            const pattern = new RegExp(expression[1], "i");
            return (name) => pattern.test(name);
        } catch {
            return () => false;
        }
    }
    const lower = text.toLowerCase();
    return (name) => name.toLowerCase().includes(lower);
}

export function findMethods(ledger, text) {
    const matches = matcher(text);
    if (!matches) return null;
    const found = new Uint8Array(ledger.methods.length);
    ledger.methods.forEach((method, i) => {
        found[i] = matches(method.full) ? 1 : 0;
    });
    return found;
}

// frames: how many match; sum: their cum, what stands below another match counted once.
export function measure(tree, metric, methods) {
    const cum = tree.cum(metric);
    const inside = new Uint8Array(tree.count);
    const result = { frames: 0, sum: 0, heaviest: -1 };
    for (let frame = 1; frame < tree.count; frame++) {
        const above = inside[tree.parent[frame]];
        const match = methods[tree.method[frame]];
        inside[frame] = above | match;
        if (!match) continue;
        result.frames++;
        if (above) continue;
        result.sum += cum[frame];
        if (result.heaviest < 0 || cum[frame] > cum[result.heaviest]) result.heaviest = frame;
    }
    return result;
}
