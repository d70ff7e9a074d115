import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  callTool,
  failWith,
  respondWith,
  ScriptedModel,
  type ScriptedRequest,
  type ScriptedResponse,
} from '@agentlightning/core/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AglProcess } from './agl-process.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-tasks-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const server = ['--tool', 'get-sum', '--stateless', '--', process.execPath, everything];

const contentOf = (request: ScriptedRequest, index: number): string => String(request.messages.at(index)?.['content']);
const isProposal = (request: ScriptedRequest): boolean => contentOf(request, 0).includes('You write questions');
const isGuess = (request: ScriptedRequest): boolean => request.body['tools'] === undefined;

/** Adds the numbers of the question with the tool, and returns the sum that the tool returned. */
function addWithTool(request: ScriptedRequest): ScriptedResponse {
  const sum = /is (\d+)\.$/.exec(contentOf(request, -1))?.[1];
  if (sum !== undefined) return respondWith(` ${sum}\n`);
  const [a = 0, b = 0] = (contentOf(request, 1).match(/\d+/g) ?? []).map(Number);
  return callTool('get-sum', { a, b });
}

interface ScriptedExaminer {
  /** One reply for each proposal; the last one is repeated. */
  readonly proposals: readonly string[];
  readonly guess?: (request: ScriptedRequest) => ScriptedResponse;
  readonly attempt?: (request: ScriptedRequest) => ReturnType<typeof addWithTool> | ReturnType<typeof failWith>;
}

async function generate(
  { proposals, guess = () => respondWith('7'), attempt = addWithTool }: ScriptedExaminer,
  flags: readonly string[] = [],
) {
  let proposed = 0;
  await using model = await ScriptedModel.start((request) => {
    if (!isProposal(request)) return isGuess(request) ? guess(request) : attempt(request);
    proposed += 1;
    return respondWith(proposals[Math.min(proposed, proposals.length) - 1] ?? '');
  });
  const out = path.join(folder, `${Math.random().toString(36).slice(2)}.jsonl`);
  const args = ['--endpoint', model.baseUrl, '--model', 'any', '--out', out, '--json', ...flags, ...server];
  await using agl = new AglProcess(['tasks', 'from-mcp', ...args]);
  const exitCode = await agl.exitCode();
  const tasks = existsSync(out) ? readTasks(out) : [];
  const [document] = agl.events as unknown as readonly Record<string, unknown>[];
  return { exitCode, tasks, document, stderr: agl.stderr, requests: model.requests };
}

interface WrittenTask {
  readonly question: string;
  readonly answer: string;
}

function readTasks(file: string): readonly WrittenTask[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as WrittenTask);
}

const questions = (...pairs: readonly (readonly [number, number])[]): string =>
  JSON.stringify(pairs.map(([a, b]) => `What is ${a} and ${b} in total?`));

test('questions on which attempts agree become tasks, with their difficulty and provenance', async () => {
  const { exitCode, tasks, document, requests } = await generate(
    { proposals: [`Here you are:\n${questions([12, 30], [5, 6])}`] },
    ['--count', '2', '--about', 'sums'],
  );
  expect(exitCode).toBe(0);
  expect(tasks.toSorted((one, other) => one.answer.localeCompare(other.answer))).toMatchObject([
    { question: 'What is 5 and 6 in total?', answer: '11' },
    {
      question: 'What is 12 and 30 in total?',
      answer: '42',
      difficulty: { solveRate: 1, toolCalls: 1 },
      provenance: {
        server: `${process.execPath} ${everything}`,
        model: 'any',
        promptVersion: 1,
        attempts: 4,
        calls: [{ tool: 'get-sum', arguments: { a: 12, b: 30 } }],
      },
    },
  ]);
  const dropped = { duplicate: 0, disagreement: 0, guessed: 0, tooLong: 0 };
  expect(document).toMatchObject({ tasks: 2, proposed: 2, dropped, train: 2, test: 0 });
  expect(contentOf(requests[0] as ScriptedRequest, 0)).toContain('Subject of the questions: sums');
});

