// What the page can do better with a script. Everything works without, but links to files within Airflow.

// Light or dark, remembered in this browser.
(function () {
  const button = document.querySelector(".theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  function shown() {
    return root.dataset.theme || (dark.matches ? "dark" : "light");
  }
  function other() {
    return shown() === "dark" ? "light" : "dark";
  }
  function name() {
    button.textContent = other() === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", "Show in " + other() + " colours");
  }
  button.hidden = false;
  name();
  dark.addEventListener("change", name);
  button.addEventListener("click", function () {
    root.dataset.theme = other();
    try { window.localStorage.setItem("evalbench-theme", root.dataset.theme); } catch { /* not remembered */ }
    name();
  });
})();

// Tables that can be sorted: by number where every cell has one, else by text; what is absent always comes last.
(function () {
  const nothing = "\u2013";
  function at(row, column) {
    let end = 0;
    return Array.from(row.cells).find(function (cell) { return column < (end += cell.colSpan); });
  }
  // A cell over several columns says why there is nothing in any of them.
  function key(row, column) {
    const cell = at(row, column);
    if (!cell || cell.colSpan > 1) return "";
    if (cell.dataset.value !== undefined) return cell.dataset.value;
    const text = cell.textContent.trim();
    return text === nothing ? "" : text.replace(/(\d),(?=\d{3})/g, "$1");
  }
  function compare(a, b, numbers, way) {
    if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
    return way * (numbers ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true }));
  }
  function sort(table, column, way) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map(function (row) { return [key(row, column), row]; });
    const numbers = rows.every(function (pair) { return pair[0] === "" || Number.isFinite(Number(pair[0])); });
    rows.sort(function (a, b) { return compare(a[0], b[0], numbers, way); });
    body.append(...rows.map(function (pair) { return pair[1]; }));
  }
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      if (head.hasAttribute("data-unsorted")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", function () {
        const up = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (one) { one.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", up ? "descending" : "ascending");
        sort(table, column, up ? -1 : 1);
      });
    });
  }
})();

// A link into a folded part opens it.
(function () {
  // An address may end in anything: what can't be decoded is no name of ours.
  function named() {
    try { return decodeURIComponent(window.location.hash.slice(1)); } catch { return ""; }
  }
  function open() {
    const there = document.getElementById(named());
    for (let part = there; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (there) there.scrollIntoView();
  }
  window.addEventListener("hashchange", open);
  if (window.location.hash) open();
})();

// Airflow's frame lets this page open no window; a link of the page around it may, and then it is no way back to here.
(function () {
  if (window.parent === window) return;
  document.addEventListener("click", function (event) {
    const link = event.target.closest("a[target=_blank]");
    if (!link) return;
    try {
      const outer = window.parent.document.createElement("a");
      outer.href = link.href;
      outer.target = link.target;
      outer.rel = link.rel;
      window.parent.document.body.append(outer);
      outer.click();
      outer.remove();
      event.preventDefault();
    } catch { /* the page around is somebody else's: the browser decides */ }
  });
})();
