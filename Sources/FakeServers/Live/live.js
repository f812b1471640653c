// The live page. All its data comes from the control API. Strings from elsewhere are inserted as
// text, never as HTML; the content security policy of the page enforces this.

const API = '/assay/v1';
/** The maximum numbers of exchanges that are kept and drawn; older ones are in the journal. */
const KEPT_MAX = 5000;
const DRAWN_MAX = 500;
const $ = id => document.getElementById(id);

// MARK: Elements

/** Creates an element with properties and with children that are elements or strings. */
function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element && key !== 'list') element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function drawn(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const button = (text, act, properties = {}) =>
  el('button', { type: 'button', onclick: act, ...properties }, text);

const pretty = value => typeof value === 'string' ? value : JSON.stringify(value, null, 2);

// MARK: The API

let token = sessionStorage.getItem('assay-token') ?? '';
if (location.hash.startsWith('#token=')) {
  token = decodeURIComponent(location.hash.slice(7));
  sessionStorage.setItem('assay-token', token);
  history.replaceState(null, '', location.pathname);
}

const namespace = () => $('namespace').value;
const isEvery = () => namespace() === '*';
/** The namespace of actions; when all namespaces are shown, the default one. */
const place = () => isEvery() ? '' : namespace();

class Refused extends Error {
  constructor({ error, hint }, status) {
    super([error ?? 'status ' + status, hint].filter(Boolean).join('; '));
    // An error quotes the name of the field that it is about, or its value.
    this.quoted = [...(error ?? '').matchAll(/'([^']+)'/g)].map(match => match[1]);
  }
}

async function call(method, path, body, { signal, query = {}, everywhere = false } = {}) {
  const parameters = new URLSearchParams(query);
  if (!everywhere && place()) parameters.set('namespace', place());
  const text = parameters.toString();
  const headers = {};
  if (token) headers.authorization = 'Bearer ' + token;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const answer = await fetch(API + path + (text ? '?' + text : ''), {
    method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 401) $('ask').hidden = false;
  if (!answer.ok) {
    throw new Refused(await answer.json().catch(() => ({})), answer.status);
  }
  return answer;
}

const ask = async (...parameters) => (await call(...parameters)).json();

/** Shows the result of an action, with the response in a closed section. */
function say(text, value, isBad = false) {
  const line = el('span', { className: isBad ? 'bad' : 'good' }, text);
  const close = button('close', () => $('said').replaceChildren(), { className: 'close' });
  const parts = [close, line];
  if (value !== undefined) {
    parts.push(el('details', {}, el('summary', {}, 'response'), el('pre', {}, pretty(value))));
  }
  $('said').replaceChildren(...parts);
}

async function act(text, work) {
  try {
    const value = await work();
    say(text + ': done', value);
    return value;
  } catch (error) {
    say(text + ': ' + error.message, undefined, true);
    return error;
  } finally {
    refresh();
  }
}

// MARK: Traffic

const entries = new Map();
let last = -1;
let first = 0;
let cursor = null;
let open = null;
const parties = ['app', 'backend'];
let isDirty = false;

const failed = entry => entry.failure !== undefined;
const bad = entry => failed(entry) || (entry.response?.status ?? 0) >= 400;
const came = entry => failed(entry) ? entry.failure
  : entry.response ? String(entry.response.status) : 'no response yet';
const effects = entry => (entry.effects ?? []).map(effect => effect.kind).join(', ');
const what = entry => entry.purpose.startsWith('delivery ')
  ? entry.purpose.slice(9) : entry.request.method + ' ' + entry.request.target;

function meet(name) {
  if (parties.includes(name)) return;
  parties.push(name);
  const chosen = $('party').value;
  $('party').replaceChildren(el('option', { value: '' }, 'all'),
    ...parties.map(party => el('option', {}, party)));
  $('party').value = chosen;
}

function take(entry) {
  meet(entry.from);
  meet(entry.to);
  entries.set(entry.sequence, entry);
  last = Math.max(last, entry.sequence);
  // Entries arrive almost in order, so the first one is old.
  if (entries.size > KEPT_MAX) entries.delete(entries.keys().next().value);
  later();
}

function passes(entry) {
  if (entry.sequence < first) return false;
  if (!isEvery() && entry.namespace !== namespace()) return false;
  const party = $('party').value;
  if (party && entry.from !== party && entry.to !== party) return false;
  if ($('only-effects').checked && !entry.effects?.length) return false;
  if ($('only-failed').checked && !bad(entry)) return false;
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return true;
  entry.text ??= JSON.stringify(entry).toLowerCase();
  return words.every(word => entry.text.includes(word));
}

/** Formats a time on the clock of the namespace, with the date if it is not the current one. */
function time(at) {
  const today = ($('now').dateTime || at).slice(0, 10);
  return at.slice(0, 10) === today ? at.slice(11, 23) : at.slice(5, 16).replace('T', ' ');
}

function lane(entry) {
  const box = el('span', { className: 'lane' });
  const middle = name => (parties.indexOf(name) + .5) / parties.length * 100;
  for (const party of parties) {
    const line = el('span', { className: 'life' });
    line.style.left = middle(party) + '%';
    box.append(line);
  }
  const [from, to] = [middle(entry.from), middle(entry.to)];
  const kind = ['arrow', to >= from ? 'right' : 'left'];
  if (failed(entry)) kind.push('failed');
  else if (bad(entry)) kind.push('bad');
  const arrow = el('span', { className: kind.join(' ') });
  arrow.style.left = Math.min(from, to) + '%';
  arrow.style.width = Math.max(Math.abs(to - from), 2) + '%';
  box.append(arrow);
  return box;
}

function row(entry) {
  const isOpen = open === entry.sequence;
  const text = effects(entry);
  const head = el('button', {
    type: 'button', className: 'row', tabIndex: cursor === entry.sequence ? 0 : -1,
    'aria-expanded': String(isOpen), 'data-sequence': entry.sequence,
    onclick: () => { cursor = entry.sequence; open = isOpen ? null : entry.sequence; draw(); focusCursor(); },
  },
  el('time', { dateTime: entry.at }, time(entry.at)),
  el('span', { className: 'what' },
    el('span', { className: 'dim' }, `${entry.from} \u2192 ${entry.to} `), what(entry)),
  entry.about ? el('span', { className: 'about' }, entry.about) : null,
  lane(entry),
  el('span', { className: 'came' + (bad(entry) ? ' bad' : '') }, came(entry),
    text ? el('span', { className: 'dim' }, ' ' + text) : null));
  const item = el('li', {}, head);
  if (isOpen) item.append(detail(entry));
  return item;
}

function message(title, message) {
  const headers = Object.entries(message.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return el('div', {}, el('h3', {}, title),
    headers.length ? el('details', {}, el('summary', {}, headers.length === 1 ? '1 header' : `${headers.length} headers`),
      el('pre', {}, headers.join('\n'))) : null,
    message.body === null || message.body === undefined
      ? el('p', { className: 'dim' }, 'no body') : el('pre', { tabIndex: 0 }, pretty(message.body)));
}

function detail(entry) {
  const two = el('div', { className: 'two' },
    message(`${entry.request.method} ${entry.request.target}`, entry.request),
    entry.response ? message('response ' + entry.response.status, entry.response)
      : el('p', { className: 'bad' }, came(entry)));
  const box = el('div', { className: 'detail' },
    el('p', { className: 'dim' }, [`#${entry.sequence}`, `${entry.from} \u2192 ${entry.to}`, entry.at,
      entry.purpose, entry.namespace && 'namespace ' + entry.namespace].filter(Boolean).join(', ')));
  const delivery = deliveryOf(entry);
  if (delivery) box.append(deliveryButtons(delivery));
  box.append(two);
  if (entry.effects?.length) {
    box.append(el('h3', {}, 'effects'), el('pre', {}, pretty(entry.effects)));
  }
  return box;
}

function draw() {
  isDirty = false;
  const passing = [...entries.keys()].sort((a, b) => a - b).map(key => entries.get(key)).filter(passes);
  const shown = passing.slice(-DRAWN_MAX);
  if (!shown.some(entry => entry.sequence === cursor)) cursor = shown.at(-1)?.sequence ?? null;
  $('traffic').classList.toggle('drawn', $('diagram').checked);
  $('lanes').replaceChildren(...parties.map(party => el('span', {}, party)));
  const focused = document.activeElement?.dataset?.sequence;
  $('rows').replaceChildren(...shown.map(row));
  if (focused !== undefined) focusCursor();
  const hidden = passing.length - shown.length;
  $('count').textContent = `${passing.length} of ${entries.size} exchanges` + (hidden ? `, the last ${shown.length} are shown` : '');
  $('no-rows').hidden = shown.length > 0;
  if (shown.length === 0 && entries.size > 0) $('no-rows').textContent = 'No exchange matches the filters.';
  if ($('follow').checked && open === null && focused === undefined && !$('traffic').hidden) {
    $('rows').lastElementChild?.scrollIntoView({ block: 'nearest' });
  }
}

/** Draws soon, so that lines that arrive together are drawn once. */
function later() {
  if (isDirty) return;
  isDirty = true;
  setTimeout(draw, 120);
  refreshSoon();
}

function focusCursor() {
  document.querySelector(`.row[data-sequence="${cursor}"]`)?.focus();
}

$('rows').addEventListener('keydown', event => {
  const rows = [...document.querySelectorAll('.row')];
  const index = rows.findIndex(row => Number(row.dataset.sequence) === cursor);
  const next = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: rows.length - 1 }[event.key];
  if (next === undefined || !rows[next] || !event.target.classList.contains('row')) return;
  event.preventDefault();
  rows[index]?.setAttribute('tabindex', '-1');
  cursor = Number(rows[next].dataset.sequence);
  rows[next].setAttribute('tabindex', '0');
  rows[next].focus();
});

for (const id of ['filter', 'party', 'only-effects', 'only-failed', 'diagram']) {
  $(id).addEventListener('input', draw);
}
$('clear').addEventListener('click', () => { first = last + 1; open = null; draw(); });

/** The reason why the journal did not send every entry; empty when none is missing. */
let missing = '';

/** The ID of the process that the exchanges come from. */
let process = null;

/** Clears the page when another process responds than before. */
async function meetProcess() {
  const root = await ask('GET', '', undefined, { everywhere: true });
  if (root.process === process) return;
  const isFirst = process === null;
  process = root.process;
  if (isFirst) return;
  entries.clear();
  missing = '';
  [last, first, cursor, open] = [-1, 0, null, null];
  await describe();
}

function state(text, kind) {
  $('link').textContent = text;
  $('link').className = kind;
}

/** The number up to which no entry is missing; exchanges that end late have low numbers. */
function seen() {
  let number = entries.size ? Math.min(...entries.keys()) : last;
  while (number < last && entries.has(number + 1)) number += 1;
  return number;
}

/** Reads the stream while the page is open. */
async function follow() {
  let pause = 500;
  for (;;) {
    try {
      await meetProcess();
      const answer = await call('GET', '/journal/stream', undefined,
        { query: { all: 'true', after: String(seen()) }, everywhere: true });
      $('ask').hidden = true;
      state(missing ? `live, but entries are missing: ${missing}` : 'live', missing ? 'lost' : 'live');
      later();
      pause = 500;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split('\n');
        rest = lines.pop();
        for (const line of lines) {
          if (!line) continue;
          const entry = JSON.parse(line);
          // The last line of a stream that ended because this page read too slowly.
          if (entry.cut_off) missing = entry.cut_off;
          else take(entry);
        }
      }
      state('the stream ended', 'lost');
    } catch (error) {
      state(error instanceof Refused ? error.message : 'Assay does not respond; retrying', 'lost');
    }
    await new Promise(resolve => { setTimeout(resolve, pause); });
    pause = Math.min(pause * 2, 8000);
  }
}

// MARK: Subscribers

const DAY = 86_400_000;
const MS = text => Date.parse(text);

/** A timeline of a subscriber: purchases are bars, events ticks, the current time a line. */
function timeline(subscriber, now) {
  const told = deliveries.filter(delivery => concerns(delivery, subscriber.ids));
  const times = [now, ...told.map(toldAt)];
  for (const holding of subscriber.holdings) {
    times.push(MS(holding.began));
    times.push(holding.ends ? Math.min(MS(holding.ends), now + 400 * DAY) : now + 7 * DAY);
  }
  const begin = Math.min(...times) - DAY / 4;
  const end = Math.max(...times) + DAY / 4;
  const width = Math.max(300, Math.min(800, $('people-list').clientWidth - 40));
  const x = moment => 4 + (moment - begin) / (end - begin) * (width - 8);
  const height = 30 + subscriber.holdings.length * 22;
  const svg = drawn('svg', { viewBox: `0 0 ${width} ${height}`, class: 'life-time', role: 'img' });
  svg.append(drawn('title', {}, `${subscriber.ids[0]}: ` + subscriber.holdings
    .map(holding => `${holding.product} ${holding.state}, ${day(holding.began)} to ${holding.ends ? day(holding.ends) : 'forever'}`)
    .concat(told.map(delivery => `${delivery.type} ${day(new Date(toldAt(delivery)).toISOString())}`)).join('; ')));
  subscriber.holdings.forEach((holding, index) => {
    const from = x(MS(holding.began));
    const to = x(holding.ends ? Math.min(MS(holding.ends), end) : end);
    svg.append(drawn('rect', {
      x: from, y: 18 + index * 22, width: Math.max(to - from, 2), height: 8, rx: 2,
      class: 'period ' + holding.state,
    }), drawn('text', { x: Math.min(from, width - 160), y: 37 + index * 22 }, `${holding.product} (${holding.state})`));
  });
  for (const delivery of told) {
    const at = x(toldAt(delivery));
    const tick = drawn('line', {
      x1: at, x2: at, y1: 4, y2: 14, class: 'tick' + (delivery.state === 'delivered' ? '' : ' bad'),
    });
    tick.append(drawn('title', {}, `${delivery.type}, ${delivery.state}`));
    svg.append(tick);
  }
  svg.append(drawn('line', { x1: x(now), x2: x(now), y1: 0, y2: height - 10, class: 'now' }),
    drawn('text', { x: 4, y: height - 1 }, day(new Date(begin).toISOString())),
    drawn('text', { x: width - 4, y: height - 1, 'text-anchor': 'end' }, day(new Date(end).toISOString())));
  return svg;
}

const day = text => text.slice(0, 10);

/** Whether an event contains one of the user's IDs. */
function concerns(delivery, ids) {
  const names = new Set(ids);
  const search = value => typeof value === 'string' ? names.has(value)
    : value !== null && typeof value === 'object' && Object.values(value).some(search);
  return search(delivery.body);
}

function toldAt(delivery) {
  const attempt = delivery.attempts[0]?.at ?? delivery.due;
  return attempt ? MS(attempt) : Date.now();
}

function card(subscriber, now) {
  const state = kind => ({ active: 'good', ended: 'dim', refunded: 'bad' }[kind] ?? '');
  const holdings = subscriber.holdings.map(holding => el('li', {},
    el('code', {}, holding.product), ` ${holding.store} ${holding.environment}`,
    el('span', { className: 'tag ' + state(holding.state) }, holding.state),
    ` ${day(holding.began)} to ${holding.ends ? holding.ends.slice(0, 16).replace('T', ' ') : 'forever'} `));
  return el('article', { className: 'card' },
    el('h3', {}, subscriber.ids[0],
      el('span', { className: 'tag dim' }, subscriber.provider),
      ...subscriber.access.map(name => el('span', { className: 'tag good' }, name))),
    subscriber.ids.length > 1 ? el('p', { className: 'dim' }, 'also ' + subscriber.ids.slice(1).join(', ')) : null,
    timeline(subscriber, now), el('ul', {}, ...holdings),
    shortcuts(subscriber));
}

/** The actions on a subscriber, with forms that are filled in for this one. */
function shortcuts(subscriber) {
  const box = el('div', { className: 'buttons' });
  for (const form of forms.filter(form => form.words.length && form.serves(subscriber.provider))) {
    for (const word of form.words) {
      box.append(button(word.const, () => form.fill(word.const, {
        user: subscriber.ids[0], product: subscriber.holdings[0]?.product,
        plan: subscriber.holdings[0]?.product,
      }), { title: word.description }));
    }
  }
  return el('details', {}, el('summary', {}, 'actions for this subscriber'), box);
}

function deviceCard(device) {
  const box = el('div', { className: 'buttons' });
  for (const form of forms.filter(form => form.path.startsWith('/device/'))) {
    for (const word of form.words) {
      box.append(button(word.const, () => form.fill(word.const, { device: device.device }), { title: word.description }));
    }
  }
  return el('article', { className: 'card' },
    el('h3', {}, device.device, el('span', { className: 'tag dim' }, device.platform),
      device.paywall?.open ? el('span', { className: 'tag good' }, 'a paywall is open') : null),
    el('ul', {}, ...['installUuid', 'externalId', 'pushPermission', 'playerId', 'storeAccount', 'vaultAccount']
      .map(key => el('li', {}, key + ' ', el('code', {}, String(device[key]))))),
    box, el('details', {}, el('summary', {}, 'all properties'), el('pre', {}, pretty(device))));
}

// MARK: Events

let deliveries = [];

function deliveryOf(entry) {
  if (!entry.purpose.startsWith('delivery ')) return undefined;
  const body = entry.request.body ?? {};
  const id = body.event?.id ?? body.event?.event_id ?? body.event_id;
  const text = JSON.stringify(body);
  return deliveries.findLast(delivery => JSON.stringify(delivery.body) === text)
    ?? deliveries.findLast(delivery => delivery.event === id);
}

function deliveryButtons(delivery) {
  return el('div', { className: 'buttons' },
    button('resend', () => resend(delivery)),
    button('edit and resend', () => edit(delivery)));
}

const resend = (delivery, body) => act(`resend ${delivery.type}`, () =>
  ask('POST', `/deliveries/${encodeURIComponent(delivery.event)}/resend`,
    { number: delivery.number, ...(body === undefined ? {} : { body }) }));

function edit(delivery) {
  $('edit-body').value = pretty(delivery.body ?? {});
  $('edit-problem').textContent = '';
  $('edit-send').onclick = async () => {
    let body;
    try {
      body = JSON.parse($('edit-body').value);
    } catch (error) {
      $('edit-problem').textContent = error.message;
      return;
    }
    $('edit').close();
    await resend(delivery, body);
  };
  $('edit').showModal();
}

function eventCard(delivery) {
  const attempts = delivery.attempts.map(attempt => el('li', {}, el('time', {}, attempt.at), ' ',
    el('span', { className: attempt.status >= 200 && attempt.status < 300 ? 'good' : 'bad' },
      String(attempt.status ?? attempt.failure ?? 'no response'))));
  const kind = { delivered: 'good', failed: 'bad' }[delivery.state] ?? '';
  return el('article', { className: 'card' },
    el('h3', {}, delivery.type, el('span', { className: 'tag ' + kind }, delivery.state),
      el('span', { className: 'tag dim' }, delivery.webhook)),
    el('p', { className: 'dim' }, delivery.event, delivery.due ? ', next at ' + delivery.due : ''),
    attempts.length ? el('ul', {}, ...attempts) : null, deliveryButtons(delivery),
    el('details', {}, el('summary', {}, 'body'), el('pre', {}, pretty(delivery.body))));
}

$('flush').addEventListener('click', () => act('deliver due events', () => ask('POST', '/deliveries/flush')));
$('state').addEventListener('input', refresh);

// MARK: Actions

/** The forms of all operations in the OpenAPI document except streams. */
const forms = [];

class Field {
  constructor(name, schema, isPath) {
    Object.assign(this, { name, schema, isPath });
    const words = schema.enum ?? schema.oneOf?.map(word => word.const);
    const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    this.kind = kind;
    if (words) {
      this.input = el('select', {}, ...(isPath ? [] : [el('option', { value: '' }, 'not set')]),
        ...words.map(word => el('option', {}, word)));
    } else if (kind === 'boolean') {
      this.input = el('select', {}, el('option', { value: '' }, 'not set'),
        ...['true', 'false'].map(word => el('option', {}, word)));
    } else if (kind === 'object' || kind === 'array') {
      this.input = el('textarea', { rows: 2, spellcheck: false });
    } else {
      this.input = el('input', { type: kind === 'integer' || kind === 'number' ? 'number' : 'text',
        step: 'any', autocomplete: 'off' });
      if (schema.examples) {
        const id = `words-${Field.count = (Field.count ?? 0) + 1}`;
        this.words = el('datalist', { id }, ...schema.examples.map(word => el('option', { value: word })));
        this.input.setAttribute('list', id);
      }
    }
    const id = `field-${Field.number = (Field.number ?? 0) + 1}`;
    this.problem = el('small', { id, className: 'problem', role: 'alert' });
    this.input.setAttribute('aria-describedby', id);
    this.input.addEventListener('input', () => this.show(''));
    this.label = el('label', { className: 'field' }, el('span', {}, Field.title(name)), this.input, this.words,
      el('small', {}, this.note), this.problem);
    this.label.dataset.name = name;
  }

  /** The name of a member in words, such as 'New product' for newProduct. */
  static title(name) {
    const words = name.replace(/[-_]/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
    return words.charAt(0).toUpperCase() + words.slice(1);
  }

  /** Shows the reason why the API refused the field; an empty text removes it. */
  show(problem) {
    this.problem.textContent = problem;
    this.input.setAttribute('aria-invalid', String(problem !== ''));
  }

  /** The description of the field without its list of words, because it is shown only for these. */
  get note() {
    const text = this.schema.description ?? '';
    const words = (this.schema['x-of'] ?? []).join(', ') + ': ';
    const note = text.startsWith(words) ? text.slice(words.length) : text;
    return note.charAt(0).toUpperCase() + note.slice(1);
  }

  /** Replaces the input, for example by a select whose words are known. */
  replace(input) {
    input.setAttribute('aria-describedby', this.input.getAttribute('aria-describedby'));
    input.addEventListener('input', () => this.show(''));
    this.input.replaceWith(input);
    this.input = input;
  }

  isFor(word) { return !this.schema['x-of'] || this.schema['x-of'].includes(word); }

  /** The value that was typed; undefined when the input is empty. */
  get value() {
    const text = this.input.value;
    if (text === '') return undefined;
    switch (this.kind) {
      case 'boolean': return text === 'true';
      case 'integer': case 'number': return Number(text);
      case 'object': return this.parsed(text);
      // A list may be typed with commas instead of as JSON.
      case 'array': return text.trim().startsWith('[') ? this.parsed(text)
        : text.split(',').map(part => this.item(part.trim())).filter(part => part !== '');
      default: return text;
    }
  }

  parsed(text) {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Refused({ error: `'${this.name}' is not JSON: ${error.message}` });
    }
  }

  /** In a list of any values, digits are a number. */
  item(text) { return this.schema.items || !/^\d+$/.test(text) ? text : Number(text); }
}

class Form {
  constructor(path, method, operation) {
    this.path = path.slice(API.length);
    this.method = method.toUpperCase();
    this.fields = [];
    for (const parameter of operation.parameters ?? []) {
      if (parameter.name === 'namespace') continue;
      const field = new Field(parameter.name, { description: parameter.description, ...parameter.schema }, parameter.in === 'path');
      field.isQuery = parameter.in === 'query';
      this.fields.push(field);
    }
    const body = operation.requestBody?.content['application/json'].schema.properties;
    for (const [name, schema] of Object.entries(body ?? {})) this.fields.push(new Field(name, schema, false));
    // A query parameter that is also a member of the body needs only one field.
    this.fields = this.fields.filter(field => !(field.isQuery && body && field.name in body));
    this.body = body;
    this.word = this.fields.find(field => field.isPath && field.schema.oneOf);
    this.words = this.word?.schema.oneOf ?? [];
    this.note = el('small', { className: 'dim' });
    this.title = operation.summary;
    const verb = { GET: 'show', DELETE: 'remove' }[this.method] ?? 'run';
    this.element = el('form', { onsubmit: event => { event.preventDefault(); this.send(); } },
      el('h3', {}, operation.summary), this.note, ...this.fields.map(field => field.label), el('button', {}, verb));
    this.word?.input.addEventListener('input', () => this.fit());
    this.fit();
  }

  /** Shows only the fields that apply to the chosen word. */
  fit() {
    if (!this.word) return;
    const word = this.word.input.value;
    this.note.textContent = this.words.find(known => known.const === word)?.description ?? '';
    for (const field of this.fields) field.label.hidden = !field.isFor(word);
  }

  /** Whether the operation acts on a subscriber of a provider. */
  serves(provider) {
    const takesUser = this.fields.some(field => field.name === 'user');
    return takesUser && (this.path.startsWith('/' + provider) || (this.path.startsWith('/store') && this.first === provider));
  }

  fill(word, values) {
    if (this.word) this.word.input.value = word;
    this.fit();
    for (const field of this.fields) {
      if (values[field.name] !== undefined && !field.isPath) field.input.value = values[field.name];
    }
    for (let box = this.element.parentElement; box; box = box.parentElement) {
      if (box instanceof HTMLDetailsElement) box.open = true;
    }
    this.element.scrollIntoView({ block: 'center' });
    this.element.querySelector('button').focus();
  }

  /** Shows the reason of a refusal beside the field that it is about. */
  showProblem(error) {
    const quoted = error?.quoted ?? [];
    const shown = this.fields.filter(field => !field.label.hidden);
    const field = shown.find(field => quoted.includes(field.name))
      ?? shown.find(field => field.input.value !== '' && quoted.includes(field.input.value));
    for (const other of this.fields) other.show('');
    if (!field) return;
    field.show(error.message);
    field.input.focus();
  }

  async send() {
    const word = this.word?.input.value;
    let path = this.path;
    const body = {};
    const query = {};
    try {
      for (const field of this.fields) {
        const value = field.isFor(word) ? field.value : undefined;
        if (field.isPath) {
          if (value === undefined) throw new Refused({ error: `'${field.name}' is empty` });
          path = path.replace(`{${field.name}}`, value.split('/').map(encodeURIComponent).join('/'));
        } else if (value !== undefined) {
          if (field.isQuery) query[field.name] = value; else body[field.name] = value;
        }
      }
    } catch (error) {
      say(`${this.title} ${error.message}`, undefined, true);
      this.showProblem(error);
      return undefined;
    }
    const hasBody = this.method !== 'GET' && this.body !== undefined;
    const result = await act(word ?? this.title, () => ask(this.method, path, hasBody ? body : undefined, { query }));
    this.showProblem(result instanceof Refused ? result : undefined);
    return result;
  }
}

// MARK: Start

/** The fields of the form at the top of the page, in order; the other fields have their defaults. */
const QUICK_FIELDS = ['action', 'user', 'product', 'newProduct', 'store', 'environment', 'reason'];
const QUICK_VALUES = { action: 'purchase', user: 'ada' };
let quick = null;

/** Fills the form at the top: the store's actions with selects for the values that are known. */
async function startForm(path, method, operation) {
  const chosen = quick ? Object.fromEntries(quick.fields.map(field => [field.name, field.input.value])) : QUICK_VALUES;
  quick = new Form(path, method, operation);
  quick.fields = quick.fields.filter(field => QUICK_FIELDS.includes(field.name) || field.name === 'settle');
  for (const field of quick.fields) {
    const words = field.schema.examples;
    if (words) field.replace(el('select', {}, el('option', { value: '' }, 'usual'), ...words.map(word => el('option', {}, word))));
    else if (field.name === 'product') field.input.placeholder = 'usual product';
  }
  for (const field of quick.fields) {
    if (chosen[field.name]) field.input.value = chosen[field.name];
  }
  const settle = quick.fields.find(field => field.name === 'settle');
  if (settle) settle.input.value = 'true';
  const order = name => QUICK_FIELDS.indexOf(name);
  const visible = quick.fields.filter(field => field !== settle).sort((a, b) => order(a.name) - order(b.name));
  $('quick-fields').replaceChildren(...visible.map(field => field.label));
  quick.word.input.addEventListener('input', showQuickAction);
  showQuickAction();
}

function showQuickAction() {
  quick.fit();
  const word = quick.word.input.value;
  $('quick-note').textContent = quick.words.find(known => known.const === word)?.description ?? '';
  $('quick-send').textContent = word === 'purchase' ? 'Send a purchase' : `Send: ${word}`;
  $('quick-result').textContent = '';
}

$('quick').addEventListener('submit', async event => {
  event.preventDefault();
  if (!quick) return;
  const result = await quick.send();
  const sent = result?.deliveries ?? [];
  const told = $('quick-result');
  told.className = '';
  if (result === undefined || result instanceof Error) {
    told.textContent = '';
  } else if (!sent.length) {
    told.textContent = $('target-url').value ? 'No event was sent.' : 'No event was sent: save the webhook of your backend first.';
  } else {
    const last = sent.at(-1);
    const attempt = last.attempts?.at(-1);
    told.className = last.state === 'delivered' ? 'good' : 'bad';
    told.textContent = `${last.type}: ${last.state}, ${attempt?.status ?? attempt?.failure ?? 'no response'}`;
  }
});

/** Shows the addresses of the fakes, each with a button that copies it. */
function showAddresses(fakes) {
  const rows = Object.entries({ ...fakes, control: location.origin + API }).flatMap(([name, url]) => [
    el('dt', {}, name),
    el('dd', {}, el('code', {}, url), button('copy', event => copy(event.target, url), { 'aria-label': `copy the address of ${name}` })),
  ]);
  $('addresses').replaceChildren(...rows);
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'copied';
  } catch {
    const code = button.previousElementSibling;
    getSelection().selectAllChildren(code);
  }
}

