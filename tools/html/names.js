// Names come from outside and are text, nothing else: what would act on the text around it, or
// would not be seen, becomes a visible escape.

// eslint-disable-next-line no-control-regex
const UNSEEN =
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const SHORT = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

function escapeOne(character) {
    if (SHORT[character]) return SHORT[character];
    const code = character.charCodeAt(0);
    return code < 256
        ? `\\x${code.toString(16).padStart(2, "0")}`
        : `\\u${code.toString(16).padStart(4, "0")}`;
}

export function printable(text) {
    return text.replace(UNSEEN, escapeOne);
}

// Of threads' names beginning and end tell most.
export function cutMiddle(text, length) {
    if (text.length <= length) return text;
    const end = Math.floor((length - 1) / 2);
    return `${text.slice(0, length - 1 - end)}…${end > 0 ? text.slice(-end) : ""}`;
}

// The longest cut of a text that `width` finds not wider than `room`; `by` is cut or cutMiddle.
export function cutToFit(text, room, width, by) {
    for (;;) {
        const its = width(text);
        if (its <= room) return text;
        if (text.length < 2) return "";
        text = by(text, Math.min(text.length - 1, Math.floor((text.length * room) / its)));
    }
}

export function cut(text, length) {
    return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
