import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { buildProgram } from '../program.ts';
import { commandOutputs, outputOf } from './command-outputs.ts';

/** Servers have no result; the output of the others has another format. */
const withoutResult = new Set([
  'config schema',
  'dashboard',
  'dataset',
  'gateway',
  'kubernetes-runner',
  'mcp',
  'runner',
  'runtime',
  'serve',
  'server',
  'store',
]);

interface NamedCommand {
  readonly name: string;
  readonly hasJson: boolean;
}

function commandsOf(command: Command, names: readonly string[]): readonly NamedCommand[] {
  return command.commands
    .filter((each) => each.name() !== 'help')
    .flatMap((each) => {
      const path = [...names, each.name()];
      const own = { name: path.join(' '), hasJson: each.options.some(({ long }) => long === '--json') };
      const isGroup = each.commands.length > 0 && !own.hasJson && own.name !== 'store';
      return [...(isGroup ? [] : [own]), ...commandsOf(each, path)];
    });
}

const program = buildProgram({ args: [], setExitCode: () => undefined });
const commands = commandsOf(program, []);

test('every command with a result has --json', () => {
  const silent = commands.filter(({ name, hasJson }) => !hasJson && !withoutResult.has(name)).map(({ name }) => name);
  expect(silent).toEqual(['resume']); // an alias of `train --resume`, with its flags
});

test('every command with --json has a schema, and no other', () => {
  const withJson = commands.filter(({ hasJson }) => hasJson).map(({ name }) => name);
  expect(Object.keys(commandOutputs).sort()).toEqual(withJson.sort());
});

test.each([
  [['runs', '--json'], 'runs'],
  [['resume', 'run-1', '--json'], 'train'],
  [['export', '--run', 'run-1', '--out', 'weights', '--json'], 'export weights'],
  [['store', 'tokens', 'revoke', 'aglat', '--json'], 'store tokens revoke'],
])('the output of %j is that of %s', (args, name) => {
  expect(outputOf(args)).toBe(commandOutputs[name]);
});

test('without --json there is no schema', () => {
  expect(outputOf(['runs'])).toBeNull();
});

test('a line with an unknown field or without a field does not match', () => {
  const { schema } = commandOutputs['workers'] ?? {};
  const line = {
    runner: 'w-1',
    version: '0.1.0',
    host: 'h',
    pid: 1,
    state: 'running',
    running: 0,
    concurrency: 1,
    processes: 1,
    run: null,
    memory_bytes: 1,
    last_heartbeat: '2026-11-24T00:00:00.000Z',
  };
  expect(schema?.safeParse(line).success).toBe(true);
  expect(schema?.safeParse({ ...line, more: 1 }).success).toBe(false);
  expect(schema?.safeParse({ ...line, host: undefined }).success).toBe(false);
});
