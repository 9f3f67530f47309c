// Shows what the shop tells once a second, and what came of the buttons. Plain JavaScript, as the browser gets it.

/** Outcomes that stay on the page. */
const KEPT = 20;
const NO_ANSWER = 'no answer';

const byId = (id) => document.getElementById(id);
const buttonOf = (action) => document.querySelector(`[data-action="${action}"]`);

/** @param tone 'good', 'warn' or 'bad' where the figure means that; the words say it, too */
function show(figure, value, tone) {
  const element = document.querySelector(`[data-figure="${figure}"]`);
  const text = String(value);
  if (element.textContent !== text) element.textContent = text;
  if (tone) element.dataset.tone = tone;
  else delete element.dataset.tone;
}

/** What is told of a part that Redis did not answer for. */
function showPart(part, figures) {
  for (const [figure, read] of Object.entries(figures)) {
    const [value, tone] = part === null ? [NO_ANSWER] : [read(part)].flat();
    show(figure, value, tone);
  }
}

function showMeter(id, value, max) {
  const meter = byId(id);
  if (max !== undefined) meter.max = max;
  meter.value = value;
}

const seconds = (ms) => (ms > 0 ? `${Math.ceil(ms / 1000)} s` : 'now');
/** What should be 0. */
const trouble = (count, tone) => [count, count > 0 ? tone : undefined];

function render(snapshot) {
  const { connection, cache, limiter, lock, stream, sessions, bestSellers, visits } = snapshot;
  showPart(cache, {
    hitRatio: ({ hitRatio }) => (hitRatio === undefined ? '–' : `${Math.round(hitRatio * 100)} %`),
    hits: ({ hits }) => hits,
    l1Hits: ({ l1Hits }) => l1Hits,
    misses: ({ misses }) => misses,
    loads: ({ loads, running }) => (running > 0 ? `${loads}, ${running} under way` : loads),
    lastLoad: ({ lastLoadMs }) => (lastLoadMs === undefined ? '–' : `${lastLoadMs} ms`),
  });
  showMeter('hit-meter', cache.hitRatio ?? 0);
  showPart(limiter, {
    remaining: ({ remaining }) => [remaining, remaining === 0 ? 'warn' : undefined],
    limit: ({ limit }) => limit,
    resetAfter: ({ resetAfterMs }) => seconds(resetAfterMs),
  });
  if (limiter !== null) showMeter('limit-meter', limiter.remaining, limiter.limit);
  showPart(lock, {
    held: ({ owner }) => (owner === undefined ? 'free' : 'held'),
    owner: ({ owner }) => owner ?? 'nobody',
    fence: ({ fence }) => fence ?? '–',
    lease: ({ owner, remainingMs }) => (owner === undefined ? '–' : `${remainingMs} ms`),
    waiting: ({ waiting }) => waiting,
  });
  showPart(stream, {
    lag: ({ lag }) => lag ?? 'unknown',
    pending: ({ pending }) => pending,
    retries: ({ retries }) => trouble(retries, 'warn'),
    deadLetters: ({ deadLetters }) => trouble(deadLetters, 'bad'),
    members: ({ members }) => members,
  });
  showPart(visits, { views: ({ views }) => views, visitors: ({ visitors }) => visitors });
  show('sessions', sessions ?? NO_ANSWER);
  showBestSellers(bestSellers);
  // Not the limiter: refusals are remembered, so it may know without asking.
  const answers = [lock, stream, sessions, visits].some((part) => part !== null);
  showConnection(connection, answers);
  if (!snapshot.throwaway) forbid('kill', 'only where the demo has started Redis itself');
  if (!snapshot.freezable) forbid('freeze', 'only where the demo has started Redis itself, without Sentinels');
}

/** @param answers a connection may be ready for long while nobody answers on it */
function showConnection({ status, breaker, pool, server, mode }, answers) {
  const ready = status === 'ready' && answers;
  show('status', answers ? status : NO_ANSWER, ready ? 'good' : 'bad');
  const open = breaker.openNodes.length > 0;
  show('breaker', open ? `${breaker.state}: ${breaker.openNodes.join(', ')}` : breaker.state, open ? 'bad' : undefined);
  show('inFlight', pool.inFlight);
  show('server', `Redis ${server.version ?? 'of an unknown version'}`);
  show('mode', mode);
  if (answers) showLink('open', 'Live, once a second');
  else showLink('silent', 'Redis does not answer');
}

function showBestSellers(entries) {
  // The last ones stay while Redis does not answer.
  if (entries === null) return;
  byId('none-sold').hidden = entries.length > 0;
  const items = entries.map(({ name, sold }) => {
    const [item, product, count, bar] = ['li', 'span', 'strong', 'meter'].map((tag) => document.createElement(tag));
    product.textContent = name;
    count.textContent = sold;
    bar.max = entries[0].sold;
    bar.value = sold;
    // It says again what the count beside it says.
    bar.ariaHidden = 'true';
    item.append(product, bar, count);
    return item;
  });
  byId('best-sellers').replaceChildren(...items);
}

/** It keeps the focus and says why, which a button with `disabled` does not. */
function forbid(action, why) {
  const button = buttonOf(action);
  if (button.dataset.forbidden !== undefined) return;
  button.dataset.forbidden = '';
  button.setAttribute('aria-disabled', 'true');
  byId(`about-${action}`).textContent = why;
}

function tell(name, words, failed = false) {
  const [item, title, time] = ['li', 'strong', 'time'].map((tag) => document.createElement(tag));
  const now = new Date();
  time.dateTime = now.toISOString();
  time.textContent = now.toLocaleTimeString();
  title.textContent = failed ? `${name} failed: ` : `${name}: `;
  if (failed) item.className = 'failed';
  item.append(time, title, words);
  const outcomes = byId('outcomes');
  outcomes.prepend(item);
  while (outcomes.childElementCount > KEPT) outcomes.lastElementChild.remove();
  byId('nothing').hidden = true;
}

async function run(button) {
  // Not `disabled` while it runs: the keyboard would lose its place.
  if (button.getAttribute('aria-disabled') === 'true') return;
  button.setAttribute('aria-disabled', 'true');
  button.setAttribute('aria-busy', 'true');
  const { action } = button.dataset;
  const name = byId(`name-${action}`).textContent;
  try {
    const response = await fetch(`/dashboard/${action}`, { method: 'POST' });
    const answer = await response.json();
    if (response.ok) tell(name, answer.words);
    else tell(name, answer.message ?? answer.title ?? response.status, true);
  } catch {
    tell(name, 'the shop does not answer.', true);
  } finally {
    button.removeAttribute('aria-busy');
    button.setAttribute('aria-disabled', 'false');
  }
}

/** Told only when it changes: it is read aloud. */
function showLink(state, text) {
  const link = byId('link');
  if (link.dataset.state === state) return;
  link.dataset.state = state;
  link.textContent = text;
}

for (const button of document.querySelectorAll('button[data-action]')) {
  button.addEventListener('click', () => void run(button));
}

const events = new EventSource('/dashboard/events');
events.addEventListener('message', ({ data }) => render(JSON.parse(data)));
events.addEventListener('error', () => showLink('lost', 'The shop does not answer; the figures are old'));
