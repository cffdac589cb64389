// The places of nodes: a line of switches in rows that go to and fro; any other network by its distances (stress
// majorization: Gansner, Koren, North 2004), turned so that its long side is the page's. The same every time.

const CELL = { width: 112, height: 104 };
const MOST = 420; // pixels between neighbours

/** Positions by name, and the size that they need. `width` and `height` are what there is: the network fills it. */
export function layout(topology, width, height) {
  const near = neighbours(topology);
  const path = line(topology, near);
  return path ? rows(topology, path, width, height) : stress([...near.keys()], near, width, height);
}

function neighbours(topology) {
  const near = new Map();
  for (const name of topology.switches) near.set(name, []);
  for (const host of topology.hosts) near.set(host.name, []);
  for (const { ends: [[a], [b]] } of topology.links) { near.get(a).push(b); near.get(b).push(a); }
  return near;
}

/** The switches in order, if they are one long line with few hosts. */
function line(topology, near) {
  const isSwitch = new Set(topology.switches);
  const inner = (name) => near.get(name).filter((other) => isSwitch.has(other));
  const start = topology.switches.find((name) => inner(name).length === 1);
  if (topology.switches.length < 3 || !start) return null;
  if (topology.switches.some((name) => near.get(name).length - inner(name).length > 4)) return null;
  const path = [start];
  for (let at = start; at; ) {
    const next = inner(at).filter((other) => other !== path.at(-2));
    if (next.length > 1) return null;
    at = next[0];
    if (at) path.push(at);
  }
  return path.length === topology.switches.length ? path : null;
}

function rows(topology, path, width, height) {
  const columns = Math.max(2, Math.min(path.length, Math.floor(width / CELL.width)));
  const cell = Math.max(CELL.width, width / columns);
  const count = Math.ceil(path.length / columns);
  const tall = Math.max(CELL.height, height / count);
  const stem = Math.min(0.55 * tall, tall - 60); // from a switch to its hosts
  const places = new Map();
  path.forEach((name, index) => {
    const row = Math.floor(index / columns);
    const column = row % 2 ? columns - 1 - (index % columns) : index % columns;
    places.set(name, { x: (column + 0.5) * cell, y: row * tall + (tall - stem) / 2 });
  });
  const turns = new Map();
  for (const host of topology.hosts) {
    const at = places.get(host.switch);
    const turn = turns.get(host.switch) ?? 0;
    turns.set(host.switch, turn + 1);
    const across = Math.min(60, cell / 5) * [-1, 1, -2, 2][turn % 4];
    places.set(host.name, { x: at.x + across, y: at.y + stem * (turn < 2 ? 1 : 0.65) });
  }
  return { places, width: columns * cell, height: count * tall };
}

function stress(names, near, width, height) {
  const place = new Map(names.map((name, index) => [name, index]));
  const distances = names.map((name) => hops(name, near, place));
  const total = names.length;
  let at = names.map((_, index) => {
    const angle = index * 2.399963; // the golden angle: no two nodes at one place, nothing random
    return [Math.sqrt(index + 1) * Math.cos(angle), Math.sqrt(index + 1) * Math.sin(angle)];
  });
  const rounds = Math.min(150, Math.ceil(6e6 / (total * total + 1)));
  for (let round = 0; round < rounds; round += 1) {
    at = at.map((own, i) => {
      let [x, y, weights] = [0, 0, 0];
      for (let j = 0; j < total; j += 1) {
        if (i === j) continue;
        const [dx, dy] = [own[0] - at[j][0], own[1] - at[j][1]];
        const wanted = distances[i][j];
        const length = Math.hypot(dx, dy) || 1e-6;
        const weight = 1 / (wanted * wanted);
        x += weight * (at[j][0] + (wanted * dx) / length);
        y += weight * (at[j][1] + (wanted * dy) / length);
        weights += weight;
      }
      return weights ? [x / weights, y / weights] : own;
    });
  }
  return fitted(names, turned(at), width, height);
}

function hops(start, near, place) {
  const found = new Array(near.size).fill(near.size / 2 + 1);
  found[place.get(start)] = 0;
  const seen = new Set([start]);
  for (let edge = [start], far = 1; edge.length; far += 1) {
    const next = [];
    for (const name of edge) for (const other of near.get(name)) {
      if (!seen.has(other)) { seen.add(other); found[place.get(other)] = far; next.push(other); }
    }
    edge = next;
  }
  return found;
}

/** The longest direction becomes x, with the first node at the left. */
function turned(at) {
  const mean = [0, 1].map((axis) => at.reduce((sum, each) => sum + each[axis], 0) / at.length);
  let [xx, xy, yy] = [0, 0, 0];
  for (const [x, y] of at.map(([px, py]) => [px - mean[0], py - mean[1]])) { xx += x * x; xy += x * y; yy += y * y; }
  const angle = 0.5 * Math.atan2(2 * xy, xx - yy);
  const left = (at[0][0] - mean[0]) * Math.cos(angle) + (at[0][1] - mean[1]) * Math.sin(angle) > 0 ? Math.PI : 0;
  const [cos, sin] = [Math.cos(angle + left), Math.sin(angle + left)];
  return at.map(([x, y]) => [x * cos + y * sin, y * cos - x * sin]);
}

function fitted(names, at, width, height) {
  const range = (axis) => [Math.min(...at.map((each) => each[axis])), Math.max(...at.map((each) => each[axis]))];
  let [[x0, x1], [y0, y1]] = [range(0), range(1)];
  const upright = width < height === x1 - x0 > y1 - y0;
  if (upright) { at = at.map(([x, y]) => [y, x]); [x0, x1, y0, y1] = [y0, y1, x0, x1]; }
  const margin = 46;
  const least = names.length > 24 ? 48 : 40;
  const fill = (room, span) => Math.max(least, Math.min(MOST, (room - 2 * margin) / (span || 1)));
  const [sx, sy] = [fill(width, x1 - x0), fill(height, y1 - y0)];
  const [wide, tall] = [Math.max(width, (x1 - x0) * sx + 2 * margin), Math.max(height, (y1 - y0) * sy + 2 * margin)];
  const [left, top] = [(wide - (x1 - x0) * sx) / 2, (tall - (y1 - y0) * sy) / 2];
  const places = new Map(names.map((name, index) => [
    name, { x: left + (at[index][0] - x0) * sx, y: top + (at[index][1] - y0) * sy },
  ]));
  return { places, width: wide, height: tall };
}
