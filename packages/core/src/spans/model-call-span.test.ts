import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recordedSpanCodec, spanCodec, spanInputCodec } from '../protocol/wire/wire-span.ts';
import { calledModel } from './called-model.ts';
import type { ModelCall } from './model-call.ts';
import { modelCallFromSpan } from './model-call-from-span.ts';
import { modelCallToSpan } from './model-call-span.ts';
import type { Span, SpanInput } from './span.ts';

const call: ModelCall = {
  rolloutId: 'ro-1',
  attemptId: 'at-1',
  spanId: '00f067aa0ba902b7',
  sequenceId: 3,
  responseId: 'chatcmpl-1',
  model: 'tiny',
  policyVersion: 7,
  agentName: 'solver',
  agentPath: ['100% boss > all', 'solver'],
  promptTokenIds: [1, 2, 3],
  choices: [{ index: 0, responseTokenIds: [4, 5], responseLogprobs: [-0.5, -1.25], finishReason: 'tool_calls' }],
  temperature: 0.7,
  isTrainable: true,
  untrainableReason: null,
  request: { model: 'gpt-4o', messages: [{ role: 'user', content: 'What is 2 + 3?' }] },
  response: {
    id: 'chatcmpl-1',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  startTimeMs: 1000.25,
  endTimeMs: 1100,
};

/** The span as a store returns it: with a sequence id, after a JSON round trip. */
function stored(span: SpanInput): Span {
  const copy: SpanInput = JSON.parse(JSON.stringify(span));
  return { ...copy, sequenceId: copy.sequenceId ?? 1 };
}

const tokens = fc.array(fc.nat(200_000), { maxLength: 8 });
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const anyText = fc.string({ unit: 'grapheme', maxLength: 12 });
const anyObject = fc
  .dictionary(
    fc.string({ minLength: 1, maxLength: 5 }),
    fc.oneof(anyText, fc.integer(), fc.boolean(), fc.constant(null)),
  )
  .map((object) => ({ ...object }));
const anyCall: fc.Arbitrary<ModelCall> = fc.record({
  rolloutId: anyText,
  attemptId: anyText,
  spanId: anyText,
  sequenceId: fc.nat(),
  responseId: fc.option(anyText),
  model: anyText,
  policyVersion: fc.option(fc.nat()),
  agentName: fc.option(anyText),
  agentPath: fc.option(fc.array(fc.string({ unit: fc.constantFrom('a', '>', '%', '3', 'E', 'ö'), minLength: 1 }))),
  promptTokenIds: tokens,
  choices: fc.array(
    fc.record(
      {
        index: fc.nat(3),
        responseTokenIds: tokens,
        responseLogprobs: fc.array(finite, { maxLength: 8 }),
        finishReason: fc.option(anyText),
        responsePolicyVersions: fc.array(fc.nat(), { maxLength: 8 }),
      },
      { requiredKeys: ['index', 'responseTokenIds', 'responseLogprobs', 'finishReason'] },
    ),
    { minLength: 1, maxLength: 3 },
  ),
  temperature: finite,
  isTrainable: fc.boolean(),
  untrainableReason: fc.option(anyText),
  request: fc.option(anyObject),
  response: fc.option(anyObject),
  startTimeMs: fc.option(finite),
  endTimeMs: fc.option(finite),
});

describe('modelCallToSpan and modelCallFromSpan', () => {
  it('round-trip any call, also through JSON', () => {
    fc.assert(
      fc.property(anyCall, (original) => {
        expect(modelCallFromSpan(stored(modelCallToSpan(original)))).toEqual(original);
      }),
    );
  });

  it('write the attribute names of the Python triplet reader', () => {
    const span = modelCallToSpan(call, { responseTokens: ['fi', 've'] });
    const { attributes, name } = recordedSpanCodec.parse(spanCodec.encode({ ...span, sequenceId: 1 }));
    expect(name).toMatch(/openai\.chat\.completion/);
    expect(attributes).toMatchObject({
      prompt_token_ids: [1, 2, 3],
      response_token_ids: [4, 5],
      'gen_ai.response.id': 'chatcmpl-1',
      'agent.name': 'solver',
    });
    expect(JSON.parse(String(attributes['logprobs.content']))).toEqual([
      { token: 'fi', logprob: -0.5 },
      { token: 've', logprob: -1.25 },
    ]);
    expect(Object.keys(attributes)).not.toContain('agentlightning.response_tokens');
    expect(Object.keys(span.attributes)).not.toContain('logprobs.content');
  });

  it('write messages in GenAI conventions', () => {
    const { attributes } = modelCallToSpan(call);
    expect(JSON.parse(String(attributes['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'What is 2 + 3?' }] },
    ]);
    expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'c1', name: 'add', arguments: '{"a":2}' }],
        finish_reason: 'tool_calls',
      },
    ]);
  });

  it('keep the model that responded, the one that was requested, and the name in the request', () => {
    const span = modelCallToSpan({ ...call, responseModel: 'tiny-2' });
    expect(modelCallFromSpan(stored(span))).toMatchObject({ model: 'tiny', responseModel: 'tiny-2' });
    expect(calledModel(span.attributes)).toEqual({ name: 'tiny-2', requested: 'gpt-4o' });
    const step = { 'gen_ai.request.model': 'large' };
    expect(calledModel(span.attributes, step)).toEqual({ name: 'tiny-2', requested: 'large' });
    const unnamed = { ...span.attributes, 'gen_ai.response.model': '' };
    expect(calledModel(unnamed)).toEqual({ name: 'tiny', requested: 'gpt-4o' });
    const alike = modelCallToSpan({ ...call, request: { model: 'tiny' } });
    expect(calledModel(alike.attributes)).toEqual({ name: 'tiny', requested: null });
    expect(alike.attributes).not.toHaveProperty('agentlightning.requested_model');
  });

  it('omit unknown values', () => {
    const { attributes, parentId } = modelCallToSpan({
      ...call,
      policyVersion: null,
      agentName: null,
      agentPath: null,
    });
    expect(parentId).toBeNull();
    expect(attributes).not.toHaveProperty('agentlightning.policy_version');
    expect(attributes).not.toHaveProperty('agent.name');
    expect(attributes).not.toHaveProperty('agentlightning.latency_ms');
  });

  it('mark the span of a failed call as an error', () => {
    expect(modelCallToSpan(call, { error: 'the upstream went away' }).status).toEqual({
      code: 'ERROR',
      message: 'the upstream went away',
    });
  });
});

