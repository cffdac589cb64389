// The map: links whose halves show the rate of the end they begin at, queues beside the node that they leave, trees of
// sessions lit below the links, switches by state. A state is a shape and a word, a load is a width: colour only adds.

import { layout } from "./layout.js";
import { nanoseconds, rate, s, say, set } from "./format.js";

const HALF = 20; // pixels from a switch's middle to where its queue stands
const QUIET = 20_000; // bit/s: less, or less than a hundredth of the link, is the talk of agents
const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

export class NetworkMap {
  constructor(canvas, topology, onSwitch) {
    this.canvas = canvas;
    this.topology = topology;
    this.onSwitch = onSwitch;
    this.zoom = 1;
    this.switches = new Set(topology.switches);
    this.svg = s("svg", { role: "group", "aria-label": "Map: arrow keys go from node to node, Enter shows a switch" });
    this.canvas.append(this.svg);
    this.layers = ["trees", "links", "nodes", "labels"].map((name) => s("g", { class: name }));
    this.svg.append(...this.layers);
    this.nodes = new Map();
    this.links = topology.links.map((link) => this.#link(link));
    beside(this.links);
    for (const name of topology.switches) this.#node(name, "switch");
    for (const host of topology.hosts) this.#node(host.name, host.agent ? "agent" : "host");
    this.nodes.values().next().value?.element.setAttribute("tabindex", "0");
    this.place();
    new ResizeObserver(() => this.place()).observe(canvas);
    window.addEventListener("resize", () => this.place());
  }

  /** Lays the network out for the room there is. */
  place() {
    const room = Math.max(300, this.canvas.clientWidth);
    const beside = window.innerWidth >= 1100; // else the figures are below, and are to be seen too
    const tall = Math.max(280, beside ? window.innerHeight - this.canvas.getBoundingClientRect().top - window.scrollY - 70 : window.innerHeight * 0.5);
    if (room === this.room && this.zoom === this.zoomed && tall === this.tall) return;
    [this.room, this.zoomed, this.tall] = [room, this.zoom, tall];
    const { places, width, height } = layout(this.topology, room / this.zoom, tall / this.zoom);
    [this.places, this.wide] = [places, width];
    set(this.svg, { viewBox: `0 0 ${width} ${height}`, width: width * this.zoom, height: height * this.zoom });
    for (const [name, { element }] of this.nodes) {
      const { x, y } = places.get(name);
      set(element, { transform: `translate(${x} ${y})` });
    }
    for (const link of this.links) this.#aim(link);
    if (this.frame) this.update(this.frame, this.session);
  }

  #node(name, kind) {
    const shape = {
      switch: s("rect", { x: -20, y: -13, width: 40, height: 26, rx: 6 }),
      agent: s("path", { d: "M0-10L10 0L0 10L-10 0Z" }),
      host: s("circle", { r: 8 }),
    }[kind];
    const ring = s("path", { class: "ring" });
    const mark = s("text", { class: "mark", y: -17 });
    const text = s("text", { class: "name", y: kind === "switch" ? 4.5 : 21 }, name);
    const element = s("g", { class: `node ${kind}`, tabindex: "-1", role: kind === "switch" ? "button" : "img", "aria-label": name }, shape, ring, text, mark);
    element.addEventListener("keydown", (event) => this.#key(event, name, kind));
    if (kind === "switch") element.addEventListener("click", () => this.onSwitch(name));
    this.nodes.set(name, { element, mark, ring, kind });
    this.layers[2].append(element);
  }

  #key(event, name, kind) {
    if ((event.key === "Enter" || event.key === " ") && kind === "switch") this.onSwitch(name);
    else if (STEPS[event.key]) this.#go(name, STEPS[event.key]);
    else return;
    event.preventDefault();
  }

