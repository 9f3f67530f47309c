// Shows what the shop tells once a second, and what came of the buttons. Plain JavaScript, as the browser gets it.

/** Outcomes that stay on the page. */
const KEPT = 20;
const NO_ANSWER = 'no answer';

const byId = (id) => document.getElementById(id);

function show(figure, value) {
  const element = document.querySelector(`[data-figure="${figure}"]`);
  const text = String(value);
  if (element.textContent !== text) element.textContent = text;
}

/** What is told of a part that Redis did not answer for. */
function showPart(part, figures) {
  for (const [figure, read] of Object.entries(figures)) show(figure, part === null ? NO_ANSWER : read(part));
}

function showMeter(id, value, max) {
  const meter = byId(id);
  if (max !== undefined) meter.max = max;
  meter.value = value;
}

const seconds = (ms) => (ms > 0 ? `${Math.ceil(ms / 1000)} s` : 'now');

function render({ connection, cache, limiter, lock, stream, sessions, bestSellers, visits, freezable }) {
  showPart(cache, {
    hitRatio: ({ hitRatio }) => (hitRatio === undefined ? 'nothing read yet' : `${Math.round(hitRatio * 100)} %`),
    hits: ({ hits }) => hits,
    l1Hits: ({ l1Hits }) => l1Hits,
    misses: ({ misses }) => misses,
    loads: ({ loads }) => loads,
    running: ({ running }) => running,
  });
  showMeter('hit-meter', cache.hitRatio ?? 0);
  showPart(limiter, {
    remaining: ({ remaining, limit }) => `${remaining} of ${limit}`,
    resetAfter: ({ resetAfterMs }) => seconds(resetAfterMs),
  });
  if (limiter !== null) showMeter('limit-meter', limiter.remaining, limiter.limit);
  showPart(lock, {
    owner: ({ owner }) => owner ?? 'nobody',
    fence: ({ fence }) => fence ?? '–',
    lease: ({ owner, remainingMs }) => (owner === undefined ? '–' : `${remainingMs} ms`),
    waiting: ({ waiting }) => waiting,
  });
  showPart(stream, {
    lag: ({ lag }) => lag ?? 'unknown',
    pending: ({ pending }) => pending,
    retries: ({ retries }) => retries,
    deadLetters: ({ deadLetters }) => deadLetters,
  });
  showPart(visits, { views: ({ views }) => views, visitors: ({ visitors }) => visitors });
  show('sessions', sessions ?? NO_ANSWER);
  showBestSellers(bestSellers);
  const { status, breaker, pool, server, mode } = connection;
  show('status', status);
  show('breaker', breaker.openNodes.length > 0 ? `${breaker.state}: ${breaker.openNodes.join(', ')}` : breaker.state);
  show('inFlight', pool.inFlight);
  show('server', `Redis ${server.version ?? 'of an unknown version'}, ${mode}`);
  if (!freezable) forbidFreeze();
}

function showBestSellers(entries) {
  // The last ones stay while Redis does not answer.
  if (entries === null) return;
  byId('none-sold').hidden = entries.length > 0;
  const items = entries.map(({ name, sold }) => {
    const item = document.createElement('li');
    item.textContent = `${name}: ${sold}`;
    return item;
  });
  byId('best-sellers').replaceChildren(...items);
}

/** It keeps the focus and says why, which a button with `disabled` does not. */
function forbidFreeze() {
  const button = document.querySelector('[data-action="freeze"]');
  if (button.dataset.forbidden !== undefined) return;
  button.dataset.forbidden = '';
  button.setAttribute('aria-disabled', 'true');
  byId('about-freeze').textContent = 'only where the demo has started Redis itself, without Sentinels';
}

function tell(words, failed = false) {
  const time = document.createElement('time');
  const now = new Date();
  time.dateTime = now.toISOString();
  time.textContent = now.toLocaleTimeString();
  const item = document.createElement('li');
  if (failed) item.className = 'failed';
  item.append(time, words);
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
  const name = button.textContent;
  try {
    const response = await fetch(`/dashboard/${button.dataset.action}`, { method: 'POST' });
    const answer = await response.json();
    if (response.ok) tell(`${name}: ${answer.words}`);
    else tell(`${name} failed: ${answer.message ?? answer.title ?? response.status}`, true);
  } catch {
    tell(`${name} failed: the shop does not answer.`, true);
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
events.addEventListener('message', ({ data }) => {
  showLink('open', 'Live, once a second');
  render(JSON.parse(data));
});
events.addEventListener('error', () => showLink('lost', 'The shop does not answer; the figures are old'));
