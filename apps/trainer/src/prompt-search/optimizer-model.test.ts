import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { env } from '@agentlightning/core/settings';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keySourceText, type ResolvedOptimizer } from '../config/resolve-prompt-search.ts';
import { OptimizerModel } from './optimizer-model.ts';

/** The responses of the server in order; the last one repeats. */
type ScriptedResponse = { readonly status: number; readonly body: string; readonly headers?: Record<string, string> };

let server: Server;
let responses: ScriptedResponse[];
let seen: { readonly body: string; readonly key: string | undefined }[];
let slept: number[];
let underWay: { now: number; most: number };

const said = (content: string | null): ScriptedResponse => ({
  status: 200,
  body: JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }),
});

beforeEach(async () => {
  [responses, seen, slept, underWay] = [[], [], [], { now: 0, most: 0 }];
  server = createServer(async (request, response) => {
    underWay.now += 1;
    underWay.most = Math.max(underWay.most, underWay.now);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    seen.push({ body, key: request.headers.authorization });
    const next = responses.length > 1 ? responses.shift() : responses[0];
    underWay.now -= 1;
    response.writeHead(next?.status ?? 500, next?.headers).end(next?.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Time does not pass; what was waited for is noted. */
const clock: Clock = {
  now: () => 0,
  sleep: (ms) => {
    slept.push(ms);
    return Promise.resolve();
  },
};

function model(
  settings: Partial<ResolvedOptimizer> = {},
  signal: AbortSignal = new AbortController().signal,
): OptimizerModel {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  const keySource = keySourceText(env('KEY'), '`optimizer.apiKey`');
  const defaults = {
    baseUrl,
    model: 'm',
    apiKey: null,
    keySource,
    maxConcurrent: 8,
    timeoutMs: 30_000,
    parameters: {},
  };
  return new OptimizerModel({ ...defaults, ...settings }, { clock, signal });
}

const messages = [{ role: 'user', content: 'Well?' }] as const;

test('sends what was asked, with its key and the fields of the configuration', async () => {
  responses = [said('Fine.')];
  const asked = model({ apiKey: 'sk-1', parameters: { reasoning_effort: 'low' } });
  expect(await asked.complete(messages, 0.5)).toBe('Fine.');
  const body = { model: 'm', messages, temperature: 0.5, reasoning_effort: 'low' };
  expect(seen).toEqual([{ body: JSON.stringify(body), key: 'Bearer sk-1' }]);
});

test('waits as long as a busy model asks for, and longer and longer where it does not say', async () => {
  const busy = { status: 429, body: '{}' };
  responses = [{ ...busy, headers: { 'retry-after': '3' } }, busy, { status: 500, body: 'oops' }, said('At last.')];
  expect(await model().complete(messages, 1)).toBe('At last.');
  expect(slept).toEqual([3000, 1000, 2000]);
});

test('gives up on a model that refuses at once, and on one that does not respond after five times', async () => {
  responses = [{ status: 401, body: JSON.stringify({ error: { message: 'Incorrect API key provided.' } }) }];
  const refused = model().complete(messages, 1);
  await expect(refused).rejects.toThrow(
    /optimiser model m at http.* rejects the key in the environment variable KEY \(`optimizer.apiKey`\) with HTTP 401$/,
  );
  await expect(refused).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(seen.length).toBe(1);
  responses = [{ status: 200, body: '{"choices":[]}' }];
  await expect(model().complete(messages, 1)).rejects.toThrow(
    /the response is not a chat completion: \{"choices":\[\]\}/,
  );
  expect(seen.length).toBe(6);
});

test('a response without text is empty', async () => {
  responses = [said(null)];
  expect(await model().complete(messages, 1)).toBe('');
});

test('limits concurrent requests, and completes all', async () => {
  responses = [said('Yes.')];
  const asked = model({ maxConcurrent: 2 });
  const replies = await Promise.all(Array.from({ length: 12 }, () => asked.complete(messages, 1)));
  expect(replies).toEqual(Array<string>(12).fill('Yes.'));
  expect(underWay.most).toBeLessThanOrEqual(2);
});

test('a search that is over asks no more', async () => {
  const over = new AbortController();
  over.abort(new AgentLightningError({ code: 'CANCELLED', message: 'over' }));
  await expect(model({}, over.signal).complete(messages, 1)).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(seen).toEqual([]);
});
