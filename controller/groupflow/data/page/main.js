// The page: takes frames from /v1/live and hands them to the map and to the view that is shown.

import { DiffusionView } from "./diffusion.js";
import { h, say, set } from "./format.js";
import { AgentsView, EventsView, LinksView, SessionsView, SwitchesView, TrafficView } from "./lists.js";
import { NetworkMap } from "./map.js";
import { Player } from "./player.js";
import { SwitchView } from "./switch.js";

const find = (id) => document.getElementById(id);
const KEY = "Width: load. Dashed: down. Box: queue. Arc: progress of a member. ✕: packets dropped. Square: switch, diamond: cache agent.";

class Page {
  constructor(topology) {
    this.topology = topology;
    this.live = topology.source === "controller";
    this.frames = [];
    this.chosen = null;
    document.title = `${topology.about ?? topology.name} – groupflow`;
    say(find("name"), topology.about ?? topology.name);
    say(find("key"), KEY);
    const open = (name) => this.openSwitch(name);
    this.map = new NetworkMap(find("canvas"), topology, open);
    this.switchView = new SwitchView(topology, this.live);
    this.views = [
      ["Sessions", new SessionsView()],
      ["Diffusion", new DiffusionView()],
      ["Links", new LinksView(topology)],
      ["Switches", new SwitchesView(open)],
      ["Agents", new AgentsView()],
      ["Events", new EventsView()],
      ["Switch", this.switchView],
    ];
    if (topology.about) this.views.splice(1, 0, ["Traffic", new TrafficView()]);
    this.#tabs();
    find("in").addEventListener("click", () => this.#zoom(1.25));
    find("out").addEventListener("click", () => this.#zoom(0.8));
    find("shown").addEventListener("change", (event) => {
      this.chosen = event.target.value ? Number(event.target.value) : null;
      if (this.frame) this.map.update(this.frame, this.chosen);
    });
  }

  /** Listens; a recording is played, a controller is followed and found again when it is back. */
  follow(address) {
    this.source?.close();
    this.source = new EventSource(address);
    this.source.addEventListener("open", () => this.#pill(this.live ? "live" : "playing", "good"));
    this.source.addEventListener("error", () => this.#pill(this.source.readyState === EventSource.CLOSED ? "not let in: open the address that the controller printed" : "no answer: trying again", "bad"));
    this.source.addEventListener("end", () => { this.source.close(); this.#pill("at the end", ""); this.player?.ended(); });
    this.source.addEventListener("message", (event) => this.#take(JSON.parse(event.data)));
  }

  pause() {
    this.source?.close();
    this.#pill("paused", "");
  }

  forget() {
    this.frames = [];
    for (const [, view] of this.views) view.forget?.();
  }

  openSwitch(name) {
    this.switchView.open(name);
    this.show("Switch");
    find("tab-Switch").focus();
  }

  show(name) {
    for (const [other] of this.views) {
      set(find(`tab-${other}`), { "aria-selected": other === name, tabindex: other === name ? 0 : -1 });
      find(`view-${other}`).hidden = other !== name;
    }
    this.shown = name;
    this.#draw();
  }

  #tabs() {
    for (const [name, view] of this.views) {
      find("tabs").append(h("button", { id: `tab-${name}`, role: "tab", type: "button", "aria-controls": `view-${name}`, onclick: () => this.show(name) }, name));
      find("views").append(h("div", { id: `view-${name}`, role: "tabpanel", tabindex: 0, "aria-labelledby": `tab-${name}` }, view.element));
    }
    find("tabs").addEventListener("keydown", (event) => {
      const names = this.views.map(([name]) => name);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const end = { Home: 0, End: names.length - 1 }[event.key];
      if (step === undefined && end === undefined) return;
      const next = names[end ?? (names.indexOf(this.shown) + step + names.length) % names.length];
      this.show(next);
      find(`tab-${next}`).focus();
      event.preventDefault();
    });
    this.show(this.views[0][0]);
  }

  #take(frame) {
    if (this.frame && frame.time < this.frame.time) this.forget();
    this.frame = frame;
    this.frames.push(frame);
    if (this.frames.length > 120) this.frames.shift();
    for (const [, view] of this.views) view.keep?.(frame);
    this.player?.at(frame.time);
    if (this.drawing) return;
    this.drawing = true; // frames that come at once, as at the start, are drawn once
    const draw = () => { this.drawing = false; this.#draw(); };
    if (document.hidden) setTimeout(draw, 50);
    else requestAnimationFrame(draw);
  }

  #draw() {
    if (!this.frame) return;
    this.#facts();
    this.#sessions();
    this.map.update(this.frame, this.chosen);
    const [, view] = this.views.find(([name]) => name === this.shown);
    view.update(this.frame, this.frames);
  }

  #facts() {
    const switches = Object.values(this.frame.switches);
    const up = switches.filter((each) => each.state === "up").length;
    const slow = switches.filter((each) => each.lagging).length;
    const dropped = switches.reduce((sum, each) => sum + Object.values(each.drops ?? {}).reduce((a, b) => a + b, 0), 0);
    const facts = [
      ["switches up", `${up} of ${switches.length}`, up < switches.length],
      ["slow", String(slow), slow > 0],
      [this.frame.sessions.length === 1 ? "session" : "sessions", String(this.frame.sessions.length), false],
      ["packets dropped", dropped.toLocaleString("en"), false],
    ];
    const list = find("facts");
    facts.forEach(([what, value, bad], place) => {
      if (!list.children[place]) list.append(h("div", {}, h("dd"), h("dt")));
      const [shown, name] = list.children[place].children;
      say(name, what);
      say(shown, bad ? `${value} !` : value);
      set(list.children[place], { class: bad ? "bad" : "" });
    });
  }

  #sessions() {
    const wanted = ["", ...this.frame.sessions.map((session) => String(session.id))];
    const list = find("shown");
    if (wanted.join() === [...list.options].map((option) => option.value).join()) return;
    list.replaceChildren(...wanted.map((id) => h("option", { value: id }, id ? `of session ${id}` : "of all sessions")));
    list.value = wanted.includes(String(this.chosen)) ? String(this.chosen) : "";
    this.chosen = list.value ? Number(list.value) : null;
  }

  #zoom(factor) {
    this.map.zoom = Math.min(3, Math.max(0.4, this.map.zoom * factor));
    this.map.place();
  }

  #pill(text, kind) {
    say(find("link"), text);
    set(find("link"), { class: `pill ${kind}` });
  }
}

const answer = await fetch("/v1/topology");
if (answer.ok) {
  const page = new Page(await answer.json());
  if (page.live) page.follow("/v1/live");
  else page.player = new Player(page);
} else say(find("link"), (await answer.json()).error ?? "the controller refuses this browser");
