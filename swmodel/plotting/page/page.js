"use strict";
// Draws the content of the page: the map of a record, time series with a mark at its time, and its spectra.

const MAX_LEVEL = 253, MISSING = 255;
const element = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const FONT = "12px system-ui, sans-serif";

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// About `count` round numbers from low to high, as pairs [number, text].
function ticks(low, high, count) {
  const minStep = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(minStep));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= minStep * 0.999);
  const places = [...Array(15).keys()].find((n) => Math.abs(step - Number(step.toFixed(n))) < 1e-6 * step) ?? 15;
  const pairs = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) {
    pairs.push([k * step, (k * step).toFixed(places).replace(/^-(?=.*[1-9])/, "−").replace(/^-/, "")]);
  }
  return pairs;
}

const powerOfTen = (n) => `10${String(n).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])}`;

// At most `maxCount` powers of ten from low to high, as pairs [number, text]; if there are few, also 2 and 5 times these.
function decades(low, high, maxCount) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / maxCount)), pairs = [];
  for (let n = first - 1; n <= last; ++n) {
    for (const digit of last - first < 2 ? [1, 2, 5] : [1]) {
      const value = digit * 10 ** n, text = last - first < 2 ? digits(value) : powerOfTen(n);
      if (value >= low * 0.999 && value <= high * 1.001 && n % stride === 0) pairs.push([value, text]);
    }
  }
  return pairs;
}

const digits = (x) => String(Number(x.toPrecision(4))).replace("-", "−");

// Sets the height of a canvas, in pixels of the page, and returns its drawing context.
function prepareCanvas(canvas, height) {
  const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = FONT;
  pen.fillStyle = pen.strokeStyle = colour("--ink");
  pen.lineWidth = 1;
  return pen;
}

class Maps {
  constructor(content) {
    this.content = content;
    this.bytesByField = new Map();
    this.record = 0;
    this.image = document.createElement("canvas");
    this.margins = { left: 58, top: 6, right: 92, bottom: 34 };
  }

  get field() {
    return this.content.fields[element("field").selectedIndex];
  }

  async bytes(field) {
    if (!this.bytesByField.has(field.name)) this.bytesByField.set(field.name, await inflate(field.bytes));
    return this.bytesByField.get(field.name);
  }

  async draw() {
    const field = this.field, record = this.record, bytes = await this.bytes(field);
    if (field !== this.field || record !== this.record) return;
    this.paint(field, bytes, record);
    const [west, east, south, north] = field.axes.edges;
    const { left, top, right, bottom } = this.margins;
    const maxWidth = element("map").clientWidth - left - right;
    const height = Math.min(Math.max(maxWidth * (north - south) / (east - west), 120), Math.max(320, 0.8 * window.innerHeight));
    const pen = prepareCanvas(element("map"), height + top + bottom);
    const width = Math.min(maxWidth, Math.max(height * (east - west) / (north - south), 120));
    this.box = { left, top, width, height };
    pen.imageSmoothingEnabled = width < field.columns;
    pen.drawImage(this.image, left, top, width, height);
    pen.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    if (field.coast) this.coast(pen, field, bytes, record);
    this.barriers(pen, field);
    this.tracks(pen, field, this.content.times[record]);
    this.axes(pen, field);
    this.colourBar(pen, field, left + width + 14);
    const { titles, barriers, drifters } = this.content;
    element("caption").textContent = [titles[record], barriers?.label, drifters?.label].filter(Boolean).join(" · ");
    element("count").textContent = `${record + 1} of ${titles.length}`;
    element("map").setAttribute("aria-label", field.label);
    document.body.dataset.drawn = `${field.name} ${record}`;
  }

  // Paints a record into an image with one pixel per cell, north up.
  paint(field, bytes, record) {
    const { rows, columns } = field, image = this.image, { ground } = this.content;
    image.width = columns;
    image.height = rows;
    const pen = image.getContext("2d"), pixels = pen.createImageData(columns, rows);
    const palette = Uint8Array.from(field.colours.match(/../g), (pair) => parseInt(pair, 16));
    const land = Math.round(255 * this.content.land), from = record * rows * columns;
    for (let j = 0; j < rows; ++j) {
      for (let i = 0; i < columns; ++i) {
        const level = bytes[from + j * columns + i], to = 4 * ((rows - 1 - j) * columns + i);
        const missing = ground ? (c) => ground.bytes[3 * (j * columns + i) + c] : () => land;
        for (let c = 0; c < 3; ++c) pixels.data[to + c] = level === MISSING ? missing(c) : palette[3 * level + c];
        pixels.data[to + 3] = 255;
      }
    }
    pen.putImageData(pixels, 0, 0);
  }

