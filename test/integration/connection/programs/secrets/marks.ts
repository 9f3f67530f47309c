/** What must be seen nowhere. Each holds what escapes and parsers would cut or change. */
export const PASSWORD = 'pw-alpha9f3a?pw-bravo7c1d@pw/charlie5e2b';
export const BODY = 'body-delta4d8f "body-echo6a3c" body-foxtrot1b9e';
/** Part of a rate limit's subject, such as an API key. */
export const SUBJECT = 'subject-golf2c7e';
/** Part of a key. Errors of a pattern that is about one key (a lock) may name it, nothing else may. */
export const KEY = 'key-hotel8f1a';

export const MARKS = { password: PASSWORD, body: BODY, subject: SUBJECT, key: KEY };
export type Mark = keyof typeof MARKS;

/** The forms in which each mark could be seen: any of its pieces, and the whole as bytes or encoded. */
const FORMS = Object.entries(MARKS).map(([mark, text]) => {
  const bytes = Buffer.from(text);
  const hex = bytes.toString('hex');
  const pieces = text.match(/[a-z]+\d\w+/g)!;
  const encoded = [hex.slice(0, 40), hex.match(/../g)!.slice(0, 20).join(' '), bytes.toString('base64').slice(0, 24)];
  return { mark: mark as Mark, forms: [...pieces, ...encoded] };
});

/** The marks that can be read in a text. */
export function marksIn(text: string): Mark[] {
  return FORMS.filter(({ forms }) => forms.some((form) => text.includes(form))).map(({ mark }) => mark);
}
