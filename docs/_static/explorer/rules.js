/* The rules of layouts: those of candela_xp._layout, _order and _index, for the page that shows them.

A layout is {shape, stride, offset}; strides and offset count elements. `apply` takes a layout and a view as a person
writes it, {kind, text}, and gives the layout of the view or throws a Refusal that says in words what is wrong.
tests/test_explorer.py holds every function here against the library, over random layouts and views. */
"use strict";

const Rules = (() => {
  const LIMIT = 4096; // elements, and cells of memory, that the page draws
  const MOST_AXES = 64;

  class Refusal extends Error {}

  const refuse = (words) => {
    throw new Refusal(words);
  };

  const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
  const tuple = (numbers) => (numbers.length === 1 ? `(${numbers[0]},)` : `(${numbers.join(", ")})`);
  const gcd = (a, b) => (b === 0 ? Math.abs(a) : gcd(b, a % b));
  const plain = (number) => number + 0; // -0 is 0
  const layout = (shape, stride, offset) => ({ shape, stride: stride.map(plain), offset: plain(offset) });

  // -- fields -------------------------------------------------------------------------------------

  const rowMajorStride = (shape) => {
    const stride = [];
    let step = 1;
    for (const extent of [...shape].reverse()) {
      stride.unshift(step);
      step *= extent || 1;
    }
    return stride;
  };

  const contiguous = (shape, offset = 0) => layout(shape, rowMajorStride(shape), offset);
  const length = (x) => product(x.shape);

  const adjStride = (x) => {
    const adjusted = [];
    let walked = 0;
    for (let axis = x.shape.length - 1; axis >= 0; axis--) {
      adjusted.unshift(plain(x.stride[axis] - walked));
      walked += x.stride[axis] * (x.shape[axis] - 1);
    }
    return adjusted;
  };

  /* Axes from outermost to innermost in memory, or null where they overlap, or leave gaps that are not allowed. */
  const ordered = (x, gaps) => {
    const axes = x.shape.map((_, axis) => axis);
    if (x.shape.includes(0)) return axes;
    axes.sort((a, b) => Math.abs(x.stride[b]) - Math.abs(x.stride[a]) || a - b);
    let expected = 1;
    for (const axis of [...axes].reverse()) {
      if (x.shape[axis] === 1) continue;
      const step = Math.abs(x.stride[axis]);
      if (step < expected || (step !== expected && !gaps)) return null;
      expected = step * x.shape[axis];
    }
    return axes;
  };

  /* How the axes nest, innermost first: what each steps by and what those inside it span. `fits` without a gap, `gap`,
  `overlap` (a stride of 0 among them), or `one` for an axis of length 1, which never steps. */
  const nesting = (x) => {
    const axes = x.shape.map((_, axis) => axis);
    axes.sort((a, b) => Math.abs(x.stride[a]) - Math.abs(x.stride[b]) || b - a);
    let span = 1;
    return axes.map((axis) => {
      const [extent, step] = [x.shape[axis], Math.abs(x.stride[axis])];
      if (extent === 1) return { axis, extent, step, span, verdict: "one" };
      const found = { axis, extent, step, span, verdict: step < span ? "overlap" : step > span ? "gap" : "fits" };
      span = Math.max(span, step * extent);
      return found;
    });
  };

  const dimOrder = (x) => ordered(x, false);
  const nestedDimOrder = (x) => ordered(x, true);

  const elementOffset = (x, index) => index.reduce((cell, place, axis) => cell + place * x.stride[axis], x.offset);

  const bounds = (x) => {
    if (x.shape.includes(0)) return null;
    let [low, high] = [x.offset, x.offset];
    x.shape.forEach((extent, axis) => {
      const reach = (extent - 1) * x.stride[axis];
      if (reach < 0) low += reach;
      else high += reach;
    });
    return [low, high];
  };

  // -- flags --------------------------------------------------------------------------------------

  const isContiguous = (x) => {
    if (x.shape.includes(0)) return true;
    let expected = 1;
    for (let axis = x.shape.length - 1; axis >= 0; axis--) {
      if (x.shape[axis] === 1) continue;
      if (x.stride[axis] !== expected) return false;
      expected *= x.shape[axis];
    }
    return true;
  };

  const isDense = (x) => dimOrder(x) !== null;
  const isTransposed = (x) => adjStride(x).some((adjusted, axis) => adjusted < 0 && x.stride[axis] !== 0);
  const isBroadcast = (x) => x.shape.some((extent, axis) => extent > 1 && x.stride[axis] === 0);

  const overlapsItself = (x) => {
    if (x.shape.includes(0) || nestedDimOrder(x) !== null) return false;
    const axes = [];
    x.shape.forEach((extent, axis) => {
      if (extent > 1) axes.push([Math.abs(x.stride[axis]), extent - 1]);
    });
    axes.sort((a, b) => b[0] - a[0] || b[1] - a[1]);
    if (axes[axes.length - 1][0] === 0) return true;
    const span = axes.reduce((sum, [step, reach]) => sum + step * reach, 0);
    const cells = span / axes.reduce((divisor, [step]) => gcd(divisor, step), 0) + 1;
    return length(x) > cells || hasNonzeroRelation(axes);
  };

  /* Whether sum(d[k] * step[k]) is 0 for some d that is not all 0, with |d[k]| <= reach[k]; axes by decreasing step. */
  const hasNonzeroRelation = (axes) => {
    const tail = Array(axes.length + 1).fill(0);
    const divisor = Array(axes.length + 1).fill(0);
    for (let k = axes.length - 1; k >= 0; k--) {
      tail[k] = tail[k + 1] + axes[k][0] * axes[k][1];
      divisor[k] = gcd(divisor[k + 1], axes[k][0]);
    }
    const search = (k, total, nonzero) => {
      if (k === axes.length) return nonzero;
      if (total % divisor[k] !== 0) return false;
      const [step, reach] = axes[k];
      const low = Math.max(nonzero ? -reach : 0, -Math.floor((total + tail[k + 1]) / step));
      const high = Math.min(reach, Math.floor((tail[k + 1] - total) / step));
      for (let d = low; d <= high; d++) if (search(k + 1, total + d * step, nonzero || d !== 0)) return true;
      return false;
    };
    return search(0, 0, false);
  };

  const coreIsPacked = (x) => {
    const [m, n] = x.shape.slice(-2);
    const [row, column] = x.stride.slice(-2);
    const straight = (n === 1 || column === 1) && (m === 1 || row >= Math.max(n, 1));
    const turned = (m === 1 || row === 1) && (n === 1 || column >= Math.max(m, 1));
    return m === 0 || n === 0 || straight || turned;
  };

  /* Everything that the page says of a layout, under the library's names. */
  const facts = (x) => ({
    shape: x.shape,
    stride: x.stride,
    adj_stride: adjStride(x),
    offset: x.offset,
    len: length(x),
    dim_order: dimOrder(x),
    nested_dim_order: nestedDimOrder(x),
    flags: {
      contiguous: isContiguous(x),
      dense: isDense(x),
      transposed: isTransposed(x),
      broadcast: isBroadcast(x),
      "overlaps itself": overlapsItself(x),
      "core for BLAS": x.shape.length >= 2 ? coreIsPacked(x) : null,
    },
  });

  /* The walk in row-major order of indices: one addition of adj_stride a step; axis null is the first element. */
  const walk = (x) => {
    if (x.shape.includes(0)) return [];
    const adjusted = adjStride(x);
    const index = x.shape.map(() => 0);
    let cell = x.offset;
    const steps = [{ index: [...index], cell, axis: null }];
    for (;;) {
      let axis = x.shape.length - 1;
      while (axis >= 0 && index[axis] === x.shape[axis] - 1) index[axis--] = 0;
      if (axis < 0) return steps;
      index[axis] += 1;
      cell += adjusted[axis];
      steps.push({ index: [...index], cell, axis });
    }
  };

  // -- views of a layout --------------------------------------------------------------------------

  const permute = (x, axes) =>
    layout(axes.map((axis) => x.shape[axis]), axes.map((axis) => x.stride[axis]), x.offset);

  const expand = (x, places) => {
    const [shape, stride] = [[...x.shape], [...x.stride]];
    for (const place of [...places].sort((a, b) => a - b)) {
      const step = place < shape.length ? shape[place] * stride[place] : 1;
      shape.splice(place, 0, 1);
      stride.splice(place, 0, step);
    }
    return layout(shape, stride, x.offset);
  };

  const squeeze = (x, axes) =>
    axes.some((axis) => x.shape[axis] !== 1)
      ? null
      : permute(x, x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis)));

  const flip = (x, axes) => {
    const stride = [...x.stride];
    let offset = x.offset;
    for (const axis of axes) {
      offset += (x.shape[axis] - 1) * stride[axis];
      stride[axis] = -stride[axis];
    }
    return layout(x.shape, stride, x.shape.includes(0) ? x.offset : offset);
  };

  const broadcastTo = (x, shape) => {
    const added = shape.length - x.shape.length;
    if (added < 0) return null;
    const stride = Array(added).fill(0);
    for (let axis = 0; axis < x.shape.length; axis++) {
      if (x.shape[axis] === shape[added + axis]) stride.push(x.stride[axis]);
      else if (x.shape[axis] === 1) stride.push(0);
      else return null;
    }
    return layout(shape, stride, x.offset);
  };

  const select = (x, axis, number) => {
    const without = (values) => [...values.slice(0, axis), ...values.slice(axis + 1)];
    const shape = without(x.shape);
    return layout(shape, without(x.stride), shape.includes(0) ? x.offset : x.offset + number * x.stride[axis]);
  };

  const slice = (x, axis, start, step, count) => {
    const [shape, stride] = [[...x.shape], [...x.stride]];
    shape[axis] = count;
    const offset = shape.includes(0) ? x.offset : x.offset + start * stride[axis];
    if (count > 1) stride[axis] *= step;
    return layout(shape, stride, offset);
  };

  const diagonal = (x, offset) => {
    const outer = x.shape.length - 2;
    const [rows, columns] = x.shape.slice(outer);
    const [row, column] = x.stride.slice(outer);
    const count = Math.max(0, Math.min(rows + Math.min(offset, 0), columns - Math.max(offset, 0)));
    const shape = [...x.shape.slice(0, outer), count];
    const start = shape.includes(0) ? 0 : Math.max(offset, 0) * column - Math.min(offset, 0) * row;
    return layout(shape, [...x.stride.slice(0, outer), row + column], x.offset + start);
  };

  const windows = (x, axis, size, step) => {
    if (size > x.shape[axis]) return null;
    const [shape, stride] = [[...x.shape], [...x.stride]];
    shape[axis] = Math.floor((x.shape[axis] - size) / step) + 1;
    stride[axis] = x.stride[axis] * step;
    return layout([...shape, size], [...stride, x.stride[axis]], x.offset);
  };

  /* Reshape, and why it is a view or isn't.

  links: for neighbouring axes longer than 1, whether they chain (stride of the outer = extent * stride of the inner).
  runs: the maximal runs of axes that chain, outermost first. parts: the new axes, innermost first, with the run that
  each splits. failure: the new axis that would need two runs, or null. view: the layout, or null. */
  const reshapePlan = (x, shape) => {
    if (shape.includes(0)) return { view: contiguous(shape, x.offset), links: [], runs: [], parts: [], failure: null };
    const [links, runs] = [[], []];
    x.shape.forEach((extent, axis) => {
      if (extent === 1) return;
      const step = x.stride[axis];
      const run = runs[runs.length - 1];
      if (run) {
        const outer = run.axes[run.axes.length - 1];
        const chains = run.stride === extent * step;
        links.push({ outer, inner: axis, chains, have: run.stride, extent, step, want: plain(extent * step) });
        if (chains) {
          run.axes.push(axis);
          run.extent *= extent;
          run.stride = step;
          return;
        }
      }
      runs.push({ axes: [axis], extent, stride: step });
    });
    const stride = Array(shape.length).fill(1);
    const parts = [];
    let [next, left, step] = [runs.length, 1, 1];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const extent = shape[axis];
      if (extent !== 1) {
        if (left === 1) {
          next -= 1;
          [left, step] = [runs[next].extent, runs[next].stride];
        }
        if (left % extent !== 0) return { view: null, links, runs, parts, failure: { axis, extent, left, run: next } };
        parts.push({ axis, extent, run: next, stride: step });
      }
      stride[axis] = step;
      step *= extent;
      left /= extent;
    }
    return { view: layout(shape, stride, x.offset), links, runs, parts, failure: null };
  };

  const reshape = (x, shape) => reshapePlan(x, shape).view;

  // -- what people write --------------------------------------------------------------------------

  const INTEGER = /^[+-]?\s*(?:0+|[1-9][0-9]*)$/;

  const integer = (text, what) => {
    const trimmed = text.trim();
    if (trimmed === "") refuse(`${what}: a number is missing`);
    if (!INTEGER.test(trimmed)) refuse(`${what}: ${quoted(trimmed)} is not a whole number`);
    const number = Number(trimmed.replace(/\s/g, ""));
    if (Math.abs(number) > 1e12) refuse(`${what}: ${quoted(trimmed)} has more digits than this page counts with`);
    return plain(number);
  };

  const quoted = (text) => `“${text.length > 40 ? text.slice(0, 39) + "…" : text}”`;

  /* The parts between commas; one comma may stand at the end, one pair of brackets around them. */
  const parts = (text, open, close) => {
    let inner = text.trim();
    if (inner.startsWith(open) && inner.endsWith(close) && inner.length > 1) inner = inner.slice(1, -1).trim();
    if (inner === "") return [];
    const found = inner.split(",");
    if (found.length > 1 && found[found.length - 1].trim() === "") found.pop();
    return found;
  };

  const integers = (text, what) => parts(text, "(", ")").map((part) => integer(part, what));

  const checkedShape = (shape, what) => {
    if (shape.some((extent) => extent < 0)) refuse(`${what}: shape ${tuple(shape)} has a negative extent`);
    if (shape.length > MOST_AXES) refuse(`${what}: shape has ${shape.length} axes; ${MOST_AXES} are possible`);
    const large = shape.find((extent) => extent > LIMIT);
    if (large !== undefined) refuse(`${what}: an extent of ${large}; this page draws at most ${LIMIT} elements`);
    return shape;
  };

  const checkedAxis = (axis, ndim, what) => {
    if (ndim === 0) refuse(`${what}: axis ${axis} is out of range: a 0-d array has no axes`);
    if (axis < -ndim || axis >= ndim) refuse(`${what}: axis ${axis} is out of range for ${ndim} axes; use ${-ndim}..${ndim - 1}`);
    return axis < 0 ? axis + ndim : axis;
  };

  const checkedAxes = (axes, ndim, what) => {
    const found = axes.map((axis) => checkedAxis(axis, ndim, what));
    if (new Set(found).size !== found.length) refuse(`${what}: ${tuple(axes)} names an axis twice`);
    return found;
  };

  const drawable = (x, what) => {
    if (x.shape.length > MOST_AXES) refuse(`${what}: ${x.shape.length} axes; ${MOST_AXES} are possible`);
    if (length(x) > LIMIT) {
      refuse(`${what}: shape ${tuple(x.shape)} has ${length(x)} elements; this page draws at most ${LIMIT}`);
    }
    return x;
  };

  /* A shape to begin with. */
  const root = (text) => drawable(contiguous(checkedShape(integers(text, "shape"), "shape")), "shape");

  const sliceBounds = (start, stop, step, extent) => {
    const [lower, upper] = step < 0 ? [-1, extent - 1] : [0, extent];
    const bound = (value, missing) =>
      value === null ? missing : value < 0 ? Math.max(value + extent, lower) : Math.min(value, upper);
    const first = bound(start, step < 0 ? upper : lower);
    const end = bound(stop, step < 0 ? lower : upper);
    return [first, Math.max(0, Math.ceil((end - first) / step))];
  };

  const indexPart = (text) => {
    const part = text.trim();
    if (part === "...") return { kind: "ellipsis", text: part };
    if (part === "None") return { kind: "none", text: part };
    if (!part.includes(":")) return { kind: "integer", number: integer(part, "index"), text: part };
    const bounds = part.split(":");
    if (bounds.length > 3) refuse(`index: ${quoted(part)} has more than two colons; a slice is start:stop:step`);
    const [start, stop, step] = [0, 1, 2].map((place) =>
      ["", "None"].includes((bounds[place] ?? "").trim()) ? null : integer(bounds[place], `index, slice ${quoted(part)}`),
    );
    if (step === 0) refuse(`index: the step of the slice ${quoted(part)} is 0; use 1, 2, … or -1, -2, …`);
    return { kind: "slice", start, stop, step: step ?? 1, text: part };
  };

  const indexed = (x, text) => {
    const key = parts(text, "[", "]").map(indexPart);
    if (key.length === 0) refuse("index: write what stands between the brackets, such as 1:, ::-1");
    const used = key.filter((part) => part.kind === "integer" || part.kind === "slice").length;
    if (key.filter((part) => part.kind === "ellipsis").length > 1) refuse("index: only one ... is possible");
    if (used > x.shape.length) refuse(`index: the array has ${x.shape.length} axes, the index names ${used}`);
    let [found, axis, named] = [x, 0, 0];
    for (const part of key) {
      if (part.kind === "none") {
        found = expand(found, [axis++]);
      } else if (part.kind === "ellipsis") {
        axis += x.shape.length - used;
        named += x.shape.length - used;
      } else if (part.kind === "slice") {
        const [start, count] = sliceBounds(part.start, part.stop, part.step, found.shape[axis]);
        found = slice(found, axis++, start, part.step, count);
        named += 1;
      } else {
        const extent = found.shape[axis];
        if (part.number < -extent || part.number >= extent) {
          refuse(`index: ${part.number} is out of range for axis ${named} of length ${extent}`);
        }
        found = select(found, axis, part.number < 0 ? part.number + extent : part.number);
        named += 1;
      }
    }
    return [found, `x = x[${key.map((part) => part.text).join(", ")}]`];
  };

  /* A shape of reshape, its -1 worked out. */
  const completed = (x, text) => {
    const shape = integers(text, "reshape");
    const unknown = shape.indexOf(-1);
    if (unknown !== shape.lastIndexOf(-1)) refuse(`reshape: shape ${tuple(shape)} holds more than one -1`);
    const known = checkedShape(shape.map((extent) => (extent === -1 ? 1 : extent)), "reshape");
    const [size, have] = [product(known), length(x)];
    if (unknown >= 0) {
      if (size === 0 || have % size !== 0) {
        refuse(`reshape: ${have} elements of shape ${tuple(x.shape)} do not fill shape ${tuple(shape)}`);
      }
      known[unknown] = have / size;
    } else if (size !== have) {
      refuse(`reshape: shape ${tuple(x.shape)} has ${have} elements, ${tuple(known)} has ${size}`);
    }
    return known;
  };

  // Each kind of view: a layout and a text give the new layout and the Python that does the same.
  const KINDS = {
    index: indexed,
    permute: (x, text) => {
      const axes = integers(text, "permute");
      const order = checkedAxes(axes, x.shape.length, "permute");
      if (order.length !== x.shape.length) {
        refuse(`permute: ${tuple(axes)} names ${order.length} of ${x.shape.length} axes; name each once`);
      }
      return [permute(x, order), `x = xp.permute_dims(x, ${tuple(axes)})`];
    },
    flip: (x, text) => {
      const axes = integers(text, "flip");
      const all = axes.length === 0;
      const turned = all ? x.shape.map((_, axis) => axis) : checkedAxes(axes, x.shape.length, "flip");
      return [flip(x, turned), all ? "x = xp.flip(x)" : `x = xp.flip(x, axis=${tuple(axes)})`];
    },
    broadcast: (x, text) => {
      const shape = checkedShape(integers(text, "broadcast"), "broadcast");
      const found = broadcastTo(x, shape);
      return [
        found ?? refuse(`broadcast: shape ${tuple(x.shape)} does not stretch to ${tuple(shape)}: an axis must have the extent wanted, or 1`),
        `x = xp.broadcast_to(x, ${tuple(shape)})`,
      ];
    },
    reshape: (x, text) => {
      const shape = completed(x, text);
      return [
        reshape(x, shape) ??
          refuse(`reshape: no strides show shape ${tuple(x.shape)}, stride ${tuple(x.stride)} as ${tuple(shape)}; a copy is needed`),
        `x = xp.reshape(x, ${tuple(shape)}, copy=False)`,
      ];
    },
    expand: (x, text) => {
      const axes = integers(text, "expand");
      if (axes.length === 0) refuse("expand: name a place for the new axis, such as 0");
      const places = checkedAxes(axes, x.shape.length + axes.length, "expand");
      return [expand(x, places), `x = xp.expand_dims(x, axis=${tuple(axes)})`];
    },
    squeeze: (x, text) => {
      const given = integers(text, "squeeze");
      const ones = x.shape.map((_, axis) => axis).filter((axis) => x.shape[axis] === 1);
      const axes = given.length === 0 ? ones : checkedAxes(given, x.shape.length, "squeeze");
      return [
        squeeze(x, axes) ?? refuse(`squeeze: axes ${tuple(axes)} of shape ${tuple(x.shape)} are not all of length 1`),
        `x = xp.squeeze(x, axis=${tuple(axes)})`,
      ];
    },
    diagonal: (x, text) => {
      const offset = text.trim() === "" ? 0 : integer(text, "diagonal");
      if (x.shape.length < 2) refuse(`diagonal: the array has ${x.shape.length} axes, at least 2 are needed`);
      return [diagonal(x, offset), `x = xp.linalg.diagonal(x, offset=${offset})`];
    },
    windows: (x, text) => {
      const given = integers(text, "windows");
      if (given.length < 2 || given.length > 3) refuse("windows: write axis, size and, if not 1, step, such as 0, 3");
      const axis = checkedAxis(given[0], x.shape.length, "windows");
      const [size, step] = [given[1], given[2] ?? 1];
      if (size < 1 || step < 1) refuse(`windows: size and step must be at least 1, got ${size} and ${step}`);
      return [
        windows(x, axis, size, step) ??
          refuse(`windows: axis ${axis} of length ${x.shape[axis]} is shorter than a window of ${size}`),
        `# no standard function: x.layout.windows(${axis}, ${size}, ${step})`,
      ];
    },
    copy: (x) => [contiguous(x.shape), "x = xp.asarray(x, copy=True)"],
  };

  /* The view {kind, text} of a layout: {layout, code}. Throws a Refusal. */
  const apply = (x, view) => {
    if (!Object.hasOwn(KINDS, view.kind)) refuse(`there is no view ${quoted(String(view.kind))}`);
    const [found, code] = KINDS[view.kind](x, view.text);
    return { layout: drawable(found, view.kind), code };
  };

  return {
    LIMIT, Refusal, adjStride, apply, bounds, completed, contiguous, dimOrder, elementOffset, facts, length,
    kinds: Object.keys(KINDS), nestedDimOrder, nesting, reshapePlan, root, tuple, walk,
  };
})();

if (typeof module !== "undefined") module.exports = Rules;
