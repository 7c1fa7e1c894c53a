// A table of any number of rows, of which only those in sight are elements. One row is the current
// one; arrow keys move it, what else keys and clicks do is its owner's.
//
// columns: [{key, title, hint, className, rem, grow, fixed}], `rem` being the (least) width and
// `fixed` those that nothing can be sorted by; fill(cells, row) sets the texts of a row's cells.

import { element } from "./dom.js";
import { cutMiddle, cutToFit } from "./names.js";

const ROW_PIXELS = 26;
const SCROLL_PIXELS_MAX = 12e6; // browsers give up beyond some 17 to 33 million
const SPARE_ROWS = 4;
const PADDING_PIXELS = 16;
const CHARACTER_PIXELS = 7.6;
const NAME_MAX = 400; // characters, more than any column has room for
const BOLD = 0.92; // chosen rows are bold, which is wider

let tables = 0;

export class Table {
    constructor(host, { label, role = "grid", columns, fill, onSort, onOpen, onKey }) {
        Object.assign(this, { host, fill, onSort, onOpen, onKey });
        this.id = `table${tables++}`;
        this.rows = [];
        this.count = 0;
        this.current = 0;
        this.head = element("div", "head");
        this.head.setAttribute("role", "row");
        this.body = element("div", "body");
        this.body.setAttribute("role", "rowgroup");
        host.setAttribute("role", role);
        host.setAttribute("aria-label", label);
        host.tabIndex = 0;
        host.append(this.head, this.body);
        this.setColumns(columns);
        host.addEventListener("scroll", () => this.draw());
        host.addEventListener("keydown", (event) => this.key(event));
        this.body.addEventListener("click", (event) => this.click(event));
        new ResizeObserver(() => this.draw()).observe(host);
    }

    setColumns(columns) {
        this.columns = columns;
        this.head.replaceChildren(...columns.map((column) => this.headCell(column)));
        this.body.replaceChildren();
        this.rows = [];
        const widths = columns.map(({ rem = 7, grow }) => (grow ? `minmax(${rem}rem, 1fr)` : `${rem}rem`));
        this.host.style.setProperty("--columns", widths.join(" "));
        const least = columns.reduce((sum, { rem = 7 }) => sum + rem, 0);
        this.host.style.setProperty("--least", `${least}rem`);
    }

    headCell(column) {
        const cell = element("div", column.className ?? "number", column.title);
        cell.setAttribute("role", "columnheader");
        if (column.hint) cell.title = column.hint;
        if (!this.onSort || column.fixed) return cell;
        cell.classList.add("sortable");
        const button = element("button", "", column.title);
        button.type = "button";
        button.addEventListener("click", () => this.onSort(column.key));
        cell.dataset.key = column.key;
        cell.replaceChildren(button);
        return cell;
    }

    showSort(key, direction) {
        for (const cell of this.head.children) {
            if (cell.dataset.key === key)
                cell.setAttribute("aria-sort", direction === "up" ? "ascending" : "descending");
            else cell.removeAttribute("aria-sort");
        }
    }

    setRows(count) {
        this.count = count;
        this.current = Math.max(0, Math.min(this.current, count - 1));
        this.scrollPixels = Math.min(count * ROW_PIXELS, SCROLL_PIXELS_MAX);
        this.body.style.height = `${this.scrollPixels}px`;
        this.host.setAttribute("aria-rowcount", count + 1);
        this.draw();
    }

    // About how many characters a column has room for.
    roomOf(column) {
        return Math.floor((this.head.children[column].clientWidth - PADDING_PIXELS) / CHARACTER_PIXELS);
    }

    // A name cut in the middle to what a column has room for, of which `taken` pixels are not its.
    cutName(text, column, taken = 0) {
        this.context ??= element("canvas").getContext("2d");
        const { font } = getComputedStyle(this.host);
        if (this.context.font !== font) this.context.font = font;
        const width = (its) => this.context.measureText(its).width;
        const room = this.head.children[column].clientWidth - PADDING_PIXELS - taken;
        return cutToFit(cutMiddle(text, NAME_MAX), room * BOLD, width, cutMiddle);
    }

