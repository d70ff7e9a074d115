import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@agentlightning/store';
import { expect, it, onTestFinished } from 'vitest';
import { completionBody, respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

const data = Buffer.from('a picture').toString('base64');
const url = `data:image/png;base64,${data}`;
const imageUrl = (address: string): object => ({ type: 'image_url', image_url: { url: address } });
const chat = (...parts: readonly object[]): object => ({
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, ...parts] }],
});

/** The same question with an image in each API. */
const requests: readonly (readonly [path: string, body: object])[] = [
  ['chat/completions', chat(imageUrl(url))],
  ['chat/completions', chat(imageUrl(url.replace('image/png', 'image/jpg')))],
  [
    'responses',
    { model: 'm', input: [{ role: 'user', content: [{ type: 'input_image', image_url: url, detail: 'auto' }] }] },
  ],
  [
    'messages',
    {
      model: 'm',
      max_tokens: 9,
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }] },
      ],
    },
  ],
];

it.each(requests)('a call of %s with an image is trainable where the model reads images', async (path, body) => {
  await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
  await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, readsImages: true } });
  const attempt = await fixture.attempt('train');
  const response = await fetch(`${fixture.baseUrl(attempt)}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  await response.text();
  expect(upstream.requests[0]?.body).toContain(data);
  const [call] = await fixture.calls(attempt);
  expect(call).toMatchObject({ isTrainable: true, untrainableReason: null, imageCount: 1 });
  expect(JSON.stringify(call?.request)).toContain(data);
});

it.each([
  [{ readsImages: false }, chat(imageUrl(url)), 'a part of the type `image_url`, which its token ids do not represent'],
  [{ readsImages: true }, chat(imageUrl('https://example.com/a.png')), 'an image by its address'],
  [{ readsImages: true }, chat(imageUrl('data:image/svg+xml;base64,AA')), 'an image in another format'],
  [{ readsImages: true }, chat({ type: 'input_audio', input_audio: {} }), 'only text and images are trained on'],
])('a call is not trainable with %j: %#', async (reads, body, reason) => {
  await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
  await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, ...reads } });
  const attempt = await fixture.attempt('train');
  const address = `${fixture.baseUrl(attempt)}/chat/completions`;
  await (await fetch(address, { method: 'POST', body: JSON.stringify(body) })).text();
  const [call] = await fixture.calls(attempt);
  expect(call).toMatchObject({ isTrainable: false, untrainableReason: expect.stringContaining(reason) });
});

it('a conversation that repeats an image stores it once, whichever API the agent uses', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agl-images-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'agl.db');
  await (await openStore(file)).close();
  const before = (await stat(file)).size;
  const image = Buffer.alloc(300_000, 'a picture').toString('base64');
  await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
  const started = await startGateway({
    upstream: { baseUrl: upstream.baseUrl, readsImages: true },
    store: await openStore(file),
  });
  {
    await using fixture = started;
    const attempt = await fixture.attempt('train');
    for (const [path, body] of requests) {
      // Twice in one conversation.
      const text = JSON.stringify(body).replaceAll(data, image);
      const { messages, input, ...rest } = JSON.parse(text);
      const twice = input === undefined ? { messages: [...messages, ...messages] } : { input: [...input, ...input] };
      const address = `${fixture.baseUrl(attempt)}/${path}`;
      const response = await fetch(address, { method: 'POST', body: JSON.stringify({ ...rest, ...twice }) });
      expect(response.status).toBe(200);
      await response.text();
    }
    const calls = await fixture.calls(attempt);
    expect(calls.map(({ imageCount }) => imageCount)).toEqual(requests.map(() => 2));
    for (const { request } of calls) expect(JSON.stringify(request).split(image)).toHaveLength(3);
  }
  const grown = (await stat(file)).size - before;
  expect(grown).toBeGreaterThan(image.length);
  expect(grown).toBeLessThan(image.length + 100_000);
});