test('questions are dropped that are ambiguous, guessable, repeated, or answered at length', async () => {
  let attempts = 0;
  const { exitCode, tasks, document } = await generate(
    {
      proposals: [questions([1, 1], [2, 2], [2, 2], [3, 3], [4, 4]), '[]'],
      guess: (request) => respondWith(contentOf(request, 1).includes('2 and 2') ? '4' : 'none'),
      attempt: (request) => {
        const question = contentOf(request, 1);
        if (request.messages.at(-1)?.['role'] !== 'tool') return addWithTool(request);
        attempts += 1;
        if (question.includes('1 and 1')) return respondWith(`about ${attempts}`);
        return question.includes('3 and 3') ? respondWith('six '.repeat(40)) : addWithTool(request);
      },
    },
    ['--count', '4'],
  );
  expect(tasks.map(({ answer }) => answer)).toEqual(['8']);
  expect(exitCode).toBe(1);
  const dropped = { duplicate: 1, disagreement: 1, guessed: 1, tooLong: 1 };
  expect(document).toMatchObject({ tasks: 1, proposed: 5, dropped });
});

test('an answer without a tool call is not an agreement', async () => {
  const { tasks, document } = await generate(
    { proposals: [questions([1, 1]), '[]'], attempt: () => respondWith('2') },
    ['--count', '1'],
  );
  expect(tasks).toEqual([]);
  expect(document).toMatchObject({ dropped: { disagreement: 1 } });
});

test('every fifth task is a test task', async () => {
  const testOut = path.join(folder, 'held-out.jsonl');
  const proposals = [questions([1, 9], [2, 9], [3, 9], [4, 9], [5, 9])];
  const { tasks, document } = await generate({ proposals }, ['--count', '5', '--attempts', '2', '--test-out', testOut]);
  expect([tasks.length, readTasks(testOut).length]).toEqual([4, 1]);
  expect(document).toMatchObject({ train: 4, test: 1 });
});

test('a busy endpoint is retried, and tasks made before it fails are kept', async () => {
  let [calls, failing] = [0, false];
  const { exitCode, tasks, stderr } = await generate(
    {
      proposals: [questions([1, 9]), questions([2, 9])],
      attempt: (request) => {
        calls += 1;
        if (calls === 1) return failWith(429);
        failing ||= contentOf(request, 1).includes('2 and 9');
        return failing ? failWith(400, { message: 'the credit is used' }) : addWithTool(request);
      },
    },
    ['--count', '2', '--attempts', '2'],
  );
  expect(tasks.map(({ answer }) => answer)).toEqual(['10']);
  expect(exitCode).toBe(3);
  expect(stderr).toContain('[UPSTREAM_FAILED] model any');
  expect(stderr).toContain('the credit is used');
});

test('replies that are not lists of questions are an error with a remedy', async () => {
  const { exitCode, stderr } = await generate({ proposals: ['I cannot do that.'] });
  expect(exitCode).toBe(2);
  expect(stderr).toContain('[VALIDATION] model any proposed no question');
});

test.each([
  ['no server', ['--endpoint', 'http://127.0.0.1:1/v1', '--model', 'm'], 'one server is required'],
  [
    'two servers',
    ['--endpoint', 'http://127.0.0.1:1/v1', '--model', 'm', '--url', 'http://127.0.0.1:1', '--', 'node'],
    'one server is required',
  ],
  ['an agreement that two answers could have', ['--agreement', '0.5', '--', 'node'], '--agreement must be above 0.5'],
  ['a variable without a value', ['--var', 'HOME', '--', 'node'], '--var is not NAME=value: "HOME"'],
  ['a key that is not set', ['--key-env', 'NO_SUCH_KEY', '--', 'node'], 'NO_SUCH_KEY is not set'],
  ['a server that does not start', ['--', 'no-such-program'], '[ENVIRONMENT_FAILED]'],
])('%s is an error', async (_, flags, message) => {
  const endpoint = flags.includes('--endpoint') ? [] : ['--endpoint', 'http://127.0.0.1:1/v1', '--model', 'm'];
  await using agl = new AglProcess(['tasks', 'from-mcp', ...endpoint, ...flags]);
  expect(await agl.exitCode()).not.toBe(0);
  expect(agl.stderr).toContain(message);
});
