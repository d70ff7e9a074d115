import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { listFiles, readText } from '../../../tools/repository-files.ts';
import { buildProgram } from '../../trainer/src/cli/program.ts';

/** Documents for users; reports and decisions describe the past. */
const documents = listFiles(
  (path) =>
    /^(README|apps\/docs\/content\/.+|docs\/operations|(packages|apps|examples)\/[^/]+\/(README|skills\/[^/]+\/SKILL))\.md$/.test(
      path,
    ) && !path.startsWith('apps/gpu-runtime/'),
);

/** A call of `agl` in a shell block, with where it is. */
interface DocumentedCall {
  readonly where: string;
  readonly words: readonly string[];
}

function callsOf(path: string): readonly DocumentedCall[] {
  return [...readText(path).matchAll(/^```(?:sh|bash)\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .flatMap((line) => {
        const call = /^(?:.*\s)?agl\s+(?!--)(.*)$/.exec(line.replace(/\s+#.*$/, '').replace(/\s*&$/, ''))?.[1];
        return call === undefined ? [] : [{ where: `${path}: ${line.trim()}`, words: call.split(/\s+/) }];
      }),
  );
}

const program = buildProgram({ args: [], setExitCode: () => undefined });

/** What is wrong with a call: an unknown command, or a flag that the command does not have. */
function problemOf({ words }: DocumentedCall): string | null {
  let command: Command = program;
  for (const word of words) {
    const found: Command | undefined = command.commands.find((each) => each.name() === word);
    if (found === undefined) break;
    command = found;
  }
  if (command === program) return `unknown command ${words[0]}`;
  const groups = [command, ...command.commands, ...(command.name() === 'resume' ? program.commands : [])];
  const flags = groups.flatMap(({ options }) => options.flatMap(({ long, short }) => [long, short]));
  const unknown = words.filter((word) => /^--?[a-z]/.test(word) && !flags.includes(word.split('=')[0]));
  return unknown.length === 0 ? null : `unknown flag ${unknown.join(', ')}`;
}

test('every agl command in the documents exists, with its flags', () => {
  const calls = documents.flatMap(callsOf);
  expect(calls.length).toBeGreaterThan(60);
  const problems = calls.flatMap((call) => {
    const problem = problemOf(call);
    return problem === null ? [] : [`${call.where}: ${problem}`];
  });
  expect(problems).toEqual([]);
});

test('an unknown command and an unknown flag are problems', () => {
  expect(problemOf({ where: '', words: ['fly'] })).toBe('unknown command fly');
  expect(problemOf({ where: '', words: ['runs', '--fast'] })).toBe('unknown flag --fast');
});