  // Draws lines along the faces between cells with and without a value.
  coast(pen, { rows, columns }, bytes, record) {
    const { left, top, width, height } = this.box, dx = width / columns, dy = height / rows;
    const dry = (j, i) => bytes[(record * rows + j) * columns + i] === MISSING;
    pen.beginPath();
    for (let j = 0; j < rows; ++j) {
      for (let i = 0; i < columns; ++i) {
        const east = left + (i + 1) * dx, north = top + (rows - 1 - j) * dy;
        if (i + 1 < columns && dry(j, i) !== dry(j, i + 1)) pen.moveTo(east, north), pen.lineTo(east, north + dy);
        if (j + 1 < rows && dry(j, i) !== dry(j + 1, i)) pen.moveTo(east - dx, north), pen.lineTo(east, north);
      }
    }
    pen.stroke();
  }

  // The pixel of the map at [x, y] on the axes of a field.
  pixel(field, [x, y]) {
    const [west, east, south, north] = field.axes.edges, { left, top, width, height } = this.box;
    return [left + width * (x - west) / (east - west), top + height * (north - y) / (north - south)];
  }

  // Draws the faces of barriers.
  barriers(pen, field) {
    const { barriers } = this.content;
    if (!barriers) return;
    pen.save();
    pen.beginPath();
    for (const [from, to] of barriers.faces) {
      pen.moveTo(...this.pixel(field, from));
      pen.lineTo(...this.pixel(field, to));
    }
    pen.strokeStyle = barriers.colour;
    pen.lineWidth = 2;
    pen.lineCap = "round";
    pen.stroke();
    pen.restore();
  }

  // Draws the track of each drifter up to a time, and a dot at its position; leaves out lines across a periodic boundary.
  tracks(pen, field, time) {
    const { drifters } = this.content, { width, height } = this.box;
    const past = (drifters?.positions ?? []).filter((_, k) => drifters.times[k] <= time * (1 + 1e-12));
    pen.beginPath();
    for (let n = 0; n < (past[0]?.length ?? 0); ++n) {
      let last = null;
      for (const next of past.map((positions) => positions[n] && this.pixel(field, positions[n]))) {
        const near = last && next && Math.abs(next[0] - last[0]) < width / 2 && Math.abs(next[1] - last[1]) < height / 2;
        if (near) pen.lineTo(...next);
        else if (next) pen.moveTo(...next);
        last = next;
      }
      if (last) pen.fillRect(last[0] - 1.5, last[1] - 1.5, 3, 3);
    }
    pen.lineWidth = 0.7;
    pen.strokeStyle = pen.fillStyle;
    pen.stroke();
    pen.lineWidth = 1;
  }

  axes(pen, field) {
    const [west, east, south, north] = field.axes.edges, { left, top, width, height } = this.box;
    pen.textAlign = "center";
    for (const [x, text] of ticks(west, east, Math.max(2, width / 90))) {
      const at = left + width * (x - west) / (east - west);
      pen.fillRect(at, top + height, 1, 4);
      pen.fillText(text, at, top + height + 17);
    }
    pen.textAlign = "right";
    for (const [y, text] of ticks(south, north, Math.max(2, height / 60))) {
      const at = top + height * (north - y) / (north - south);
      pen.fillRect(left - 4, at, 4, 1);
      pen.fillText(text, left - 7, at + 4);
    }
    pen.fillText(field.axes.unit, left - 7, top + height + 17);
  }

  colourBar(pen, field, left) {
    if (field.ticks?.length === 0) return;
    const { top, height } = this.box, palette = field.colours.match(/.{6}/g);
    for (let level = 0; level <= MAX_LEVEL; ++level) {
      pen.fillStyle = `#${palette[level]}`;
      pen.fillRect(left, top + height * (1 - (level + 1) / (MAX_LEVEL + 1)), 14, height / (MAX_LEVEL + 1) + 1);
    }
    pen.fillStyle = colour("--ink");
    pen.strokeRect(left + 0.5, top + 0.5, 13, height - 1);
    pen.textAlign = "left";
    const marks = field.ticks?.map((value) => [value, digits(value)]) ?? ticks(field.low, field.high, Math.max(2, height / 60));
    for (const [value, text] of marks) {
      const at = top + height * (field.high - value) / (field.high - field.low);
      pen.fillRect(left + 14, at, 4, 1);
      pen.fillText(text, left + 21, at + 4);
    }
  }

