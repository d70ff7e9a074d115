import { describe, expect, test } from 'vitest';
import { StreamedParts } from './streamed-parts.ts';

function streamedPartsOf(...parts: readonly unknown[]): StreamedParts {
  const response = new StreamedParts();
  for (const part of parts) response.take(part);
  return response;
}

describe('the received part of a streamed response', () => {
  test('text and reasoning deltas are concatenated, and tool calls are complete', () => {
    const response = streamedPartsOf(
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
    expect(response.isWhole).toBe(true);
    expect(response.toResponse()).toEqual({
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

  test('an incomplete tool call has the input received', () => {
    const response = streamedPartsOf(
      { type: 'tool-input-start', id: 'c', toolName: 'add' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":' },
    );
    expect([response.isWhole, response.isEmpty]).toEqual([false, false]);
    expect(response.toResponse().content).toEqual([
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{"a":' },
    ]);
  });

  test('unknown parts are ignored', () => {
    expect(streamedPartsOf(null, 'text', 7, {}, { type: 'text-delta' }, { type: 'unheard-of' }).error).toBeUndefined();
  });
});
