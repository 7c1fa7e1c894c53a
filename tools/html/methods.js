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

const noErrors = { base: 0, cum: 0 };

// The parents' calls, base and cum add up to the method's own, the children's cum to its cum less
// its base. errors: of frames, or null; a row's is the root of the sum of its frames' squares.
export function callersOf(tree, column, method, callsColumn, errors) {
    const { base, cum } = tree.sum(column);
    const calls = tree.base(callsColumn);
    const { outer } = tree;
    const parents = new Map();
    const children = new Map();
    const errorsOf = (frame) => errors?.[frame] ?? noErrors;
    const add = (rows, of, frame, counts) => {
        const row = rowOf(rows, tree.method[of], tree.kind[of]);
        row.counted = tree.method[frame]; // whose calls they are: of a caller's row the method's own
        row.calls += calls[frame];
        row.base += base[frame];
        row.cum += counts ? cum[frame] : 0;
        addErrors(row, errorsOf(frame).base, counts && tree.method[of] !== method ? errorsOf(frame).cum : 0);
    };
    for (let frame = 1; frame < tree.count; frame++) {
        const above = tree.parent[frame];
        if (tree.method[frame] === method)
            add(parents, above, frame, outer[frame] === NONE);
        if (tree.method[above] === method) add(children, frame, frame, true);
        if (tree.method[frame] === method && outer[frame] !== NONE)
            takeOutNested(tree, children, frame, cum[frame], errorsOf(frame).cum);
    }
    const rowsWithErrors = (rows) => [...rows.values()].map((row) => (errors ? withErrors(row) : row));
    return { parents: rowsWithErrors(parents), children: rowsWithErrors(children) };
}

function addErrors(row, base, cum) {
    row.baseSquares = (row.baseSquares ?? 0) + base ** 2;
    row.cumSquares = (row.cumSquares ?? 0) + cum ** 2;
}

function withErrors(row) {
    return {
        ...row,
        baseError: Math.round(Math.sqrt(row.baseSquares)),
        cumError: Math.round(Math.sqrt(row.cumSquares)),
    };
}

// A nested frame: all of it went into the cum of the child through which the outer frame of its
// method called it.
function takeOutNested(tree, children, frame, counted, error) {
    let child = frame;
    while (tree.parent[child] !== tree.outer[frame]) child = tree.parent[child];
    const row = rowOf(children, tree.method[child], tree.kind[child]);
    row.cum -= counted;
    addErrors(row, 0, child === frame ? 0 : error);
}