  /** Moves the focus to the nearest node in a direction. */
  #go(from, [dx, dy]) {
    const here = this.places.get(from);
    let [best, least] = [null, Infinity];
    for (const [name, at] of this.places) {
      const [along, across] = [(at.x - here.x) * dx + (at.y - here.y) * dy, Math.abs((at.x - here.x) * dy - (at.y - here.y) * dx)];
      if (along > 1 && along + 2 * across < least) [best, least] = [name, along + 2 * across];
    }
    if (!best) return;
    this.nodes.get(from).element.setAttribute("tabindex", "-1");
    this.nodes.get(best).element.setAttribute("tabindex", "0");
    this.nodes.get(best).element.focus();
  }

  #link(link) {
    const [a, b] = link.ends;
    const sides = [[a, b], [b, a]].map(([near, far]) => ({
      near, far, dropped: 0,
      half: s("line", { class: "half" }),
      queue: s("g", { class: "queue" }, s("rect", { class: "box", x: -4, y: -11, width: 8, height: 22, rx: 1.5 }), s("rect", { class: "level", x: -4, width: 8, rx: 1.5 })),
      text: s("text", { class: "load" }),
      depth: s("text", { class: "depth" }),
    }));
    const title = s("title");
    const base = s("line", { class: "base" });
    this.layers[1].append(s("g", { class: "link" }, title, base, ...sides.flatMap((side) => [side.half, side.queue])));
    this.layers[3].append(...sides.flatMap((side) => [side.text, side.depth]));
    return { link, sides, base, title };
  }

  #aim({ sides, base, shift }) {
    const [one, other] = shifted(sides.map((side) => this.places.get(side.near[0])), shift);
    set(base, { x1: one.x, y1: one.y, x2: other.x, y2: other.y });
    const length = Math.hypot(other.x - one.x, other.y - one.y) || 1;
    sides.forEach((side, place) => {
      const [from, to] = place ? [other, one] : [one, other];
      const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
      const start = this.switches.has(side.near[0]) ? HALF * Math.min(1, 1 / Math.max(Math.abs(ux), Math.abs(uy) * 1.5)) : 9;
      side.length = length;
      set(side.half, { x1: from.x + ux * start, y1: from.y + uy * start, x2: from.x + (ux * length) / 2, y2: from.y + (uy * length) / 2 });
      const at = start + 10;
      const name = this.#nameBox(side.near[0]);
      const [right, left] = [9, -9].map((off) => ({ off, x: from.x + ux * at - uy * off, y: from.y + uy * at + ux * off }));
      const { off, x, y } = name && meet(name, box(right.x, right.y, 8, 22)) ? left : right;
      set(side.queue, { transform: `translate(${x} ${y})` });
      side.deep = { x: x + ux * 13 - uy * off, y: y + uy * 13 + ux * off, nx: 0, ny: 0 };
      side.box = box(x, y, 8, 22);
      side.spots = [0.3, 0.4, 0.22].flatMap((part) => [1, -1].map((turn) => (
        { x: from.x + ux * length * part, y: from.y + uy * length * part, nx: uy * turn, ny: -ux * turn })));
    });
  }

  /** Shows a frame; `session`: the one whose trees are lit, or null for all. */
  update(frame, session) {
    this.frame = frame;
    this.session = session;
    for (const name of this.topology.switches) this.#state(name, frame.switches[name]);
    const told = new Map(this.links.map(({ link, sides }) => [link, sides.map((side) => direction(frame, side, this.switches, link))]));
    const queues = this.links.flatMap(({ link, sides }) => sides.filter((_, place) => told.get(link)[place].waiting).map((side) => side.box));
    const taken = [...this.#nodeBoxes(), ...queues];
    for (const { link, sides, base, title } of this.links) {
      const now = told.get(link);
      const down = now.some((each) => each.up === false);
      set(base, { class: down ? "base down" : "base" });
      say(title, sides.map((side, place) => this.#side(side, now[place], down, place, taken)).join("\n"));
    }
    this.#trees(frame, session);
    this.#rings(frame, session);
  }

  /** The room that nodes take with their names, in which no label is to stand. */
  #nodeBoxes() {
    return [...this.nodes].flatMap(([name, { kind, mark }]) => {
      const { x, y } = this.places.get(name);
      if (kind === "switch") return [box(x, y, 44, 30), ...(mark.textContent ? [box(x, y - 21, width(mark.textContent), 14)] : [])];
      return [box(x, y, 26, 26), this.#nameBox(name)];
    });
  }

  /** The room of the name below a node; a switch has its name inside. */
  #nameBox(name) {
    const { x, y } = this.places.get(name);
    return this.switches.has(name) ? null : box(x, y + 17, width(name), 14);
  }

  /** Shows a label at the first of its spots, beside the line there, where nothing else is; or not at all. */
  #label(text, what, spots, taken) {
    const wide = width(what);
    const boxes = spots.map(({ x, y, nx, ny }) => {
      const off = Math.abs(nx) * (wide / 2 + 5) + Math.abs(ny) * 12;
      return box(x + nx * off, y + ny * off, wide, 13);
    });
    const free = what && boxes.find((each) => each.x0 >= 0 && each.x1 <= this.wide && !taken.some((other) => meet(other, each)));
    say(text, free ? what : "");
    if (!free) return;
    set(text, { x: (free.x0 + free.x1) / 2, y: free.y1 - 2.5 });
    taken.push(free);
  }

  #side(side, now, down, place, taken) {
    const { sent, waiting, dropped, link } = now;
    const busy = sent >= Math.max(QUIET, (link.rate ?? 0) / 100);
    const load = link.rate ? Math.min(1, sent / link.rate) : Math.min(1, sent / 1e9);
    set(side.half, { "stroke-width": (1.5 + 8 * Math.sqrt(load)).toFixed(1), class: down ? "half down" : busy ? "half" : "half idle" });
    const level = Math.min(1, waiting / (link.queue || 200));
    set(side.queue, { class: waiting ? (level > 0.9 ? "queue full" : "queue") : "queue empty" });
    const height = waiting ? Math.max(2, 22 * level) : 0;
    set(side.queue.lastChild, { height, y: 11 - height });
    const lost = dropped > side.dropped && side.known ? ` ✕${dropped - side.dropped}` : "";
    [side.dropped, side.known] = [dropped, true];
    const load_text = down ? (place ? "" : "✕ down") : busy && side.length > 130 ? rate(sent) + lost : lost.trim();
    this.#label(side.text, load_text, side.spots, taken);
    this.#label(side.depth, waiting && side.length > 62 ? String(waiting) : "", [side.deep], taken);
    const share = link.rate ? ` (${Math.round(load * 100)} % of ${rate(link.rate)})` : "";
    return `${side.near[0]} to ${side.far[0]}: ${down ? "down" : "up"}, ${rate(sent)}${share}, ${waiting} packets wait, ${dropped} dropped; ${settings(link)}`;
  }

  #state(name, state) {
    const { element, mark } = this.nodes.get(name);
    const what = state?.state === "up" ? (state.lagging ? "slow" : "up") : state?.state === "syncing" ? "starting" : state ? "lost" : "unknown";
    set(element, { class: `node switch ${what}`, "aria-label": `switch ${name}, ${what}` });
    say(mark, { up: "", slow: "slow", starting: "…", lost: "✕ lost", unknown: "?" }[what]);
  }

  /** Each session's trees, side by side along the links. */
  #trees(frame, session) {
    const lit = frame.sessions.filter((each) => session === null || each.id === session).slice(0, 8);
    const strokes = [];
    lit.forEach((each, order) => {
      const edges = new Set(each.streams.flatMap((stream) => stream.tree.flatMap((node) => [
        edge(node.upstream, node.switch), ...node.branches.map((branch) => edge(node.switch, branch.node))])));
      const shift = (order - (lit.length - 1) / 2) * 7;
      for (const text of edges) {
        const [from, to] = text.split("\t").map((name) => this.places.get(name));
        if (!from || !to) continue;
        const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
        const [nx, ny] = [(-(to.y - from.y) / length) * shift, ((to.x - from.x) / length) * shift];
        strokes.push({ x1: from.x + nx, y1: from.y + ny, x2: to.x + nx, y2: to.y + ny, class: `tree ${hue(each.id)}` });
      }
    });
    const layer = this.layers[0];
    while (layer.children.length > strokes.length) layer.lastChild.remove();
    while (layer.children.length < strokes.length) layer.append(s("line"));
    strokes.forEach((stroke, place) => set(layer.children[place], stroke));
  }

  /** The progress of members, as an arc around their host. */
  #rings(frame, session) {
    const shares = new Map();
    for (const each of frame.sessions) {
      if (session !== null && each.id !== session) continue;
      for (const member of each.members) if (member.role === "receiver") shares.set(member.host, [progress(each, member), each.id]);
    }
    for (const [name, { ring, kind }] of this.nodes) {
      if (kind === "switch") continue;
      const [share, id] = shares.get(name) ?? [0, 0];
      set(ring, { d: arc(share, 12), class: `ring ${hue(id)}` });
    }
  }
}

