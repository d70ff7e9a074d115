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

test('a message in parts is shown by its text, and what is no text by what it is', () => {
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
    'user      What is this?\n[image_url]',
    'assistant It is 4.',
    'reward 1',
  ]);
});

test('content that is an object, as lenient servers take it, is shown as a part is', () => {
  const said = { role: 'user', content: { type: 'text', text: 'Add.' } };
  expect(linesOf(said, { role: 'tool', content: { type: 'sum', value: 4 } }).slice(0, 2)).toEqual([
    'user      Add.',
    'tool      [sum]',
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

test('what was said cannot command the terminal it is shown on', () => {
  expect(linesOf({ role: 'user', content: 'gone?\u001b[2J\nno\u009b' })[0]).toBe('user      gone?\ufffd[2J\nno\ufffd');
});
