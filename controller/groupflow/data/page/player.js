// Playback of a recording: pause, another moment, another speed. The server paces; a new choice is a new stream.

import { h, say } from "./format.js";

const find = (id) => document.getElementById(id);
const SPEEDS = [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10];

export class Player {
  constructor(page) {
    this.page = page;
    const { from, to, speed = 1 } = page.topology;
    [this.from, this.length, this.playing] = [from, to - from, true];
    const speeds = [...new Set([...SPEEDS, speed])].sort((a, b) => a - b);
    find("speed").append(...speeds.map((each) => h("option", { value: each }, each >= 1 ? `${each} ×` : `1 / ${Number((1 / each).toPrecision(3))}`)));
    find("speed").value = String(speed);
    find("speed").addEventListener("change", () => this.go(this.position));
    find("at").max = String(this.length);
    find("at").addEventListener("input", () => this.go(Number(find("at").value)));
    find("play").addEventListener("click", () => this.toggle());
    find("player").hidden = false;
    this.go(0);
  }

  at(time) {
    this.position = time - this.from;
    if (document.activeElement !== find("at") || this.playing) find("at").value = String(this.position);
    say(find("moment"), `${this.position.toFixed(this.length < 20 ? 3 : 1)} of ${this.length.toFixed(1)} s`);
  }

  go(position) {
    this.position = position;
    this.page.forget();
    this.page.follow(`/v1/live?at=${position}&speed=${find("speed").value}`);
    this.playing = true;
    say(find("play"), "Pause");
  }

  toggle() {
    if (!this.playing) this.go(this.position >= this.length ? 0 : this.position);
    else { this.page.pause(); this.ended(); }
  }

  ended() {
    this.playing = false;
    say(find("play"), "Play");
  }
}
