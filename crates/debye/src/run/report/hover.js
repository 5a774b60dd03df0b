// Shows the values under the pointer. The page reads as well without it.
document.querySelectorAll('figure svg.plot').forEach(svg => {
  const numbers = name => svg.getAttribute(name).split(' ').map(Number);
  const [left, top, right, bottom] = numbers('data-frame');
  const [x0, x1, y0, y1] = numbers('data-ranges');
  const [logX, logY] = numbers('data-log');
  const lines = [...svg.querySelectorAll('[data-series]')].map(line => ({
    name: line.dataset.series,
    points: line.getAttribute('points').split(' ').map(p => p.split(',').map(Number)),
  }));
  const value = (share, from, to, log) => {
    const v = from + share * (to - from);
    return log ? Math.pow(10, v) : v;
  };
  const text = (v, span) => {
    const digits = Math.ceil(Math.log10(Math.max(Math.abs(v), 1e-300) / Math.max(span, 1e-300))) + 3;
    return v.toPrecision(Math.min(Math.max(digits, 3), 15)).replace('-', '\u2212');
  };
  const rule = document.createElementNS('http://www.w3.org/2000/svg', 'line');
  rule.setAttribute('class', 'pa');
  rule.setAttribute('y1', top);
  rule.setAttribute('y2', bottom);
  rule.style.display = 'none';
  svg.appendChild(rule);
  const box = document.createElement('div');
  box.className = 'readout';
  box.style.display = 'none';
  svg.parentNode.appendChild(box);
  const hide = () => { rule.style.display = box.style.display = 'none'; };
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('pointermove', event => {
    const area = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / area.width;
    const x = (event.clientX - area.left) * scale;
    if (left > x || x > right) return hide();
    const rows = [];
    for (const line of lines) {
      const k = line.points.findIndex(p => p[0] >= x);
      if (1 > k) continue;
      const [a, b] = [line.points[k - 1], line.points[k]];
      const y = b[0] === a[0] ? b[1] : a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]);
      const v = value((bottom - y) / (bottom - top), y0, y1, logY);
      rows.push(line.name + ': ' + text(v, logY ? v : y1 - y0));
    }
    if (!rows.length) return hide();
    const v = value((x - left) / (right - left), x0, x1, logX);
    rows.unshift(text(v, logX ? v : x1 - x0));
    box.replaceChildren(...rows.map(row => Object.assign(document.createElement('div'), { textContent: row })));
    rule.setAttribute('x1', x);
    rule.setAttribute('x2', x);
    rule.style.display = box.style.display = '';
    const place = event.clientX - area.left;
    box.style.top = '44px';
    box.style.left = place > area.width / 2 ? '' : place + 22 + 'px';
    box.style.right = place > area.width / 2 ? area.width - place + 22 + 'px' : '';
  });
});
