import type { JsonObject } from '@agentlightning/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyCuts, anyResponse, chatChunksOf, chatMessageOf } from '../../test/any-response.ts';
import { objectOf } from '../wire/json-access.ts';
import { type PartHead, type PartStep, partsOfMessage, type ResponsePart } from './parts-of-message.ts';
import { firstChoice } from './response-end.ts';
import { StreamedParts } from './streamed-parts.ts';

const newCallId = (index: number): string => `new_${index}`;

function stepsOf(deltas: readonly JsonObject[]): readonly PartStep[] {
  const parts = new StreamedParts(newCallId);
  return [...deltas.flatMap((delta) => parts.take(delta)), ...parts.end()];
}

/** The parts that the steps produce, if each starts, is extended and ends before the next. */
function assembled(steps: readonly PartStep[]): readonly ResponsePart[] {
  const parts: ResponsePart[] = [];
  const open: { head: PartHead; text: string }[] = [];
  for (const step of steps) {
    if (step.step === 'begin') open.push({ head: step.head, text: '' });
    expect(open).toHaveLength(1);
    for (const one of open) if (step.step === 'extend') one.text += step.text;
    if (step.step !== 'end') continue;
    expect([step.part]).toEqual(open.splice(0).map(({ head, text }) => ({ ...head, text })));
    parts.push(step.part);
  }
  expect(open).toEqual([]);
  return parts;
}

it('a stream yields the parts of the whole message one by one, at any chunk boundary and interleaving', () => {
  fc.assert(
    fc.property(anyResponse, anyCuts, (response, cuts) => {
      const deltas = chatChunksOf(response, cuts).map((chunk) => objectOf(firstChoice(chunk).delta));
      expect(assembled(stepsOf(deltas))).toEqual(partsOfMessage(chatMessageOf(response), newCallId));
    }),
  );
});

const call = (index: number, said: string, name?: string): JsonObject => ({
  tool_calls: [
    {
      index,
      ...(name === undefined ? {} : { id: `c${index}` }),
      function: { ...(name ? { name } : {}), arguments: said },
    },
  ],
});

it('a tool call is streamed, and ends when its arguments are complete and the next one begins', () => {
  const parts = new StreamedParts(newCallId);
  const begin = { step: 'begin', head: { kind: 'call', id: 'c0', name: 'add' } };
  expect(parts.take(call(0, '{"a"', 'add'))).toEqual([begin, { step: 'extend', text: '{"a"' }]);
  expect(parts.take(call(0, ':1}'))).toEqual([{ step: 'extend', text: ':1}' }]);
  expect(parts.take(call(1, '', 'say')).map(({ step }) => step)).toEqual(['end', 'begin']);
});

it('a tool call whose arguments never become complete delays the others until the end', () => {
  const parts = new StreamedParts(newCallId);
  parts.take(call(0, '{"a', 'add'));
  expect(parts.take(call(1, '{}', 'say'))).toEqual([]);
  expect(parts.end().map(({ step }) => step)).toEqual(['end', 'begin', 'extend', 'end']);
});

it('late deltas of an ended tool call start no new one, and a tool call without an id gets one', () => {
  const steps = stepsOf([call(0, '{}', 'add'), call(1, '{}', 'say'), call(0, ' ')]);
  expect(assembled(steps).map(({ text }) => text)).toEqual(['{}', '{}']);
  const [begun] = stepsOf([{ tool_calls: [{ function: { name: 'add', arguments: '{}' } }] }]);
  expect(begun).toEqual({ step: 'begin', head: { kind: 'call', id: 'new_0', name: 'add' } });
});
