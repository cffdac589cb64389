// The views that are tables: sessions with their members, links, switches, agents, events, simulated traffic.

import { bytes, clock, h, nanoseconds, number, rate, say, Table, words } from "./format.js";
import { direction, hue, progress, share } from "./map.js";

const RATE_FRAMES = 6; // frames over which a member's rate is taken: it reports each half second
/** `3 of 100 Mbit/s`: a unit that both have is said once. */
function of(one, all) {
  if (!all) return one;
  const [[value, unit], [, other]] = [one.split(" "), all.split(" ")];
  return `${unit === other ? value : one} of ${all}`;
}
const MOST_EVENTS = 200;

/** A bar with its value in words. */
class Bar {
  constructor(className) {
    this.level = h("span", { class: "level" });
    this.text = h("span", { class: "value" });
    this.element = h("span", { class: `meter ${className}` }, this.level, this.text);
  }

  update(share, text) {
    this.level.style.inlineSize = `${Math.round(100 * Math.min(1, share))}%`;
    say(this.text, text);
    return this.element;
  }
}

class Bars {
  constructor() { this.bars = new Map(); }

  show(key, className, share, text) {
    if (!this.bars.has(key)) this.bars.set(key, new Bar(className));
    return this.bars.get(key).update(share, text);
  }
}

export class SessionsView {
  constructor() {
    this.element = h("div", {}, h("p", { class: "soft" }));
    this.cards = new Map();
    this.bars = new Bars();
  }

  update(frame, frames) {
    say(this.element.firstChild, frame.sessions.length ? "" : "No session yet: groupflow session create.");
    for (const session of frame.sessions) {
      if (!this.cards.has(session.id)) this.#card(session);
      const { title, table } = this.cards.get(session.id);
      const streams = session.streams.map((stream) => `sender ${stream.source}: at most ${stream.rate ? rate(stream.rate) : "any rate"}, ${stream.tree.length} switches`);
      say(title, [`${session.mode}, ${session.policy}, window ${session.window}`, ...streams].join(" · "));
      const then = frames.at(-1 - RATE_FRAMES);
      const before = new Map(then?.sessions.find((each) => each.id === session.id)?.members.map((each) => [each.id, each.next]));
      const rows = session.members.map((member) => ({
        session, member, speed: before.has(member.id) ? (member.next - before.get(member.id)) / (frame.time - then.time) : null,
      }));
      table.update(rows, (row) => row.member.id);
    }
    for (const [id, { element }] of this.cards) {
      if (!frame.sessions.some((session) => session.id === id)) { element.remove(); this.cards.delete(id); }
    }
  }

  #card(session) {
    const title = h("p", { class: "soft" });
    const table = new Table(`Members of session ${session.id}`, [
      ["Member", ({ member }) => `${member.name}, ${member.isolated ? "isolated " : ""}${member.role}`, true],
      ["Packets in order", (row) => this.#progress(row), true],
      ["Packets/s", ({ speed }) => (speed === null ? "–" : number(Math.max(0, speed)))],
      ["Repairs", ({ member }) => number(member.repairs)],
    ], "no members");
    const element = h("section", { class: "card" }, h("h2", {}, h("span", { class: `swatch ${hue(session.id)}` }), `Session ${session.id}`), title, table.element);
    this.cards.set(session.id, { element, title, table });
    this.element.append(element);
  }

  #progress({ session, member }) {
    const key = `${session.id}/${member.id}`;
    const kind = hue(session.id);
    if (member.role === "sender") return this.bars.show(key, kind, 0, `sent ${number(member.next)}`);
    const share = progress(session, member);
    const text = member.complete.length ? `✓ all ${number(member.next)}` : `${number(member.next)}, ${Math.floor(100 * share)} % of sent`;
    return this.bars.show(key, kind, share, text);
  }
}

export class TrafficView {
  constructor() {
    this.table = new Table("Simulated traffic", [
      ["Flow", (row) => row.name, true], ["Sent", (row) => number(row.sent)], ["Delivered", (row) => number(row.delivered)],
      ["Rate", (row) => rate(row.rate)], ["Sent again", (row) => number(row.again)], ["Done", (row) => (row.finished ? "✓" : ""), true],
    ]);
    this.element = this.table.element;
  }

  update(frame) { this.table.update(frame.traffic ?? [], (row) => row.name); }
}

