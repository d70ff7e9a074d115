import { expect, test } from 'vitest';
import { commandWords } from './command-words.ts';

test.each([
  ['', []],
  ['  --a  b\n', ['--a', 'b']],
  [`--vllm-arguments='--enforce-eager --x 1' "a 'b'"`, ['--vllm-arguments=--enforce-eager --x 1', "a 'b'"]],
  [`--name ''`, ['--name', '']],
])('the words of %j', (text, words) => {
  expect(commandWords(text)).toEqual(words);
});

test.each(['--a "b', "it's"])('a quote that is not closed is an error: %s', (text) => {
  expect(() => commandWords(text)).toThrow('a quote is not closed');
});
