// The map: links whose halves show the rate of the end they begin at, queues beside the node that they leave, trees of
// sessions lit below the links, switches by state. A state is a shape and a word, a load is a width: colour only adds.

import { layout } from "./layout.js";
import { rate, s, say, set } from "./format.js";

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
    this.layers = ["trees", "links", "nodes"].map((name) => s("g", { class: name }));
    this.svg.append(...this.layers);
    this.nodes = new Map();
    this.links = topology.links.map((link) => this.#link(link));
    for (const name of topology.switches) this.#node(name, "switch");
    for (const host of topology.hosts) this.#node(host.name, host.agent ? "agent" : "host");
    this.nodes.values().next().value?.element.setAttribute("tabindex", "0");
    this.place();
    new ResizeObserver(() => this.place()).observe(canvas);
  }

  /** Lays the network out for the room there is. */
  place() {
    const room = Math.max(300, this.canvas.clientWidth);
    if (room === this.room && this.zoom === this.zoomed) return;
    [this.room, this.zoomed] = [room, this.zoom];
    const { places, width, height } = layout(this.topology, room / this.zoom);
    this.places = places;
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
    this.layers[1].append(s("g", { class: "link" }, title, base, ...sides.flatMap((side) => [side.half, side.queue, side.text, side.depth])));
    return { link, sides, base, title };
  }

  #aim({ sides, base }) {
    const [one, other] = sides.map((side) => this.places.get(side.near[0]));
    set(base, { x1: one.x, y1: one.y, x2: other.x, y2: other.y });
    const length = Math.hypot(other.x - one.x, other.y - one.y) || 1;
    sides.forEach((side, place) => {
      const [from, to] = place ? [other, one] : [one, other];
      const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
      const start = this.switches.has(side.near[0]) ? HALF * Math.min(1, 1 / Math.max(Math.abs(ux), Math.abs(uy) * 1.5)) : 9;
      side.length = length;
      set(side.half, { x1: from.x + ux * start, y1: from.y + uy * start, x2: from.x + (ux * length) / 2, y2: from.y + (uy * length) / 2 });
      const at = start + 10;
      const [nx, ny] = [from.x + ux * at - uy * 9, from.y + uy * at + ux * 9];
      set(side.queue, { transform: `translate(${nx} ${ny})` });
      set(side.depth, { x: nx + ux * 13 - uy * 9, y: ny + uy * 13 + ux * 9 + 4 });
      const third = length * 0.3 + 6;
      set(side.text, { x: from.x + ux * third + uy * 13, y: from.y + uy * third - ux * 13 + 4 });
    });
  }

  /** Shows a frame; `session`: the one whose trees are lit, or null for all. */
  update(frame, session) {
    this.frame = frame;
    this.session = session;
    for (const { link, sides, title } of this.links) {
      const told = sides.map((side) => this.#side(link, side, frame));
      say(title, told.join("\n"));
    }
    for (const name of this.topology.switches) this.#state(name, frame.switches[name]);
    this.#trees(frame, session);
    this.#rings(frame, session);
  }

  #side(link, side, frame) {
    const { sent, waiting, dropped } = direction(frame, side, this.switches);
    const busy = sent >= Math.max(QUIET, (link.rate ?? 0) / 100);
    const load = link.rate ? Math.min(1, sent / link.rate) : Math.min(1, sent / 1e9);
    set(side.half, { "stroke-width": (1.5 + 8 * Math.sqrt(load)).toFixed(1), class: busy ? "half" : "half idle" });
    const level = Math.min(1, waiting / (link.queue || 200));
    set(side.queue, { class: waiting ? (level > 0.9 ? "queue full" : "queue") : "queue empty" });
    const height = waiting ? Math.max(2, 22 * level) : 0;
    set(side.queue.lastChild, { height, y: 11 - height });
    say(side.depth, waiting && side.length > 62 ? String(waiting) : "");
    const lost = dropped > side.dropped && side.known ? ` ✕${dropped - side.dropped}` : "";
    [side.dropped, side.known] = [dropped, true];
    say(side.text, busy && side.length > 130 ? rate(sent) + lost : lost.trim());
    const share = link.rate ? ` (${Math.round(load * 100)} % of ${rate(link.rate)})` : "";
    return `${side.near[0]} to ${side.far[0]}: ${rate(sent)}${share}, ${waiting} packets wait, ${dropped} dropped`;
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

const edge = (one, other) => (one < other ? `${one}\t${other}` : `${other}\t${one}`);
export const hue = (id) => `hue-${id % 6}`;

/** The part of a stream that a receiver has of what has been sent, 0 to 1. */
export function progress(session, member) {
  if (member.complete.length) return 1;
  const sent = Math.max(1, ...session.members.map((each) => each.next));
  return Math.min(1, member.next / sent);
}

/** Bits per second, waiting packets and drops of a link in one direction; the switch that has its queue tells. */
export function direction(frame, { near, far }, switches) {
  if (switches.has(near[0])) {
    const port = frame.switches[near[0]]?.ports?.[near[1]];
    return { sent: port?.out ?? 0, waiting: port?.queue ?? 0, dropped: port?.out_drops ?? 0 };
  }
  const port = frame.switches[far[0]]?.ports?.[far[1]];
  return { sent: port?.in ?? 0, waiting: port?.in_queue ?? 0, dropped: port?.in_drops ?? 0 };
}

function arc(share, radius) {
  if (share <= 0) return "";
  const angle = Math.min(0.9999, share) * 2 * Math.PI;
  const [x, y] = [radius * Math.sin(angle), -radius * Math.cos(angle)];
  return `M0 ${-radius}A${radius} ${radius} 0 ${share > 0.5 ? 1 : 0} 1 ${x.toFixed(2)} ${y.toFixed(2)}`;
}
