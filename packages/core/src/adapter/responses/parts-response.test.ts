import { describe, expect, test } from 'vitest';
import { modelResponseAttributes } from './model-call-attributes.ts';
import { partsResponseBody } from './parts-response.ts';

describe('a response as parts', () => {
  test('token counts are read from events and from providers', () => {
    const fromEvents = modelResponseAttributes(partsResponseBody({ usage: { inputTokens: 3, outputTokens: 4 } }));
    const fromProvider = modelResponseAttributes(
      partsResponseBody({ usage: { inputTokens: { total: 3 }, outputTokens: { total: 4 } } }),
    );
    expect(fromEvents).toEqual({ 'gen_ai.usage.input_tokens': 3, 'gen_ai.usage.output_tokens': 4 });
    expect(fromProvider).toEqual(fromEvents);
    expect(modelResponseAttributes(partsResponseBody({ usage: { inputTokens: undefined } }))).toEqual({});
  });

  test('finish reasons use the spelling of gateways', () => {
    const reason = (finishReason: unknown): unknown => partsResponseBody({ content: [], finishReason }).choices;
    expect(reason('tool-calls')).toMatchObject([{ finish_reason: 'tool_calls' }]);
    expect(reason({ unified: 'content-filter', raw: 'x' })).toMatchObject([{ finish_reason: 'content_filter' }]);
    expect(JSON.stringify(reason(undefined)), 'without a reason').not.toContain('finish_reason');
  });
});
