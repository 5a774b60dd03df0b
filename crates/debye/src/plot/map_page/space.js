// The isosurfaces in space, by WebGL 2 in parallel projection.
const SURFACE = [`#version 300 es
uniform mat3 turn; uniform vec3 center, low, size; uniform vec2 zoom; uniform float depth;
in vec3 position, normal; out vec3 facing; out float far;
void main() {
  vec3 at = turn * (low + size * position - center);
  gl_Position = vec4(at.xy * zoom, -at.z * depth, 1.0);
  facing = turn * normal; far = 0.5 - 0.5 * at.z * depth;
}`, `#version 300 es
precision highp float;
uniform vec3 color, paper; uniform float opacity;
in vec3 facing; in float far; out vec4 shade;
void main() {
  vec3 n = normalize(facing);
  float lit = abs(dot(n, vec3(-0.42, 0.56, 0.714)));
  float shine = pow(abs(dot(n, vec3(-0.227, 0.302, 0.926))), 40.0);
  vec3 surface = color * (0.42 + 0.62 * lit) + 0.22 * shine;
  // Grazing views pass through more of a thin layer.
  shade = vec4(mix(surface, paper, 0.35 * clamp(far, 0.0, 1.0)), mix(min(1.0, opacity * 1.4), opacity, abs(n.z)));
}`];
const SPHERES = [`#version 300 es
uniform mat3 turn; uniform vec3 center; uniform vec2 zoom; uniform float depth, pixels;
in vec4 atom; out float reach; out float far;
void main() {
  vec3 at = turn * (atom.xyz - center);
  gl_Position = vec4(at.xy * zoom, -at.z * depth, 1.0);
  gl_PointSize = max(2.0, 2.0 * atom.w * pixels); reach = atom.w * depth; far = 0.5 - 0.5 * at.z * depth;
}`, `#version 300 es
precision highp float;
uniform vec3 color, paper;
in float reach; in float far; out vec4 shade;
void main() {
  vec2 at = vec2(2.0, -2.0) * gl_PointCoord + vec2(-1.0, 1.0);
  float rest = 1.0 - dot(at, at);
  if (0.0 > rest) discard;
  vec3 n = vec3(at, sqrt(rest));
  float lit = max(0.0, dot(n, vec3(-0.42, 0.56, 0.714)));
  shade = vec4(mix(color * (0.45 + 0.6 * lit), paper, 0.35 * clamp(far, 0.0, 1.0)), 1.0);
  gl_FragDepth = clamp(far - 0.5 * reach * n.z, 0.0, 1.0);
}`];
const LINES = [`#version 300 es
uniform mat3 turn; uniform vec3 center; uniform vec2 zoom; uniform float depth;
in vec3 position;
void main() { vec3 at = turn * (position - center); gl_Position = vec4(at.xy * zoom, -at.z * depth, 1.0); }`,
`#version 300 es
precision highp float;
uniform vec3 color; out vec4 shade;
void main() { shade = vec4(color, 1.0); }`];

function makeSpace() {
  const sheet = find('surfaces');
  try {
    const gl = sheet.getContext('webgl2', { antialias: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error('no WebGL 2');
    return new Space(gl, sheet);
  } catch (error) {
    sheet.hidden = find('levels').hidden = true;
    find('hint').textContent = `The isosurfaces are not shown: this browser cannot draw them (${error.message}). The planes need no WebGL.`;
    return { ready: false, draw() {} };
  }
}

// A box that shows or hides a surface.
function levelBox(surface, size) {
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: size > 0, disabled: !size });
  const swatch = Object.assign(document.createElement('span'), { className: 'swatch' });
  swatch.style.background = `rgb(${surface.color.join()})`;
  const label = document.createElement('label');
  label.append(box, swatch, surface.label + (size ? '' : ' (none)'));
  find('levels').insertBefore(label, find('atoms').parentNode);
  return box;
}

class Space {
  constructor(gl, sheet) {
    Object.assign(this, { gl, sheet, ready: true });
    this.programs = [SURFACE, SPHERES, LINES].map(source => this.compile(source));
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map(n => placeOf([0, 1, 2].map(k => ends(k)[n >> k & 1])));
    this.center = scaled(sum(corners[0], corners[7]), 0.5);
    this.radius = Math.max(...corners.map(p => Math.hypot(...sum(p, scaled(this.center, -1)))));
    const edges = [];
    for (let n = 0; n < 8; n++) for (let k = 0; k < 3; k++) if (!(n >> k & 1)) edges.push(...corners[n], ...corners[n | 1 << k]);
    this.box = this.lines(edges, gl.STATIC_DRAW);
    this.frame = this.lines(new Array(24).fill(0), gl.DYNAMIC_DRAW);
    this.surfaces = map.surfaces.map(surface => this.surface(surface));
    this.atoms = this.mesh(this.programs[1], atoms, [['atom', 4, gl.FLOAT, false, 16, 0]]);
    this.reset();
    this.listen();
  }

