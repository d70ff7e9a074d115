import type { JsonObject, JsonValue } from '@agentlightning/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatRequestOf as chatRequestOfMessages } from '../messages/chat-request.ts';
import { messageOf } from '../messages/message-body.ts';
import { MessageEvents } from '../messages/message-events.ts';
import { chatRequestOf as chatRequestOfResponses, inputItems } from '../responses/chat-request.ts';
import { responseOf } from '../responses/response-body.ts';
import { ResponseEvents } from '../responses/response-events.ts';
import { GatewayError } from '../wire/gateway-error.ts';

/** JSON with protocol keywords in valid and invalid positions. */
const word = fc.constantFrom(
  ...[
    'type',
    'role',
    'content',
    'text',
    'input',
    'output',
    'messages',
    'tools',
    'tool_choice',
    'name',
    'id',
    'call_id',
  ],
  ...['message', 'function_call', 'function_call_output', 'reasoning', 'item_reference', 'input_text', 'input_image'],
  ...['user', 'assistant', 'system', 'tool_use', 'tool_result', 'tool_use_id', 'image', 'source', 'thinking', 'url'],
  ...[
    'choices',
    'delta',
    'tool_calls',
    'function',
    'arguments',
    'index',
    'finish_reason',
    'usage',
    'include',
    'stream',
  ],
);
const { json } = fc.letrec<{ json: JsonValue; object: JsonObject }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    word,
    fc.constantFrom<JsonValue>(null, true, 0, -1, 1.5, '', '{}'),
    fc.array(tie('json'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(word, tie('json'), { maxKeys: 8 }),
}));
const object = fc.dictionary(word, json, { maxKeys: 10 });

/** Runs a function that may reject its input, but not fail otherwise. */
function refusesAtMost(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ httpStatus: 400 });
  }
}

describe('arbitrary input', () => {
  it('of an agent is translated or rejected with 400', () => {
    fc.assert(
      fc.property(object, (request) => {
        refusesAtMost(() => chatRequestOfResponses(request, { before: [], items: inputItems(request) }));
        refusesAtMost(() => chatRequestOfMessages(request));
      }),
      { numRuns: 2000 },
    );
  });

  it('of a model is translated, whole and in chunks', () => {
    fc.assert(
      fc.property(object, fc.array(object, { maxLength: 4 }), (body, chunks) => {
        const options = { request: body, stem: 'a'.repeat(32) };
        responseOf(body, options);
        messageOf(body, options);
        for (const events of [new ResponseEvents(options), new MessageEvents(options)]) {
          for (const chunk of chunks) events.take(chunk);
          expect(events.ending().length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
