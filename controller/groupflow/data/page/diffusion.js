// Controlled flows: n, J and r of each hop now, and n over time, so that a queue is seen to spread against the stream.

import { h, packets, s, say, set, Table } from "./format.js";

const HEIGHT = 190;
const SIDE = 46;
const FOOT = 24;

export class DiffusionView {
  constructor() {
    this.element = h("div", {}, h("p", { class: "soft" }));
    this.cards = new Map();
  }

  forget() { for (const card of this.cards.values()) card.most = [1, 1]; }

  update(frame, frames) {
    say(this.element.firstChild, frame.flows.length ? "" : "No flow is under diffusion-type flow control: groupflow flow create.");
    for (const flow of frame.flows) {
      if (!this.cards.has(flow.flow)) {
        const card = new Card(flow);
        this.cards.set(flow.flow, card);
        this.element.append(card.element);
      }
      this.cards.get(flow.flow).update(flow, frames);
    }
    for (const [number, card] of this.cards) {
      if (!frame.flows.some((flow) => flow.flow === number)) { card.element.remove(); this.cards.delete(number); }
    }
  }
}

class Card {
  constructor(flow) {
    this.most = [1, 1];
    this.svg = s("svg", { class: "hops", role: "img" });
    this.canvas = h("canvas", { class: "over-time", role: "img" });
    this.about = h("p", { class: "soft" });
    this.table = new Table("Hops now", [
      ["Hop", (row) => `${row.switch} → ${row.to}`, true], ["n", (row) => packets(row.n)], ["r", (row) => packets(row.r)],
      ["J", (row) => packets(row.j)], ["L", (row) => packets(row.share)], ["Problem", (row) => row.problem ?? "", true],
    ]);
    const keys = [["n", "packets that wait (bars, left)"], ["J", "rate of the queue (line, squares, right)"], ["r", "rate heard from downstream (dashes, circles, right)"]];
    this.element = h("section", { class: "card" }, h("h2", {}, `Flow ${flow.flow}: ${flow.name}`),
      h("p", { class: "soft key" }, ...keys.map(([name, what]) => h("span", { class: `sign ${name}` }, h("b", {}, name), ` ${what}`))),
      this.svg, h("h3", {}, "n of each hop over time: the first hop above, now at the right"), this.canvas, this.about,
      h("details", {}, h("summary", {}, "Figures"), this.table.element));
  }

  update(flow, frames) {
    const hops = flow.hops;
    const highest = (values) => Math.max(1, ...values.filter((value) => value !== null && value < 1e7));
    this.most = [Math.max(this.most[0], highest(hops.map((hop) => hop.n))), Math.max(this.most[1], highest(hops.flatMap((hop) => [hop.j, hop.r])))];
    this.#bars(hops);
    this.#overTime(flow, frames);
    this.table.update(hops, (row) => `${row.switch} ${row.to}`);
  }

  #bars(hops) {
    const width = Math.max(280, this.element.clientWidth - 24);
    const step = (width - 2 * SIDE) / hops.length;
    const x = (place) => SIDE + (place + 0.5) * step;
    const room = HEIGHT - FOOT - 12;
    const y = (value, most) => HEIGHT - FOOT - (room * value) / most;
    const [n, rates] = this.most;
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const at = y(share, 1);
      parts.push(s("line", { class: "grid", x1: SIDE, x2: width - SIDE, y1: at, y2: at }),
        s("text", { class: "axis", x: SIDE - 6, y: at + 4, "text-anchor": "end" }, packets(n * share)),
        s("text", { class: "axis", x: width - SIDE + 6, y: at + 4 }, packets(rates * share)));
    }
    const every = Math.ceil(34 / step);
    hops.forEach((hop, place) => {
      const bar = Math.max(2, Math.min(34, step * 0.6));
      if (hop.n !== null) parts.push(s("rect", { class: "n", x: x(place) - bar / 2, width: bar, y: y(hop.n, n), height: (room * hop.n) / n }));
      if (step > 30 && hop.n) parts.push(s("text", { class: "axis", x: x(place), y: y(hop.n, n) - 3, "text-anchor": "middle" }, packets(hop.n)));
      if (place % every === 0) parts.push(s("text", { class: "axis", x: x(place), y: HEIGHT - 7, "text-anchor": "middle" }, hop.switch));
    });
    for (const name of ["r", "j"]) {
      const points = hops.map((hop, place) => (hop[name] === null || hop[name] >= 1e7 ? null : [x(place), y(hop[name], rates)])).filter(Boolean);
      parts.push(s("polyline", { class: name, points: points.map((point) => point.join()).join(" ") }));
      const size = step > 12 ? 3.5 : 2;
      parts.push(...points.map(([px, py]) => (name === "j" ? s("rect", { class: name, x: px - size, y: py - size, width: 2 * size, height: 2 * size }) : s("circle", { class: name, cx: px, cy: py, r: size + 1 }))));
    }
    set(this.svg, { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-label": `n, J and r of ${hops.length} hops; the figures are below` });
    this.svg.replaceChildren(...parts);
  }

  #overTime(flow, frames) {
    const rows = flow.hops.length;
    const width = Math.max(280, this.element.clientWidth - 24);
    const height = Math.max(60, Math.min(300, rows * 14));
    const ratio = window.devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [width * ratio, height * ratio];
    this.canvas.style.inlineSize = `${width}px`;
    const paint = this.canvas.getContext("2d");
    const style = getComputedStyle(this.element);
    const [low, high] = [style.getPropertyValue("--panel"), style.getPropertyValue("--heat")];
    paint.scale(ratio, ratio);
    paint.fillStyle = low;
    paint.fillRect(0, 0, width, height);
    paint.fillStyle = high;
    const columns = frames.map((frame) => frame.flows.find((each) => each.flow === flow.flow)?.hops ?? []);
    const most = Math.max(1, ...columns.flatMap((hops) => hops.map((hop) => hop.n ?? 0)));
    const [wide, tall] = [width / 120, height / rows];
    columns.forEach((hops, place) => hops.forEach((hop, row) => {
      paint.globalAlpha = Math.sqrt((hop.n ?? 0) / most);
      paint.fillRect(width - (columns.length - place) * wide, row * tall, wide + 0.5, tall - (tall > 6 ? 1 : 0));
    }));
    paint.globalAlpha = 1;
    const longest = flow.hops.reduce((best, hop) => ((hop.n ?? 0) > (best.n ?? 0) ? hop : best), flow.hops[0]);
    const text = longest ? `Full colour: ${most} packets. Longest queue now: ${packets(longest.n)} at ${longest.switch}.` : "";
    say(this.about, text);
    set(this.canvas, { "aria-label": text });
  }
}
