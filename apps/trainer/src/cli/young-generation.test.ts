import { expect, test } from 'vitest';
import { needsYoungGeneration, type StartedProcess } from './young-generation.ts';

function started(as: Partial<StartedProcess>): StartedProcess {
  return { args: ['gateway'], execArgv: [], nodeOptions: undefined, isAttached: false, ...as };
}

test.each([['gateway'], ['train']])('agl %s is started again with more room for what calls leave behind', (command) => {
  expect(needsYoungGeneration(started({ args: [command, '--help'] }))).toBe(true);
  expect(needsYoungGeneration(started({ args: [command], execArgv: ['--conditions=source'] }))).toBe(true);
});

test('commands that answer no calls go on as they are', () => {
  expect(needsYoungGeneration(started({ args: ['runs'] }))).toBe(false);
  expect(needsYoungGeneration(started({ args: [] }))).toBe(false);
});

test.each<[string, Partial<StartedProcess>]>([
  ['a flag', { execArgv: ['--max-semi-space-size=8'] }],
  ['a flag as V8 writes it', { execArgv: ['--min_semi_space_size=1'] }],
  ['NODE_OPTIONS', { nodeOptions: '--no-warnings --max-semi-space-size=8' }],
])('whoever has said by %s how much room there is gets that', (_how, as) => {
  expect(needsYoungGeneration(started(as))).toBe(false);
});

test('a process that somebody talks to is not replaced', () => {
  expect(needsYoungGeneration(started({ isAttached: true }))).toBe(false);
});
