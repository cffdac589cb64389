// The requests of the REST API, from its own OpenAPI description.

import { h } from "./format.js";

const form = await (await fetch("/openapi.json")).json();

const named = (schema) => schema?.$ref?.split("/").at(-1);
function typeOf(schema) {
  if (!schema) return "nothing";
  if (schema.$ref) return h("a", { href: `#${named(schema)}` }, named(schema));
  if (schema.anyOf) return h("span", {}, ...schema.anyOf.flatMap((each, place) => (place ? [" or ", typeOf(each)] : [typeOf(each)])));
  if (schema.type === "array") return h("span", {}, "list of ", typeOf(schema.items));
  if (schema.enum) return schema.enum.join(" or ");
  return schema.const ?? schema.type ?? "anything";
}

function fields(rows) {
  if (!rows.length) return "";
  return h("table", {}, h("tbody", {}, ...rows.map(([name, schema, needed, about]) => h("tr", {},
    h("td", { class: "text" }, h("code", {}, name)), h("td", { class: "text" }, typeOf(schema), needed ? "" : " (optional)"), h("td", { class: "text" }, about ?? "")))));
}

const body = (content) => Object.values(content ?? {})[0]?.schema;
for (const [path, methods] of Object.entries(form.paths)) {
  for (const [method, request] of Object.entries(methods)) {
    const wanted = body(request.requestBody?.content);
    const answer = Object.entries(request.responses).find(([status]) => status < "3");
    const rows = (request.parameters ?? []).map((each) => [each.name, each.schema, each.required, each.description ?? each.schema.description]);
    document.getElementById("paths").append(h("section", { class: "card" },
      h("h2", {}, h("code", {}, `${method.toUpperCase()} ${path}`)), h("p", {}, request.description ?? request.summary ?? ""), fields(rows),
      wanted ? h("p", {}, "Body: ", typeOf(wanted)) : "", h("p", {}, `Answer ${answer?.[0] ?? ""}: `, typeOf(body(answer?.[1].content)))));
  }
}
for (const [name, schema] of Object.entries(form.components?.schemas ?? {})) {
  const rows = Object.entries(schema.properties ?? {}).map(([field, each]) => [field, each, schema.required?.includes(field), each.description]);
  document.getElementById("paths").append(h("section", { class: "card", id: name }, h("h2", {}, name), h("p", {}, schema.description ?? ""), fields(rows)));
}
