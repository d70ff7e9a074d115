import type { JsonObject, Span, Store } from '@agentlightning/core';
import { modelCallAttributes, modelCallToSpan } from '@agentlightning/core/spans';
import type { Page } from '@agentlightning/core/store';
import { describe, expect, it } from 'vitest';
import { type AnswerPlace, ConversationMemory } from './conversation-memory.ts';
import { responseId } from './response-ids.ts';

const attempt = { rolloutId: 'ro-1', attemptId: 'at-1' };
const pageOf = (items: readonly Span[]): Page<Span> => ({ items, total: items.length, limit: items.length, offset: 0 });

const emptyStore: Pick<Store, 'querySpans'> = { querySpans: async () => pageOf([]) };

function placeOf(digit: string): AnswerPlace {
  return { attempt, stem: digit.repeat(32), requestLength: 100 };
}

const said = (text: string): JsonObject[] => [{ type: 'message', role: 'assistant', content: text }];
const asked: readonly JsonObject[] = [{ role: 'user', content: 'More.' }];

function goingOn(digit: string): JsonObject {
  return { previous_response_id: responseId(digit.repeat(32)) };
}

/** A store that has the record of one answer, whose request had these messages. */
function storeWithAnswer(
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

describe('a memory of answers', () => {
  it('forgets the oldest when there are too many', async () => {
    const memory = new ConversationMemory(emptyStore, 500);
    const nothing = { before: [], items: asked };
    for (const digit of ['1', '2', '3', '4']) memory.remember(placeOf(digit), nothing, said(digit));
    await expect(memory.complete(goingOn('1'), asked, placeOf('9'))).rejects.toMatchObject({ httpStatus: 400 });
    const { items } = await memory.complete(goingOn('4'), asked, placeOf('9'));
    expect(items).toEqual([...asked, ...said('4'), ...asked]);
  });

  it('keeps what calls of no attempt were answered, and looks nothing up for them', async () => {
    const memory = new ConversationMemory(storeWithAnswer([], { [modelCallAttributes.instructionsLength]: 0 }));
    const place = { ...placeOf('1'), attempt: null };
    memory.remember(place, { before: [], items: [] }, said('1'));
    expect((await memory.complete(goingOn('1'), [], place)).items).toEqual(said('1'));
    await expect(memory.complete(goingOn('a'), [], place)).rejects.toMatchObject({ param: 'previous_response_id' });
  });
});

describe('an answer that is looked up in its record', () => {
  const user = { role: 'user', content: '2 + 3?' };
  const { instructionsLength, isPartial } = modelCallAttributes;

  it.each([
    { with: 'no instructions', messages: [user], length: 0, before: [user] },
    { with: 'instructions', messages: [{ role: 'system', content: 'Add.' }, user], length: 4, before: [user] },
    {
      with: 'instructions and a system message of its own',
      messages: [{ role: 'system', content: 'Add.\n\nNow.' }, user],
      length: 4,
      before: [{ role: 'system', content: 'Now.' }, user],
    },
  ])('with $with has what was said before it', async ({ messages, length, before }) => {
    const memory = new ConversationMemory(storeWithAnswer(messages, { [instructionsLength]: length }));
    const found = await memory.complete(goingOn('a'), asked, placeOf('9'));
    expect(found.before).toEqual(before);
    expect(found.items).toMatchObject([{ type: 'message', content: [{ text: '5' }] }, asked[0]]);
  });

  it.each([
    ['that was not to be stored', {}],
    ['that broke off', { [instructionsLength]: 0, [isPartial]: true }],
  ])('%s is not gone on with', async (_, attributes) => {
    const memory = new ConversationMemory(storeWithAnswer([user], attributes));
    await expect(memory.complete(goingOn('a'), asked, placeOf('9'))).rejects.toMatchObject({ httpStatus: 400 });
  });

  it('is not one that only looks like it', async () => {
    const memory = new ConversationMemory(storeWithAnswer([user], { [instructionsLength]: 0 }));
    const other = { previous_response_id: responseId('b'.repeat(16) + 'a'.repeat(16)) };
    await expect(memory.complete(other, asked, placeOf('9'))).rejects.toMatchObject({ httpStatus: 400 });
    const foreign = { previous_response_id: 'resp_of_openai' };
    await expect(memory.complete(foreign, asked, placeOf('9'))).rejects.toMatchObject({ httpStatus: 400 });
  });
});
