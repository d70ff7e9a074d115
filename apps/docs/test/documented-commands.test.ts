import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { listFiles, readText } from '../../../tools/repository-files.ts';
import { buildProgram } from '../../trainer/src/cli/program.ts';
import { commandDocument, withCommandTable } from '../src/assembly/command-table.ts';

/** Documents for users; reports and decisions describe the past. */
const documents = listFiles(
  (path) =>
    /^(README|apps\/docs\/content\/.+|docs\/operations|docs\/recipes\/.+|(packages|apps|examples)\/[^/]+\/(README|skills\/[^/]+\/SKILL))\.md$/.test(
      path,
    ) && !path.startsWith('apps/gpu-runtime/'),
);

/** A call of `agl` or `npx agentlightning` in a shell block, with where it is. */
interface DocumentedCall {
  readonly where: string;
  readonly words: readonly string[];
}

function callsIn(text: string, path: string): readonly DocumentedCall[] {
  return [...text.matchAll(/^```(?:sh|bash)\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .flatMap((line) => {
        const call = /^(?:.*\s)?(?:agl|npx (?:-y )?agentlightning)\s+(?!--)(.*)$/.exec(
          line.replace(/\s+#.*$/, '').replace(/\s*&$/, ''),
        )?.[1];
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
  // What follows `--` is another program's.
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  const unknown = own.filter((word) => /^--?[a-z]/.test(word) && !flags.includes(word.split('=')[0]));
  return unknown.length === 0 ? null : `unknown flag ${unknown.join(', ')}`;
}

test('every agl command in the documents exists, with its flags', () => {
  const calls = documents.flatMap((path) => callsIn(readText(path), path));
  expect(calls.length).toBeGreaterThan(60);
  const problems = calls.flatMap((call) => {
    const problem = problemOf(call);
    return problem === null ? [] : [`${call.where}: ${problem}`];
  });
  expect(problems).toEqual([]);
});

/** Where the trainer may not be installed yet, `npx agl` would run the package of another author. */
const earlyCall = /npx (?:-y )?agl (?:init|mcp)\b|"args": \["agl"/;

test('commands before an installation are those of the package agentlightning', () => {
  const sources = listFiles((path) =>
    /^(apps\/trainer|packages\/create-agentlightning)\/src\/.+(?<!\.test)\.ts$/.test(path),
  );
  expect([...documents, ...sources].filter((path) => earlyCall.test(readText(path)))).toEqual([]);
  expect(earlyCall.test('npx agl init --yes')).toBe(true);
});

test('the table of commands is current; `pnpm command-docs` writes it', () => {
  const page = readText(commandDocument);
  expect(page).toContain('| `agl train [config]` |');
  expect(withCommandTable(page, program)).toBe(page);
});

test('a call through npx is checked too', () => {
  expect(callsIn('```sh\nnpx agentlightning init --yes # writes\n```\n', 'a.md')).toEqual([
    { where: 'a.md: npx agentlightning init --yes # writes', words: ['init', '--yes'] },
  ]);
});

test('an unknown command and an unknown flag are problems', () => {
  expect(problemOf({ where: '', words: ['fly'] })).toBe('unknown command fly');
  expect(problemOf({ where: '', words: ['runs', '--fast'] })).toBe('unknown flag --fast');
  expect(problemOf({ where: '', words: ['runs', '--', 'npx', '-y'] })).toBeNull();
});