/** The configuration that the form of the webhook changes. */
let target = null;

async function showTarget() {
  const { webhooks } = await ask('GET', '/webhooks');
  target = (webhooks ?? []).find(webhook => webhook.id === 'main') ?? (webhooks ?? [])[0] ?? null;
  if (document.activeElement !== $('target-url')) $('target-url').value = target?.url ?? '';
  const last = deliveries.findLast(delivery => delivery.attempts.length);
  const attempt = last?.attempts.at(-1);
  $('target-state').textContent = !target ? 'No events are sent until an address is saved.'
    : attempt ? `Last response: ${attempt.status ?? attempt.failure ?? 'none'} to ${last.type}` : 'Nothing was sent yet.';
}

$('target').addEventListener('submit', async event => {
  event.preventDefault();
  const box = $('target-url');
  try {
    await ask('PUT', `/webhooks/${encodeURIComponent(target?.id ?? 'main')}`, { url: box.value });
    $('target-problem').textContent = '';
    box.setAttribute('aria-invalid', 'false');
    box.blur();
    await showTarget();
  } catch (error) {
    $('target-problem').textContent = error.message;
    box.setAttribute('aria-invalid', 'true');
  }
});

const SHOWN = ['', 'health', 'openapi.json', 'journal', 'subscribers', 'devices', 'deliveries', 'namespaces'];
const GROUPS = { deliveries: 'events', reset: 'namespaces', export: 'state', import: 'state', snapshots: 'state' };

