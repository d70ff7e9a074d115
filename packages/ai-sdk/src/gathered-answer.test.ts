import { describe, expect, test } from 'vitest';
import { GatheredAnswer } from './gathered-answer.ts';

function gathered(...parts: readonly unknown[]): GatheredAnswer {
  const answer = new GatheredAnswer();
  for (const part of parts) answer.take(part);
  return answer;
}

describe('what has come of a streamed answer', () => {
  test('texts and reasoning go on where they left off, and tool calls come whole', () => {
    const answer = gathered(
      { type: 'response-metadata', id: 'r', modelId: 'm' },
      { type: 'reasoning-delta', delta: 'hm' },
      { type: 'reasoning-delta', delta: 'm' },
      { type: 'text-delta', delta: 'a' },
      { type: 'text-delta', delta: 'b' },
      { type: 'tool-input-start', id: 'c', toolName: 'add' },
      { type: 'tool-input-delta', id: 'c', delta: '{}' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{}' },
      { type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
    );
    expect(answer.isWhole).toBe(true);
    expect(answer.toAnswer()).toEqual({
      responseId: 'r',
      modelId: 'm',
      content: [
        { type: 'reasoning', text: 'hmm' },
        { type: 'text', text: 'ab' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{}' },
      ],
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 2 },
    });
  });

  test('a tool call that broke off has the input that came', () => {
    const answer = gathered(
      { type: 'tool-input-start', id: 'c', toolName: 'add' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":' },
    );
    expect([answer.isWhole, answer.isEmpty]).toEqual([false, false]);
    expect(answer.toAnswer().content).toEqual([
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{"a":' },
    ]);
  });

  test('what is no part is passed over', () => {
    expect(gathered(null, 'text', 7, {}, { type: 'text-delta' }, { type: 'unheard-of' }).error).toBeUndefined();
  });
});
