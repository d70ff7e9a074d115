import type { Span } from '@agentlightning/core';
import { aModelCallSpan, aRewardSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { conversationLines } from './conversation.ts';

function linesOf(...messages: readonly object[]): readonly string[] {
  const answer = { role: 'assistant', content: 'It is 4.' };
  const call: Span = aModelCallSpan({
    sequenceId: 1,
    request: JSON.parse(JSON.stringify({ messages })),
    response: JSON.parse(JSON.stringify({ choices: [{ message: answer }] })),
  });
  return conversationLines([call, aRewardSpan(1, { sequenceId: 2 })]);
}

test('a message in parts is shown as text, and other parts by their type', () => {
  const system = {
    role: 'system',
    content: [
      { type: 'text', text: 'You add.' },
      { type: 'text', text: 'Be brief.' },
    ],
  };
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const user = { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] };
  expect(linesOf(system, user)).toEqual([
    'system    You add.\nBe brief.',
    'user      What is this?\n[image image/png]',
    'assistant It is 4.',
    'reward 1',
  ]);
});

test('content that is an object, as lenient servers take it, is shown as a part is', () => {
  const said = { role: 'user', content: { type: 'text', text: 'Add.' } };
  expect(linesOf(said, { role: 'tool', content: { type: 'sum', value: 4 } }).slice(0, 2)).toEqual([
    'user      Add.',
    'tool      {"type":"sum","value":4}',
  ]);
});

test('tool calls are shown after what was said, and a message without words by them alone', () => {
  const tool_calls = [{ function: { name: 'add', arguments: '{"a":2}' } }];
  expect(linesOf({ role: 'assistant', content: null, tool_calls }, { role: 'tool', content: '4' })).toEqual([
    'assistant → add({"a":2})',
    'tool      4',
    'assistant It is 4.',
    'reward 1',
  ]);
});

/** A recorded call with these bodies. */
function aCall(sequenceId: number, bodies: { readonly request: object; readonly response: object }): Span {
  const { request, response } = bodies;
  return aModelCallSpan({
    sequenceId,
    request: JSON.parse(JSON.stringify(request)),
    response: JSON.parse(JSON.stringify(response)),
  });
}

const user = (content: string): object => ({ role: 'user', content });
const assistant = (content: string): object => ({ role: 'assistant', content });
const choices = (...contents: readonly string[]): object => ({
  choices: contents.map((content) => ({ message: assistant(content) })),
});

test('each of several agents that run in parallel has its conversation, and its earlier calls are not repeated', () => {
  const first = aCall(1, { request: { messages: [user('Plan.')] }, response: choices('Step one.') });
  const other = aCall(2, { request: { messages: [user('Write.')] }, response: choices('A text.') });
  const request = { messages: [user('Plan.'), assistant('Step one.'), user('More.')] };
  const second = aCall(3, { request, response: choices('Step two.') });
  const path = { 'agentlightning.agent.path': 'boss>writer' };
  const writer = { ...other, attributes: { ...other.attributes, ...path } };
  expect(conversationLines([first, writer, second])).toEqual([
    'conversation 1 of 2 (boss › writer, model tiny)',
    'user      Write.',
    'assistant A text.',
    '',
    'conversation 2 of 2 (model tiny)',
    'user      Plan.',
    'assistant Step one.',
    'user      More.',
    'assistant Step two.',
    '',
    'no reward',
  ]);
});

test('every choice of a call is shown, also when one of them is continued', () => {
  const first = aCall(1, { request: { messages: [user('Pick.')] }, response: choices('Red.', 'Blue.') });
  const request = { messages: [user('Pick.'), assistant('Blue.'), user('Why?')] };
  const second = aCall(2, { request, response: choices('It is calm.') });
  const lines = conversationLines([first, second]);
  expect(lines).toContain('assistant [choice 1 of 2] Red.');
  expect(lines).toContain('assistant [choice 2 of 2] Blue.');
  expect(lines).toContain('assistant It is calm.');
});

test('a call of the Responses API is shown with its items', () => {
  const request = {
    instructions: 'Be brief.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Add.' }] }],
  };
  const output = [
    { type: 'function_call', call_id: 'c', name: 'add', arguments: '{}' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is 4.' }] },
  ];
  const lines = conversationLines([aCall(1, { request, response: { output } })]).join('\n');
  expect(lines).toMatch(/system +Be brief\.\nuser +Add\.\nassistant[\s\S]*→ add\(\{\}\)[\s\S]*It is 4\.\nno reward$/);
});

test('a call that failed is shown with its error', () => {
  const failed = aCall(1, { request: { messages: [user('Hi.')] }, response: {} });
  const status = { code: 'ERROR', message: 'HTTP 500' } as const;
  expect(conversationLines([{ ...failed, status }])).toEqual(['user      Hi.', 'error     HTTP 500', 'no reward']);
});

test('what was said cannot command the terminal it is shown on', () => {
  expect(linesOf({ role: 'user', content: 'gone?\u001b[2J\nno\u009b' })[0]).toBe('user      gone?\ufffd[2J\nno\ufffd');
});