async function describe() {
  const [document_, root] = await Promise.all([
    ask('GET', '/openapi.json', undefined, { everywhere: true }), ask('GET', '', undefined, { everywhere: true }),
  ]);
  forms.length = 0;
  const providers = Object.keys(root.fakes);
  for (const party of providers) meet(party);
  showAddresses(root.fakes);
  const groups = new Map();
  for (const [path, operations] of Object.entries(document_.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (!operation.responses['200'].content['application/json']) continue;
      const form = new Form(path, method, operation);
      if (form.path === '/store/{action}') await startForm(path, method, operation);
      // The actions of the store belong to the first provider.
      form.first = providers[0];
      forms.push(form);
      const segment = form.path.split('/')[1] ?? '';
      // Data that the page always shows needs no form.
      if (form.method === 'GET' && SHOWN.includes(segment)) continue;
      const name = GROUPS[segment] ?? segment;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(form);
    }
  }
  const order = ['store', ...providers, 'device', 'clock', 'events', 'faults', 'state', 'namespaces'];
  const rank = name => (order.indexOf(name) + order.length + 1) % (order.length + 1);
  const weight = form => form.words.length ? 0 : form.method === 'GET' ? 2 : 1;
  const named = [...groups].sort(([a], [b]) => rank(a) - rank(b));
  $('groups').replaceChildren(...named.map(([name, list]) => el('details', { className: 'group' },
    el('summary', {}, name), ...list.sort((a, b) => weight(a) - weight(b))
      .map(form => form.element))));
}

