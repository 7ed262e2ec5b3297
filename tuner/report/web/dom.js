// SPDX-License-Identifier: MIT
// Making elements. Text only ever becomes text nodes and attribute values: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

export function html(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Tells people who do not see the page what has changed. */
export function announce(text) {
  byId("live").textContent = text;
}

/** A section of the page with its heading, in which a view draws; half as wide as the page where that is wide. */
export function section(id, title, hint, half = false) {
  const body = html("div", {class: "body"});
  const heading = html("h2", {id: `${id}-title`}, title);
  const element = html("section", {id, class: half ? "half" : null, "aria-labelledby": `${id}-title`, tabindex: -1}, heading,
    hint ? html("p", {class: "hint"}, hint) : null, body);
  byId("main").append(element);
  byId("sections").append(html("a", {href: `#${id}`}, title));
  return body;
}

/** rows: arrays of texts or elements. Headings that start with '>' are of figures, aligned to the right; with '~' of long
 * texts, which may wrap. */
export function table(caption, headings, rows, attributes) {
  const classes = headings.map(heading => (heading.startsWith(">") ? "figure" : heading.startsWith("~") ? "wrap" : null));
  const cell = (content, c) => html("td", {class: classes[c]}, content);
  return html("table", attributes, html("caption", {}, caption),
    html("thead", {}, html("tr", {}, headings.map((heading, c) =>
      html("th", {scope: "col", class: classes[c]}, heading.replace(/^[>~]/, ""))))),
    html("tbody", {}, rows.map(row => html("tr", {}, row.map(cell)))));
}

/** What a plot shows as a table, made when it is opened. make() gives [caption, headings, rows]. */
export function tableAlternative(make) {
  const details = html("details", {class: "alternative"}, html("summary", {}, "As a table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) {
      details.append(html("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": "Table"}, table(...make())));
    }
  });
  return details;
}

async function copy(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = html("textarea", {class: "unseen"}, text);
    button.after(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  announce(done ? "Copied" : "Could not be copied");
  button.textContent = done ? "copied" : "failed";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}

/** A command line with a button that copies it. */
export function commandLine(text) {
  const button = html("button", {type: "button", class: "copy", "aria-label": `Copy: ${text}`}, "copy");
  button.addEventListener("click", () => copy(text, button));
  const pieces = text.split(/(?<=,)/).flatMap(piece => [html("wbr", {}), piece]);  // a line ends between settings
  return html("span", {class: "command"}, html("code", {}, pieces), button);
}

export function copyButton(make, label) {
  const button = html("button", {type: "button", class: "copy", "aria-label": label}, "copy");
  button.addEventListener("click", () => copy(make(), button));
  return button;
}

export function select(label, options, chosen, change) {
  const list = html("select", {}, options.map(([value, text]) =>
    html("option", {value, selected: String(value) === String(chosen)}, text)));
  list.addEventListener("change", () => change(list.value));
  return html("label", {}, `${label} `, list);
}
