import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { callTool, respondWith } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SampledArguments } from '../src/model-api/sampled-arguments.ts';
import { type GatewayFixture, startGateway } from './gateway-fixture.ts';

const spaces = fc.constantFrom('', '', ' ', '\n', '\t ');
const characters = fc.constantFrom(
  'a',
  'é',
  '\\u00e9',
  '\\"',
  '\\/',
  '/',
  '\\n',
  '😀',
  '\\ud83d\\ude00',
  '\\ud800',
  '1.0',
);
const quoted = fc.array(characters, { maxLength: 4 }).map((parts) => `"${parts.join('')}"`);
const numbers = fc.oneof(
  fc.constantFrom(
    '1',
    '1.0',
    '1e3',
    '1E+2',
    '-0',
    '0.10',
    '1e-7',
    '2512292042121000001',
    '0.1234567890123456789',
    '1e400',
  ),
  fc.integer().map(String),
);

/** JSON texts that no program writes in the same way. */
const { object } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, quoted, numbers, fc.constantFrom('true', 'null'), tie('list'), tie('object')),
  list: listed(tie('value')).map((text) => `[${text}]`),
  object: listed(
    fc.tuple(quoted, spaces, tie('value')).map(([name, space, value]) => `${name}${space}:${space}${value}`),
  ).map((text) => `{${text}}`),
}));

function listed(item: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const items = fc.array(
    fc.tuple(spaces, item, spaces).map((parts) => parts.join('')),
    { maxLength: 3 },
  );
  return fc.tuple(items, spaces).map(([texts, space]) => (texts.length === 0 ? space : texts.join(',')));
}

/** A client of one API, which reads the call and sends its value back in other JSON. */
interface Client {
  readonly path: string;
  first(isStreamed: boolean): JsonObject;
  /** The second request, from the whole response or the events of a stream. */
  second(seen: readonly JsonObject[], isStreamed: boolean): JsonObject;
}

const question = { role: 'user', content: 'Add.' };

const clients: Readonly<Record<string, Client>> = {
  'Chat Completions': {
    path: '/chat/completions',
    first: (stream) => ({
      model: 'm',
      stream,
      messages: [question],
      tools: [{ type: 'function', function: { name: 'add' } }],
    }),
    second: (seen, isStreamed) => {
      const calls = seen.flatMap(
        (body) => field(body, 'choices', 0, isStreamed ? 'delta' : 'message', 'tool_calls', 0) ?? [],
      );
      const written = calls.map((call) => String(field(call, 'function', 'arguments') ?? '')).join('');
      const call = {
        id: textAt(calls[0], 'id'),
        type: 'function',
        function: { name: 'add', arguments: rewritten(written) },
      };
      const turns = [
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'ok' },
      ];
      return { model: 'm', messages: [question, ...turns] };
    },
  },
  Messages: {
    path: '/messages',
    first: (stream) => ({
      model: 'm',
      max_tokens: 999,
      stream,
      messages: [question],
      tools: [{ name: 'add', input_schema: {} }],
    }),
    second: (seen, isStreamed) => {
      const blocks = seen.flatMap((body) => field(body, ...(isStreamed ? ['content_block'] : ['content', 0])) ?? []);
      const deltas = seen.map((event) => String(field(event, 'delta', 'partial_json') ?? '')).join('');
      const input: JsonValue = isStreamed ? JSON.parse(deltas) : (field(blocks[0] ?? null, 'input') ?? null);
      const use = { type: 'tool_use', id: textAt(blocks[0], 'id'), name: 'add', input };
      const result = { type: 'tool_result', tool_use_id: use.id, content: 'ok' };
      const turns = [
        { role: 'assistant', content: [use] },
        { role: 'user', content: [result] },
      ];
      return { model: 'm', max_tokens: 999, messages: [question, ...turns] };
    },
  },
  Responses: {
    path: '/responses',
    first: (stream) => ({
      model: 'm',
      stream,
      input: 'Add.',
      tools: [{ type: 'function', name: 'add', parameters: {} }],
    }),
    second: (seen, isStreamed) => {
      const outputs = seen.flatMap((body) => field(body, ...(isStreamed ? ['response'] : []), 'output', 0) ?? []);
      const call = outputs.at(-1) ?? null;
      const sent = { ...objectAt(call), arguments: rewritten(textAt(call, 'arguments')) };
      const result = { type: 'function_call_output', call_id: textAt(call, 'call_id'), output: 'ok' };
      return { model: 'm', input: [question, sent, result] };
    },
  },
};

const cases = Object.keys(clients).flatMap((name) => [false, true].map((isStreamed) => ({ name, isStreamed })));

it.each(cases)(
  'arguments return to the model as sampled: $name, streamed: $isStreamed',
  async ({ name, isStreamed }) => {
    let sampled = '';
    await using fixture = await startGateway({
      script: ({ messages }) => (messages.length === 1 ? callTool('add', sampled) : respondWith('ok')),
    });
    const client = clients[name];
    if (client === undefined) throw new Error(`no client ${name}`);
    const run = async (text: string): Promise<void> => {
      sampled = text;
      const attempt = await fixture.attempt();
      const seen = await post(fixture, attempt, client.path, client.first(isStreamed));
      await post(fixture, attempt, client.path, client.second(seen, isStreamed));
      const { messages = [] } = fixture.model.requests.at(-1) ?? {};
      expect(messages[1]).toMatchObject({ tool_calls: [{ function: { arguments: sampled } }] });
      const [, call] = await fixture.calls(attempt);
      expect(field(call?.request ?? {}, 'messages', 1, 'tool_calls', 0, 'function', 'arguments')).toBe(sampled);
    };
    await run('{"a": 1.0, "b" : -0,"c":[1e3 ],"d":"\\u00e9"}');
    await fc.assert(fc.asyncProperty(object, run), { numRuns: 25 });
  },
);

