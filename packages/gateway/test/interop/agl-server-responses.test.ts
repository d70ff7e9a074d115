import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayFixture, startGateway } from '../gateway-fixture.ts';
import { describeInterop } from './describe-interop.ts';
import { type PythonServer, startPythonServer } from './python-peer.ts';

interface Asked {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
}

const tokens = { prompt_token_ids: [1, 2], choices: [{ token_ids: [3], logprobs: { content: [{ logprob: -0.5 }] } }] };
const completionTokens = {
  choices: [{ prompt_token_ids: [1, 2], token_ids: [4], logprobs: { token_logprobs: [-1, -2] } }],
};

/** Requests, sent to both servers in this order. */
const conversation: readonly (Asked & { readonly name: string })[] = [
  { name: 'health', path: '/healthz', headers: { authorization: '' } },
  { name: 'no key', path: '/api/rollouts/a', headers: { authorization: '' } },
  { name: 'the key of other clients', path: '/api/rollouts/a', headers: { authorization: '', 'x-api-key': 'secret' } },
  {
    name: 'create',
    method: 'POST',
    path: '/api/rollouts',
    body: [
      { rollout_id: 'a', input: { data_id: 'd1' }, metadata: { batch_idx: 3, more: 'x' } },
      { rollout_id: 'b', input: { instance_id: 7 }, is_train: false, config: { timeout_seconds: 60 } },
      { rollout_id: 'c', input: 'text', config: { local: { agent_class: 'm:C' }, k8s: { job_template: 't' } } },
      { rollout_id: 'a', input: 'again' },
    ],
  },
  { name: 'create without input', method: 'POST', path: '/api/rollouts', body: [{ rollout_id: 'x' }] },
  { name: 'create from an object', method: 'POST', path: '/api/rollouts', body: { input: 1 } },
  { name: 'create no JSON', method: 'POST', path: '/api/rollouts' },
  { name: 'create again', method: 'POST', path: '/api/rollouts', body: [{ rollout_id: 'a', input: 'other' }] },
  { name: 'list queued', path: '/api/rollouts?state_in=queuing&limit=2' },
  { name: 'list without state', path: '/api/rollouts' },
  { name: 'list unknown state', path: '/api/rollouts?state_in=cancelled' },
  { name: 'get', path: '/api/rollouts/a' },
  { name: 'get unknown', path: '/api/rollouts/unknown' },
  { name: 'skip a state', method: 'PATCH', path: '/api/rollouts/a', body: { status: { state: 'succeeded' } } },
  { name: 'patch unknown', method: 'PATCH', path: '/api/rollouts/unknown', body: { status: { state: 'failed' } } },
  { name: 'patch more', method: 'PATCH', path: '/api/rollouts/a', body: { status: { version: 3 } } },
  { name: 'patch a bad state', method: 'PATCH', path: '/api/rollouts/a', body: { status: { state: 'done' } } },
  { name: 'patch a null state', method: 'PATCH', path: '/api/rollouts/a', body: { status: { state: null } } },
  { name: 'patch nothing', method: 'PATCH', path: '/api/rollouts/a', body: {} },
  { name: 'patch the job', method: 'PATCH', path: '/api/rollouts/a', body: { status: { k8s_job_name: 'job' } } },
  {
    name: 'an early event',
    method: 'POST',
    path: '/api/rollouts/a/attempt/0/events',
    body: { event_type: 'early' },
  },
  { name: 'still queued', path: '/api/rollouts/a' },
  {
    name: 'run',
    method: 'PATCH',
    path: '/api/rollouts/a',
    body: { status: { state: 'running', last_attempt_id: '0' } },
  },
  { name: 'run again', method: 'PATCH', path: '/api/rollouts/a', body: { status: { state: 'running' } } },
  { name: 'list running', path: '/api/rollouts?state_in=running' },
  { name: 'list both', path: '/api/rollouts?state_in=queuing&state_in=running' },
  ...[
    { event_type: 'model_request', data: { response: tokens, status: 'ok', server: { model: 'm' }, http_status: 200 } },
    { event_type: 'model_request', data: { response: completionTokens, status: 'ok' } },
    { event_type: 'model_request', data: { response: { error: 'no' }, status: 'error' } },
    { event_type: 'model_request', data: { response: { error: 'no' }, routed_experts: [[1]] } },
    { event_type: 'reward', data: { value: 0.25, source: 'agent', message: 'fine' } },
    { event_type: 'reward', data: { value: 'high' } },
    { event_type: 'mine', data: { nested: { deep: [1, 'ä'] } } },
  ].map((body, index) => ({
    name: `event ${index}`,
    method: 'POST' as const,
    path: '/api/rollouts/a/attempt/0/events',
    body,
  })),
  { name: 'a bad event', method: 'POST', path: '/api/rollouts/a/attempt/0/events', body: { data: {} } },
  {
    name: 'an event of an unknown rollout',
    method: 'POST',
    path: '/api/rollouts/u/attempt/0/events',
    body: { event_type: 'x' },
  },
  { name: 'events', path: '/api/rollouts/a/events' },
  { name: 'events of a type', path: '/api/rollouts/a/events?event_type=reward' },
  { name: 'triplets', path: '/api/rollouts/a/events?format=triplet' },
  { name: 'triplets without routes', path: '/api/rollouts/a/events?format=triplet&include_routed_experts=False' },
  { name: 'events of an unknown rollout', path: '/api/rollouts/u/events' },
  { name: 'no events', path: '/api/rollouts/b/events' },
  { name: 'with attempts', path: '/api/rollouts/a' },
  { name: 'nothing terminal', path: '/api/rollouts/terminal' },
  {
    name: 'fail in the queue',
    method: 'PATCH',
    path: '/api/rollouts/b',
    body: { status: { state: 'failed', error_message: 'no image' } },
  },
  { name: 'succeed', method: 'PATCH', path: '/api/rollouts/a', body: { status: { state: 'succeeded' } } },
  { name: 'end twice', method: 'PATCH', path: '/api/rollouts/a', body: { status: { state: 'failed' } } },
  {
    name: 'patch after the end',
    method: 'PATCH',
    path: '/api/rollouts/a',
    body: { status: { error_message: 'late' } },
  },
  {
    name: 'an event after the end',
    method: 'POST',
    path: '/api/rollouts/a/attempt/0/events',
    body: { event_type: 'reward', data: { value: 1 } },
  },
  {
    name: 'an event after a failure in the queue',
    method: 'POST',
    path: '/api/rollouts/b/attempt/0/events',
    body: { event_type: 'reward', data: { value: 0 } },
  },
  { name: 'events in the end', path: '/api/rollouts/b/events' },
  { name: 'terminal', path: '/api/rollouts/terminal' },
  { name: 'terminal, one', path: '/api/rollouts/terminal?limit=1' },
  { name: 'terminal, the rest', path: '/api/rollouts/terminal?after=1' },
  { name: 'terminal, bad', path: '/api/rollouts/terminal?after=x' },
  { name: 'delete', method: 'DELETE', path: '/api/rollouts/b' },
  { name: 'delete again', method: 'DELETE', path: '/api/rollouts/b' },
  { name: 'delete a queued rollout', method: 'DELETE', path: '/api/rollouts/c' },
  { name: 'terminal, without the deleted', path: '/api/rollouts/terminal' },
  {
    name: 'register',
    method: 'POST',
    path: '/api/models',
    body: [{ model: 'policy', endpoint: 'http://127.0.0.1:9/v1' }],
  },
  { name: 'register badly', method: 'POST', path: '/api/models', body: [{ model: 'policy' }] },
  { name: 'unregister', method: 'DELETE', path: '/api/models' },
  { name: 'state', path: '/proxy/state' },
  { name: 'pause', method: 'POST', path: '/proxy/pause', body: { retry_after_seconds: 9, reason: 'weights' } },
  { name: 'paused', path: '/proxy/state' },
  { name: 'resume', method: 'POST', path: '/proxy/resume' },
  { name: 'pause by default', method: 'POST', path: '/proxy/pause', body: {} },
  { name: 'pause badly', method: 'POST', path: '/proxy/pause' },
  { name: 'resume again', method: 'POST', path: '/proxy/resume' },
];

