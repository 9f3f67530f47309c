import { onParent, tellParent, type Message } from '../../support/parent.js';

/**
 * Answers requests of the spec, of which `close` is the last: afterwards the line to the spec no longer keeps the process
 * running, so that it ends when nothing else does.
 */
export function answerParent(answers: Record<string, (message: Message) => unknown>): Promise<void> {
  for (const [type, answer] of Object.entries(answers)) {
    onParent(type, (message) => {
      void (async () => {
        const value = await answer(message);
        await tellParent({ type: `${type}:done`, value });
        if (type === 'close') process.channel?.unref();
      })();
    });
  }
  return tellParent({ type: 'ready' });
}