// MARK: Other data

let refreshing = null;
let isWanted = false;

function refreshSoon() {
  isWanted = true;
  refreshing ??= setTimeout(() => { refreshing = null; if (isWanted) refresh(); }, 400);
}

async function refresh() {
  isWanted = false;
  try {
    const { namespaces } = await ask('GET', '/namespaces', undefined, { everywhere: true });
    showNamespaces(namespaces.map(space => space.namespace));
    const [clock, told] = await Promise.all([ask('GET', '/clock'), ask('GET', '/deliveries')]);
    $('now').dateTime = clock.now;
    $('now').textContent = clock.now.replace('T', ' ').slice(0, 19) + (clock.frozen ? ' (frozen)' : '');
    $('freeze').setAttribute('aria-pressed', String(clock.frozen));
    $('freeze').textContent = clock.frozen ? 'unfreeze' : 'freeze';
    deliveries = told.deliveries;
    await showTarget();
    if (!$('events').hidden) showEvents();
    if (!$('people').hidden) await showPeople(clock.now_ms);
  } catch (error) {
    // The stream shows that Assay does not respond; only a refusal is shown here.
    if (error instanceof Refused && $('ask').hidden) say(error.message, undefined, true);
  }
}

function showNamespaces(names) {
  const all = ['', ...names.filter(Boolean)];
  const values = [...$('namespace').options].map(option => option.value);
  const wanted = ['*', ...all];
  if (wanted.join('\n') === values.join('\n')) return;
  // When a run has created namespaces, the default one is unused.
  const chosen = values.length ? namespace() : all.length > 1 ? '*' : '';
  $('namespace').replaceChildren(...wanted.map(name => el('option', { value: name },
    { '*': 'all (actions use the default)', '': 'default' }[name] ?? name)));
  $('namespace').value = wanted.includes(chosen) ? chosen : '';
}