describeInterop('the gateway as agl-server 1.0.2', (python) => {
  let server: PythonServer;
  let fixture: GatewayFixture;

  beforeAll(async () => {
    server = await startPythonServer(python, { key: 'secret', model: 'policy' });
    fixture = await startGateway({ upstream: [], aglServer: true, adminKey: 'secret' });
  }, 60_000);

  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  describe('responds identically:', () => {
    test.each(conversation)('$name', async (asked) => {
      const theirs = await ask(server.url, asked);
      expect(await ask(fixture.gateway.url, asked)).toEqual(theirs);
    });
  });
});

async function ask(url: string, { method = 'GET', path, body, headers = {} }: Asked): Promise<object> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: 'Bearer secret', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : comparable(JSON.parse(text)) };
}

/** Removes times and validation messages, which differ between the servers. */
function comparable(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(comparable);
  if (!isJsonObject(value)) return value;
  const same: Record<string, JsonValue> = {};
  for (const [name, field] of Object.entries(value)) {
    const isTime = ['timestamp', 'created_at', 'updated_at'].includes(name) && typeof field === 'number';
    if (isTime) same[name] = Math.abs(field - Date.now() / 1000) < 3600;
    else if (name === 'detail' && Array.isArray(field)) same[name] = field.map(complaint);
    else same[name] = comparable(field);
  }
  return same;
}

function complaint(entry: JsonValue): JsonObject {
  if (!isJsonObject(entry)) return {};
  return { hasType: typeof entry.type === 'string', hasWords: typeof entry.msg === 'string' };
}