  async showValueUnderPointer(event) {
    const { left, top, width, height } = this.box, field = this.field, [west, east, south, north] = field.axes.edges;
    const across = (event.offsetX - left) / width, up = 1 - (event.offsetY - top) / height;
    if (across < 0 || across >= 1 || up < 0 || up >= 1) return;
    const i = Math.floor(across * field.columns), j = Math.floor(up * field.rows);
    const level = (await this.bytes(field))[(this.record * field.rows + j) * field.columns + i];
    const [xName, yName] = field.axes.names, x = west + across * (east - west), y = south + up * (north - south);
    const value = field.low + (field.high - field.low) * level / MAX_LEVEL;
    const relation = (level === 0 && /min|both/.test(field.extend)) ? "≤ " : (level === MAX_LEVEL && /max|both/.test(field.extend)) ? "≥ " : "";
    const text = level === MISSING ? (this.content.ground ? "dry" : "land") : relation + digits(Number(value.toPrecision(3)));
    element("value").textContent = `${xName} ${digits(x)}, ${yName} ${digits(y)} ${field.axes.unit}: ${text}`;
  }
}

// Adds a label and a canvas below it to the element `id`; returns the canvas.
function addChart(id, label, description) {
  const box = document.createElement("div"), canvas = document.createElement("canvas"), name = document.createElement("h3");
  name.textContent = label;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", description);
  box.append(name, canvas);
  element(id).append(box);
  return canvas;
}

// Draws the frame of a chart with ticks [pixel, text] along both axes, and the unit of the axis below.
function drawFrame(pen, { left, top, width, height }, xTicks, yTicks, unit) {
  pen.fillStyle = colour("--quiet");
  pen.textAlign = "right";
  for (const [y, text] of yTicks) {
    pen.fillRect(left - 4, y, 4, 1);
    pen.fillText(text, left - 6, y + 4);
  }
  pen.fillText(unit, left + width, top + height + 30);
  pen.textAlign = "center";
  for (const [x, text] of xTicks) {
    pen.fillRect(x, top + height, 1, 4);
    pen.fillText(text, x, top + height + 16);
  }
  pen.strokeStyle = colour("--rule");
  pen.strokeRect(left + 0.5, top + 0.5, width, height);
}

// Draws a line through points [x, y] in pixels, with gaps where y is null.
function drawCurve(pen, points, colourName) {
  pen.strokeStyle = colour(colourName);
  pen.lineWidth = 1.5;
  pen.beginPath();
  points.forEach(([x, y], k) => {
    if (y === null) return;
    if (k && points[k - 1][1] !== null) pen.lineTo(x, y);
    else pen.moveTo(x, y);
  });
  pen.stroke();
}

const indexOfNearest = (times, time) => {
  const distances = times.map((each) => Math.abs(each - time));
  return distances.indexOf(Math.min(...distances));
};

class Series {
  constructor(content, show) {
    this.content = content;
    this.charts = content.series.map((series) => {
      const canvas = addChart("series", series.label, `${series.label} over time`);
      canvas.addEventListener("click", (event) => {
        if (!canvas.box) return; // a series without a finite value is not drawn
        const { left, width } = canvas.box, first = series.times[0], last = series.times.at(-1);
        show(indexOfNearest(content.times, first + (last - first) * (event.offsetX - left) / width));
      });
      return { series, canvas };
    });
    const last = Math.max(1, ...content.series.map((series) => series.times.at(-1)));
    const units = [[86400, "days"], [3600, "hours"], [60, "minutes"], [1, "seconds"]];
    [this.unitSeconds, this.unit] = units.find(([seconds]) => last >= seconds);
  }

  draw(record) {
    for (const { series, canvas } of this.charts) this.chart(series, canvas, this.content.times[record]);
  }

  chart({ times, values }, canvas, now) {
    const pen = prepareCanvas(canvas, 146), top = 6, height = 104;
    const finite = values.filter((value) => value !== null);
    if (!finite.length) return;
    const low = Math.min(...finite), high = Math.max(...finite), span = high - low || Math.abs(high) || 1;
    const bottom = low - 0.05 * span, range = 1.1 * span, first = times[0], duration = times.at(-1) - first || 1;
    const marks = ticks(bottom, bottom + range, 5), left = 14 + Math.max(...marks.map(([, text]) => pen.measureText(text).width));
    const width = canvas.clientWidth - left - 16;
    canvas.box = { left, top, width, height };
    const x = (time) => left + width * (time - first) / duration, y = (value) => top + height * (1 - (value - bottom) / range);
    const timeTicks = ticks(first / this.unitSeconds, (first + duration) / this.unitSeconds, 4);
    const xTicks = timeTicks.map(([time, text]) => [x(time * this.unitSeconds), text]);
    drawFrame(pen, canvas.box, xTicks, marks.map(([value, text]) => [y(value), text]), this.unit);
    if (now >= first && now <= first + duration) pen.fillRect(x(now), top, 1, height);
    drawCurve(pen, values.map((value, k) => [x(times[k]), value === null ? null : y(value)]), "--line");
  }
}