/** Replaces a list if it changed, and keeps opened sections open. */
function put(box, key, elements) {
  const text = JSON.stringify(key);
  if (box.dataset.key === text) return;
  box.dataset.key = text;
  const opened = new Set([...box.querySelectorAll('details[open]')].map(details => details.dataset.name));
  for (const [index, element] of elements.entries()) {
    for (const [number, details] of element.querySelectorAll('details').entries()) {
      details.dataset.name = `${element.querySelector('h3')?.textContent ?? index}/${number}`;
      details.open = opened.has(details.dataset.name);
    }
  }
  box.replaceChildren(...elements);
}

function showEvents() {
  const wanted = $('state').value;
  const shown = deliveries.filter(delivery => !wanted || delivery.state === wanted).slice(-200).reverse();
  $('event-count').textContent = deliveries.length === 1 ? '1 event' : `${deliveries.length} events`;
  put($('event-list'), shown, shown.length ? shown.map(eventCard)
    : [el('p', { className: 'dim' }, 'No events. A store action sends one if a webhook is configured.')]);
}

async function showPeople(now) {
  const id = $('person').value;
  const [people, { devices }] = await Promise.all([
    ask('GET', '/subscribers', undefined, { query: id ? { id } : {} }), ask('GET', '/devices'),
  ]);
  const { subscribers, count } = people;
  $('people-count').textContent = count > subscribers.length
    ? `${count} subscribers, the last ${subscribers.length} are shown`
    : count === 1 ? '1 subscriber' : `${count} subscribers`;
  // The current time always changes; a timeline is redrawn once per minute.
  put($('people-list'), [subscribers, Math.floor(now / 60_000), deliveries.length],
    subscribers.length ? subscribers.map(subscriber => card(subscriber, now))
      : [el('p', { className: 'dim' }, 'No subscribers. A purchase creates one.')]);
  put($('device-list'), devices, devices.length ? devices.map(deviceCard)
    : [el('p', { className: 'dim' }, 'No devices. An app that uses the bridge, or an action, creates one.')]);
}

