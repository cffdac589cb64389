// One switch: state, ports, drops; from the switch itself its counters and tables, when asked for.

import { h, nanoseconds, number, rate, say, Table, words } from "./format.js";
import { stateOf } from "./lists.js";
import { traced } from "./trace.js";

const facts = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(", ");

export class SwitchView {
  constructor(topology, live) {
    this.name = topology.switches[0];
    this.live = live;
    this.far = farEnds(topology);
    this.choice = h("select", { onchange: () => this.open(this.choice.value) }, ...topology.switches.map((name) => h("option", {}, name)));
    this.state = h("p", {});
    this.ports = new Table("Ports", [
      ["Port", (row) => row.port], ["To", (row) => row.to, true], ["Out", (row) => rate(row.out)], ["In", (row) => rate(row.in)],
      ["Waiting", (row) => `${row.queue} of ${row.limit ?? "–"}`], ["Dropped", (row) => number(row.out_drops + row.in_drops)], ["Link", (row) => (row.up === false ? "down" : "up"), true],
    ], "this switch tells nothing about its ports");
    this.drops = new Table("Packets dropped", [["Reason", (row) => words(row[0]), true], ["Packets", (row) => number(row[1])]], "none");
    this.counters = new Table("Counters", [["Counter", (row) => row.counter, true], ["Of", (row) => row.index, true], ["Packets", (row) => number(row.packets)], ["Bytes", (row) => number(row.bytes)]], "no counter has counted");
    this.entries = new Table("Entries of the tables", [["Table", (row) => row.table, true], ["Match", (row) => facts(row.match), true], ["Action", (row) => this.#action(row), true]], "no entries");
    this.told = h("p", { class: "soft", role: "status" });
    const ask = h("div", { class: "bar" },
      h("button", { type: "button", onclick: () => this.#ask("counters") }, "Read counters"),
      h("button", { type: "button", onclick: () => this.#ask("entries") }, "Read tables"), this.told);
    this.match = h("input", { placeholder: "ipv4.dst=10.0.2.1", "aria-label": "Field of the packet, or any", size: 22 });
    this.dropped = h("input", { type: "checkbox" });
    const trace = h("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); this.#trace(); } },
      h("button", {}, "Trace the next packet"), h("label", {}, "with ", this.match), h("label", {}, this.dropped, " dropped only"));
    this.asked = h("div", {});
    this.element = h("section", { class: "card" }, h("div", { class: "bar" }, h("label", {}, "Switch ", this.choice)), this.state, this.ports.element, this.drops.element, live ? ask : "", live ? trace : "", this.asked);
  }

  open(name) {
    this.name = name;
    this.choice.value = name;
    this.asked.replaceChildren();
    say(this.told, "");
    if (this.frame) this.update(this.frame);
  }

  update(frame) {
    this.frame = frame;
    const state = frame.switches[this.name] ?? {};
    say(this.state, `${stateOf(state)}${state.late_ns ? ` · 99 % of packets at most ${nanoseconds(state.late_ns)} late` : ""}`);
    const ports = Object.entries(state.ports ?? {}).map(([port, values]) => ({ port, to: this.far.get(`${this.name} ${port}`) ?? "", ...values }));
    this.ports.update(ports, (row) => row.port);
    this.drops.update(Object.entries(state.drops ?? {}), (row) => row[0]);
  }

  async #ask(what) {
    const name = this.name;
    say(this.told, `reading the ${what} of ${name}`);
    const answer = await fetch(`/v1/switches/${encodeURIComponent(name)}/${what}`);
    const found = await answer.json();
    if (name !== this.name) return;
    say(this.told, answer.ok ? "" : found.error);
    if (!answer.ok) return;
    const table = this[what];
    const rows = what === "entries" ? found : Object.entries(found).flatMap(([counter, counts]) => counts.map((count) => ({ counter, ...count })));
    table.update(rows.map((row, place) => ({ place, ...row })), (row) => `${name} ${row.place}`);
    this.asked.replaceChildren(table.element);
  }

  async #trace() {
    const name = this.name;
    say(this.told, `waiting for a packet at ${name}`);
    const wanted = new URLSearchParams({ dropped: this.dropped.checked });
    if (this.match.value) wanted.append("match", this.match.value);
    const answer = await fetch(`/v1/switches/${encodeURIComponent(name)}/trace?${wanted}`);
    const found = await answer.json();
    if (name !== this.name) return;
    say(this.told, answer.ok ? "" : found.error);
    if (answer.ok) this.asked.replaceChildren(traced(found));
  }

  #action({ action, params, replicas }) {
    if (replicas.length) return `copies to ${replicas.map((copy) => `port ${copy.port}`).join(", ")}`;
    return `${action ?? ""} ${facts(params)}`;
  }
}

function farEnds(topology) {
  const far = new Map();
  for (const { ends: [[a, aPort], [b, bPort]] } of topology.links) {
    far.set(`${a} ${aPort}`, b);
    far.set(`${b} ${bPort}`, a);
  }
  return far;
}
