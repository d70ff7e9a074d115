import { AgentLightningError } from '@agentlightning/core';
import { failWith, respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { describe, expect, it } from 'vitest';
import type { GatewayLog } from '../src/index.ts';
import { simpleRequest, startGateway, storeWith } from './gateway-fixture.ts';

/** A log and its entries: level, message and details. */
function keptLog(): GatewayLog & { readonly lines: (readonly [string, string, object])[] } {
  const lines: (readonly [string, string, object])[] = [];
  const at =
    (level: string) =>
    (details: object, message: string): void =>
      void lines.push([level, message, details]);
  return { lines, debug: at('debug'), warn: at('warn'), error: at('error') };
}

describe('metrics', () => {
  it('count calls, tokens and tries, in Prometheus text format', async () => {
    const script = [respondWith('5'), failWith(503), respondWith('one two'), failWith(400), respondWith('5')];
    await using fixture = await startGateway({ script });
    const client = fixture.client(await fixture.attempt());
    await client.chat.completions.create(simpleRequest);
    for await (const _ of await client.chat.completions.create({ ...simpleRequest, stream: true }));
    await client.chat.completions.create(simpleRequest).catch(() => undefined);
    await fixture.client().chat.completions.create(simpleRequest);
    await fixture.gateway.drain();
    const response = await fetch(`${fixture.gateway.url}/metrics`);
    const text = await response.text();
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    for (const line of text.split('\n').filter((part) => part !== '')) {
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? (-?[\d.e+-]+|Nan|\+Inf))$/i);
    }
    const upstream = `upstream="policy@${fixture.model.baseUrl}"`;
    for (const line of [
      'agl_gateway_calls_total{api="chat-completions",model="policy",status="200"} 3',
      'agl_gateway_calls_total{api="chat-completions",model="policy",status="400"} 1',
      'agl_gateway_call_duration_seconds_count{api="chat-completions",model="policy"} 4',
      'agl_gateway_tokens_total{model="policy",kind="output"} 12',
      'agl_gateway_recorded_calls_total{model="policy",kind="trainable"} 2',
      'agl_gateway_recorded_calls_total{model="policy",kind="failed"} 1',
      'agl_gateway_recorded_calls_total{model="policy",kind="unattributed"} 1',
      `agl_gateway_upstream_retries_total{${upstream}} 1`,
      `agl_gateway_upstream_up{${upstream}} 1`,
      `agl_gateway_upstream_token_ids{${upstream}} 1`,
      'agl_gateway_calls_in_flight 0',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
  });

  it('limit the number of labels, whatever model names agents send', async () => {
    await using fixture = await startGateway({ script: () => respondWith('5'), unattributedCalls: 'pass' });
    fixture.gateway.setUpstream({ baseUrl: fixture.model.baseUrl });
    const client = fixture.client();
    for (let index = 0; index < 110; index += 1) {
      await client.chat.completions.create({ ...simpleRequest, model: `name-${index}` });
    }
    const calls = (await fixture.gateway.metrics()).match(/^agl_gateway_calls_total\{.*$/gm) ?? [];
    expect(calls).toHaveLength(101);
    expect(calls.at(-1)).toBe('agl_gateway_calls_total{api="chat-completions",model="other",status="200"} 10');
  });
});

describe('the log', () => {
  it('has an entry for every call that correlates client, gateway and upstream', async () => {
    const log = keptLog();
    await using fixture = await startGateway({ script: [respondWith('5')], log });
    const { rolloutId, attempt } = await fixture.attempt();
    const headers = { 'x-request-id': 'client-1' };
    const url = `${fixture.gateway.url}/rollout/${rolloutId}/attempt/${attempt.attemptId}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(simpleRequest) });
    await response.text();
    expect(fixture.model.requests[0]?.headers['x-request-id']).toBe('client-1');
    expect(log.lines).toMatchObject([
      [
        'debug',
        'a model call',
        { requestId: 'client-1', rolloutId, attemptId: attempt.attemptId, model: 'policy', status: 200, tries: 1 },
      ],
    ]);
  });

  it('has the reason of a failed call, also without debug entries', async () => {
    const log = keptLog();
    const gone = new AgentLightningError({ code: 'UNREACHABLE', message: 'the store is gone' });
    const store = storeWith(await openStore(':memory:'), { appendSpans: () => Promise.reject(gone) });
    await using fixture = await startGateway({ store, script: [respondWith('5')], log });
    const call = fixture.client(await fixture.attempt()).chat.completions.create(simpleRequest);
    await expect(call).rejects.toMatchObject({ status: 503 });
    expect(log.lines).toMatchObject([
      ['warn', 'a model call failed', { status: 503, err: { message: expect.stringContaining('the store is gone') } }],
    ]);
  });
});
