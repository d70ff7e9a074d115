import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { StreamedResponse } from './streamed-response.ts';

const head = { id: 'resp_0', model: 'tiny', output: [] };
const message = { type: 'message', role: 'assistant', content: [] };
const call = { type: 'function_call', call_id: 'call_0', name: 'add', arguments: '' };

const events: readonly JsonObject[] = [
  { type: 'response.created', response: head },
  { type: 'response.output_item.added', output_index: 0, item: message },
  { type: 'response.output_text.delta', output_index: 0, delta: 'one ' },
  { type: 'response.output_text.delta', output_index: 0, delta: 'two' },
  { type: 'response.output_item.added', output_index: 1, item: call },
  { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a":' },
  { type: 'response.function_call_arguments.delta', output_index: 1, delta: '1}' },
];

function streamedUpTo(count: number): StreamedResponse {
  const response = new StreamedResponse();
  for (const event of events.slice(0, count)) response.add(event);
  return response;
}

describe('a streamed response', () => {
  test('an interrupted stream gives the partial body', () => {
    expect(streamedUpTo(0).toBody()).toEqual({ output: [] });
    expect(streamedUpTo(1).toBody()).toEqual(head);
    const text = { ...message, content: [{ type: 'output_text', text: 'one ' }] };
    expect(streamedUpTo(3).toBody()).toEqual({ ...head, output: [text] });
    const arguments_ = streamedUpTo(6).toBody().output;
    expect(arguments_).toMatchObject([{ type: 'message' }, { name: 'add', arguments: '{"a":' }]);
    expect(streamedUpTo(6).isWhole).toBe(false);
  });

  test.for(['response.completed', 'response.incomplete'])('%s gives its body', (type) => {
    const response = streamedUpTo(events.length);
    const whole = { ...head, output: [{ ...message, content: [{ type: 'output_text', text: 'one two' }] }] };
    response.add({ type, response: whole });
    expect(response.isWhole).toBe(true);
    expect(response.toBody()).toEqual(whole);
  });

  test('a failed stream gives the partial body and is incomplete', () => {
    const failed = { ...head, status: 'failed', error: { code: 'server_error', message: 'cut' } };
    const response = streamedUpTo(4);
    response.add({ type: 'response.failed', response: failed });
    expect(response.isWhole).toBe(false);
    const text = { ...message, content: [{ type: 'output_text', text: 'one two' }] };
    expect(response.toBody()).toEqual({ ...failed, output: [text] });
  });

  test('a failed stream gives the body of its last event when that is not shorter', () => {
    const item = { ...message, content: [{ type: 'output_text', text: 'one two' }], status: 'incomplete' };
    const response = streamedUpTo(4);
    response.add({ type: 'response.failed', response: { ...head, output: [item] } });
    expect(response.toBody().output).toEqual([item]);
  });

  test('a completed item replaces its partial state', () => {
    const response = streamedUpTo(events.length);
    const done = { ...call, arguments: '{"a":1}', status: 'completed' };
    response.add({ type: 'response.output_item.done', output_index: 1, item: done });
    expect(response.toBody().output).toMatchObject([{ type: 'message' }, done]);
  });
});
