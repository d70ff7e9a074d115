import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import type { Span } from '../spans/span.ts';
import { genAiAttributes, modelCallAttributes } from '../spans/span-attributes.ts';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { withRollout } from '../tracing/rollout-context.ts';
import { AgentSteps } from './agent-steps.ts';
import { ConversationSteps, contentText } from './conversation-steps.ts';

const system = { role: 'system', content: 'Be brief.' };
const question = { role: 'user', content: 'What is 2 + 3?' };

/** The events of a streamed response with one text. */
function eventsOf(text: string, stopReason: string | null = 'end_turn'): readonly JsonObject[] {
  return [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    ...(stopReason === null ? [] : [{ type: 'message_delta', delta: { stop_reason: stopReason } }]),
    { type: 'message_stop' },
  ];
}

function recorded(run: (conversation: ConversationSteps) => void): readonly Span[] {
  const sink = new MemorySpanSink();
  withRollout(aRolloutContext({ sink }), () => {
    const steps = new AgentSteps({ framework: 'test' });
    run(new ConversationSteps(steps, { agentName: 'clerk', model: 'tiny', messages: [system] }));
    expect(steps.openCount).toBe(0);
  });
  return sink.spans;
}

function messagesOf({ attributes }: Span, name: 'inputMessages' | 'outputMessages'): unknown {
  const text = attributes[genAiAttributes[name]];
  return text === undefined ? undefined : JSON.parse(String(text)).map(({ parts }: JsonObject) => parts);
}

describe('conversation steps', () => {
  test('each call has the messages before it as input, and its response becomes one of them', () => {
    const spans = recorded((conversation) => {
      conversation.addMessage(question);
      for (const event of eventsOf('It is 5.')) conversation.addEvent(event);
      conversation.addBlocks({ role: 'assistant', content: [{ type: 'text', text: 'Really' }] });
      conversation.addBlocks({ role: 'assistant', content: [{ type: 'text', text: '5.' }] });
      conversation.end();
    });
    const [first, second, agent] = spans;
    expect(spans.map(({ name }) => name)).toEqual(['chat tiny', 'chat tiny', 'invoke_agent clerk']);
    expect([first?.parentId, second?.parentId]).toEqual([agent?.spanId, agent?.spanId]);
    if (first === undefined || second === undefined) throw new Error('no calls');
    expect(first.attributes[genAiAttributes.responseId]).toBe('msg_1');
    const input = [[{ type: 'text', content: 'Be brief.' }], [{ type: 'text', content: 'What is 2 + 3?' }]];
    expect(messagesOf(first, 'inputMessages')).toEqual(input);
    expect(messagesOf(second, 'inputMessages')).toEqual([...input, [{ type: 'text', content: 'It is 5.' }]]);
    expect(messagesOf(second, 'outputMessages')).toEqual([
      [
        { type: 'text', content: 'Really' },
        { type: 'text', content: '5.' },
      ],
    ]);
  });

  test('tool calls start with their content block and end with their result', () => {
    const add = { type: 'tool_use', id: 't1', name: 'add', input: { a: 2, b: 3 } };
    const look = { type: 'tool_use', id: 't2', name: 'look_up', input: {} };
    const spans = recorded((conversation) => {
      conversation.startTools({ role: 'assistant', content: [{ type: 'text', text: 'Let me see.' }, add, look] });
      conversation.addMessage({
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: '5' }] },
          { type: 'tool_result', tool_use_id: 't2', content: 'no such item', is_error: true },
          { type: 'tool_result', tool_use_id: 'unknown', content: '' },
        ],
      });
      conversation.end();
    });
    expect(spans.map(({ name, status }) => [name, status.message])).toEqual([
      ['execute_tool add', null],
      ['execute_tool look_up', 'no such item'],
      ['invoke_agent clerk', null],
    ]);
    expect(spans[0]?.attributes).toMatchObject({
      [genAiAttributes.toolCallId]: 't1',
      [genAiAttributes.toolCallArguments]: '{"a":2,"b":3}',
      [genAiAttributes.toolCallResult]: '5',
    });
  });

  test('a subagent is a child of its tool call, at any depth', () => {
    const ask = (id: string): JsonObject => ({ content: [{ type: 'tool_use', id, name: 'ask', input: {} }] });
    const spans = recorded((conversation) => {
      conversation.startTools(ask('t1'));
      const boss = conversation.startSubagent('t1', 'boss');
      boss.startTools(ask('t2'));
      const expert = boss.startSubagent('t2', 'expert');
      expert.startCall();
      for (const agent of [expert, boss]) agent.end();
      for (const id of ['t2', 't1']) {
        conversation.addMessage({ content: [{ type: 'tool_result', tool_use_id: id, content: '' }] });
      }
      conversation.end();
    });
    const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
    expect(spans.map(({ name, parentId }) => `${name} < ${names.get(parentId ?? '')}`)).toEqual([
      'chat tiny < invoke_agent expert',
      'invoke_agent expert < execute_tool ask',
      'invoke_agent boss < execute_tool ask',
      'execute_tool ask < invoke_agent boss',
      'execute_tool ask < invoke_agent clerk',
      'invoke_agent clerk < undefined',
    ]);
  });

  test('an interrupted response stays open until its error, and is recorded as far as received', () => {
    const [call, agent] = recorded((conversation) => {
      for (const event of eventsOf('It i', null)) conversation.addEvent(event);
      conversation.endCall({ error: 'overloaded' });
      conversation.end();
    });
    expect(call?.status).toEqual({ code: 'ERROR', message: 'overloaded' });
    expect(call === undefined ? null : messagesOf(call, 'outputMessages')).toEqual([
      [{ type: 'text', content: 'It i' }],
    ]);
    expect(agent?.status.code).not.toBe('ERROR');
  });

  test('a call without a response has no output', () => {
    const [call, agent] = recorded((conversation) => {
      conversation.startCall();
      conversation.startCall();
      conversation.end({ isAborted: true });
    });
    expect(call === undefined ? null : messagesOf(call, 'outputMessages')).toBeUndefined();
    expect(call?.attributes[modelCallAttributes.isPartial]).toBe(true);
    expect(agent?.name).toBe('invoke_agent clerk');
  });
});

test('content blocks have a text, and other content is JSON', () => {
  const texts = [
    { type: 'text', text: 'It is ' },
    { type: 'text', text: '5.' },
  ];
  expect(contentText(texts)).toBe('It is 5.');
  expect(contentText('plain')).toBe('plain');
  expect(contentText([{ type: 'image' }])).toBe('[{"type":"image"}]');
  expect(contentText(undefined)).toBe('');
});