    get visibleRows() {
        return Math.max(1, Math.floor((this.host.clientHeight - ROW_PIXELS) / ROW_PIXELS));
    }

    // Rows that a pixel of scrolling stands for; 1 row is ROW_PIXELS unless there are very many.
    get firstVisible() {
        const visible = this.visibleRows;
        const scrollable = this.scrollPixels - visible * ROW_PIXELS;
        if (this.count <= visible || scrollable <= 0) return 0;
        return (this.host.scrollTop / scrollable) * (this.count - visible);
    }

    draw() {
        if (this.host.clientHeight === 0) return;
        const first = this.firstVisible;
        const from = Math.max(0, Math.floor(first) - SPARE_ROWS);
        const to = Math.min(this.count, Math.ceil(first) + this.visibleRows + SPARE_ROWS);
        while (this.rows.length < to - from) this.addRow();
        this.room = this.columns.map((_, column) => this.roomOf(column));
        const top = this.host.scrollTop - first * ROW_PIXELS;
        this.rows.forEach((row, i) => {
            const index = from + i;
            row.hidden = index >= to;
            if (row.hidden) return;
            row.style.transform = `translateY(${top + index * ROW_PIXELS}px)`;
            row.index = index;
            row.id = `${this.id}-${index}`;
            row.setAttribute("aria-rowindex", index + 2);
            row.classList.toggle("current", index === this.current);
            row.classList.toggle("odd", index % 2 === 1);
            this.fill(row.children, index, row);
        });
        if (this.count) this.host.setAttribute("aria-activedescendant", `${this.id}-${this.current}`);
        else this.host.removeAttribute("aria-activedescendant");
    }

    addRow() {
        const row = element("div", "row");
        row.setAttribute("role", "row");
        for (const column of this.columns) {
            const cell = element("div", column.className ?? "number");
            cell.setAttribute("role", "gridcell");
            cell.append(element("i", "share"), element("span"));
            row.append(cell);
        }
        this.body.append(row);
        this.rows.push(row);
    }

    moveTo(row) {
        if (!this.count) return;
        this.current = Math.max(0, Math.min(row, this.count - 1));
        const first = this.firstVisible;
        const visible = this.visibleRows;
        if (this.current < first) this.scrollTo(this.current);
        else if (this.current > first + visible - 1) this.scrollTo(this.current - visible + 1);
        this.draw();
    }

    scrollTo(row) {
        const visible = this.visibleRows;
        const scrollable = this.scrollPixels - visible * ROW_PIXELS;
        if (this.count > visible) this.host.scrollTop = (row / (this.count - visible)) * scrollable;
    }

    key(event) {
        if (event.target !== this.host || event.ctrlKey || event.altKey || event.metaKey) return;
        const steps = {
            ArrowDown: 1,
            ArrowUp: -1,
            PageDown: this.visibleRows,
            PageUp: -this.visibleRows,
            Home: -Infinity,
            End: Infinity,
        };
        if (event.key in steps) this.moveTo(this.current + steps[event.key]);
        else if (event.key === "Enter" && this.onOpen && this.count) this.onOpen(this.current);
        else if (!(this.onKey && this.count && this.onKey(event.key, this.current))) return;
        event.preventDefault();
    }

    click(event) {
        const row = event.target.closest(".row");
        if (!row) return;
        this.current = row.index;
        const cell = event.target.closest(".row > div");
        const handled = this.onClick?.(row.index, [...row.children].indexOf(cell), event);
        if (!handled) this.draw();
    }
}

// A cell's text, and a bar behind it if it is a part of something.
export function setCell(cell, text, part = 0) {
    cell.lastChild.textContent = text;
    cell.firstChild.style.width = part > 0 ? `${Math.min(1, part) * 100}%` : "0";
}