// Densities against wavenumber on logarithmic axes: the record of spectra nearest in time, and faintly the first record.
class Spectra {
  constructor(content) {
    this.spectra = content.spectra;
    this.charts = (content.spectra?.quantities ?? []).map((quantity) => {
      return { values: quantity.values, canvas: addChart("spectra", quantity.label, quantity.label) };
    });
  }

  draw(time) {
    for (const { values, canvas } of this.charts) this.chart(values, canvas, indexOfNearest(this.spectra.times, time));
  }

  chart(values, canvas, record) {
    const k = this.spectra.wavenumbers, pen = prepareCanvas(canvas, 220), top = 6, height = 170, left = 46;
    const finite = [...values[0], ...values[record]].filter((value) => value !== null), width = canvas.clientWidth - left - 16;
    if (!finite.length) return;
    const low = Math.min(...finite) / 2, high = Math.max(...finite) * 2, first = k[0] / 1.1, last = k.at(-1) * 1.1;
    const x = (wavenumber) => left + width * Math.log(wavenumber / first) / Math.log(last / first);
    const y = (value) => top + height * Math.log(high / value) / Math.log(high / low);
    const xTicks = decades(first, last, 6).map(([value, text]) => [x(value), text]);
    const yTicks = decades(low, high, 6).map(([value, text]) => [y(value), text]);
    drawFrame(pen, { left, top, width, height }, xTicks, yTicks, "rad km⁻¹");
    for (const [shown, colourName] of [[0, "--rule"], [record, "--line"]]) {
      drawCurve(pen, values[shown].map((value, n) => [x(k[n]), value === null ? null : y(value)]), colourName);
    }
  }
}

async function start() {
  const content = JSON.parse(new TextDecoder().decode(await inflate(element("content").textContent)));
  if (content.ground) content.ground.bytes = await inflate(content.ground.colours);
  const maps = new Maps(content), spectra = new Spectra(content), last = content.titles.length - 1;
  for (const field of content.fields) element("field").add(new Option(field.label, field.name));
  element("record").max = last;
  const show = (record) => {
    maps.record = Math.min(Math.max(record, 0), last);
    element("record").value = maps.record;
    history.replaceState(null, "", `#field=${element("field").value}&record=${maps.record}`);
    series.draw(maps.record);
    spectra.draw(content.times[maps.record]);
    return maps.draw();
  };
  const series = new Series(content, (record) => show(record));
  const notes = [];
  const averaged = Math.max(...content.fields.map((field) => field.averaged));
  if (averaged > 1) notes.push(`Means over ${averaged} × ${averaged} cells.`);
  if (content.left_out) notes.push(`${content.left_out} records are left out.`);
  element("notes").textContent = notes.join(" ");

  let playing = null;
  const pause = () => { clearInterval(playing); playing = null; element("play").textContent = "▶"; };
  const play = () => {
    if (playing !== null) return pause();
    element("play").textContent = "⏸";
    playing = setInterval(() => show(maps.record === last ? 0 : maps.record + 1), Math.max(80, 4000 / (last + 1)));
  };
  element("play").addEventListener("click", play);
  element("previous").addEventListener("click", () => { pause(); show(maps.record - 1); });
  element("next").addEventListener("click", () => { pause(); show(maps.record + 1); });
  element("record").addEventListener("input", () => { pause(); show(Number(element("record").value)); });
  element("field").addEventListener("change", () => show(maps.record));
  element("map").addEventListener("pointermove", (event) => maps.showValueUnderPointer(event));
  document.addEventListener("keydown", (event) => {
    if (/SELECT|INPUT|BUTTON/.test(event.target.tagName)) return;
    if (event.key === "ArrowLeft") { pause(); show(maps.record - 1); }
    if (event.key === "ArrowRight") { pause(); show(maps.record + 1); }
    if (event.key === " ") { event.preventDefault(); play(); }
  });
  window.addEventListener("resize", () => show(maps.record));
  const requested = new URLSearchParams(location.hash.slice(1));
  if (content.fields.some((field) => field.name === requested.get("field"))) element("field").value = requested.get("field");
  await show(requested.has("record") ? Number(requested.get("record")) : last);
}

start();