it('the input of a custom tool returns as the arguments that were sampled', async () => {
  const sampled = '{ "input": "caf\\u00e9" }';
  await using fixture = await startGateway({
    script: ({ messages }) => (messages.length === 1 ? callTool('edit', sampled) : respondWith('ok')),
  });
  const attempt = await fixture.attempt();
  const tools = [{ type: 'custom', name: 'edit' }];
  const [body] = await post(fixture, attempt, '/responses', { model: 'm', input: 'Edit.', tools });
  const call = objectAt(field(body ?? null, 'output', 0) ?? null);
  expect(call).toMatchObject({ type: 'custom_tool_call', input: 'café' });
  const result = { type: 'custom_tool_call_output', call_id: call.call_id ?? '', output: 'ok' };
  await post(fixture, attempt, '/responses', { model: 'm', tools, input: [{ ...question }, call, result] });
  expect(fixture.model.requests[1]?.messages[1]).toMatchObject({ tool_calls: [{ function: { arguments: sampled } }] });
});

it('arguments that the agent changed, and those of other attempts, are not replaced; others are, with a mark', async () => {
  await using fixture = await startGateway({
    script: ({ messages }) => (messages.length === 1 ? callTool('add', '{"a": 1}') : respondWith('ok')),
  });
  const client = clients['Chat Completions'];
  if (client === undefined) throw new Error('no client');
  const [first, other] = [await fixture.attempt(), await fixture.attempt()];
  const again = client.second(await post(fixture, first, client.path, client.first(false)), false);
  const changed: JsonObject = JSON.parse(JSON.stringify(again).replace('{\\"a\\":1}', '{\\"a\\":2}'));
  await post(fixture, first, client.path, changed);
  await post(fixture, other, client.path, again);
  await post(fixture, first, client.path, again);
  const sent = fixture.model.requests
    .slice(1)
    .map(({ messages }) => field(messages[1] ?? null, 'tool_calls', 0, 'function'));
  expect(sent.map((target) => textAt(target, 'arguments'))).toEqual(['{"a":2}', '{"a":1}', '{"a": 1}']);
  const marks = (await fixture.spans(first)).map(({ attributes }) => attributes['agentlightning.request_changes']);
  expect(marks).toEqual([undefined, undefined, ['messages: arguments of earlier tool calls as they were sampled']]);
});

it('numbers in tools, schemas and messages keep their text', async () => {
  const numbers = '{"minimum":0.0,"maximum":1e3,"default":-0,"examples":[2512292042121000001,1.50]}';
  await using fixture = await startGateway({ script: () => respondWith('ok') });
  const attempt = await fixture.attempt();
  const text = JSON.stringify({
    model: 'm',
    temperature: '1.0',
    messages: [question],
    tools: [{ type: 'function', function: { name: 'add', parameters: 'numbers' } }],
  });
  const body = text.replace('"numbers"', numbers).replace('"1.0"', '1.0');
  await postText(fixture, attempt, '/chat/completions', body);
  const [span] = await fixture.spans(attempt);
  expect(String(span?.attributes['agentlightning.request_body'])).toContain(numbers);
  expect(span?.attributes['gen_ai.request.temperature']).toBe(1);
});

it('the oldest arguments are forgotten first', () => {
  const memory = new SampledArguments(400);
  const attempt = { rolloutId: 'r', attemptId: 'a', isUnattributed: false };
  const conversation = (text: string): JsonObject => ({
    messages: [{ role: 'assistant', tool_calls: [{ id: text, function: { arguments: text } }] }],
  });
  const texts = ['{"a": 1}', '{"a": 2}', '{"a": 3}', '{"a": 4}', '{"a": 5}'];
  for (const text of texts) {
    const message = { tool_calls: [{ id: text.replace(' ', ''), function: { arguments: text } }] };
    memory.remember({ attempt }, { response: { choices: [{ message }] } });
  }
  const restored = texts.map((text) => memory.restore(attempt, conversation(text.replace(' ', ''))));
  expect(restored.map((request) => field(request, 'messages', 0, 'tool_calls', 0, 'function', 'arguments'))).toEqual([
    '{"a":1}',
    ...texts.slice(1),
  ]);
});

function rewritten(text: string): string {
  return JSON.stringify(JSON.parse(text));
}

/** The value at a path; undefined for none. */
function field(value: JsonValue, ...path: readonly (string | number)[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const name of path) at = Array.isArray(at) ? at[Number(name)] : isJsonObject(at) ? at[name] : undefined;
  return at;
}

function objectAt(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {};
}

function textAt(value: JsonValue | undefined, name: string): string {
  return String(field(value ?? null, name) ?? '');
}

function post(
  fixture: GatewayFixture,
  attempt: AttemptedRollout,
  path: string,
  body: JsonObject,
): Promise<readonly JsonObject[]> {
  return postText(fixture, attempt, path, JSON.stringify(body));
}

/** The whole response, or the events of a stream. */
async function postText(
  fixture: GatewayFixture,
  attempt: AttemptedRollout,
  path: string,
  body: string,
): Promise<readonly JsonObject[]> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${fixture.baseUrl(attempt)}${path}`, { method: 'POST', headers, body });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  if (response.headers.get('content-type')?.includes('json') === true) return [JSON.parse(text)];
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  return data.map((line) => JSON.parse(line.slice('data: '.length)));
}
