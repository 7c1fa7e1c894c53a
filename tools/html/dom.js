// Elements by hand: text is only ever set as text.

export const byId = (id) => document.getElementById(id);

export function element(tag, className = "", text = "") {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
}
