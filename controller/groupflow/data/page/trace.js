// The way of one packet through a switch: a list of steps, copies below the pass from which they came.

import { h, nanoseconds } from "./format.js";

const pairs = (values) => values.map(([name, value]) => `${name} = ${value}`).join(", ");

const TEXTS = {
  state: (step) => ["state", step.name],
  extract: (step) => ["extract", `${step.header}: ${pairs(step.fields)}`],
  parser_error: (step) => ["error", `${step.error} ends the parser`],
  checksum_error: () => ["error", "a checksum is wrong"],
  condition: (step) => [step.result ? "true" : "false", step.text],
  table: (step) => [step.hit ? "hit" : "miss", `${step.table} (${pairs(step.key)}): ${step.action || "no action"} ${pairs(step.arguments)}`],
  action: (step) => ["action", `${step.action} ${pairs(step.arguments ?? [])}`],
  register_read: (step) => ["read", `${step.register}[${step.index}] is ${step.value}`],
  register_write: (step) => ["write", `${step.register}[${step.index}] = ${step.value}`],
  count: (step) => ["count", `${step.counter}[${step.index}] ${(step.reason ?? "").replaceAll("_", " ")}`],
  meter: (step) => ["meter", `${step.meter}[${step.index}] colour ${step.colour ?? "none"}`],
  clone: (step) => ["clone", `to session ${step.session}`],
  digest: (step) => ["digest", step.digest],
  truncate: (step) => ["truncate", `to ${step.bytes} bytes`],
};

function line(step) {
  const [kind, text] = (TEXTS[step.step] ?? (() => [step.step.replaceAll("_", " "), ""]))(step);
  return h("li", {}, h("b", {}, kind), ` ${text} `, h("span", { class: "soft" }, step.at ?? ""));
}

function pass(one) {
  const { queue } = one;
  const stay = queue ? `, queue ${queue.queue} of port ${queue.port}, ${queue.depth} packets ahead, waited ${nanoseconds(queue.waited)}` : "";
  const verdict = h("p", { class: one.dropped ? "bad" : null }, h("b", {}, one.verdict));
  return h("details", { open: true }, h("summary", {}, `${one.pass} (${one.cause})${stay}`), h("ol", {}, ...one.steps.map(line)), verdict, ...one.copies.map(pass), one.copies_cut ? h("p", {}, `${one.copies_cut} further copies are not shown`) : "");
}

export const traced = (trace) => h("div", { class: "trace" }, h("p", {}, `${trace.length} bytes at port ${trace.port}`), pass(trace));
