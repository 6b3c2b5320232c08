/* The page over the rules: one state (a shape, the views applied, a step of the walk), drawn anew when it changes.

The state is in the address, so that a picture can be linked. Every text goes into the page as text, never as HTML. */
"use strict";

(() => {
  const { Refusal, tuple } = Rules;
  const $ = (id) => document.getElementById(id);

  const KINDS = {
    index: ["index, x[…]", "1:, ::-1", "Integers, slices, None and ..., as between the brackets of x[…]."],
    permute: ["permute the axes", "1, 0", "The old axes in their new order."],
    flip: ["flip", "0", "The axes to turn round; nothing for all."],
    broadcast: ["broadcast to a shape", "3, 4, 6", "The shape to stretch to: axes of length 1 grow, new ones come in front."],
    reshape: ["reshape, as a view", "-1", "The new shape; one extent may be -1 and is worked out."],
    expand: ["expand_dims", "0", "Where axes of length 1 come in, counted in the result."],
    squeeze: ["squeeze", "", "The axes of length 1 to drop; nothing for all of them."],
    diagonal: ["diagonal", "0", "How far right of the main diagonal of the last two axes."],
    windows: ["windows", "0, 2", "Axis, size and, if not 1, the step from window to window."],
    copy: ["copy, row-major", "", "New memory, filled in row-major order. Takes no further input."],
  };

  const EXAMPLES = [
    ["A transpose", "shape=3,4&permute=1,0"],
    ["Every second column, from the right", "shape=4,6&index=:,::-2"],
    ["A row for every row", "shape=4&broadcast=3,4"],
    ["Windows that overlap", "shape=8&windows=0,3"],
    ["A stack of matrices, permuted", "shape=2,3,4&permute=2,0,1"],
    ["A diagonal", "shape=5,5&diagonal=1"],
    ["A reshape that no strides express", "shape=3,4&permute=1,0&target=12"],
    ["Six views in a row", "shape=4,6&index=1:,::2&permute=1,0&flip=0&expand=1&broadcast=3,2,3&index=:,0,1:&step=3"],
  ];

  const node = (tag, words = "", attributes = {}) => {
    const made = document.createElement(tag);
    made.textContent = words;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  const times = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const signed = (number) => (number < 0 ? `− ${-number}` : `+ ${number}`);
  const shown = (value) => (value === null ? "None" : Array.isArray(value) ? tuple(value) : String(value));
  const bracketed = (index) => `[${index.join(", ")}]`;

  // -- state --------------------------------------------------------------------------------------

  let past = []; // states {shape, views}; those behind `place` can be redone
  let place = -1;
  let derived = null; // what follows from the state
  let step = 0;
  let timer = null; // of play
  let pending; // change of the address

  /* The layouts, the Python and the memory of a state; throws a Refusal. */
  const derive = ({ shape, views }) => {
    const root = Rules.root(shape);
    const found = {
      layouts: [root],
      code: [`x = xp.reshape(xp.arange(${Rules.length(root)}), ${tuple(root.shape)})`],
      cells: Rules.length(root),
    };
    for (const view of views) {
      const { layout, code } = Rules.apply(found.layouts[found.layouts.length - 1], view);
      found.layouts.push(layout);
      found.code.push(code);
      if (view.kind === "copy") found.cells = Rules.length(layout);
    }
    found.layout = found.layouts[found.layouts.length - 1];
    found.steps = Rules.walk(found.layout);
    found.readers = new Map(); // cell -> the steps that read it
    found.steps.forEach(({ cell }, number) => {
      if (!found.readers.has(cell)) found.readers.set(cell, []);
      found.readers.get(cell).push(number);
    });
    return found;
  };

  const enter = (state, atStep = 0) => {
    derived = derive(state); // before anything is changed
    past = [...past.slice(0, place + 1), state];
    place = past.length - 1;
    changed(atStep);
  };

  const turn = (by) => {
    if (!past[place + by]) return;
    place += by;
    derived = derive(past[place]);
    changed(0);
  };

  const changed = (atStep) => {
    stop();
    refusal(null);
    step = Math.max(0, Math.min(atStep, derived.steps.length - 1));
    draw();
    const { layout } = derived;
    $("status").textContent =
      `shape ${tuple(layout.shape)}, stride ${tuple(layout.stride)}, offset ${layout.offset}, ` +
      `${times(Rules.length(layout), "element")} in ${times(derived.readers.size, "cell")}`;
  };

  /* Run what may refuse; the words go beside the input that they are about. */
  const trying = (input, action) => {
    try {
      action();
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusal(error.message, input);
      return false;
    }
  };

  const refusal = (words, input = null) => {
    $("refusal").hidden = words === null;
    $("refusal").textContent = words ?? "";
    for (const each of [$("shape"), $("text")]) each.removeAttribute("aria-invalid");
    if (input) input.setAttribute("aria-invalid", "true");
  };

  // -- address ------------------------------------------------------------------------------------

  const encoded = (text) =>
    encodeURIComponent(text.replace(/\s+/g, "")).replace(/%3A/g, ":").replace(/%2C/g, ",");

  const address = () => {
    const { shape, views } = past[place];
    const words = [`shape=${encoded(shape)}`, ...views.map(({ kind, text }) => `${kind}=${encoded(text)}`)];
    if (step) words.push(`step=${step}`);
    const target = $("target").value.trim();
    if (target !== "" && target !== "-1") words.push(`target=${encoded(target)}`);
    return "#" + words.join("&");
  };

  /* Put the state into the address, a moment later: browsers allow only so many changes of it in a row. */
  const remember = () => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      if (location.hash !== address()) history.replaceState(null, "", address());
    }, 150);
  };

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a stray % is then refused in words, as every other text
    }
  };

  /* Take the state from the address: as far as it can be drawn. */
  const follow = () => {
    const state = { shape: "4, 6", views: [] };
    let [atStep, target] = [0, "-1"];
    for (const word of location.hash.slice(1).split("&").filter(Boolean)) {
      const [name, ...rest] = word.split("=");
      const text = decoded(rest.join("=")).replace(/,/g, ", ");
      if (name === "shape") state.shape = text;
      else if (name === "step") atStep = Number.parseInt(text, 10) || 0;
      else if (name === "target") target = text;
      else state.views.push({ kind: decoded(name), text });
    }
    $("target").value = target;
    const wanted = state.views;
    let words = null;
    try {
      derive({ ...state, views: [] });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      [words, state.shape] = [error.message, "4, 6"];
    }
    // View by view, so that they can be undone one by one.
    enter({ ...state, views: [] });
    for (let count = 1; count <= wanted.length && words === null; count++) {
      try {
        enter({ ...state, views: wanted.slice(0, count) });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        words = error.message;
        const { kind, text } = wanted[count - 1];
        if (kind === "reshape") $("target").value = text; // the section on reshapes says why
      }
    }
    changed(atStep);
    if (words !== null) refusal(`The link cannot be drawn to its end. ${words}`);
  };

  // -- drawing ------------------------------------------------------------------------------------

  const draw = () => {
    $("shape").value = past[place].shape;
    $("undo").disabled = place === 0;
    $("redo").disabled = place === past.length - 1;
    $("code").textContent = derived.code.join("\n");
    $("slider").max = Math.max(0, derived.steps.length - 1);
    drawFields();
    drawElements();
    drawMemory();
    drawOrder();
    drawVerdict();
    show(step);
  };

  const drawFields = () => {
    const { layouts } = derived;
    const now = Rules.facts(derived.layout);
    const before = layouts.length > 1 ? Rules.facts(layouts[layouts.length - 2]) : null;
    const rows = Object.keys(now).filter((name) => name !== "flags").map((name) => [name, before?.[name], now[name]]);
    const words = { true: "yes", false: "no", null: "–" };
    for (const name of Object.keys(now.flags)) {
      rows.push([name, before ? words[before.flags[name]] : undefined, words[now.flags[name]]]);
    }
    $("fields").tBodies[0].replaceChildren(
      ...rows.map(([name, old, fresh]) => {
        const row = node("tr", "", { "data-field": name });
        const [was, is] = [old === undefined ? "" : shown(old), shown(fresh)];
        row.append(node("th", name, { scope: "row" }), node("td", was), node("td", is));
        if (old !== undefined && was !== is) row.className = "changed";
        return row;
      }),
    );
  };

  const part = (number) => (derived.steps.length > 1 ? number / (derived.steps.length - 1) : 0).toFixed(3);

  const drawElements = () => {
    const { layout, steps } = derived;
    if (steps.length === 0) {
      $("elements").replaceChildren(node("p", `No elements: shape ${tuple(layout.shape)} holds an extent of 0.`));
      return;
    }
    const ndim = layout.shape.length;
    const [rows, columns] = [ndim >= 2 ? layout.shape[ndim - 2] : 1, ndim ? layout.shape[ndim - 1] : 1];
    const slices = [];
    for (let first = 0; first < steps.length; first += rows * columns) {
      const slice = node("div", "", { class: "slice" });
      if (ndim > 2) slice.append(node("p", `[${steps[first].index.slice(0, -2).join(", ")}, :, :]`));
      const matrix = node("div", "", { class: "matrix" });
      matrix.style.gridTemplateColumns = `auto repeat(${columns}, minmax(2.5rem, auto))`;
      if (ndim) {
        matrix.append(node("span", "", { class: "axis" }));
        for (let column = 0; column < columns; column++) matrix.append(node("span", column, { class: "axis" }));
      }
      for (let row = 0; row < rows; row++) {
        matrix.append(node("span", ndim >= 2 ? row : "", { class: "axis" }));
        for (let column = 0; column < columns; column++) {
          const number = first + row * columns + column;
          const { index, cell } = steps[number];
          const made = node("div", cell, { class: "cell", "data-step": number, title: `${bracketed(index)} in cell ${cell}` });
          made.style.setProperty("--part", part(number));
          matrix.append(made);
        }
      }
      slice.append(matrix);
      slices.push(slice);
    }
    $("elements").replaceChildren(...slices);
  };

  const drawMemory = () => {
    const { readers, cells } = derived;
    const made = [];
    for (let cell = 0; cell < cells; cell++) {
      const steps = readers.get(cell);
      const box = node("div");
      const inside = node("div", steps ? steps[0] : "", { class: steps ? "cell" : "cell free", "data-cell": cell });
      inside.title = steps ? `cell ${cell}, read in step ${steps.slice(0, 8).join(", ")}${steps.length > 8 ? ", …" : ""}` : `cell ${cell}, not touched`;
      if (steps) inside.style.setProperty("--part", part(steps[0]));
      box.append(inside, node("small", cell));
      made.push(box);
    }
    const arrow = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    arrow.setAttribute("aria-hidden", "true");
    $("memory").replaceChildren(...made, arrow);
    const several = derived.steps.length > readers.size ? ", some for several indices" : "";
    $("memory-words").textContent =
      `${readers.size} of ${times(cells, "cell")} are read${several}. Each shows the first step that reads it, its number below.`;
  };

  const drawOrder = () => {
    const { layout } = derived;
    if (layout.shape.length === 0 || derived.steps.length === 0) {
      $("order").replaceChildren(node("p", layout.shape.length ? "No elements, so any order will do." : "No axes, one element."));
      return;
    }
    const nesting = Rules.nesting(layout);
    const words = {
      fits: ({ span }) => (span === 1 ? "the nearest: one cell a step" : `fits: those inside span ${span}`),
      gap: ({ span, step }) => `a gap: ${span === 1 ? "an element takes 1 cell" : `those inside span ${span}`}, it steps by ${step}`,
      overlap: ({ span, step }) => (step === 0 ? "broadcast: it reads the same cells again" : `overlaps: those inside span ${span}, it steps by ${step}`),
      one: () => "of length 1, never steps",
    };
    let nest = null;
    for (const each of nesting) {
      const line = `axis ${each.axis}, ${each.extent} × stride ${layout.stride[each.axis]}: ${words[each.verdict](each)}`;
      const box = node("div", line, { class: "nest" });
      if (nest) box.append(nest);
      nest = box;
    }
    const [dense, nested] = [Rules.dimOrder(layout), Rules.nestedDimOrder(layout)];
    const verdict = dense
      ? `The layout is dense: its axes, outermost first, are ${tuple(dense)}, and they leave no gap.`
      : nested
        ? `The axes nest, outermost first ${tuple(nested)}, but with gaps, so the layout is not dense.`
        : "The axes don't nest: in no order does each step beyond all that lie inside it.";
    $("order").replaceChildren(node("p", verdict), nest);
  };

  /* Why the shape under "Is a reshape a view?" is one or isn't, by the strides that chain. */
  const drawVerdict = () => {
    const { layout } = derived;
    let shape, plan;
    try {
      shape = Rules.completed(layout, $("target").value);
      plan = Rules.reshapePlan(layout, shape);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      $("verdict").replaceChildren(node("p", error.message, { class: "refusal" }));
      $("target").setAttribute("aria-invalid", "true");
      return;
    }
    $("target").removeAttribute("aria-invalid");
    const made = [
      plan.view
        ? node("p", `Yes: ${tuple(shape)} is a view with stride ${tuple(plan.view.stride)}.`, { class: "verdict good" })
        : node("p", `No: ${tuple(shape)} needs a copy.`, { class: "verdict bad" }),
    ];
    const list = node("ul");
    for (const { outer, inner, chains, have, extent, step: by, want } of plan.links) {
      const sum = `shape[${inner}] × stride[${inner}] = ${extent} × ${by} = ${want}`;
      const words = chains
        ? `Axes ${outer} and ${inner} chain: stride[${outer}] = ${have} is ${sum}, so they can be walked as one.`
        : `Axes ${outer} and ${inner} don't chain: stride[${outer}] = ${have}, but ${sum}. No new axis can run over both.`;
      list.append(node("li", words));
    }
    const name = ({ axes, extent }) =>
      `${axes.length > 1 ? "axes" : "axis"} ${axes.join(", ")} (${times(extent, "element")})`;
    for (const { axis, extent, run, stride } of plan.parts) {
      list.append(node("li", `New axis ${axis}, of ${extent}, splits the run of ${name(plan.runs[run])}: stride ${stride}.`));
    }
    if (plan.failure) {
      const { axis, extent, left, run } = plan.failure;
      list.append(
        node("li", `New axis ${axis} would need ${extent}, but ${left} are left in the run of ${name(plan.runs[run])}, ` +
          `and ${extent} doesn't divide ${left}: it would need two strides.`),
      );
    }
    if (list.children.length) made.push(list);
    $("verdict").replaceChildren(...made);
  };

  // -- the walk -----------------------------------------------------------------------------------

  const show = (number) => {
    const { steps, layout } = derived;
    step = number;
    for (const each of document.querySelectorAll(".cell.now")) each.classList.remove("now");
    $("slider").value = step;
    $("slider").disabled = steps.length < 2;
    for (const id of ["first", "back"]) $(id).disabled = step === 0;
    for (const id of ["step", "last"]) $(id).disabled = step >= steps.length - 1;
    $("play").disabled = steps.length < 2;
    remember();
    if (steps.length === 0) {
      $("move").textContent = "No elements, nothing to walk.";
      $("counter").replaceChildren();
      return;
    }
    const { index, cell, axis } = steps[step];
    const adjusted = Rules.adjStride(layout);
    const inside = layout.shape.map((_, k) => k).filter((k) => axis !== null && k > axis && layout.shape[k] > 1);
    let words = `step ${step} of ${steps.length - 1}: element ${bracketed(index)} in cell ${cell}. `;
    if (axis === null) words += "The walk begins at the offset.";
    else {
      const wraps = inside.length ? `, ${inside.length > 1 ? "axes" : "axis"} ${inside.join(", ")} ${inside.length > 1 ? "wrap" : "wraps"} to 0` : "";
      const before = steps[step - 1].cell;
      words += `Axis ${axis} steps${wraps}: ${before} + adj_stride[${axis}] = ${before} ${signed(adjusted[axis])} = ${cell}.`;
    }
    $("move").textContent = words;
    $("slider").setAttribute("aria-valuetext", words);
    $("counter").replaceChildren(
      ...layout.shape.map((extent, k) => {
        const box = node("div", `axis ${k}: `, { class: k === axis ? "steps" : inside.includes(k) ? "wraps" : "" });
        box.append(node("b", index[k]), ` of 0…${extent - 1}`, node("br"), `adj_stride ${signed(adjusted[k]).replace(" ", "")}`);
        return box;
      }),
    );
    const element = document.querySelector(`[data-step="${step}"]`);
    const read = document.querySelector(`[data-cell="${cell}"]`);
    element.classList.add("now");
    read.classList.add("now");
    bringIntoSight($("elements"), element);
    bringIntoSight($("memory"), read);
    drawArrow();
  };

  /* Scroll an area, and not the page, until a cell in it can be seen. */
  const bringIntoSight = (area, cell) => {
    const [frame, box] = [area.getBoundingClientRect(), cell.getBoundingClientRect()];
    const margin = 24; // room for the arrow, and for the number below
    if (box.top < frame.top + margin) area.scrollTop -= frame.top + margin - box.top;
    else if (box.bottom > frame.bottom - margin) area.scrollTop += box.bottom - frame.bottom + margin;
    if (box.left < frame.left + margin) area.scrollLeft -= frame.left + margin - box.left;
    else if (box.right > frame.right - margin) area.scrollLeft += box.right - frame.right + margin;
  };

  /* The last move, as an arrow from cell to cell. */
  const drawArrow = () => {
    const svg = document.querySelector("#memory svg");
    svg?.replaceChildren();
    if (!svg || step === 0 || derived.steps.length === 0) return;
    const from = derived.steps[step - 1].cell;
    const to = derived.steps[step].cell;
    if (from === to) return;
    const frame = $("memory").getBoundingClientRect();
    const [a, b] = [from, to].map((cell) => document.querySelector(`[data-cell="${cell}"]`).getBoundingClientRect());
    const [x1, x2] = [a, b].map((box) => box.left + box.width / 2 - frame.left);
    const [y1, y2] = [a, b].map((box) => box.top - frame.top + $("memory").scrollTop - 2);
    const lift = Math.min(y1, y2) - 16;
    const add = (curve, kind) => {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", curve);
      path.setAttribute("class", kind);
      svg.append(path);
    };
    add(`M${x1} ${y1}C${x1} ${lift} ${x2} ${lift} ${x2} ${y2 - 5}`, "move");
    add(`M${x2} ${y2}l-4 -7h8z`, "head");
  };

  const stop = () => {
    clearInterval(timer);
    timer = null;
    $("play").textContent = "Play";
    $("move").setAttribute("aria-live", "polite");
  };

  const play = () => {
    if (timer !== null) return stop();
    if (step >= derived.steps.length - 1) show(0);
    $("play").textContent = "Pause";
    $("move").setAttribute("aria-live", "off"); // nobody can listen to that many
    timer = setInterval(() => {
      if (step < derived.steps.length - 1) show(step + 1);
      if (step >= derived.steps.length - 1) stop();
    }, 600);
  };

  const go = (number) => {
    stop();
    if (derived.steps.length) show(Math.max(0, Math.min(number, derived.steps.length - 1)));
  };

  /* Move along an axis, counted from the last, without leaving the array. */
  const along = (fromLast, by) => {
    const { shape } = derived.layout;
    const axis = shape.length - 1 - fromLast;
    if (axis < 0 || derived.steps.length === 0) return;
    const at = derived.steps[step].index[axis] + by;
    if (at < 0 || at >= shape[axis]) return;
    go(step + by * shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  };

  // -- what people do -----------------------------------------------------------------------------

  const hint = () => {
    const [, text, words] = KINDS[$("kind").value];
    $("text").value = text;
    $("text").disabled = $("kind").value === "copy";
    $("hint").textContent = words;
  };

  const link = (event) => {
    for (const each of document.querySelectorAll(".cell.linked")) each.classList.remove("linked");
    const over = event.target.closest?.(".cell");
    if (!over || event.type === "pointerleave") return;
    const cell = over.dataset.cell ?? derived.steps[over.dataset.step].cell;
    document.querySelector(`[data-cell="${cell}"]`)?.classList.add("linked");
    for (const number of derived.readers.get(Number(cell)) ?? []) {
      document.querySelector(`[data-step="${number}"]`).classList.add("linked");
    }
  };

  const begin = () => {
    for (const kind of Rules.kinds) $("kind").append(node("option", KINDS[kind][0], { value: kind }));
    for (const [name, hash] of EXAMPLES) {
      const item = node("li");
      item.append(node("a", name, { href: "#" + hash }));
      $("examples").append(item);
    }
    hint();
    $("kind").addEventListener("change", hint);
    $("shape-form").addEventListener("submit", (event) => {
      event.preventDefault();
      trying($("shape"), () => enter({ shape: $("shape").value, views: [] }));
    });
    $("view-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const view = { kind: $("kind").value, text: $("text").value };
      const { shape, views } = past[place];
      if (!trying($("text"), () => enter({ shape, views: [...views, view] })) && view.kind === "reshape") {
        $("target").value = view.text; // the section on reshapes says why
        drawVerdict();
        remember();
      }
    });
    $("reshape-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const { shape, views } = past[place];
      trying($("target"), () => enter({ shape, views: [...views, { kind: "reshape", text: $("target").value }] }));
    });
    $("target").addEventListener("input", () => {
      drawVerdict();
      remember();
    });
    // What it says is news while somebody types there; at other times the line on the layout is enough.
    $("target").addEventListener("focus", () => $("verdict").setAttribute("aria-live", "polite"));
    $("target").addEventListener("blur", () => $("verdict").setAttribute("aria-live", "off"));
    $("undo").addEventListener("click", () => turn(-1));
    $("redo").addEventListener("click", () => turn(1));
    $("first").addEventListener("click", () => go(0));
    $("back").addEventListener("click", () => go(step - 1));
    $("step").addEventListener("click", () => go(step + 1));
    $("last").addEventListener("click", () => go(derived.steps.length - 1));
    $("play").addEventListener("click", play);
    $("slider").addEventListener("input", () => go(Number($("slider").value)));
    $("elements").addEventListener("keydown", (event) => {
      const moves = {
        ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 1], ArrowUp: [1, -1], PageDown: [2, 1], PageUp: [2, -1],
      };
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key in moves) along(...moves[event.key]);
      else if (event.key === "Home") go(0);
      else if (event.key === "End") go(derived.steps.length - 1);
      else return;
      event.preventDefault();
    });
    for (const area of [$("elements"), $("memory")]) {
      area.addEventListener("pointerover", link);
      area.addEventListener("pointerleave", link);
      area.addEventListener("click", (event) => {
        const at = event.target.closest(".cell");
        if (!at) return;
        const number = at.dataset.step ?? derived.readers.get(Number(at.dataset.cell))?.[0];
        if (number !== undefined) go(Number(number));
      });
    }
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.closest("input, select")) return;
      const key = event.key.toLowerCase();
      if (key === "z") turn(event.shiftKey ? 1 : -1);
      else if (key === "y") turn(1);
      else return;
      event.preventDefault();
    });
    addEventListener("resize", drawArrow);
    addEventListener("hashchange", follow);
    follow();
  };

  begin();
})();