export class LinksView {
  constructor(topology) {
    this.switches = new Set(topology.switches);
    this.bars = new Bars();
    this.sides = topology.links.flatMap((link) => {
      const [a, b] = link.ends;
      return [[a, b], [b, a]].map(([near, far]) => ({ link, near, far, name: `${near[0]} → ${far[0]}`, key: `${near}>${far}` }));
    });
    this.table = new Table("Links, those down and the fullest first", [
      ["Link", (row) => row.name, true],
      ["State", (row) => (row.up ? "up" : "✕ down"), true],
      ["Load", (row) => this.bars.show(`${row.key} load`, "", row.load, of(rate(row.sent), row.link.rate && rate(row.link.rate))), true],
      ["Queue", (row) => this.bars.show(`${row.key} queue`, "queue", row.waiting / row.link.queue, `${row.waiting} of ${row.link.queue}`), true],
      ["Delay", (row) => nanoseconds(row.link.delay_ns)],
      ["Loss", (row) => share(row.link.loss)],
      ["Dropped", (row) => number(row.dropped)],
    ]);
    this.element = this.table.element;
    this.element.classList.add("links");
  }

  update(frame) {
    const rows = this.sides.map((side) => {
      const now = direction(frame, side, this.switches, side.link);
      return { ...side, ...now, load: now.link.rate ? now.sent / now.link.rate : 0 };
    });
    const weight = (row) => (row.up ? 0 : 10) + row.waiting / row.link.queue + row.load;
    rows.sort((one, other) => Math.round(10 * (weight(other) - weight(one))));
    this.table.update(rows.slice(0, 60), (row) => row.key);
  }
}

export class SwitchesView {
  constructor(open) {
    this.buttons = new Map();
    const button = (name) => {
      if (!this.buttons.has(name)) this.buttons.set(name, h("button", { type: "button", class: "plain", onclick: () => open(name) }, name));
      return this.buttons.get(name);
    };
    this.table = new Table("Switches", [
      ["Switch", (row) => button(row.name), true],
      ["State", (row) => stateOf(row), true],
      ["Late (99 %)", (row) => nanoseconds(row.late_ns)],
      ["Dropped, by reason", (row) => Object.entries(row.drops ?? {}).map(([reason, count]) => `${words(reason)} ${number(count)}`).join(", ") || "none", true],
    ]);
    this.element = this.table.element;
  }

  update(frame) {
    const rows = Object.entries(frame.switches).map(([name, state]) => ({ name, ...state }));
    rows.sort((one, other) => (one.state === "up") - (other.state === "up"));
    this.table.update(rows, (row) => row.name);
  }
}

export function stateOf({ state, lagging, problem }) {
  if (state === "up") return lagging ? "slow: this machine's processor is too slow" : (problem ?? "up");
  return `${state === "syncing" ? "starting" : "lost"}${problem ? `: ${problem}` : ""}`;
}

export class AgentsView {
  constructor() {
    this.bars = new Bars();
    const held = ({ kind, name, holds, bounds }) => {
      if (holds.bytes === null) return "–";
      return this.bars.show(`${kind} ${name}`, "cache", bounds.bytes ? holds.bytes / bounds.bytes : 0, `${bytes(holds.bytes)}${bounds.bytes ? ` of ${bytes(bounds.bytes)}` : ""}`);
    };
    this.table = new Table("Agents", [
      ["Agent", (row) => row.name, true], ["Kind", (row) => row.kind, true], ["At", (row) => row.switch ?? row.at, true],
      ["Holds", held, true], ["Streams", (row) => number(row.holds.streams)], ["Repairs", (row) => number(row.repairs)],
      ["State", (row) => row.problem ?? row.state, true],
    ], "no agent has joined");
    this.element = this.table.element;
  }

  update(frame) { this.table.update(frame.agents, (row) => `${row.kind} ${row.name}`); }
}

export class EventsView {
  constructor() {
    this.element = h("div", {}, h("ol", { class: "events", "aria-label": "Events, the latest first" }), h("p", { class: "soft" }));
    this.forget();
  }

  forget() {
    this.latest = 0;
    this.element.firstChild.replaceChildren();
  }

  /** Of each frame, also when another view is shown; a viewer gets some events twice. */
  keep(frame) {
    const list = this.element.firstChild;
    const before = this.latest; // events of one moment, as in a simulation, are all shown
    for (const event of frame.events) {
      if (event.time <= before) continue;
      this.latest = event.time;
      const { time, event: what, ...rest } = event;
      const facts = Object.entries(rest).filter(([, value]) => value !== null).map(([name, value]) => `${words(name)} ${value}`);
      const bad = /lost|down|refused|missed|full/.test(what);
      list.prepend(h("li", { class: bad ? "bad" : "" }, h("time", {}, clock(time)), h("b", {}, `${bad ? "! " : ""}${words(what)}`), ` ${facts.join(", ")}`));
      if (list.children.length > MOST_EVENTS) list.lastChild.remove();
    }
  }

  update() { say(this.element.lastChild, this.latest ? "" : "no events yet"); }
}
