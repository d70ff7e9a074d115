/**
 * A model that answers at once, in this process: a `fetch` in place of the global one, so that clients find it whether
 * they look it up early or late.
 *
 * @module
 */

/** What every call asks: about 300 tokens. */
export const prompt: string = 'How many bolts are in the box that came on Monday? '.repeat(25);

/** What every call is answered. */
export const answer = 'There are seven bolts.';

const body = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'tiny',
  choices: [{ index: 0, message: { role: 'assistant', content: answer }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 300, completion_tokens: 6, total_tokens: 306 },
});
const headers = { 'content-type': 'application/json' };

/** How many requests the model has answered. */
export let requestCount = 0;

/** Puts the model in place of the network. */
export function installInstantModel(): void {
  globalThis.fetch = () => {
    requestCount += 1;
    return Promise.resolve(new Response(body, { headers }));
  };
}
