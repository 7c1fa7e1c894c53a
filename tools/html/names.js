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

export function cut(text, length) {
    return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
