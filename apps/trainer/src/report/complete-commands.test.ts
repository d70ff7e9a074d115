import path from 'node:path';
import { expect, test } from 'vitest';
import { completeCommands, storeFlag } from './complete-commands.ts';

const here = (file: string): string => `sqlite:${path.join(process.cwd(), file)}`;

test('adds program name and store to commands in a text', () => {
  const text = 'it threw (agl show ro-1a2b). Look at one: `agl show <rollout>`.';
  expect(completeCommands(text, { command: 'npx agl', storeUrl: here('my-agent/.agl/agl.db') })).toBe(
    'it threw (npx agl show ro-1a2b --store sqlite:my-agent/.agl/agl.db). ' +
      'Look at one: `npx agl show <rollout> --store sqlite:my-agent/.agl/agl.db`.',
  );
  expect(completeCommands(text, { command: 'agl', storeUrl: here('.agl/agl.db') })).toBe(text);
});

test('quotes the store for a shell, and removes its password', () => {
  expect(storeFlag(here('my agent/agl.db'))).toBe(" --store 'sqlite:my agent/agl.db'");
  expect(storeFlag('postgres://agl:secret@db/agl')).not.toContain('secret');
});
