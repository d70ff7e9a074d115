/**
 * Two scripted models behind one OpenAI-compatible address, so that the example runs without a key and always in the same
 * way. `clerk` follows its prompt literally, and imitates the most similar example. `editor` reads the failures and adds the
 * missing rule to the prompt.
 *
 * @module
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
});

/** Starts the models. They end with the process. */
export async function startScriptedModels(): Promise<{ readonly baseUrl: string }> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { status, answer } = answerTo(request.url ?? '', body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

let answered = 0;

function answerTo(url: string, body: string): { readonly status: number; readonly answer: object } {
  if (url === '/v1/models') return { status: 200, answer: { object: 'list', data: [] } };
  const request = url === '/v1/chat/completions' ? requestSchema.safeParse(JSON.parse(body)).data : undefined;
  if (request === undefined) return { status: 400, answer: { error: { message: 'no chat completion' } } };
  const text = request.messages.map(({ content }) => content).join('\n');
  const content = request.model === 'editor' ? edit(text) : sort(text);
  answered += 1;
  const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return {
    status: 200,
    answer: { id: `scripted-${answered}`, object: 'chat.completion', created: 0, model: request.model, choices, usage },
  };
}

/** Returns the queue of the first matching rule, or of the most similar example; verbosely unless the prompt forbids it or shows how. */
function sort(prompt: string): string {
  const ticket = [...prompt.matchAll(/^Ticket: (.*)$/gm)].at(-1)?.[1] ?? '';
  const rules = [...prompt.matchAll(/^- "(.+)" goes to (\w+)\.$/gm)];
  const shown = [...prompt.matchAll(/^Ticket: (.*)\nQueue: (\w+)$/gm)];
  const similar = shown.toSorted(([, one = ''], [, other = '']) => likeness(ticket, other) - likeness(ticket, one));
  const rule = rules.find(([, word = '']) => ticket.toLowerCase().includes(word));
  const queue = (rule ?? similar[0])?.[2] ?? 'billing';
  const isBrief = prompt.includes(brevity) || shown.length > 0;
  return isBrief ? queue : `I would say that this one is for ${queue}, but I am not sure.`;
}

/** The number of words that two tickets have in common. */
function likeness(one: string, other: string): number {
  const words = new Set(one.toLowerCase().match(/[a-z]{4,}/g) ?? []);
  return new Set((other.toLowerCase().match(/[a-z]{4,}/g) ?? []).filter((word) => words.has(word))).size;
}

const brevity = 'Reply with the name of the queue and nothing else.';

/** Adds a missing rule: one about the format, or one for a misrouted ticket. */
function edit(text: string): string {
  const [, prompt = ''] = /The prompt "\w+":\n\n([\s\S]*?)\n\nWhat the agent did/.exec(text) ?? [];
  const attempts = [...text.matchAll(/^Task: (\{.*\})[\s\S]*?^assistant: (.*)$/gm)];
  const rules = attempts.flatMap(([, task = '{}', reply = '']) => {
    const { ticket = '', queue = '' } = JSON.parse(task) as { ticket?: string; queue?: string };
    if (reply.includes(' ')) return [brevity];
    return reply === queue ? [] : [`- "${tellingWord(ticket)}" goes to ${queue}.`];
  });
  const rule = rules.find((found) => !prompt.includes(found));
  return `<prompt>\n${prompt}${rule === undefined ? '' : `\n${rule}`}\n</prompt>`;
}

/** The longest word, as the most specific one of a ticket. */
function tellingWord(ticket: string): string {
  const words = ticket.toLowerCase().match(/[a-z]+/g) ?? [];
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest), '');
}