describe('modelCallFromSpan', () => {
  const span = stored(modelCallToSpan(call));

  it('does not read a framework span as a captured call', () => {
    expect(modelCallFromSpan({ ...span, attributes: { 'gen_ai.operation.name': 'chat' } })).toBeNull();
    expect(modelCallFromSpan({ ...span, attributes: {} })).toBeNull();
  });

  it('reads trainable spans of a Python proxy when every token has a log-probability', () => {
    const attributes = {
      prompt_token_ids: [1],
      response_token_ids: [2, 3],
      'logprobs.content': '[{"logprob":-0.1},{"logprob":-0.2}]',
    };
    const read = modelCallFromSpan({ ...span, attributes });
    expect(read?.isTrainable).toBe(true);
    expect(read?.choices[0]?.responseLogprobs).toEqual([-0.1, -0.2]);
  });

  it('reads foreign spans without log-probabilities as untrainable', () => {
    const read = modelCallFromSpan({ ...span, attributes: { prompt_token_ids: [1], response_token_ids: [2] } });
    expect(read).toMatchObject({ isTrainable: false });
    expect(read?.untrainableReason).toContain('log-probability');
  });

  it('accepts a body that is not JSON', () => {
    const attributes = { ...span.attributes, 'agentlightning.response_body': '<html>' };
    expect(modelCallFromSpan({ ...span, attributes })?.response).toBeNull();
  });
});

describe('non-finite log-probability', () => {
  it('gives a span that an HTTP store accepts', () => {
    const choice = { index: 0, responseTokenIds: [4, 5], responseLogprobs: [-0.5, Number.NaN], finishReason: 'stop' };
    const calls = [
      { ...call, choices: [choice] },
      { ...call, choices: [choice, { ...choice, index: 1 }] },
    ];
    for (const untrainable of calls) {
      const sent: unknown = JSON.parse(JSON.stringify(spanInputCodec.encode(modelCallToSpan(untrainable))));
      const span = recordedSpanCodec.parse(sent);
      const choices = untrainable.choices.map((entry) => ({ ...entry, responseLogprobs: [] }));
      expect(modelCallFromSpan(span)?.choices).toEqual(choices);
    }
  });
});
