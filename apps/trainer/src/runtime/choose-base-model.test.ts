import { expect, test } from 'vitest';
import { chooseBaseModel } from './choose-base-model.ts';

const named = (...names: readonly string[]) => ({
  models: names.map((name) => ({ name, maxContext: 2048, vocabSize: 256 })),
});
const embedded = named('tiny-random', 'tiny-chat', 'tiny-reader');

test('a configured model is one of the runtime', () => {
  expect(chooseBaseModel('tiny-reader', embedded)).toBe('tiny-reader');
  expect(() => chooseBaseModel('tiny-chatt', embedded)).toThrow(
    'the runtime has no model "tiny-chatt"; did you mean "tiny-chat"?',
  );
});

test('the default is tiny-chat, of another runtime its first model', () => {
  expect(chooseBaseModel(undefined, embedded)).toBe('tiny-chat');
  expect(chooseBaseModel(undefined, named('Qwen/Qwen3-4B'))).toBe('Qwen/Qwen3-4B');
});
