// A viewer of a map: a plane on the left, isosurfaces on the right. `map` holds the data; see the module map_page.
const find = id => document.getElementById(id);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [0, 1, 2].map(k => a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3]);
const scaled = (v, s) => v.map(x => x * s);
const sum = (...vectors) => [0, 1, 2].map(k => vectors.reduce((total, v) => total + v[k], 0));
const unit = v => scaled(v, 1 / Math.sqrt(dot(v, v)));
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const digits = (value, count) => {
  const size = Math.abs(value);
  const text = value === 0 ? '0' : 1e-3 > size || size >= 1e6 ? value.toExponential(count - 1) : value.toPrecision(count);
  return (text.includes('e+') && 1e6 > size ? String(Math.round(value)) : text).replace(/-/g, '\u2212');
};
// The smallest of 1, 2, 5 · 10ⁿ that is at least `least`.
const roundStep = least => {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  return [1, 2, 5, 10].map(m => m * power).find(s => s >= least * (1 - 1e-9));
};

function bytes(text) {
  const raw = atob(text);
  const all = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) all[k] = raw.charCodeAt(k);
  return all;
}

// Values are kept as 16 bits of asinh(value / scale); 0 is no value.
function readValues() {
  const codes = new Uint16Array(bytes(map.values).buffer);
  const decoded = new Float32Array(65536);
  for (let code = 1; code < 65536; code++) decoded[code] = map.scale * Math.sinh((code - 32768) * map.step);
  decoded[0] = NaN;
  return Float32Array.from(codes, code => decoded[code]);
}

const values = readValues();
const colors = bytes(map.colors);
const atoms = new Float32Array(bytes(map.atoms).buffer);
const strides = [map.shape[1] * map.shape[2], map.shape[2], 1];
const volume = dot(map.steps[0], cross(map.steps[1], map.steps[2]));
// An index is a product of these with a place.
const reciprocal = [0, 1, 2].map(k => scaled(cross(map.steps[(k + 1) % 3], map.steps[(k + 2) % 3]), 1 / volume));
const across = [[1, 2], [0, 2], [0, 1]];
// Decimals of coordinates: a tenth of a step shows.
const finest = Math.min(...map.steps.map(step => Math.hypot(...step)));
const coordinate = x => x.toFixed(clamp(1 - Math.floor(Math.log10(finest)), 0, 9)).replace('-', '\u2212');
const state = { axis: 2, index: map.shape.map(n => (n - 1) >> 1), limit: map.limit };

// First and last index along an axis; a single point stands for one step.
const ends = k => (map.shape[k] === 1 ? [-0.5, 0.5] : [0, map.shape[k] - 1]);
const placeOf = index => sum(map.origin, ...index.map((n, k) => scaled(map.steps[k], n)));

// The plane that is shown, with orthogonal directions in it and coordinates along them.
function currentPlane() {
  const [a, b] = across[state.axis];
  const positive = (v, k) => (0 > v[k] ? scaled(v, -1) : v);
  const right = positive(unit(map.steps[a]), a);
  const above = map.steps[b];
  const up = positive(unit(sum(above, scaled(right, -dot(above, right)))), b);
  const index = [0, 0, 0];
  index[state.axis] = state.index[state.axis];
  const corners = [];
  for (const i of ends(a)) for (const j of ends(b)) {
    [index[a], index[b]] = [i, j];
    corners.push(placeOf(index));
  }
  const range = direction => {
    const along = corners.map(p => dot(p, direction));
    return [Math.min(...along), Math.max(...along)];
  };
  const normal = cross(right, up);
  const depth = dot(corners[0], normal);
  const place = (x, y) => sum(scaled(right, x), scaled(up, y), scaled(normal, depth));
  const indexAt = (x, y, k) => dot(reciprocal[k], sum(place(x, y), scaled(map.origin, -1)));
  return { a, b, endsA: ends(a), endsB: ends(b), right, up, normal, depth, corners, x: range(right), y: range(up), place, indexAt };
}

