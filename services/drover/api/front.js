// What the front page does: asks the API as everybody else, and listens to what changes.
const korean = navigator.language.startsWith("ko");
if (korean) document.documentElement.lang = "ko";
const words = korean ? {
  ask: "credentials.json의 service_key를 입력하세요.", go: "열기", wrong: "이 키는 맞지 않습니다.", away: "서버에 연결할 수 없습니다. 다시 시도하는 중…",
  live: "실시간", online: "온라인", offline: "오프라인", busy: "작업 중", error: "오류", jobs: "열린 작업", leader: "리더", log: "로그 위치", behind: "읽기 모델 지연", fleet: "PC별 기기",
  empty: "등록된 기기가 없습니다. POST /rest/v1/devices로 등록하거나 make demo를 실행하세요.", nobody: "없음", latest: "최근 변경", more: n => `처음 ${n}대만 표시`,
} : {
  ask: "Enter the service_key from credentials.json.", go: "Open", wrong: "That key was refused.", away: "The server does not answer. Trying again…",
  live: "Live", online: "Online", offline: "Offline", busy: "Busy", error: "Error", jobs: "Open jobs", leader: "Leader", log: "Log position", behind: "Read model behind", fleet: "Phones by PC",
  empty: "No phone is registered yet. Register one with POST /rest/v1/devices, or run make demo.", nobody: "nobody", latest: "Latest changes", more: n => `the first ${n} are shown`,
};
const at = id => document.getElementById(id);
const SHOWN_MAX = 1000, CHANGES_SHOWN = 20, LOOK_MS = 10000, LOOK_SOON_MS = 1000, AGAIN_MS = 2000;
at("go").textContent = words.go;
// The key comes in the fragment, which browsers never send, and is dropped from the address at once.
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) { sessionStorage.setItem("key", given); history.replaceState(null, "", location.pathname); }
at("ask").onsubmit = event => { event.preventDefault(); sessionStorage.setItem("key", at("key").value.trim()); look(); };
const get = async path => {
  const answer = await fetch(path, { headers: { apikey: sessionStorage.getItem("key") } });
  if (answer.status === 401 || answer.status === 403) throw "refused";
  if (!answer.ok) throw "away";
  return answer.json();
};
const figure = (name, value) => {
  const box = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
  dt.textContent = name; dd.textContent = value; box.append(dt, dd); return box;
};
const ask = text => { at("say").textContent = text; at("ask").hidden = false; };
let timer, soon, stale = false, names = new Map(), changes = [], lastId, following = false;
async function look() {
  clearTimeout(timer); clearTimeout(soon);
  if (!sessionStorage.getItem("key")) return ask(words.ask);
  let again = LOOK_MS;
  stale = false;
  try {
    const [status, devices, jobs] = await Promise.all([get("/api/status"),
      get(`/rest/v1/devices?select=id,serial_number,pc_id,status&order=pc_id,serial_number&limit=${SHOWN_MAX}`),
      get(`/rest/v1/jobs?select=id,title&status=in.(created,active,paused)&limit=${SHOWN_MAX}`)]);
    at("ask").hidden = true;
    names = new Map([...devices.map(d => [d.id, d.serial_number]), ...jobs.map(j => [j.id, j.title])]);
    show(status, devices, jobs);
    if (!following) follow();
  } catch (why) {
    if (why === "refused") { sessionStorage.removeItem("key"); return ask(words.wrong); }
    at("say").textContent = words.away;
    again = AGAIN_MS;
  }
  soon = undefined; // until here nothing that is heard begins a second look beside this one
  timer = setTimeout(look, stale ? LOOK_SOON_MS : again);
}
// Not EventSource: it cannot send the key in a header.
async function follow() {
  following = true;
  try {
    const headers = { apikey: sessionStorage.getItem("key"), ...(lastId && { "Last-Event-ID": lastId }) };
    const answer = await fetch("/api/stream", { headers });
    if (answer.status === 400) lastId = undefined; // another log than before
    if (!answer.ok) throw "away";
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", part; !(part = await reader.read()).done;) {
      const blocks = (rest + part.value).split("\n\n");
      rest = blocks.pop();
      blocks.forEach(hear);
    }
  } catch { /* comes back below, and goes on after the last id */ }
  setTimeout(() => { following = false; if (sessionStorage.getItem("key")) follow(); }, AGAIN_MS);
}
function hear(block) {
  const fields = Object.fromEntries(block.split("\n").map(line => line.split(/: ?(.*)/s)));
  lastId = fields.id ?? lastId;
  if (!fields.data || fields.event === "hello" || fields.event === "bye") return;
  if (!changes.length) requestAnimationFrame(showChanges);
  changes.push(fields);
  if (changes.length > CHANGES_SHOWN) changes.shift(); // a page in the background is not drawn
  stale = true;
  soon ??= setTimeout(look, LOOK_SOON_MS);
}
function showChanges() {
  at("latest").hidden = false;
  at("latest").textContent = words.latest;
  at("changes").prepend(...changes.splice(0).reverse().map(({ event, data }) => {
    const fact = JSON.parse(data), item = document.createElement("li");
    const time = document.createElement("time"), name = document.createElement("b"), about = document.createElement("span");
    time.dateTime = fact.at; time.textContent = new Date(fact.at).toLocaleTimeString(); name.textContent = event;
    about.textContent = [fact.serial_number ?? names.get(fact.device_id), fact.title ?? names.get(fact.job_id), fact.pc_id,
      fact.progress_pct && `${fact.progress_pct} %`, fact.code, fact.message].filter(Boolean).join(" · ");
    item.append(time, name, about);
    return item;
  }));
  while (at("changes").children.length > CHANGES_SHOWN) at("changes").lastChild.remove();
}
function show(status, devices, jobs) {
  at("say").textContent = `${words.live} · ${new Date(status.at).toLocaleTimeString()}` +
    (status.postgres === "connected" ? "" : ` · Postgres ${status.postgres}`);
  const fleet = status.partitions.find(p => p.context === "fleet") ?? {};
  at("figures").replaceChildren(
    ...["online", "busy", "offline", "error"].map(s => figure(words[s], status.devices[s] ?? 0)),
    figure(words.jobs, jobs.length),
    figure(words.log, fleet.log_seq ?? "–"), figure(words.behind, fleet.behind ?? "–"), figure(words.leader, fleet.leader ?? words.nobody));
  at("figures").lastChild.lastChild.style.fontSize = ".9rem";
  const pcs = Map.groupBy ? Map.groupBy(devices, d => d.pc_id)
    : devices.reduce((m, d) => m.set(d.pc_id, [...(m.get(d.pc_id) ?? []), d]), new Map());
  at("fleet").hidden = false;
  at("fleet").textContent = devices.length ? words.fleet + (devices.length === SHOWN_MAX ? ` (${words.more(SHOWN_MAX)})` : "") : words.empty;
  at("pcs").replaceChildren(...[...pcs].map(([pc, phones]) => {
    const box = document.createElement("div"), name = document.createElement("b"), slots = document.createElement("div");
    box.className = "pc"; name.textContent = pc; slots.className = "slots";
    slots.append(...phones.map(phone => {
      const slot = document.createElement("i");
      slot.className = phone.status; slot.title = `${phone.serial_number}: ${words[phone.status]}`;
      return slot;
    }));
    box.append(name, slots);
    return box;
  }));
}
look();
