"use strict";
// Foreign text reaches the page through textContent only; drawings are the suite's own SVG.
(() => {
  const PAGE = 50;
  const MARKS = { correct: "✓", incorrect: "✕", not_run: "○" };
  const WORDS = { correct: "correct", incorrect: "incorrect", not_run: "not run" };
  const by = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(by(id).textContent);
  // what episodes share, drawings and recordings, stands on the page once, by its name
  const piece = (name) => (name.startsWith("#") ? read(name.slice(1)) : name);

  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = by("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();

  const el = (tag, props = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(props)) {
      if (key === "class") node.className = value;
      else if (key in node) node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null && child !== ""));
    return node;
  };
  const bdi = (text) => el("bdi", {}, text);
  // as number_format.format_count; every other number comes as text
  const thousands = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  const plural = (n, word) => `${thousands(n)} ${word}${n === 1 ? "" : "s"}`;

  if (!by("index")) return;
  const runs = read("runs");
  const order = new Intl.Collator("en", { numeric: true });
  const episodes = read("index").map((line, at) => ({ ...line, at }));
  episodes.sort((a, b) => a.run - b.run || order.compare(a.id, b.id) || a.repeat - b.repeat);
  const details = (episode) => read(`e${episode.at}`);

  // --- filters -------------------------------------------------------------------------
  const state = { run: "", rule: "", outcome: "", cause: "", category: "", find: "", axes: {}, traits: {} };
  const rules = [...new Set(runs.flatMap((run) => run.rules))];
  const rule = (e) => (state.rule in e.outcome ? state.rule : Object.keys(e.outcome)[0]);
  const outcome = (e) => e.outcome[rule(e)].replace(" ", "_");
  const cause = (e) => e.cause[rule(e)] || [];
  const traits = (e) => (e.traits || {})[rule(e)] || {};

  const tally = (values) => {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    return [...counts].sort((a, b) => order.compare(a[0], b[0]));
  };
  const pick = (label, options, set, all = "all") => {
    const select = el("select", {}, el("option", { value: "" }, all),
      ...options.map(([value, text]) => el("option", { value }, text)));
    select.addEventListener("change", () => { set(select.value); update(); });
    by("filters").append(el("label", {}, label, select));
    return select;
  };
  const counted = (pairs, word = (value) => value) =>
    pairs.map(([value, n]) => [value, `${word(value)} (${thousands(n)})`]);

  const selects = {};
  const refill = () => {
    by("filters").replaceChildren();
    if (runs.length > 1) {
      selects.run = pick("run", runs.map((run, i) => [String(i), run.name]), (v) => { state.run = v; });
    }
    if (rules.length > 1) {
      selects.rule = pick("rule", rules.slice(1).map((r) => [r, r]),
        (v) => { state.rule = v || rules[0]; state.cause = ""; refill(); sync(); }, rules[0]);
    }
    const outcomes = tally(episodes.map(outcome));
    const nRun = outcomes.reduce((sum, [kind, n]) => sum + (kind === "not_run" ? 0 : n), 0);
    const run = nRun && nRun < episodes.length ? [["run", `run (${thousands(nRun)})`]] : [];
    selects.outcome = pick("outcome", [...run, ...counted(outcomes, (v) => WORDS[v])],
      (v) => { state.outcome = v; });
    const failed = episodes.map(cause).filter((pair) => pair.length);
    const whole = tally(failed.map(([first]) => first));
    const causes = whole.flatMap(([first, n]) => {
      const suiteCauses = tally(failed.filter((pair) => pair[0] === first && pair[1]).map((pair) => pair[1]));
      return [[JSON.stringify([first]), `${first} (${thousands(n)})`],
        ...suiteCauses.map(([own, k]) => [JSON.stringify([first, own]), `\u2003${own} (${thousands(k)})`])];
    });
    if (causes.length) selects.cause = pick("cause", causes, (v) => { state.cause = v; });
    const categories = tally(episodes.map((e) => e.category));
    if (categories.length > 1) {
      selects.category = pick("category", counted(categories, (v) => v || "none"), (v) => { state.category = v; });
    }
    for (const axis of new Set(episodes.flatMap((e) => Object.keys(e.axes || {})))) {
      const levels = tally(episodes.map((e) => (e.axes || {})[axis]).filter((v) => v !== undefined));
      if (levels.length < 2 || levels.length > 200) continue;
      selects[`axis ${axis}`] = pick(axis, counted(levels), (v) => { state.axes[axis] = v; });
    }
    for (const trait of new Set(episodes.flatMap((e) => Object.keys(traits(e))))) {
      const words = tally(episodes.map((e) => traits(e)[trait]).filter((v) => v !== undefined));
      if (words.length < 2 || words.length > 200) continue;
      selects[`trait ${trait}`] = pick(trait, counted(words), (v) => { state.traits[trait] = v; });
    }
    const find = el("input", { type: "search", id: "find", placeholder: "text in id, calls, replies" });
    find.value = state.find;
    let wait;
    find.addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(() => { state.find = find.value; update(); }, 120);
    });
    by("filters").append(el("label", { class: "find" }, "search", find));
    const reset = el("button", { type: "button", id: "reset" }, "Reset");
    reset.addEventListener("click", () => show({}));
    by("filters").append(reset);
  };
  // a link may name several words, or a class of failure without its cause: they become an option
  const set = (key, value) => {
    const select = selects[key];
    if (!select) return;
    const several = Array.isArray(value);
    const chosen = several ? JSON.stringify(value) : value;
    select.value = chosen;
    if (!chosen || select.value === chosen) return;
    const words = several ? value : key === "cause" ? JSON.parse(value).filter(Boolean) : [value];
    const text = words.length > 3 ? `${words.length} of these` : words.map((word) => word || "none").join(", ");
    select.append(el("option", { value: chosen }, text));
    select.value = chosen;
  };
  const sync = () => {
    for (const key of ["run", "outcome", "cause", "category"]) set(key, state[key]);
    set("rule", state.rule === rules[0] ? "" : state.rule);
    for (const key of Object.keys(selects).filter((k) => k.startsWith("axis "))) {
      set(key, state.axes[key.slice(5)] || "");
    }
    for (const key of Object.keys(selects).filter((k) => k.startsWith("trait "))) {
      set(key, state.traits[key.slice(6)] || "");
    }
    by("find").value = state.find;
  };
  // sets every filter at once; what is not named is cleared
  const show = (wanted) => {
    const blank = { run: "", rule: rules[0], outcome: "", cause: "", category: "", find: "" };
    Object.assign(state, blank, wanted, { axes: { ...wanted.axes }, traits: { ...wanted.traits } });
    refill();
    sync();
    update();
  };

  const texts = new Map();
  const haystack = (e) => {
    if (!texts.has(e.at)) {
      const d = details(e);
      const steps = d.steps.flatMap((s) => [s.text, s.reasoning, ...s.calls.flatMap((c) => [c.name, c.arguments])]);
      texts.set(e.at, [e.id, d.answer || "", d.reason || "", ...steps].join("\n").toLowerCase());
    }
    return texts.get(e.at);
  };
  const among = (word = "", wanted) => (Array.isArray(wanted) ? wanted.includes(word) : !wanted || word === wanted);
  const fits = (e) => {
    if (state.run !== "" && String(e.run) !== state.run) return false;
    // an episode that this rule does not judge, though it is a rule of the run
    if (runs[e.run].rules.includes(state.rule) && !(state.rule in e.outcome)) return false;
    const kind = outcome(e);
    if (state.outcome === "run" ? kind === "not_run" : state.outcome && kind !== state.outcome) return false;
    if (state.cause && !JSON.parse(state.cause).every((word, i) => !word || cause(e)[i] === word)) return false;
    if (!among(e.category, state.category)) return false;
    if (Object.entries(state.axes).some(([k, v]) => !among((e.axes || {})[k], v))) return false;
    if (Object.entries(state.traits).some(([k, v]) => !among(traits(e)[k], v))) return false;
    if (state.find.startsWith("id:")) {
      const wanted = state.find.slice(3).trim();
      return e.id === wanted || e.item === wanted;
    }
    return !state.find || haystack(e).includes(state.find.toLowerCase());
  };

  // --- list ----------------------------------------------------------------------------
  let found = [];
  let page = 0;
  let current = null;

  const update = () => {
    found = episodes.filter(fits);
    page = 0;
    by("count").textContent = `${thousands(found.length)} of ${plural(episodes.length, "episode")} on this page`;
    draw();
  };
  const skipped = (e) => (e.skipped ? ` (${thousands(e.skipped)} not executed)` : "");
  const row = (e) => {
    const kind = outcome(e);
    const [first, own] = cause(e);
    const about = [
      runs.length > 1 ? runs[e.run].name : "",
      first ? (own ? `${first} · ${own}` : first) : WORDS[kind],
      e.category, plural(e.steps, "step"), plural(e.calls, "call") + skipped(e),
      e.tokens ? `${thousands(e.tokens)} tokens` : "",
    ].filter(Boolean).map((piece) => piece.replaceAll(" ", "\u00a0")).join(" · ");
    const button = el("button", { type: "button", class: "row" },
      el("span", { class: `mark ${kind}`, title: WORDS[kind], "aria-label": WORDS[kind] }, MARKS[kind]),
      el("span", { class: "id" }, bdi(e.id), e.repeat ? ` #${e.repeat}` : ""),
      el("small", {}, bdi(about)));
    button.dataset.at = e.at;
    if (e === current) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => open(e, true));
    return el("li", {}, button);
  };
  const draw = () => {
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    page = Math.min(page, last);
    const shown = found.slice(page * PAGE, (page + 1) * PAGE);
    by("rows").replaceChildren(...shown.map(row));
    by("rows").scrollTop = 0;
    by("none").hidden = found.length > 0;
    by("pages").hidden = last === 0;
    by("earlier").disabled = page === 0;
    by("later").disabled = page === last;
    by("where").textContent = `${page * PAGE + 1}–${page * PAGE + shown.length} of ${thousands(found.length)}`;
  };
  const turn = (by_) => { page += by_; draw(); };
  by("earlier").addEventListener("click", () => turn(-1));
  by("later").addEventListener("click", () => turn(1));
  by("rows").addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const buttons = [...by("rows").querySelectorAll("button")];
    const next = buttons[buttons.indexOf(document.activeElement) + way];
    if (next) next.focus();
  });

  // --- one episode ---------------------------------------------------------------------
  const fact = (label, value) => el("li", {}, `${label} `, el("b", {}, bdi(String(value))));
  const box = (kind, role, text) => {
    const body = el("pre", { tabIndex: 0, dir: "auto" }, text);
    return el("div", { class: `box ${kind}` }, el("p", { class: "role" }, bdi(role)), body);
  };
  const fold = (title, ...inner) => el("details", { class: "box" }, el("summary", {}, title), ...inner);

  const table = (view) => el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ...view.head.map((h, i) =>
      el("th", { class: view.numeric[i] ? "right" : "", scope: "col" }, h)))),
    el("tbody", {}, ...view.rows.map((cells) => el("tr", {}, ...cells.map((cell, i) =>
      el("td", { class: view.numeric[i] ? "right" : cell.length > 48 ? "long" : cell.length < 25 ? "short" : "" }, bdi(cell))))))));

  // a shadow root keeps the drawing's style from the page and from other drawings
  const drawn = (host, svg, style) => {
    const parsed = new DOMParser().parseFromString(piece(svg), "image/svg+xml").documentElement;
    parsed.setAttribute("style", `${style(Number(parsed.getAttribute("width")) || 700)};height:auto;display:block`);
    host.attachShadow({ mode: "open" }).append(document.importNode(parsed, true));
    return host;
  };
  const drawing = (view) => drawn(
    el("div", { class: "drawing", tabIndex: 0, role: "group", "aria-label": view.title }),
    view.svg, (width) => `max-width:100%;min-width:${Math.min(width, 680)}px`);
  // a picture, and a link to it in the run folder where it is shown smaller
  const picture = (p) => {
    const shown = el("img", { class: "seen", src: piece(p.src), alt: "picture", loading: "lazy" });
    if (!p.file) return [shown];
    const link = el("a", { href: p.file, target: "_blank", rel: "noopener" }, "Full size");
    return [shown, el("p", { class: "note source" }, link, ` · ${p.description}`)];
  };
  const pictures = (from) => (from.pictures || []).filter((p) => p.src).flatMap(picture);
  // a drawing that lies upon a picture can be taken off it
  const layered = (view, [image, ...about]) => {
    const marks = drawn(el("div", { class: "over" }), view.svg, () => "width:100%;max-height:100%");
    const shown = el("input", { type: "checkbox", checked: true });
    shown.addEventListener("change", () => { marks.hidden = !shown.checked; });
    return [el("label", { class: "toggle" }, shown, " boxes"), el("div", { class: "layers" }, image, marks), ...about];
  };
  // the waveform shows where the player is, and takes it where it is clicked
  const sound = (s) => {
    const wave = s.svg ? el("div", { class: "wave" }, drawn(el("div"), s.svg, () => "width:100%")) : "";
    const player = s.sound ? el("audio", { controls: true, preload: "none", src: piece(s.sound), "aria-label": s.description }) : "";
    if (wave && player) {
      const at = el("i");
      wave.classList.add("live");
      wave.append(at);
      player.addEventListener("timeupdate", () => { at.style.left = `${100 * Math.min(1, player.currentTime / s.seconds)}%`; });
      wave.addEventListener("click", (event) => {
        const box = wave.getBoundingClientRect();
        player.currentTime = s.seconds * (event.clientX - box.left) / box.width;
        player.play();
      });
    }
    const link = s.file && !s.sound ? el("a", { href: s.file, target: "_blank", rel: "noopener" }, "Listen") : "";
    return el("div", { class: "sound" }, wave, player, el("p", { class: "note" }, link, link && " · ", s.description));
  };
  const sounds = (from) => (from.sounds || []).map(sound);
  const shown = (view) => {
    const under = pictures(view);
    const body = [...sounds(view), ...(under.length && view.svg ? layered(view, under) : under),
      view.svg && !under.length ? drawing(view) : view.rows?.length ? table(view) : "",
      view.note ? el("p", { class: "note" }, view.note) : ""];
    return view.is_collapsed ? fold(view.title, ...body) : el("div", { class: "view" }, el("h4", {}, view.title), ...body);
  };

  // rules that say the same of an episode have its evidence once, below their values
  const alike = (verdicts) => [...Map.groupBy(verdicts, (v) => JSON.stringify(v.labels)).values()];
  const verdict = (words) => (group) => {
    const [v] = group;
    const labels = [...v.labels].sort((a, b) => b.primary - a.primary);
    return el("div", { class: "verdict" },
      ...group.map((x) => el("p", { class: "facts" }, el("span", {}, `${x.rule} rule: `,
        el("b", { class: x.outcome }, `${MARKS[x.outcome]} ${x.outcome}`), `, value ${x.value}`))),
      labels.length ? el("ul", { class: "labels" }, ...labels.map((l) => el("li", {},
        el("strong", {}, l.cause), l.suite_cause ? ` · ${l.suite_cause}` : "",
        l.primary && labels.length > 1 ? " (primary)" : "", l.evidence ? ": " : "",
        l.evidence ? bdi(l.evidence) : ""))) : "", counts(group, words));
  };
  const counts = (group, words) => {
    const names = [...new Set(group.flatMap((v) => Object.keys(v.parts || {})))];
    if (!names.length) return "";
    const partText = (v, name) => (name in (v.parts || {}) ? v.parts[name] : "–");
    return fold("counts", table({
      head: ["part", ...(group.length > 1 ? group.map((v) => v.rule) : ["value"])],
      numeric: [false, ...group.map(() => true)],
      rows: names.map((name) => [words[name] || name, ...group.map((v) => partText(v, name))]) }));
  };

  const step = (s, i) => {
    const [input, output, reasoning, cached] = s.tokens;
    const facts = [el("li", {}, el("b", {}, `Step ${i + 1}`)), fact("turn", s.turn + 1), fact("stop", s.stop)];
    if (input || output) facts.push(fact("tokens", `${thousands(input)} in, ${thousands(output)} out`));
    if (reasoning) facts.push(fact("reasoning", thousands(reasoning)));
    if (cached) facts.push(fact("cached", thousands(cached)));
    if (s.latency) facts.push(fact("latency", s.latency));
    for (const [label, text] of s.facts || []) facts.push(fact(label, text));
    const pairs = s.calls.flatMap((call, k) => {
      const result = s.results[k];
      return [box("call", `call ${k + 1}: ${call.name}`, call.arguments),
        ...(result ? [box(result.error ? "result error" : "result", result.error ? "tool error" : "result", result.text),
          ...pictures(result), ...sounds(result)] : [box("result error", "not executed", "the episode had ended")])];
    });
    return el("li", { class: "step" }, el("ul", { class: "facts" }, ...facts),
      ...s.new_messages.flatMap((m) => [
        m.sounds && !m.text ? el("div", { class: "box" }, el("p", { class: "role" }, m.role)) : box("said", m.role, m.text),
        ...pictures(m), ...sounds(m)]),
      s.changes ? fold("changes to the request", box("", "so that the endpoint takes it", s.changes)) : "",
      s.reasoning ? fold("reasoning", box("reply", "reasoning", s.reasoning)) : "",
      s.text || !s.calls.length ? box("reply", "reply", s.text || "(empty)") : "",
      s.fault ? box("error", "could not be read", s.fault) : "",
      s.complaint ? box("error", "the endpoint said", s.complaint) : "", ...pairs);
  };

  const head = (e, d) => {
    const at = found.indexOf(e);
    const move = (text, to, kind = "") => {
      const button = el("button", { type: "button", class: kind, disabled: !to }, text);
      button.addEventListener("click", () => (to === "list" ? back() : open(to, true)));
      return button;
    };
    const kind = outcome(e);
    const facts = [el("li", {}, el("b", { class: kind }, `${MARKS[kind]} ${WORDS[kind]}`))];
    if (runs.length > 1) facts.push(fact("run", runs[e.run].name));
    if (e.category) facts.push(fact("category", e.category));
    if (runs[e.run].repeats > 1) facts.push(fact("repeat", e.repeat));
    for (const [axis, level] of Object.entries(e.axes || {})) facts.push(fact(axis, level));
    if (d.ending) facts.push(fact("ended by", d.ending));
    for (const [trait, word] of Object.entries(traits(e))) facts.push(fact(trait, word));
    facts.push(fact("steps", e.steps), fact("calls", `${thousands(e.calls)}${skipped(e)}`));
    if (e.tokens) facts.push(fact("tokens", thousands(e.tokens)));
    if (e.latency) facts.push(fact("latency", e.latency));
    return [el("header", {}, el("h3", { tabIndex: -1, id: "opened" }, bdi(e.id)),
      el("span", { class: "moves" }, move("Back to list", "list", "back"),
        move("Previous", found[at - 1]), move("Next", at < 0 ? found[0] : found[at + 1]))),
    el("ul", { class: "facts" }, ...facts)];
  };

  const open = (e, focus) => {
    const d = details(e);
    current = e;
    by("detail").replaceChildren(...head(e, d),
      ...(d.cut ? [el("p", { class: "note" }, d.cut)] : []),
      ...(d.reason ? [el("h4", {}, "Why it was not run"), box("error", "reason", d.reason)] : []),
      ...(d.verdicts.length ? [el("h4", {}, "Verdict"), ...alike(d.verdicts).map(verdict(runs[e.run].words))] : []),
      ...d.views.map(shown),
      el("h4", {}, d.steps.length ? "Steps" : "No step was made"),
      el("ol", { class: "steps" }, ...d.steps.map(step)),
      ...(d.answer && d.answer !== d.steps.at(-1)?.text ? [box("reply", "final answer", d.answer)] : []),
      ...(d.state ? [fold("final state", box("", "as recorded", d.state))] : []),
      ...(d.data ? [fold("task data", box("", "what the task stores for its environment and scorer", d.data))] : []),
      ...(d.tools && d.tools.length ? [fold(`tools offered (${d.tools.length})`, box("", "name(parameters)", d.tools.join("\n")))] : []));
    by("browser").classList.add("open");
    turnTo(e);
    for (const button of by("rows").querySelectorAll("button")) {
      button.toggleAttribute("aria-current", false);
      if (Number(button.dataset.at) === e.at) button.setAttribute("aria-current", "true");
    }
    history.replaceState(null, "", `#episode/${e.run}/${encodeURIComponent(e.id)}/${e.repeat}`);
    if (!focus) return;
    by("opened").focus({ preventScroll: true });
    const top = by("detail").getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 2) by("detail").scrollIntoView();
  };
  // brings the list to the page that holds the episode, and its row into sight
  const turnTo = (e) => {
    const place = found.indexOf(e);
    if (place < 0) return;
    if (Math.floor(place / PAGE) !== page) {
      page = Math.floor(place / PAGE);
      draw();
    }
    const shown = by("rows").querySelector(`[data-at="${e.at}"]`).parentElement;
    const from = shown.offsetTop - by("rows").offsetTop;
    const seen = by("rows").scrollTop;
    if (from < seen || from + shown.offsetHeight > seen + by("rows").clientHeight) by("rows").scrollTop = from;
  };
  const back = () => {
    by("browser").classList.remove("open");
    const button = by("rows").querySelector("[aria-current]");
    if (button) button.focus();
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-show]");
    if (!button) return;
    show(JSON.parse(button.dataset.show));
    by("browser").classList.remove("open");
    by("episodes").scrollIntoView();
  });
  const linked = () => {
    const [kind, run, id, repeat] = location.hash.slice(1).split("/");
    if (kind !== "episode") return;
    const wanted = episodes.find((e) => String(e.run) === run && encodeURIComponent(e.id) === id && String(e.repeat) === repeat);
    if (!wanted) return;
    if (!found.includes(wanted)) show({});
    open(wanted, true);
  };

  for (const button of document.querySelectorAll("[data-show]")) button.hidden = false;
  by("explorer").hidden = false;
  state.rule = rules[0];
  refill();
  update();
  linked();
  addEventListener("hashchange", linked);
})();