// The value between four points of the plane: undefined outside, NaN where the nearest point has none.
function sample(plane, i, j) {
  const { a, b, endsA, endsB } = plane;
  const slack = 1e-6;
  if (!(i >= endsA[0] - slack && endsA[1] + slack >= i && j >= endsB[0] - slack && endsB[1] + slack >= j)) return undefined;
  const i0 = clamp(Math.floor(i), 0, Math.max(map.shape[a] - 2, 0));
  const j0 = clamp(Math.floor(j), 0, Math.max(map.shape[b] - 2, 0));
  const s = clamp(i - i0, 0, 1);
  const t = clamp(j - j0, 0, 1);
  const first = state.index[state.axis] * strides[state.axis] + i0 * strides[a] + j0 * strides[b];
  const right = map.shape[a] > 1 ? strides[a] : 0;
  const up = map.shape[b] > 1 ? strides[b] : 0;
  const v00 = values[first];
  const v10 = values[first + right];
  const v01 = values[first + up];
  const v11 = values[first + right + up];
  const value = (v00 * (1 - s) + v10 * s) * (1 - t) + (v01 * (1 - s) + v11 * s) * t;
  if (!Number.isNaN(value)) return value;
  if (Number.isNaN(t > 0.5 ? (s > 0.5 ? v11 : v01) : (s > 0.5 ? v10 : v00))) return NaN;
  const corners = [[v00, (1 - s) * (1 - t)], [v10, s * (1 - t)], [v01, (1 - s) * t], [v11, s * t]];
  const known = corners.filter(([v]) => !Number.isNaN(v));
  return known.reduce((total, [v, w]) => total + v * w, 0) / known.reduce((total, [, w]) => total + w, 0);
}

const canvas = find('slice');
let view = null; // what the last drawing was: plane and place of the frame

function layout(plane) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const [left, top, below, beside] = [54, 8, 40, 14];
  const aspect = clamp((plane.y[1] - plane.y[0]) / (plane.x[1] - plane.x[0]), 0.125, 8);
  let [wide, high] = [width - left - beside, (width - left - beside) * aspect];
  if (high > 520) [wide, high] = [520 / aspect, 520];
  [wide, high] = [Math.max(wide, 40), Math.max(high, 40)];
  [canvas.width, canvas.height] = [width * ratio, (top + high + below) * ratio];
  canvas.style.height = top + high + below + 'px';
  const start = left + Math.max(0, (width - left - beside - wide) / 2);
  const toX = x => start + (x - plane.x[0]) / (plane.x[1] - plane.x[0]) * wide;
  const toY = y => top + high - (y - plane.y[0]) / (plane.y[1] - plane.y[0]) * high;
  return { plane, ratio, left: start, top, wide, high, toX, toY };
}

function drawSlice() {
  const plane = currentPlane();
  view = layout(plane);
  const context = canvas.getContext('2d');
  paintValues(context);
  context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  if (find('outline').checked) drawOutline(context);
  drawAxes(context);
  const number = `plane ${state.index[state.axis] + 1} of ${map.shape[state.axis]}`;
  const at = coordinate(plane.corners[0][state.axis]);
  find('place').textContent = map.orthogonal ? `${'xyz'[state.axis]} = ${at} ${map.lengthUnit}` : number;
  find('place').title = number;
}