  compile([vertex, fragment]) {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || 'shaders');
    return program;
  }

  mesh(program, data, attributes, usage = this.gl.STATIC_DRAW) {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, usage);
    for (const [name, ...format] of attributes) {
      const place = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, ...format);
    }
    return { array, buffer };
  }

  lines(points, usage) {
    return this.mesh(this.programs[2], new Float32Array(points), [['position', 3, this.gl.FLOAT, false, 12, 0]], usage);
  }

  // 12 bytes a vertex: place as shares of the box, normal, both padded.
  surface(surface) {
    const { gl } = this;
    const mesh = this.mesh(this.programs[0], bytes(surface.vertices), [
      ['position', 3, gl.UNSIGNED_SHORT, true, 12, 0],
      ['normal', 3, gl.BYTE, true, 12, 8],
    ]);
    const triangles = bytes(surface.triangles);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
    return { ...surface, ...mesh, count: triangles.length / 4, box: levelBox(surface, triangles.length) };
  }

  reset() {
    const [turn, tilt] = [28, 20].map(degrees => degrees * Math.PI / 180);
    const towards = [Math.cos(tilt) * Math.sin(turn), -Math.cos(tilt) * Math.cos(turn), Math.sin(tilt)];
    const right = [Math.cos(turn), Math.sin(turn), 0];
    this.turn = [right, cross(towards, right), towards];
    this.zoom = 1;
  }

  listen() {
    const { sheet } = this;
    let last = null;
    sheet.addEventListener('pointerdown', event => { last = event; sheet.setPointerCapture(event.pointerId); });
    sheet.addEventListener('pointerup', () => { last = null; });
    sheet.addEventListener('pointermove', event => {
      if (!last) return;
      const [x, y] = [(event.clientX - last.clientX) * 0.008, (event.clientY - last.clientY) * 0.008];
      last = event;
      const [a, b, c] = this.turn;
      const right = unit(sum(scaled(a, Math.cos(x)), scaled(c, Math.sin(x))));
      const back = sum(scaled(c, Math.cos(x)), scaled(a, -Math.sin(x)));
      const towards = unit(sum(scaled(back, Math.cos(y)), scaled(b, Math.sin(y))));
      this.turn = [right, unit(cross(towards, right)), towards];
      this.draw();
    });
    sheet.addEventListener('wheel', event => {
      this.zoom = clamp(this.zoom * Math.exp(-0.0015 * event.deltaY), 0.3, 30);
      this.draw();
      event.preventDefault();
    }, { passive: false });
    find('reset').addEventListener('click', () => { this.reset(); this.draw(); });
    for (const input of find('levels').querySelectorAll('input')) input.addEventListener('input', () => this.draw());
  }

  use(program, uniforms) {
    const { gl } = this;
    gl.useProgram(program);
    const shared = { turn: [0, 1, 2].flatMap(column => this.turn.map(row => row[column])), center: this.center, zoom: this.scale, depth: 0.5 / this.radius, paper: this.paper };
    for (const [name, value] of Object.entries({ ...shared, ...uniforms })) {
      const place = gl.getUniformLocation(program, name);
      if (name === 'turn') gl.uniformMatrix3fv(place, false, value);
      else if (typeof value === 'number') gl.uniform1f(place, value);
      else gl[`uniform${value.length}fv`](place, value);
    }
  }

  draw() {
    const { gl, sheet } = this;
    const ratio = window.devicePixelRatio || 1;
    [sheet.width, sheet.height] = [sheet.clientWidth, sheet.clientHeight].map(v => Math.max(1, Math.round(v * ratio)));
    gl.viewport(0, 0, sheet.width, sheet.height);
    const pixels = 0.48 * Math.min(sheet.width, sheet.height) * this.zoom / this.radius;
    this.scale = [2 * pixels / sheet.width, 2 * pixels / sheet.height];
    const color = name => style(name).replace('#', '').replace(/^(.)(.)(.)$/, '$1$1$2$2$3$3').match(/../g).map(c => parseInt(c, 16) / 255);
    this.paper = color('--paper');
    gl.clearColor(...this.paper, 1);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.drawLines(this.box, 24, color('--muted'));
    const [a, b, c, d] = view ? view.plane.corners : [];
    if (a) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.frame.buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, new Float32Array([a, b, b, d, d, c, c, a].flat()));
      this.drawLines(this.frame, 8, color('--accent'));
    }
    if (find('atoms').checked && atoms.length) {
      this.use(this.programs[1], { color: [0.62, 0.64, 0.67], pixels });
      gl.bindVertexArray(this.atoms.array);
      gl.drawArrays(gl.POINTS, 0, atoms.length / 4);
    }
    this.drawSurfaces();
  }

  drawLines(lines, count, color) {
    this.use(this.programs[2], { color });
    this.gl.bindVertexArray(lines.array);
    this.gl.drawArrays(this.gl.LINES, 0, count);
  }

  // Where they are not opaque, the far side of each surface is drawn before the near side.
  drawSurfaces() {
    const { gl } = this;
    const opacity = Number(find('opacity').value);
    const opaque = opacity > 0.99;
    gl.depthMask(opaque);
    if (!opaque) {
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      gl.enable(gl.CULL_FACE);
    }
    for (const side of opaque ? [null] : [gl.FRONT, gl.BACK]) {
      if (side) gl.cullFace(side);
      for (const surface of this.surfaces.filter(s => s.box.checked && s.count)) {
        this.use(this.programs[0], { low: map.low, size: map.size, color: surface.color.map(c => c / 255), opacity });
        gl.bindVertexArray(surface.array);
        gl.drawElements(gl.TRIANGLES, surface.count, gl.UNSIGNED_INT, 0);
      }
    }
    gl.depthMask(true);
  }
}

const space = makeSpace();
find('unit').textContent = map.unit;
find('limit').value = map.limit;
find('readout').textContent = HINT;
find('outline').parentNode.hidden = find('atoms').parentNode.hidden = !atoms.length;
listen();
drawBar();
setAxis(2);
if (location.hash === '#check') check();
