// Runs in the page before the page's own script: remembers all that the page showed, and measures how it looks.

/** Every text that a place of the page had, by its name, oldest first. */
const seen = {};

function look() {
  for (const place of document.querySelectorAll('[data-figure], #link')) {
    const texts = (seen[place.dataset.figure ?? place.id] ??= []);
    if (texts.at(-1) !== place.textContent) texts.push(place.textContent);
  }
}

addEventListener('DOMContentLoaded', () => {
  look();
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
});

/** Red, green and blue from 0 to 255, and alpha from 0 to 1. */
function channels(color) {
  const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
  return [red, green, blue, alpha];
}

/** What is seen behind an element: its background, over those of what it lies in. */
function ground(element) {
  const [red, green, blue, alpha] = channels(getComputedStyle(element).backgroundColor);
  if (alpha === 1 || element.parentElement === null) return [red, green, blue];
  const behind = ground(element.parentElement);
  return [red, green, blue].map((channel, n) => channel * alpha + behind[n] * (1 - alpha));
}

/** https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
function luminance(color) {
  const [red, green, blue] = color.map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function ratio(one, other) {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** The contrast of every text that can be seen to what is behind it. */
function contrasts() {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (data.trim() === '' || !parentElement.checkVisibility()) continue;
    const text = channels(getComputedStyle(parentElement).color);
    found.push({ text: data.trim(), ratio: ratio(text.slice(0, 3), ground(parentElement)) });
  }
  return found;
}

/** What sticks out of the window, or whose content sticks out of it. */
function overflows() {
  const width = document.documentElement.clientWidth;
  const wide = [...document.querySelectorAll('body *')].filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return left < 0 || right > width || element.scrollWidth > element.clientWidth + 1;
  });
  // What is inline has no width of its own.
  return wide.filter((element) => getComputedStyle(element).display !== 'inline').map((element) => element.outerHTML);
}

/** The element that has the focus: what it is, and how its outline stands out from what is around it. */
function focused() {
  const element = document.activeElement;
  if (element === document.body) return null;
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
  const outline = outlineStyle === 'none' ? 0 : Number.parseFloat(outlineWidth);
  const contrast = ratio(channels(outlineColor).slice(0, 3), ground(element.parentElement));
  return { name: element.dataset.action ?? element.getAttribute('href') ?? element.id, outline, contrast };
}

/** Every state that the page gives a colour of its own, shown somewhere. */
function showEveryTone() {
  const figures = [...document.querySelectorAll('dd[data-figure]')];
  for (const [n, tone] of ['good', 'warn', 'bad'].entries()) figures[n].dataset.tone = tone;
  document.querySelector('.headline strong').dataset.tone = 'bad';
  const [busy, forbidden] = document.querySelectorAll('button');
  busy.setAttribute('aria-busy', 'true');
  for (const button of [busy, forbidden]) button.setAttribute('aria-disabled', 'true');
}

globalThis.audit = { seen, ground, contrasts, overflows, focused, showEveryTone };
