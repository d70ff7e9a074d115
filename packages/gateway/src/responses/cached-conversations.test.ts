import type { JsonObject, Span, Store } from '@agentlightning/core';
import { modelCallAttributes } from '@agentlightning/core/internal';
import { modelCallToSpan } from '@agentlightning/core/spans';
import type { Page } from '@agentlightning/core/store';
import { describe, expect, it } from 'vitest';
import type { ResponseContext } from '../model-api/translation.ts';
import { CachedConversations } from './cached-conversations.ts';
import { responseId } from './response-ids.ts';

const attempt = { rolloutId: 'ro-1', attemptId: 'at-1' };
const pageOf = (items: readonly Span[]): Page<Span> => ({ items, total: items.length, limit: items.length, offset: 0 });

const emptyStore: Pick<Store, 'querySpans'> = { querySpans: async () => pageOf([]) };

function contextOf(digit: string): ResponseContext {
  return { attempt, stem: digit.repeat(32), requestLength: 100 };
}

const outputOf = (text: string): JsonObject[] => [{ type: 'message', role: 'assistant', content: text }];
const followUp: readonly JsonObject[] = [{ role: 'user', content: 'More.' }];

function continuationOf(digit: string): JsonObject {
  return { previous_response_id: responseId(digit.repeat(32)) };
}

/** A store with the record of one response to a request with these messages. */
function storeWithResponse(
  messages: readonly JsonObject[],
  attributes: Record<string, number | boolean>,
): Pick<Store, 'querySpans'> {
  const span = modelCallToSpan(
    {
      ...attempt,
      spanId: 'a'.repeat(16),
      responseId: responseId('a'.repeat(32)),
      model: 'tiny',
      policyVersion: null,
      agentName: null,
      agentPath: null,
      promptTokenIds: [],
      choices: [],
      temperature: 1,
      isTrainable: false,
      untrainableReason: 'no tokens',
      request: { messages },
      response: { choices: [{ index: 0, message: { role: 'assistant', content: '5' }, finish_reason: 'stop' }] },
      startTimeMs: 1,
      endTimeMs: 2,
    },
    { isPartial: false },
  );
  const stored = { ...span, sequenceId: 1, attributes: { ...span.attributes, ...attributes } } as Span;
  return { querySpans: async ({ spanId }) => pageOf(spanId === stored.spanId ? [stored] : []) };
}

describe('conversation memory', () => {
  it('evicts the oldest response beyond its limit', async () => {
    const memory = new CachedConversations(emptyStore, 500);
    const nothing = { before: [], items: followUp };
    for (const digit of ['1', '2', '3', '4']) memory.remember(contextOf(digit), nothing, outputOf(digit));
    await expect(memory.complete(continuationOf('1'), followUp, contextOf('9'))).rejects.toMatchObject({
      httpStatus: 400,
    });
    const { items } = await memory.complete(continuationOf('4'), followUp, contextOf('9'));
    expect(items).toEqual([...followUp, ...outputOf('4'), ...followUp]);
  });

  it('keeps responses of unattributed calls, and does not query the store for them', async () => {
    const memory = new CachedConversations(storeWithResponse([], { [modelCallAttributes.instructionsLength]: 0 }));
    const context = { ...contextOf('1'), attempt: null };
    memory.remember(context, { before: [], items: [] }, outputOf('1'));
    expect((await memory.complete(continuationOf('1'), [], context)).items).toEqual(outputOf('1'));
    await expect(memory.complete(continuationOf('a'), [], context)).rejects.toMatchObject({
      param: 'previous_response_id',
    });
  });
});

describe('a recalled response', () => {
  const user = { role: 'user', content: '2 + 3?' };
  const { instructionsLength, isPartial } = modelCallAttributes;

  it.each([
    { with: 'no instructions', messages: [user], length: 0, before: [user] },
    { with: 'instructions', messages: [{ role: 'system', content: 'Add.' }, user], length: 4, before: [user] },
    {
      with: 'instructions and a separate system message',
      messages: [{ role: 'system', content: 'Add.\n\nNow.' }, user],
      length: 4,
      before: [{ role: 'system', content: 'Now.' }, user],
    },
  ])('with $with has the earlier messages', async ({ messages, length, before }) => {
    const memory = new CachedConversations(storeWithResponse(messages, { [instructionsLength]: length }));
    const found = await memory.complete(continuationOf('a'), followUp, contextOf('9'));
    expect(found.before).toEqual(before);
    expect(found.items).toMatchObject([{ type: 'message', content: [{ text: '5' }] }, followUp[0]]);
  });

  it.each([
    ['with `store: false`', {}],
    ['that broke off', { [instructionsLength]: 0, [isPartial]: true }],
  ])('%s cannot be continued', async (_, attributes) => {
    const memory = new CachedConversations(storeWithResponse([user], attributes));
    await expect(memory.complete(continuationOf('a'), followUp, contextOf('9'))).rejects.toMatchObject({
      httpStatus: 400,
    });
  });

  it('has the exact id', async () => {
    const memory = new CachedConversations(storeWithResponse([user], { [instructionsLength]: 0 }));
    const other = { previous_response_id: responseId('b'.repeat(16) + 'a'.repeat(16)) };
    await expect(memory.complete(other, followUp, contextOf('9'))).rejects.toMatchObject({ httpStatus: 400 });
    const foreign = { previous_response_id: 'resp_of_openai' };
    await expect(memory.complete(foreign, followUp, contextOf('9'))).rejects.toMatchObject({ httpStatus: 400 });
  });
});
