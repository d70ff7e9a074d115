import { expect, test } from 'vitest';
import { aSpan } from '../testing/a-span.ts';
import { aModelCallSpan } from '../testing/a-trajectory.ts';
import { joinModelCalls } from './join-model-calls.ts';
import { modelCallFromSpan } from './model-call-from-span.ts';
import type { Attributes } from './span.ts';

/** As `openinference-instrumentation-openai` and `@arizeai/openinference-instrumentation-openai` record a call. */
const openInference: Attributes = {
  'openinference.span.kind': 'LLM',
  'llm.model_name': 'gpt-4.1-mini',
  'llm.input_messages.0.message.role': 'system',
  'llm.input_messages.0.message.content': 'Count.',
  'llm.input_messages.1.message.role': 'user',
  'llm.input_messages.1.message.contents.0.message_content.type': 'text',
  'llm.input_messages.1.message.contents.0.message_content.text': 'Bolts?',
  'llm.output_messages.0.message.role': 'assistant',
  'llm.output_messages.0.message.tool_calls.0.tool_call.id': 'call_1',
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'count',
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{"part":"bolt"}',
  'llm.tools.0.tool.json_schema': '{"type":"function","function":{"name":"count"}}',
  'llm.token_count.prompt': 12,
  'llm.token_count.completion': 5,
  'output.value': '{"id":"chatcmpl-1","choices":[]}',
};

/** As Langfuse's SDKs record a generation. */
const langfuse: Attributes = {
  'langfuse.observation.type': 'generation',
  'langfuse.observation.model.name': 'gpt-4.1-mini',
  'langfuse.observation.input': '[{"role":"user","content":"Bolts?"}]',
  'langfuse.observation.output': '{"role":"assistant","content":"Seven."}',
  'langfuse.observation.usage_details': '{"input":12,"output":2}',
};

test.each([
  [
    'OpenInference',
    openInference,
    {
      responseId: 'chatcmpl-1',
      request: {
        messages: [
          { role: 'system', content: 'Count.' },
          { role: 'user', content: 'Bolts?' },
        ],
        tools: [{ function: { name: 'count' } }],
      },
      response: {
        choices: [
          {
            message: { role: 'assistant', tool_calls: [{ id: 'call_1', function: { arguments: '{"part":"bolt"}' } }] },
          },
        ],
      },
      choices: [{ finishReason: 'tool_calls' }],
    },
  ],
  [
    'Langfuse',
    langfuse,
    {
      responseId: null,
      request: { messages: [{ role: 'user', content: 'Bolts?' }] },
      response: { choices: [{ message: { role: 'assistant', content: 'Seven.' } }] },
      choices: [{ finishReason: 'stop' }],
    },
  ],
])('a model call of %s is read without token ids', (recorder, attributes, expected) => {
  expect(modelCallFromSpan(aSpan({ attributes }))).toMatchObject({
    ...expected,
    model: 'gpt-4.1-mini',
    promptTokenIds: [],
    isTrainable: false,
    untrainableReason: `recorded by ${recorder}, without token ids`,
  });
});

test('other spans of these recorders are not model calls', () => {
  for (const kind of ['CHAIN', 'TOOL', 'EMBEDDING']) {
    expect(modelCallFromSpan(aSpan({ attributes: { 'openinference.span.kind': kind } }))).toBeNull();
  }
  expect(modelCallFromSpan(aSpan({ attributes: { 'langfuse.observation.type': 'span' } }))).toBeNull();
});

test('a call that the gateway recorded too is one call: by its response id, or by its time', () => {
  const capture = aModelCallSpan({ spanId: 'c'.repeat(16), responseId: 'chatcmpl-1', startTimeMs: 10, endTimeMs: 20 });
  for (const attributes of [openInference, langfuse]) {
    const step = aSpan({ spanId: 'd'.repeat(16), sequenceId: 99, attributes, startTimeMs: 5, endTimeMs: 25 });
    const later = aSpan({
      spanId: 'e'.repeat(16),
      sequenceId: 100,
      attributes: langfuse,
      startTimeMs: 30,
      endTimeMs: 40,
    });
    expect(joinModelCalls([capture, step, later])).toMatchObject([
      { captured: { spanId: capture.spanId }, step: { spanId: step.spanId } },
      { captured: null, step: { spanId: later.spanId } },
    ]);
  }
});
