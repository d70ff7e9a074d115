import type { JsonObject } from '@agentlightning/core';
import { respondWith, type ScriptedResponse } from '@agentlightning/core/testing';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createAnthropic as createAnthropic2 } from '@ai-sdk/anthropic-2';
import { createAnthropic as createAnthropic3 } from '@ai-sdk/anthropic-3';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAI as createOpenAI2 } from '@ai-sdk/openai-2';
import { createOpenAI as createOpenAI3 } from '@ai-sdk/openai-3';
import { describe, expect, it } from 'vitest';
import { type GatewayFixture, respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

/** The part of a provider's model that all majors have. */
interface ProviderModel {
  doGenerate(options: object): PromiseLike<{ readonly content: readonly { readonly type: string }[] }>;
  doStream(options: object): PromiseLike<{ readonly stream: ReadableStream<{ readonly type: string }> }>;
}

/** The providers validate whole responses and stream events with strict schemas, which differ by major. */
const providers: readonly (readonly [string, (baseURL: string) => unknown])[] = [
  ['@ai-sdk/anthropic 2', (baseURL) => createAnthropic2({ baseURL, apiKey: 'none' })('claude-opus-4-5')],
  ['@ai-sdk/anthropic 3', (baseURL) => createAnthropic3({ baseURL, apiKey: 'none' })('claude-opus-4-5')],
  ['@ai-sdk/anthropic 4', (baseURL) => createAnthropic({ baseURL, apiKey: 'none' })('claude-opus-4-5')],
  ['@ai-sdk/openai 2 on Responses', (baseURL) => createOpenAI2({ baseURL, apiKey: 'none' }).responses('gpt-5')],
  ['@ai-sdk/openai 3 on Responses', (baseURL) => createOpenAI3({ baseURL, apiKey: 'none' }).responses('gpt-5')],
  ['@ai-sdk/openai 4 on Responses', (baseURL) => createOpenAI({ baseURL, apiKey: 'none' }).responses('gpt-5')],
  ['@ai-sdk/openai 2 on chat', (baseURL) => createOpenAI2({ baseURL, apiKey: 'none' }).chat('gpt-4o')],
  ['@ai-sdk/openai 3 on chat', (baseURL) => createOpenAI3({ baseURL, apiKey: 'none' }).chat('gpt-4o')],
  ['@ai-sdk/openai 4 on chat', (baseURL) => createOpenAI({ baseURL, apiKey: 'none' }).chat('gpt-4o')],
];

const textAndCall: ScriptedResponse = {
  type: 'response',
  content: 'Let me add.',
  reasoning: 'Two sums.',
  toolCalls: [{ id: 'call_a', name: 'add', arguments: { a: 2, b: 3 } }],
};

const call = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'What is 2 + 3?' }] }],
  providerOptions: {},
};

function isProviderModel(model: unknown): model is ProviderModel {
  return typeof model === 'object' && model !== null && 'doGenerate' in model;
}

async function typesOfStream(stream: ReadableStream<{ readonly type: string }>): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const part of stream) types.push(part.type);
  return types;
}

describe('the response schemas of', () => {
  it.each(providers)('%s accept a whole and a streamed response', async (_, modelAt) => {
    await using fixture = await startGateway({ script: () => textAndCall });
    const model = modelAt(fixture.baseUrl(await fixture.attempt()));
    if (!isProviderModel(model)) expect.unreachable();
    const { content } = await model.doGenerate(call);
    expect(content.map(({ type }) => type)).toContain('text');
    const types = await typesOfStream((await model.doStream(call)).stream);
    expect(types).toContain('finish');
    expect(types).not.toContain('error');
  });
});

describe('the schemas of Completions', () => {
  const choice = { index: 0, text: '5', finish_reason: 'stop', logprobs: null };
  const body = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'base', choices: [choice] };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

  it.each([
    ['@ai-sdk/openai 2', createOpenAI2],
    ['@ai-sdk/openai 3', createOpenAI3],
    ['@ai-sdk/openai 4', createOpenAI],
  ])('of %s accept a whole and a streamed response', async (_, create) => {
    await using upstream = await startUpstream((response, index) => {
      if (index === 0) return respondJson(response, { ...body, usage });
      const chunks = [body, { ...body, choices: [], usage }].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${chunks.join('')}data: [DONE]\n\n`);
    });
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const baseURL = fixture.baseUrl(await fixture.attempt());
    const model: unknown = create({ baseURL, apiKey: 'none' }).completion('base');
    if (!isProviderModel(model)) expect.unreachable();
    expect((await model.doGenerate(call)).content).toMatchObject([{ type: 'text', text: '5' }]);
    const types = await typesOfStream((await model.doStream(call)).stream);
    expect(types).toContain('finish');
    expect(types).not.toContain('error');
  });
});

async function bodyOf(fixture: GatewayFixture, path: string, request: object): Promise<JsonObject> {
  const url = `${fixture.baseUrl(await fixture.attempt())}${path}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  return JSON.parse(await response.text());
}

/** The paths of all fields with the value null. */
function nulls(value: unknown, path = ''): readonly string[] {
  if (value === null) return [path.slice(1)];
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) => nulls(inner, `${path}.${name}`));
}

describe('fields that a response does not have', () => {
  it.each([
    ['/messages', { max_tokens: 99, messages: [{ role: 'user', content: 'hi' }] }, ['stop_sequence']],
    [
      '/responses',
      { input: 'hi' },
      ['error', 'incomplete_details', 'instructions', 'reasoning.effort', 'reasoning.summary'],
    ],
  ])('of %s are left out, unless the official types require null', async (path, request, required) => {
    await using fixture = await startGateway({ script: [textAndCall] });
    expect(nulls(await bodyOf(fixture, path, { model: 'm', ...request }))).toEqual(required);
  });
});

describe('request fields beyond the prompt', () => {
  it('that Chat Completions have reach the upstream, and a response repeats them', async () => {
    await using fixture = await startGateway({ script: () => respondWith('5') });
    const fields = {
      service_tier: 'flex',
      prompt_cache_key: 'thread-1',
      safety_identifier: 'user-1',
      metadata: { task: 'sum' },
    };
    const body = await bodyOf(fixture, '/responses', { model: 'm', input: 'hi', ...fields });
    expect(fixture.model.requests[0]?.body).toMatchObject(fields);
    expect(body).toMatchObject({
      prompt_cache_key: 'thread-1',
      safety_identifier: 'user-1',
      metadata: { task: 'sum' },
    });
    const messages = [{ role: 'user', content: 'hi' }];
    await bodyOf(fixture, '/messages', { model: 'm', max_tokens: 9, messages, service_tier: 'standard_only' });
    expect(fixture.model.requests[1]?.body).toMatchObject({ service_tier: 'default' });
  });

  it('that Chat Completions lack are named in the record', async () => {
    await using fixture = await startGateway({ script: () => respondWith('5') });
    const attempt = await fixture.attempt();
    const client = fixture.client(attempt);
    await client.responses.create({ model: 'm', input: 'hi', truncation: 'auto', max_tool_calls: 3 });
    expect((await fixture.spans(attempt))[0]?.attributes['agentlightning.request_changes']).toEqual([
      'max_tool_calls: left out',
      'truncation: left out',
    ]);
  });
});
