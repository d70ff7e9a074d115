import { respondWith } from '@agentlightning/core/testing';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

describe('embeddings', () => {
  it('keep the requested model, and are not recorded', async () => {
    await using fixture = await startGateway({ script: [respondWith(''), respondWith('')] });
    const attempt = await fixture.attempt();
    for (const client of [fixture.client(attempt), fixture.client()]) {
      const { data } = await client.embeddings.create({ model: 'text-embedding-3-small', input: ['a', 'b'] });
      expect(data.map(({ embedding }) => embedding.length)).toEqual([3, 3]);
    }
    expect(fixture.model.requests[0]?.body).toMatchObject({ model: 'text-embedding-3-small', input: ['a', 'b'] });
    expect(await fixture.spans(attempt)).toEqual([]);
    expect(fixture.gateway.state().inFlight).toBe(0);
  });

  it('that the upstream lacks return its error', async () => {
    await using upstream = await startUpstream((response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"no such model"}}');
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const call = fixture.client(await fixture.attempt()).embeddings.create({ model: 'm', input: 'a' });
    await expect(call).rejects.toMatchObject({ status: 404, message: expect.stringContaining('no such model') });
  });
});

describe('the list of models', () => {
  it('has the form of Anthropic for Anthropic’s client', async () => {
    const model = { id: 'tiny', object: 'model', created: 1_700_000_000, owned_by: 'vllm' };
    await using upstream = await startUpstream((response) =>
      respondJson(response, response.req.url === '/v1/models' ? { object: 'list', data: [model] } : model),
    );
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const { models } = new Anthropic({
      baseURL: fixture.baseUrl(await fixture.attempt()),
      apiKey: 'none',
      maxRetries: 0,
    });
    const seen = { type: 'model', id: 'tiny', display_name: 'tiny', created_at: '2023-11-14T22:13:20.000Z' };
    const listed: unknown[] = [];
    for await (const one of models.list()) listed.push(one);
    expect(listed).toEqual([seen]);
    expect(await models.retrieve('tiny')).toMatchObject(seen);
  });

  it('is the upstream’s, and each model can be read', async () => {
    const paths: (string | undefined)[] = [];
    await using upstream = await startUpstream((response) => {
      paths.push(response.req.url);
      respondJson(response, { id: 'org/tiny', object: 'model' });
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const { models } = fixture.client(await fixture.attempt());
    expect((await models.retrieve('org/tiny')).id).toBe('org/tiny');
    expect(paths).toContain('/v1/models/org%2Ftiny');
  });

  it('is found by Anthropic’s client, which appends /v1 to the base URL of an attempt', async () => {
    await using upstream = await startUpstream((response) => {
      const model = { id: 'tiny', object: 'model' };
      respondJson(response, response.req.url === '/v1/models' ? { object: 'list', data: [model] } : model);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const { baseURL } = fixture.client(await fixture.attempt());
    const { models } = new Anthropic({ baseURL, apiKey: 'unused', maxRetries: 0 });
    expect((await models.list()).data).toMatchObject([{ id: 'tiny' }]);
    expect((await models.retrieve('tiny')).id).toBe('tiny');
  });

  it('has only registered models of an upstream that others use too', async () => {
    await using upstream = await startUpstream((response) => {
      respondJson(response, { object: 'list', data: [{ id: 'mine' }, { id: 'of-another-project' }] });
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, model: 'mine' } });
    const { models } = fixture.client(await fixture.attempt());
    expect((await models.list()).data).toEqual([{ id: 'mine' }]);
    await expect(models.retrieve('of-another-project')).rejects.toMatchObject({ status: 404 });
  });

  it('may be a response without a body', async () => {
    await using upstream = await startUpstream((response) => void response.writeHead(204).end());
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    expect((await fetch(`${fixture.gateway.url}/v1/models`)).status).toBe(204);
  });
});

describe('token counts of a message', () => {
  const request = { model: 'claude', messages: [{ role: 'user' as const, content: 'Hi' }], system: 'Be brief.' };

  it('come from the tokenizer of the engine', async () => {
    const paths: (string | undefined)[] = [];
    await using upstream = await startUpstream((response) => {
      paths.push(response.req.url);
      respondJson(response, { count: 7, max_model_len: 4096, tokens: [] });
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl, model: 'policy' } });
    const { baseURL } = fixture.client(await fixture.attempt());
    const { messages } = new Anthropic({ baseURL, apiKey: 'unused', maxRetries: 0 });
    expect(await messages.countTokens(request)).toEqual({ input_tokens: 7 });
    expect(paths).toContain('/tokenize');
    expect(JSON.parse(upstream.requests.at(-1)?.body ?? '')).toEqual({
      model: 'policy',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
    });
  });

  it('are rejected in Anthropic’s format without a tokenizer', async () => {
    await using fixture = await startGateway();
    const { baseURL } = fixture.client(await fixture.attempt());
    const { messages } = new Anthropic({ baseURL, apiKey: 'unused', maxRetries: 0 });
    await expect(messages.countTokens(request)).rejects.toMatchObject({
      status: 404,
      error: { type: 'error', error: { type: 'not_found_error' } },
    });
  });
});
