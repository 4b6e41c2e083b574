// What needs a script: search, sort and filter; opening a row in its place; the origin of a line on hover and focus.
"use strict";
document.documentElement.classList.add("js"); // before anything is laid out
addEventListener("DOMContentLoaded", () => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const table = document.querySelector("table.rows");
  if (!table) return;
  const bodies = all("tbody", table), tools = document.querySelector(".tools");
  const search = document.getElementById("search"), filter = document.getElementById("filter");
  const changed = document.getElementById("changed"), shown = document.getElementById("shown");
  const finding = (number) => document.getElementById("finding-" + number);

  // What a row is searched and filtered by: its words, without its numbers, and its findings.
  const rows = bodies.map((body) => ({
    body, changed: "changed" in body.dataset,
    found: body.dataset.f ? body.dataset.f.split(" ") : [],
  }));
  const fits = (row, wanted) => !wanted || row.found.some((number) => {
    const { rule, severity } = finding(number).dataset;
    return wanted === "*" || wanted === rule || wanted === severity || wanted === "#" + number;
  });
  function update() {
    const words = search.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      if (search.value) row.text ??= all("th, .kind, .tag", row.body.rows[0]).map((cell) => cell.textContent).join(" ").toLowerCase();
      const visible = (!search.value || words.every((word) => row.text.includes(word))) && fits(row, filter.value) && !(changed && changed.checked && !row.changed);
      if (row.body.hidden === visible) row.body.hidden = !visible;
      count += visible;
    }
    shown.textContent = count === rows.length ? `${count.toLocaleString("en")} shown` : `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  }
  tools.hidden = rows.length < 2;
  tools.addEventListener("input", update);
  tools.addEventListener("submit", (event) => event.preventDefault());
  update();

  // A finding says in which rows it is: a button shows these alone.
  for (const where of all(".where")) {
    const button = document.createElement("button");
    button.className = "sort link";
    button.textContent = "Show in the table";
    button.addEventListener("click", () => {
      const wanted = "#" + where.dataset.f;
      all("option.one", filter).forEach((option) => option.remove());
      const option = new Option("Finding " + where.dataset.f + " alone", wanted);
      option.className = "one";
      filter.add(option, 1);
      filter.value = wanted;
      update();
      document.getElementById("rows").scrollIntoView();
      filter.focus({ preventScroll: true });
    });
    where.append(" ", button);
  }

  // Sort by a column.
  const value = (body, column) => {
    const cell = body.rows[0].cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : column ? cell.textContent : cell.firstChild.textContent;
  };
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const heads = all("thead th", table);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.className = "sort";
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const state = head.getAttribute("aria-sort"), up = state === "none" ? !head.matches(".number, .found") : state === "descending";
      const keyed = bodies.map((body) => [value(body, column), body]);
      keyed.sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : compare(a, b)) * (up ? 1 : -1));
      heads.forEach((each) => each.setAttribute("aria-sort", each === head ? (up ? "ascending" : "descending") : "none"));
      table.append(...keyed.map(([, body]) => body));
    });
  });

  // A row opens below itself; what is linked there comes along, so that it is read in one place.
  function complete(details) {
    if (details.dataset.complete) return;
    details.dataset.complete = "yes";
    for (const link of all(".links a", details)) {
      const target = document.querySelector(link.getAttribute("href")), body = target && target.querySelector(".body");
      if (!body) continue;
      const copy = body.cloneNode(true);
      copy.className = target.classList.contains("finding") ? "finding-copy" : "body";
      all(".where", copy).forEach((each) => each.remove());
      link.parentNode.append(copy);
    }
  }
  function toggle(body, open) {
    const later = body.querySelector(".later"); // a text until then: to lay out a thousand at once takes longer than all else
    if (later) {
      later.cells[0].innerHTML = later.textContent;
      later.classList.remove("later");
    }
    const details = body.querySelector(".more details"), link = body.querySelector(".open");
    details.open = open === undefined ? !details.open : open;
    link.setAttribute("aria-expanded", details.open);
    if (details.open) complete(details);
  }
  for (const { body } of rows) {
    const link = body.querySelector(".open");
    link.setAttribute("role", "button");
    link.setAttribute("aria-expanded", "false");
    link.setAttribute("aria-controls", link.hash.slice(1));
  }
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tbody > tr:first-child");
    if (!row || String(getSelection())) return;
    event.preventDefault();
    toggle(row.parentNode);
  });
  table.addEventListener("keydown", (event) => {
    if (event.key === " " && event.target.classList.contains("open")) {
      event.preventDefault();
      toggle(event.target.closest("tbody"));
    }
  });
  function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name && (document.getElementById(name) || document.getElementById(name.replace(/^about-/, "row-")));
    if (!target) return;
    const body = target.closest("table.rows tbody");
    for (let here = target; here; here = here.parentElement) if (here.matches("details")) here.open = true;
    if (body) { toggle(body, true); body.scrollIntoView(); }
  }
  addEventListener("hashchange", follow);
  follow();

  // Values: lines with their origin, read by pointer or by arrow keys; the text beside is made into lines when it is first opened.
  function lines(box) {
    const [places, text, notes] = all("pre", box).map((pre) => pre.textContent.split("\n"));
    const said = all(".links > li", box.closest(".about")).flatMap((item) => {
      const sev = item.querySelector(".sev"), place = item.querySelector(".place");
      return sev ? [{ severity: sev.textContent, message: item.querySelector("a").textContent, at: place.textContent.replace(/:\d+$/, "") }] : [];
    });
    const found = places.map((place) => place && said.find((each) => each.at === place.replace(/ \(.*\)$/, "")));
    const list = document.createElement("div"), tip = document.createElement("div");
    list.className = "lines";
    list.setAttribute("role", "list");
    tip.className = "tip";
    tip.setAttribute("aria-live", "polite");
    const hint = "Hover a line, or use the arrow keys, to see where its value comes from.";
    tip.textContent = hint;
    text.forEach((words, number) => {
      const line = document.createElement("div"), at = document.createElement("span"), code = document.createElement("span");
      line.className = ["ln", notes[number] && "made", found[number] && found[number].severity].filter(Boolean).join(" ");
      line.tabIndex = number ? -1 : 0;
      line.setAttribute("role", "listitem");
      at.className = "at";
      at.textContent = places[number];
      code.textContent = words || " ";
      line.append(at, code);
      list.append(line);
    });
    const made = [...list.children];
    list.style.setProperty("--gutter", Math.min(Math.max(...places.map((place) => place.length)) + 4, 44) + "ch");
    const show = (line) => {
      const number = made.indexOf(line);
      if (number < 0) return;
      const name = document.createElement("b"), rest = document.createElement("span");
      name.textContent = text[number].trim() + "  ";
      rest.textContent = [places[number] && "from " + places[number], notes[number], found[number] && found[number].severity + ": " + found[number].message].filter(Boolean).join("; ");
      tip.replaceChildren(name, rest);
      made.forEach((each, at) => each.classList.toggle("same", places[at] !== "" && places[at] === places[number]));
    };
    list.addEventListener("mouseover", (event) => show(event.target.closest(".ln")));
    list.addEventListener("focusin", (event) => show(event.target.closest(".ln")));
    list.addEventListener("keydown", (event) => {
      const at = made.indexOf(event.target), step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -at, End: made.length }[event.key];
      if (step === undefined || at < 0) return;
      event.preventDefault();
      const next = made[Math.min(Math.max(at + step, 0), made.length - 1)];
      made[at].tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    box.removeAttribute("tabindex");
    box.replaceChildren(list);
    box.after(tip);
  }
  table.addEventListener("toggle", (event) => {
    const box = event.target.matches(".file") && event.target.open && event.target.querySelector(".values");
    if (box && box.querySelector("pre")) lines(box);
  }, true);

  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName) && !tools.hidden) {
      event.preventDefault();
      search.focus();
    }
  });
});