/** Links between the same nodes lie side by side: how far each is from the middle. */
function beside(links) {
  const pairs = new Map();
  for (const each of links) {
    const key = edge(...each.link.ends.map(([name]) => name));
    pairs.set(key, [...(pairs.get(key) ?? []), each]);
  }
  for (const all of pairs.values()) all.forEach((each, place) => { each.shift = 24 * (place - (all.length - 1) / 2); });
}

/** Both ends of a line, moved across it: always to the same side, whichever end comes first. */
function shifted([one, other], shift) {
  const length = (Math.hypot(other.x - one.x, other.y - one.y) || 1) * (one.x - other.x || one.y - other.y > 0 ? 1 : -1);
  const [x, y] = [(-(other.y - one.y) / length) * shift, ((other.x - one.x) / length) * shift];
  return [one, other].map((end) => ({ x: end.x + x, y: end.y + y }));
}

const edge = (one, other) => (one < other ? `${one}\t${other}` : `${other}\t${one}`);
export const hue = (id) => `hue-${id % 6}`;

/** The part of a stream that a receiver has of what has been sent, 0 to 1. */
export function progress(session, member) {
  if (member.complete.length) return 1;
  const sent = Math.max(1, ...session.members.map((each) => each.next));
  return Math.min(1, member.next / sent);
}

