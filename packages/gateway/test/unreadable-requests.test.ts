import { gzipSync } from 'node:zlib';
import { respondWith } from '@agentlightning/core/testing';
import { describe, expect, it } from 'vitest';
import { simpleRequest, startGateway } from './gateway-fixture.ts';

const json = { 'content-type': 'application/json' };

describe('a compressed request', () => {
  it.each([
    ['chat/completions', { error: { code: 'VALIDATION', message: expect.stringContaining('gzip') } }],
    ['messages', { type: 'error', error: { message: expect.stringContaining('gzip') } }],
    ['embeddings', { error: { code: 'VALIDATION', message: expect.stringContaining('gzip') } }],
  ])('is rejected at %s with 415 and the remedy', async (path, error) => {
    await using fixture = await startGateway();
    const attempt = await fixture.attempt();
    for (const query of ['', '?beta=true']) {
      const response = await fetch(`${fixture.baseUrl(attempt)}/${path}${query}`, {
        method: 'POST',
        headers: { ...json, 'content-encoding': 'gzip' },
        body: gzipSync(JSON.stringify(simpleRequest)),
      });
      expect(response.status).toBe(415);
      expect(response.headers.get('accept-encoding')).toBe('identity');
      expect(await response.json()).toMatchObject(error);
    }
    expect(fixture.gateway.state().inFlight).toBe(0);
  });

  it('with the encoding `identity` is accepted', async () => {
    await using fixture = await startGateway({ script: [respondWith('5')] });
    const response = await fetch(`${fixture.baseUrl(await fixture.attempt())}/chat/completions`, {
      method: 'POST',
      headers: { ...json, 'content-encoding': 'Identity' },
      body: JSON.stringify(simpleRequest),
    });
    expect(response.status).toBe(200);
  });
});

describe('a request that is nested too deeply to be serialized', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const toolUse = `[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"a":${deep}}}]}]`;

  it.each([
    ['chat/completions', `{"messages":${deep}}`],
    ['completions', `{"prompt":${deep}}`],
    ['responses', `{"input":"Hi","metadata":${deep},"top_k":${deep}}`],
    ['messages', `{"messages":${toolUse}}`],
    ['messages/count_tokens', `{"messages":${toolUse}}`],
  ])('is rejected at %s with 400, not as an internal error', async (path, body) => {
    await using fixture = await startGateway();
    const attempt = await fixture.attempt();
    const response = await fetch(`${fixture.baseUrl(attempt)}/${path}`, { method: 'POST', headers: json, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('nested') } });
    expect(fixture.model.requests).toEqual([]);
    expect(fixture.gateway.state().inFlight).toBe(0);
  });
});
