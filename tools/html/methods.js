// What each method cost, who calls it and what it calls: the sums of `treadle report`'s flat and
// callers views, see tools/report/report_callers.h.

const NONE = -1;

// A row a method: base, calls, and cum of the outermost frames, so that recursion counts once.
export function flatRows(tree, column, callsColumn) {
    const { base, cum } = tree.sum(column);
    const calls = tree.base(callsColumn);
    const { outer } = tree;
    const rows = new Map();
    for (let frame = 0; frame < tree.count; frame++) {
        const row = rowOf(rows, tree.method[frame], tree.kind[frame]);
        row.base += base[frame];
        row.calls += calls[frame];
        if (outer[frame] === NONE) row.cum += cum[frame];
    }
    return [...rows.values()];
}

function rowOf(rows, method, kind) {
    let row = rows.get(method);
    if (!row) {
        row = { method, kind, calls: 0, base: 0, cum: 0 };
        rows.set(method, row);
    }
    return row;
}

// The parents' calls, base and cum add up to the method's own, the children's cum to its cum less
// its base.
export function callersOf(tree, column, method, callsColumn) {
    const { base, cum } = tree.sum(column);
    const calls = tree.base(callsColumn);
    const { outer } = tree;
    const parents = new Map();
    const children = new Map();
    const add = (rows, of, frame, counted) => {
        const row = rowOf(rows, tree.method[of], tree.kind[of]);
        row.counted = tree.method[frame]; // whose calls they are: of a caller's row the method's own
        row.calls += calls[frame];
        row.base += base[frame];
        row.cum += counted;
    };
    for (let frame = 1; frame < tree.count; frame++) {
        const above = tree.parent[frame];
        if (tree.method[frame] === method)
            add(parents, above, frame, outer[frame] === NONE ? cum[frame] : 0);
        if (tree.method[above] === method) add(children, frame, frame, cum[frame]);
        if (tree.method[frame] === method && outer[frame] !== NONE)
            takeOutNested(tree, children, frame, cum[frame]);
    }
    return { parents: [...parents.values()], children: [...children.values()] };
}

// A nested frame: all of it went into the cum of the child through which the outer frame of its
// method called it.
function takeOutNested(tree, children, frame, counted) {
    let child = frame;
    while (tree.parent[child] !== tree.outer[frame]) child = tree.parent[child];
    rowOf(children, tree.method[child], tree.kind[child]).cum -= counted;
}