function paintValues(context) {
  const { plane, ratio } = view;
  const [left, top] = [Math.round(view.left * ratio), Math.round(view.top * ratio)];
  const [wide, high] = [Math.max(1, Math.round(view.wide * ratio)), Math.max(1, Math.round(view.high * ratio))];
  const image = context.createImageData(wide, high);
  const last = colors.length / 3 - 1;
  const start = [plane.indexAt(plane.x[0], plane.y[0], plane.a), plane.indexAt(plane.x[0], plane.y[0], plane.b)];
  const change = (x, y) => [plane.a, plane.b].map((k, n) => plane.indexAt(x, y, k) - start[n]);
  const [alongX, alongY] = [change(plane.x[1], plane.y[0]), change(plane.x[0], plane.y[1])];
  for (let row = 0; row < high; row++) {
    const y = 1 - (row + 0.5) / high;
    for (let column = 0; column < wide; column++) {
      const x = (column + 0.5) / wide;
      const value = sample(plane, start[0] + x * alongX[0] + y * alongY[0], start[1] + x * alongX[1] + y * alongY[1]);
      if (value === undefined) continue;
      const at = 4 * (row * wide + column);
      const color = Number.isNaN(value) ? null : 3 * Math.round(clamp(0.5 + 0.5 * value / state.limit, 0, 1) * last);
      for (let k = 0; k < 3; k++) image.data[at + k] = color === null ? map.missing[k] : colors[color + k];
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, left, top);
}

// The border of the union of discs: larger discs, with smaller ones cut out of them.
function drawOutline(context) {
  const { plane } = view;
  const scale = [view.wide / (plane.x[1] - plane.x[0]), view.high / (plane.y[1] - plane.y[0])];
  const discs = [];
  for (let n = 0; n < atoms.length; n += 4) {
    const center = atoms.subarray(n, n + 3);
    const height = dot(center, plane.normal) - plane.depth;
    const radius = Math.sqrt(atoms[n + 3] * atoms[n + 3] - height * height);
    if (radius > 0) discs.push([view.toX(dot(center, plane.right)), view.toY(dot(center, plane.up)), radius]);
  }
  if (!discs.length) return;
  const layer = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = layer.getContext('2d');
  pen.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  const fill = (color, wider) => {
    pen.fillStyle = color;
    pen.beginPath();
    for (const [x, y, radius] of discs) {
      const [across, along] = [radius * scale[0] + wider, radius * scale[1] + wider];
      if (0 >= across || 0 >= along) continue;
      pen.moveTo(x + across, y);
      pen.ellipse(x, y, across, along, 0, 0, 2 * Math.PI);
    }
    pen.fill();
  };
  fill('rgba(255,255,255,.75)', 1.9);
  fill('#1e222a', 0.9);
  pen.globalCompositeOperation = 'destination-out';
  fill('#000', -0.9);
  context.save();
  context.beginPath();
  context.rect(view.left, view.top, view.wide, view.high);
  context.clip();
  context.drawImage(layer, 0, 0, canvas.width / view.ratio, canvas.height / view.ratio);
  context.restore();
}

function drawAxes(context) {
  const { plane, left, top, wide, high } = view;
  context.strokeStyle = style('--muted');
  context.fillStyle = style('--muted');
  context.font = '12px system-ui, sans-serif';
  context.lineWidth = 1;
  context.strokeRect(left, top, wide, high);
  const marks = ([low, end], length) => {
    const step = roundStep((end - low) / clamp(length / 70, 1, 9));
    const decimals = clamp(Math.ceil(-Math.log10(step) - 1e-9), 0, 9);
    const all = [];
    for (let k = Math.ceil(low / step - 1e-6); end / step + 1e-6 >= k; k++) all.push([k * step, (k * step).toFixed(decimals).replace('-', '\u2212')]);
    return all;
  };
  const line = (x0, y0, x1, y1) => { context.beginPath(); context.moveTo(x0, y0); context.lineTo(x1, y1); context.stroke(); };
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (const [value, text] of marks(plane.x, wide)) {
    line(view.toX(value), top + high, view.toX(value), top + high + 4);
    context.fillText(text, view.toX(value), top + high + 7);
  }
  context.fillText(axisName(plane.a, 'along step ' + (plane.a + 1)), left + wide / 2, top + high + 24);
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const [value, text] of marks(plane.y, high)) {
    line(left - 4, view.toY(value), left, view.toY(value));
    context.fillText(text, left - 7, view.toY(value));
  }
  context.save();
  context.translate(left - 46, top + high / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = 'center';
  context.fillText(axisName(plane.b, 'across it'), 0, 0);
  context.restore();
}

const axisName = (k, oblique) => `${map.orthogonal ? 'xyz'[k] : oblique} (${map.lengthUnit})`;

// Where the pointer is in the plane, and the value there.
function pointed(event) {
  const area = canvas.getBoundingClientRect();
  const { plane } = view;
  const x = plane.x[0] + (event.clientX - area.left - view.left) / view.wide * (plane.x[1] - plane.x[0]);
  const y = plane.y[1] - (event.clientY - area.top - view.top) / view.high * (plane.y[1] - plane.y[0]);
  return { place: plane.place(x, y), value: sample(plane, plane.indexAt(x, y, plane.a), plane.indexAt(x, y, plane.b)) };
}

const HINT = 'Point at the plane to read values. Keys: arrows, x, y, z.';
function readOut(event) {
  const { place, value } = pointed(event);
  if (value === undefined) return void (find('readout').textContent = HINT);
  const bold = document.createElement('b');
  const beyond = Math.abs(value) > map.largest * 1.001;
  const written = beyond ? (value > 0 ? '> ' : '< ') + digits(Math.sign(value) * map.largest, 4) : digits(value, 4);
  bold.textContent = Number.isNaN(value) ? 'no value' : `${written} ${map.unit}`;
  const at = place.map(coordinate).join(', ');
  find('readout').replaceChildren(bold, ` at (${at}) ${map.lengthUnit}`);
}

function drawBar() {
  const count = colors.length / 3 - 1;
  const stops = Array.from({ length: 33 }, (_, k) => 3 * Math.round(k / 32 * count)).map(n => `rgb(${colors.subarray(n, n + 3).join()})`);
  find('bar').style.background = `linear-gradient(90deg,${stops.join()})`;
  const labels = [-1, -0.5, 0, 0.5, 1].map(share => {
    const span = document.createElement('span');
    span.textContent = digits(share * state.limit, 3).replace(/(\.\d*?)0+(?=e|$)/, '$1').replace(/\.(?=e|$)/, '');
    return span;
  });
  find('ticks').replaceChildren(...labels);
}

function setAxis(axis) {
  state.axis = axis;
  document.querySelectorAll('.axes button').forEach((button, k) => button.setAttribute('aria-pressed', k === axis));
  find('plane').max = map.shape[axis] - 1;
  setPlane(state.index[axis]);
}

function setPlane(index) {
  state.index[state.axis] = clamp(Math.round(index), 0, map.shape[state.axis] - 1);
  find('plane').value = state.index[state.axis];
  drawSlice();
  space.draw();
}

function setLimit(limit) {
  if (!(limit > 0 && Number.isFinite(limit))) return;
  state.limit = limit;
  drawBar();
  drawSlice();
}

function listen() {
  document.querySelectorAll('.axes button').forEach((button, k) => {
    if (!map.orthogonal) button.textContent = k + 1;
    button.addEventListener('click', () => setAxis(k));
  });
  find('plane').addEventListener('input', event => setPlane(Number(event.target.value)));
  find('limit').addEventListener('input', event => setLimit(Number(event.target.value)));
  find('range').addEventListener('input', event => {
    const limit = Number((map.limit * Math.pow(10, event.target.value)).toPrecision(2));
    find('limit').value = limit;
    setLimit(limit);
  });
  find('outline').addEventListener('change', drawSlice);
  canvas.addEventListener('pointermove', readOut);
  canvas.addEventListener('pointerdown', readOut);
  canvas.addEventListener('pointerleave', () => { find('readout').textContent = HINT; });
  window.addEventListener('keydown', event => {
    if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (move) setPlane(state.index[state.axis] + move);
    else if (event.key.length === 1 && 'xyz'.includes(event.key)) setAxis('xyz'.indexOf(event.key));
    else return;
    event.preventDefault();
  });
  const redraw = () => { drawSlice(); space.draw(); };
  window.addEventListener('resize', redraw);
  window.matchMedia('(prefers-color-scheme:dark)').addEventListener('change', redraw);
}

// `#check` in the address: draws every plane and writes what a test wants to know into the page.
function check() {
  const report = { webgl: space.ready, planes: 0, colors: 0, corner: [] };
  const context = canvas.getContext('2d');
  for (const axis of [0, 1, 2]) {
    setAxis(axis);
    for (let n = 0; n < map.shape[axis]; n++, report.planes++) setPlane(n);
    setPlane(0);
    const area = canvas.getBoundingClientRect();
    const { value } = pointed({ clientX: area.left + view.left, clientY: area.top + view.top + view.high });
    report.corner.push(Number.isNaN(value) ? 'no value' : value);
    const [x, y] = [view.left + view.wide / 2, view.top + view.high / 2].map(v => Math.round(v * view.ratio));
    report.colors += context.getImageData(x, y, 1, 1).data[3] === 255 ? 1 : 0;
  }
  const pre = Object.assign(document.createElement('pre'), { id: 'check', textContent: JSON.stringify(report) });
  document.body.append(pre);
}