$('person').addEventListener('input', refresh);
$('namespace').addEventListener('input', () => { draw(); refresh(); });

// MARK: Clock, tabs, keys

for (const each of document.querySelectorAll('#clock [data-by]')) {
  each.addEventListener('click', () => act(`clock ${each.textContent}`, () =>
    ask('POST', '/clock/advance', { by: each.dataset.by })));
}
$('settle').addEventListener('click', () => act('clock until all delivered', () =>
  ask('POST', '/clock/advance', { until: 'settled' })));
$('freeze').addEventListener('click', () => act($('freeze').textContent + ' clock', () =>
  ask('PUT', '/clock', { frozen: $('freeze').getAttribute('aria-pressed') !== 'true' })));

const tabs = [...document.querySelectorAll('[role=tab]')];

function choose(tab) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.setAttribute('aria-selected', String(isChosen));
    each.tabIndex = isChosen ? 0 : -1;
    $(each.getAttribute('aria-controls')).hidden = !isChosen;
  }
  refresh();
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener('click', () => choose(tab));
  tab.addEventListener('keydown', event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(index + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}

document.addEventListener('keydown', event => {
  const isTyping = event.target.matches('input, textarea, select');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  choose($('tab-traffic'));
  $('filter').focus();
});

$('ask').addEventListener('submit', event => {
  event.preventDefault();
  token = $('token').value;
  sessionStorage.setItem('assay-token', token);
  location.reload();
});

async function begin() {
  choose($('tab-traffic'));
  follow();
  for (;;) {
    try {
      await describe();
      break;
    } catch {
      await new Promise(resolve => { setTimeout(resolve, 2000); });
    }
  }
  await refresh();
  // The clock advances even without exchanges.
  setInterval(() => { if (!document.hidden) refresh(); }, 5000);
}

begin();