/** A link in one direction: bits per second, waiting packets, drops, settings; the switch that has its queue tells.
 * What it does not tell of the settings is of the topology. */
export function direction(frame, { near, far }, switches, link) {
  const [one, other] = [near, far].map(([name, port]) => frame.switches[name]?.ports?.[port]);
  const now = (told) => (told ? { rate: told[0], delay_ns: told[1], loss: told[2], queue: told[3] } : link);
  const up = one?.up !== false && other?.up !== false;
  if (switches.has(near[0])) return { up, sent: one?.out ?? 0, waiting: one?.queue ?? 0, dropped: one?.out_drops ?? 0, link: now(one?.out_link) };
  return { up, sent: other?.in ?? 0, waiting: other?.in_queue ?? 0, dropped: other?.in_drops ?? 0, link: now(other?.in_link) };
}

export const share = (loss) => `${Number((loss / 1e7).toPrecision(3))} %`;
const settings = (link) => `${link.rate ? rate(link.rate) : "any rate"}, ${nanoseconds(link.delay_ns)}, loss ${share(link.loss)}, queue ${link.queue}`;

const box = (x, y, wide, tall) => ({ x0: x - wide / 2, x1: x + wide / 2, y0: y - tall / 2, y1: y + tall / 2 });
const meet = (one, other) => one.x0 < other.x1 && other.x0 < one.x1 && one.y0 < other.y1 && other.y0 < one.y1;
const width = (text) => 7 * text.length + 2;

function arc(share, radius) {
  if (share <= 0) return "";
  const angle = Math.min(0.9999, share) * 2 * Math.PI;
  const [x, y] = [radius * Math.sin(angle), -radius * Math.cos(angle)];
  return `M0 ${-radius}A${radius} ${radius} 0 ${share > 0.5 ? 1 : 0} 1 ${x.toFixed(2)} ${y.toFixed(2)}`;
}
