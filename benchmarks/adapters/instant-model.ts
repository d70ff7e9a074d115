/**
 * A model in this process that responds immediately: it replaces the global `fetch`, before clients look it up.
 *
 * @module
 */

/** The prompt of every call: about 300 tokens. */
export const prompt: string = 'How many bolts are in the box that came on Monday? '.repeat(25);

/** The response to every call. */
export const answer = 'There are seven bolts.';

/** Provider settings of the AI SDK, for both versions. */
export const compatibleProvider = { name: 'provider', baseURL: 'https://provider.invalid/v1', apiKey: 'key' } as const;

/** The text of a stream, read to its end. */
export async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of parts) text += part;
  return text;
}

const body = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'tiny',
  choices: [{ index: 0, message: { role: 'assistant', content: answer }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 300, completion_tokens: 6, total_tokens: 306 },
});
const headers = { 'content-type': 'application/json' };

/** The same response as a stream, one chunk per word. */
const events = answer
  .split(/(?<= )/)
  .map((content, index, { length }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'tiny',
    choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: index === length - 1 ? 'stop' : null }],
  }))
  .map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .join('');
const stream = `${events}data: [DONE]\n\n`;
const streamHeaders = { 'content-type': 'text/event-stream' };

/** Number of completed requests. */
export let requestCount = 0;

/** Replaces the network with the model. */
export function installInstantModel(): void {
  globalThis.fetch = (_, init) => {
    requestCount += 1;
    const isStreamed = typeof init?.body === 'string' && init.body.includes('"stream":true');
    const response = isStreamed ? new Response(stream, { headers: streamHeaders }) : new Response(body, { headers });
    return Promise.resolve(response);
  };
}
