"use strict";
// Foreign text reaches the page through textContent only.
(() => {
  const by = (id) => document.getElementById(id);
  const root = document.documentElement;

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = by("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  const storedTheme = sessionStorage.getItem("theme");
  if (storedTheme) root.dataset.theme = storedTheme;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    sessionStorage.setItem("theme", root.dataset.theme);
    name();
  });
  dark.addEventListener("change", name);
  name();

  const typing = (node) => node instanceof HTMLTextAreaElement || node instanceof HTMLInputElement;
  document.addEventListener("keydown", (event) => {
    // a key that stays down decides once, not on one page after the other
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const key = event.key.toLowerCase();
    const target = [...document.querySelectorAll("[data-key]")].find((node) => node.dataset.key === key);
    if (!target || target.hidden || target.disabled) return;
    event.preventDefault();
    target.click();
  });

  const form = by("decide");
  if (!form) return;
  const steps = by("steps");
  const buttons = [...form.querySelectorAll("button[data-choice]")];

  // --- sending -------------------------------------------------------------------------
  let leaving = false;
  const complain = (faults) => {
    by("faults").replaceChildren(...faults.map(faultItem));
    if (steps) steps.setAttribute("aria-invalid", String(faults.length > 0));
  };
  const send = async (choice) => {
    for (const button of buttons) button.disabled = true;
    try {
      const answer = { choice, note: by("note").value, steps: choice === "edit" ? steps.value : "" };
      const reply = await fetch(location.pathname, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(answer),
      });
      if (reply.ok) {
        leaving = true;
        location.assign((await reply.json()).next);
        return;
      }
      const faults = reply.status === 422 ? (await reply.json()).faults : [{ path: "", text: await reply.text() }];
      complain(faults);
    } catch {
      complain([{ path: "", text: "The command no longer runs: start it again; what was decided is stored." }]);
    }
    for (const button of buttons) button.disabled = false;
  };
  for (const button of buttons) button.addEventListener("click", () => { send(button.dataset.choice); });
  form.addEventListener("submit", (event) => event.preventDefault());
  by("note").addEventListener("keydown", (event) => { if (event.key === "Escape") by("note").blur(); });

  // --- editing -------------------------------------------------------------------------
  const open = (wanted) => {
    by("editor").hidden = by("keep").hidden = by("cancel").hidden = !wanted;
    by("edit").hidden = wanted;
    for (const button of buttons) if (button.id !== "keep") button.hidden = wanted;
    if (wanted) steps.focus();
    else by("edit").focus();
  };
  const changed = () => steps && steps.value !== steps.defaultValue;
  if (steps) {
    steps.setSelectionRange(0, 0);
    by("edit").addEventListener("click", () => open(true));
    by("cancel").addEventListener("click", () => { steps.value = steps.defaultValue; complain([]); open(false); });
    steps.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { if (changed()) steps.blur(); else by("cancel").click(); }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("keep").click();
    });
    addEventListener("beforeunload", (event) => { if (changed() && !leaving) event.preventDefault(); });
  }

  // --- faults, and where they stand in the text ------------------------------------------
  const faultItem = ({ path, text }) => {
    const item = document.createElement("li");
    const place = steps && path && find(path, text);
    if (place) {
      if (by("editor").hidden) open(true);
      const link = document.createElement("button");
      link.type = "button";
      link.className = "link";
      link.textContent = path;
      link.addEventListener("click", () => { steps.focus(); steps.setSelectionRange(...place); });
      item.append(link, ` ${text}`);
    } else item.textContent = path ? `${path}: ${text}` : text;
    return item;
  };
  const find = (path, text) => {
    const spot = /\(char (\d+)\)/.exec(text);
    if (spot) return [Number(spot[1]), Number(spot[1]) + 1];
    let found = [0, steps.value.length];
    try { walk(steps.value, (at, from, to) => { if (at === path) found = [from, to]; }); } catch { /* the whole of it */ }
    return found;
  };
  // goes through a JSON text and tells the path and the place of every value
  const walk = (text, tell) => {
    let i = 0;
    const blank = () => { while (/\s/.test(text[i] || "")) i += 1; };
    const string = () => { const found = /"(?:[^"\\]|\\.)*"/ys; found.lastIndex = i; const [word] = found.exec(text); i += word.length; return JSON.parse(word); };
    const list = (close, item) => {
      i += 1;
      for (blank(); text[i] !== close; blank()) { item(); blank(); if (text[i] === ",") i += 1; else if (text[i] !== close) throw new SyntaxError(); }
      i += 1;
    };
    const value = (path) => {
      blank();
      const from = i;
      if (text[i] === "{") {
        list("}", () => {
          const key = string(); blank(); i += 1;
          value(/^[\p{ID_Start}_][\p{ID_Continue}]*$/u.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`);
        });
      } else if (text[i] === "[") { let n = 0; list("]", () => { value(`${path}[${n}]`); n += 1; }); }
      else if (text[i] === '"') string();
      else { const found = /[^\s,\]}]+/y; found.lastIndex = i; i += found.exec(text)[0].length; }
      tell(path, from, i);
    };
    value("$");
  };
})();
