"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const tables = new Map();
let turn = 0;

function made(tag, text, kind) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  return node;
}

/* The table of a machine: unpacked when it is first asked for. */
function table(number) {
  if (!tables.has(number)) {
    const packed = Uint8Array.from(atob(at("machine-" + number).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    tables.set(number, new Response(stream).json());
  }
  return tables.get(number);
}

/* What is chosen, as numbers: the machine, the profile, and the value of each knob. */
function chosen() {
  return {
    machine: at("machine").selectedIndex,
    profile: at("profile").selectedIndex,
    values: data.knobs.map((knob) => at("knob-" + knob.name).selectedIndex),
  };
}

function answerOf(found, profile, values) {
  const place = data.knobs.reduce((sum, knob, i) => sum * knob.values.length + values[i], profile);
  return found.answers[found.index[place]];
}

function words(choice) {
  const given = data.knobs.flatMap((knob, i) => (choice.values[i] ? [knob.name + "=" + knob.values[choice.values[i]]] : []));
  return ["--machine", data.machines[choice.machine].name, "--profile", data.profiles[choice.profile].name, ...given];
}

function quoted(word) {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
}

/* The text that `resolve` prints: pairs that follow each other are aligned. */
function printed(items, command) {
  const lines = [];
  for (let i = 0; i < items.length; i++) {
    const [indent, key, text] = items[i];
    if (key.startsWith("/")) {
      lines.push((" ".repeat(indent) + text).trimEnd());
      continue;
    }
    let end = i;
    while (end < items.length && !items[end][1].startsWith("/")) end++;
    const wide = Math.max(...items.slice(i, end).map((item) => [...item[1]].length));
    for (; i < end; i++) {
      const pad = " ".repeat(wide - [...items[i][1]].length);
      lines.push((" ".repeat(items[i][0]) + items[i][1] + pad + "  " + items[i][2]).trimEnd());
    }
    i--;
  }
  return lines.join("\n") + "\n" + command;
}

function show(items) {
  const box = made("div");
  let list = null;
  for (const [indent, key, text] of items) {
    if (key.startsWith("/")) {
      list = null;
      if (text) box.append(made("p", text, key.slice(1) + (indent > 1 ? " in" : "")));
      continue;
    }
    if (!list) {
      list = made("dl", undefined, indent > 2 ? "in" : "");
      box.append(list);
    }
    list.append(made("dt", key), made("dd", text));
  }
  at("shown").replaceChildren(...box.childNodes);
}

function showFigures(arm) {
  const box = at("figures");
  if (!arm || !arm.figures.length) {
    box.replaceChildren(made("p", arm ? "Nobody measured this arm." : "There is no arm here."));
    return;
  }
  const columns = [1, 2, 3, 4, 5, 6, 7, 9, 0];
  const shown = made("table");
  const head = made("tr");
  for (const i of columns) {
    const cell = made("th", data.head[i]);
    cell.scope = "col";
    head.append(cell);
  }
  shown.append(head);
  for (const row of arm.figures) {
    const line = made("tr");
    for (const i of columns) line.append(made("td", row[i]));
    shown.append(line);
  }
  box.replaceChildren(made("p", arm.name + ": " + arm.help), shown);
}

/* For a refusal: the single changes of a choice on this page that are accepted. */
function showNear(found, choice, refused) {
  const box = at("near");
  box.replaceChildren();
  if (!refused) return;
  const ways = [];
  const consider = (label, profile, values, act) => {
    if (answerOf(found, profile, values)[0] >= 0) ways.push([label, act]);
  };
  data.knobs.forEach((knob, i) => {
    knob.values.forEach((value, k) => {
      if (k === choice.values[i]) return;
      const values = choice.values.with ? choice.values.with(i, k) : choice.values.map((v, j) => (j === i ? k : v));
      consider(value === null ? "unset " + knob.name : knob.name + "=" + value, choice.profile, values, () => {
        at("knob-" + knob.name).selectedIndex = k;
      });
    });
  });
  data.profiles.forEach((profile, p) => {
    if (p !== choice.profile) consider("profile " + profile.name, p, choice.values, () => setProfile(p));
  });
  box.append(made("h2", ways.length ? "One change away from a launch" : "No single change of this page is accepted"));
  for (const [label, act] of ways.slice(0, 8)) {
    const button = made("button", label);
    button.type = "button";
    button.addEventListener("click", () => {
      act();
      update();
      at("answer").focus();
    });
    box.append(button);
  }
}

async function update() {
  const mine = ++turn;
  const choice = chosen();
  const found = await table(choice.machine);
  if (mine !== turn) return;
  const [commandNumber, armNumber, ...numbers] = answerOf(found, choice.profile, choice.values);
  const items = numbers.map((i) => found.items[i]);
  const refused = commandNumber < 0;
  const command = refused ? "" : found.commands[commandNumber].map((i) => found.words[i]).join(" ");
  const line = refused ? "" : command + "\n";
  const arm = armNumber < 0 ? null : data.arms[armNumber];
  at("verdict").textContent = (refused ? "Refused" : "Accepted") + (arm ? ": " + arm.name : "");
  at("verdict").className = refused ? "refuse" : "good";
  show(items);
  showNear(found, choice, refused);
  at("command-part").hidden = refused;
  at("command").textContent = line;
  at("copied").textContent = "";
  at("typed").textContent = [data.launcher, "resolve", ...words(choice).map(quoted)].join(" ");
  showFigures(arm);
  at("printed").textContent = printed(items, line);
  at("machine-title").textContent = data.machines[choice.machine].title;
  at("profile-help").textContent = data.profiles[choice.profile].help;
  document.body.dataset.shown = [choice.machine, choice.profile, ...choice.values].join(",");
  history.replaceState(null, "", "#" + words(choice).join("&").replace("--machine&", "").replace("&--profile", ""));
}

/* A profile stands for a context and a speculator: the radios follow it, and it follows them. */
function setProfile(number) {
  at("profile").selectedIndex = number;
  for (const name of ["ctx", "spec"]) {
    const value = data.profiles[number].knobs[name];
    for (const radio of document.getElementsByName(name)) radio.checked = radio.value === value;
  }
}

function fromRadios() {
  const want = (name) => document.querySelector("input[name=" + name + "]:checked").value;
  const fits = (p) => p.knobs.ctx === want("ctx") && p.knobs.spec === want("spec");
  const plain = data.profiles.findIndex((p) => fits(p) && Object.keys(p.knobs).length === 2);
  setProfile(plain < 0 ? data.profiles.findIndex(fits) : plain);
}

function fromAddress() {
  const [machine, profile, ...given] = decodeURIComponent(location.hash.slice(1)).split("&");
  const m = data.machines.findIndex((x) => x.name === machine);
  const p = data.profiles.findIndex((x) => x.name === profile);
  if (m >= 0) at("machine").selectedIndex = m;
  setProfile(p >= 0 ? p : 0);
  for (const knob of data.knobs) {
    const word = given.find((x) => x.startsWith(knob.name + "="));
    const i = word === undefined ? 0 : knob.values.indexOf(word.slice(knob.name.length + 1));
    at("knob-" + knob.name).selectedIndex = Math.max(i, 0);
  }
}

function build() {
  for (const machine of data.machines) at("machine").append(made("option", machine.name));
  for (const profile of data.profiles) at("profile").append(made("option", profile.name));
  for (const name of ["ctx", "spec"]) {
    for (const value of new Set(data.profiles.map((p) => p.knobs[name]))) {
      const label = made("label");
      const radio = made("input");
      Object.assign(radio, { type: "radio", name: name, value: value });
      radio.addEventListener("change", fromRadios);
      label.append(radio, " " + value);
      at(name).append(label);
    }
  }
  for (const knob of data.knobs) {
    const box = made("div", undefined, "knob");
    const label = made("label", knob.name);
    const select = made("select");
    const help = made("span", knob.help, "help");
    label.htmlFor = select.id = "knob-" + knob.name;
    help.id = "help-" + knob.name;
    select.setAttribute("aria-describedby", help.id);
    for (const value of knob.values) {
      const text = value === null ? "unset (" + knob.default + ")" : value === "" ? "(empty)" : value;
      select.append(made("option", text));
    }
    box.append(label, " ", select, help);
    at("knobs").append(box);
  }
  at("profile").addEventListener("change", () => setProfile(at("profile").selectedIndex));
  at("choice").addEventListener("change", update);
  at("choice").addEventListener("reset", (event) => {
    event.preventDefault();
    for (const knob of data.knobs) at("knob-" + knob.name).selectedIndex = 0;
    update();
  });
  at("copy").addEventListener("click", copy);
  window.addEventListener("hashchange", () => { fromAddress(); update(); });
  fromAddress();
  update();
}

async function copy() {
  const text = at("command").textContent;
  try {
    await navigator.clipboard.writeText(text);
    at("copied").textContent = "copied";
  } catch {
    getSelection().selectAllChildren(at("command"));
    at("copied").textContent = document.execCommand("copy") ? "copied" : "select it and press Ctrl+C";
  }
}

build();
