// Elements, numbers with units, and tables that change only what changed, so that focus and selection stay.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
}

export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const scaled = (value, units, digits = 3) => {
  let step = 0;
  while (step + 1 < units.length && Math.abs(value) >= 1000) { value /= 1000; step += 1; }
  return `${Number(value.toPrecision(digits))} ${units[step]}`;
};

export const rate = (bits) => (bits === null || bits === undefined ? "–" : scaled(bits, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]));
export const bytes = (count) => (count === null || count === undefined ? "–" : scaled(count, ["B", "kB", "MB", "GB"]));
export const nanoseconds = (ns) => (ns === null || ns === undefined ? "–" : scaled(ns, ["ns", "µs", "ms", "s"]));
export const number = (count) => (count === null || count === undefined ? "–" : Math.round(count).toLocaleString("en"));
export const packets = (value) => (value === null || value === undefined ? "–" : Number(value.toPrecision(4)).toLocaleString("en"));
export const clock = (time) => (time > 1e9 ? new Date(time * 1000).toLocaleTimeString() : `${time.toFixed(3)} s`);
export const words = (name) => name.replaceAll("_", " ").replaceAll("-", " ");

/** A table whose rows are kept by key. `columns`: [title, value(row), is it text]; a value is text or an element. */
export class Table {
  constructor(caption, columns, none = "none") {
    this.columns = columns;
    this.rows = new Map();
    this.none = none;
    const heads = columns.map(([title, , text]) => h("th", { scope: "col", class: text ? "text" : null }, title));
    this.body = h("tbody");
    this.empty = h("p", { class: "soft" });
    this.table = h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...heads)), this.body);
    this.element = h("div", { class: "scroll" }, this.table, this.empty);
  }

  update(rows, key) {
    const seen = new Set();
    for (const [place, row] of rows.entries()) {
      const name = String(key(row));
      seen.add(name);
      let line = this.rows.get(name);
      if (!line) {
        line = h("tr", {}, ...this.columns.map(([, , text]) => h("td", { class: text ? "text" : null })));
        this.rows.set(name, line);
      }
      if (this.body.children[place] !== line) this.body.insertBefore(line, this.body.children[place] ?? null);
      this.columns.forEach(([, value], column) => show(line.children[column], value(row)));
    }
    for (const [name, line] of this.rows) if (!seen.has(name)) { line.remove(); this.rows.delete(name); }
    say(this.empty, rows.length ? "" : this.none);
    this.table.hidden = !rows.length;
  }
}

function show(cell, value) {
  if (value instanceof Node) {
    if (cell.firstChild !== value) cell.replaceChildren(value);
  } else say(cell, value ?? "–");
}
