// Optional script: the page is readable without it. It shows values at the pointer or by the arrow keys, and saves
// drawings as files, as they are displayed.
(() => {
  "use strict";
  document.documentElement.classList.add("js");
  const make = (name, classes, role) => {
    const element = document.createElement(name);
    element.className = classes;
    if (role) element.setAttribute("role", role);
    document.body.append(element);
    return element;
  };
  const tip = make("div", "tip");
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  const said = make("div", "said", "status");
  let at = null;

  const hide = () => {
    if (at) at.classList.remove("at");
    at = null;
    tip.hidden = true;
  };
  const show = (mark, x, y) => {
    if (at !== mark) hide();
    at = mark;
    at.classList.add("at");
    tip.textContent = mark.dataset.hint;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), window.innerWidth - box.width - 8);
    const above = y - box.height - 12;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 8 ? above : y + 18}px`;
  };

  for (const svg of document.querySelectorAll("figure svg.fig")) {
    for (const title of svg.querySelectorAll("title")) {
      const mark = title.parentNode;
      if (mark === svg) continue;
      mark.dataset.hint = title.textContent;
      title.remove();
    }
    const marks = () => [...svg.querySelectorAll("[data-hint]")];
    if (marks().length === 0) continue;
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (event) => {
      const mark = event.target.closest("[data-hint]");
      if (mark) show(mark, event.clientX, event.clientY);
      else hide();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const all = marks();
      const from = all.indexOf(at);
      const to = from === -1 ? (step === 1 ? 0 : all.length - 1) : (from + step + all.length) % all.length;
      const box = all[to].getBoundingClientRect();
      show(all[to], box.left + box.width / 2, box.top + box.height / 2);
      said.textContent = all[to].dataset.hint;
    });
  }

  const shown = (figure) =>
    [...figure.querySelectorAll("svg.fig")].find((svg) => svg.getBoundingClientRect().width !== 0);
  const drawing = (figure) => {
    const svg = shown(figure).cloneNode(true);
    for (const mark of svg.querySelectorAll("[data-hint]")) {
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = mark.dataset.hint;
      mark.removeAttribute("data-hint");
      mark.append(title);
    }
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = document.getElementById("figure-style").textContent;
    svg.prepend(style);
    return new XMLSerializer().serializeToString(svg);
  };
  const pipes = (figure) => {
    const words = (cell) => cell.textContent.replaceAll("\u200b", "").replaceAll("|", "\\|").trim();
    const rows = [...figure.querySelectorAll("table tr")].map((row) => [...row.cells].map(words));
    const rule = rows[0].map((_, at) => (at === 0 ? "---" : "---:"));
    rows.splice(1, 0, rule);
    return rows.map((row) => `| ${row.join(" | ")} |\n`).join("");
  };
  const copied = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = `${what} copied`;
    } catch {
      said.textContent = `${what} cannot be copied: download it`;
    }
  };
  for (const link of document.querySelectorAll("a.svg")) {
    link.addEventListener("click", () => {
      const text = drawing(link.closest("figure"));
      link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    });
  }
  for (const downloads of document.querySelectorAll("figure .downloads")) {
    const figure = downloads.closest("figure");
    const csv = downloads.querySelector("a:not(.svg)");
    const copies = [["Markdown", () => pipes(figure)]];
    if (csv) copies.push(["CSV", () => decodeURIComponent(csv.href.slice(csv.href.indexOf(",") + 1))]);
    if (downloads.querySelector("a.svg")) copies.push(["SVG", () => drawing(figure)]);
    for (const [what, text] of copies) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = `Copy ${what}`;
      button.addEventListener("click", () => copied(text(), what));
      downloads.append(button);
    }
  }
})();
